"""The parameters of the naive Bayes models: what each may be, and pseudo-counts for each column.

A smoothing is a conjugate prior's pseudo-statistic: `suffice.bayes` adds it to the counts.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval

from suffice.numerics.double_double import Array

SMALLEST_ALPHA = 1e-10
"""Smoothing below this is raised to it unless `force_alpha` says to keep it."""

LARGEST_ALPHA = 1e300
"""Of the sum over all columns, so that nothing overflows that is computed with it."""

NOT_NEGATIVE = Interval(Real, 0, None, closed="left")

ACCEPTED: dict[str, list[Any]] = {
    # of the columns
    "alpha": [NOT_NEGATIVE],
    "beta": [NOT_NEGATIVE],
    "force_alpha": ["boolean"],
    "norm": ["boolean"],
    "min_categories": [None, "array-like", Interval(Integral, 1, None, closed="left")],
    "var_smoothing": [NOT_NEGATIVE],
    "tied_variance": ["boolean"],
    # of the classes
    "priors": ["array-like", None],
    "fit_prior": ["boolean"],
    "class_prior": ["array-like", None],
    "prior_alpha": [NOT_NEGATIVE],
}
"""What the parameters may be that change without the rows, in scikit-learn's terms."""

OF_ROWS: dict[str, list[Any]] = {
    "kinds": [Mapping, list, tuple, np.ndarray, None],
    "categorical": ["array-like", None],
    "binarize": [None, NOT_NEGATIVE],
    "unlabelled": "no_validation",  # type: ignore[dict-item]
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [NOT_NEGATIVE],
    "exact": ["boolean"],
    "n_jobs": [None, Integral],
}
"""What those may be that decide how the rows are read."""

ONE_A_COLUMN = [NOT_NEGATIVE, "array-like"]
"""Pseudo-counts that may differ between columns."""


def smoothing(model: Any) -> Array:
    """α, one number a column."""
    return pseudo_counts("alpha", model.alpha, model.n_features_in_, model.force_alpha)


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
