"""Probabilities of the classes as a user gives them."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.numerics.double_double import Array


def given_priors(priors: Any, n_classes: int) -> Array:
    """The priors as an array of shape (classes,); they need not add up to 1.

    Raises
    ------
    ValueError
        If there are not as many as classes, if one is negative or not finite, or if no class
        has any, or their sum overflows.
    """
    try:
        given = np.asarray(priors, dtype=np.float64)
    except OverflowError:
        raise ValueError("Priors must be non-negative, and finite.") from None
    if given.shape != (n_classes,):
        raise ValueError(
            f"Number of priors must match number of classes: {given.size} priors for "
            f"{n_classes} classes."
        )
    if not ((given >= 0) & (given < np.inf)).all():
        raise ValueError("Priors must be non-negative, and finite.")
    with np.errstate(over="ignore"):
        if not 0 < given.sum() < np.inf:
            raise ValueError("Priors must add up to a finite number above 0.")
    return given
