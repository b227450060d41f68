"""Full moments of the rows of each class: the statistic behind quadratic discriminants.

A sorted map from labels to moments, of second order (`suffice.statistics.moments.full`) or up to
the fourth (`suffice.statistics.moments.fourth`).  Where classes have many rows in a block, one pass
over it makes the products of all of them; else each class costs one product of its rows.  Classes
may appear in any part, and one whose last row is taken away is gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.sums.class_products import GAP, TILE, add_class_products
from suffice.numerics.double_double import Array, DoubleDouble
from suffice.statistics.base import present
from suffice.statistics.by_group import merged
from suffice.statistics.counts.labels import check_known, coded, united
from suffice.statistics.moments.columns import ColumnMoments
from suffice.statistics.moments.fourth import FourthMoments
from suffice.statistics.moments.full import Moments, Precision, merged_fields, merged_roundings
from suffice.statistics.moments.merging import mapped, stacked
from suffice.statistics.moments.of_block import mean_and_scatter, total_weight
from suffice.statistics.moments.products import (
    FEW,
    MOST_ROWS,
    SMALLEST_SQUARE,
    about_the_mean,
    floor_of,
    near_mean_of,
)

TOGETHER_FROM = 1 << 15
"""Cells of a block from which a compiled kernel sums the products of all classes in one pass.

