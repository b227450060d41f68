"""The gamma function and its derivatives, without the large terms that cancel.

log Γ(x) grows like x log x, and the logarithms of densities are differences of such terms.  For
x ≥ 10 Stirling's series, with the Bernoulli numbers B₂, B₄, …, gives what is left over:

    log Γ(x) = x log x − x + s(x),      s(x)  = ½ log(2π/x) + Σ B₂ₖ / (2k (2k−1) x²ᵏ⁻¹)
    ψ(x)     = log x − r(x),            r(x)  = 1/(2x) + Σ B₂ₖ / (2k x²ᵏ)
    ψ′(x)    = 1/x + e(x),              e(x)  = 1/(2x²) + Σ B₂ₖ / x²ᵏ⁺¹

Reference: Loader, "Fast and accurate computation of binomial probabilities" (2000).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import gammaln, polygamma, psi

from suffice.numerics.double_double import Array

BERNOULLI = np.array([1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6])
"""B₂ to B₁₄: from x = 10 on, the next term of each series is below 2⁻⁵³ of its first."""

_TWICE = 2.0 * np.arange(1, 8)
SERIES_FROM = 10.0

CLOSE_BY = 0.1
"""Relative to their sum, by how much two numbers may differ for a series in that share."""


def stirling_remainder(x: Any) -> Array:
    """log Γ(x) − (x log x − x) for x > 0."""
    x = np.asarray(x, dtype=np.float64)
    large = np.maximum(x, SERIES_FROM)
    tail = stirling_rest(large)
    small = np.minimum(x, SERIES_FROM)
    direct = gammaln(small) - small * (np.log(small) - 1.0)
    return np.where(x >= SERIES_FROM, 0.5 * (np.log(2 * np.pi) - np.log(large)) + tail, direct)


def stirling_rest(x: Array) -> Array:
    """What the remainder is beside ½ log(2π/x), for x ≥ 10."""
    return np.asarray(_series(BERNOULLI / (_TWICE * (_TWICE - 1)), x) * x)


def log_minus_digamma(x: Any) -> Array:
    """log x − ψ(x) for x > 0: between 1/(2x) and 1/x."""
    # From x to x + 1, ψ grows by 1/x and the logarithm by log(1 + 1/x).
    x, steps = _moved(x, lambda x: 1 / x - np.log1p(1 / x))
    return np.asarray(steps + (0.5 / x + _series(BERNOULLI / _TWICE, x)))


def trigamma_excess(x: Any) -> Array:
    """ψ′(x) − 1/x for x > 0."""
    # From x to x + 1, ψ′ falls by 1/x² and 1/x by 1/(x (x + 1)).
    x, steps = _moved(x, lambda x: 1 / x / x / (x + 1))
    return np.asarray(steps + (0.5 / x + _series(BERNOULLI, x)) / x)


def trigamma(x: Any) -> Array:
    """ψ′(x) for x > 0."""
    return np.asarray(polygamma(1, np.asarray(x, dtype=np.float64)))


def inverse_digamma(value: Any) -> Array:
    """The x > 0 with ψ(x) = value: Minka's start, then Newton steps, which converge from there.

    Reference: Minka, "Estimating a Dirichlet distribution" (2000), appendix C.
    """
    value = np.asarray(value, dtype=np.float64)
    with np.errstate(over="ignore"):
        start = np.where(value >= -2.22, np.exp(value) + 0.5, -1.0 / (value - psi(1.0)))
    x = np.asarray(start)
    for _ in range(5):
        x = x - (psi(x) - value) / polygamma(1, x)
    return x


def deviance_term(x: Any, m: Any, log_m: Any = None) -> Array:
    """x log(x/m) + m − x for x ≥ 0 and m > 0: never negative, and 0 only at x = m.

    Parameters
    ----------
    x, m : arrays
    log_m : array, optional
        log m, where it is known better than m, which may have underflowed to 0.
    """
    x, m = (np.asarray(value, dtype=np.float64) for value in (x, m))
    with np.errstate(all="ignore"):
        log_m = np.log(m) if log_m is None else log_m
        away = x - m
        near = np.abs(away / (x + m)) < CLOSE_BY
        far = x * log_ratio(np.where(x > 0, x, 1.0), m, log_m) - away
        far = np.where(x > 0, far, m)
        close = deviance_term_close_by(x, np.where(near, m, x))
    return np.where(near, close, far)


def deviance_term_close_by(x: Array, m: Array) -> Array:
    """`deviance_term` for |x − m| below `CLOSE_BY` times x + m."""
    # With log(x/m) = 2 artanh v, the first two terms of the expansion cancel m − x.
    away = x - m
    v = away / (x + m)
    square = v * v
    terms = np.polynomial.polynomial.polyval(square, 1 / np.arange(3.0, 19.0, 2.0))
    return np.asarray(away * v + 2 * x * (v * square) * terms)


def log_ratio(x: Any, m: Any, log_m: Any = None) -> Array:
    """log(x/m) of positive numbers, whose quotient may be out of range."""
    with np.errstate(all="ignore"):
        ratio = np.divide(x, m)
        difference = np.log(x) - (np.log(m) if log_m is None else log_m)
        usual = (ratio > 1e-300) & (ratio < 1e300)
        return np.where(usual, np.log(np.where(usual, ratio, 1.0)), difference)


def log_gamma_kernel(y: Any, log_y: Any, shape: Any, rate: Any) -> Array:
    """k log(βy/k) + k − βy − log y: the gamma density's logarithm but for Stirling's remainder.

    Near y = k/β its terms cancel, so it is taken from their difference; elsewhere (k − 1) log y
    is kept together, which is 0 for shape 1 however small y is.
    """
    y, shape, rate = (np.asarray(value, dtype=np.float64) for value in (y, shape, rate))
    with np.errstate(over="ignore", under="ignore"):
        z = rate * y
        far = (shape - 1) * log_y + shape * log_ratio(rate, shape) + (shape - z)
        near = np.abs(shape - z) < 0.1 * (shape + z)
    return np.where(near, -deviance_term(shape, np.where(near, z, shape)) - log_y, far)


def polygamma_rise(n: int, x: Any, step: Any) -> Array:
    """ψ(x + h) − ψ(x) for n = 0, ψ′(x + h) − ψ′(x) for n = 1, where 0 ≤ h ≤ x/100.

    The recurrence leads to x + 1, where no term overflows; there Taylor's series about the middle
    needs four terms, all of one sign.
    """
    x, h = np.asarray(x, dtype=np.float64), np.asarray(step, dtype=np.float64)
    ratio = h / (x + h) / x
    total = ratio if n == 0 else -ratio * (1 / x + 1 / (x + h))
    for k in (1, 3, 5, 7):
        with np.errstate(under="ignore"):
            term = polygamma(n + k, x + 1.0 + 0.5 * h) * (0.5 * h) ** k
        total = total + term * (2 / math.factorial(k))
    return np.asarray(total)


def log_gamma_rise(a: Any, k: Any) -> Array:
    """log Γ(a + k) − log Γ(a) for a > 0 and k ≥ 0: what evidence is made of.

    From log Γ(x) = x log x − x + s(x), so that no term is much larger than the rise itself.
    """
    a, k = (np.asarray(value, dtype=np.float64) for value in (a, k))
    whole = a + k
    small = a * np.log1p(k / a) + stirling_remainder(whole) - stirling_remainder(a)
    return np.asarray(small + k * (np.log(whole) - 1.0))


def _moved(x: Any, step: Callable[[Array], Array]) -> tuple[Array, Array]:
    """Arguments moved up by 1 until the series holds, and what the steps add up to."""
    x = np.asarray(x, dtype=np.float64)
    total = np.zeros_like(x)
    with np.errstate(all="ignore"):
        while (small := x < SERIES_FROM).any():
            total = total + np.where(small, step(x), 0.0)
            x = np.where(small, x + 1.0, x)
    return x, total


def _series(coefficients: Array, x: Array) -> Array:
    """Σ cₖ / x²ᵏ for k = 1, 2, …"""
    square = 1.0 / np.square(np.minimum(x, 1e150))
    return np.asarray(square * np.polynomial.polynomial.polyval(square, coefficients))
