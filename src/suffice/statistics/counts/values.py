"""The distinct values of each column, and how often each occurs.

Categories, the most frequent value and the median follow from them, exactly.  The statistic
grows with the number of distinct values: a column of a million different numbers takes 24 MB.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from suffice.numerics.double_double import Array
from suffice.sources.memory.mixed import Columns
from suffice.statistics.base import Precision, present
from suffice.statistics.counts.distinct import distinct, locate, together


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """How often each value of each column occurs.

    Attributes
    ----------
    count : int
        Rows, those of weight 0 left out.
    values : tuple of arrays
        Distinct values of each column, numbers or objects (text): ascending, then None, then
        NaN.  Integers stay integers.
    counts : tuple of int64 arrays
        Rows that hold each value.
    weights : tuple of float64 arrays
        Their weights together.

    Examples
    --------
    >>> import numpy as np
    >>> counts = ValueCounts.summarize(np.array([[2.0], [1.0], [2.0], [np.nan]]))
    >>> counts.values[0], counts.counts[0]
    (array([ 1.,  2., nan]), array([1, 2, 1]))
    """

    count: int
    values: tuple[NDArray[Any], ...]
    counts: tuple[NDArray[np.int64], ...]
    weights: tuple[Array, ...]

    @classmethod
    def zero(cls, n_columns: int) -> ValueCounts:
        """The counts of no rows."""
        return cls._of(0, [_Counted(np.zeros(0), np.zeros(0, np.int64), np.zeros(0))] * n_columns)

    @classmethod
    def _of(cls, count: int, columns: Sequence[_Counted]) -> ValueCounts:
        return cls(
            count,
            tuple(column.values.copy() for column in columns),
            tuple(column.counts.copy() for column in columns),
            tuple(column.weights.copy() for column in columns),
        )

    @classmethod
    def summarize(cls, X: Any, weight: Array | None = None) -> ValueCounts:
        """The counts of a block of rows.

        Parameters
        ----------
        X : array, CSR array or Columns, of shape (rows, columns)
        weight : float64 array of shape (rows,), optional
            Not negative.
        """
        weight, X = present(weight, X)
        n_rows, n_columns = X.shape
        if not n_rows:
            return cls.zero(n_columns)
        if issparse(X):
            return cls._of(n_rows, _count_sparse(X, weight))
        ones = np.ones(n_rows)
        columns = X.columns if isinstance(X, Columns) else X.T
        weights = ones if weight is None else weight
        return cls._of(n_rows, [_added(column, ones, weights) for column in columns])

    @classmethod
    def merge(cls, parts: Sequence[ValueCounts]) -> ValueCounts:
        """The counts of all rows of the parts together."""
        parts = [part for part in parts if part.count] or list(parts[:1])
        if len(parts) == 1:
            return parts[0]
        columns = []
        for j in range(len(parts[0].values)):
            values = joined_values([part.values[j] for part in parts], j)
            columns.append(
                _added(
                    values,
                    np.concatenate([part.counts[j] for part in parts]),
                    np.concatenate([part.weights[j] for part in parts]),
                )
            )
        return cls._of(sum(part.count for part in parts), columns)

    def subtract(self, part: ValueCounts) -> ValueCounts:
        """The counts of the rows that stay when those of `part` are taken away.

        Exact; values that no row holds any more are gone.
        """
        if part.count == 0:
            return self
        columns = []
        for j, mine in enumerate(zip(self.values, self.counts, self.weights, strict=True)):
            values, counts, weights = mine[0], mine[1].copy(), mine[2].copy()
            places = locate(part.values[j], values)
            if (places < 0).any() or (part.counts[j] > counts[places]).any():
                raise ValueError(
                    f"cannot take away values of column {j} that are not there: only rows that "
                    "are part of a statistic can be subtracted from it"
                )
            counts[places] -= part.counts[j]
            weights[places] -= part.weights[j]
            stay = counts > 0
            if (weights[stay] <= 0).any():
                raise ValueError(
                    f"cannot take away more weight than values of column {j} have: only rows that "
                    "are part of a statistic, with their weights, can be subtracted from it"
                )
            columns.append(_Counted(values[stay], counts[stay], weights[stay]))
        if part.count == self.count:
            return ValueCounts.zero(len(columns))
        return self._of(self.count - part.count, columns)

    @property
    def precision(self) -> Precision:
        """The counts are exact; sums of weights are those of float64."""
        return "float64"

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays take, with 60 for a text."""
        each = (24 + 60 * (values.dtype == object) for values in self.values)
        return sum(n * len(values) for n, values in zip(each, self.values, strict=True))


def refuse_infinity(counts: ValueCounts) -> None:
    """Raise FloatingPointError if a number is infinite."""
    for values in counts.values:
        plain = values
        if values.dtype == object:
            plain = np.array([value for value in values if isinstance(value, float)])
        if plain.dtype.kind == "f" and np.isinf(plain).any():
            raise FloatingPointError("infinity or a value too large")


class _Counted(NamedTuple):
    """One column of the statistic."""

    values: NDArray[Any]
    counts: NDArray[np.int64]
    weights: Array


def _added(values: NDArray[Any], counts: NDArray[Any], weights: Array) -> _Counted:
    """Counts and weights of each distinct value, added up."""
    found, codes = distinct(values)
    # Whole numbers below 2^53 add up exactly in float64.
    total = np.bincount(codes, counts, minlength=len(found))
    weight = total if weights is counts else np.bincount(codes, weights, minlength=len(found))
    return _Counted(found, total.astype(np.int64), weight.astype(np.float64))


def joined_values(parts: Sequence[NDArray[Any]], column: int) -> NDArray[Any]:
    """The values of several statistics in one array."""
    try:
        return together(parts)
    except TypeError:
        raise ValueError(
            f"column {column} holds text in some rows and numbers in others; it must hold one"
        ) from None
    except OverflowError:
        raise ValueError(
            f"column {column} holds integers that float64 cannot tell apart (2^53 and more) in "
            "some rows, and fractions, missing cells or integers of another sign in others: pass "
            "it as text"
        ) from None


def _count_sparse(X: Any, weight: Array | None) -> list[_Counted]:
    """The columns of a CSR array: what is stored, and zeros where nothing is."""
    n_rows = X.shape[0]
    weights = np.ones(n_rows) if weight is None else weight
    total = float(weights.sum())
    by_column = X.tocsc()
    columns = []
    for j in range(X.shape[1]):
        stored = slice(by_column.indptr[j], by_column.indptr[j + 1])
        rows = by_column.indices[stored]
        zeros = n_rows - len(rows)
        rest = total - float(weights[rows].sum())
        more = int(zeros > 0)
        columns.append(
            _added(
                np.append(by_column.data[stored], np.zeros(more, X.dtype)),
                np.append(np.ones(len(rows), np.int64), np.full(more, zeros)),
                np.append(weights[rows], np.full(more, rest)),
            )
        )
    return columns
