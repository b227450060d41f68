"""Sums of the columns for each class: the statistic behind the discrete naive Bayes models.

For each label: its rows, their weight, the weighted sum of each column over the rows of that
label, and the weight of the cells that are missing (NaN), column by column.

**Exactness.**  Sums of whole numbers are exact below 2⁵³, and so is every merge and every
subtraction of them.  Else n additions of numbers of one sign err by at most ε = n u of their sum,
u = 2⁻⁵³, and sums S of which a part P is taken away by at most ε (S + P) = ε (S − P) + 2 ε P: one
share of every sum, and one number more for what has left.  Weights of classes are added in
double-double.

Labels are sorted and distinct, and of one kind: booleans, integers, floats or text.  They may
appear in any part: merging unites them, and a class whose last row is taken away is gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from suffice.numerics.double_double import UNIT, Array, DoubleDouble
from suffice.statistics.base import present
from suffice.statistics.counts.block_totals import MOST_EXACT, group_totals, split_missing
from suffice.statistics.counts.labels import check_known, coded, united
from suffice.statistics.counts.values_by_class import ERROR_UNIT
from suffice.statistics.moments.by_class import weight_of_classes
from suffice.statistics.moments.full import Precision
from suffice.statistics.moments.merging import placed, stacked

TOO_LARGE = "infinity or a value too large, whose (weighted) sum overflows"

TOO_LARGE_TOGETHER = (
    "the sums over all rows are beyond float64's range: the columns are too large, or the weights "
    "are; rescale them"
)

TOO_MUCH = (
    "cannot take away more than there is: only rows that are part of a statistic can be subtracted "
    "from it"
)


@dataclass(frozen=True, eq=False)
class ClassSums:
    """Rows, weight and column sums of each class, mergeable and subtractable.

    Attributes
    ----------
    labels : array of shape (classes,)
        Sorted: bool, int64, float64, or object for text.
    rows : int64 array of shape (classes,)
        Rows of each class (those of weight 0 do not exist).
    weight : DoubleDouble of shape (classes,)
        Sum of the rows' weights.
    sums : float64 array of shape (classes, columns)
        Weighted sums over the cells that are there, none of them negative.
    missing : float64 array of shape (classes, columns), or (classes, 0) if no cell is missing
        Weight of the cells that are not there.
    rounding : float
        By which share of itself a sum, or the weight of missing cells, may be wrong; 0 if all of
        them are exact.
    lost, lost_weight : float
        By how much more, sums and weights, because rows were taken away.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[1, 0], [3, 2], [7, 0]]), np.array(["b", "b", "a"])
    >>> sums = ClassSums.summarize(X, y)
    >>> sums.labels, sums.rows, sums.sums
    (array(['a', 'b'], dtype=object), array([1, 2]), array([[7., 0.],
           [4., 2.]]))
    >>> sums.is_exact
    True
    """

    labels: NDArray[Any]
    rows: NDArray[np.int64]
    weight: DoubleDouble
    sums: Array
    missing: Array
    rounding: float = 0.0
    lost: float = 0.0
    lost_weight: float = 0.0

    def _check_loaded(self) -> None:
        """Raise ValueError unless what a file holds could be sums of some classes."""
        tables = self.labels, self.rows, self.sums, self.missing
        if not all(isinstance(table, np.ndarray) for table in tables) or self.sums.ndim != 2:
            raise ValueError("its sums are no arrays of classes and columns")
        k, d = len(self.labels), self.sums.shape[1]
        if any(v.shape != (k,) for v in (self.labels, self.rows, self.weight)):
            raise ValueError("its classes do not fit together")
        if self.rows.dtype != np.int64:
            raise ValueError("its rows are not counted in 64-bit integers")
        if self.sums.shape != (k, d) or self.sums.dtype != np.float64:
            raise ValueError("its sums do not fit its classes")
        if self.missing.shape not in ((k, d), (k, 0)) or self.missing.dtype != np.float64:
            raise ValueError("its missing cells do not fit its sums")
        for error in (self.rounding, self.lost, self.lost_weight):
            if type(error) is not float or not error >= 0:
                raise ValueError(f"its errors are none: {error!r}")

    @classmethod
    def zero(cls, n_columns: int) -> ClassSums:
        """The sums of no rows: no class is known."""
        return cls(
            labels=np.zeros(0, np.int64),
            rows=np.zeros(0, np.int64),
            weight=DoubleDouble.zeros(0),
            sums=np.zeros((0, n_columns)),
            missing=np.zeros((0, 0)),
        )

    @classmethod
    def summarize(cls, X: Any, y: NDArray[Any], weight: Array | None = None) -> ClassSums:
        """The sums of a block of rows.

        Parameters
        ----------
        X : array or CSR array of shape (rows, columns)
            Numbers that are not negative, of any dtype; NaN where a cell is missing.
        y : array of shape (rows,)
            Labels of one kind.
        weight : float64 array of shape (rows,), optional
            Not negative.

        Raises
        ------
        NegativeCellError
            If a cell is negative.
        FloatingPointError
            If a value is infinite, if the sums of all columns together overflow, or the weights
            do, or if a label is missing.
        ValueError
            If the labels are of several kinds.
        """
        weight, X, y = present(weight, X, y)
        if X.shape[0] == 0:
            return cls.zero(X.shape[1])
        labels, codes = coded(y)
        k = len(labels)
        rows = np.bincount(codes, minlength=k)
        sums, exact = group_totals(X, codes, k, weight)
        missing = np.zeros((k, 0))
        if np.isnan(sums.max(initial=0.0)):
            absent, X = split_missing(X)
            missing, whole = group_totals(absent, codes, k, weight)
            sums, exact = group_totals(X, codes, k, weight)
            exact &= whole
        total = weight_of_classes(codes, rows, weight)
        if _overflow(sums, total.hi):
            raise FloatingPointError(TOO_LARGE)
        return cls(
            labels=labels,
            rows=rows,
            weight=total,
            sums=sums,
            missing=missing,
            rounding=0.0 if exact else float(rows.max() + 2) * UNIT,
        )

    @classmethod
    def merge(cls, parts: Sequence[ClassSums]) -> ClassSums:
        """The sums over all rows of the parts together, whatever classes each has."""
        parts = [part for part in parts if part.count] or list(parts[:1])
        if len(parts) == 1:
            return parts[0]
        labels = united([part.labels for part in parts])
        places = [np.searchsorted(labels, part.labels) for part in parts]
        each = zip(parts, places, strict=True)
        weights = [placed(part.weight, place, len(labels)) for part, place in each]

        def added(name: str) -> Any:
            return _added([getattr(part, name) for part in parts], places, len(labels))

        with np.errstate(over="ignore", invalid="ignore"):
            sums, missing, weight = added("sums"), added("missing"), stacked(weights).sum()
        if _overflow(sums, weight.hi):
            raise ValueError(TOO_LARGE_TOGETHER)
        rounding = max(part.rounding for part in parts)
        if rounding or sums.max(initial=0.0) >= MOST_EXACT:
            rounding += len(parts) * UNIT
        return cls(
            labels=labels,
            rows=added("rows"),
            weight=weight,
            sums=sums,
            missing=missing,
            rounding=rounding,
            lost=float(sum(part.lost for part in parts)),
            lost_weight=float(sum(part.lost_weight for part in parts)),
        )

    def subtract(self, part: ClassSums) -> ClassSums:
        """The sums over the rows that stay when those of `part` are taken away.

        Exact for whole numbers.  A class whose last row leaves is gone.
        """
        if part.count == 0:
            return self
        check_known(part.labels, self.labels)
        part = part.placed(self.labels)
        stay = self.rows > part.rows
        weight = (self.weight - part.weight)[stay]
        rounding = max(self.rounding, part.rounding)
        lost = self.lost + part.lost + 2 * rounding * part.sums.max(initial=0.0)
        lost_weight = self.lost_weight + part.lost_weight
        if rounding:
            lost_weight += 2 * rounding * part.missing.max(initial=0.0)
            lost_weight += ERROR_UNIT * self.weight.hi.max()
        sums = _left(self.sums[stay], part.sums[stay], lost)
        missing = _left(self.missing[stay], part.missing[stay], lost_weight)
        if (part.rows > self.rows).any() or not (weight.hi > 0).all():
            raise ValueError(TOO_MUCH)
        return ClassSums(
            labels=self.labels[stay],
            rows=(self.rows - part.rows)[stay],
            weight=weight,
            sums=sums,
            missing=missing if missing.any() else missing[:, :0],
            rounding=rounding + UNIT if rounding else 0.0,
            lost=float(lost),
            lost_weight=float(lost_weight),
        )

    def placed(self, labels: NDArray[Any]) -> Self:
        """The same among more classes: `labels`, sorted, with all of ours."""
        if len(labels) == len(self.labels):
            return self
        positions = np.searchsorted(labels, self.labels)

        def place(values: Any) -> Any:
            return placed(values, positions, len(labels))

        return replace(
            self,
            labels=labels,
            rows=place(self.rows),
            weight=place(self.weight),
            sums=place(self.sums),
            missing=place(self.missing),
        )

    @property
    def cell_weight(self) -> Array:
        """Weight of the cells that are there: of shape (classes, columns), or (classes, 1)."""
        if not self.missing.shape[1]:
            return self.weight.round()[:, None]
        # In double-double: beside heavy cells that are missing, light ones keep their digits.
        there = (self.weight[:, None] - self.missing).round()
        # What rounding may have left of a class without a value is nothing.
        return there if self.is_exact else np.where(there > self.weight_error, there, 0.0)

    @property
    def is_exact(self) -> bool:
        """Whether nothing was rounded."""
        return self.rounding == 0

    @property
    def error(self) -> Array:
        """Bounds on the errors of `sums`: of its shape, or (1, 1) if it is exact."""
        return np.zeros((1, 1)) if self.is_exact else self.rounding * self.sums + self.lost

    @property
    def weight_error(self) -> Array:
        """Bounds on the errors of `cell_weight`: of its shape, or (1, 1)."""
        missing = self.missing if self.missing.shape[1] else np.zeros((1, 1))
        return self.rounding * missing + self.lost_weight

    @property
    def count(self) -> int:
        """Rows of all classes."""
        return int(self.rows.sum())

    @property
    def precision(self) -> Precision:
        """In which arithmetic the sums are kept."""
        return "float64"

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays take."""
        return self.sums.nbytes + self.missing.nbytes + 32 * len(self.labels)


def _overflow(*tables: Array) -> bool:
    """Whether the sum of a table, over all classes and columns, is more than float64 can hold."""
    with np.errstate(over="ignore"):
        return not all(np.isfinite(table.sum()) for table in tables)


def _added(tables: Sequence[Any], places: Sequence[NDArray[np.int64]], n_classes: int) -> Any:
    """The sums of tables by class, each with some of the classes; one without columns is none."""
    width = max(table.shape[1:] for table in tables)
    shape = (n_classes, *width)
    if all(table.shape == shape for table in tables):
        total = tables[0] + tables[1]
        for table in tables[2:]:
            total += table
        return total
    total = np.zeros(shape, tables[0].dtype)
    for place, table in zip(places, tables, strict=True):
        if table.shape[1:] == width:
            total[place] += table  # distinct labels: no place twice
    return total


def _left(whole: Array, part: Array, lost: float) -> Array:
    """Sums when a part is taken away; none of them is negative but for what may be lost."""
    if not part.shape[1]:
        return whole
    left = (whole if whole.shape[1] else 0.0) - part
    if (left < -lost).any():
        raise ValueError(TOO_MUCH)
    return np.maximum(left, 0.0)
