"""How often each value of each column occurs in each class: the statistic of categories.

For each label: its rows and their weight, and for each value that a column holds somewhere, the
rows of that label which hold it, and their weight.  A missing cell (NaN, None) is no value and
counts nowhere but in the rows of its class.

Labels and values are sorted and distinct, and may appear in any part: merging unites them, and
what no row holds any more is gone.  Values are numbers or text, one of both in a column; whole
numbers are integers inside, whatever type they came in.  Counts are exact.  Weights are added up
in double-double: to 2⁻⁸⁵ of a sum, and of all that was there when rows were taken away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.numerics.double_double import Array, DoubleDouble
from suffice.sources.memory.mixed import Columns
from suffice.statistics.base import present
from suffice.statistics.counts.cells import (
    Counted,
    count_columns,
    count_table,
    integers_where_whole,
    weights_of_groups,
)
from suffice.statistics.counts.distinct import distinct, locate
from suffice.statistics.counts.labels import check_known, coded, united
from suffice.statistics.counts.values import joined_values
from suffice.statistics.moments.full import Precision
from suffice.statistics.moments.merging import mapped, placed, stacked

ERROR_UNIT = 2.0**-85
"""A weight errs by this share of itself and `before`: 2¹⁴ rows a block, any number of merges."""


@dataclass(frozen=True, eq=False)
class ClassValueCounts:
    """Rows and weight of each class, and of each value in it; mergeable and subtractable.

    Attributes
    ----------
    labels : array of shape (classes,)
        Sorted: bool, int64, float64, or object for text.
    rows : int64 array of shape (classes,)
        Rows of each class (those of weight 0 do not exist).
    weight : DoubleDouble of shape (classes,)
        Sum of the rows' weights.
    values : tuple of arrays
        The values of each column, ascending: int64 where all are whole, float64, or text.
    counts : int64 array of shape (classes, values of all columns)
        Rows of each class that hold each value, column after column.
    weights : DoubleDouble of the same shape
        Their weights together.
    before : float
        The weight of the rows from which others were taken away; 0 if none were.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[2, 7], [2, 5], [1, 7]]), np.array(["b", "b", "a"])
    >>> found = ClassValueCounts.summarize(X, y)
    >>> found.labels.tolist(), [values.tolist() for values in found.values]
    (['a', 'b'], [[1, 2], [5, 7]])
    >>> found.counts
    array([[1, 0, 0, 1],
           [0, 2, 1, 1]])
    """

    labels: NDArray[Any]
    rows: NDArray[np.int64]
    weight: DoubleDouble
    values: tuple[NDArray[Any], ...]
    counts: NDArray[np.int64]
    weights: DoubleDouble
    before: float

    def _check_loaded(self) -> None:
        """Raise ValueError unless what a file holds could be counts of some classes."""
        k, total = len(self.labels), sum(map(len, self.values))
        if self.rows.shape != (k,) or self.weight.shape != (k,) or self.labels.shape != (k,):
            raise ValueError("its classes do not fit each other")
        if self.counts.shape != (k, total) or self.weights.shape != (k, total):
            raise ValueError("its counts do not fit its classes and values")
        if self.rows.dtype != np.int64 or self.counts.dtype != np.int64:
            raise ValueError("its rows are not counted in 64-bit integers")
        if type(self.before) is not float or not self.before >= 0:
            raise ValueError(f"its weight before was {self.before!r}")
        for values in self.values:
            if values.ndim != 1 or values.dtype.kind not in "iufO":
                raise ValueError("its values are neither numbers nor text")
            if values.dtype.kind != "O" and not (values[1:] > values[:-1]).all():
                raise ValueError("its values are not in order")

    @classmethod
    def zero(cls, n_columns: int) -> ClassValueCounts:
        """The counts of no rows: neither classes nor values are known."""
        return cls(
            labels=np.zeros(0, np.int64),
            rows=np.zeros(0, np.int64),
            weight=DoubleDouble.zeros(0),
            values=tuple(np.zeros(0, np.int64) for _ in range(n_columns)),
            counts=np.zeros((0, 0), np.int64),
            weights=DoubleDouble.zeros((0, 0)),
            before=0.0,
        )

    @classmethod
    def summarize(cls, X: Any, y: NDArray[Any], weight: Array | None = None) -> ClassValueCounts:
        """The counts of a block of rows.

        Parameters
        ----------
        X : array or Columns, of shape (rows, columns)
            Numbers of any dtype and stride, NaN where a cell is missing; text as objects,
            None where it is.
        y : array of shape (rows,)
            Labels of one kind.
        weight : float64 array of shape (rows,), optional
            Not negative.

        Raises
        ------
        FloatingPointError
            If a value is infinite, or a label is missing.
        ValueError
            If the labels are of several kinds.
        """
        weight, X, y = present(weight, X, y)
        if X.shape[0] == 0:
            return cls.zero(X.shape[1])
        labels, codes = coded(y)
        n_classes = len(labels)
        found: Counted
        if isinstance(X, Columns):
            found = count_columns(X.columns, codes, n_classes, weight)
        else:
            found = count_table(X, codes, n_classes, weight)
        rows = np.bincount(codes, minlength=n_classes)
        return cls(
            labels=labels,
            rows=rows,
            weight=weights_of_groups(codes, rows, weight),
            values=found.values,
            counts=found.counts,
            weights=found.weights,
            before=0.0,
        )

    @classmethod
    def merge(cls, parts: Sequence[ClassValueCounts]) -> ClassValueCounts:
        """The counts of all rows of the parts together, whatever classes and values each has."""
        parts = [part for part in parts if part.count] or list(parts[:1])
        if len(parts) == 1:
            return parts[0]
        labels = united([part.labels for part in parts])
        columns = zip(*(part.values for part in parts), strict=True)
        values = tuple(_union(each, j) for j, each in enumerate(columns))
        among = [part._placed(labels, values) for part in parts]
        return cls(
            labels=labels,
            rows=np.sum([part.rows for part in among], axis=0),
            weight=stacked([part.weight for part in among]).sum(),
            values=values,
            counts=np.sum([part.counts for part in among], axis=0),
            weights=stacked([part.weights for part in among]).sum(),
            before=float(sum(part.before for part in parts)),
        )

    def subtract(self, part: ClassValueCounts) -> ClassValueCounts:
        """The counts of the rows that stay when those of `part` are taken away.

        Classes and values that no row has any more are gone.
        """
        if part.count == 0:
            return self
        check_known(part.labels, self.labels)
        self._refuse_strange(part)
        part = part._placed(self.labels, self.values)
        rows, counts = self.rows - part.rows, self.counts - part.counts
        if (rows < 0).any() or (counts < 0).any():
            raise ValueError(
                "cannot take away more rows than a class has, or than hold a value in it: only "
                "rows that are part of a statistic can be subtracted from it"
            )
        weight, weights = self.weight - part.weight, self.weights - part.weights
        if not (weight.hi[rows > 0] > 0).all() or not (weights.hi[counts > 0] > 0).all():
            raise ValueError("cannot take away more weight than there is")
        stay, held = rows > 0, (counts > 0).any(axis=0)
        there = counts > 0
        return ClassValueCounts(
            labels=self.labels[stay],
            rows=rows[stay],
            weight=weight[stay],
            values=tuple(
                integers_where_whole(v[kept])
                for v, kept in zip(self.values, np.split(held, self.first[1:-1]), strict=True)
            ),
            counts=counts[stay][:, held],
            weights=DoubleDouble(
                np.where(there, weights.hi, 0.0)[stay][:, held],
                np.where(there, weights.lo, 0.0)[stay][:, held],
            ),
            before=float(self.before + self.weight.hi.sum()),
        )

    def _refuse_strange(self, part: ClassValueCounts) -> None:
        for j, (theirs, ours) in enumerate(zip(part.values, self.values, strict=True)):
            strange = locate(theirs, ours) < 0
            if strange.any():
                value = theirs.tolist()[int(np.argmax(strange))]
                raise ValueError(
                    f"cannot take rows away that hold {value!r} in column {j}: there are none"
                )

    def placed(self, labels: NDArray[Any]) -> ClassValueCounts:
        """The same among more classes: `labels`, sorted, with all of ours."""
        return self if len(labels) == len(self.labels) else self._placed(labels, self.values)

    def _placed(self, labels: NDArray[Any], values: tuple[NDArray[Any], ...]) -> ClassValueCounts:
        """The same among more classes and values."""
        first = starts(values)
        if len(labels) == len(self.labels) and np.array_equal(first, self.first):
            return self
        each = zip(first, self.values, values, strict=False)
        columns = np.concatenate([start + locate(ours, among) for start, ours, among in each])
        rows = np.searchsorted(labels, self.labels)

        def place(cells: Any) -> Any:
            out = np.zeros((len(labels), first[-1]), cells.dtype)
            out[rows[:, None], columns] = cells
            return out

        return ClassValueCounts(
            labels=labels,
            rows=placed(self.rows, rows, len(labels)),
            weight=placed(self.weight, rows, len(labels)),
            values=values,
            counts=place(self.counts),
            weights=mapped(place, self.weights),
            before=self.before,
        )

    @property
    def first(self) -> NDArray[np.int64]:
        """Where the values of each column begin among all, and where the last end."""
        return starts(self.values)

    @property
    def count(self) -> int:
        """Rows of all classes."""
        return int(self.rows.sum())

    def error(self, alpha: float = 0.0) -> float:
        """A bound on the relative error of weights to which α is added, and of those of classes."""
        least = self.weights.hi[self.counts > 0].min(initial=np.inf) + alpha
        least = min(least, self.weight.hi[self.rows > 0].min(initial=np.inf))
        return float(ERROR_UNIT * (1 + self.before / least))

    @property
    def precision(self) -> Precision:
        """The counts are exact, and weights have all digits that float64 can show."""
        return "float64"

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays take, with 60 for a text."""
        each = (8 + 60 * (values.dtype == object) for values in self.values)
        texts = sum(n * len(values) for n, values in zip(each, self.values, strict=True))
        return texts + 24 * self.counts.size + 32 * len(self.labels)


def starts(values: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """Where each of several arrays begins when they are joined, and where the last ends."""
    return np.concatenate([[0], np.cumsum([len(v) for v in values])]).astype(np.int64)


def _union(parts: Sequence[NDArray[Any]], column: int) -> NDArray[Any]:
    """All values of a column, in order."""
    there = [part for part in parts if len(part)]
    if not there:
        return parts[0].copy()
    first = there[0]
    if all(p.dtype == first.dtype and np.array_equal(p, first) for p in there[1:]):
        return first.copy()
    return integers_where_whole(distinct(joined_values(there, column)).values)
