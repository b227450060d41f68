"""The rows themselves, with their weights: the statistic of a density made of windows around rows.

It grows with the rows; otherwise it is a statistic like others: disjoint parts are joined, and rows
can be taken away again, found by the equality of their values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.density.smooth import LEAF
from suffice.numerics.cached import cached_property
from suffice.numerics.spatial import Leaves, make_leaves
from suffice.sources.finite import within_range
from suffice.statistics.base import present
from suffice.statistics.moments.full import Precision

Floats = NDArray[np.float64]

SAME = Fraction(1, 2**50)
"""Relative difference up to which a weight counts as taken away, unless all are whole numbers."""

ABSENT = (
    "cannot take away a row that is not there, or more of its weight than there is: only rows that "
    "are part of a statistic can be subtracted from it"
)


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """Rows in the order in which they came.

    Attributes
    ----------
    X : float64 array of shape (rows, columns)
    weight : float64 array of shape (rows,)
        Positive: rows of weight 0 are left out.

    Examples
    --------
    >>> import numpy as np
    >>> rows = WeightedRows.summarize(np.array([[1.0], [2.0], [1.0]]))
    >>> rows.subtract(WeightedRows.summarize(np.array([[1.0]]))).X.tolist()
    [[1.0], [2.0]]
    """

    X: Floats
    weight: Floats

    _shapes = "X(rows, columns) weight(rows)"

    def _check_loaded(self) -> None:
        """Raise ValueError unless what a file holds could be rows with weights."""
        if not within_range(self.X) or not (self.weight > 0).all():
            raise ValueError("its rows are not finite, or their weights not positive")

    @classmethod
    def zero(cls, n_columns: int) -> WeightedRows:
        """No rows."""
        return cls(np.zeros((0, n_columns)), np.zeros(0))

    @classmethod
    def summarize(cls, X: Any, weight: Floats | None = None) -> WeightedRows:
        """A copy of a block's rows.

        Parameters
        ----------
        X : array of shape (rows, columns)
            Real numbers of any dtype.
        weight : float64 array of shape (rows,), optional
            Not negative.

        Raises
        ------
        FloatingPointError
            If a value is not finite, or too large.
        """
        weight, X = present(weight, X)
        rows = np.array(X, dtype=np.float64, order="C")
        if not within_range(rows):
            raise FloatingPointError("values out of range")
        return cls(rows, np.ones(len(rows)) if weight is None else np.array(weight))

    @classmethod
    def merge(cls, parts: Sequence[WeightedRows]) -> WeightedRows:
        """The rows of all parts, one after the other."""
        return cls(
            np.concatenate([part.X for part in parts]),
            np.concatenate([part.weight for part in parts]),
        )

    def subtract(self, part: WeightedRows) -> WeightedRows:
        """The rows that stay when those of `part` are taken away.

        A row is taken for one of the same values and weight, the last of them; and where there is
        none, from the weights of those with the same values.
        """
        values = _codes(np.concatenate([self.X, part.X]))
        weights = _codes(np.concatenate([self.weight, part.weight])[:, None])
        pairs = _codes(np.column_stack([values, weights]).astype(np.float64))
        n = self.count
        kept = ~_last_of_each(pairs[:n], np.bincount(pairs[n:]))
        left = self.weight.copy()
        # What found no row of its own weight: the first of `part` are those that did.
        for k in np.flatnonzero(~_first_of_each(pairs[n:], np.bincount(pairs[:n]))):
            _take(left, np.flatnonzero(kept & (values[:n] == values[n + k])), part.weight[k])
        kept &= left > 0
        return WeightedRows(self.X[kept], left[kept])

    @property
    def count(self) -> int:
        return len(self.weight)

    @property
    def precision(self) -> Precision:
        """Rows are what they are: nothing is rounded."""
        return "float64"

    @property
    def nbytes(self) -> int:
        """Bytes that the rows take."""
        return self.X.nbytes + self.weight.nbytes

    @cached_property
    def leaves(self) -> Leaves:
        """The rows in spatial order."""
        return make_leaves(self.X, LEAF)

    def __reduce__(self) -> tuple[object, ...]:
        return WeightedRows, (self.X, self.weight)  # without what can be computed again


def _codes(table: Floats) -> NDArray[np.int64]:
    """A number for each row: equal rows have the same."""
    if not len(table):
        return np.zeros(0, np.int64)
    table = np.ascontiguousarray(table + 0.0)  # −0 is 0
    keys = table.view(np.dtype((np.void, table.dtype.itemsize * table.shape[1]))).ravel()
    return np.unique(keys, return_inverse=True)[1].reshape(-1)


def _first_of_each(codes: NDArray[np.int64], most: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether an entry is among the first `most[code]` of its code."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    rank = np.arange(len(codes)) - np.searchsorted(ordered, ordered)
    most = np.append(most, np.zeros(int(codes.max(initial=0)) + 1, np.int64))
    out = np.empty(len(codes), bool)
    out[order] = rank < most[ordered]
    return out


def _last_of_each(codes: NDArray[np.int64], most: NDArray[np.int64]) -> NDArray[np.bool_]:
    return _first_of_each(codes[::-1], most)[::-1]


def _take(weight: Floats, places: NDArray[np.int64], amount: float) -> None:
    """Lower the weights at some places by an amount, from the last on."""
    owed = Fraction(amount)
    # Whole numbers are taken exactly; 0.3 less 0.1 and 0.2 is nothing but for rounding.
    same = SAME if (np.append(weight[places], amount) % 1).any() else 0
    small = same * owed
    for i in places[::-1]:
        there = Fraction(weight[i])
        taken = min(there, owed)
        owed -= taken
        weight[i] = 0.0 if there - taken <= same * there else float(there - taken)
        if owed <= small:
            return
    raise ValueError(ABSENT)
