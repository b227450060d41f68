"""Differences of log-gamma functions, which are what evidence is made of.

    log Γ(a + k) − log Γ(a) = k log a + D(a + k, a) + s(a + k) − s(a)

with the deviance D(x, m) = x log(x/m) + m − x and Stirling's remainder s.  A strong prior and few
rows make the left side a difference of large numbers, and the right side one of small ones.  For
whole numbers k it is log a (a + 1) … (a + k − 1), which loses nothing where k is small.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from suffice.families.dirichlet import log_partition
from suffice.numerics.double_double import Array
from suffice.numerics.gamma_functions import deviance_term, stirling_remainder
from suffice.numerics.newton_dirichlet import log_shares

FEW = 16.0
"""Whole numbers up to which factors are multiplied one by one."""


def log_gamma_rise(a: Array, k: Array) -> Array:
    """log Γ(a + k) − log Γ(a) − k log a, for a > 0 and k ≥ 0."""
    a, k = np.broadcast_arrays(a, k)
    near = (a > k) & (a > 1.0)
    few = (k <= FEW) & (np.trunc(k) == k)
    with np.errstate(over="ignore", invalid="ignore"):
        small = np.where(near, deviance_term(a + k, a), 0.0)
        small = small + stirling_remainder(a + k) - stirling_remainder(a)
        far = gammaln(a + k) - gammaln(a) - k * np.log(a)
        product = np.zeros(a.shape)
        for i in range(1, int(k[few].max(initial=0.0))):
            product = product + np.where(k > i, np.log1p(i / a), 0.0)
    return np.where(few, product, np.where(near, small, far))


def log_growth(start: Array, more: Array) -> Array:
    """log((x + h) / x) for x > 0 and h ≥ 0, also where the quotient overflows."""
    with np.errstate(over="ignore"):
        ratio = np.divide(more, start)
        return np.where(ratio < 1.0, np.log1p(ratio), np.log(start + more) - np.log(start))


def log_shares_evidence(alpha: Array, counts: Array) -> Array:
    """log B(α + n) − log B(α) along the last axis, B the beta function of several arguments."""
    alpha, counts = np.broadcast_arrays(alpha, counts)
    total, rows = alpha.sum(axis=-1), counts.sum(axis=-1)
    with np.errstate(over="ignore"):
        step = counts * log_shares(alpha) + log_gamma_rise(alpha, counts)
        few = step.sum(axis=-1) - log_gamma_rise(total, rows)
        many = log_partition(alpha + counts) - log_partition(alpha)
    return np.where(rows < total, few, many)
