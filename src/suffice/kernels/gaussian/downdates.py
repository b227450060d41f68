"""Kernels of Gaussians whose moments lose a row: downdates of variances, squares and logarithms.

Each works on a tile of rows that is turned (`suffice.kernels.gaussian.densities`).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

TOGETHER = 16
"""Factors that are multiplied before their product is looked at."""


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
