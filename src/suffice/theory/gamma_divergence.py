"""The divergences of gamma, beta and Dirichlet distributions, without large terms that cancel.

With log Γ(x) = x log x − x + s(x), the deviance D(x, m) = x log(x/m) + m − x, and Bregman's
divergence of Stirling's remainder, which is convex,

    B(y, x) = s(y) − s(x) − (y − x) s′(x) = ∫ (1 − t) h² s″(x + t h) dt,      h = y − x,  0 < t < 1

the divergences of p from q are

    gamma       D(k_q, k_p β_q/β_p) + B(k_q, k_p)
    beta        D(a′, z′ a/z) + D(b′, z′ b/z) + B(a′, a) + B(b′, b) − B(z′, z),   z = a + b
    Dirichlet   the sum of those of betas: how each two neighbours share what is theirs

Where p and q are near to each other B is taken from the integral, whose integrand is never
negative; so is that of the three for the beta distribution together.  Where they are far, and one
parameter is next to nothing beside the other, B(a′, a) and B(z′, z) would cancel: the definition
by log-partitions is the better one there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from suffice.families.dirichlet import log_partition, mean_logs
from suffice.numerics.double_double import Array, DoubleDouble, cross_difference
from suffice.numerics.gamma_functions import (
    BERNOULLI,
    SERIES_FROM,
    deviance_term,
    log_minus_digamma,
    polygamma_rise,
    stirling_remainder,
    stirling_rest,
    trigamma,
    trigamma_excess,
)

NEAR = 10.0
"""Ratio of parameters up to which the integral is taken: there 32 points give all digits."""

NODES, WEIGHTS = np.polynomial.legendre.leggauss(32)
NODES, WEIGHTS = 0.5 * (NODES + 1.0), 0.5 * WEIGHTS * (0.5 - 0.5 * NODES)
"""Gauss's on (0, 1), and his weights times 1 − t."""


def gamma_divergence(shape: Any, rate: Any, shape_q: Any, rate_q: Any) -> Array:
    """KL of Gamma(shape, rate) from Gamma(shape_q, rate_q)."""
    with np.errstate(over="ignore", under="ignore"):
        scaled = np.multiply(shape, np.divide(rate_q, rate))
        log_scaled = np.log(shape) + np.log(rate_q) - np.log(rate)
        away = cross_difference(shape_q, rate, shape, rate_q, rate)
        of_rates = deviance_term(shape_q, scaled, log_scaled, away)
        return np.asarray(of_rates + remainder_divergence(shape_q, shape))


def dirichlet_divergence(alpha: Array, alpha_q: Array) -> float:
    """KL of Dirichlet(alpha) from Dirichlet(alpha_q), of shape (categories,) both.

    How two neighbours share what they have together is a beta distribution, and independent of
    how much that is: so they are counted, then put together, until one is left.
    """
    p, q = DoubleDouble.of(alpha), DoubleDouble.of(alpha_q)
    total = 0.0
    while p.shape[0] > 1:
        pairs = p.shape[0] // 2
        left, right = slice(0, 2 * pairs, 2), slice(1, 2 * pairs, 2)
        total += float(beta_divergence(p[left], p[right], q[left], q[right]).sum())
        p, q = (_joined(v[left] + v[right], v[2 * pairs :]) for v in (p, q))
    return total


def _joined(first: DoubleDouble, last: DoubleDouble) -> DoubleDouble:
    return DoubleDouble(np.append(first.hi, last.hi), np.append(first.lo, last.lo))


def beta_divergence(
    a: DoubleDouble, b: DoubleDouble, a_q: DoubleDouble, b_q: DoubleDouble
) -> Array:
    """KL of Beta(a, b) from Beta(a_q, b_q)."""
    z, z_q = (a + b).hi, (a_q + b_q).hi
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        # (a′ b − b′ a) / z is how far a′ is from z′ a/z, and z′ b/z from b′.
        away = cross_difference(a_q.hi, b.hi, b_q.hi, a.hi, z)
        away = away + (a_q.hi / z * b.lo - a.hi / z * b_q.lo)
        away = away + (b.hi / z * a_q.lo - b_q.hi / z * a.lo)
        of_shares = sum(
            deviance_term(
                own_q.hi,
                z_q * (own.hi / z),
                np.log(z_q) + np.log(own.hi) - np.log(z),
                sign * away,
            )
            for own, own_q, sign in ((a, a_q, 1.0), (b, b_q, -1.0))
        )
        of_z = remainder_divergence(z_q, z)
        apart = remainder_divergence(a_q.hi, a.hi) + remainder_divergence(b_q.hi, b.hi) - of_z
        # The larger first: where the other is next to nothing, z is nearly the same as it.
        swap = a.hi < b.hi
        x, y = np.where(swap, b.hi, a.hi), np.where(swap, a.hi, b.hi)
        near = _near(a.hi, a_q.hi) & _near(b.hi, b_q.hi)
        steps = [np.where(near, (end - start).round(), 0.0) for start, end in ((a, a_q), (b, b_q))]
        h, g = np.where(swap, steps[::-1], steps)
        together = _integral(lambda t: _beta_curvature(x + t * h, y + t * g, h, g))
        found = of_shares + np.where(near, together, apart)
        plain, size = _bregman(a.hi, b.hi, a_q.hi, b_q.hi)
        # Far from each other, of two sums of the same value the one with the smaller terms.
        return np.asarray(np.where(~near & (size < of_shares + of_z), plain, found))


