"""Kernels of kernel density estimates: for many queries q and bandwidths h, the logarithm of

    Σᵢ wᵢ K(‖q − xᵢ‖ / h)

over all rows, with K(0) = 1.  Rows stand in leaves of `LEAF`, each with its bounding box; a column
of a leaf is one run, so that the inner loops go over rows.  Tiles of queries visit leaf after
leaf, and what happens to a query does not depend on the others in its tile.

Kernels without an end are summed relative to the largest term so far.  A leaf is left out where
the distance of its box proves each of its terms to be below 2⁻⁶⁰ of the sum so far, divided by the
number of rows: together they are below 2⁻⁶⁰ of the sum.  Kernels with an end leave out what lies
beyond it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compile import kernel
from suffice.kernels.double_double import two_sum
from suffice.kernels.exponential import LOWEST, exp_in_place

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
def matters(
    shape: int, box: float, scale: float, heaviest: float, log_sum: float, slack: float
) -> bool:
    """Return whether a leaf whose box is so far away may hold a term that counts."""
    if shape <= EXPONENTIAL:
        return heaviest - scale * box >= log_sum - slack
    return box <= 0.5 * scale if shape == CUBE else box < scale


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
def quarter_sine(v: float) -> float:
    """Return sin(π v / 2) for v from 0 to 1, by its series up to v²¹."""
    s = v * v
    p = 2.571422892860472e-16
    p = p * s - 4.377065467313739e-14
    p = p * s + 6.066935731106192e-12
    p = p * s - 6.688035109811464e-10
    p = p * s + 5.692172921967924e-08
    p = p * s - 3.598843235212084e-06
    p = p * s + 0.00016044118478735975
    p = p * s - 0.004681754135318687
    p = p * s + 0.07969262624616703
    p = p * s - 0.6459640975062462
    p = p * s + 1.5707963267948966
    return v * p


@kernel
def window_terms(away: Floats, mass: Floats, width: float, shape: int, out: Floats) -> None:
    """Write the terms wᵢ K(dᵢ / h) of a leaf, for shapes that have an end.

    With v = 1 − d/h not below 0: v for the linear kernel, v (2 − v) = 1 − (d/h)² for
    Epanechnikov's, sin(π v / 2) = cos(π d / 2h) for the cosine.
    """
    if shape == CUBE:
        half = 0.5 * width
        for j in range(LEAF):
            out[j] = mass[j] if away[j] <= half else 0.0
        return
    for j in range(LEAF):
        rest = 1.0 - away[j] / width
        out[j] = rest if rest > 0.0 else 0.0
    if shape == TOPHAT:
        for j in range(LEAF):
            out[j] = 1.0 if out[j] > 0.0 else 0.0
    elif shape == EPANECHNIKOV:
        for j in range(LEAF):
            out[j] *= 2.0 - out[j]
    elif shape == COSINE:
        for j in range(LEAF):
            out[j] = quarter_sine(out[j])
    for j in range(LEAF):
        out[j] *= mass[j]


@kernel
def add_terms(
    away: Floats,
    mass: Floats,
    leaf: Integers,
    who: Integers,
    wanted: int,
    scale: float,
    shape: int,
    sums: Floats,
    work: Floats,
) -> None:
    """Add what leaves contribute to the sums of some queries, for one bandwidth.

    Parameters
    ----------
    away : (TILE, LEAF)
        Distances of the rows of a leaf from each query of the tile.
    mass : (leaves, LEAF)
    leaf : (TILE,)
        Which leaf it is, for each query.
    who : (TILE,)
        The first `wanted` name the queries.
    sums : (4, TILE), changed
        For each query the logarithm of what its terms are divided by, their sum in two parts, and
        the logarithm of the sum.
    work : (3, LEAF), overwritten
    """
    terms = work[0]
    for a in range(wanted):
        k = who[a]
        d, m = away[k], mass[leaf[k]]
        if shape > EXPONENTIAL:
            window_terms(d, m, scale, shape, terms)
        else:
            for j in range(LEAF):
                terms[j] = m[j] - scale * d[j]
            top = largest(terms, work[1])
            if top == -np.inf:  # the query may see none of these rows
                continue
            if top > sums[0, k]:
                shrink = math.exp(sums[0, k] - top)
                sums[0, k] = top
                sums[1, k] *= shrink
                sums[2, k] *= shrink
            peak = sums[0, k]
            for j in range(LEAF):
                below = terms[j] - peak
                terms[j] = below if below > LOWEST else LOWEST
            exp_in_place(terms, work[1], work[2])
        sums[1, k], error = two_sum(sums[1, k], total(terms))
        sums[2, k] += error
        found = sums[1, k] + sums[2, k]
        sums[3, k] = sums[0, k] + math.log(found) if found > 0.0 else -np.inf


@kernel
def hide(groups: Integers, hidden: int, away: Floats) -> None:
    """Move the rows of one group infinitely far away."""
    for j in range(LEAF):
        away[j] = np.inf if groups[j] == hidden else away[j]


@kernel
def choose_leaves(
    turn: int,
    nearest: Integers,
    boxes: Floats,
    heaviest: Floats,
    scales: Floats,
    shape: int,
    slack: float,
    sums: Floats,
    leaf: Integers,
    who: Integers,
    many: Integers,
) -> None:
    """Say which queries look at which leaf: first at the nearest, then at one after the other.

    Parameters
    ----------
    nearest : (queries,)
    boxes : (TILE, leaves)
    scales : (bandwidths,)
    sums : (bandwidths, 4, TILE)
    leaf : (TILE,), written
    who : (bandwidths + 1, TILE), written
        For each bandwidth the queries to which the leaf matters; in the last row those to whom it
        matters for any.
    many : (bandwidths + 1,), written
        How many they are.
    """
    every = len(scales)
    many[:] = 0
    for k in range(len(nearest)):
        leaf[k] = nearest[k] if turn == 0 else turn - 1
        if turn > 0 and leaf[k] == nearest[k]:
            continue
        box, heavy = boxes[k, leaf[k]], heaviest[leaf[k]]
        some = False
        for g in range(every):
            if turn == 0 or matters(shape, box, scales[g], heavy, sums[g, 3, k], slack):
                who[g, many[g]] = k
                many[g] += 1
                some = True
        if some:
            who[every, many[every]] = k
            many[every] += 1


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

    Parameters
    ----------
    X : (leaves, columns, LEAF)
        Rows, with zeros after the last.
    mass : (leaves, LEAF)
        log wᵢ for shapes without an end, −∞ after the last row; for the others wᵢ, and 0.
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
        1 / 2h² for the Gaussian kernel, 1 / h for the exponential one, else h.
    shape, rows : int
        Which kernel it is, and how many rows there are.
    out : (queries, bandwidths), written
    """
    leaves, every = X.shape[0], len(scales)
    boxes, away, work = np.empty((TILE, leaves)), np.empty((TILE, LEAF)), np.empty((3, LEAF))
    nearest, leaf = np.empty(TILE, np.int64), np.empty(TILE, np.int64)
    who, many = np.empty((every + 1, TILE), np.int64), np.empty(every + 1, np.int64)
    sums = np.empty((every, 4, TILE))
    slack = NEGLIGIBLE + math.log(rows)
    for start in range(0, queries.shape[0], TILE):
        tile, hidden = queries[start : start + TILE], left_out[start : start + TILE]
        sums[:] = 0.0
        sums[:, 0] = -np.inf if shape <= EXPONENTIAL else 0.0
        sums[:, 3] = -np.inf
        for k in range(len(tile)):
            nearest[k] = distances_to_boxes(low, high, tile[k], shape, boxes[k])
        for turn in range(leaves + 1):
            choose_leaves(
                turn, nearest[: len(tile)], boxes, heaviest, scales, shape, slack, sums, leaf, who,
                many,
            )  # fmt: skip
            for a in range(many[every]):
                k = who[every, a]
                distances(X[leaf[k]], tile[k], shape, away[k])
                if hidden[k] >= 0:
                    hide(groups[leaf[k]], hidden[k], away[k])
            for g in range(every):
                if many[g] > 0:
                    add_terms(away, mass, leaf, who[g], many[g], scales[g], shape, sums[g], work)
        for k in range(len(tile)):
            for g in range(every):
                out[start + k, g] = sums[g, 3, k]