Where classes have few rows for their columns, the products themselves weigh more than making them.
"""

MERGED_AT_ONCE = 128
"""Columns up to which the moments of all classes are merged in the same calls of NumPy."""

ROWS_AT_ONCE = 128
"""Rows of a class whose products are added up before they are added to those of its others."""


@dataclass(frozen=True, eq=False)
class LabelledMoments:
    """For each label the moments of its rows, mergeable and subtractable.

    Attributes
    ----------
    labels : array of shape (classes,)
        Sorted: bool, int64, float64, or object for text.
    parts : tuple of Moments or of FourthMoments
        One for each label, each of at least one row.
    n_columns : int

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[1.0, 0.0], [3.0, 1.0], [7.0, 2.0]]), np.array(["b", "b", "a"])
    >>> found = LabelledMoments.summarize(X, y)
    >>> found.labels.tolist(), found.moments[1].scatter
    (['a', 'b'], array([[2. , 1. ], [1. , 0.5]]))
    """

    labels: NDArray[Any]
    parts: tuple[Any, ...]
    n_columns: int

    def _check_loaded(self) -> None:
        """Raise ValueError unless what a file holds could be moments of some classes."""
        if type(self.n_columns) is not int or self.labels.shape != (len(self.parts),):
            raise ValueError("its classes do not fit their moments")
        kinds = {type(part) for part in self.parts}
        if len(kinds) > 1 or not kinds <= {Moments, FourthMoments}:
            raise ValueError("its classes have moments of several kinds")
        if any(len(m.magnitude) != self.n_columns or m.count < 1 for m in self.moments):
            raise ValueError(f"its moments are not of {self.n_columns} columns")

    @classmethod
    def zero(cls, n_columns: int) -> LabelledMoments:
        """The moments of no rows: no class is known."""
        return cls(np.zeros(0, np.int64), (), n_columns)

    @classmethod
    def summarize(
        cls,
        X: Any,
        y: NDArray[Any],
        weight: Array | None = None,
        precision: Precision = "float64",
        fourth: bool = False,
    ) -> LabelledMoments:
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
        fourth : bool
            Whether moments up to the fourth are kept.

        Raises
        ------
        FloatingPointError
            If a value is NaN or infinite, or its square overflows, or if a label is missing.
        ValueError
            If the labels are of several kinds.
        """
        weight, X, y = present(weight, X, y)
        if X.shape[0] == 0:
            return cls.zero(X.shape[1])
        labels, codes = coded(y)
        # Few classes are sorted by radix.
        narrow = codes.astype(np.int16) if len(labels) < 1 << 15 else codes
        order = np.argsort(narrow, kind="stable")
        rows = np.ascontiguousarray(X, dtype=np.float64)
        ends = np.cumsum(np.bincount(codes, minlength=len(labels))).tolist()
        indices = [order[a:b] for a, b in zip([0, *ends], ends, strict=False)]
        if (
            not fourth
            and precision == "float64"
            and rows.size >= TOGETHER_FROM
            and len(labels) * max(ROWS_AT_ONCE, 16 * X.shape[1]) <= len(rows) <= MOST_ROWS
        ):
            return cls(labels, tuple(_of_classes(rows, codes, indices, weight)), X.shape[1])
        parts = [
            _gathered(rows[i], None if weight is None else weight[i], precision, fourth)
            for i in indices
        ]
        return cls(labels, tuple(parts), X.shape[1])

    @classmethod
    def merge(cls, parts: Sequence[LabelledMoments]) -> LabelledMoments:
        """The moments of all rows of the parts together, whatever classes each has."""
        parts = [part for part in parts if part.parts] or list(parts[:1])
        if len(parts) == 1:
            return parts[0]
        labels = united([part.labels for part in parts])
        found: list[list[Any]] = [[] for _ in labels]
        for part in parts:
            for place, one in zip(np.searchsorted(labels, part.labels), part.parts, strict=True):
                found[place].append(one)
        at_once = parts[0].n_columns <= MERGED_AT_ONCE and _are_alike(found, len(parts))
        every = _merged_at_once(found) if at_once else map(merged, found)
        return cls(labels, tuple(every), parts[0].n_columns)

    def subtract(self, part: LabelledMoments) -> LabelledMoments:
        """The moments of the rows that stay when those of `part` are taken away.

        A class whose last row leaves is gone.
        """
        if not part.parts:
            return self
        check_known(part.labels, self.labels)
        left = list(self.parts)
        places = np.searchsorted(self.labels, part.labels)
        for place, gone in zip(places, part.parts, strict=True):
            left[place] = left[place].subtract(gone)
        stay = np.array([one.count > 0 for one in left], dtype=np.bool_)
        if not stay.any():
            return LabelledMoments.zero(self.n_columns)
        return LabelledMoments(
            self.labels[stay], tuple(one for one in left if one.count), self.n_columns
        )

    @property
    def moments(self) -> list[Moments]:
        """Weight, mean and scatter of each class."""
        return [part if isinstance(part, Moments) else part.moments for part in self.parts]

    @property
    def total(self) -> Any:
        """The moments of all rows, of the order that is kept."""
        return merged(self.parts)

    @property
    def within(self) -> Moments:
        """The rows less the means of their classes, as moments of one kind of rows."""
        every = self.moments
        exact = self.precision == "double-double"
        scatter: Any = DoubleDouble.zeros(()) if exact else 0.0
        for one in every:
            scatter = scatter + (one.scatter if exact else one.rounded_scatter)
        return Moments(
            count=self.count,
            weight=self.weight.sum(),
            mean=DoubleDouble.zeros(self.n_columns),
            mean_rest=np.zeros(self.n_columns),
            scatter=scatter,
            magnitude=np.sum([one.magnitude for one in every], axis=0),
            roundings=max(one.roundings for one in every) + len(every),
        )

    def columns_seen(self, n_columns: int) -> ColumnMoments:
        """The columns, each by itself: what a scaler learns from."""
        return Moments.merge(self.moments).columns_seen(n_columns)

    def rescaled(
        self, centre: Array | None, scale: Array | None, n_columns: int
    ) -> LabelledMoments:
        """The moments of rows whose columns are centred and divided by a scale."""
        parts = tuple(part.rescaled(centre, scale, n_columns) for part in self.parts)
        return replace(self, parts=parts)

    @property
    def rows(self) -> NDArray[np.int64]:
        """Rows of each class."""
        return np.array([part.count for part in self.parts], dtype=np.int64)

    @property
    def weight(self) -> DoubleDouble:
        """Weight of the rows of each class."""
        weights = [part.weight for part in self.parts]
        return DoubleDouble(
            np.array([float(w.hi) for w in weights]), np.array([float(w.lo) for w in weights])
        )

    @property
    def count(self) -> int:
        """Rows of all classes."""
        return int(self.rows.sum())

    @property
    def precision(self) -> Precision:
        """In which arithmetic the scatters are kept."""
        exact = all(part.precision == "double-double" for part in self.parts)
        return "double-double" if self.parts and exact else "float64"

    @property
    def nbytes(self) -> int:
        """Bytes that the matrices take."""
        return sum(int(part.nbytes) for part in self.parts)


