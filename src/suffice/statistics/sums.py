"""Plain sums over rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from suffice.numerics.double_double import Array


@dataclass(frozen=True, eq=False)
class Sums:
    """Named sums of per-row quantities: merge is addition.

    Attributes
    ----------
    values : tuple of float64 arrays
        What each means is its maker's business; shapes must agree when merging.

    Examples
    --------
    >>> import numpy as np
    >>> Sums.merge([Sums((np.array([1.0, 2.0]),)), Sums((np.array([3.0, 4.0]),))]).values
    (array([4., 6.]),)
    """

    values: tuple[Array, ...]

    @classmethod
    def zero(cls, *shapes: tuple[int, ...]) -> Sums:
        """Sums over no rows."""
        return cls(tuple(np.zeros(shape) for shape in shapes))

    @classmethod
    def merge(cls, parts: Sequence[Sums]) -> Sums:
        """The sums over all rows of the parts together."""
        columns = zip(*(part.values for part in parts), strict=True)
        return cls(tuple(np.sum(column, axis=0) for column in columns))

    def subtract(self, part: Sums) -> Sums:
        """The sums over the rows that stay when those of `part` are taken away."""
        return Sums(tuple(a - b for a, b in zip(self.values, part.values, strict=True)))

    @property
    def nbytes(self) -> int:
        """Bytes that the sums take."""
        return sum(value.nbytes for value in self.values)
