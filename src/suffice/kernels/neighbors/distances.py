"""Kernels of a search for neighbours: distances as they are ranked, and the k best so far.

Rows are compared by a *rank*, which grows with the distance and needs no root:

    squared     Σ (xⱼ − qⱼ)²        manhattan    Σ |xⱼ − qⱼ|
    chebyshev   max |xⱼ − qⱼ|       power        Σ wⱼ |xⱼ − qⱼ|ᵖ

Terms are added in the order of the columns, each operation rounded as written.  Of two rows of
one rank the one with the smaller number is nearer.  Only powers have weights w, one for each
column; none at all stand for ones.

The k best are a heap with the worst in place 0.  While k is small it is kept in falling order,
which is a heap too, and quicker to keep.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

SQUARED, MANHATTAN, CHEBYSHEV, POWER = 0, 1, 2, 3

SHORT = 24
"""Up to so many best are kept in order."""

STEP = 8
"""Rows whose ranks are computed together."""

TILE = 128
"""Rows that are turned at a time; a multiple of STEP."""

NOBODY = 1 << 62
"""The number of a row that is not there: larger than any."""


@kernel
def offer(ranks: Floats, rows: Integers, i: int, size: int, rank: float, row: int) -> None:
    """Put a row in its place among the first `size` of query i's best, instead of the worst."""
    at, below, short = 0, 1, ranks.shape[1] <= SHORT
    while below < size:
        other, number = ranks[i, below], rows[i, below]
        if not short and below + 1 < size:
            a, b = ranks[i, below + 1], rows[i, below + 1]
            if a > other or (a == other and b > number):
                other, number = a, b
                below += 1
        if other < rank or (other == rank and number < row):
            break
        ranks[i, at], rows[i, at] = other, number
        at = below
        below = at + 1 if short else 2 * at + 1
    ranks[i, at], rows[i, at] = rank, row


@kernel
def settle(ranks: Floats, rows: Integers, i: int) -> None:
    """Sort query i's k best, the nearest first."""
    for last in range(ranks.shape[1] - 1, 0, -1):
        rank, row = ranks[i, last], rows[i, last]
        ranks[i, last], rows[i, last] = ranks[i, 0], rows[i, 0]
        offer(ranks, rows, i, last, rank, row)


@kernel
def tile_ranks(
    queries: Floats,
    i: int,
    tiles: Floats,
    t: int,
    metric: int,
    p: float,
    w: Floats,
    ranks: Floats,
) -> None:
    """Rank all rows of tile t, whose columns are runs of memory, from query i.

    A tile has as many rows as there are ranks, a multiple of STEP.
    """
    columns = tiles.shape[1]
    for start in range(0, len(ranks), STEP):
        if metric == SQUARED and columns == 3:
            # As trees mostly have: sums stay in registers.
            q0, q1, q2 = queries[i, 0], queries[i, 1], queries[i, 2]
            for r in range(start, start + STEP):
                a, b, c = tiles[t, 0, r] - q0, tiles[t, 1, r] - q1, tiles[t, 2, r] - q2
                ranks[r] = a * a + b * b + c * c
            continue
        out = ranks[start : start + STEP]
        for r in range(STEP):
            out[r] = 0.0
        for j in range(columns):
            x, q = tiles[t, j, start : start + STEP], queries[i, j]
            weight = weight_of(w, j)
            for r in range(STEP):  # the compiler makes one loop for each metric
                out[r] = grown(out[r], abs(x[r] - q), weight, metric, p)


@kernel
def weight_of(w: Floats, column: int) -> float:
    """Return the weight of a column."""
    return w[column] if len(w) else 1.0


@kernel
def grown(total: float, away: float, weight: float, metric: int, p: float) -> float:
    """Return a rank with one more column, in which rows are so far apart."""
    if metric == SQUARED:
        return total + away * away
    if metric == MANHATTAN:
        return total + away
    if metric == CHEBYSHEV:
        return away if away > total else total
    if weight == 0.0:  # even if the power is infinite
        return total
    if p == 2.0:  # of a weighted distance, as p = 1: rounded as written, and quicker
        return total + weight * (away * away)
    return total + weight * (away if p == 1.0 else away**p)


