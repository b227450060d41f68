"""Neighbours among rows of which most cells are zero: each query is compared with every row.

Only entries are looked at, and neither rows nor queries are ever written out with their zeros;
ranks are those of the written-out rows to the last bit (`suffice.kernels.neighbors.sparse`).

**The bound** of squares: for rows of at most m entries and u = 2⁻⁵³, rounding changes
S = ‖x‖² + ‖q‖² by at most (m + 2) u S, 2 x·q by (m + 1) u S, their difference by 4 u S, and the
rank, of at most 2m terms and at most 2S, by (4m + 6) u S.  Together less than 8 (m + 4) u S.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.neighbors.distances import SQUARED
from suffice.kernels.neighbors.sparse import nearest_sparse, within_sparse
from suffice.neighbors.search.brute_force import RowsWithin, counted_then_listed
from suffice.neighbors.search.metrics import Metric
from suffice.statistics.rows.sparse import SparseRows

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class SparseSearch:
    """A search that compares the entries of each query with those of every row.

    Parameters
    ----------
    X : SparseRows
    metric : Metric
    """

    together = 512
    path = "brute force, on the entries of sparse rows"

    def __init__(self, X: SparseRows, metric: Metric) -> None:
        self.metric = metric
        self._rank = metric.kind, metric.p, metric.weights
        X = metric.prepared_entries(X)
        self._longest = _longest(X)
        by_columns = X.transposed() if metric.kind == SQUARED else SparseRows.of(np.zeros((0, 0)))
        self._data = (
            X.data, X.indices, X.indptr, _squares(X),
            by_columns.data, by_columns.indices, by_columns.indptr,
        )  # fmt: skip

    def prepared(self, queries: Any) -> SparseRows:
        """Queries, dense or sparse, in the form in which they are compared."""
        return self.metric.prepared_entries(SparseRows.of(queries), queries=True)

    def _arguments(self, queries: SparseRows, *more: Any) -> tuple[Any, ...]:
        """What kernels want to know of queries, rows and the metric, and then some."""
        entries = queries.data, queries.indices, queries.indptr, _squares(queries)
        slack = 8 * (max(self._longest, _longest(queries)) + 4) * 2.0**-53
        return *entries, *self._data, *self._rank, slack, *more

    def nearest(self, queries: SparseRows, k: int) -> tuple[Floats, Integers]:
        """Ranks and numbers of the k nearest rows, the nearest first.

        Parameters
        ----------
        queries : SparseRows
        k : int
            At most as many as there are rows.

        Returns
        -------
        ranks, rows : arrays of shape (queries, k)
        """
        ranks = np.empty((len(queries), k))
        rows = np.empty((len(queries), k), np.int64)
        nearest_sparse(*self._arguments(queries, ranks, rows))
        return ranks, rows

    def within(self, queries: SparseRows, most: float) -> RowsWithin:
        """All rows of a rank up to `most`, for each query in rising order of their numbers."""

        def look(starts: Integers, counts: Integers, ranks: Floats, rows: Integers) -> None:
            within_sparse(*self._arguments(queries, most, starts, counts, ranks, rows))

        return counted_then_listed(len(queries), look)


def _squares(rows: SparseRows) -> Floats:
    """The squared length of each row."""
    return rows.sums(np.square(rows.data))


def _longest(rows: SparseRows) -> int:
    """Entries of the row that has most."""
    return int(np.diff(rows.indptr).max(initial=0))
