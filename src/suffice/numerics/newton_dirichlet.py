"""The concentrations of a Dirichlet distribution from its mean logarithms.

    solve over α:   ψ(αⱼ) − ψ(α₀) = tⱼ,      α₀ = Σ αⱼ

This is the gradient of a strictly concave function set to zero.  Its Hessian is minus the
covariance  C = diag(q) − z 11ᵀ,  q = ψ′(α),  z = ψ′(α₀),  and Sherman and Morrison say that

    C⁻¹ v = (v + c) / q,      c = (Σ vⱼ/qⱼ) / (1/z − Σ 1/qⱼ).

References: Minka, "Estimating a Dirichlet distribution" (2000); Ronning, "Maximum likelihood
estimation of Dirichlet distributions" (1989).
"""

from __future__ import annotations

from itertools import count

import numpy as np
from scipy.special import psi

from suffice.numerics.double_double import UNIT, Array, DoubleDouble
from suffice.numerics.gamma_functions import (
    inverse_digamma,
    log_minus_digamma,
    log_ratio,
    trigamma,
    trigamma_excess,
)
from suffice.numerics.logarithm import log_pair

MOST_STEPS = 200


def sum_of_others(alpha: Array) -> Array:
    """α₀ − αⱼ, without a subtraction."""
    before = np.cumsum(alpha, axis=-1)
    after = np.cumsum(alpha[..., ::-1], axis=-1)[..., ::-1]
    others = np.zeros_like(alpha)
    others[..., 1:] += before[..., :-1]
    others[..., :-1] += after[..., 1:]
    return others


def log_shares(alpha: Array) -> Array:
    """log(αⱼ / α₀), also where αⱼ is nearly all of α₀."""
    others = sum_of_others(alpha)
    ratio = np.where(others < alpha, others / alpha, 0.0)
    small = log_ratio(alpha, alpha.sum(axis=-1, keepdims=True))
    return np.where(others < alpha, -np.log1p(ratio), small)


def covariance_solve(alpha: Array, v: Array) -> Array:
    """C⁻¹ v for one α."""
    total = alpha.sum()
    q = trigamma(alpha)
    if total < 1.0:
        denominator = 1 / trigamma(total) - (1 / q).sum()
    else:
        # 1/ψ′(x) = x − x e(x)/ψ′(x) with e = ψ′ − 1/x: the x's cancel, as α₀ = Σ αⱼ.
        rest = alpha * trigamma_excess(alpha) / q
        denominator = rest.sum() - total * trigamma_excess(total) / trigamma(total)
    return np.asarray((v + (v / q).sum() / denominator) / q)


def log_shares_pair(alpha: Array) -> DoubleDouble:
    """log(αⱼ / α₀) of one α, with more digits than α has."""
    return log_pair(alpha) - log_pair(DoubleDouble.of(alpha).sum())


def gradient(alpha: Array, t: DoubleDouble) -> Array:
    """tⱼ − ψ(αⱼ) + ψ(α₀).

    For large α the logarithms of the shares nearly are t, and what is left is 1/α: their
    difference is taken in double-double.
    """
    rest = log_minus_digamma(alpha) - log_minus_digamma(alpha.sum())
    return np.asarray((t - log_shares_pair(alpha)).round() + rest)


def start(t: Array, gap: float) -> Array:
    """Concentrations near the solution: exact for large ones, then Minka's fixed point.

    For large α₀, −log Σ exp(tⱼ) is about (k − 1) / (2α₀), and exp(tⱼ) about αⱼ / α₀.
    """
    alpha = np.exp(t + gap) * ((len(t) - 1) / (2 * gap))
    alpha = np.maximum(alpha, 1e-150)
    if alpha.sum() < 1e3:
        for _ in range(5):
            alpha = inverse_digamma(t + psi(alpha.sum()))
    return np.asarray(alpha)


def solve_concentrations(t: DoubleDouble, gap: float) -> tuple[Array, int]:
    """Newton's method with a line search on the slope, down to the last bits.

    Along a step, the slope of a concave function falls: from 1 (in its own unit) to 0 at the
    maximum.  Steps are halved until the slope has shrunk and no α falls below a tenth.

    Parameters
    ----------
    t : DoubleDouble of shape (k,)
        Mean logarithms.
    gap : float
        −log Σ exp(tⱼ), positive.

    Returns
    -------
    alpha : array of shape (k,)
    steps : int
    """
    alpha = start(t.round(), gap)
    slope = gradient(alpha, t)
    for step in count(1):
        change = covariance_solve(alpha, slope)
        relative = np.abs(change / alpha).max()
        if relative <= 2 * UNIT or step > MOST_STEPS:
            break
        ahead, length = float(slope @ change), 1.0
        while length > 1e-10:
            trial = alpha + length * change
            if (trial > 0.1 * alpha).all():
                new_slope = gradient(trial, t)
                if abs(float(new_slope @ change)) <= (1 - 0.25 * length) * ahead:
                    break
            length *= 0.5
        else:
            break  # the slope is rounding: nothing is left to gain
        alpha, slope = trial, new_slope
        if relative * length <= 4 * UNIT:
            break
    return alpha, step
