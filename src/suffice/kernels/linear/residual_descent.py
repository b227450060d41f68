"""Coordinate descent on the columns themselves, with the residual kept up to date.

    minimise over θ:   ½ ‖y − Xθ‖² + Σⱼ (l1ⱼ |θⱼ| + ½ l2ⱼ θⱼ²),      θ ≥ 0 if so wished

A step of coordinate j takes xⱼ·r and changes r by a multiple of xⱼ: no products of columns are
needed.  The columns are dense, one after the other, or those of a CSC matrix that is centred and
weighted in the formulas alone: with v = w (y − ȳ − Xθ), which a step changes only where xⱼ has
entries, and Σᵢ wᵢ rᵢ = 0,

    xⱼ·r = Σᵢ xᵢⱼ vᵢ + (Σₖ x̄ₖ θₖ) Σᵢ wᵢ xᵢⱼ.

Reference: Friedman, Hastie and Tibshirani (2010), "naive updates".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel
from suffice.kernels.linear.coordinate_descent import best_coordinate

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@kernel
def column_dot(data: Floats, indices: Integers, start: int, end: int, r: Floats) -> float:
    """The product of a stored column with a vector; without indices, the column is dense."""
    total = 0.0
    if len(indices) == 0:
        for i in range(end - start):
            total += data[start + i] * r[i]
    else:
        for e in range(start, end):
            total += data[e] * r[indices[e]]
    return total


@kernel
def add_column(
    data: Floats, indices: Integers, start: int, end: int, factor: float, r: Floats
) -> None:
    """Add a multiple of a stored column to a vector."""
    if len(indices) == 0:
        for i in range(end - start):
            r[i] += factor * data[start + i]
    else:
        for e in range(start, end):
            r[indices[e]] += factor * data[e]


@kernel(
    "const float64[::1], const float64[::1], const int64[::1], const int64[::1], "
    "const float64[::1], const float64[::1], const float64[::1], const float64[::1], "
    "const float64[::1], bool, float64[::1], float64[::1], int64, float64"
)
def descend_on_residual(
    data: Floats,
    weighed: Floats,
    indices: Integers,
    indptr: Integers,
    squares: Floats,
    mean: Floats,
    total: Floats,
    l1: Floats,
    l2: Floats,
    positive: bool,
    theta: Floats,
    v: Floats,
    most: int,
    tolerance: float,
) -> int:
    """Sweep over the coordinates until they rest.

    Parameters
    ----------
    data, indices, indptr : columns as in a CSC matrix; no indices where they are dense
    weighed : like data
        The entries times the weights of their rows.
    squares : (p,)
        ‖xⱼ‖², centred and weighted; a column of 0 is left alone.
    mean, total : (p,)
        x̄ⱼ and Σᵢ wᵢ xᵢⱼ; 0 where the columns are stored as they are.
    l1, l2 : (p,), not negative
    positive : bool
    theta : (p,), updated
    v : (n,), updated
        The weighted residual, without the means' part of the columns.
    most : int
        Sweeps at most.
    tolerance : float
        Move of a coordinate, relative to the largest, up to which it rests.

    Returns
    -------
    The number of sweeps; negative if the coordinates were still moving.
    """
    p = len(theta)
    shift = 0.0
    for j in range(p):
        shift += mean[j] * theta[j]
    everywhere = True
    for sweep in range(1, most + 1):
        move, size = 0.0, 0.0
        for j in range(p):
            old = theta[j]
            if squares[j] <= 0.0 or (old == 0.0 and not everywhere):
                continue
            slope = column_dot(data, indices, indptr[j], indptr[j + 1], v) + shift * total[j]
            curvature = squares[j] + l2[j]
            new = best_coordinate(slope + squares[j] * old, curvature, l1[j], positive)
            root = np.sqrt(curvature)
            size = max(size, abs(new) * root)
            if new != old:
                move = max(move, abs(new - old) * root)
                add_column(weighed, indices, indptr[j], indptr[j + 1], old - new, v)
                shift += mean[j] * (new - old)
                theta[j] = new
        rests = move <= tolerance * size
        if rests and everywhere:
            return sweep
        everywhere = rests
    return -most
