"""Kernels of a search for neighbours among rows of which most cells are zero.

A column in which both rows are zero adds nothing to a rank, to the last bit.  So it is enough to go
through the entries of the two rows, in the order of the columns, and the rank is that of the
same rows with all their zeros.

For squares, all rows get a lower bound of their rank first: the columns of a query's entries
list the rows that have entries there too, which gives x·q for all x, and

    ‖x‖² − 2 x·q + ‖q‖²

less a share of ‖x‖² + ‖q‖² for roundings.  Only rows whose bound is near enough are ranked.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel
from suffice.kernels.neighbors.distances import NOBODY, SQUARED, grown, offer, settle, weight_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

NEGLIGIBLE = 1e-290
"""More than products lose that are too small for float64."""


@kernel
def sparse_rank(
    x: Floats,
    columns: Integers,
    a: int,
    last: int,
    q: Floats,
    wanted: Integers,
    b: int,
    end: int,
    metric: int,
    p: float,
    w: Floats,
    most: float,
) -> float:
    """Rank a row, entries a to last, from a query, entries b to end; or tell that it is beyond.

    A rank above `most` is returned as far as it was added up: it only grows.
    """
    total = 0.0
    while (a < last or b < end) and total <= most:
        if b == end or (a < last and columns[a] < wanted[b]):
            away, column = abs(x[a]), columns[a]
            a += 1
        elif a == last or wanted[b] < columns[a]:
            away, column = abs(q[b]), wanted[b]
            b += 1
        else:
            away, column = abs(x[a] - q[b]), columns[a]
            a += 1
            b += 1
        total = grown(total, away, weight_of(w, column), metric, p)
    return total


@kernel
def bound_squares(
    q: Floats,
    columns: Integers,
    b: int,
    end: int,
    square: float,
    t: Floats,
    t_rows: Integers,
    t_starts: Integers,
    squares: Floats,
    slack: float,
    bounds: Floats,
) -> None:
    """Write a number below each row's rank from a query of entries b to end."""
    bounds[:] = 0.0
    for e in range(b, end):
        value = 2.0 * q[e]
        for at in range(t_starts[columns[e]], t_starts[columns[e] + 1]):
            bounds[t_rows[at]] += value * t[at]
    for r in range(len(bounds)):
        both = square + squares[r]
        bounds[r] = both - bounds[r] - slack * both - NEGLIGIBLE


@kernel(
    "const float64[::1], const int64[::1], const int64[::1], const float64[::1], "
    "const float64[::1], const int64[::1], const int64[::1], const float64[::1], "
    "const float64[::1], const int64[::1], const int64[::1], int64, float64, const float64[::1], "
    "float64, float64[:, ::1], int64[:, ::1]"
)
def nearest_sparse(
    q: Floats,
    q_columns: Integers,
    q_starts: Integers,
    q_squares: Floats,
    x: Floats,
    x_columns: Integers,
    x_starts: Integers,
    x_squares: Floats,
    t: Floats,
    t_rows: Integers,
    t_starts: Integers,
    metric: int,
    p: float,
    w: Floats,
    slack: float,
    ranks: Floats,
    rows: Integers,
) -> None:
    """Find the nearest rows of each query.

    Parameters
    ----------
    q, q_columns, q_starts : the queries' entries, their columns, where each query's begin
    q_squares : (queries,)
        Sums of their squares.
    x, x_columns, x_starts, x_squares
        The same of the rows.
    t, t_rows, t_starts : the rows' entries by columns: their rows, where each column's begin
        Only looked at for squares.
    metric, p : int, float
    w : (columns,), or empty
    slack : float
        What share of ‖x‖² + ‖q‖² roundings may be.
    ranks, rows : (queries, k), written
        In rising order.
    """
    bounds = np.zeros(len(x_squares))
    ranks[:] = np.inf
    rows[:] = NOBODY
    for i in range(len(q_squares)):
        b, end = q_starts[i], q_starts[i + 1]
        if metric == SQUARED:
            bound_squares(
                q, q_columns, b, end, q_squares[i], t, t_rows, t_starts, x_squares, slack, bounds
            )
        worst = ranks[i, 0]
        for r in range(len(bounds)):
            if bounds[r] > worst:
                continue
            a, last = x_starts[r], x_starts[r + 1]
            here = sparse_rank(x, x_columns, a, last, q, q_columns, b, end, metric, p, w, worst)
            if here < worst:  # among equal ranks the earlier row stays
                offer(ranks, rows, i, ranks.shape[1], here, r)
                worst = ranks[i, 0]
        settle(ranks, rows, i)


@kernel(
    "const float64[::1], const int64[::1], const int64[::1], const float64[::1], "
    "const float64[::1], const int64[::1], const int64[::1], const float64[::1], "
    "const float64[::1], const int64[::1], const int64[::1], int64, float64, const float64[::1], "
    "float64, float64, const int64[::1], int64[::1], float64[::1], int64[::1]"
)
def within_sparse(
    q: Floats,
    q_columns: Integers,
    q_starts: Integers,
    q_squares: Floats,
    x: Floats,
    x_columns: Integers,
    x_starts: Integers,
    x_squares: Floats,
    t: Floats,
    t_rows: Integers,
    t_starts: Integers,
    metric: int,
    p: float,
    w: Floats,
    slack: float,
    most: float,
    starts: Integers,
    counts: Integers,
    ranks: Floats,
    rows: Integers,
) -> None:
    """Find all rows of a rank up to `most`.

    Parameters
    ----------
    q, …, slack
        As for `nearest_sparse`.
    most : float
    starts : (queries,), or empty
        Where each query's rows go; if empty they are only counted.
    counts : (queries,), written
    ranks, rows : (found,), written
    """
    bounds = np.zeros(len(x_squares))
    counts[:] = 0
    for i in range(len(q_squares)):
        b, end = q_starts[i], q_starts[i + 1]
        if metric == SQUARED:
            bound_squares(
                q, q_columns, b, end, q_squares[i], t, t_rows, t_starts, x_squares, slack, bounds
            )
        for r in range(len(bounds)):
            if bounds[r] > most:
                continue
            a, last = x_starts[r], x_starts[r + 1]
            here = sparse_rank(x, x_columns, a, last, q, q_columns, b, end, metric, p, w, most)
            if here <= most:
                if len(starts):
                    ranks[starts[i] + counts[i]] = here
                    rows[starts[i] + counts[i]] = r
                counts[i] += 1