@kernel
def pair_rank(
    queries: Floats, i: int, X: Floats, row: int, metric: int, p: float, w: Floats
) -> float:
    """Rank one row from query i."""
    total = 0.0
    for j in range(X.shape[1]):
        total = grown(total, abs(X[row, j] - queries[i, j]), weight_of(w, j), metric, p)
    return total


@kernel
def turn(X: Floats, start: int, tile: Floats) -> int:
    """Write some rows to the columns of the only tile; return how many there were."""
    count = min(tile.shape[2], X.shape[0] - start)
    for r in range(count):
        for j in range(X.shape[1]):
            tile[0, j, r] = X[start + r, j]
    return count


@kernel(
    "const float64[:, ::1], const float64[:, ::1], int64, float64, const float64[::1], "
    "float64[:, ::1], int64[:, ::1]"
)
def nearest_directly(
    queries: Floats, X: Floats, metric: int, p: float, w: Floats, ranks: Floats, rows: Integers
) -> None:
    """Find the nearest rows of each query by looking at all of them.

    Parameters
    ----------
    queries : (queries, columns)
    X : (rows, columns)
    metric, p : int, float
    w : (columns,), or empty
    ranks, rows : (queries, k), written
        In rising order.
    """
    tile, here = np.zeros((1, X.shape[1], TILE)), np.empty(TILE)
    ranks[:] = np.inf
    rows[:] = NOBODY
    for start in range(0, X.shape[0], TILE):
        count = turn(X, start, tile)
        for i in range(queries.shape[0]):
            tile_ranks(queries, i, tile, 0, metric, p, w, here)
            worst = ranks[i, 0]
            for r in range(count):
                if here[r] < worst:  # among equal ranks the earlier row stays
                    offer(ranks, rows, i, ranks.shape[1], here[r], start + r)
                    worst = ranks[i, 0]
    for i in range(queries.shape[0]):
        settle(ranks, rows, i)


@kernel(
    "const float64[:, ::1], const float64[:, ::1], int64, float64, const float64[::1], float64, "
    "const int64[::1], int64[::1], float64[::1], int64[::1]"
)
def within_directly(
    queries: Floats,
    X: Floats,
    metric: int,
    p: float,
    w: Floats,
    most: float,
    starts: Integers,
    counts: Integers,
    ranks: Floats,
    rows: Integers,
) -> None:
    """Find all rows of a rank up to `most`, by looking at all of them.

    Parameters
    ----------
    queries : (queries, columns)
    X : (rows, columns)
    metric, p : int, float
    w : (columns,), or empty
    most : float
    starts : (queries,), or empty
        Where each query's rows go; if empty they are only counted.
    counts : (queries,), written
    ranks, rows : (found,), written
    """
    tile, here = np.zeros((1, X.shape[1], TILE)), np.empty(TILE)
    counts[:] = 0
    for start in range(0, X.shape[0], TILE):
        count = turn(X, start, tile)
        for i in range(queries.shape[0]):
            tile_ranks(queries, i, tile, 0, metric, p, w, here)
            for r in range(count):
                if here[r] <= most:
                    if len(starts):
                        ranks[starts[i] + counts[i]] = here[r]
                        rows[starts[i] + counts[i]] = start + r
                    counts[i] += 1


@kernel(
    "const float64[:, ::1], const float64[:, ::1], int64, float64, const float64[::1], "
    "const int64[::1], const int64[::1], float64[::1]"
)
def ranks_of_pairs(
    queries: Floats,
    X: Floats,
    metric: int,
    p: float,
    w: Floats,
    of: Integers,
    rows: Integers,
    ranks: Floats,
) -> None:
    """Rank given rows from given queries.

    Parameters
    ----------
    queries : (queries, columns)
    X : (rows, columns)
    metric, p : int, float
    w : (columns,), or empty
    of, rows : (pairs,)
        Numbers of a query and of a row.
    ranks : (pairs,), written
    """
    for i in range(len(of)):
        ranks[i] = pair_rank(queries, of[i], X, rows[i], metric, p, w)
