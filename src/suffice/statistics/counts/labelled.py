"""Sums over the rows of each label.

Keyed by label, so that labels may appear late in a stream.  Memory grows with the labels, not
with the rows: labels × columns numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.numerics.double_double import Array
from suffice.statistics.counts.labels import coded
from suffice.statistics.moments.merging import added


@dataclass(frozen=True, eq=False)
class LabelledSums:
    """For each label the sum of its rows; mergeable.

    Attributes
    ----------
    labels : array of shape (labels,)
        Sorted, of one kind: bool, int64, float64, or object for text.
    sums : array of shape (labels, columns)

    Examples
    --------
    >>> import numpy as np
    >>> firms, rows = np.array(["b", "a", "b"]), np.array([[1.0], [2.0], [4.0]])
    >>> found = LabelledSums.summarize(firms, rows)
    >>> found.labels.tolist(), found.sums.ravel().tolist()
    (['a', 'b'], [2.0, 5.0])
    """

    labels: NDArray[Any]
    sums: Array

    @classmethod
    def zero(cls, n_columns: int) -> LabelledSums:
        """No rows, hence no label."""
        return cls(np.zeros(0, dtype=np.int64), np.zeros((0, n_columns)))

    @classmethod
    def summarize(cls, labels: NDArray[Any], rows: Array) -> LabelledSums:
        """The sums of some rows.

        Parameters
        ----------
        labels : array of shape (rows,)
            Booleans, integers, floats or text.
        rows : array of shape (rows, columns)
        """
        if not len(labels):
            return cls.zero(rows.shape[1])
        found, codes = coded(labels)
        order = np.argsort(codes, kind="stable")
        starts = np.searchsorted(codes[order], np.arange(len(found)))
        return cls(found, np.add.reduceat(rows[order], starts, axis=0))

    @classmethod
    def merge(cls, parts: Sequence[LabelledSums]) -> LabelledSums:
        """The sums over all rows of the parts together."""
        there = [part for part in parts if len(part.labels)]
        if not there:
            return cls.zero(parts[0].sums.shape[1])
        found, codes = coded(np.concatenate([part.labels for part in there]))
        places = np.split(codes, np.cumsum([len(part.labels) for part in there])[:-1])
        return cls(found, added([part.sums for part in there], places, len(found)))

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays take."""
        return int(self.labels.nbytes + self.sums.nbytes)
