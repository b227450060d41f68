"""Differences of log-gamma functions, which are what evidence is made of.

    log Γ(a + k) − log Γ(a) = k log a + D(a + k, a) + s(a + k) − s(a)

with the deviance D(x, m) = x log(x/m) + m − x and Stirling's remainder s.  A strong prior and few
rows make the left side a difference of large numbers, and the right side one of small ones.  For
whole numbers k it is log a (a + 1) … (a + k − 1), which loses nothing where k is small.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from suffice.numerics.double_double import Array
from suffice.numerics.gamma_functions import (
    FEW,
    deviance_term,
    log_gamma_cross_ratio,
    stirling_remainder,
)


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


def log_shares_evidence(alpha: Array, counts: Array) -> Array:
    """log B(α + n) − log B(α) along the last axis, B the beta function of several arguments.

    Category after category is set apart from those behind it, so that only coins are left; and
    the ones of a coin come first, then its zeros.  These are all logarithms of probabilities:
    nothing cancels.
    """
    alpha, counts = np.broadcast_arrays(alpha, counts)
    behind, rows_behind = (
        np.cumsum(values[..., :0:-1], axis=-1)[..., ::-1] for values in (alpha, counts)
    )
    alpha, counts = alpha[..., :-1], counts[..., :-1]
    ones = log_gamma_cross_ratio(alpha, behind, counts)
    zeros = log_gamma_cross_ratio(behind, alpha + counts, rows_behind)
    return np.asarray((ones + zeros).sum(axis=-1))
