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

from suffice.kernels.compiler.compile import kernel

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
def doubt(values: Floats, least: float, index: Integers, doubtful: Flags) -> None:
    """Mark the rows whose value is below a limit, or NaN."""
    for r in range(len(index)):
        if not values[r] >= least:
            doubtful[index[r]] = True


@kernel
def leave_class(
    tile: Floats,
    low: int,
    high: int,
    order: Integers,
    mean: Floats,
    variance: Floats,
    inverse: Floats,
    pool: Floats,
    reciprocal: Floats,
    w: Floats,
    eps: Floats,
    risk: float,
    D: Floats,
    square: Floats,
    total: Floats,
    worst: Floats,
    ratio: Floats,
    kept: Floats,
) -> None:
    """Let rows of a class leave it, each by itself.

    With d = x − θ, a = 1 − w/W and b = 1 − w/V, V the weight behind the variance, a row takes

        the variance    to  u = D / (a b),      D = a (v + ε b) − (w/V) d²,
        its square      to  (d/a)² / u = d² b / (a D).

    Logarithms are taken of products of several factors.

    Parameters
    ----------
    tile : (columns, rows)
    low, high : int
        Where the rows of the class begin and end.
    order : (some,)
        Columns that have a value.
    mean, variance, inverse, pool, reciprocal : (columns,)
        θ, v, 1/W, 1/V and 1/(v + ε), ε that of all rows.
    w, eps : (rows,)
    risk : float
    D : (columns, rows), written
    square, total : (rows,), added to
        Squares, and logarithms of u (v + ε).
    worst : (rows,), added to
        How often less than `risk` remains of a variance or of the weights.
    ratio, kept : (rows,)
        Room to work in.
    """
    w, eps, square = w[low:high], eps[low:high], square[low:high]
    worst, ratio, kept = worst[low:high], ratio[low:high], kept[low:high]
    ratio[:] = 1.0
    kept[:] = 1.0
    for first in range(0, len(order), TOGETHER):
        for j in order[first : first + TOGETHER]:
            x, part, f = tile[j, low:high], D[j, low:high], reciprocal[j]
            m, v, i, h = mean[j], variance[j], inverse[j], pool[j]
            # Short loops over few arrays: the compiler vectorises no others.
            for r in range(len(x)):
                d = x[r] - m
                t = w[r] * h
                part[r] = (1.0 - w[r] * i) * (v + eps[r] * (1.0 - t)) - t * d * d
            for r in range(len(x)):
                d = x[r] - m
                q = d * d * (1.0 - w[r] * h) / ((1.0 - w[r] * i) * part[r])
                square[r] += q if x[r] == x[r] else 0.0
            for r in range(len(x)):
                kept[r] *= (1.0 - w[r] * i) * (1.0 - w[r] * h) if x[r] == x[r] else 1.0
            for r in range(len(x)):
                ratio[r] *= part[r] * f if x[r] == x[r] else 1.0
            for r in range(len(x)):
                worst[r] += 1.0 if part[r] * f < risk else 0.0  # a NaN is not less
        for r in range(len(ratio)):
            # If one of the shares of weight is tiny, so is their product.
            worst[r] += 0.0 if kept[r] >= risk else 1.0
            if not 1e-100 < ratio[r] < 1e100 or kept[r] < 1e-100:
                total[low + r] += math.log(ratio[r]) - math.log(kept[r])
                ratio[r] = 1.0
                kept[r] = 1.0
    for r in range(len(ratio)):
        total[low + r] += math.log(ratio[r]) - math.log(kept[r])


@kernel
def stay_in_class(
    tile: Floats,
    count: int,
    holes: bool,
    order: Integers,
    mean: Floats,
    reciprocal: Floats,
    change: Floats,
    z: Floats,
    z1: Floats,
) -> None:
    """Add the squares of rows of another class, and what log u gains, while ε changes little.

    With 1/u = r and a change e of ε, d²/u + log u is d² r + e (r − d² r²) to first order.

    Parameters
    ----------
    tile : (columns, rows)
    count : int
        Rows of the tile that are there.
    holes : bool
        Whether a cell may be NaN.
    order : (some,)
    mean, reciprocal : (columns,)
    change : (rows,)
        e.
    z : (rows,), added to
    z1 : (rows,)
        Room to work in.
    """
    z1[:] = 0.0
    slope = 0.0
    for j in order:
        m, i, x = mean[j], reciprocal[j], tile[j]
        if holes:
            for r in range(count):
                d = (x[r] - m if x[r] == x[r] else 0.0) * i
                z[r] += d * d / i
                z1[r] += d * d - (i if x[r] == x[r] else 0.0)
        else:
            slope += i
            for r in range(count):
                d = x[r] - m
                q = d * d * i
                z[r] += q
                z1[r] += q * i
    for r in range(count):
        z[r] -= change[r] * (z1[r] - slope)


@kernel
def stay_in_class_anew(
    tile: Floats,
    count: int,
    order: Integers,
    mean: Floats,
    variance: Floats,
    reciprocal: Floats,
    eps: Floats,
    z: Floats,
) -> None:
    """Do the same for any ε."""
    for j in order:
        m, v, i, x = mean[j], variance[j], reciprocal[j], tile[j]
        for r in range(count):
            if x[r] == x[r]:
                d, u = x[r] - m, v + eps[r]
                z[r] += d * d / u + math.log(u * i)


