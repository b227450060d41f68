"""Coordinate descent on a penalised quadratic.

    minimise over θ:   ½ θᵀGθ − q·θ + Σⱼ (l1ⱼ |θⱼ| + ½ l2ⱼ θⱼ²),      θ ≥ 0 if so wished

One coordinate after the other goes to its own minimum, with c = q − Gθ kept up to date:

    θⱼ ← soft(cⱼ + Gⱼⱼ θⱼ, l1ⱼ) / (Gⱼⱼ + l2ⱼ),       soft(z, l) = sign(z) max(|z| − l, 0).

Reference: Friedman, Hastie and Tibshirani, "Regularization paths for generalized linear models
via coordinate descent" (2010).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel

Floats = NDArray[np.float64]


@kernel
def best_coordinate(z: float, curvature: float, l1: float, positive: bool) -> float:
    """The minimiser of ½ curvature t² − z t + l1 |t|."""
    if z > l1:
        return (z - l1) / curvature
    if z < -l1 and not positive:
        return (z + l1) / curvature
    return 0.0


@kernel(
    "const float64[:, ::1], const float64[::1], const float64[::1], bool, "
    "float64[::1], float64[::1], int64, float64"
)
def descend(
    G: Floats,
    l1: Floats,
    l2: Floats,
    positive: bool,
    theta: Floats,
    slope: Floats,
    most: int,
    tolerance: float,
) -> int:
    """Sweep over the coordinates until they rest.

    A sweep over all of them is followed by sweeps over those that are not zero; it ends when a
    sweep over all moves none by more than `tolerance` of the largest, in units in which the
    curvatures are 1.

    Parameters
    ----------
    G : (p, p)
        Symmetric, positive semi-definite.
    l1, l2 : (p,), not negative
    positive : bool
    theta : (p,), updated
    slope : (p,), updated
        q − Gθ.
    most : int
        Sweeps at most.
    tolerance : float

    Returns
    -------
    The number of sweeps; negative if the coordinates were still moving.
    """
    p = len(theta)
    everywhere = True
    for sweep in range(1, most + 1):
        move, size = 0.0, 0.0
        for j in range(p):
            old = theta[j]
            curvature = G[j, j] + l2[j]
            if curvature <= 0.0 or (old == 0.0 and not everywhere):
                continue
            new = best_coordinate(slope[j] + G[j, j] * old, curvature, l1[j], positive)
            root = np.sqrt(curvature)
            size = max(size, abs(new) * root)
            if new != old:
                move = max(move, abs(new - old) * root)
                step = new - old
                row = G[j]
                for k in range(p):
                    slope[k] -= step * row[k]
                theta[j] = new
        rests = move <= tolerance * size
        if rests and everywhere:
            return sweep
        everywhere = rests
    return -most
