"""Rows of weight 0 do not exist, whatever they hold: every statistic leaves them out first."""

from __future__ import annotations

from typing import Any

from suffice.numerics.double_double import Array


def present(weight: Array | None, *parts: Any) -> tuple[Any, ...]:
    """Weights, and what else is known of the rows, without the rows of weight 0.

    Parameters
    ----------
    weight : float64 array of shape (rows,), or None
        Not negative; None means that every row counts once.
    *parts : arrays of rows
        Anything that a boolean array can index; None stays None.

    Examples
    --------
    >>> import numpy as np
    >>> present(np.array([1.0, 0.0, 2.0]), np.array([7, 8, 9]))
    (array([1., 2.]), array([7, 9]))
    """
    if weight is None or weight.all():
        return (weight, *parts)
    there = weight > 0
    return (weight[there], *(None if part is None else part[there] for part in parts))