@kernel
def add_peaks(tile: Floats, count: int, order: Integers, peak: Floats, total: Floats) -> None:
    """Add the peaks of the columns in which a row has a cell."""
    for j in order:
        p, x = peak[j], tile[j]
        for r in range(count):
            total[r] += p if x[r] == x[r] else 0.0


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

    `leave_class` tells what happens in the row's own class; V = W there.  The others notice by ε
    alone, and while it changes little, 1/u and log u are linear in it.

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
    tile, D = np.empty((columns, TILE + 8)), np.empty((columns, TILE + 8))
    eps, w, change, z = np.empty(TILE), np.empty(TILE), np.empty(TILE), np.empty(TILE)
    total, worst, room, kept = np.empty(TILE), np.empty(TILE), np.empty(TILE), np.empty(TILE)
    u, peak = np.empty((classes, columns)), np.empty((classes, columns))
    most, peaks = np.zeros(classes), np.zeros(classes)
    for k in range(classes):
        for j in order:
            u[k, j] = 1.0 / (variance[k, j] + epsilon)
            peak[k, j] = math.log(2.0 * math.pi * (variance[k, j] + epsilon))
            most[k] = max(most[k], u[k, j])
            peaks[k] += peak[k, j]
    largest = variance_of_all[order[0]] if len(order) else 0.0
    for start in range(0, rows, TILE):
        index = by_class[start : start + TILE]
        count = len(index)
        holes = turned_from(X, index, tile)
        for r in range(count):
            w[r] = weight[index[r]]
        smoothing_without(tile, count, w, mean_of_all, variance_of_all, inverse_of_all, order, eps)
        doubt(eps[:count], risk * largest, index, doubtful)
        for r in range(count):
            eps[r] *= smoothing
            change[r] = eps[r] - epsilon
        moved = np.abs(change[:count]).max()
        for k in range(classes):
            low, high = part_of_class(codes, index, k)
            z[:] = 0.0
            worst[:] = 0.0
            total[:] = 0.0 if holes else peaks[k]
            if holes:
                add_peaks(tile, count, order, peak[k], total)
            if high - low == count:
                pass  # all rows are of this class
            elif moved * most[k] < 1e-8:
                stay_in_class(tile, count, holes, order, theta[k], u[k], change, z, room)
            else:
                stay_in_class_anew(tile, count, order, theta[k], variance[k], u[k], eps, z)
            if low < high:
                z[low:high] = 0.0
                leave_class(
                    tile, low, high, order, theta[k], variance[k], inverse[k], inverse[k], u[k],
                    w, eps, risk, D, z, total, worst, room, kept,
                )  # fmt: skip
            doubt(-worst[:count], 0.0, index, doubtful)
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

    The weight V behind it is that of all classes, and every class has the row's u.

    Parameters
    ----------
    X, codes, by_class, weight, theta, variance, inverse, mean_of_all, variance_of_all, \
    inverse_of_all, order, smoothing, epsilon, risk, out, doubtful
        As for `add_log_densities_without`.
    """
    rows, columns = X.shape
    classes = theta.shape[0]
    tile, D = np.empty((columns, TILE + 8)), np.empty((columns, TILE + 8))
    eps, w = np.empty(TILE), np.empty(TILE)
    z, mine = np.empty(TILE), np.empty(TILE)
    total, worst, ratio, kept = np.empty(TILE), np.empty(TILE), np.empty(TILE), np.empty(TILE)
    pooled, u, peak = np.zeros(columns), np.zeros(columns), np.zeros(columns)
    for j in order:
        for k in range(classes):
            if inverse[k, j] > 0.0:
                pooled[j] += variance[k, j] / inverse[k, j]
        pooled[j] *= inverse_of_all[j]
        u[j] = 1.0 / (pooled[j] + epsilon)
        peak[j] = math.log(2.0 * math.pi * (pooled[j] + epsilon))
    largest = variance_of_all[order[0]] if len(order) else 0.0
    for start in range(0, rows, TILE):
        index = by_class[start : start + TILE]
        count = len(index)
        turned_from(X, index, tile)
        for r in range(count):
            w[r] = weight[index[r]]
        smoothing_without(tile, count, w, mean_of_all, variance_of_all, inverse_of_all, order, eps)
        doubt(eps[:count], risk * largest, index, doubtful)
        for r in range(count):
            eps[r] *= smoothing
        total[:] = 0.0
        mine[:] = 0.0
        worst[:] = 0.0
        add_peaks(tile, count, order, peak, total)
        for k in range(codes[index[0]], codes[index[count - 1]] + 1):
            low, high = part_of_class(codes, index, k)
            if low < high:
                leave_class(
                    tile, low, high, order, theta[k], pooled, inverse[k], inverse_of_all, u,
                    w, eps, risk, D, mine, total, worst, ratio, kept,
                )  # fmt: skip
                for j in order:  # 1/u in place of D
                    i, h, part = inverse[k, j], inverse_of_all[j], D[j]
                    for r in range(low, high):
                        part[r] = (1.0 - w[r] * i) * (1.0 - w[r] * h) / part[r]
        doubt(-worst[:count], 0.0, index, doubtful)
        for k in range(classes):
            low, high = part_of_class(codes, index, k)
            z[:] = 0.0
            if high - low < count:
                for j in order:
                    m, x, q = theta[k, j], tile[j], D[j]
                    for r in range(count):
                        z[r] += (x[r] - m) * (x[r] - m) * q[r] if x[r] == x[r] else 0.0
            for r in range(low, high):
                z[r] = mine[r]
            for r in range(count):
                if not z[r] < FARTHEST:
                    doubtful[index[r]] = True
                out[index[r], k] -= 0.5 * (total[r] + z[r])
