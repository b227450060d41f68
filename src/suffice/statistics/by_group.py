"""One statistic for each group of rows: each fold of a cross-validation, for one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Grouped:
    """Statistics by group; a group without rows is not there.

    Attributes
    ----------
    parts : mapping of int to statistic
        In the order of the groups' numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.statistics.sums import Sums
    >>> rows, group = np.array([1.0, 2.0, 4.0]), np.array([0, 1, 0])
    >>> sums = Grouped.summarize(group, lambda chosen: Sums((rows[chosen].sum(keepdims=True),)))
    >>> {number: part.values[0].tolist() for number, part in sums.parts.items()}
    {0: [5.0], 1: [2.0]}
    """

    parts: Mapping[int, Any]

    def __post_init__(self) -> None:
        ordered = {number: self.parts[number] for number in sorted(self.parts)}
        object.__setattr__(self, "parts", MappingProxyType(ordered))

    @classmethod
    def zero(cls) -> Grouped:
        """No rows, hence no group."""
        return cls({})

    @classmethod
    def summarize(cls, group: NDArray[np.integer[Any]], summarize: Callable[[Any], Any]) -> Grouped:
        """The statistic of each group among some rows.

        Parameters
        ----------
        group : integer array of shape (rows,)
            The group of each row; a negative number is none.
        summarize : function of a slice or of row numbers
            Makes the statistic of these rows.  Rows that lie together come as a slice.
        """
        if not len(group):
            return cls.zero()
        if group[0] == group[-1] and (group == group[0]).all():
            return cls({int(group[0]): summarize(slice(0, len(group)))} if group[0] >= 0 else {})
        order = np.argsort(group, kind="stable")
        numbers, starts = np.unique(group[order], return_index=True)
        parts = {}
        for number, rows in zip(numbers, np.split(order, starts[1:]), strict=True):
            if number >= 0:
                together = rows[-1] - rows[0] == len(rows) - 1
                parts[int(number)] = summarize(slice(rows[0], rows[-1] + 1) if together else rows)
        return cls(parts)

    @classmethod
    def merge(cls, groupings: Sequence[Grouped]) -> Grouped:
        """The groups of all rows together."""
        found: dict[int, list[Any]] = {}
        for grouping in groupings:
            for number, part in grouping.parts.items():
                found.setdefault(number, []).append(part)
        return cls({number: merged(parts) for number, parts in found.items()})

    @property
    def nbytes(self) -> int:
        """Bytes that the statistics take."""
        return sum(int(part.nbytes) for part in self.parts.values())

    def __reduce__(self) -> tuple[object, ...]:
        return Grouped, (dict(self.parts),)


def merged(parts: Sequence[Any]) -> Any:
    """One statistic of at least one part."""
    return parts[0] if len(parts) == 1 else type(parts[0]).merge(parts)


def all_but_each(parts: Sequence[Any]) -> list[Any]:
    """For each of some statistics, the others merged: by prefixes and suffixes.

    Nothing is subtracted, so nothing cancels.  None is the statistic of no rows.
    """
    n = len(parts)
    before, after = [None], [None]
    for i in range(n - 1):
        before.append(_both(before[-1], parts[i]))
        after.append(_both(parts[n - 1 - i], after[-1]))
    return [_both(before[i], after[n - 1 - i]) for i in range(n)]


def _both(a: Any, b: Any) -> Any:
    return b if a is None else a if b is None else merged([a, b])
