"""Weight, mean and scatter of each column by itself: moments where cells may be missing.

    Wⱼ = Σ wᵢ,      mⱼ = (1/Wⱼ) Σ wᵢ xᵢⱼ,      sⱼ = Σ wᵢ (xᵢⱼ − mⱼ)²

Sums run over the cells that are there.  A cell that is NaN does not exist for its column, so each
column has a weight of its own.  The arrays may have any common shape, (columns,) or (groups,
columns): each entry merges and subtracts by itself, with Chan's formulas as in
`suffice.statistics.moments.full`, and within

    |Δsⱼ| ≤ error_unit · magnitudeⱼ,    |Δmⱼ| ≤ error_unit · √(magnitudeⱼ / Wⱼ).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.numerics.double_double import DOUBLE_DOUBLE_UNIT, UNIT, Array, DoubleDouble
from suffice.statistics.base import Precision, Scattered, present
from suffice.statistics.moments.merging import difference, joint, mapped, shifted
from suffice.statistics.moments.of_columns import group_sums

ARRAYS = ("count", "weight", "mean", "mean_rest", "scatter", "magnitude")
"""Fields of one common shape."""


@dataclass(frozen=True, eq=False)
class ColumnMoments(Scattered):
    """Weight, mean and scatter of columns with missing cells, mergeable and subtractable.

    Attributes
    ----------
    count : int64 array
        Cells that are there (NaN, and rows of weight 0, are not).
    weight : DoubleDouble
        Sum of their weights.
    mean : DoubleDouble
        Zero where there is no cell.
    mean_rest : float64 array
        What is to be added to `mean` beyond its last bit.
    scatter : float64 array or DoubleDouble
        Weighted sum of squares about the mean.
    magnitude : float64 array
        The squares that went through the accumulation: at least the scatter.
    roundings : int
        Longest chain of rounded operations behind an entry of the scatter.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[1.0, 2.0], [3.0, np.nan], [5.0, 6.0]])
    >>> moments = ColumnMoments.summarize(rows)
    >>> moments.count, moments.mean.round(), moments.scatter
    (array([3, 2]), array([3., 4.]), array([8., 8.]))
    """

    count: NDArray[np.int64]
    weight: DoubleDouble
    mean: DoubleDouble
    mean_rest: Array
    scatter: Array | DoubleDouble
    magnitude: Array
    roundings: int

    _shapes = "count(...) weight(...) mean(...) mean_rest(...) scatter(...) magnitude(...)"

    @classmethod
    def zero(cls, shape: int | tuple[int, ...], precision: Precision = "float64") -> ColumnMoments:
        """The moments of no rows."""
        return cls(
            count=np.zeros(shape, np.int64),
            weight=DoubleDouble.zeros(shape),
            mean=DoubleDouble.zeros(shape),
            mean_rest=np.zeros(shape),
            scatter=np.zeros(shape) if precision == "float64" else DoubleDouble.zeros(shape),
            magnitude=np.zeros(shape),
            roundings=0,
        )

    @classmethod
    def summarize(
        cls, X: Any, weight: Array | None = None, precision: Precision = "float64"
    ) -> ColumnMoments:
        """The moments of a block of rows, of shape (columns,).

        Parameters
        ----------
        X : array of shape (rows, columns)
            Real numbers of any dtype and stride; NaN where a cell is missing.
        weight : float64 array of shape (rows,), optional
            Not negative.
        precision : {"float64", "double-double"}

        Raises
        ------
        FloatingPointError
            If a value is infinite, or its square overflows.
        """
        codes = np.zeros(X.shape[0], np.int64)
        return cls.summarize_groups(X, codes, 1, weight, precision).at(0)

    @classmethod
    def summarize_groups(
        cls,
        X: Any,
        codes: NDArray[np.int64],
        n_groups: int,
        weight: Array | None = None,
        precision: Precision = "float64",
    ) -> ColumnMoments:
        """The moments of each group of rows, of shape (groups, columns).

        Parameters
        ----------
        X, weight, precision
            As for `summarize`.
        codes : int64 array of shape (rows,)
            The group of each row, from 0 to n_groups − 1.
        n_groups : int
        """
        weight, X, codes = present(weight, X, codes)
        if X.shape[0] == 0:
            return cls.zero((n_groups, X.shape[1]), precision)
        return cls(*group_sums(X, codes, n_groups, weight, precision))

    @classmethod
    def diagonal(cls, moments: Any) -> ColumnMoments:
        """The columns of full moments, each by itself."""
        d = len(moments.magnitude)
        return cls(
            count=np.full(d, moments.count, np.int64),
            weight=DoubleDouble(np.full(d, moments.weight.hi), np.full(d, moments.weight.lo)),
            mean=mapped(np.copy, moments.mean),
            mean_rest=moments.mean_rest.copy(),
            scatter=mapped(lambda s: np.diagonal(s).copy(), moments.scatter),
            magnitude=moments.magnitude.copy(),
            roundings=moments.roundings,
        )

    @classmethod
    def merge(cls, parts: Sequence[ColumnMoments]) -> ColumnMoments:
        """The moments of all rows of the parts together; all parts of one shape."""
        parts = [part for part in parts if part.count.any()] or list(parts[:1])
        if len(parts) == 1:
            return parts[0]
        # What overflows is no number any more, and for those to notice who solve from it.
        with np.errstate(over="ignore", invalid="ignore"):
            return cls._stacked(parts)._merged(len(parts))

    def merged(self) -> ColumnMoments:
        """The parts along the first axis, merged: over all groups, say."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.at(0) if len(self.count) == 1 else self._merged(len(self.count))

    @classmethod
    def _stacked(cls, parts: Sequence[ColumnMoments]) -> ColumnMoments:
        if any(part.precision == "float64" for part in parts):
            parts = [replace(part, scatter=part.rounded_scatter) for part in parts]
        arrays: Any = {
            name: mapped(lambda *words: np.stack(words), *(getattr(part, name) for part in parts))
            for name in ARRAYS
        }
        return cls(**arrays, roundings=max(part.roundings for part in parts))

    def _merged(self, n_parts: int) -> ColumnMoments:
        weights, means, rests = self.weight, self.mean, self.mean_rest
        total = weights.sum()
        divisor = _nonzero(total)
        # Relative to the mean of the heaviest part, which is not far from the common one.
        heaviest = np.argmax(weights.hi, axis=0)[None]
        first = mapped(lambda m: np.take_along_axis(m, heaviest, axis=0)[0], means)
        first_rest = np.take_along_axis(rests, heaviest, axis=0)[0]
        absent = weights.hi == 0
        means = DoubleDouble(
            np.where(absent, first.hi, means.hi), np.where(absent, first.lo, means.lo)
        )
        rests = np.where(absent, first_rest, rests)
        offsets = difference(means, rests, first, first_rest)
        mean, rest = shifted(first, first_rest, (offsets * weights).sum() / divisor)
        distances = difference(means, rests, mean, rest)
        between = (distances * distances * weights).sum()
        # In float64 too, terms are added up in double-double: however many, they round once.
        scatter: Any = DoubleDouble.of(self.scatter).sum() + between
        exact = self.precision == "double-double"
        return ColumnMoments(
            count=self.count.sum(axis=0),
            weight=total,
            mean=mean,
            mean_rest=rest,
            scatter=scatter if exact else scatter.round(),
            magnitude=joint(self.magnitude.sum(axis=0), between.hi),
            roundings=max(self.roundings, 8) + (n_parts if exact else 0) + 2,
        )

    def subtract(self, part: ColumnMoments) -> ColumnMoments:
        """The moments of the cells that stay when those of `part` are taken away.

        The inverse of `merge`, as far as rounding allows: `error_unit` and `magnitude` of
        the result bound what was lost.
        """
        if not part.count.any():
            return self
        if (part.count > self.count).any():
            raise ValueError(
                "cannot take away more cells than a column has: "
                "only rows that are part of a statistic can be subtracted from it"
            )
        precision = self.precision if self.precision == part.precision else "float64"
        stay, same = part.count < self.count, part.count == 0
        left = self.weight - part.weight
        if not (left.hi > 0)[stay].all():
            raise ValueError("cannot take away more weight than there is")
        left = _nonzero(left, stay)
        away = difference(part.mean, part.mean_rest, self.mean, self.mean_rest)
        mean, rest = shifted(self.mean, self.mean_rest, -(away * (part.weight / left)))
        between = away * away * (self.weight * part.weight / left)
        scatter = self._scatter_less(part, between, precision)
        share = self.weight.hi / left.hi
        # What is left of the weight has lost digits too, and the shift is divided by it.
        unit = DOUBLE_DOUBLE_UNIT if precision == "double-double" else UNIT
        of_weight = between.hi * np.square(share * DOUBLE_DOUBLE_UNIT / unit)
        magnitude = joint(
            self.magnitude * share, part.magnitude * share, np.maximum(between.hi, of_weight)
        )
        squares = scatter.hi if isinstance(scatter, DoubleDouble) else scatter
        roundings = max(self.roundings, part.roundings) + 4
        if (squares < -4 * unit * roundings * magnitude)[stay & ~same].any():
            raise ValueError(
                "less than nothing would stay of a column's squares: these rows, with these "
                "weights, are not part of the statistic"
            )

        def chosen(new: Any, old: Any) -> Any:
            return np.where(stay, np.where(same, old, new), 0.0)

        def spread(new: Any, old: Any) -> Any:
            # A single cell has none, whatever cancelled.
            return np.where(self.count - part.count == 1, 0.0, chosen(new, old))

        kept = self.scatter if precision == "double-double" else self.rounded_scatter
        return ColumnMoments(
            count=self.count - part.count,
            weight=mapped(chosen, left, self.weight),
            mean=mapped(chosen, mean, self.mean),
            mean_rest=chosen(rest, self.mean_rest),
            scatter=mapped(spread, scatter, kept),
            magnitude=chosen(magnitude, self.magnitude),
            roundings=roundings,
        )

    def columns_seen(self, n_columns: int) -> ColumnMoments:
        """The columns as they are: what a scaler learns from."""
        return self

    def rescaled(self, centre: Array | None, scale: Array | None, n_columns: int) -> ColumnMoments:
        """The moments of columns that are centred and divided by a scale, of any groups of rows.

        A column without a value has no mean and no scale, and no moments to be changed.

        Parameters
        ----------
        centre, scale : arrays of shape (n_columns,), or None
        n_columns : int
            All that there are.
        """
        origin, unit = np.zeros(n_columns), np.ones(n_columns)
        if centre is not None:
            origin = np.where(np.isfinite(centre), centre, origin)
        if scale is not None:
            unit = np.where(np.isfinite(scale), scale, unit)
        mean, there = (self.mean - origin + self.mean_rest) / unit, self.count > 0
        return replace(
            self,
            mean=mapped(lambda words: np.where(there, words, 0.0), mean),
            mean_rest=np.zeros_like(self.mean_rest),
            scatter=self.scatter / unit / unit,
            magnitude=self.magnitude / unit / unit,
            roundings=self.roundings + 4,
        )

    def mapped(self, function: Callable[[Any], Any]) -> ColumnMoments:
        """A function of arrays, applied to each."""
        changed: Any = {name: mapped(function, getattr(self, name)) for name in ARRAYS}
        return replace(self, **changed)

    def at(self, index: Any) -> ColumnMoments:
        """The entries at an index of the arrays' first axes, copied."""
        return self.mapped(lambda values: np.array(values[index]))

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays take."""
        return (72 if self.precision == "double-double" else 64) * self.magnitude.size


def _nonzero(weight: DoubleDouble, where: Any = True) -> DoubleDouble:
    """A weight to divide by: 1 where there is none."""
    usable = (weight.hi > 0) & where
    return DoubleDouble(np.where(usable, weight.hi, 1.0), np.where(usable, weight.lo, 0.0))
