"""Moments of the columns for each class: the statistic behind Gaussian naive Bayes.

For each label: its rows, their weight, and the moments of each column over the rows of that
label (`suffice.statistics.moments.columns`).  The weight of the rows is kept beside the weights
of the columns, for a row counts towards its class even where cells of it are missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.numerics.cached import cached_property
from suffice.numerics.double_double import Array, DoubleDouble
from suffice.statistics.base import Precision, present
from suffice.statistics.by_label import NO_CLASSES, ByLabel
from suffice.statistics.counts.labels import coded
from suffice.statistics.moments.columns import ColumnMoments


@dataclass(frozen=True, eq=False)
class ClassMoments(ByLabel):
    """Rows, weight and column moments of each class, mergeable and subtractable.

    Attributes
    ----------
    labels, rows, weight : arrays of shape (classes,)
        As of every `ByLabel`.
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

    columns: ColumnMoments

    _tables = ("columns",)
    _shapes = "columns.count(classes, columns)"

    @classmethod
    def zero(cls, n_columns: int, precision: Precision = "float64") -> ClassMoments:
        """The moments of no rows: no class is known."""
        return cls(**NO_CLASSES, columns=ColumnMoments.zero((0, n_columns), precision))

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
    def _merged(cls, parts: Sequence[ClassMoments], labels: NDArray[Any]) -> dict[str, Any]:
        return {"columns": ColumnMoments.merge([part.placed(labels).columns for part in parts])}

    def _left(self, part: ClassMoments, stay: NDArray[np.bool_]) -> dict[str, Any]:
        return {"columns": self.columns.at(stay).subtract(part.columns.at(stay))}

    @cached_property
    def total(self) -> ColumnMoments:
        """The moments of the columns over all classes."""
        return self.columns.merged()

    def columns_seen(self, n_columns: int) -> ColumnMoments:
        """The columns, each by itself: what a scaler learns from."""
        return self.total

    def rescaled(self, centre: Array | None, scale: Array | None, n_columns: int) -> ClassMoments:
        """The moments of rows whose columns are centred and divided by a scale."""
        return replace(self, columns=self.columns.rescaled(centre, scale, n_columns))

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
