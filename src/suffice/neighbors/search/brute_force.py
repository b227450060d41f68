"""Neighbours by comparing each query with every row: quickly in float32, then exactly.

With rows and queries centred, the squared distance is ‖x‖² − 2x·q + ‖q‖²: a matrix product.  It
is taken in float32, tile by tile, and only the rows that its error bound cannot exclude are
ranked in float64, as the definition says.

**The bound.**  Let x and q be the centred rows, scaled by a power of two so that no cell of x
exceeds 1; X = ‖x‖², Q = ‖q‖², D = X − 2x·q + Q, u = 2⁻²⁴ and γₘ = mu/(1 − mu).  Subtracting the
centre rounds by a factor 1 + 2⁻⁵³ at most, for it is one operation on the data as they are: a
large offset common to all rows costs nothing.  The product of the float32 rows (−2x, a) and
(q, 1), d + 1 terms in any order, fused or not, is

    P = a − 2x·q + e,     |e| ≤ g (2‖x‖‖q‖ + a) ≤ g (2X + Q),     g = γ_{d+4},

d + 1 roundings in the sum and one for each factor.  With c ≥ 2g + u and a = X (1 − c) rounded to
float32, L = P + (1 − c) Q and U = L + 2c (X + Q),

    D − L = c (X + Q) − (a − (1 − c) X) − e ≥ (c − u − 2g)(X + Q) ≥ 0,
    U − D = c (X + Q) + (a − (1 − c) X) + e ≥ 0.

Ranks in float64 are within γ' D, γ' = (d + 2) 2⁻⁵² of D ≤ 2 (X + Q); c includes 2γ' and as much
again for what is computed in float64 here.  Numbers below float32's range add no more than
η = (d + 1) 2⁻¹⁰⁰, as long as no cell of q exceeds 2⁴⁰.

The k-th smallest U is then at least the k-th smallest rank, and a row whose L exceeds it is none
of the k nearest, not even by a tie.  (1 − c) Q is the same for all rows of a query and left out.

Where this does not serve, rows are ranked directly: for other metrics, few columns or rows, cells
beyond the bounds, and queries that leave more candidates than there is room for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from suffice.kernels.neighbors.distances import (
    SQUARED,
    nearest_directly,
    ranks_of_pairs,
    within_directly,
)
from suffice.kernels.neighbors.screening import nearest_of_candidates, pairs_below, screen
from suffice.neighbors.search.metrics import Metric

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Singles = NDArray[np.float32]

TOGETHER = 512
"""Queries of a tile."""

ROWS = 512
"""Rows of a tile: with its queries, 1 MB of float32."""

FEWEST_COLUMNS, FEWEST_ROWS = 6, 1024
"""From here on a matrix product is worth its preparation."""

MOST_CANDIDATES = 1 << 20
"""Candidates of all queries that are screened together."""

FARTHEST = 2.0**40
"""Largest cell of a scaled query."""


class RowsWithin(NamedTuple):
    """Rows within a radius: those of query i are `starts[i]` to `starts[i + 1]`."""

    starts: Integers
    ranks: Floats
    rows: Integers


Look = Callable[[Integers, Integers, Floats, Integers], None]
"""Counts the rows of each query, or lists them from given places on."""


@dataclass(frozen=True)
class Screen:
    """The data as the matrix product needs them.

    Attributes
    ----------
    centre, scale : array of shape (columns,), float
    table : float32 array of shape (rows, columns + 1)
        (−2x, a) of each row.
    slack : array of shape (rows,)
        2c X of each row.
    c : float
    """

    centre: Floats
    scale: float
    table: Singles
    slack: Floats
    c: float

    @classmethod
    def of(cls, X: Floats) -> Screen | None:
        """Prepare rows; None where they cannot be screened."""
        n, d = X.shape
        if d < FEWEST_COLUMNS or n < FEWEST_ROWS:
            return None
        centre = X.mean(axis=0)
        reach = float(max(np.max(X.max(axis=0) - centre), np.max(centre - X.min(axis=0))))
        if not 1e-100 < reach < 1e100:
            return None
        scale = float(2.0 ** -np.frexp(reach)[1])
        g = (d + 4) * 2.0**-24 / (1 - (d + 4) * 2.0**-24)
        c = 2 * g + 2.0**-24 + 4 * (d + 8) * 2.0**-52
        if c > 0.1:
            return None
        table, slack = np.empty((n, d + 1), np.float32), np.empty(n)
        for start in range(0, n, 4096):
            here = slice(start, start + 4096)
            x = (X[here] - centre) * scale
            squares = np.einsum("ij,ij->i", x, x)
            table[here, :d] = -2 * x
            table[here, d] = (1 - c) * squares
            slack[here] = 2 * c * squares
        return cls(centre, scale, table, slack, c)

    def queries(self, Q: Floats) -> tuple[Singles, Floats, NDArray[np.bool_]]:
        """The other factor, each query's slack and ‖q‖², and which queries are too far."""
        d = Q.shape[1]
        q = (Q - self.centre) * self.scale
        far = np.abs(q).max(axis=1) >= FARTHEST
        q[far] = 0.0
        factor = np.ones((len(q), d + 1), np.float32)
        factor[:, :d] = q
        return factor, np.einsum("ij,ij->i", q, q), far


