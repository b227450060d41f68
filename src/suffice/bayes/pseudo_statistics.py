"""The statistics that conjugate priors are made of: sums that add up, for arrays of pairs.

A pair's prior and its rows are values of the same kind here, which is the whole of Bayes' rule for
conjugate pairs.  Leading axes are pairs, and broadcast.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from suffice.bayes.values import ReadOnly
from suffice.families import Family, SufficientSums
from suffice.numerics.double_double import (
    DOUBLE_DOUBLE_UNIT,
    UNIT,
    Array,
    DoubleDouble,
    two_sum,
)
from suffice.sources import Source


@dataclass(frozen=True, eq=False)
class Counts(ReadOnly):
    """How often each category occurred.

    Attributes
    ----------
    counts : array of shape (…, categories)
    """

    counts: Array

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.counts + other.counts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Counts) and np.array_equal(self.counts, other.counts)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class Events(ReadOnly):
    """How many events occurred, over how much exposure.

    Attributes
    ----------
    total, weight : DoubleDouble of shape (…)
        Events, and the rows (or the time) that they were counted in.
    log_base : DoubleDouble of shape (…), or None
        −Σ w log y!, where it is known.
    """

    total: DoubleDouble
    weight: DoubleDouble
    log_base: DoubleDouble | None

    def __add__(self, other: Events) -> Events:
        base = None
        if self.log_base is not None and other.log_base is not None:
            base = self.log_base + other.log_base
        return Events(self.total + other.total, self.weight + other.weight, base)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Events) and all(
            _same(getattr(self, name), getattr(other, name)) for name in ("total", "weight")
        )

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class Spread(ReadOnly):
    """Weight, mean and squares about the mean, one column at a time.

    Attributes
    ----------
    weight : array of shape (…)
        How many rows the mean is of.
    mean : DoubleDouble of shape (…)
    scatter : array of shape (…)
    degrees : array of shape (…)
        How many rows the scatter is of: as many for rows, and another number for a prior that
        knows the mean better than the variance, or the other way round.
    """

    weight: Array
    mean: DoubleDouble
    scatter: Any
    degrees: Array

    def __add__(self, other: Spread) -> Self:
        # Two products: with a prior far off that weighs next to nothing, a distance from it times
        # a share of nearly 1 would leave little of the rows' mean.
        mine, others = _shares(self.weight, other.weight)
        mean = self.mean * self._per_mean(mine) + other.mean * self._per_mean(others)
        light = np.minimum(self.weight, other.weight)
        of_heavier = _chosen(self.weight >= other.weight, mine, others)
        between = self._squares(other.mean - self.mean, of_heavier * light)
        scatter = self.scatter + (other.scatter + between)
        degrees = self.degrees + other.degrees
        return type(self)(self.weight + other.weight, mean, scatter, degrees)

    @classmethod
    def of_rows(cls, weight: Array, mean: DoubleDouble, scatter: Array) -> Self:
        """The statistic of rows, whose scatter has as many degrees as the mean."""
        return cls(weight, mean, scatter, weight)

    def added_by(self, rows: Spread) -> Array:
        """What rows add to the scatter: their own squares, and those between the means."""
        return (replace(self, scatter=np.zeros(self.scatter.shape)) + rows).scatter

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spread) and all(
            _same(getattr(self, name), getattr(other, name))
            for name in ("weight", "mean", "scatter", "degrees")
        )

    __hash__ = None  # type: ignore[assignment]

    @staticmethod
    def _per_mean(share: DoubleDouble) -> DoubleDouble:
        return share

    @staticmethod
    def _squares(away: DoubleDouble, weight: DoubleDouble) -> Any:
        return np.asarray(weight.round() * away.round() * away.round())


@dataclass(frozen=True, eq=False)
class JointSpread(Spread):
    """The same of several columns at once: mean (…, columns), scatter (…, columns, columns).

    The scatter is double-double: where rows lie far from the prior's mean, the square of that
    distance would drown all the other directions in float64.

    Attributes
    ----------
    rounding : array of shape (…, columns)
        How large rounding errors in the scatter may be, as squares of each column.
    """

    rounding: Any = 0.0

    def __add__(self, other: Spread) -> Self:
        both = super().__add__(other)
        diagonal = np.diagonal(both.scatter.hi, axis1=-2, axis2=-1)
        rounding = self.rounding + getattr(other, "rounding", 0.0) + DOUBLE_DOUBLE_UNIT * diagonal
        return replace(both, rounding=rounding)

    @classmethod
    def of_rows(cls, weight: Array, mean: DoubleDouble, scatter: Any, rounding: Any = None) -> Self:
        """The statistic of rows; their scatter was rounded to float64 where nothing is said."""
        scatter = DoubleDouble.of(scatter)
        if rounding is None:
            rounding = UNIT * np.diagonal(scatter.hi, axis1=-2, axis2=-1)
        return cls(weight, mean, scatter, weight, rounding)

    @staticmethod
    def _per_mean(share: DoubleDouble) -> DoubleDouble:
        return share[..., None]

    @staticmethod
    def _squares(away: DoubleDouble, weight: DoubleDouble) -> Any:
        return away[..., :, None] * away[..., None, :] * weight[..., None, None]


def _shares(a: Array, b: Array) -> tuple[DoubleDouble, DoubleDouble]:
    """a / (a + b) and b / (a + b) of weights; all to the first where there is none."""
    nothing = (a == 0) & (b == 0)
    a, b = np.where(nothing, 1.0, a), np.where(nothing, 0.0, b)
    # In units in which neither the products inside a division overflow nor small weights vanish.
    unit = np.ldexp(1.0, np.minimum(300 - np.frexp(np.maximum(a, b))[1], 1000))
    a, b = a * unit, b * unit
    total = DoubleDouble(*two_sum(a, b))
    return DoubleDouble.of(a) / total, DoubleDouble.of(b) / total


def _chosen(which: Any, one: DoubleDouble, other: DoubleDouble) -> DoubleDouble:
    return DoubleDouble(np.where(which, one.hi, other.hi), np.where(which, one.lo, other.lo))


def summed(family: Family, data: Any, sample_weight: Any) -> SufficientSums | list[SufficientSums]:
    """The sums of observations: of one pair, or of one a column of a two-dimensional array."""
    if isinstance(data, np.ma.MaskedArray) and data.mask.any():
        data = np.where(data.mask, np.nan, data.data)  # no family models what is missing
    if not isinstance(data, Source):
        table = np.asarray(data)
        if table.ndim == 2:
            return [family.summarize(column, sample_weight) for column in table.T]
    return family.summarize(data, sample_weight)


def stacked(sums: SufficientSums | Sequence[SufficientSums], name: str) -> DoubleDouble:
    """One of the sums, with the columns along the first axis where there are several."""
    if isinstance(sums, SufficientSums):
        value: DoubleDouble = getattr(sums, name)
        return DoubleDouble(value.hi.copy(), value.lo.copy())
    parts = [getattr(part, name) for part in sums]
    return DoubleDouble(np.stack([p.hi for p in parts]), np.stack([p.lo for p in parts]))


def _same(a: Any, b: Any) -> bool:
    a, b = DoubleDouble.of(a), DoubleDouble.of(b)
    return np.array_equal(a.hi, b.hi) and np.array_equal(a.lo, b.lo)
