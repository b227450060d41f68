"""Smoothed shares: the posterior means of probabilities, for counts of any layout.

    E[pⱼ | counts] = (Nⱼ + αⱼ) / (n + α₀),      n = Σ Nⱼ,   α₀ = Σ αⱼ

This is the mean of `DirichletCategorical(alpha) + counts`.  Where each column has categories of its
own, their counts do not fill an array; n and α₀ are then given beside them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.numerics.double_double import Array


def smoothed_share(count: Any, total: Any, alpha: Any, alpha_total: Any) -> Array:
    """(N + α) / (n + α₀); 0/0, where neither prior nor rows say anything, is NaN.

    Parameters
    ----------
    count, total : arrays
        N of a category, and n of all categories together.
    alpha, alpha_total : arrays
        α of the category, and α₀ of all together: K α for K categories alike.

    Examples
    --------
    >>> smoothed_share([3, 0, 1], 4, 1.0, 3.0).round(4)
    array([0.5714, 0.1429, 0.2857])
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.add(count, alpha) / np.add(total, alpha_total))


def log_smoothed_share(count: Any, total: Any, alpha: Any, alpha_total: Any) -> Array:
    """The logarithm of `smoothed_share`, to the last digits also of shares near 1.

    −∞ for a share of 0, and NaN for 0/0.
    """
    whole = np.add(total, alpha_total)
    # What the other categories have: for whole numbers of rows this loses nothing.
    rest = np.subtract(total, count) + np.subtract(alpha_total, alpha)
    with np.errstate(invalid="ignore", divide="ignore"):
        small = np.log(np.add(count, alpha) / whole)
        return np.where(rest < 0.5 * whole, np.log1p(-rest / whole), small)
