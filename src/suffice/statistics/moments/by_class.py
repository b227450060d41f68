"""Moments of the columns for each class: the statistic behind Gaussian naive Bayes.

For each label: its rows, their weight, and the moments of each column over the rows of that
label (`suffice.statistics.moments.columns`).  The weight of the rows is kept beside the weights
of the columns, for a row counts towards its class even where cells of it are missing.

Labels are sorted and distinct, and of one kind: booleans, integers, floats or text.  They may
appear in any part: merging unites them, and a class whose last row is taken away is gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.numerics.cached import cached_property
from suffice.numerics.double_double import Array, DoubleDouble
from suffice.statistics.base import present
from suffice.statistics.counts.labels import check_known, coded, united
from suffice.statistics.moments.columns import ColumnMoments
from suffice.statistics.moments.full import Precision
from suffice.statistics.moments.merging import placed, stacked


@dataclass(frozen=True, eq=False)
class ClassMoments:
    """Rows, weight and column moments of each class, mergeable and subtractable.

    Attributes
    ----------
    labels : array of shape (classes,)
        Sorted: bool, int64, float64, or object for text.
    rows : int64 array of shape (classes,)
        Rows of each class (those of weight 0 do not exist).
    weight : DoubleDouble of shape (classes,)
        Sum of the rows' weights.
    columns : ColumnMoments of shape (classes, columns)

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[1.0], [3.0], [7.0]]), np.array(["b", "b", "a"])
    >>> moments = ClassMoments.summarize(X, y)
    >>> moments.labels, moments.rows, moments.columns.mean.round()
    (array(['a', 'b'], dtype=object), array([1, 2]), array([[7.],
           [2.]]))
    """

    labels: NDArray[Any]
    rows: NDArray[np.int64]
    weight: DoubleDouble
    columns: ColumnMoments

    _shapes = "labels(classes) rows(classes) weight(classes) columns.count(classes, columns)"

    @classmethod
    def zero(cls, n_columns: int, precision: Precision = "float64") -> ClassMoments:
        """The moments of no rows: no class is known."""
        return cls(
            labels=np.zeros(0, np.int64),
            rows=np.zeros(0, np.int64),
            weight=DoubleDouble.zeros(0),
            columns=ColumnMoments.zero((0, n_columns), precision),
        )

    @classmethod
    def summarize(
        cls,
        X: Any,
        y: NDArray[Any],
        weight: Array | None = None,
        precision: Precision = "float64",
    ) -> ClassMoments:
        """The moments of a block of rows.

        Parameters
        ----------
        X : array of shape (rows, columns)
            Real numbers of any dtype and stride; NaN where a cell is missing.
        y : array of shape (rows,)
            Labels of one kind.
        weight : float64 array of shape (rows,), optional
            Not negative.
        precision : {"float64", "double-double"}

        Raises
        ------
        FloatingPointError
            If a value is infinite or its square overflows, or if a label is missing.
        ValueError
            If the labels are of several kinds.
        """
        weight, X, y = present(weight, X, y)
        if X.shape[0] == 0:
            return cls.zero(X.shape[1], precision)
        labels, codes = coded(y)
        rows = np.bincount(codes, minlength=len(labels))
        return cls(
            labels=labels,
            rows=rows,
            weight=weight_of_classes(codes, rows, weight),
            columns=ColumnMoments.summarize_groups(X, codes, len(labels), weight, precision),
        )

    @classmethod
    def merge(cls, parts: Sequence[ClassMoments]) -> ClassMoments:
        """The moments of all rows of the parts together, whatever classes each has."""
        parts = [part for part in parts if part.count] or list(parts[:1])
        if len(parts) == 1:
            return parts[0]
        labels = united([part.labels for part in parts])
        among = [part.placed(labels) for part in parts]
        return cls(
            labels=labels,
            rows=np.sum([part.rows for part in among], axis=0),
            weight=stacked([part.weight for part in among]).sum(),
            columns=ColumnMoments.merge([part.columns for part in among]),
        )

    def subtract(self, part: ClassMoments) -> ClassMoments:
        """The moments of the rows that stay when those of `part` are taken away.

        A class whose last row leaves is gone.
        """
        if part.count == 0:
            return self
        check_known(part.labels, self.labels)
        part = part.placed(self.labels)
        if (part.rows > self.rows).any():
            worst = int(np.argmax(part.rows - self.rows))
            raise ValueError(
                f"cannot take {part.rows[worst]} rows of class {self.labels[worst]!r} away from "
                f"{self.rows[worst]}: only rows that are part of a statistic can be subtracted "
                "from it"
            )
        stay = self.rows > part.rows
        left = (self.weight - part.weight)[stay]
        if not (left.hi > 0).all():
            raise ValueError("cannot take away more weight than there is")
        return ClassMoments(
            labels=self.labels[stay],
            rows=(self.rows - part.rows)[stay],
            weight=left,
            columns=self.columns.at(stay).subtract(part.columns.at(stay)),
        )

    def placed(self, labels: NDArray[Any]) -> ClassMoments:
        """The same among more classes: `labels`, sorted, with all of ours."""
        if len(labels) == len(self.labels):
            return self
        positions, n = np.searchsorted(labels, self.labels), len(labels)
        return ClassMoments(
            labels=labels,
            rows=placed(self.rows, positions, n),
            weight=placed(self.weight, positions, n),
            columns=self.columns.placed(positions, n),
        )

    def columns_seen(self, n_columns: int) -> ColumnMoments:
        """The moments of the columns over all classes: what a scaler learns from."""
        return self.total

    def rescaled(self, centre: Array, scale: Array, n_columns: int) -> ClassMoments:
        """The moments of (x − centre) / scale."""
        return replace(self, columns=self.columns.rescaled(centre, scale, n_columns))

    @cached_property
    def total(self) -> ColumnMoments:
        """The moments of the columns over all classes."""
        return self.columns.merged()

    @property
    def count(self) -> int:
        """Rows of all classes."""
        return int(self.rows.sum())

    @property
    def precision(self) -> Precision:
        """In which arithmetic the scatter is kept."""
        return self.columns.precision

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays take."""
        return self.columns.nbytes + 32 * len(self.labels)

    @property
    def error_unit(self) -> float:
        """The error unit of the columns' moments."""
        return self.columns.error_unit


def weight_of_classes(
    codes: NDArray[np.int64], rows: NDArray[np.int64], weight: Array | None
) -> DoubleDouble:
    """The weight of the rows of each class, of which `rows` says how many there are."""
    if weight is None:
        return DoubleDouble.of(rows.astype(np.float64))
    column = ColumnMoments.summarize_groups(np.zeros((len(codes), 1)), codes, len(rows), weight)
    return column.weight[:, 0]
