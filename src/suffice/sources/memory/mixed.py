"""Rows of numbers and text side by side, column by column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.sources.files.columns import write_columns

NUMBER, TEXT = "number", "text"


def kinds_of(is_text: Iterable[bool]) -> tuple[str, ...] | None:
    """The kinds of columns, or None where all hold numbers."""
    kinds = tuple(TEXT if text else NUMBER for text in is_text)
    return kinds if TEXT in kinds else None


def rows_of(kinds: Sequence[str] | None, n_rows: int, n_columns: int) -> Any:
    """Room for rows: a C-order float64 array, or `Columns` where some of `kinds` are text."""
    if kinds is None:
        return np.empty((n_rows, n_columns))
    return Columns([np.empty(n_rows, object if kind == TEXT else np.float64) for kind in kinds])


class Columns:
    """The features of a block some of whose columns hold text.

    Parameters
    ----------
    columns : sequence of 1-D arrays of one length
        Numbers, as a rule float64 with NaN where a value is missing; text as objects, each
        a str, or None where a value is missing.

    Examples
    --------
    >>> import numpy as np
    >>> rows = Columns([np.array([1.5, np.nan]), np.array(["Ulm", None], dtype=object)])
    >>> rows.shape, rows.kinds
    ((2, 2), ('number', 'text'))
    >>> rows[1:].column(1)
    array([None], dtype=object)
    >>> rows.take([0])
    array([[1.5],
           [nan]])
    """

    __slots__ = ("columns", "shape")

    def __init__(self, columns: Sequence[NDArray[Any]]) -> None:
        self.columns = tuple(columns)
        lengths = {len(column) for column in self.columns}
        if len(lengths) != 1 or any(column.ndim != 1 for column in self.columns):
            raise ValueError(
                "Columns needs at least one array, all of one dimension and of the same length."
            )
        self.shape = (lengths.pop(), len(self.columns))

    @property
    def kinds(self) -> tuple[str, ...]:
        """What each column holds: "number" or "text"."""
        return tuple(TEXT if column.dtype == object else NUMBER for column in self.columns)

    def column(self, j: int) -> NDArray[Any]:
        """One column."""
        return self.columns[j]

    def take(self, indices: Sequence[int]) -> Any:
        """Some columns: a C-order float64 array if all hold numbers, else `Columns`."""
        taken = [self.columns[j] for j in indices]
        if any(column.dtype == object for column in taken):
            return Columns(taken)
        numbers = np.empty((self.shape[0], len(taken)))
        write_columns(numbers, taken)
        return numbers

    def __getitem__(self, rows: Any) -> Columns:
        """Some rows."""
        return Columns([column[rows] for column in self.columns])

    def __len__(self) -> int:
        return self.shape[0]

    @classmethod
    def concatenate(cls, parts: Sequence[Columns]) -> Columns:
        """The rows of all parts, one after the other."""
        together = zip(*(part.columns for part in parts), strict=True)
        return cls([np.concatenate(column) for column in together])

    def to_objects(self) -> NDArray[np.object_]:
        """The rows as one 2-D array of objects."""
        out = np.empty(self.shape, dtype=object)
        for j, column in enumerate(self.columns):
            out[:, j] = column
        return out

    def __repr__(self) -> str:
        return f"Columns({self.shape[0]:,} rows: {', '.join(self.kinds)})"
