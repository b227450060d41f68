"""Observations, moments and sums in arrays as the statistic of the normal pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.bayes.matrices import check_semi_definite
from suffice.bayes.pseudo_statistics import JointSpread, Spread, stacked, summed
from suffice.bayes.values import mean_of, numbers
from suffice.engines.passes import reduce
from suffice.families import Gaussian, SufficientSums
from suffice.numerics.double_double import UNIT, DoubleDouble
from suffice.sources import Block, as_source
from suffice.statistics.column_moments import ColumnMoments
from suffice.statistics.moments import Moments

SPREADS = (Spread, SufficientSums, Moments, ColumnMoments)
"""What the normal pairs take as a statistic."""


def spread_of_rows(data: Any, sample_weight: Any) -> Spread:
    """The spread of observations, or of each column of a two-dimensional array."""
    return _of_sums(summed(Gaussian(), data, sample_weight))


def as_spread(value: Any) -> Spread:
    """The spread that a statistic tells, one column at a time."""
    if isinstance(value, JointSpread):
        raise ValueError("this is a statistic of several columns at once: take its diagonal")
    if isinstance(value, Spread):
        return value
    if isinstance(value, SufficientSums):
        if value.total.shape != (2,):
            raise ValueError(
                f"these are sums of {value.total.shape[0]} numbers a row; accepted are those of "
                "suffice.families.Gaussian"
            )
        if value.total.hi[1] < 0:
            raise ValueError("these are not sums of numbers and their squares")
        return _of_sums(value)
    if isinstance(value, Moments):
        diagonal = np.diagonal(value.rounded_scatter).copy()
        weight = np.broadcast_to(value.weight.round(), diagonal.shape)
        mean = _copied(value.mean)
        one = mean if len(diagonal) > 1 else mean[0]
        return Spread.of_rows(weight.reshape(one.shape), one, diagonal.reshape(one.shape))
    if isinstance(value, ColumnMoments):
        scatter = value.scatter
        rounded = scatter.round() if isinstance(scatter, DoubleDouble) else scatter
        return Spread.of_rows(value.weight.round(), _copied(value.mean), rounded.copy())
    raise TypeError(_accepted("ColumnMoments, Moments, the SufficientSums of a Gaussian", value))


def spread_of_sums(weight: Any, mean: Any, scatter: Any) -> Spread:
    """The spread that plain arrays tell, one column at a time."""
    checked = (
        numbers("weight", weight, 0.0),
        mean_of("mean", mean),
        numbers("scatter", scatter, 0.0),
    )
    w, m, s = np.broadcast_arrays(*checked)
    if (s[w == 0] > 0).any():
        raise ValueError("scatter is above 0 where weight is 0: no rows have no squares")
    return Spread.of_rows(w, DoubleDouble.of(m), s)


def joint_spread_of_rows(data: Any, sample_weight: Any) -> JointSpread:
    """The spread of rows of several columns, in one pass."""
    source = as_source(data, None, sample_weight)

    def contribution(block: Block) -> Moments:
        return Moments.summarize(block.X, weight=block.weight, precision="double-double")

    try:
        moments: Moments = reduce(source, contribution)
    except FloatingPointError as error:
        raise ValueError(f"X holds {error}") from None
    return as_joint_spread(moments)


def as_joint_spread(value: Any) -> JointSpread:
    """The spread that a statistic tells, of several columns at once."""
    if isinstance(value, JointSpread):
        return value
    if isinstance(value, Moments):
        scatter = _copied(DoubleDouble.of(value.scatter))
        rounding = value.magnitude * (UNIT if value.precision == "float64" else value.error_unit)
        return JointSpread.of_rows(value.weight.round(), _copied(value.mean), scatter, rounding)
    raise TypeError(_accepted("Moments", value))


def joint_spread_of_sums(weight: Any, mean: Any, scatter: Any) -> JointSpread:
    """The spread that plain arrays tell, of several columns at once."""
    w, m, S = numbers("weight", weight, 0.0), mean_of("mean", mean), numbers("scatter", scatter)
    if m.ndim == 0 or S.shape[-2:] != (m.shape[-1],) * 2:
        raise ValueError(
            f"mean has shape {m.shape} and scatter {S.shape}; accepted are (…, columns) and "
            "(…, columns, columns)"
        )
    check_semi_definite("scatter", S)
    return JointSpread.of_rows(w, DoubleDouble.of(m), S)


def _copied(value: DoubleDouble) -> DoubleDouble:
    """What is known does not change with the statistic that it was learned from."""
    return DoubleDouble(value.hi.copy(), value.lo.copy())


def _accepted(statistics: str, value: Any) -> str:
    return (
        f"a statistic here is {statistics}, got {type(value).__name__}; for sums in arrays write "
        "given(weight, mean, scatter)"
    )


def _of_sums(sums: Any) -> Spread:
    # Σ y² and (Σ y)²/W may agree in many digits, which double-double has.
    weight, total = stacked(sums, "weight"), stacked(sums, "total")
    nothing = weight.hi == 0  # the mean of no rows is 0, and weighs nothing
    with np.errstate(over="ignore", invalid="ignore"):
        mean = total[..., 0] / (weight + nothing.astype(np.float64))
        scatter = (total[..., 1] - mean * total[..., 0]).round()
    if not np.isfinite(scatter).all():
        raise ValueError(
            "the sums of the rows are beyond float64's range: the values or the weights are too "
            "large; rescale them"
        )
    return Spread.of_rows(weight.round(), mean, np.maximum(scatter, 0.0))
