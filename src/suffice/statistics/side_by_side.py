"""Statistics by class of the same rows, each of other columns: side by side, as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.numerics.double_double import DoubleDouble
from suffice.statistics.base import Precision


@dataclass(frozen=True, eq=False)
class SideBySide:
    """Several statistics of the rows of classes, mergeable and subtractable together.

    Attributes
    ----------
    parts : tuple of statistics
        At least one; all with the same labels, and rows and weight of each class.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.statistics.moments.by_class import ClassMoments
    >>> from suffice.statistics.counts.values_by_class import ClassValueCounts
    >>> X, y = np.array([[1.5, 3], [2.5, 3], [7.0, 4]]), np.array(["b", "b", "a"])
    >>> both = SideBySide(
    ...     (ClassMoments.summarize(X[:, :1], y), ClassValueCounts.summarize(X[:, 1:], y))
    ... )
    >>> both.labels.tolist(), both.rows.tolist(), both.subtract(both).count
    (['a', 'b'], [1, 2], 0)
    """

    parts: tuple[Any, ...]

    def _check_loaded(self) -> None:
        """Raise ValueError unless what a file holds could be statistics of the same classes."""
        if not self.parts or not all(hasattr(part, "placed") for part in self.parts):
            raise ValueError("its parts are no statistics of classes")
        if any(part.labels.tolist() != self.labels.tolist() for part in self.parts):
            raise ValueError("its parts are of different classes")

    @classmethod
    def zero(cls, *parts: Any) -> SideBySide:
        """Those of no rows, from the zeros of the parts."""
        return cls(parts)

    @classmethod
    def merge(cls, parts: Sequence[SideBySide]) -> SideBySide:
        """The statistics of all rows of the parts together."""
        each = zip(*(part.parts for part in parts), strict=True)
        return cls(tuple(type(same[0]).merge(same) for same in each))

    def subtract(self, part: SideBySide) -> SideBySide:
        """The statistics of the rows that stay when those of `part` are taken away."""
        each = zip(self.parts, part.parts, strict=True)
        return SideBySide(tuple(ours.subtract(theirs) for ours, theirs in each))

    def placed(self, labels: NDArray[Any]) -> SideBySide:
        """The same among more classes: `labels`, sorted, with all of ours."""
        return SideBySide(tuple(part.placed(labels) for part in self.parts))

    @property
    def labels(self) -> NDArray[Any]:
        """The labels, sorted."""
        labels: NDArray[Any] = self.parts[0].labels
        return labels

    @property
    def rows(self) -> NDArray[np.int64]:
        """Rows of each class."""
        rows: NDArray[np.int64] = self.parts[0].rows
        return rows

    @property
    def weight(self) -> DoubleDouble:
        """Weight of the rows of each class."""
        weight: DoubleDouble = self.parts[0].weight
        return weight

    @property
    def count(self) -> int:
        """Rows of all classes."""
        return int(self.rows.sum())

    @property
    def precision(self) -> Precision:
        """Double-double if some part is: others may have but one precision."""
        double = any(part.precision == "double-double" for part in self.parts)
        return "double-double" if double else "float64"

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays take."""
        return sum(int(part.nbytes) for part in self.parts)
