"""Kernels of Gaussians with independent columns: leave-one-out densities.

Every row's log-density under the moments without that row.  The rows of a tile are of few classes;
what leaving does to the moments of their own class, and to ε, `suffice.kernels.gaussian.downdates`
tells.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel
from suffice.kernels.gaussian.densities import FARTHEST, TILE
from suffice.kernels.gaussian.downdates import (
    leave_class,
    smoothing_without,
    stay_in_class,
    stay_in_class_anew,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

SIGNATURE = (
    "const float64[:, ::1], const int64[::1], const int64[::1], const float64[::1], "
    "const float64[:, ::1], const float64[:, ::1], const float64[:, ::1], const float64[::1], "
    "const float64[::1], const float64[::1], const int64[::1], float64, float64, float64, "
    "float64[:, ::1], bool[::1]"
)


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
def add_peaks(tile: Floats, count: int, order: Integers, peak: Floats, total: Floats) -> None:
    """Add the peaks of the columns in which a row has a cell."""
    for j in order:
        p, x = peak[j], tile[j]
        for r in range(count):
            total[r] += p if x[r] == x[r] else 0.0


@kernel
def smoothing_of_tile(
    tile: Floats,
    index: Integers,
    weight: Floats,
    mean: Floats,
    variance: Floats,
    inverse: Floats,
    order: Integers,
    smoothing: float,
    risk: float,
    w: Floats,
    eps: Floats,
    doubtful: Flags,
) -> None:
    """Write each row's weight, and ε once it has left; mark the rows for which ε is doubtful."""
    count = len(index)
    for r in range(count):
        w[r] = weight[index[r]]
    smoothing_without(tile, count, w, mean, variance, inverse, order, eps)
    largest = variance[order[0]] if len(order) else 0.0
    doubt(eps[:count], risk * largest, index, doubtful)
    for r in range(count):
        eps[r] *= smoothing


@kernel
def add_to_class(
    k: int, index: Integers, total: Floats, z: Floats, out: Floats, doubtful: Flags
) -> None:
    """Add the log-densities of a tile's rows in class k, from their logarithms and squares."""
    for r in range(len(index)):
        if not z[r] < FARTHEST:
            doubtful[index[r]] = True
        out[index[r], k] -= 0.5 * (total[r] + z[r])


@kernel(SIGNATURE)
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
    for start in range(0, rows, TILE):
        index = by_class[start : start + TILE]
        count = len(index)
        holes = turned_from(X, index, tile)
        smoothing_of_tile(
            tile, index, weight, mean_of_all, variance_of_all, inverse_of_all, order, smoothing,
            risk, w, eps, doubtful,
        )  # fmt: skip
        for r in range(count):
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
            add_to_class(k, index, total, z, out, doubtful)


@kernel(SIGNATURE)
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
    for start in range(0, rows, TILE):
        index = by_class[start : start + TILE]
        count = len(index)
        turned_from(X, index, tile)
        smoothing_of_tile(
            tile, index, weight, mean_of_all, variance_of_all, inverse_of_all, order, smoothing,
            risk, w, eps, doubtful,
        )  # fmt: skip
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
            add_to_class(k, index, total, z, out, doubtful)