def _bregman(a: Array, b: Array, a_q: Array, b_q: Array) -> tuple[Array, Array]:
    """The divergence as A(q) − A(p) − (q − p)·∇A(p), A the log-partition, and its largest term."""
    p, q = np.stack([a, b], axis=-1), np.stack([a_q, b_q], axis=-1)
    terms = [*np.moveaxis((p - q) * mean_logs(p), -1, 0), -log_partition(p), log_partition(q)]
    return np.asarray(sum(terms)), np.max(np.abs(terms), axis=0)


def remainder_divergence(y: Any, x: Any) -> Array:
    """B(y, x) of Stirling's remainder."""
    y, x = (np.asarray(value, dtype=np.float64) for value in (y, x))
    near = _near(x, y)
    h = np.where(near, y - x, 0.0)
    close = _integral(lambda t: np.square(h / (x + t * h)) * _scaled_excess(x + t * h))
    with np.errstate(over="ignore", invalid="ignore"):
        plain = stirling_remainder(y) - stirling_remainder(x) + (y - x) * log_minus_digamma(x)
        # For large numbers s is −½ log x and next to nothing: −log has a divergence of its own.
        u, v = np.maximum(x, SERIES_FROM), np.maximum(y, SERIES_FROM)
        rest = stirling_rest(v) - stirling_rest(u) + (v - u) * (log_minus_digamma(u) - 0.5 / u)
        large = 0.5 * deviance_term(1.0, v / u, np.log(v) - np.log(u)) + rest
        far = np.where((x >= SERIES_FROM) & (y >= SERIES_FROM), large, plain)
    return np.where(near, close, far)


def _near(x: Array, y: Array) -> Any:
    return (y <= NEAR * x) & (x <= NEAR * y)


def _integral(function: Callable[[float], Array]) -> Array:
    """∫ (1 − t) f(t) dt from 0 to 1."""
    total: Any = 0.0
    for t, weight in zip(NODES.tolist(), WEIGHTS.tolist(), strict=True):
        total = total + weight * function(t)
    return np.asarray(total)


def _scaled_excess(x: Array) -> Array:
    """x² s″(x) = x² ψ′(x) − x, which falls from 1 to ½."""
    usual = np.clip(x, 1e-8, 1e100)
    return np.where(x < 1e-8, 1.0 - x, usual * (usual * trigamma_excess(usual)))


def _excess_fall(x: Array, y: Array) -> Array:
    """By how much `_scaled_excess` falls from x to x + y."""
    z = x + y
    plain = _scaled_excess(x) - _scaled_excess(z)
    little = (x < SERIES_FROM) & (y < 0.01 * x)
    if little.any():
        # From ψ′(z) − ψ′(x), which keeps its digits for small y.
        low = np.clip(x, 1e-8, SERIES_FROM)
        step = np.minimum(y, 0.01 * low)
        rise = low * (low * polygamma_rise(1, low, step))
        close = -rise - step * ((2.0 * low + step) * trigamma(low + step) - 1.0)
        plain = np.where(little, np.where(x < 1e-8, y, close), plain)
    # Else x² s″ = ½ + Σ B₂ₖ/x²ᵏ⁻¹, term after term.
    u, w = 1.0 / np.maximum(x, SERIES_FROM), 1.0 / np.maximum(z, SERIES_FROM)
    fall, of_squares, power = y * u * w, y * u * w * (u + w), w
    series = np.zeros(np.shape(fall))
    for number in BERNOULLI:
        series = series + number * fall
        fall, power = fall * u * u + power * of_squares, power * w * w
    return np.where(x >= SERIES_FROM, series, plain)


def _beta_curvature(x: Array, y: Array, h: Array, g: Array) -> Array:
    """h² s″(x) + g² s″(y) − (h + g)² s″(x + y)."""
    # By u = h/x, v = g/y and their mean m = (h + g)/(x + y), with E(x) = x² s″(x).
    z = x + y
    u, v, share = h / x, g / y, y / z
    mean = u + share * (v - u)
    between = _scaled_excess(z) * share * (v - u) * (u + mean)
    return u * u * _excess_fall(x, y) + v * v * _scaled_excess(y) - between
