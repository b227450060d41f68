"""Sums of the columns for each class: the statistic behind the discrete naive Bayes models.

For each label: its rows, their weight, the weighted sum of each column over the rows of that
label, and the weight of the cells that are missing (NaN), column by column.

**Exactness.**  Sums of whole numbers are exact below 2⁵³, and so is every merge and every
subtraction of them.  Else n additions of numbers of one sign err by at most ε = n u of their sum,
u = 2⁻⁵³, and sums S of which a part P is taken away by at most ε (S + P) = ε (S − P) + 2 ε P: one
share of every sum, and one number more for what has left.  Weights of classes are added in
double-double.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.numerics.double_double import UNIT, Array
from suffice.statistics.base import Precision, present
from suffice.statistics.by_label import NO_CLASSES, ByLabel
from suffice.statistics.counts.block_totals import MOST_EXACT, group_totals, split_missing
from suffice.statistics.counts.labels import coded
from suffice.statistics.counts.values_by_class import ERROR_UNIT
from suffice.statistics.moments.by_class import weight_of_classes
from suffice.statistics.moments.merging import added

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
class ClassSums(ByLabel):
    """Rows, weight and column sums of each class, mergeable and subtractable.

    Attributes
    ----------
    labels, rows, weight : arrays of shape (classes,)
        As of every `ByLabel`.
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

    sums: Array
    missing: Array
    rounding: float = 0.0
    lost: float = 0.0
    lost_weight: float = 0.0

    _tables = ("sums", "missing")

    _shapes = "sums(classes, columns) missing(classes, cells)"

    def _check_loaded(self) -> None:
        """Raise ValueError unless what a file holds could be sums of some classes."""
        if self.missing.shape[1] not in (0, self.sums.shape[1]):
            raise ValueError("its missing cells do not fit its sums")

    @classmethod
    def zero(cls, n_columns: int) -> ClassSums:
        """The sums of no rows: no class is known."""
        return cls(**NO_CLASSES, sums=np.zeros((0, n_columns)), missing=np.zeros((0, 0)))

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
    def _merged(cls, parts: Sequence[ClassSums], labels: NDArray[Any]) -> dict[str, Any]:
        places = [np.searchsorted(labels, part.labels) for part in parts]
        sums = added([part.sums for part in parts], places, len(labels))
        if _overflow(sums, np.concatenate([part.weight.hi for part in parts])):
            raise ValueError(TOO_LARGE_TOGETHER)
        rounding = max(part.rounding for part in parts)
        if rounding or sums.max(initial=0.0) >= MOST_EXACT:
            rounding += len(parts) * UNIT
        return {
            "sums": sums,
            "missing": added([part.missing for part in parts], places, len(labels)),
            "rounding": rounding,
            "lost": float(sum(part.lost for part in parts)),
            "lost_weight": float(sum(part.lost_weight for part in parts)),
        }

    def _left(self, part: ClassSums, stay: NDArray[np.bool_]) -> dict[str, Any]:
        """Exact for whole numbers."""
        rounding = max(self.rounding, part.rounding)
        lost = self.lost + part.lost + 2 * rounding * part.sums.max(initial=0.0)
        lost_weight = self.lost_weight + part.lost_weight
        if rounding:
            lost_weight += 2 * rounding * part.missing.max(initial=0.0)
            lost_weight += ERROR_UNIT * self.weight.hi.max()
        missing = _left(self.missing[stay], part.missing[stay], lost_weight)
        return {
            "sums": _left(self.sums[stay], part.sums[stay], lost),
            "missing": missing if missing.any() else missing[:, :0],
            "rounding": rounding + UNIT if rounding else 0.0,
            "lost": float(lost),
            "lost_weight": float(lost_weight),
        }

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


def _left(whole: Array, part: Array, lost: float) -> Array:
    """Sums when a part is taken away; none of them is negative but for what may be lost."""
    if not part.shape[1]:
        return whole
    left = (whole if whole.shape[1] else 0.0) - part
    if (left < -lost).any():
        raise ValueError(TOO_MUCH)
    return np.maximum(left, 0.0)
