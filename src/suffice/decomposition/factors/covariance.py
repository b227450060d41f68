"""Correlations from moments, and moments from a covariance matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from suffice.fitting.inputs import shown
from suffice.numerics.double_double import UNIT, Array, DoubleDouble
from suffice.statistics.moments.full import NOTHING, Moments

NOT_POSITIVE = "covariance must be positive semi-definite: some direction has a negative variance"


def correlations(moments: Moments, names: Sequence[Any]) -> tuple[Array, Array]:
    """The columns' standard deviations, and R.

    Parameters
    ----------
    moments : Moments
    names : sequence
        What to call the columns if some are constant.
    """
    if not moments.count:
        raise ValueError(NOTHING)
    weight = float(moments.weight.hi)
    if not weight > 1 or moments.count < 2:
        raise ValueError(
            "factors need two rows or more, of a total weight above 1, got "
            f"n_samples={weight:g}: one row has no variance"
        )
    squares = np.diagonal(moments.rounded_scatter)
    # What a float64 column of equal numbers may seem to vary by.
    least = moments.error_unit * moments.magnitude + weight * np.square(UNIT * moments.mean.hi)
    constant = [str(names[int(j)]) for j in np.flatnonzero(squares <= least)]
    if constant:
        raise ValueError(
            f"constant columns have neither loadings nor noise: columns {shown(constant)}; leave "
            "them out"
        )
    root = np.sqrt(squares)
    correlation = moments.rounded_scatter / root[:, None] / root
    np.fill_diagonal(correlation, 1.0)
    return root / np.sqrt(weight), correlation


def moments_of(S: Array, n_samples: float, mean: Any, ddof: float, exact: bool) -> Moments:
    """The moments of rows with this covariance, S = scatter / (n_samples − ddof).

    Raises
    ------
    ValueError
        If no rows have it.
    """
    d = len(S)
    if S.shape != (d, d) or not np.allclose(S, S.T, rtol=1e-8, atol=0):
        raise ValueError(f"covariance must be a symmetric matrix, got shape {S.shape}")
    if not n_samples > max(ddof, 1):
        raise ValueError(f"n_samples={n_samples} must exceed 1 and ddof={ddof}")
    centre = np.zeros(d) if mean is None else np.asarray(mean, dtype=float)
    if centre.shape != (d,) or not np.isfinite(centre).all():
        raise ValueError(f"mean must hold a number for each of {d} columns")
    if (np.diagonal(S) < 0).any():
        raise ValueError(NOT_POSITIVE)
    scatter = (S + S.T) / 2 * (n_samples - ddof)
    moments = Moments(
        count=max(int(n_samples), 2),
        weight=DoubleDouble.of(np.float64(n_samples)),
        mean=DoubleDouble.of(centre),
        mean_rest=np.zeros(d),
        scatter=DoubleDouble.of(scatter) if exact else scatter,
        magnitude=np.diagonal(scatter).copy(),
        roundings=1,
    )
    if not moments.could_be_of_rows():
        raise ValueError(NOT_POSITIVE)
    return moments
