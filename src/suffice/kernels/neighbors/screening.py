"""Kernels that pick from a table of float32 bounds the few rows worth an exact look.

A tile holds for some queries and rows a number below the true rank, up to a constant of the query;
adding the row's and the query's slack makes it a number above.  A row whose lower bound exceeds
the k-th smallest upper bound is none of the k nearest.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel
from suffice.kernels.neighbors.distances import NOBODY, offer, pair_rank, settle

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Integers = NDArray[np.int64]

RUN = 64
"""Bounds that are compared with the limit at once."""


@kernel
def any_below(values: Singles, limit: float) -> bool:
    """Tell whether one of RUN values is at most a limit."""
    hit = np.int32(0)
    for r in range(RUN):
        hit |= np.int32(1) if values[r] <= limit else np.int32(0)
    return hit != 0


@kernel
def rounded_up(value: float) -> np.float32:
    """Return a float32 that is not below a number."""
    return np.float32(value + abs(value) * 2.0**-23 + 1e-38)


@kernel
def keep_below(rows: Integers, bounds: Singles, count: int, limit: float) -> int:
    """Drop candidates whose bound exceeds a limit; return how many stay."""
    kept = 0
    for i in range(count):
        if bounds[i] <= limit:
            rows[kept], bounds[kept] = rows[i], bounds[i]
            kept += 1
    return kept


@kernel(
    "const float32[:, ::1], int64, const float64[::1], const float64[::1], float64[:, ::1], "
    "int64[:, ::1], float32[::1], int64[:, ::1], float32[:, ::1], int64[::1]"
)
def screen(
    tile: Singles,
    start: int,
    row_slack: Floats,
    query_slack: Floats,
    upper: Floats,
    upper_rows: Integers,
    limits: Singles,
    candidates: Integers,
    bounds: Singles,
    counts: Integers,
) -> None:
    """Add to each query's candidates those of a tile that may be among its k nearest.

    Parameters
    ----------
    tile : (queries, some rows)
        Lower bounds.
    start : int
        Number of the tile's first row.
    row_slack : (rows,)
    query_slack : (queries,)
        What together makes an upper bound of a lower one.
    upper, upper_rows : (queries, k), changed
        The k smallest upper bounds so far.
    limits : (queries,), changed
        The largest of them, rounded up.
    candidates, bounds : (queries, room), changed
        Numbers and lower bounds of rows.
    counts : (queries,), changed
        Candidates of each query; −1 where there were too many.
    """
    width, room, k = tile.shape[1], candidates.shape[1], upper.shape[1]
    whole = width - width % RUN
    for i in range(tile.shape[0]):
        values, limit, count = tile[i], limits[i], counts[i]
        if count < 0:
            continue
        for first in range(0, width, RUN):
            if first < whole and not any_below(values[first : first + RUN], limit):
                continue
            for r in range(first, min(first + RUN, width)):
                if not values[r] <= limit:
                    continue
                if count == room:
                    count = keep_below(candidates[i], bounds[i], count, limit)
                if count == room:
                    count = -1
                    break
                candidates[i, count], bounds[i, count] = start + r, values[r]
                count += 1
                above = np.float64(values[r]) + (row_slack[start + r] + query_slack[i])
                if above < upper[i, 0]:
                    offer(upper, upper_rows, i, k, above, start + r)
                    limit = rounded_up(upper[i, 0])
            if count < 0:
                break
        limits[i], counts[i] = limit, count


@kernel(
    "const float64[:, ::1], const float64[:, ::1], int64, float64, const float64[::1], "
    "const int64[:, ::1], const float32[:, ::1], const int64[::1], const float32[::1], "
    "float64[:, ::1], int64[:, ::1]"
)
def nearest_of_candidates(
    queries: Floats,
    X: Floats,
    metric: int,
    p: float,
    w: Floats,
    candidates: Integers,
    bounds: Singles,
    counts: Integers,
    limits: Singles,
    ranks: Floats,
    rows: Integers,
) -> None:
    """Find the nearest of each query's candidates, by their exact ranks.

    Parameters
    ----------
    queries : (queries, columns)
    X : (rows, columns)
    metric, p : int, float
    w : (columns,), or empty
    candidates, bounds, counts, limits
        As `screen` has left them.
    ranks, rows : (queries, k), written
        In rising order; not where there were too many candidates.
    """
    ranks[:] = np.inf
    rows[:] = NOBODY
    for i in range(queries.shape[0]):
        for c in range(counts[i]):
            if bounds[i, c] <= limits[i]:
                row = candidates[i, c]
                rank = pair_rank(queries, i, X, row, metric, p, w)
                if rank < ranks[i, 0] or (rank == ranks[i, 0] and row < rows[i, 0]):
                    offer(ranks, rows, i, ranks.shape[1], rank, row)
        settle(ranks, rows, i)


@kernel("const float32[:, ::1], int64, const float32[::1], int64[::1], int64[::1]")
def pairs_below(tile: Singles, start: int, limits: Singles, of: Integers, rows: Integers) -> int:
    """List the queries and rows whose bound is at most the query's limit.

    Parameters
    ----------
    tile : (queries, some rows)
    start : int
        Number of the tile's first row.
    limits : (queries,)
    of, rows : (room,), written
        Numbers of queries and rows.

    Returns
    -------
    int
        How many there are, even if there was no room for all.
    """
    found = 0
    width = tile.shape[1]
    whole = width - width % RUN
    for i in range(tile.shape[0]):
        values, limit = tile[i], limits[i]
        for first in range(0, width, RUN):
            if first < whole and not any_below(values[first : first + RUN], limit):
                continue
            for r in range(first, min(first + RUN, width)):
                if values[r] <= limit:
                    if found < len(of):
                        of[found], rows[found] = i, start + r
                    found += 1
    return found
