"""Confidence intervals of a probability of error, from draws.

    counted       k wrong ones of n, exactly binomial                     (Clopper and Pearson)
    averaged      shares 0 ≤ sᵢ ≤ r whose mean is the error:
        normal    s̄ ± z √(V/n), which covers it as often as it should for many draws
        bernstein s̄ ± (√(2 V ln(4/δ)/n) + 7 r ln(4/δ) / (3 (n − 1))), at least as often for any n

V is the draws' variance and 1 − δ the confidence.  Where errors are rare, a few draws make all of
the mean, and the normal interval may lie far from the error; Bernstein's last term allows for draws
that did not come.

References: Clopper and Pearson, "The use of confidence or fiducial limits" (1934); Maurer and
Pontil, "Empirical Bernstein bounds" (2009), theorem 4.
"""

from __future__ import annotations

from numbers import Real

import numpy as np
from scipy.special import betaincinv, ndtri

from suffice.numerics.double_double import Array


def clopper_pearson(wrong: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """The exact interval of a probability that was met `wrong` times in `n`.

    Examples
    --------
    >>> lower, upper = clopper_pearson(3, 20)
    >>> round(lower, 4), round(upper, 4)
    (0.0321, 0.3789)
    """
    whole = all(isinstance(k, Real) and float(k).is_integer() for k in (wrong, n))
    if not (whole and 0 <= wrong <= n):
        raise ValueError(
            f"{wrong!r} of {n!r} is impossible: accepted are whole numbers, wrong from 0 to n"
        )
    if not (isinstance(confidence, Real) and 0 < confidence < 1):
        raise ValueError(f"confidence is {confidence!r}; it must lie between 0 and 1")
    tail = (1 - confidence) / 2
    lower = 0.0 if wrong == 0 else float(betaincinv(wrong, n - wrong + 1, tail))
    upper = 1.0 if wrong == n else float(betaincinv(wrong + 1, n - wrong, 1 - tail))
    return lower, upper


def normal(shares: Array, confidence: float = 0.95) -> tuple[float, float]:
    """The normal interval of the mean of shares."""
    half = ndtri((1 + confidence) / 2) * shares.std(ddof=1) / np.sqrt(len(shares))
    return _around(shares, float(half), 1.0)


def bernstein(shares: Array, confidence: float = 0.95, most: float = 1.0) -> tuple[float, float]:
    """The interval of the mean of shares between 0 and `most`, with coverage for any number."""
    n, logarithm = len(shares), np.log(4 / (1 - confidence))
    half = np.sqrt(2 * shares.var(ddof=1) * logarithm / n) + 7 * most * logarithm / (3 * (n - 1))
    return _around(shares, float(half), most)


def _around(shares: Array, half: float, most: float) -> tuple[float, float]:
    mean = float(shares.mean())
    return max(mean - half, 0.0), min(mean + half, most)
