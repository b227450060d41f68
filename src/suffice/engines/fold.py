"""A pass whose steps follow one another: each block changes the state that the next one meets.

    state ← step(state, block)      for every block, in the rows' order or in a seeded one

Stochastic gradient steps and the perceptron are such passes.  One thread takes the steps; the
pool loads the blocks ahead of it.

Shuffled, a pass draws each block at random from a window of those that come next, and shuffles
its rows.  Window, draws and rows depend on the seed, the shape and the blocks' places alone, so
the order is the same at any number of threads and for any source of the same rows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing
from functools import partial
from typing import TypeVar

import numpy as np

from suffice.engines.settings import resolve_threads
from suffice.engines.threads import give_up
from suffice.engines.workers import GivenUp, inside_worker, one_blas_thread, pool, stopped_here
from suffice.sources.base import Block, Source, block_rows
from suffice.sources.derived.subset import rows_of

S = TypeVar("S")
T = TypeVar("T")

MOST_IN_WINDOW = 16
"""Blocks among which a shuffled pass draws the next."""

CELLS_IN_WINDOW = 1 << 24
"""Cells of those blocks, as far as there are two: 128 MB of float64."""

Seed = int | Sequence[int]


def fold(
    source: Source,
    step: Callable[[S, Block], S],
    state: S,
    *,
    seed: Seed | None = None,
    n_jobs: int | None = None,
) -> S:
    """Take one step a block, each from the state that the last one left.

    Parameters
    ----------
    source : Source
    step : function of a state and a block
        Called on the calling thread alone.
    state : object
        Where to begin.
    seed : int or sequence of int, optional
        Blocks, and the rows within each, come in an order that follows from it; without, in
        the order of the source.
    n_jobs : int, optional
        Threads that load blocks ahead; by default what `suffice.config` says.

    Returns
    -------
    The last state; the same bits at any number of threads.

    Raises
    ------
    ValueError
        If the source has no rows.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.sources import as_source
    >>> rows = as_source(np.arange(6.0).reshape(3, 2))
    >>> fold(rows, lambda total, block: total + block.X.sum(axis=0), np.zeros(2))
    array([6., 9.])
    """
    nothing, stopped = True, stopped_here()
    with one_blas_thread(), closing(_blocks(source, seed, n_jobs)) as blocks:
        for block in blocks:
            if stopped():
                raise GivenUp
            state, nothing = step(state, block), False
    if nothing:
        raise ValueError(f"there are no rows in {source!r}; at least one is needed")
    return state


def _blocks(source: Source, seed: Seed | None, n_jobs: int | None) -> Generator[Block, None, None]:
    """The blocks in the order of their steps, made ready ahead."""
    threads = 1 if inside_worker() else resolve_threads(n_jobs)
    submit = _at_once if threads == 1 else pool(threads).submit
    if seed is None:
        return _ahead(source.pieces(), lambda piece: piece.load(), submit, threads)
    draws, most = np.random.default_rng(seed), window(source.n_columns)
    loaded = _ahead(source.pieces(), lambda piece: piece.load(), submit, most, draws)
    # Only what is next is shuffled: copies of a whole window would leave the cache.
    return _ahead(loaded, partial(_shuffled, seed=seed), submit, min(threads, 2))


def _ahead(
    items: Iterator[T],
    work: Callable[[T], Block],
    submit: Callable[..., Future[Block]],
    most: int,
    draws: np.random.Generator | None = None,
) -> Generator[Block, None, None]:
    """What `work` makes of the items, in their order or drawn from the next `most`.

    An item that cannot be read fails after all before it; an exception in the caller (Ctrl-C)
    drops what was not started, and waits for what runs.
    """
    waiting: deque[Future[Block]] = deque()
    failure: Exception | None = None
    more = True
    try:
        while more or waiting:
            while more and len(waiting) < most:
                try:
                    waiting.append(submit(partial(work, next(items))))
                except StopIteration:
                    more = False
                except Exception as error:  # noqa: BLE001
                    failure, more = error, False
            if waiting:
                place = 0 if draws is None else int(draws.integers(len(waiting)))
                # Taken out only when it is there: an interrupted wait must find it.
                block = waiting[place].result()
                del waiting[place]
                yield block
        if failure is not None:
            raise failure
    finally:
        del failure  # its traceback holds this frame
        give_up(waiting)
        getattr(items, "close", tuple)()


def window(n_columns: int) -> int:
    """How many blocks a shuffled pass draws from, by the number of columns alone."""
    cells = block_rows(n_columns) * max(n_columns, 1)
    return min(max(CELLS_IN_WINDOW // cells, 2), MOST_IN_WINDOW)


def _shuffled(block: Block, seed: Seed) -> Block:
    whole = [seed] if isinstance(seed, int) else list(seed)
    order = np.random.default_rng([*whole, block.start]).permutation(block.n_rows)
    if not isinstance(block.X, np.ndarray):
        return rows_of(block, order, block.start)
    # Four times as fast as indexing.
    y, weight = (
        None if part is None else part.take(order, axis=0) for part in (block.y, block.weight)
    )
    return Block(block.X.take(order, axis=0), y, weight, block.start)


def _at_once(load: Callable[[], Block]) -> Future[Block]:
    """Load on this thread; a failure waits for its turn, like one on the pool."""
    future: Future[Block] = Future()
    try:
        future.set_result(load())
    except Exception as error:  # noqa: BLE001
        future.set_exception(error)
    return future
