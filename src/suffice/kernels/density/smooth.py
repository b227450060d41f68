"""Kernels of kernel density estimates: for many queries q and bandwidths h, the logarithm of

    Σᵢ wᵢ K(‖q − xᵢ‖ / h)

over all rows, with K(0) = 1.  Rows stand in leaves of `LEAF`, each with its bounding box; a column
of a leaf is one run, so that the inner loops go over rows.  Tiles of queries visit leaf after
leaf, and what happens to a query does not depend on the others in its tile.

Kernels without an end are summed relative to the largest term so far.  A leaf is left out where
the distance of its box proves each of its terms to be below 2⁻⁶⁰ of the sum so far, divided by the
number of rows: together they are below 2⁻⁶⁰ of the sum.  Kernels with an end, in
`suffice.kernels.density.windows`, leave out what lies beyond it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel
from suffice.kernels.density.exponential import LOWEST, exp_of
from suffice.kernels.sums.double_double import two_sum

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LEAF = 256
"""Rows of a leaf: a power of two, not below 2."""

TILE = 16
"""Queries that visit a leaf together."""

GAUSSIAN, EXPONENTIAL, TOPHAT, EPANECHNIKOV, LINEAR, COSINE, CUBE = range(7)
"""Shapes of K; the first two have no end."""

NEGLIGIBLE = 60 * math.log(2.0)
"""How far a term's logarithm lies below that of a sum to which it means nothing."""


@kernel
def distances(x: Floats, query: Floats, shape: int, out: Floats) -> None:
    """Write the distance of each row of a leaf from a query, in the form the shape asks for.

    Squared for the Gaussian, the largest difference in a column for the cube, else Euclidean.
    """
    columns = len(query)
    out[:] = 0.0
    if shape == CUBE:
        for c in range(columns):
            q, column = query[c], x[c]
            for j in range(LEAF):
                away = abs(column[j] - q)
                out[j] = away if away > out[j] else out[j]
        return
    whole = columns - columns % 4
    for c in range(0, whole, 4):
        q0, q1, q2, q3 = query[c], query[c + 1], query[c + 2], query[c + 3]
        x0, x1, x2, x3 = x[c], x[c + 1], x[c + 2], x[c + 3]
        for j in range(LEAF):
            d0, d1, d2, d3 = x0[j] - q0, x1[j] - q1, x2[j] - q2, x3[j] - q3
            out[j] += (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3)
    for c in range(whole, columns):
        q, column = query[c], x[c]
        for j in range(LEAF):
            away = column[j] - q
            out[j] += away * away
    if shape != GAUSSIAN:
        for j in range(LEAF):
            out[j] = math.sqrt(out[j])


@kernel
def distances_to_boxes(low: Floats, high: Floats, query: Floats, shape: int, out: Floats) -> int:
    """Write a bound on the distances of each leaf's rows; return the number of the nearest leaf.

    No row is nearer, in the form of `distances`, its rounding included.
    """
    columns, leaves = low.shape
    out[:] = 0.0
    for c in range(columns):
        q, a, b = query[c], low[c], high[c]
        for leaf in range(leaves):
            below, above = a[leaf] - q, q - b[leaf]
            gap = below if below > above else above
            gap = gap if gap > 0.0 else 0.0
            if shape == CUBE:
                out[leaf] = gap if gap > out[leaf] else out[leaf]
            else:
                out[leaf] += gap * gap
    rounding = 1.0 - 1e-15 * (columns + 8)
    for leaf in range(leaves):
        away = out[leaf]
        out[leaf] = rounding * (away if shape in (GAUSSIAN, CUBE) else math.sqrt(away))
    nearest = 0
    for leaf in range(leaves):
        nearest = leaf if out[leaf] < out[nearest] else nearest
    return nearest


@kernel
def largest(values: Floats, work: Floats) -> float:
    """Return the largest of a leaf's numbers, by halves: loops without a branch."""
    half = LEAF // 2
    for j in range(half):
        work[j] = values[j] if values[j] > values[j + half] else values[j + half]
    while half > 1:
        half //= 2
        for j in range(half):
            work[j] = work[j] if work[j] > work[j + half] else work[j + half]
    return work[0]


@kernel
def total(values: Floats) -> float:
    """Return the sum of a leaf's numbers, by halves; they are overwritten."""
    half = LEAF
    while half > 1:
        half //= 2
        for j in range(half):
            values[j] += values[j + half]
    return values[0]


