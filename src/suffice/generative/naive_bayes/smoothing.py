"""What smoothing a naive Bayes model of counts was told to do, checked as scikit-learn does.

A smoothing is a conjugate prior's pseudo-statistic: `suffice.bayes` adds it to the counts.
"""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval

from suffice.generative.naive_bayes.unlabelled_rows import EM_CONSTRAINTS
from suffice.numerics.double_double import Array

SMALLEST_ALPHA = 1e-10
"""Smoothing below this is raised to it unless `force_alpha` says to keep it."""

LARGEST_ALPHA = 1e300
"""Of the sum over all columns, so that nothing overflows that is computed with it."""

CONSTRAINTS: dict[str, list[Any]] = {
    "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
    "force_alpha": ["boolean"],
    "fit_prior": ["boolean"],
    "class_prior": ["array-like", None],
    "prior_alpha": [Interval(Real, 0, None, closed="left")],
    **EM_CONSTRAINTS,
}
"""Parameters that the models of counts share."""


def pseudo_counts(name: str, value: Any, n_columns: int, force: bool = True) -> Array:
    """A smoothing parameter as an array, one number a column.

    Parameters
    ----------
    name : str
        How messages call it.
    value : float or array of shape (columns,)
    n_columns : int
    force : bool, default=True
        Whether to keep numbers below 1e-10, rather than raise them to it with a warning.
    """
    try:
        array = np.asarray(value, dtype=np.float64)
    except OverflowError:  # a whole number that no float64 is near to
        array = np.asarray(np.inf)
    if array.ndim and array.shape != (n_columns,):
        raise ValueError(
            f"When {name} is an array, it should contain `n_features` numbers. Got "
            f"{'x'.join(map(str, array.shape))} instead of {n_columns}."
        )
    if not (np.isfinite(array) & (array >= 0)).all():
        raise ValueError(f"All values in {name} must be finite, and none of them below 0.")
    if not array.max(initial=0.0) <= LARGEST_ALPHA / max(n_columns, 1):
        raise ValueError(
            f"{name} is too large: its sum over {n_columns} columns is beyond {LARGEST_ALPHA:g}"
        )
    if not force and (array < SMALLEST_ALPHA).any():
        warnings.warn(
            f"{name} too small will result in numeric errors, setting {name} = "
            f"{SMALLEST_ALPHA:.1e}. With `force_alpha=True` it is kept as it is.",
            stacklevel=2,
        )
        array = np.maximum(array, SMALLEST_ALPHA)
    return np.broadcast_to(array, (n_columns,))
