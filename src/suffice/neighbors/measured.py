"""Distances from ranks, also where powers of differences leave the range of float64.

Squares of numbers beyond 1e154 overflow, those below 1e-162 vanish, and higher powers do much
earlier.  Two things keep this from being seen.  Where most rows are that large or small, all are
measured in another **unit**, a power of two, which changes no digit.  And a rank that is
infinite, or so small that terms may be missing, is not believed: the distance is computed anew,
with the **largest difference first**,

    (Σ wⱼ aⱼᵖ)^(1/p) = m (Σ wⱼ (aⱼ/m)ᵖ)^(1/p),     a = |x − q|,  m near max aⱼ,

and where such ranks decide who is near, rows are put in order by these distances.  Ranks of
ordinary numbers are left as they are, to the last bit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.neighbors.brute_force import BruteForce
from suffice.neighbors.metrics import Metric
from suffice.neighbors.sparse_search import SparseSearch
from suffice.neighbors.tree import TreeSearch
from suffice.numerics.cached import cached_property
from suffice.statistics.sparse_rows import SparseRows

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Ranking = BruteForce | TreeSearch | SparseSearch

SMALL = 2.0**-960
"""Ranks from here on have all their digits: terms that vanish are below 2⁻¹⁰⁷⁴.  Where weights are
above 1, both are so many times as large."""

WIDE = 2.0**200
"""How far weights may be from 1 for terms to be compared without logarithms."""

HIGH = 64
"""Powers below this get m as a power of two, which rounds nothing; others the very maximum, since
its half would vanish."""

CELLS = 1 << 20
"""Differences that are looked at together."""


class Measured:
    """A search that knows distances.

    Parameters
    ----------
    search : BruteForce, TreeSearch or SparseSearch
        Of the rows in another unit.
    X : array of shape (rows, columns) or SparseRows
        The rows themselves.
    unit : float
        A power of two.
    """

    def __init__(self, search: Ranking, X: Any, unit: float) -> None:
        self.search, self.X, self.unit = search, X, unit
        self.metric: Metric = search.metric
        self.together = search.together
        self.path = search.path
        self.prepared = search.prepared
        self.small = SMALL * float(self.metric.weights.max(initial=1.0))

    def nearest(self, queries: Any, k: int) -> tuple[Floats, Integers]:
        """Distances and numbers of the k nearest rows, the nearest first.

        Parameters
        ----------
        queries : array of shape (queries, columns) or SparseRows
            As `prepared` makes them.
        k : int
            At most as many as there are rows.

        Returns
        -------
        distances, rows : arrays of shape (queries, k)
        """
        ranks, rows = self.search.nearest(scaled(queries, self.unit), k)
        distances = self._distances(ranks)
        of, place = np.nonzero(self._doubtful(ranks, queries))
        if not len(of):
            return distances, rows
        found = self._apart(queries, of, rows[of, place])
        distances[of, place] = found
        # Equal rows are at distance 0 indeed, which is no reason to look at all others.
        for i in np.unique(of[found > 0]):
            most = np.inf if np.isinf(ranks[i, -1]) else self.small
            _, away, near = self._within(taken(queries, [i]), most)
            order = np.lexsort((near, away))[:k]
            distances[i, : len(order)], rows[i, : len(order)] = away[order], near[order]
        return distances, rows

    def within(self, queries: Any, radius: float) -> tuple[Integers, Floats, Integers]:
        """All rows up to a distance, and perhaps some a little farther.

        Parameters
        ----------
        queries : array of shape (queries, columns) or SparseRows
            As `prepared` makes them.
        radius : float

        Returns
        -------
        starts : int array of shape (queries + 1,)
            The rows of query i are `starts[i]` to `starts[i + 1]`.
        distances, rows : arrays of shape (found,)
            In rising order of the rows' numbers, for each query.
        """
        return self._within(queries, self.metric.rank(float(radius) * self.unit))

    def _within(self, queries: Any, most: float) -> tuple[Integers, Floats, Integers]:
        """All rows up to a rank, with their distances."""
        found = self.search.within(scaled(queries, self.unit), most)
        distances = self._distances(found.ranks)
        places = np.flatnonzero(self._doubtful(found.ranks, queries))
        if len(places):
            of = np.searchsorted(found.starts, places, side="right") - 1
            distances[places] = self._apart(queries, of, found.rows[places])
        return found.starts, distances, found.rows

    def _doubtful(self, ranks: Floats, queries: Any) -> NDArray[np.bool_]:
        """Whether ranks may have lost what makes the distance."""
        if self.metric.power is None:
            return np.zeros(ranks.shape, np.bool_)
        doubtful = (ranks < self.small) | (ranks == np.inf)
        if (ranks == 0).any() and self._tells_equal_rows(queries):
            doubtful &= ranks != 0
        return doubtful

    def _tells_equal_rows(self, queries: Any) -> bool:
        """Whether a rank of 0 is that of equal rows alone.

        Numbers from 2ᵉ on are multiples of 2ᵉ⁻⁵², and so are their differences.
        """
        w = self.metric.weights
        if self.metric.power is None or (w[w > 0] < 1).any():
            return False
        least = np.log2(min(self._smallest, smallest(queries))) + np.log2(self.unit)
        return bool(least - 53 > -1074 / self.metric.power)

    @cached_property
    def _smallest(self) -> float:
        return smallest(self.X)

    def _distances(self, ranks: Floats) -> Floats:
        """Distances of ranks that are not doubtful."""
        with np.errstate(over="ignore"):
            distances = self.metric.distance(ranks)
            return distances if self.unit == 1.0 else distances / self.unit

    def _apart(self, queries: Any, of: Integers, rows: Integers) -> Floats:
        """Distances of pairs of a query and a row, some at a time."""
        step = max(CELLS // self.X.shape[1], 1)
        cuts = [slice(start, start + step) for start in range(0, len(of), step)]
        found = [
            apart(taken(self.X, rows[cut]), taken(queries, of[cut]), self.metric) for cut in cuts
        ]
        return np.concatenate([np.empty(0), *found])


def smallest(rows: Any) -> float:
    """The smallest absolute value of a cell that is not 0; 1 where there is none."""
    cells = rows.data if isinstance(rows, SparseRows) else rows
    return float(np.abs(cells[cells != 0]).min(initial=1.0))


def apart(X: Any, queries: Any, metric: Metric) -> Floats:
    """The distance of each row from the query beside it, with the largest difference first.

    Parameters
    ----------
    X, queries : arrays of shape (pairs, columns), or SparseRows
    metric : Metric
        One that has a power.

    Returns
    -------
    array of shape (pairs,)
    """
    p, w = metric.power, metric.weights
    assert p is not None
    if isinstance(X, SparseRows):
        between = SparseRows.of(X.csr - queries.csr)
        away, of, columns = np.abs(between.data), between.rows_of_entries(), between.indices
    else:
        with np.errstate(over="ignore"):
            cells = np.abs(X - queries)
        of, columns = np.nonzero(cells)  # none in pairs of equal rows, which are the most
        away = cells[of, columns]
    if len(w):
        counts = w[columns] > 0
        away, of, columns = away[counts], of[counts], columns[counts]
        if w[columns].max(initial=1.0) > WIDE or w[columns].min(initial=1.0) < 1 / WIDE:
            return _by_logarithms(p * np.log2(away) + np.log2(w[columns]), of, len(X), p)
    largest = np.zeros(len(X))
    np.maximum.at(largest, of, away)
    fraction, exponents = np.frexp(np.where(np.isfinite(largest) & (largest > 0), largest, 1.0))
    if p < HIGH:
        fraction = np.ones(len(X))
    with np.errstate(over="ignore", under="ignore"):
        terms = (np.ldexp(away, -exponents[of]) / fraction[of]) ** p
        terms = terms * w[columns] if len(w) else terms
        # Added one after the other, in the order of the columns, as ranks are.
        totals = np.bincount(of, terms, minlength=len(X))
        return np.asarray(np.ldexp(totals ** (1 / p) * fraction, exponents))


def _by_logarithms(logs: Floats, of: Integers, n: int, p: float) -> Floats:
    """Distances from binary logarithms of the terms, each of the pair it is `of`."""
    largest = np.full(n, -np.inf)
    np.maximum.at(largest, of, logs)
    sums = np.bincount(of, np.exp2(logs - largest[of]), minlength=n)
    found = largest > -np.inf
    with np.errstate(over="ignore", under="ignore"):
        return np.exp2((largest + np.log2(np.where(found, sums, 1.0))) / p)


def scaled(rows: Any, unit: float) -> Any:
    """Rows in another unit."""
    if unit == 1.0:
        return rows
    with np.errstate(over="ignore", under="ignore"):
        if isinstance(rows, SparseRows):
            return replace(rows, data=rows.data * unit)
        return rows * unit


def taken(rows: Any, chosen: Any) -> Any:
    """Some of the rows, by number."""
    return rows.taken(chosen) if isinstance(rows, SparseRows) else rows[chosen]


def unit_of(X: Any, metric: Metric) -> float:
    """A power of two in which most rows have powers that neither overflow nor vanish."""
    if metric.power is None:
        return 1.0
    cells = X.data if isinstance(X, SparseRows) else X
    largest = max(float(cells.max(initial=0.0)), -float(cells.min(initial=0.0)))
    if metric.w is None and metric.unit(largest) == 1.0:
        return 1.0
    return metric.unit(typical_size(X, metric.weights))  # whatever a few rows are


def typical_size(X: Any, w: Floats) -> float:
    """The median of what is largest in each row, rows of zeros and columns of no weight apart."""
    if isinstance(X, SparseRows):
        cells = np.abs(X.data) * (w[X.indices] > 0 if len(w) else 1.0)
        sizes = np.zeros(len(X))
        np.maximum.at(sizes, X.rows_of_entries(), cells)
    else:
        sizes = np.abs(X[:, w > 0] if len(w) else X).max(axis=1, initial=0.0)
    sizes = sizes[sizes > 0]
    return float(np.quantile(sizes, 0.5, method="lower")) if len(sizes) else 0.0
