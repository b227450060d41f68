"""Kernels of Gaussians with independent columns: densities of rows, and leave-one-out densities.

A cell x of column j adds to the log-density of class k

    −½ log(2π u) − (x − θ)² / (2u),      u = v + ε,

with θ and v the mean and the variance of (k, j); a cell that is NaN adds nothing.  Rows are taken
in tiles and turned, so that the loop over the rows of a tile is the innermost.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compile import kernel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

TILE = 128
"""Rows that are worked on at a time."""

FARTHEST = 1e300
"""The most that one cell takes off a log-density, doubled: sums stay finite."""

TOGETHER = 16
"""Factors that are multiplied before their product is looked at."""


@kernel
def turned(X: Floats, start: int, tile: Floats) -> int:
    """Write some rows to the columns of a tile; return how many there were."""
    count = min(TILE, X.shape[0] - start)
    for r in range(count):
        for j in range(X.shape[1]):
            tile[j, r] = X[start + r, j]
    return count


@kernel(
    "const float64[:, ::1], const float64[:, ::1], const float64[:, ::1], const float64[:, ::1], "
    "const float64[:, ::1], float64[:, ::1]"
)
def add_log_densities(
    X: Floats, theta: Floats, rest: Floats, scale: Floats, peak: Floats, out: Floats
) -> None:
    """Add each row's log-density in every class, over the cells that are there.

        out[i, k] += Σⱼ peak[k, j] − ½ ((X[i, j] − theta[k, j] − rest[k, j]) scale[k, j])²

    Parameters
    ----------
    X : (rows, columns)
    theta, rest, scale, peak : (classes, columns)
        Means, what rounding took from them, reciprocal standard deviations, and the log-density at
        the mean.
    out : (rows, classes), added to
    """
    rows, columns = X.shape
    tile = np.empty((columns, TILE + 8))
    total = np.empty(TILE)
    for start in range(0, rows, TILE):
        count = turned(X, start, tile)
        for k in range(theta.shape[0]):
            total[:] = 0.0
            for j in range(columns):
                m, low, s, p = theta[k, j], rest[k, j], scale[k, j], peak[k, j]
                x = tile[j]
                for r in range(count):
                    z = ((x[r] - m) - low) * s
                    q = z * z
                    q = q if q < FARTHEST else FARTHEST
                    total[r] += p - 0.5 * q if x[r] == x[r] else 0.0
            for r in range(count):
                out[start + r, k] += total[r]


@kernel
def turned_from(X: Floats, index: Integers, tile: Floats) -> bool:
    """Write the rows at an index to the columns of a tile; return whether a cell is NaN."""
    holes = False
    for r in range(len(index)):
        x = X[index[r]]
        for j in range(len(x)):
            tile[j, r] = x[j]
            holes |= x[j] != x[j]
    return holes


@kernel
def smoothing_without(
    tile: Floats,
    count: int,
    w: Floats,
    mean: Floats,
    variance: Floats,
    inverse: Floats,
    order: Integers,
    largest: Floats,
) -> None:
    """Find the largest variance of a column once a row has left, for each row of a tile.

    With t = w/W and a = 1 − t, the variance without the row is (a v − t (x − m)²) / a² ≤ v / a.
    Columns come in `order` of falling variance: when even the bound is below what was
    found in all rows, the rest is not looked at.
    """
    least, heaviest = 0.0, 0.0
    for r in range(count):
        largest[r] = 0.0
        heaviest = max(heaviest, w[r])
    for j in order:
        m, v, i = mean[j], variance[j], inverse[j]
        if v <= least * (1.0 - heaviest * i):
            continue
        x = tile[j]
        least = np.inf
        for r in range(count):
            t = w[r] * i if x[r] == x[r] else 0.0
            d = x[r] - m if x[r] == x[r] else 0.0
            a = 1.0 - t
            without = (a * v - t * d * d) / (a * a) if a > 0.0 else 0.0
            largest[r] = without if without > largest[r] else largest[r]
            least = min(least, largest[r])


@kernel
def part_of_class(codes: Integers, index: Integers, k: int) -> tuple[int, int]:
    """Return from where to where the rows at an index, sorted by class, are of class k."""
    low = 0
    while low < len(index) and codes[index[low]] < k:
        low += 1
    high = low
    while high < len(index) and codes[index[high]] == k:
        high += 1
    return low, high


@kernel
def note(values: Floats, least: float, index: Integers, doubtful: Flags) -> None:
    """Mark the rows whose value is below a limit, or NaN."""
    for r in range(len(index)):
        if not values[r] >= least:
            doubtful[index[r]] = True


@kernel(
    "const float64[:, ::1], const int64[::1], const int64[::1], const float64[::1], "
    "const float64[:, ::1], const float64[:, ::1], const float64[:, ::1], const float64[::1], "
    "const float64[::1], const float64[::1], const int64[::1], float64, float64, float64, "
    "float64[:, ::1], bool[::1]"
)
def add_log_densities_without(
    X: Floats,
    codes: Integers,
    by_class: Integers,
    weight: Floats,
    theta: Floats,
    variance: Floats,
    inverse: Floats,
    mean_of_all: Floats,
    variance_of_all: Floats,
    inverse_of_all: Floats,
    order: Integers,
    smoothing: float,
    epsilon: float,
    risk: float,
    out: Floats,
    doubtful: Flags,
) -> None:
    """Add each row's log-density in every class, under the moments without that row.

    A row of weight w that leaves its class of weight W takes, with t = w/W, a = 1 − t and
    d = x − θ, the distance from the mean to d/a and the variance to (a v − t d²)/a².  So, with ε
    that of the remaining rows and D = a (v + ε a) − t d²,

        u = D / a²,      (d/a)² / u = d² / D.

    Other classes have t = 0; and while ε changes little, 1/u and log u are linear in it.
    Logarithms are taken of products of many factors.

    Parameters
    ----------
    X : (rows, columns)
    codes : (rows,)
        Each row's class.
    by_class : (rows,)
        The rows' numbers, sorted by class.
    weight : (rows,)
    theta, variance, inverse : (classes, columns)
        Means, variances v without smoothing, reciprocal weights 1/W.
    mean_of_all, variance_of_all, inverse_of_all : (columns,)
        The same over all classes.
    order : (some,)
        Columns that have a value, by falling variance over all classes.
    smoothing, epsilon : float
        ε is `smoothing` times the largest variance of a column; `epsilon` is that of all rows.
    risk : float
        A row is doubtful if less than this share of a variance or a weight remains.
    out : (rows, classes), added to
    doubtful : (rows,), set
    """
    rows, columns = X.shape
    classes = theta.shape[0]
    tile = np.empty((columns, TILE + 8))
    eps, w, D = np.empty(TILE), np.empty(TILE), np.empty(TILE)
    z, z1 = np.empty(TILE), np.empty(TILE)
    total, worst, ratio, kept = np.empty(TILE), np.empty(TILE), np.empty(TILE), np.empty(TILE)
    u, peak = np.empty((classes, columns)), np.empty((classes, columns))
    most, sums = np.zeros(classes), np.zeros((2, classes))
    for k in range(classes):
        for j in order:
            u[k, j] = 1.0 / (variance[k, j] + epsilon)
            peak[k, j] = math.log(2.0 * math.pi * (variance[k, j] + epsilon))
            most[k] = max(most[k], u[k, j])
            sums[0, k] += peak[k, j]
            sums[1, k] += u[k, j]
    largest = variance_of_all[order[0]] if len(order) else 0.0
    for start in range(0, rows, TILE):
        index = by_class[start : start + TILE]
        count = len(index)
        holes = turned_from(X, index, tile)
        for r in range(count):
            w[r] = weight[index[r]]
        smoothing_without(tile, count, w, mean_of_all, variance_of_all, inverse_of_all, order, eps)
        note(eps[:count], risk * largest, index, doubtful)
        change = 0.0
        for r in range(count):
            eps[r] *= smoothing
            change = max(change, abs(eps[r] - epsilon))
        for k in range(classes):
            low, high = part_of_class(codes, index, k)
            total[:] = sums[0, k]
            z[:] = 0.0
            z1[:] = 0.0
            kept[:] = 1.0
            ratio[:] = 1.0
            worst[:] = 0.0
            if holes:
                total[:] = 0.0
                for j in order:
                    p, x = peak[k, j], tile[j]
                    for r in range(count):
                        total[r] += p if x[r] == x[r] else 0.0
            linear = change * most[k] < 1e-8
            # Rows of other classes, before and after those of this one.
            for begin, end in ((0, low), (high, count)):
                if begin == end:
                    continue
                for j in order if linear else order[:0]:
                    m, i, x = theta[k, j], u[k, j], tile[j, begin:end]
                    y0, y1 = z[begin:end], z1[begin:end]
                    if holes:
                        for r in range(len(x)):
                            d = (x[r] - m if x[r] == x[r] else 0.0) * i
                            y0[r] += d * d / i
                            y1[r] += d * d - (i if x[r] == x[r] else 0.0)
                    else:
                        for r in range(len(x)):
                            d = x[r] - m
                            q = d * d * i
                            y0[r] += q
                            y1[r] += q * i
                if linear:
                    for r in range(begin, end):
                        less = z1[r] if holes else z1[r] - sums[1, k]
                        z[r] -= (eps[r] - epsilon) * less
                else:
                    for j in order:
                        m, v, x = theta[k, j], variance[k, j], tile[j]
                        for r in range(begin, end):
                            if x[r] == x[r]:
                                D[r] = v + eps[r]
                                z[r] += (x[r] - m) * (x[r] - m) / D[r] + math.log(D[r] * u[k, j])
            # Rows of this class.
            for first in range(0, len(order) if low < high else 0, TOGETHER):
                for j in order[first : first + TOGETHER]:
                    m, v, i, f = theta[k, j], variance[k, j], inverse[k, j], u[k, j]
                    x, ws, es = tile[j, low:high], w[low:high], eps[low:high]
                    y0, part, lost = z[low:high], D[low:high], worst[low:high]
                    product, shares = ratio[low:high], kept[low:high]
                    # Short loops over few arrays: the compiler vectorises no others.
                    for r in range(len(x)):
                        d = x[r] - m
                        t = ws[r] * i
                        a = 1.0 - t
                        part[r] = a * (v + es[r] * a) - t * d * d
                    for r in range(len(x)):
                        q = (x[r] - m) * (x[r] - m) / part[r]
                        y0[r] += q if x[r] == x[r] else 0.0
                    for r in range(len(x)):
                        share = part[r] * f if x[r] == x[r] else 1.0
                        product[r] *= share
                    for r in range(len(x)):
                        lost[r] += 1.0 if part[r] * f < risk else 0.0  # a NaN is not less
                    for r in range(len(x)):
                        shares[r] *= 1.0 - ws[r] * i if x[r] == x[r] else 1.0
                for r in range(low, high):
                    # If one of the shares of weight is tiny, so is their product.
                    worst[r] += 0.0 if kept[r] >= risk else 1.0
                    if not 1e-100 < ratio[r] < 1e100 or kept[r] < 1e-100:
                        total[r] += math.log(ratio[r]) - 2.0 * math.log(kept[r])
                        ratio[r] = 1.0
                        kept[r] = 1.0
            for r in range(low, high):
                total[r] += math.log(ratio[r]) - 2.0 * math.log(kept[r])
            note(-worst[:count], 0.0, index, doubtful)
            for r in range(count):
                if not z[r] < FARTHEST:
                    doubtful[index[r]] = True
                out[index[r], k] -= 0.5 * (total[r] + z[r])


@kernel(
    "const float64[:, ::1], const int64[::1], const int64[::1], const float64[::1], "
    "const float64[:, ::1], const float64[:, ::1], const float64[:, ::1], const float64[::1], "
    "const float64[::1], const float64[::1], const int64[::1], float64, float64, float64, "
    "float64[:, ::1], bool[::1]"
)
def add_tied_densities_without(
    X: Floats,
    codes: Integers,
    by_class: Integers,
    weight: Floats,
    theta: Floats,
    variance: Floats,
    inverse: Floats,
    mean_of_all: Floats,
    variance_of_all: Floats,
    inverse_of_all: Floats,
    order: Integers,
    smoothing: float,
    epsilon: float,
    risk: float,
    out: Floats,
    doubtful: Flags,
) -> None:
    """Do the same where all classes share the variance of a column.

    It is v = s/W over all classes, s the sum of their scatters.  The row takes w d²/a from s and
    w from W, with d and a as before in its own class: with t = w/W and b = 1 − t,

        u = D / (a b),      D = a (v + ε b) − t d²,      1/u = a² b q,      (d/a)²/u = d² b q,

    where q = 1/(a D).

    Parameters
    ----------
    X, codes, by_class, weight, theta, variance, inverse, mean_of_all, variance_of_all, \
    inverse_of_all, order, smoothing, epsilon, risk, out, doubtful
        As for `add_log_densities_without`.
    """
    rows, columns = X.shape
    classes = theta.shape[0]
    tile, precision = np.empty((columns, TILE + 8)), np.empty((columns, TILE + 8))
    eps, w, D = np.empty(TILE), np.empty(TILE), np.empty(TILE)
    z, mine = np.empty(TILE), np.empty(TILE)
    total, worst, ratio, kept = np.empty(TILE), np.empty(TILE), np.empty(TILE), np.empty(TILE)
    pooled = np.zeros(columns)
    for j in order:
        for k in range(classes):
            if inverse[k, j] > 0.0:
                pooled[j] += variance[k, j] / inverse[k, j]
        pooled[j] *= inverse_of_all[j]
    largest = variance_of_all[order[0]] if len(order) else 0.0
    for start in range(0, rows, TILE):
        index = by_class[start : start + TILE]
        count = len(index)
        turned_from(X, index, tile)
        for r in range(count):
            w[r] = weight[index[r]]
        smoothing_without(tile, count, w, mean_of_all, variance_of_all, inverse_of_all, order, eps)
        note(eps[:count], risk * largest, index, doubtful)
        for r in range(count):
            eps[r] *= smoothing
        total[:] = 0.0
        mine[:] = 0.0
        ratio[:] = 1.0
        kept[:] = 1.0
        worst[:] = 0.0
        for k in range(codes[index[0]], codes[index[count - 1]] + 1):
            low, high = part_of_class(codes, index, k)
            for first in range(0, len(order) if low < high else 0, TOGETHER):
                for j in order[first : first + TOGETHER]:
                    m, v, i, h = theta[k, j], pooled[j], inverse[k, j], inverse_of_all[j]
                    f, p = 1.0 / (v + epsilon), math.log(2.0 * math.pi * (v + epsilon))
                    x, ws, es, part = tile[j, low:high], w[low:high], eps[low:high], D[low:high]
                    y0, lost, sum_ = mine[low:high], worst[low:high], total[low:high]
                    product, shares, q = ratio[low:high], kept[low:high], precision[j, low:high]
                    for r in range(len(x)):
                        d = x[r] - m
                        t = ws[r] * h
                        part[r] = (1.0 - ws[r] * i) * (v + es[r] * (1.0 - t)) - t * d * d
                    for r in range(len(x)):
                        a = 1.0 - ws[r] * i
                        q[r] = (1.0 - ws[r] * h) / (a * part[r])
                    for r in range(len(x)):
                        y0[r] += (x[r] - m) * (x[r] - m) * q[r] if x[r] == x[r] else 0.0
                    for r in range(len(x)):
                        a = 1.0 - ws[r] * i
                        q[r] *= a * a
                        shares[r] *= a * (1.0 - ws[r] * h) if x[r] == x[r] else 1.0
                    for r in range(len(x)):
                        share = part[r] * f if x[r] == x[r] else 1.0
                        product[r] *= share
                    for r in range(len(x)):
                        lost[r] += 1.0 if part[r] * f < risk else 0.0  # a NaN is not less
                    for r in range(len(x)):
                        sum_[r] += p if x[r] == x[r] else 0.0
                for r in range(low, high):
                    worst[r] += 0.0 if kept[r] >= risk else 1.0
                    if not 1e-100 < ratio[r] < 1e100 or kept[r] < 1e-100:
                        total[r] += math.log(ratio[r]) - math.log(kept[r])
                        ratio[r] = 1.0
                        kept[r] = 1.0
        note(-worst[:count], 0.0, index, doubtful)
        for r in range(count):
            total[r] += math.log(ratio[r]) - math.log(kept[r])
        for k in range(classes):
            low, high = part_of_class(codes, index, k)
            z[:] = 0.0
            if high - low < count:
                for j in order:
                    m, x, q = theta[k, j], tile[j], precision[j]
                    for r in range(count):
                        z[r] += (x[r] - m) * (x[r] - m) * q[r] if x[r] == x[r] else 0.0
            for r in range(low, high):
                z[r] = mine[r]
            for r in range(count):
                if not z[r] < FARTHEST:
                    doubtful[index[r]] = True
                out[index[r], k] -= 0.5 * (total[r] + z[r])
