"""Queries put to a search block by block, on all threads.

What is in memory at a time does not grow with their number.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from numbers import Integral
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import issparse

from suffice.engines.passes import in_order
from suffice.engines.settings import resolve_threads
from suffice.fitting.inputs import finite_rows
from suffice.neighbors.search.choose import Search
from suffice.sources import Piece, Source, block_rows
from suffice.sources.memory.query_blocks import QueryBlocks
from suffice.sources.memory.sparse import check_columns

T = TypeVar("T")

KEPT = [np.float64, np.float32, np.int64, np.int32, np.int16, np.int8, np.uint8]
"""Queries that become float64 block by block; others do at once."""


def over_queries(
    source: Source, search: Search, answer: Callable[[Search, Any, int], T], n_jobs: int | None
) -> list[T]:
    """What a function makes of the search, of each block of queries and its first row's number.

    Parameters
    ----------
    source : Source
        The queries; those in `QueryBlocks` are known to be finite.
    search : Search
    answer : function of a search, queries as it has prepared them, and a row's number
    n_jobs : int or None
    """

    def work(run: list[Piece]) -> list[T]:
        found = []
        for piece in run:
            block = piece.load()
            if not isinstance(source, QueryBlocks):
                finite_rows(block, source)
            found.append(answer(search, search.prepared(block.X), block.start))
        return found

    with closing(in_order(source, work, n_jobs, 1)) as runs:
        return [one for run in runs for one in run]


def in_blocks(X: Any, search: Search, n_jobs: int | None) -> QueryBlocks:
    """Queries in memory, in blocks that suit a search.

    Parameters
    ----------
    X : array or CSR array of shape (queries, columns)
    search : Search
    n_jobs : int or None
    """
    if X.dtype not in KEPT:
        X = X.astype(np.float64)
    if issparse(X):
        check_columns(X)
    # Every thread gets a share, however few the queries.
    share = -(-X.shape[0] // resolve_threads(n_jobs))
    # Sparse queries of dense rows are written out, a block at a time.
    most = min(search.together, block_rows(X.shape[1])) if issparse(X) else search.together
    return QueryBlocks(X, max(min(most, share), 1))


def checked_number(k: Any, X: Any, n_rows: int) -> int:
    """A number of neighbours; raise unless there are as many rows.

    Parameters
    ----------
    k : int
    X : array, data frame, Source, or None
        The queries; None stands for the rows themselves, none of which is its own neighbour.
    n_rows : int
    """
    if not isinstance(k, Integral):
        raise TypeError(f"n_neighbors does not take {type(k)} value, enter integer value")
    k = int(k)
    if k <= 0:
        raise ValueError(f"Expected n_neighbors > 0. Got {k}")
    if k > n_rows - (X is None):
        asked = n_rows if X is None else X.n_rows if isinstance(X, Source) else _length(X)
        raise ValueError(
            f"Expected n_neighbors {'<' if X is None else '<='} n_samples_fit, but "
            f"n_neighbors = {k}, n_samples_fit = {n_rows}, n_samples = {asked}"
        )
    return k


def _length(X: Any) -> int:
    """How many rows there are, of whatever; what is no table counts as one."""
    return int((*np.shape(X), 1)[0])
