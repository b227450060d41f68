"""The engine that runs passes on threads of this process.

The calling thread reads ahead while the pool computes; only a few runs of blocks are in
flight, so memory does not grow with the rows.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing
from itertools import islice
from typing import TypeVar

from suffice.engines.engine import Engine, Item, Stopped
from suffice.engines.merge_tree import RUN
from suffice.engines.settings import resolve_threads
from suffice.engines.workers import (
    GivenUp,
    inside_worker,
    one_blas_thread,
    pool,
    stopped_here,
    unless_stopped,
)
from suffice.sources.base import Piece, Source

T = TypeVar("T")


class Threads(Engine):
    """Passes on the threads of the process's pool."""

    def in_order(
        self,
        source: Source,
        work: Callable[[list[Piece]], T],
        n_jobs: int | None = None,
        size: int = RUN,
    ) -> Generator[T, None, None]:
        threads = 1 if inside_worker() else resolve_threads(n_jobs)
        with closing(_runs(source, size)) as runs:
            first = next(runs, None)
            if first is None:
                raise ValueError(f"there are no rows in {source!r}; at least one is needed")
            with one_blas_thread():
                stopped = stopped_here()
                second = None if threads == 1 else _read(runs, lambda: work(first))
                if second is None:
                    yield work(_Stoppable(first, stopped))
                    for run in runs:  # map would take a StopIteration in `work` for the end
                        yield work(_Stoppable(run, stopped))
                else:
                    yield from _in_threads(first, second, runs, work, threads)

    def each(
        self,
        items: Sequence[Item],
        function: Callable[[Item, Stopped], T],
        n_jobs: int | None = None,
    ) -> list[T]:
        threads = 1 if inside_worker() else resolve_threads(n_jobs)
        with one_blas_thread():
            if threads == 1 or len(items) < 2:
                stopped = stopped_here()
                return [function(item, stopped) for item in _Stoppable(items, stopped)]
            stop = threading.Event()
            workers = pool(threads)
            waiting: deque[Future[T]] = deque()
            try:
                for item in items:
                    waiting.append(workers.submit(unless_stopped, stop.is_set, function, item))
                return [_oldest(waiting) for _ in items]
            finally:
                stop.set()
                give_up(waiting)


def _in_threads(
    first: list[Piece],
    second: list[Piece],
    runs: Iterator[list[Piece]],
    work: Callable[[list[Piece]], T],
    threads: int,
) -> Generator[T, None, None]:
    stop = threading.Event()

    def guarded(run: list[Piece], stopped: Stopped) -> T:
        return work(_Stoppable(run, stopped))

    workers = pool(threads)
    waiting: deque[Future[T]] = deque()
    try:
        for run in (first, second):
            waiting.append(workers.submit(unless_stopped, stop.is_set, guarded, run))
        while more := _read(runs, lambda: [future.result() for future in waiting]):
            waiting.append(workers.submit(unless_stopped, stop.is_set, guarded, more))
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


class _Stoppable(list[Item]):
    """Items, or pieces, whose iteration ends with `GivenUp` once their results are unwanted."""

    def __init__(self, items: Sequence[Item], stopped: Stopped) -> None:
        super().__init__(items)
        self._stopped = stopped

    def __iter__(self) -> Iterator[Item]:
        for item in super().__iter__():
            if self._stopped():
                raise GivenUp
            yield item


def _runs(source: Source, size: int) -> Generator[list[Piece], None, None]:
    # Closed here and not by the garbage collector, whom a kept traceback would hold off.
    pieces = source.pieces()
    try:
        while run := list(islice(pieces, size)):
            yield run
    finally:
        getattr(pieces, "close", tuple)()
