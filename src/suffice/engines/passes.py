"""One pass over a source: every block summarised, the statistics merged.

Blocks have fixed boundaries, and their statistics merge in a fixed tree: runs of four
blocks first, then eight of those, eight of these, and so on.  Which thread did what leaves no
trace in the result: it has the same bits at any number of threads, and for any source
of the same rows.

The calling thread reads ahead while the pool computes; only a few runs of blocks are in
flight, so memory does not grow with the rows.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing
from itertools import islice
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from suffice.engines.settings import resolve_threads
from suffice.engines.workers import inside_worker, one_blas_thread, pool
from suffice.sources.base import Block, Piece, Source, block_rows, sparse_block_rows

FAN_IN = 8
"""Statistics that merge at once."""

RUN = 4
"""Blocks that a thread takes at a time: what is in flight is a few runs."""

LARGE_STATISTIC = 1 << 22
"""Bytes from which statistics are added up one by one, not to hold several."""


class Statistic(Protocol):
    """What a pass merges."""

    @classmethod
    def merge(cls, parts: Sequence[Self]) -> Self: ...


S = TypeVar("S", bound=Statistic)
T = TypeVar("T")


def reduce(source: Source, summarize: Callable[[Block], S], n_jobs: int | None = None) -> S:
    """Summarise every block of a source and merge the statistics.

    Parameters
    ----------
    source : Source
    summarize : function of a block
        Called on several threads at once.
    n_jobs : int, optional
        Threads to use; by default what `suffice.config` says.

    Returns
    -------
    The merged statistic; the same bits at any number of threads.

    Raises
    ------
    ValueError
        If the source has no rows.
    """

    def summarize_run(run: list[Piece]) -> S:
        return _merged(summarize(piece.load()) for piece in run)

    if _are_few(source, n_jobs):
        # The same tree, but threads take single blocks: none waits long for the last run.
        with closing(in_order(source, summarize_run, n_jobs, 1)) as blocks:
            return _merged(map(_merged, iter(lambda: list(islice(blocks, RUN)), [])))
    with closing(in_order(source, summarize_run, n_jobs)) as statistics:
        return _merged(statistics)


def _are_few(source: Source, n_jobs: int | None) -> bool:
    """Whether threads that take runs of blocks might have unequal shares."""
    if source.n_rows is None:
        return False
    rows = sparse_block_rows if source.sparse else block_rows
    blocks = source.n_rows / rows(source.n_columns)
    return 1 < blocks <= 8 * RUN * resolve_threads(n_jobs)


def map_rows(
    source: Source, function: Callable[[Block], NDArray[Any]], n_jobs: int | None = None
) -> NDArray[Any]:
    """Apply a function to every block and join the results in the rows' order."""

    def map_run(run: list[Piece]) -> list[NDArray[Any]]:
        return [function(piece.load()) for piece in run]

    with closing(in_order(source, map_run, n_jobs)) as runs:
        return np.concatenate([part for run in runs for part in run])


def in_order(
    source: Source, work: Callable[[list[Piece]], T], n_jobs: int | None = None, size: int = RUN
) -> Generator[T, None, None]:
    """Results of `work` on each run of `size` blocks, in the rows' order.

    An exception in a block, in the reading, or in the caller (Ctrl-C) stops the pass:
    what was not started is dropped, what runs is waited for, a block each.
    """
    threads = 1 if inside_worker() else resolve_threads(n_jobs)
    with closing(_runs(source, size)) as runs:
        first = next(runs, None)
        if first is None:
            raise ValueError(f"there are no rows in {source!r}; at least one is needed")
        with one_blas_thread():
            second = None if threads == 1 else _read(runs, lambda: work(first))
            if second is None:
                yield work(first)
                for run in runs:  # map would take a StopIteration in `work` for the end
                    yield work(run)
            else:
                yield from _in_threads(first, second, runs, work, threads)


def _in_threads(
    first: list[Piece],
    second: list[Piece],
    runs: Iterator[list[Piece]],
    work: Callable[[list[Piece]], T],
    threads: int,
) -> Generator[T, None, None]:
    stop = threading.Event()

    def guarded(run: list[Piece]) -> T:
        # A generator over the run's pieces, so that a stopped pass ends at the next block.
        if stop.is_set():
            raise _Stopped
        return work(_Stoppable(run, stop))

    workers = pool(threads)
    waiting: deque[Future[T]] = deque()
    try:
        for run in (first, second):
            waiting.append(workers.submit(guarded, run))
        while more := _read(runs, lambda: [future.result() for future in waiting]):
            waiting.append(workers.submit(guarded, more))
            if len(waiting) > threads:
                yield _oldest(waiting)
        while waiting:
            yield _oldest(waiting)
    finally:
        stop.set()
        give_up(waiting)


def _oldest(waiting: deque[Future[T]]) -> T:
    # Taken out only when it is there: an interrupted wait must find it among the others.
    result = waiting[0].result()
    waiting.popleft()
    return result


def give_up(waiting: deque[Future[T]]) -> None:
    """Drop what was not started, and wait for what runs."""
    running = [future for future in waiting if not future.cancel()]
    # A future holds its exception, whose traceback holds the deque.
    waiting.clear()
    while running:
        running.pop().exception()


def _read(runs: Iterator[list[Piece]], earlier: Callable[[], object]) -> list[Piece] | None:
    """The next run; if it cannot be read, a failure in earlier ones comes first."""
    try:
        return next(runs, None)
    except Exception as error:  # noqa: BLE001
        failure = error
    try:
        earlier()
        raise failure
    finally:
        del failure  # its traceback holds this frame


class _Stopped(Exception):
    """Raised in a worker whose pass was given up."""


class _Stoppable(list[Piece]):
    """A run of pieces whose iteration ends, with `_Stopped`, once the pass is given up."""

    def __init__(self, run: list[Piece], stop: threading.Event) -> None:
        super().__init__(run)
        self._stop = stop

    def __iter__(self) -> Iterator[Piece]:
        for piece in super().__iter__():
            if self._stop.is_set():
                raise _Stopped
            yield piece


def _runs(source: Source, size: int) -> Generator[list[Piece], None, None]:
    # Closed here and not by the garbage collector, whom a kept traceback would hold off.
    pieces = source.pieces()
    try:
        while run := list(islice(pieces, size)):
            yield run
    finally:
        getattr(pieces, "close", tuple)()


class _MergeTree(Generic[S]):
    """Merges a sequence of statistics in a tree whose shape depends on their number alone."""

    def __init__(self) -> None:
        self.levels: list[list[S]] = []

    def add(self, statistic: S, level: int = 0) -> None:
        if level == len(self.levels):
            self.levels.append([])
        waiting = self.levels[level]
        waiting.append(statistic)
        if _bytes(statistic) > LARGE_STATISTIC:
            self.levels[level] = [_merge(waiting)]
        elif len(waiting) == FAN_IN:
            self.levels[level] = []
            self.add(_merge(waiting), level + 1)

    def result(self) -> S:
        carried: list[S] = []
        for waiting in self.levels:
            parts = waiting + carried
            carried = [_merge(parts)] if parts else []
        return carried[0]


def _merged(statistics: Iterable[S]) -> S:
    """All of them, merged in a tree."""
    tree: _MergeTree[S] = _MergeTree()
    for statistic in statistics:
        tree.add(statistic)
    return tree.result()


def _merge(parts: list[Any]) -> Any:
    return parts[0] if len(parts) == 1 else type(parts[0]).merge(parts)


def _bytes(statistic: Any) -> int:
    return int(getattr(statistic, "nbytes", 0))
