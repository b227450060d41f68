"""The logistic loss of many rows at once, with its derivatives.

    ℓ = max(η, 0) − y η + log(1 + e^−|η|),      ℓ′ = σ(η) − y,      ℓ″ = σ(η) σ(−η)

For z = e^−|η| between 0 and 1, log(1 + z) = 2 artanh(s) with s = z / (2 + z) ≤ 1/3, and
artanh(s) / s is a polynomial in s² (of degree 9, interpolating at Chebyshev's points) to rounding.
All is done strip by strip, in loops without a branch that the compiler turns into vector
instructions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel
from suffice.kernels.density.exponential import LOWEST, exp_in_place

Floats = NDArray[np.float64]

STRIP = 512
"""Rows at a time: what is worked on stays in the innermost cache."""


@kernel("const float64[::1], const float64[::1], float64[::1], float64[::1], float64[::1]")
def logistic_derivatives(
    y: Floats, eta: Floats, value: Floats, gradient: Floats, hessian: Floats
) -> None:
    """ℓ, ℓ′ and ℓ″ of each row, each to within a few units in its last place.

    Of predictors beyond ±600 the derivatives that vanish are those at ±600.

    Parameters
    ----------
    y : (rows,)
        Between 0 and 1.
    eta : (rows,)
    value, gradient, hessian : (rows,), written
    """
    small, rounded, power = np.empty(STRIP), np.empty(STRIP), np.empty(STRIP)
    for start in range(0, len(eta), STRIP):
        n = min(STRIP, len(eta) - start)
        t, x, z = y[start : start + n], eta[start : start + n], small[:n]
        loss, slope = value[start : start + n], gradient[start : start + n]
        bend = hessian[start : start + n]
        for i in range(n):
            z[i] = max(-abs(x[i]), LOWEST)
        exp_in_place(z, rounded[:n], power[:n])
        for i in range(n):
            s = z[i] / (2.0 + z[i])
            q = s * s
            q2 = q * q
            q4 = q2 * q2
            a = 1.0 + q * 0.33333333333341286
            b = 0.199999999976438 + q * 0.1428571455582858
            c = 0.11111095430673142 + q * 0.09091429900236955
            d = 0.07681838124445817 + q * 0.06795652742789947
            e = 0.04940394524382393 + q * 0.08890381913056651
            log = 2.0 * s * ((a + q2 * b) + q4 * ((c + q2 * d) + q4 * e))
            loss[i] = (max(x[i], 0.0) - t[i] * x[i]) + log
        for i in range(n):
            larger = 1.0 / (1.0 + z[i])
            smaller = z[i] * larger
            up = x[i] >= 0
            one = larger if up else smaller
            zero = smaller if up else larger
            slope[i] = (1.0 - t[i]) * one - t[i] * zero
            bend[i] = smaller * larger