@kernel
def hide(groups: Integers, hidden: int, away: Floats) -> None:
    """Move the rows of one group infinitely far away; −1 is none."""
    if hidden < 0:
        return
    for j in range(LEAF):
        away[j] = np.inf if groups[j] == hidden else away[j]


@kernel
def add_terms(away: Floats, mass: Floats, scale: float, sums: Floats, work: Floats) -> None:
    """Add the terms of a leaf to the sum of a query, for one bandwidth.

    Parameters
    ----------
    away : (LEAF,)
        Distances of its rows from the query.
    mass : (LEAF,)
    sums : (4,), changed
        The logarithm of what terms are divided by, their sum in two parts, and its logarithm.
    work : (2 rows or more, LEAF), the first two overwritten
    """
    terms = work[0]
    for j in range(LEAF):
        terms[j] = mass[j] - scale * away[j]
    top = largest(terms, work[1])
    if top == -np.inf:  # the query may see none of these rows
        return
    if top > sums[0]:
        shrink = math.exp(sums[0] - top)
        sums[0] = top
        sums[1] *= shrink
        sums[2] *= shrink
    peak = sums[0]
    for j in range(LEAF):
        below = terms[j] - peak
        terms[j] = exp_of(below if below > LOWEST else LOWEST)
    sums[1], error = two_sum(sums[1], total(terms))
    sums[2] += error
    sums[3] = peak + math.log(sums[1] + sums[2])


@kernel(
    "const float64[:, :, ::1], const float64[:, ::1], const int64[:, ::1], const float64[::1], "
    "const float64[:, ::1], const float64[:, ::1], const float64[:, ::1], const int64[::1], "
    "const float64[::1], int64, int64, float64[:, ::1]"
)
def log_sums(
    X: Floats,
    mass: Floats,
    groups: Integers,
    heaviest: Floats,
    low: Floats,
    high: Floats,
    queries: Floats,
    left_out: Integers,
    scales: Floats,
    shape: int,
    rows: int,
    out: Floats,
) -> None:
    """Write log Σᵢ wᵢ K(‖q − xᵢ‖ / h) for each query and bandwidth; −∞ where the sum is 0.

    For the shapes without an end.  A query looks first at the leaf nearest to it, then at one
    after the other.

    Parameters
    ----------
    X : (leaves, columns, LEAF)
        Rows, with zeros after the last.
    mass : (leaves, LEAF)
        log wᵢ, and −∞ after the last row.
    groups : (leaves, LEAF)
        A number for each row.
    heaviest : (leaves,)
        Largest mass in each leaf.
    low, high : (columns, leaves)
        Corners of the boxes.
    queries : (queries, columns)
    left_out : (queries,)
        The group of rows that a query must not see; −1 if it sees all.
    scales : (bandwidths,)
        1 / 2h² for the Gaussian kernel, 1 / h for the exponential one.
    shape, rows : int
        Which kernel it is, and how many rows there are.
    out : (queries, bandwidths), written
    """
    leaves, every = X.shape[0], len(scales)
    boxes, nearest = np.empty((TILE, leaves)), np.empty(TILE, np.int64)
    work, sums = np.empty((3, LEAF)), np.empty((TILE * every, 4))
    away = work[2]
    slack = NEGLIGIBLE + math.log(rows)
    for start in range(0, queries.shape[0], TILE):
        left = queries.shape[0] - start
        tile = TILE if left > TILE else left
        for k in range(tile):
            nearest[k] = distances_to_boxes(low, high, queries[start + k], shape, boxes[k])
            for g in range(every):
                at = k * every + g
                sums[at, 1], sums[at, 2] = 0.0, 0.0
                sums[at, 0], sums[at, 3] = -np.inf, -np.inf
        for turn in range(leaves + 1):
            for k in range(tile):
                leaf = nearest[k] if turn == 0 else turn - 1
                if turn > 0 and leaf == nearest[k]:
                    continue
                unseen = True
                for g in range(every):
                    most = heaviest[leaf] - scales[g] * boxes[k, leaf]
                    if turn > 0 and most < sums[k * every + g, 3] - slack:
                        continue
                    if unseen:
                        distances(X[leaf], queries[start + k], shape, away)
                        hide(groups[leaf], left_out[start + k], away)
                        unseen = False
                    add_terms(away, mass[leaf], scales[g], sums[k * every + g], work)
        for k in range(tile):
            for g in range(every):
                out[start + k, g] = sums[k * every + g, 3]
