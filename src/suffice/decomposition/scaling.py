"""The scatter of columns, in their own units or in those of their standard deviations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.numerics.double_double import DOUBLE_DOUBLE_UNIT, UNIT, Array, DoubleDouble
from suffice.statistics.moments.full import Moments
from suffice.statistics.moments.products import SMALLEST_SQUARE


@dataclass(frozen=True)
class UnitColumns:
    """What is known about the columns.

    `mean_error` is a bound, `scale_error` one relative to the scale.  Where there are moments:
    the scatter of the scaled columns, known up to |Δᵢⱼ| ≤ unit gᵢ gⱼ.
    """

    mean: Array
    mean_error: Array
    deviation: Array
    scale: Array
    scale_error: Array
    scatter: Any = None
    unit: float = 0.0
    g: Any = None


def scaled_scatter(moments: Moments, standardize: bool) -> UnitColumns:
    """The scatter of the columns, divided by their standard deviations if wished.

    An error of a standard deviation, relative ε h²/2 with h² = magnitude / scatter ≥ 1, adds
    ε (hᵢ² + hⱼ²)/2 ≤ ε hᵢ² hⱼ² to the error ε hᵢ hⱼ of a correlation: together at most
    ε gᵢ gⱼ with g = √2 h².
    """
    weight = float(moments.weight.hi)
    magnitude = moments.magnitude
    squares = np.diagonal(moments.rounded_scatter)
    raw = np.square(moments.mean.hi) * weight
    hidden = np.flatnonzero((magnitude > 0) & (squares + raw < SMALLEST_SQUARE))
    if len(hidden):
        raise ValueError(
            f"the values in column {hidden[0]} (counted from 0) are too small: their (weighted) "
            "squares underflow; rescale them, or the weights"
        )
    unit = moments.error_unit
    varies = squares > unit * magnitude
    deviation = np.sqrt(np.where(varies, squares, 0.0) / weight)
    g = np.sqrt(magnitude)
    mean_error = unit * g / np.sqrt(weight)
    scale, scale_error = np.ones(len(g)), np.zeros(len(g))
    scatter: Any = moments.scatter
    if standardize:
        h = np.divide(g, np.sqrt(squares), out=np.ones(len(g)), where=varies)
        # A spread that cannot be told from none: nothing is known about the scaled column.
        lost = ~varies & (magnitude > 0) & (moments.precision == "float64")
        scale_error = np.where(varies, unit * h**2, np.where(lost, np.inf, 0.0))
        g = np.where(varies, np.sqrt(2 * weight) * h**2, g)
        scatter, scale = _divided(moments, varies)
        unit = unit + 8 * (UNIT if moments.precision == "float64" else DOUBLE_DOUBLE_UNIT)
    return UnitColumns(
        moments.mean.round(), mean_error, deviation, scale, scale_error, scatter, unit, g
    )


def _divided(moments: Moments, varies: NDArray[np.bool_]) -> tuple[Any, Array]:
    """The scatter of the scaled columns, and the scale rounded."""
    d = len(varies)
    scatter = moments.scatter
    variance = DoubleDouble.of(scatter)[np.arange(d), np.arange(d)] / moments.weight
    variance.hi[~varies], variance.lo[~varies] = 1.0, 0.0
    scale = variance.sqrt()
    if isinstance(scatter, DoubleDouble):
        return scatter / scale[:, None] / scale[None, :], scale.round()
    rounded = scale.round()
    return scatter / rounded[:, None] / rounded, rounded
