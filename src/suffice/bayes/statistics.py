"""The statistics that conjugate priors are made of: sums that add up, for arrays of pairs.

A pair's prior and its rows are values of the same kind here, which is the whole of Bayes' rule for
conjugate pairs.  Leading axes are pairs, and broadcast.  Rows are summed by `suffice.families` and
`suffice.statistics`; what is kept of them is rounded to float64.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from suffice.bayes.checks import ReadOnly, check_semi_definite, mean_of, numbers
from suffice.engines.passes import reduce
from suffice.families import Family, Gaussian, SufficientSums
from suffice.numerics.double_double import Array, DoubleDouble
from suffice.sources import Block, Source, as_source
from suffice.statistics.moments.columns import ColumnMoments
from suffice.statistics.moments.full import Moments
from suffice.statistics.moments.merging import stacked


class _Comparable(ReadOnly):
    """Statistics are the same if all their numbers are."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and all(
            np.array_equal(getattr(self, each.name), getattr(other, each.name))
            for each in fields(self)  # type: ignore[arg-type]
        )

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class CategoryCounts(_Comparable):
    """How often each category occurred.

    Attributes
    ----------
    counts : array of shape (…, categories)
    """

    counts: Array

    def __add__(self, other: CategoryCounts) -> CategoryCounts:
        return CategoryCounts(self.counts + other.counts)


@dataclass(frozen=True, eq=False)
class EventCounts(_Comparable):
    """How many events occurred, over how much exposure.

    Attributes
    ----------
    total, weight : arrays of shape (…)
        Events, and the rows (or the time) that they were counted in.
    log_base : array of shape (…), or None
        −Σ w log y!, where it is known.
    """

    total: Array
    weight: Array
    log_base: Array | None

    def __add__(self, other: EventCounts) -> EventCounts:
        base = None
        if self.log_base is not None and other.log_base is not None:
            base = self.log_base + other.log_base
        return EventCounts(self.total + other.total, self.weight + other.weight, base)


@dataclass(frozen=True, eq=False)
class NormalMoments(_Comparable):
    """Weight, mean and squares about the mean: of one column, or of several at once.

    Attributes
    ----------
    weight : array of shape (…)
        How many rows the mean is of.
    mean : array of shape (…), or (…, columns)
    scatter : array of shape (…), or (…, columns, columns)
    degrees : array of shape (…)
        How many rows the scatter is of: as many for rows, and another number for a prior that
        knows the mean better than the variance, or the other way round.
    """

    weight: Array
    mean: Array
    scatter: Array
    degrees: Array

    @property
    def is_joint(self) -> bool:
        """Whether it is of several columns at once."""
        return self.scatter.ndim > self.mean.ndim

    def __add__(self, other: NormalMoments) -> NormalMoments:
        """Chan's rule, as in `suffice.statistics.moments.full`, for each pair."""
        weight = self.weight + other.weight
        whole = np.where(weight > 0, weight, 1.0)
        mine, others = np.where(weight > 0, self.weight / whole, 1.0), other.weight / whole
        away, between = other.mean - self.mean, self.weight * others
        if self.is_joint:
            mine, others, between = mine[..., None], others[..., None], between[..., None, None]
            squares = away[..., :, None] * away[..., None, :]
        else:
            squares = away * away
        # Two products: with a prior far off that weighs next to nothing, a distance from it times
        # a share of nearly 1 would leave little of the rows' mean.
        mean = mine * self.mean + others * other.mean
        scatter = self.scatter + (other.scatter + between * squares)
        return NormalMoments(weight, mean, scatter, self.degrees + other.degrees)

    def added_by(self, rows: NormalMoments) -> Array:
        """What rows add to the scatter: their own squares, and those between the means."""
        return (replace(self, scatter=np.zeros(self.scatter.shape)) + rows).scatter


# --- observations and sums of families ----------------------------------------------------------


def summed(family: Family, data: Any, sample_weight: Any) -> SufficientSums | list[SufficientSums]:
    """The sums of observations: of one pair, or of one a column of a two-dimensional array."""
    if isinstance(data, np.ma.MaskedArray) and data.mask.any():
        data = np.where(data.mask, np.nan, data.data)  # no family models what is missing
    if not isinstance(data, Source):
        table = np.asarray(data)
        if table.ndim == 2:
            return [family.summarize(column, sample_weight) for column in table.T]
    return family.summarize(data, sample_weight)