def _gathered(X: Array, weight: Array | None, precision: Precision, fourth: bool) -> Any:
    """Moments of the rows of one class."""
    if fourth:
        return FourthMoments.summarize(X, weight, precision)
    return Moments.summarize(X, None, weight, precision)


def _of_classes(
    X: Array, codes: NDArray[np.int64], indices: Sequence[NDArray[np.intp]], weight: Array | None
) -> Iterator[Moments]:
    """Moments of each class, from one pass over the rows as they come."""
    d = X.shape[1]
    some = np.arange(FEW)
    heads = X[np.stack([index[some % len(index)] for index in indices])]
    grams, centres = about_the_mean(
        lambda centres: _class_grams(X, codes, centres, weight), near_mean_of(heads)
    )
    floors = np.zeros(centres.shape)
    squares = np.diagonal(grams, axis1=1, axis2=2)[:, :d]
    for k in np.flatnonzero((squares < SMALLEST_SQUARE).any(axis=1)).tolist():
        floors[k] = floor_of(squares[k], X[indices[k]] - centres[k])
    means, scatters, magnitudes = mean_and_scatter(grams, centres, floors)
    for k, index in enumerate(indices):
        n = len(index)
        own = total_weight(n, None if weight is None else weight[index])
        mean = means[k], np.zeros(d)
        yield Moments(n, own, *mean, scatters[k], magnitudes[k], _roundings(n))


def _are_alike(groups: Sequence[Sequence[Any]], size: int) -> bool:
    """Whether all classes have so many parts, of second order and in float64."""
    return all(
        len(ones) == size
        and all(type(one) is Moments and one.precision == "float64" for one in ones)
        for ones in groups
    )


def _merged_at_once(groups: Sequence[Sequence[Moments]]) -> Iterator[Moments]:
    """What `Moments.merge` makes of each class, the arithmetic of all classes done together."""
    shape = len(groups[0]), len(groups)
    every = [one for part in zip(*groups, strict=True) for one in part]

    def arranged(values: Array) -> Array:
        return values.reshape(shape + values.shape[1:])

    weights = mapped(arranged, stacked([one.weight for one in every]))
    means = mapped(arranged, stacked([one.mean for one in every]))
    rests = arranged(np.stack([one.mean_rest for one in every]))
    scatters = list(arranged(np.stack([one.rounded_scatter for one in every])))
    magnitudes = arranged(np.stack([one.magnitude for one in every]))
    fields = merged_fields(weights, means, rests, scatters, magnitudes, exact=False)
    for k, ones in enumerate(groups):
        count, mine = sum(one.count for one in ones), (field[k] for field in fields)
        own: Any = (count, *mine, merged_roundings(ones))
        yield Moments(*own)


def _roundings(n_rows: int) -> int:
    """Roundings behind an entry of `_class_grams`, centring and correction included."""
    return min(n_rows, ROWS_AT_ONCE) + -(-n_rows // ROWS_AT_ONCE) + 7


def _class_grams(X: Array, codes: NDArray[np.int64], centres: Array, weight: Array | None) -> Array:
    """Products, about its centre, of the columns and a column of ones, for each class."""
    k, d = centres.shape
    m = -(-(d + 1) // TILE) * TILE
    weighed = 0 if weight is None else ROWS_AT_ONCE
    waiting = np.zeros((k, m, ROWS_AT_ONCE + GAP))
    waiting[:, d] = 1.0
    grams = np.zeros((k, m, m))
    with np.errstate(over="ignore", invalid="ignore"):  # of interpreted kernels
        add_class_products(
            X,
            codes,
            np.zeros(0) if weight is None else np.ascontiguousarray(weight, dtype=np.float64),
            centres,
            waiting,
            np.zeros((k, weighed)),
            np.zeros((m if weighed else 0, weighed)),
            np.zeros(k, dtype=np.int64),
            grams,
        )
    return grams[:, : d + 1, : d + 1]