class BruteForce:
    """A search that compares each query with every row.

    Parameters
    ----------
    X : array of shape (rows, columns)
    metric : Metric
    """

    together = TOGETHER

    def __init__(self, X: Floats, metric: Metric) -> None:
        self.X = metric.prepared(X)
        self.metric = metric
        self._rank = metric.kind, metric.p, metric.weights
        self.screen = Screen.of(self.X) if metric.kind == SQUARED else None

    @property
    def path(self) -> str:
        """How queries are answered, for people."""
        return "brute force, " + ("in float64" if self.screen is None else "screened in float32")

    def prepared(self, queries: Any) -> Floats:
        """Queries, dense or sparse, in the form in which they are compared."""
        return self.metric.prepared(as_floats(queries), queries=True)

    def nearest(self, queries: Floats, k: int) -> tuple[Floats, Integers]:
        """Ranks and numbers of the k nearest rows, the nearest first.

        Parameters
        ----------
        queries : array of shape (queries, columns)
        k : int
            At most as many as there are rows.

        Returns
        -------
        ranks, rows : arrays of shape (queries, k)
        """
        ranks = np.empty((len(queries), k))
        rows = np.empty((len(queries), k), np.int64)
        if self.screen is None or 8 * k > len(self.X):
            self._directly(queries, ranks, rows)
            return ranks, rows
        # Fewer queries at a time where candidates take much memory.
        step = min(TOGETHER, max(MOST_CANDIDATES // _room(k), 16))
        for start in range(0, len(queries), step):
            here = slice(start, start + step)
            left = self._screened(self.screen, queries[here], ranks[here], rows[here])
            if len(left):
                some, numbers = np.empty((len(left), k)), np.empty((len(left), k), np.int64)
                self._directly(queries[here][left], some, numbers)
                ranks[here][left], rows[here][left] = some, numbers
        return ranks, rows

    def _directly(self, queries: Floats, ranks: Floats, rows: Integers) -> None:
        nearest_directly(queries, self.X, *self._rank, ranks, rows)

    def _screened(
        self, data: Screen, queries: Floats, ranks: Floats, rows: Integers
    ) -> NDArray[np.intp]:
        """Find the nearest of a tile's queries; return those for which there was no room."""
        m, k = ranks.shape
        factor, squares, far = data.queries(queries)
        slack = 2 * data.c * squares + tiny(queries.shape[1])
        upper, upper_rows = np.full((m, k), np.inf), np.zeros((m, k), np.int64)
        limits = np.full(m, np.inf, np.float32)
        room = _room(k)
        candidates, bounds = np.empty((m, room), np.int64), np.empty((m, room), np.float32)
        counts = np.where(far, -1, 0)
        tile = np.empty(m * ROWS, np.float32)
        for start in range(0, len(self.X), ROWS):
            part = data.table[start : start + ROWS]
            product = tile[: m * len(part)].reshape(m, len(part))
            np.matmul(factor, part.T, out=product)
            screen(
                product, start, data.slack, slack, upper, upper_rows, limits, candidates, bounds,
                counts,
            )  # fmt: skip
        nearest_of_candidates(
            queries, self.X, *self._rank, candidates, bounds, counts, limits, ranks, rows
        )
        return np.flatnonzero(counts < 0)

    def within(self, queries: Floats, most: float) -> RowsWithin:
        """All rows of a rank up to `most`, for each query in rising order of their numbers."""
        if self.screen is None:
            return self._within_directly(queries, most)
        parts = [
            self._within_screened(self.screen, queries[start : start + TOGETHER], most)
            for start in range(0, len(queries), TOGETHER)
        ]
        counts = np.concatenate([np.diff(part.starts) for part in parts])
        return RowsWithin(
            np.concatenate([[0], np.cumsum(counts)]),
            np.concatenate([part.ranks for part in parts]),
            np.concatenate([part.rows for part in parts]),
        )

    def _within_directly(self, queries: Floats, most: float) -> RowsWithin:
        def look(starts: Integers, counts: Integers, ranks: Floats, rows: Integers) -> None:
            within_directly(queries, self.X, *self._rank, most, starts, counts, ranks, rows)

        return counted_then_listed(len(queries), look)

    def _within_screened(self, data: Screen, queries: Floats, most: float) -> RowsWithin:
        m = len(queries)
        factor, squares, far = data.queries(queries)
        if far.any():
            return self._within_directly(queries, most)
        # P ≤ rank − (1 − c) Q, and somewhat more for roundings here and of the limit.
        with np.errstate(over="ignore"):
            scaled = most * data.scale**2
            spare = data.c * (squares + scaled) + tiny(queries.shape[1])
            limit = scaled - (1 - data.c) * squares + spare
            limits = limit.astype(np.float32)
            limits = np.nextafter(limits, np.float32(np.inf))
        of, rows = np.empty(0, np.int64), np.empty(0, np.int64)
        found: list[tuple[Integers, Integers]] = []
        tile = np.empty(m * ROWS, np.float32)
        for start in range(0, len(self.X), ROWS):
            part = data.table[start : start + ROWS]
            product = tile[: m * len(part)].reshape(m, len(part))
            np.matmul(factor, part.T, out=product)
            count = pairs_below(product, start, limits, of, rows)
            if count > len(of):
                of, rows = np.empty(2 * count, np.int64), np.empty(2 * count, np.int64)
                pairs_below(product, start, limits, of, rows)
            found.append((of[:count].copy(), rows[:count].copy()))
        of, rows = (np.concatenate(one) for one in zip(*found, strict=True))
        ranks = np.empty(len(of))
        ranks_of_pairs(queries, self.X, *self._rank, of, rows, ranks)
        near = np.flatnonzero(ranks <= most)
        near = near[np.argsort(of[near], kind="stable")]
        starts = np.searchsorted(of[near], np.arange(m + 1))
        return RowsWithin(starts, ranks[near], rows[near])


def as_floats(rows: Any) -> Floats:
    """A table of float64 numbers with all its zeros."""
    return np.asarray(rows.toarray() if issparse(rows) else rows, dtype=np.float64)


def tiny(d: int) -> float:
    """2η, for products of d columns."""
    return 2 * (d + 1) * 2.0**-100


def _room(k: int) -> int:
    """Candidates that a query may have."""
    return 8 * k + 256


def counted_then_listed(n_queries: int, look: Look) -> RowsWithin:
    """Rows within a radius by a kernel that first counts them and then lists them."""
    counts = np.empty(n_queries, np.int64)
    nothing, none = np.empty(0, np.int64), np.empty(0)
    look(nothing, counts, none, nothing)
    starts = np.concatenate([[0], np.cumsum(counts)])
    ranks, rows = np.empty(starts[-1]), np.empty(starts[-1], np.int64)
    look(starts[:-1], counts, ranks, rows)
    return RowsWithin(starts, ranks, rows)
