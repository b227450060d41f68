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
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.numerics.double_double import Array, DoubleDouble
from suffice.sources.memory.mixed import Columns
from suffice.statistics.base import Precision, present
from suffice.statistics.by_label import NO_CLASSES, ByLabel
from suffice.statistics.counts.cells import (
    Counted,
    count_columns,
    count_table,
    integers_where_whole,
    weights_of_groups,
)
from suffice.statistics.counts.distinct import distinct, locate
from suffice.statistics.counts.labels import coded
from suffice.statistics.counts.values import joined_values
from suffice.statistics.moments.merging import mapped, stacked

ERROR_UNIT = 2.0**-85
"""A weight errs by this share of itself and `before`: 2¹⁴ rows a block, any number of merges."""


@dataclass(frozen=True, eq=False)
class ClassValueCounts(ByLabel):
    """Rows and weight of each class, and of each value in it; mergeable and subtractable.

    Attributes
    ----------
    labels, rows, weight : arrays of shape (classes,)
        As of every `ByLabel`.
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

    values: tuple[NDArray[Any], ...]
    counts: NDArray[np.int64]
    weights: DoubleDouble
    before: float

    _tables = ("counts", "weights")

    _shapes = "counts(classes, values) weights(classes, values)"

    def _check_loaded(self) -> None:
        """Raise ValueError unless what a file holds could be counts of some classes."""
        if self.counts.shape[1] != sum(map(len, self.values)):
            raise ValueError("its counts do not fit its values")
        for values in self.values:
            if values.ndim != 1 or values.dtype.kind not in "iufO":
                raise ValueError("its values are neither numbers nor text")
            if values.dtype.kind != "O" and not (values[1:] > values[:-1]).all():
                raise ValueError("its values are not in order")

    @classmethod
    def zero(cls, n_columns: int) -> ClassValueCounts:
        """The counts of no rows: neither classes nor values are known."""
        return cls(
            **NO_CLASSES,
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
    def _merged(cls, parts: Sequence[ClassValueCounts], labels: NDArray[Any]) -> dict[str, Any]:
        columns = zip(*(part.values for part in parts), strict=True)
        values = tuple(_union(each, j) for j, each in enumerate(columns))
        among = [part._among(values).placed(labels) for part in parts]
        return {
            "values": values,
            "counts": np.sum([part.counts for part in among], axis=0),
            "weights": stacked([part.weights for part in among]).sum(),
            "before": float(sum(part.before for part in parts)),
        }

    def _left(self, part: ClassValueCounts, stay: NDArray[np.bool_]) -> dict[str, Any]:
        """Values that no row holds any more are gone."""
        self._refuse_strange(part)
        part = part._among(self.values)
        counts, weights = self.counts - part.counts, self.weights - part.weights
        if (counts < 0).any():
            raise ValueError(
                "cannot take away more rows of a class than hold a value in it: only rows that "
                "are part of a statistic can be subtracted from it"
            )
        there = counts > 0
        if not (weights.hi[there] > 0).all():
            raise ValueError("cannot take away more weight than there is")
        held = there.any(axis=0)
        kept = np.split(held, self.first[1:-1])
        return {
            "values": tuple(
                integers_where_whole(values[some])
                for values, some in zip(self.values, kept, strict=True)
            ),
            "counts": counts[stay][:, held],
            "weights": mapped(lambda w: np.where(there, w, 0.0)[stay][:, held], weights),
            "before": float(self.before + self.weight.hi.sum()),
        }

    def _refuse_strange(self, part: ClassValueCounts) -> None:
        for j, (theirs, ours) in enumerate(zip(part.values, self.values, strict=True)):
            strange = locate(theirs, ours) < 0
            if strange.any():
                value = theirs.tolist()[int(np.argmax(strange))]
                raise ValueError(
                    f"cannot take rows away that hold {value!r} in column {j}: there are none"
                )

    def _among(self, values: tuple[NDArray[Any], ...]) -> ClassValueCounts:
        """The same among more values: those of each column, with all of ours."""
        first = starts(values)
        if np.array_equal(first, self.first):
            return self
        each = zip(first, self.values, values, strict=False)
        columns = np.concatenate([start + locate(ours, among) for start, ours, among in each])

        def place(cells: Any) -> Any:
            out = np.zeros((len(cells), first[-1]), cells.dtype)
            out[:, columns] = cells
            return out

        counts, weights = mapped(place, self.counts), mapped(place, self.weights)
        return replace(self, values=values, counts=counts, weights=weights)

    @property
    def first(self) -> NDArray[np.int64]:
        """Where the values of each column begin among all, and where the last end."""
        return starts(self.values)

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
