"""The verbs of a pass: rows summarised and merged, mapped, or items worked on side by side.

Blocks have fixed boundaries, and their statistics merge in a fixed tree
(`suffice.engines.merge_tree`).  Which worker did what leaves no trace in the result: it has the
same bits at any number of threads, and for any source of the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import islice
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from suffice.engines.engine import Engine, Item, Stopped
from suffice.engines.merge_tree import RUN, Statistic, merged
from suffice.engines.settings import resolve_threads
from suffice.engines.threads import Threads
from suffice.sources.base import Block, Piece, Source, block_rows, sparse_block_rows

S = TypeVar("S", bound=Statistic)
T = TypeVar("T")

_threads = Threads()


def engine_of(source: Source | None) -> Engine:
    """The engine that reads a source; threads, unless it says otherwise."""
    return (None if source is None else source.engine) or _threads


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
    summarize_run = partial(_summarize_run, summarize=summarize)
    if _are_few(source, n_jobs):
        # The same tree, but threads take single blocks: none waits long for the last run.
        with closing(in_order(source, summarize_run, n_jobs, 1)) as blocks:
            return merged(map(merged, iter(lambda: list(islice(blocks, RUN)), [])))
    with closing(in_order(source, summarize_run, n_jobs)) as statistics:
        return merged(statistics)


def _summarize_run(run: list[Piece], summarize: Callable[[Block], S]) -> S:
    return merged(summarize(piece.load()) for piece in run)


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
    with closing(in_order(source, partial(_map_run, function=function), n_jobs)) as runs:
        return np.concatenate([part for run in runs for part in run])


def _map_run(run: list[Piece], function: Callable[[Block], T]) -> list[T]:
    return [function(piece.load()) for piece in run]


def in_order(
    source: Source, work: Callable[[list[Piece]], T], n_jobs: int | None = None, size: int = RUN
) -> Generator[T, None, None]:
    """Results of `work` on each run of `size` blocks, in the rows' order; see `Engine`."""
    return engine_of(source).in_order(source, work, n_jobs, size)


def each(
    items: Sequence[Item],
    function: Callable[[Item, Stopped], T],
    n_jobs: int | None = None,
    source: Source | None = None,
) -> list[T]:
    """What a function makes of every item, in their order, side by side; see `Engine`.

    Examples
    --------
    >>> each([1, 2, 3], lambda item, stopped: item**2)
    [1, 4, 9]
    """
    return engine_of(source).each(items, function, n_jobs)


def each_chunk(
    n_columns: int, size: int, function: Callable[[slice], T], n_jobs: int | None = None
) -> Iterator[T]:
    """What a function makes of every `size` columns, in their order.

    As many chunks are worked on at once as there are threads, for a result may be large.

    Examples
    --------
    >>> list(each_chunk(5, 2, lambda columns: (columns.start, columns.stop)))
    [(0, 2), (2, 4), (4, 5)]
    """
    chunks = [slice(c, min(c + size, n_columns)) for c in range(0, n_columns, size)]
    together = resolve_threads(n_jobs)
    for start in range(0, len(chunks), together):
        some = chunks[start : start + together]
        yield from each(some, lambda chunk, stopped: function(chunk), n_jobs)
