"""How many cells of each column are missing, and a statistic of those that are not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from suffice.statistics.base import Precision
from suffice.statistics.counts.values import ValueCounts
from suffice.statistics.moments.columns import ColumnMoments


@dataclass(frozen=True, eq=False)
class Observed:
    """Missing cells of each column, beside a statistic of the others.

    Attributes
    ----------
    count : int
        Rows, those of weight 0 left out.
    missing : int64 array of shape (columns,)
        Rows in which each column has no value.
    values : ColumnMoments, ValueCounts or None
        What is known about the values that are there.

    Examples
    --------
    >>> import numpy as np
    >>> observed = Observed(2, np.array([1, 0]), None)
    >>> Observed.merge([observed, observed]).missing
    array([2, 0])
    """

    count: int
    missing: NDArray[np.int64]
    values: ColumnMoments | ValueCounts | None

    @classmethod
    def zero(cls, n_columns: int, values: ColumnMoments | ValueCounts | None = None) -> Observed:
        """No rows; `values` is a zero of its own kind."""
        return cls(0, np.zeros(n_columns, np.int64), values)

    @classmethod
    def merge(cls, parts: Sequence[Observed]) -> Observed:
        """What all rows of the parts together hold."""
        known = [part.values for part in parts if part.values is not None]
        if len({type(values) for values in known}) > 1:
            raise ValueError(
                "statistics of different kinds do not merge: of all rows, the same must be kept"
            )
        return cls(
            sum(part.count for part in parts),
            np.sum([part.missing for part in parts], axis=0),
            type(known[0]).merge(known) if known else None,  # type: ignore[arg-type]
        )

    def subtract(self, part: Observed) -> Observed:
        """What the rows hold that stay when those of `part` are taken away."""
        missing = self.missing - part.missing
        if part.count > self.count or (missing < 0).any():
            raise ValueError(
                "cannot take away more rows or missing cells than there are: only rows that are "
                "part of a statistic can be subtracted from it"
            )
        values = self.values
        if values is not None and part.values is not None:
            values = values.subtract(part.values)  # type: ignore[arg-type]
        return Observed(self.count - part.count, missing, values)

    @property
    def precision(self) -> Precision:
        """In which arithmetic the values are kept."""
        return "float64" if self.values is None else self.values.precision

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays take."""
        return self.missing.nbytes + (0 if self.values is None else self.values.nbytes)
