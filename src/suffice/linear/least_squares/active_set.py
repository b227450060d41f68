"""The active-set method of Lawson and Hanson, for a quadratic function of numbers not below zero.

    minimise over x ≥ 0:   ½ xᵀA x − Bᵀx

Of all columns outside the support the one with the steepest slope, (B − A x)ⱼ > 0, joins it; then
A x = B is solved on the support.  Where a number would become negative, the step ends at zero, its
column leaves, and the rest is solved again.  The function descends at each step, so that no support
comes twice.

References: Lawson and Hanson, "Solving Least Squares Problems" (1974), chapter 23; Bro and De Jong,
"A fast non-negativity-constrained least squares algorithm" (1997).
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from suffice.numerics.double_double import UNIT, Array


def active_set(A: Array, B: Array, usable: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The support of the minimiser of ½ x·Ax − B·x over x ≥ 0, in float64.

    Parameters
    ----------
    A : array of shape (columns, columns)
        With a diagonal near 1.
    B : array of shape (columns,)
    usable : boolean array of shape (columns,)
        Columns that may join.
    """
    solve_on = partial(_least_squares, A, B)
    # Least squares of all columns, of those that are positive in it, and so on: often nearly it.
    inside = usable.copy()
    x = solve_on(inside)
    while x is not None and (x[inside] <= 0).any():
        inside = x > 0
        x = solve_on(inside)
    if x is None:
        inside, x = np.zeros_like(usable), np.zeros_like(B)
    refused, sizes = np.zeros_like(usable), np.abs(A)
    for _ in range(3 * len(B) + 3):
        slope = B - A @ x
        noise = 4 * (inside.sum() + 4) * UNIT * (np.abs(B) + sizes @ x)
        slope[inside | refused | ~usable | (slope <= noise)] = 0.0
        if not slope.any():
            break
        j = np.argmax(slope)
        inside[j] = True
        step = solve_on(inside)
        if step is None or step[j] <= 0:  # it depends on the support, and its slope is noise
            inside[j], refused[j] = False, True
            continue
        while step is not None and (leaving := inside & (step <= 0)).any():
            shares = np.where(leaving, x / np.where(leaving, x - step, 1.0), np.inf)
            x = np.where(inside, x + shares.min() * (step - x), 0.0)
            inside = inside & (shares > shares.min())
            step = solve_on(inside)
        if step is None:
            break
        x, refused[:] = step, False
    return inside


def _least_squares(A: Array, B: Array, inside: NDArray[np.bool_]) -> Array | None:
    """x with A x = B on some columns and zero elsewhere; None where these are dependent."""
    x = np.zeros(len(B))
    if inside.any():
        factor, failed = lapack.dpotrf(A[np.ix_(inside, inside)], lower=1)
        if failed:
            return None
        x[inside] = lapack.dpotrs(factor, B[inside], lower=1)[0]
    return x
