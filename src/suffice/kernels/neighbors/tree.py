"""Kernels that find neighbours in a kd-tree, as `suffice.kernels.neighbors.building` makes it.

The rank of a query from a box is computed as that from a row, column by column, with the part of
the difference that lies outside.  Rounding never turns an order around, so it is at most the
rank of any row within, to the last bit: nothing is lost when a box further away than the worst of
the k best is left out.  Only powers, which a library rounds as it likes, need a margin.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel
from suffice.kernels.neighbors.distances import (
    NOBODY,
    POWER,
    SQUARED,
    grown,
    offer,
    settle,
    tile_ranks,
    weight_of,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

DEEPEST = 64
"""Nodes that can wait: more than there are levels."""


@kernel("const float64[:, ::1], int64, const int64[::1], const float64[::1], int64[::1]")
def leaves_of(
    queries: Floats, levels: int, columns: Integers, splits: Floats, leaves: Integers
) -> None:
    """Find the leaf into whose cell each query falls."""
    for i in range(queries.shape[0]):
        node = 0
        for _ in range(levels):
            right = 1 if queries[i, columns[node]] >= splits[node] else 0
            node = 2 * node + 1 + right
        leaves[i] = node - ((1 << levels) - 1)


@kernel
def outside(q: float, low: float, high: float) -> float:
    """Return how far a number lies outside of a range."""
    below, above = low - q, q - high
    away = below if below > above else above
    return away if away > 0.0 else 0.0


@kernel
def box_rank(
    queries: Floats,
    i: int,
    low: Floats,
    high: Floats,
    node: int,
    metric: int,
    p: float,
    w: Floats,
    margin: float,
) -> float:
    """Return at most the rank of any row in the box of a node from query i."""
    total = 0.0
    for j in range(low.shape[1]):
        away = outside(queries[i, j], low[node, j], high[node, j])
        total = grown(total, away, weight_of(w, j), metric, p)
    if metric == POWER:
        total = total * margin if total > 1e-300 else 0.0
    return total


@kernel(
    "const float64[:, ::1], const int64[::1], const int64[::1], int64, const float64[:, ::1], "
    "const float64[:, ::1], const float64[:, :, ::1], const int64[:, ::1], int64, float64, "
    "const float64[::1], float64, float64[:, ::1], int64[:, ::1]"
)
def nearest_in_tree(
    queries: Floats,
    turns: Integers,
    own: Integers,
    levels: int,
    low: Floats,
    high: Floats,
    leaves: Floats,
    numbers: Integers,
    metric: int,
    p: float,
    w: Floats,
    margin: float,
    ranks: Floats,
    rows: Integers,
) -> None:
    """Find the nearest rows of each query.

    A query begins in its own leaf, goes on to the nodes that its way to the root passes by, and
    looks into each whose box is near enough, into the nearer of two children first.

    Parameters
    ----------
    queries : (queries, columns)
    turns : (queries,)
        The order in which to take them.
    own : (queries,)
        The leaf of each.
    levels : int
    low, high : (nodes, columns)
    leaves : (leaves, columns, room)
    numbers : (leaves, room)
    metric, p : int, float
    w : (columns,), or empty
    margin : float
        What the rank of a box is multiplied with, if it is made of powers.
    ranks, rows : (queries, k), written
        In rising order.
    """
    inner = (1 << levels) - 1
    k, squared = ranks.shape[1], metric == SQUARED
    waiting, bounds = np.empty(DEEPEST, np.int64), np.empty(DEEPEST)
    here = np.empty(leaves.shape[2])
    for i in turns:
        for j in range(k):
            ranks[i, j], rows[i, j] = np.inf, NOBODY
        worst = np.inf
        # The query's own leaf waits on top, and below it the nodes that the way to it passes by:
        # counted from 1, the node above node i is i >> 1, and its other child i ^ 1.
        home = inner + own[i]
        for top in range(levels):
            waiting[top] = ((home + 1) >> (levels - 1 - top) ^ 1) - 1
        waiting[levels], bounds[levels] = home, 0.0
        fresh, stop, top = 0, levels, levels + 1  # from fresh to stop, bounds are yet to be found
        while top > 0:
            for place in range(fresh, stop):
                at, bound = waiting[place], 0.0
                if squared:  # as mostly: quicker than the call
                    for j in range(low.shape[1]):
                        away = outside(queries[i, j], low[at, j], high[at, j])
                        bound += away * away
                else:
                    bound = box_rank(queries, i, low, high, at, metric, p, w, margin)
                bounds[place] = bound
            top -= 1
            # Of two children the nearer one goes first; the other takes its place.
            nearer = top - 1 if fresh < top and bounds[top - 1] < bounds[top] else top
            at, bound = waiting[nearer], bounds[nearer]
            waiting[nearer], bounds[nearer] = waiting[top], bounds[top]
            fresh = stop = top
            if bound > worst:
                continue
            if at >= inner:
                leaf = at - inner
                tile_ranks(queries, i, leaves, leaf, metric, p, w, here)
                for r in range(len(here)):
                    if here[r] <= worst:
                        number = numbers[leaf, r]
                        if here[r] < worst or number < rows[i, 0]:
                            offer(ranks, rows, i, k, here[r], number)
                            worst = ranks[i, 0]
                continue
            waiting[top], waiting[top + 1] = 2 * at + 1, 2 * at + 2
            top += 2
            stop = top
        settle(ranks, rows, i)


@kernel(
    "const float64[:, ::1], int64, const float64[:, ::1], const float64[:, ::1], "
    "const float64[:, :, ::1], const int64[:, ::1], int64, float64, const float64[::1], float64, "
    "float64, const int64[::1], int64[::1], float64[::1], int64[::1]"
)
def within_in_tree(
    queries: Floats,
    levels: int,
    low: Floats,
    high: Floats,
    leaves: Floats,
    numbers: Integers,
    metric: int,
    p: float,
    w: Floats,
    margin: float,
    most: float,
    starts: Integers,
    counts: Integers,
    ranks: Floats,
    rows: Integers,
) -> None:
    """Find all rows of a rank up to `most`.

    Parameters
    ----------
    queries : (queries, columns)
    levels, low, high, leaves, numbers, metric, p, w, margin
        As for `nearest_in_tree`.
    most : float
    starts : (queries,), or empty
        Where each query's rows go; if empty they are only counted.
    counts : (queries,), written
    ranks, rows : (found,), written
    """
    inner = (1 << levels) - 1
    waiting, here = np.empty(DEEPEST, np.int64), np.empty(leaves.shape[2])
    for i in range(queries.shape[0]):
        counts[i] = 0
        waiting[0] = 0
        top = 1
        while top > 0:
            top -= 1
            at = waiting[top]
            if box_rank(queries, i, low, high, at, metric, p, w, margin) > most:
                continue
            if at < inner:
                waiting[top], waiting[top + 1] = 2 * at + 2, 2 * at + 1
                top += 2
                continue
            leaf = at - inner
            tile_ranks(queries, i, leaves, leaf, metric, p, w, here)
            for r in range(len(here)):
                if here[r] <= most and numbers[leaf, r] != NOBODY:
                    if len(starts):
                        ranks[starts[i] + counts[i]] = here[r]
                        rows[starts[i] + counts[i]] = numbers[leaf, r]
                    counts[i] += 1