def stacked_sums(sums: SufficientSums | list[SufficientSums], name: str) -> DoubleDouble:
    """One of the sums, with the columns along the first axis where there are several."""
    if isinstance(sums, SufficientSums):
        value: DoubleDouble = getattr(sums, name)
        return value
    return stacked([getattr(part, name) for part in sums])


# --- what the normal pairs take -----------------------------------------------------------------

OF_COLUMNS = (NormalMoments, SufficientSums, Moments, ColumnMoments)
"""What pairs of one column take as a statistic."""


def moments_of_rows(data: Any, sample_weight: Any) -> NormalMoments:
    """The moments of observations, or of each column of a two-dimensional array."""
    return _of_sums(summed(Gaussian(), data, sample_weight))


def as_moments(value: Any) -> NormalMoments:
    """The moments that a statistic tells, one column at a time."""
    if isinstance(value, NormalMoments):
        if value.is_joint:
            raise ValueError("this is a statistic of several columns at once: take its diagonal")
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
        each = as_moments(ColumnMoments.diagonal(value))
        if len(each.mean) > 1:
            return each
        return NormalMoments(*(getattr(each, field.name)[0] for field in fields(each)))
    if isinstance(value, ColumnMoments):
        weight = value.weight.round()
        return NormalMoments(weight, value.mean.round(), value.rounded_scatter.copy(), weight)
    raise TypeError(_accepted("ColumnMoments, Moments, the SufficientSums of a Gaussian", value))


def given_moments(weight: Any, mean: Any, scatter: Any) -> NormalMoments:
    """The moments that plain arrays tell, one column at a time."""
    checked = (
        numbers("weight", weight, 0.0),
        mean_of("mean", mean),
        numbers("scatter", scatter, 0.0),
    )
    w, m, s = np.broadcast_arrays(*checked)
    if (s[w == 0] > 0).any():
        raise ValueError("scatter is above 0 where weight is 0: no rows have no squares")
    return NormalMoments(w, m, s, w)


def joint_moments_of_rows(data: Any, sample_weight: Any) -> NormalMoments:
    """The moments of rows of several columns, in one pass."""
    source = as_source(data, None, sample_weight)

    def contribution(block: Block) -> Moments:
        return Moments.summarize(block.X, weight=block.weight, precision="double-double")

    try:
        moments: Moments = reduce(source, contribution)
    except FloatingPointError as error:
        raise ValueError(f"X holds {error}") from None
    return as_joint_moments(moments)


def as_joint_moments(value: Any) -> NormalMoments:
    """The moments that a statistic tells, of several columns at once."""
    if isinstance(value, NormalMoments) and value.is_joint:
        return value
    if isinstance(value, Moments):
        weight = value.weight.round()
        return NormalMoments(weight, value.mean.round(), value.rounded_scatter.copy(), weight)
    raise TypeError(_accepted("Moments", value))


def given_joint_moments(weight: Any, mean: Any, scatter: Any) -> NormalMoments:
    """The moments that plain arrays tell, of several columns at once."""
    w, m, S = numbers("weight", weight, 0.0), mean_of("mean", mean), numbers("scatter", scatter)
    if m.ndim == 0 or S.shape[-2:] != (m.shape[-1],) * 2:
        raise ValueError(
            f"mean has shape {m.shape} and scatter {S.shape}; accepted are (…, columns) and "
            "(…, columns, columns)"
        )
    check_semi_definite("scatter", S)
    return NormalMoments(w, m, S, w)


def _accepted(statistics: str, value: Any) -> str:
    return (
        f"a statistic here is {statistics}, got {type(value).__name__}; for sums in arrays write "
        "given(weight, mean, scatter)"
    )


def _of_sums(sums: Any) -> NormalMoments:
    # Σ y² and (Σ y)²/W may agree in many digits, which the sums have.
    weight, total = stacked_sums(sums, "weight"), stacked_sums(sums, "total")
    nothing = weight.hi == 0  # the mean of no rows is 0, and weighs nothing
    with np.errstate(over="ignore", invalid="ignore"):
        mean = total[..., 0] / (weight + nothing.astype(np.float64))
        scatter = (total[..., 1] - mean * total[..., 0]).round()
    if not np.isfinite(scatter).all():
        raise ValueError(
            "the sums of the rows are beyond float64's range: the values or the weights are too "
            "large; rescale them"
        )
    w = weight.round()
    return NormalMoments(w, mean.round(), np.maximum(scatter, 0.0), w)
