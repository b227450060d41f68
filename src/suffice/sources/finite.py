"""The range of numbers: the first value of a block that is outside of it, in words.

Values must be finite and at most `LARGEST` in absolute value: squares and sums of them are then
finite, and no algorithm needs a second way for numbers that nobody has.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from suffice.sources.base import Block, Source
from suffice.sources.memory.mixed import Columns

Place = tuple[int, int, float]  # row and column within the block, and the value there

LARGEST = np.float64(1e150)
"""The largest absolute value of a cell."""


def within_range(values: Any) -> bool:
    """Whether all numbers are finite and at most `LARGEST`, at the price of adding them up.

    Parameters
    ----------
    values : array or CSR array of numbers

    Returns
    -------
    bool
        False also where there are numbers that are not there, NaN.

    Examples
    --------
    >>> within_range(np.array([[1e150, -2.0]])), within_range(np.array([1.0, np.nan]))
    (True, False)
    """
    cells = values.data if issparse(values) else values
    if cells.dtype.kind != "f":
        return cells.dtype.kind != "O"
    with np.errstate(over="ignore"):
        if cells.dtype == np.float64 and cells.flags.forc:
            flat = cells.ravel(order="K")
            if np.dot(flat, flat) <= LARGEST**2:  # no square is larger than the sum of all
                return True
        low, high = np.float64(cells.min(initial=0)), np.float64(cells.max(initial=0))
    return bool(low >= -LARGEST and high <= LARGEST)


def describe_non_finite(block: Block, source: Source, missing: bool = False) -> str | None:
    """Say where a block holds NaN, infinity or a number beyond `LARGEST`, if it does.

    Rows are searched from first to last, and the features before the target.
    Rows of weight 0 do not count.

    Parameters
    ----------
    block : Block
    source : Source
        Where the block comes from; it names the columns.
    missing : bool, default=False
        Whether NaN in X is a missing cell, and no reason to complain.

    Returns
    -------
    message : str or None
        One line such as "Input X contains NaN: column 'age', row 900000 (counted
        from 0). ...", or None where every value is within range.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.sources import ArraySource
    >>> source = ArraySource(np.array([[1.0, 2.0], [3.0, np.inf]]), feature_names=["age", "pay"])
    >>> print(describe_non_finite(next(source.pieces()).load(), source))
    Input X contains infinity or a value too large: column 'pay', row 1 (counted from 0). \
Every value must be a finite number.
    """
    found = first_non_finite(block, missing)
    if found is None:
        return None
    name, (row, column, value) = found
    where = source.row_label(block.start + row)
    if name == "X":
        where = f"{source.column_label(column)}, {where}"
    elif block.y is not None and block.y.ndim == 2:
        names = source.target_names
        target = f"column {column}" if names is None else f"column {names[column]!r}"
        where = f"{target}, {where}"
    return _message(name, value, where)


def first_non_finite(block: Block, missing: bool = False) -> tuple[str, Place] | None:
    """Where a block holds what `describe_non_finite` describes: "X" or "y", and the place."""
    counted = None if block.weight is None else block.weight != 0
    place = None
    if not isinstance(block.X, Columns):  # text can be missing, and so can the numbers beside it
        find = _first_in_sparse if issparse(block.X) else _first
        place = find(block.X, counted, missing)
    if place is not None:
        return "X", place
    place = None if block.y is None else _first(block.y, counted)
    return None if place is None else ("y", place)


class NotFinite(FloatingPointError):
    """A block that cannot be summed; its arguments are the reason, its first row and its length."""

    def described(self, source: Source, missing: bool) -> str:
        """What is wrong, and where: the block is read again, for only here are names known."""
        reason, start, n_rows = self.args
        piece = next(piece for piece in source.pieces() if piece.start == start)
        return describe_non_finite(piece.load(), source, missing) or (
            f"Input contains {reason}: rows {start} to {start + n_rows - 1}; rescale the columns"
        )


def _message(name: str, value: float, where: str) -> str:
    if np.isfinite(value):
        rule = f"Values beyond {LARGEST:g} are not taken: rescale the columns."
        return f"Input {name} contains a value too large, {value:g}: {where}. {rule}"
    what = "NaN" if np.isnan(value) else "infinity or a value too large"
    advice = ""
    if np.isnan(value):
        impute = "Fill gaps first (suffice.preprocessing.SimpleImputer), or drop those rows."
        advice = f" {impute}" if name == "X" else " Drop rows whose target is not known."
    return f"Input {name} contains {what}: {where}. Every value must be a finite number.{advice}"


def _first(
    values: NDArray[Any], counted: NDArray[np.bool_] | None, missing: bool = False
) -> Place | None:
    """First value that is out of range, in row order."""
    if within_range(values) or values.dtype.kind not in "fO":
        return None
    bad = _out_of_range(_as_floats(values) if values.dtype.kind == "O" else values, missing)
    table = bad.reshape(len(values), -1)
    in_row = table.any(axis=1)
    if counted is not None:
        in_row &= counted
    if not in_row.any():
        return None
    row = int(np.argmax(in_row))
    column = int(np.argmax(table[row]))
    value = values[row] if values.ndim == 1 else values[row, column]
    return row, column, float(value) if isinstance(value, (float, np.floating)) else np.nan


def _out_of_range(values: NDArray[Any], missing: bool) -> NDArray[np.bool_]:
    """Where values are not finite or too large; `missing` ones are neither."""
    size = np.abs(values)
    return size > LARGEST if missing else ~(size <= LARGEST)


def _as_floats(values: NDArray[np.object_]) -> NDArray[np.float64]:
    """Labels of any kind: missing ones as NaN, floats as they are, all others as 0."""

    def number(value: object) -> float:
        if value is None or type(value).__name__ == "NAType":
            return np.nan
        return float(value) if isinstance(value, (float, np.floating)) else 0.0

    flat = np.fromiter((number(value) for value in values.ravel()), float, values.size)
    return flat.reshape(values.shape)


def _first_in_sparse(
    X: Any, counted: NDArray[np.bool_] | None, missing: bool = False
) -> Place | None:
    """The same for a CSR array: only its stored entries can be out of range."""
    if within_range(X):
        return None
    bad = _out_of_range(X.data, missing)
    if counted is not None and bad.any():
        bad &= np.repeat(counted, np.diff(X.indptr))
    if not bad.any():
        return None
    entry = int(np.argmax(bad))
    row = int(np.searchsorted(X.indptr, entry, side="right")) - 1
    return row, int(X.indices[entry]), float(X.data[entry])
