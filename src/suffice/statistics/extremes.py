"""The smallest and the largest value of each column.

They merge and are exact, but rows cannot be subtracted: once the largest value is taken away,
the second largest is needed, which the statistic does not know.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.numerics.double_double import Array
from suffice.statistics.base import Precision


@dataclass(frozen=True, eq=False)
class Extremes:
    """Range of each column; NaN cells do not count.

    Attributes
    ----------
    count : int
        Rows, those of weight 0 left out.
    weight : float
        Their weights together.
    low, high : float64 arrays of shape (columns,)
        ∞ and −∞ where a column has no value.

    Examples
    --------
    >>> import numpy as np
    >>> extremes = Extremes.summarize(np.array([[1.0, np.nan], [-2.0, 4.0]]))
    >>> extremes.low, extremes.high
    (array([-2.,  4.]), array([1., 4.]))
    """

    count: int
    weight: float
    low: Array
    high: Array

    @classmethod
    def zero(cls, n_columns: int) -> Extremes:
        """The extremes of no rows."""
        return cls(0, 0.0, np.full(n_columns, np.inf), np.full(n_columns, -np.inf))

    @classmethod
    def summarize(cls, X: Any, weight: Array | None = None) -> Extremes:
        """The extremes of a block of rows.

        Parameters
        ----------
        X : array of shape (rows, columns)
            NaN where a cell is missing.
        weight : float64 array of shape (rows,), optional
            Rows of weight 0 do not exist; other weights change nothing.

        Raises
        ------
        FloatingPointError
            If a value is infinite.
        """
        total = float(X.shape[0]) if weight is None else float(weight.sum())
        if weight is not None and not weight.all():
            X = X[weight > 0]
        if not X.shape[0]:
            return cls.zero(X.shape[1])
        low = np.fmin.reduce(X, axis=0).astype(np.float64)
        high = np.fmax.reduce(X, axis=0).astype(np.float64)
        if np.isinf(low).any() or np.isinf(high).any():
            raise FloatingPointError("infinity or a value too large")
        empty = np.isnan(low)
        low[empty], high[empty] = np.inf, -np.inf
        return cls(X.shape[0], total, low, high)

    @classmethod
    def merge(cls, parts: Sequence[Extremes]) -> Extremes:
        """The extremes of all rows of the parts together."""
        return cls(
            sum(part.count for part in parts),
            float(sum(part.weight for part in parts)),
            np.min([part.low for part in parts], axis=0),
            np.max([part.high for part in parts], axis=0),
        )

    @property
    def precision(self) -> Precision:
        """The values are exact in float64."""
        return "float64"

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays take."""
        return self.low.nbytes + self.high.nbytes
