"""Means of each class and one scatter about them: the statistic behind linear discriminants.

    W_k = Σ wᵢ,    m_k = (1/W_k) Σ wᵢ xᵢ  over the rows of class k,
    S = Σₖ Σ wᵢ (xᵢ − m_k)(xᵢ − m_k)ᵀ

A full scatter for each of 1,000 classes of 1,000 columns takes 8 GB; the pooled one takes 8 MB.
A block costs one product, of the rows less the means of their classes.  Parts merge class by
class as in `suffice.statistics.moments.full`: with δ the distance of a part's mean of a class from
the common mean of that class, S gains Σ W δ δᵀ.  The error is bounded likewise,

    |ΔSᵢⱼ| ≤ error_unit · √(magnitudeᵢ magnitudeⱼ).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.numerics.double_double import Array, DoubleDouble, two_sum
from suffice.numerics.exact_gram import exact_gram
from suffice.statistics.base import Precision, Scattered, present
from suffice.statistics.counts.labels import coded
from suffice.statistics.moments.by_class import ClassMoments
from suffice.statistics.moments.columns import ColumnMoments
from suffice.statistics.moments.full import Moments
from suffice.statistics.moments.merging import common_mean, difference, joint, pairwise
from suffice.statistics.moments.products import (
    MOST_ROWS,
    TOO_LARGE,
    check_finite,
    cut_up,
    gram_of,
    roundings_of,
    squares_of,
    weighted_gram,
)


@dataclass(frozen=True, eq=False)
class PooledMoments(Scattered):
    """Weight and mean of each class, and the scatter about these means, of all classes together.

    Attributes
    ----------
    classes : ClassMoments
        Labels, rows, weights, means, and the squares of each column by itself.
    scatter : float64 array or DoubleDouble, of shape (columns, columns)
        Weighted sum of squares and products about the means of the classes.
    magnitude : float64 array of shape (columns,)
        The squares that went through the accumulation of the scatter.
    roundings : int
        Longest chain of rounded operations behind an entry of the scatter.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[1.0, 0.0], [3.0, 1.0], [7.0, 2.0]]), np.array(["b", "b", "a"])
    >>> moments = PooledMoments.summarize(X, y)
    >>> moments.labels.tolist(), moments.scatter
    (['a', 'b'], array([[2. , 1. ], [1. , 0.5]]))
    """

    classes: ClassMoments
    scatter: Array | DoubleDouble
    magnitude: Array
    roundings: int

    _shapes = "classes.columns.count(classes, columns) scatter(columns, columns) magnitude(columns)"

    @classmethod
    def zero(cls, n_columns: int, precision: Precision = "float64") -> PooledMoments:
        """The moments of no rows: no class is known."""
        nothing = Moments.zero(n_columns, precision)
        classes = ClassMoments.zero(n_columns, precision)
        return cls(classes, nothing.scatter, nothing.magnitude, 0)

    @classmethod
    def summarize(
        cls,
        X: Any,
        y: NDArray[Any],
        weight: Array | None = None,
        precision: Precision = "float64",
    ) -> PooledMoments:
        """The moments of a block of rows.

        Parameters
        ----------
        X : array of shape (rows, columns)
            Real numbers of any dtype and stride.
        y : array of shape (rows,)
            Labels of one kind.
        weight : float64 array of shape (rows,), optional
            Not negative.
        precision : {"float64", "double-double"}

        Raises
        ------
        FloatingPointError
            If a value is NaN or infinite, or its square overflows, or if a label is missing.
        ValueError
            If the labels are of several kinds.
        """
        weight, X, y = present(weight, X, y)
        if X.shape[0] == 0:
            return cls.zero(X.shape[1], precision)
        if X.shape[0] > MOST_ROWS:
            parts = cut_up(X, y, weight)
            return cls.merge([cls.summarize(x, y, w, precision) for x, y, w in parts])
        rows = np.ascontiguousarray(X, dtype=np.float64)
        labels, codes = coded(y)
        # By their codes, which are cheaper to compare than text.
        classes = replace(ClassMoments.summarize(rows, codes, weight, precision), labels=labels)
        if (classes.columns.count < classes.rows[:, None]).any():
            raise FloatingPointError(TOO_LARGE)
        return _summarized(rows, codes, weight, classes)

    @classmethod
    def merge(cls, parts: Sequence[PooledMoments]) -> PooledMoments:
        """The moments of all rows of the parts together, whatever classes each has."""
        parts = [part for part in parts if part.count] or list(parts[:1])
        if len(parts) == 1:
            return parts[0]
        classes = ClassMoments.merge([part.classes for part in parts])
        exact = all(part.precision == "double-double" for part in parts)
        between, magnitudes = [], []
        for part in parts:
            mine = np.searchsorted(classes.labels, part.labels)
            distances = _distances(part.classes, classes, mine)
            weight = part.classes.weight
            between.append(squares_of(distances, weight, exact))
            spread = (np.square(distances.hi) * weight.hi[:, None]).sum(axis=0)
            magnitudes.append(joint(part.magnitude, spread))
        within = [part.scatter if exact else part.rounded_scatter for part in parts]
        longest = max(max(part.roundings for part in parts), len(classes.labels) + 8)
        return cls(
            classes=classes,
            scatter=pairwise(within) + pairwise(between),
            magnitude=np.sum(magnitudes, axis=0),
            roundings=longest + len(parts).bit_length() + 2,
        )

    def subtract(self, part: PooledMoments) -> PooledMoments:
        """The moments of the rows that stay when those of `part` are taken away.

        A class whose last row leaves is gone.
        """
        if part.count == 0:
            return self
        classes = self.classes.subtract(part.classes)
        precision = self.precision if self.precision == part.precision else "float64"
        if not classes.count:
            return PooledMoments.zero(len(self.magnitude), precision)
        # Only classes that lose some rows and keep others move.
        moved = np.isin(part.labels, classes.labels)
        theirs = np.flatnonzero(moved)
        mine = np.searchsorted(self.labels, part.labels[moved])
        gone, whole = part.classes.weight[theirs], self.classes.weight[mine]
        left = whole - gone
        away = _distances(part.classes, self.classes, mine, theirs)
        factor = whole * gone / left
        between = squares_of(away, factor, precision == "double-double")
        share = float((whole.hi / left.hi).max(initial=1.0))
        spread = (np.square(away.hi) * factor.hi[:, None]).sum(axis=0)
        # What is left of a weight has lost digits too, and the between part is divided by it.
        left_over = PooledMoments(
            classes=classes,
            scatter=self._scatter_less(part, between, precision),
            magnitude=joint(self.magnitude * share, part.magnitude * share, spread * share),
            roundings=max(self.roundings, part.roundings, len(theirs) + 4) + 4,
        )
        if not left_over.within.could_be_of_rows():
            raise ValueError(
                "less than nothing would stay of the squares: these rows, with these labels and "
                "weights, are not part of the statistic"
            )
        return left_over

    @property
    def within(self) -> Moments:
        """The rows less the means of their classes, as moments of one kind of rows."""
        n = len(self.magnitude)
        return Moments(
            count=self.count,
            weight=self.classes.weight.sum(),
            mean=DoubleDouble.zeros(n),
            mean_rest=np.zeros(n),
            scatter=self.scatter,
            magnitude=self.magnitude,
            roundings=self.roundings,
        )

    @property
    def total(self) -> Moments:
        """The moments of all rows about their common mean."""
        columns, weights = self.classes.columns, self.classes.weight
        mean, rest, distances = common_mean(columns.mean, columns.mean_rest, weights)
        between = squares_of(distances, weights, self.precision == "double-double")
        spread = (np.square(distances.hi) * weights.hi[:, None]).sum(axis=0)
        return Moments(
            count=self.count,
            weight=weights.sum(),
            mean=mean,
            mean_rest=rest,
            scatter=self.scatter + between,
            magnitude=joint(self.magnitude, spread),
            roundings=max(self.roundings, len(self.labels) + 8) + 2,
        )

    def columns_seen(self, n_columns: int) -> ColumnMoments:
        """The columns, each by itself: what a scaler learns from."""
        return self.classes.total

    def rescaled(self, centre: Array | None, scale: Array | None, n_columns: int) -> PooledMoments:
        """The moments of rows whose columns are centred and divided by a scale."""
        within = self.within.rescaled(centre, scale, n_columns)
        return PooledMoments(
            classes=self.classes.rescaled(centre, scale, n_columns),
            scatter=within.scatter,
            magnitude=within.magnitude,
            roundings=within.roundings,
        )

    @property
    def labels(self) -> NDArray[Any]:
        return self.classes.labels

    @property
    def rows(self) -> NDArray[np.int64]:
        return self.classes.rows

    @property
    def weight(self) -> DoubleDouble:
        return self.classes.weight

    @property
    def count(self) -> int:
        """Rows of all classes."""
        return self.classes.count

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays take."""
        words = 16 if self.precision == "double-double" else 8
        return self.classes.nbytes + words * len(self.magnitude) ** 2


