"""Statistics by class: labels, the rows and the weight of each, and whatever else is kept of them.

All classes are in one array, so that one call of a kernel sums them.  Labels are sorted and
distinct, and of one kind: booleans, integers, floats or text.  They may appear in any part:
merging unites them, and a class whose last row is taken away is gone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from suffice.numerics.double_double import DoubleDouble
from suffice.statistics.counts.labels import check_known, united
from suffice.statistics.moments.merging import added, placed, stacked

NO_CLASSES: Any = {
    "labels": np.zeros(0, np.int64),
    "rows": np.zeros(0, np.int64),
    "weight": DoubleDouble.zeros(0),
}
"""Of no rows."""


@dataclass(frozen=True, eq=False)
class ByLabel(ABC):
    """Rows and weight of each class, mergeable and subtractable; further fields tell more.

    Attributes
    ----------
    labels : array of shape (classes,)
        Sorted: bool, int64, float64, or object for text.
    rows : int64 array of shape (classes,)
        Rows of each class (those of weight 0 do not exist).
    weight : DoubleDouble of shape (classes,)
        Sum of the rows' weights.
    """

    labels: NDArray[Any]
    rows: NDArray[np.int64]
    weight: DoubleDouble

    _shapes: ClassVar[str] = "labels(classes) rows(classes) weight(classes)"

    _tables: ClassVar[tuple[str, ...]] = ()
    """Further fields with an entry for each class along the first axis."""

    # --- what a statistic provides --------------------------------------------------------

    @classmethod
    @abstractmethod
    def _merged(cls, parts: Sequence[Self], labels: NDArray[Any]) -> dict[str, Any]:
        """The further fields of some parts together, among all classes."""

    @abstractmethod
    def _left(self, part: Self, stay: NDArray[np.bool_]) -> dict[str, Any]:
        """The further fields without a part among the same classes, of those that stay."""

    # --- what follows ---------------------------------------------------------------------

    @classmethod
    def merge(cls, parts: Sequence[Self]) -> Self:
        """The statistic of all rows of the parts together, whatever classes each has."""
        parts = [part for part in parts if part.count] or list(parts[:1])
        if len(parts) == 1:
            return parts[0]
        labels = united([part.labels for part in parts])
        places = [np.searchsorted(labels, part.labels) for part in parts]
        each = zip(parts, places, strict=True)
        weights = [placed(part.weight, place, len(labels)) for part, place in each]
        with np.errstate(over="ignore", invalid="ignore"):
            return cls(
                labels=labels,
                rows=added([part.rows for part in parts], places, len(labels)),
                weight=stacked(weights).sum(),
                **cls._merged(parts, labels),
            )

    def subtract(self, part: Self) -> Self:
        """The statistic of the rows that stay when those of `part` are taken away.

        A class whose last row leaves is gone.
        """
        if part.count == 0:
            return self
        check_known(part.labels, self.labels)
        part = part.placed(self.labels)
        rows = self.rows - part.rows
        if (rows < 0).any():
            worst = int(np.argmin(rows))
            label = self.labels.tolist()[worst]
            raise ValueError(
                f"cannot take {part.rows[worst]} rows of class {label!r} away from "
                f"{self.rows[worst]}: only rows that are part of a statistic can be subtracted "
                "from it"
            )
        stay = rows > 0
        weight = (self.weight - part.weight)[stay]
        if not (weight.hi > 0).all():
            raise ValueError("cannot take away more weight than there is")
        left = self._left(part, stay)
        return type(self)(labels=self.labels[stay], rows=rows[stay], weight=weight, **left)

    def placed(self, labels: NDArray[Any]) -> Self:
        """The same among more classes: `labels`, sorted, with all of ours."""
        if len(labels) == len(self.labels):
            return self
        places, n = np.searchsorted(labels, self.labels), len(labels)
        names = ("rows", "weight", *self._tables)
        tables: Any = {name: placed(getattr(self, name), places, n) for name in names}
        return replace(self, labels=labels, **tables)

    @property
    def count(self) -> int:
        """Rows of all classes."""
        return int(self.rows.sum())
