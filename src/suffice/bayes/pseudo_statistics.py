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
from suffice.numerics.double_double import Array, DoubleDouble
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
    scatter: Array
    degrees: Array

    def __add__(self, other: Spread) -> Spread:
        weight = self.weight + other.weight
        share = np.divide(other.weight, weight, out=np.zeros_like(weight), where=weight > 0)
        away = other.mean - self.mean
        between = self._squares(away.round(), self.weight * share)
        mean = self.mean + away * self._per_mean(share)
        scatter = self.scatter + (other.scatter + between)
        return type(self)(weight, mean, scatter, self.degrees + other.degrees)

    @classmethod
    def of_rows(cls, weight: Array, mean: DoubleDouble, scatter: Array) -> Self:
        """The statistic of rows, whose scatter has as many degrees as the mean."""
        return cls(weight, mean, scatter, weight)

    def added_by(self, rows: Spread) -> Array:
        """What rows add to the scatter: their own squares, and those between the means."""
        return (replace(self, scatter=np.zeros_like(self.scatter)) + rows).scatter

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spread) and all(
            _same(getattr(self, name), getattr(other, name))
            for name in ("weight", "mean", "scatter", "degrees")
        )

    __hash__ = None  # type: ignore[assignment]

    @staticmethod
    def _per_mean(weight: Array) -> Array:
        return weight

    @staticmethod
    def _squares(away: Array, weight: Array) -> Array:
        return np.asarray(weight * away * away)


class JointSpread(Spread):
    """The same of several columns at once: mean (…, columns), scatter (…, columns, columns)."""

    @staticmethod
    def _per_mean(weight: Array) -> Array:
        return weight[..., None]

    @staticmethod
    def _squares(away: Array, weight: Array) -> Array:
        return np.asarray(weight[..., None, None] * away[..., :, None] * away[..., None, :])


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