def _summarized(
    rows: Array, codes: NDArray[np.int64], weight: Array | None, classes: ClassMoments
) -> PooledMoments:
    """Add the products of the rows, about a point near the mean of their class."""
    n, d = rows.shape
    columns = classes.columns
    if columns.precision == "float64":
        centre = columns.mean.hi

        def centred(some: slice) -> Array:
            Z = np.take(centre, codes[some], axis=0)
            return np.subtract(rows[some], Z, out=Z)

        gram: Any = gram_of(centred, n, d, weight)
        check_finite(gram)
        squares, exact, roundings = np.diagonal(gram), False, roundings_of(n, d)
    else:
        centre = _coarse(columns)
        with np.errstate(over="ignore", invalid="ignore"):
            pair = DoubleDouble(*two_sum(rows, -centre[codes]))
            gram = exact_gram(pair) if weight is None else weighted_gram(pair, weight)
        check_finite(gram.hi)
        squares, exact, roundings = np.diagonal(gram.hi), True, 6
    # From the centres to the means.
    offset = difference(columns.mean, columns.mean_rest, DoubleDouble.of(centre), np.zeros(d))
    moved = squares_of(offset, classes.weight, exact)
    shift = (np.square(offset.hi) * classes.weight.hi[:, None]).sum(axis=0)
    floor = np.maximum(squares, columns.magnitude.sum(axis=0))
    return PooledMoments(
        classes=classes,
        scatter=gram - moved,
        magnitude=joint(floor, shift),
        roundings=max(roundings, columns.roundings if exact else 0, len(centre) + 6),
    )


def _coarse(columns: ColumnMoments) -> Array:
    """The means on a grid that is coarse next to the deviations: x − centre has few bits."""
    with np.errstate(invalid="ignore", divide="ignore"):
        deviation = np.sqrt(columns.rounded_scatter / columns.weight.hi)
        grid = np.ldexp(1.0, np.maximum(np.frexp(deviation)[1] - 4, -1022))
        near = np.rint(columns.mean.hi / grid) * grid
    return np.where((deviation > 0) & np.isfinite(near), near, columns.mean.hi)


def _distances(
    part: ClassMoments, whole: ClassMoments, mine: Any, theirs: Any = slice(None)
) -> DoubleDouble:
    """How far the means of a part's classes are from those of the whole."""
    a, b = part.columns, whole.columns
    return difference(a.mean[theirs], a.mean_rest[theirs], b.mean[mine], b.mean_rest[mine])
