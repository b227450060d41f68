"""Stochastic gradient steps over the rows of a block.

For each mini-batch B in turn, with the derivatives r of a row's loss by its predictors Θ a:

    G = (1/|B|) Σ wᵢ rᵢ aᵢᵀ + Λ Θ,      V ← μ V − η G,      Θ ← Θ + V

The mean of the Θ after each step is kept beside.
"""

from __future__ import annotations

from math import exp, log, log1p

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel

Floats = NDArray[np.float64]

SQUARED, LOGISTIC, SOFTMAX = 0, 1, 2
"""The losses that the kernel knows; see `suffice.linear.solvers.losses`."""


@kernel("int64, const float64[::1], float64[::1]")
def slopes(kind: int, y: Floats, eta: Floats) -> float:
    """The loss of one row; its predictors become the derivatives by them."""
    if kind == SQUARED:
        value = 0.0
        for k in range(len(eta)):
            eta[k] -= y[k]
            value += 0.5 * eta[k] * eta[k]
        return value
    # Neither loses digits where a row is almost certain.
    if kind == LOGISTIC:
        z = eta[0]
        small = exp(-abs(z))
        larger = 1.0 / (1.0 + small)
        smaller = small * larger
        one, zero = (larger, smaller) if z >= 0.0 else (smaller, larger)
        eta[0] = (1.0 - y[0]) * one - y[0] * zero
        return max(z, 0.0) - y[0] * z + log1p(small)
    code, largest, others = int(y[0]), eta.max(), 0.0
    distance = eta[code] - largest
    own = exp(distance)
    for k in range(len(eta)):
        eta[k] = 0.0 if k == code else exp(eta[k] - largest)
        others += eta[k]
    for k in range(len(eta)):
        eta[k] /= own + others
    eta[code] = -others / (own + others)
    return log1p(others / own) if own > others else log(own + others) - distance


@kernel(
    "const float64[:, ::1], const float64[:, ::1], const float64[::1], int64, "
    "const float64[::1], int64, const float64[:, ::1], float64, float64[:, ::1], "
    "float64[:, ::1], float64[:, ::1], int64, float64[:, ::1], float64[::1]"
)
def stochastic_steps(
    A: Floats,
    y: Floats,
    weight: Floats,
    kind: int,
    rates: Floats,
    batch_size: int,
    decay: Floats,
    momentum: float,
    theta: Floats,
    velocity: Floats,
    mean: Floats,
    taken: int,
    gradient: Floats,
    eta: Floats,
) -> float:
    """Take a step for each mini-batch; return the sum of the losses that were met.

    Parameters
    ----------
    A : (rows, columns)
    y : (rows, targets)
        Numbers, or the code of the class.
    weight : (rows,)
    kind : SQUARED, LOGISTIC or SOFTMAX
    rates : (batches,)
        η of each step.
    batch_size : int
        Rows of a batch; the last may be shorter.
    decay : (predictors, parameters)
        Λ.
    momentum : float
        μ.
    theta, velocity : (predictors, parameters), updated
        One parameter more than columns is an intercept.
    mean : (predictors, parameters), updated
        The mean over `taken` earlier steps; then over these too.
    taken : int
    gradient, eta : (predictors, parameters) and (predictors,), overwritten
    """
    n_rows, d = A.shape
    intercept = theta.shape[1] > d
    total = 0.0
    for b in range(len(rates)):
        first, last = b * batch_size, min((b + 1) * batch_size, n_rows)
        gradient[:] = 0.0
        for i in range(first, last):
            a = A[i]
            for k in range(len(theta)):
                z = theta[k, d] if intercept else 0.0
                for j in range(d):
                    z += theta[k, j] * a[j]
                eta[k] = z
            total += weight[i] * slopes(kind, y[i], eta)
            for k in range(len(theta)):
                r = weight[i] * eta[k]
                for j in range(d):
                    gradient[k, j] += r * a[j]
                if intercept:
                    gradient[k, d] += r
        share = 1.0 / (last - first)
        for k in range(len(theta)):
            for j in range(theta.shape[1]):
                slope = gradient[k, j] * share + decay[k, j] * theta[k, j]
                velocity[k, j] = momentum * velocity[k, j] - rates[b] * slope
                theta[k, j] += velocity[k, j]
                mean[k, j] += (theta[k, j] - mean[k, j]) / (taken + b + 1)
    return total
