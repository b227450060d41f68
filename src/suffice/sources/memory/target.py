"""What the sources of rows in memory share: how they are cut, and their target and weights."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from suffice.sources.base import Block, block_rows
from suffice.sources.files.columns import kind_of, labels


class RowsInMemory(Protocol):
    """A source that can reach any run of its rows at once."""

    n_columns: int
    n_rows: int

    def rows(self, start: int, stop: int) -> Block: ...


class RowRange:
    """The piece of a source in memory: rows `start` to `start + n_rows`."""

    __slots__ = ("source", "start", "n_rows")

    def __init__(self, source: RowsInMemory, start: int, n_rows: int) -> None:
        self.source = source
        self.start = start
        self.n_rows = n_rows

    def load(self) -> Block:
        return self.source.rows(self.start, self.start + self.n_rows)

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process gets these rows, not all."""
        return Loaded, (self.load(),)


class Loaded:
    """The piece of a block that is already there."""

    __slots__ = ("block", "start", "n_rows")

    def __init__(self, block: Block) -> None:
        self.block, self.start, self.n_rows = block, block.start, block.n_rows

    def load(self) -> Block:
        return self.block


def cut(source: RowsInMemory, step: int | None = None) -> Iterator[RowRange]:
    """The rows of `source` in pieces of `step` rows, by default those of dense blocks."""
    n_rows = source.n_rows
    step = step or block_rows(source.n_columns)
    for start in range(0, n_rows, step):
        yield RowRange(source, start, min(step, n_rows - start))


def library(value: object) -> str:
    """Top-level package of the class of `value`: "pandas", "polars", "pyarrow", ..."""
    return type(value).__module__.partition(".")[0]


def plain_array(values: Any) -> tuple[NDArray[Any], tuple[str, ...] | None]:
    """A target or weight as a NumPy array, and the names of its columns.

    Parameters
    ----------
    values : array-like, pandas or polars Series or DataFrame, or pyarrow Array,
        ChunkedArray, Table or RecordBatch

    Returns
    -------
    array : ndarray of shape (rows,) or (rows, columns)
        Numbers keep their kind (bool, integer, float); integers and booleans with
        missing values become float64 with NaN; text becomes an object array.
    names : tuple of str, or None
    """
    kind, package = type(values).__name__, library(values)
    if package not in {"pandas", "polars", "pyarrow"}:
        return np.asarray(values), None
    if kind in {"DataFrame", "Table", "RecordBatch"}:
        columns, names = _split_columns(values, package)
        if not columns:
            raise ValueError("The target has no column; give at least one.")
        stacked = np.stack([plain_array(column)[0] for column in columns], axis=1)
        return stacked, names
    if package == "pandas":
        return _pandas_values(values), _named(values)
    if package == "polars":
        return _polars_values(values), _named(values)
    return labels(values, kind_of(values.type)), None


def target_names(y: Any) -> tuple[str, ...] | None:
    """What a target's columns are called; None unless each has a text for a name."""
    package, names = library(y), [getattr(y, "name", None)]
    if package not in {"pandas", "polars", "pyarrow"}:
        return None
    if type(y).__name__ in {"DataFrame", "Table", "RecordBatch"}:
        names = list(y.schema.names if package == "pyarrow" else y.columns)
    return tuple(map(str, names)) if all(n and isinstance(n, str) for n in names) else None


def _split_columns(frame: Any, package: str) -> tuple[list[Any], tuple[str, ...]]:
    if package == "pandas":
        columns = [frame.iloc[:, j] for j in range(frame.shape[1])]
        return columns, tuple(str(name) for name in frame.columns)
    if package == "polars":
        return frame.get_columns(), tuple(frame.columns)
    return frame.columns, tuple(frame.schema.names)


def _named(series: Any) -> tuple[str, ...] | None:
    name = getattr(series, "name", None)
    return None if name is None or name == "" else (str(name),)


def _pandas_values(series: Any) -> NDArray[Any]:
    dtype: Any = getattr(series, "dtype", None)
    if isinstance(dtype, np.dtype) or getattr(dtype, "kind", "O") not in "biuf":
        return np.asarray(series)
    if series.isna().any():
        return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
    plain = {"b": np.bool_, "i": np.int64, "u": np.uint64, "f": np.float64}[dtype.kind]
    return np.asarray(series.to_numpy(dtype=plain))


def _polars_values(series: Any) -> NDArray[Any]:
    polars = sys.modules["polars"]
    missing_flags = series.dtype == polars.Boolean and series.null_count()
    if missing_flags or series.dtype == polars.Decimal or series.dtype == polars.Null:
        series = series.cast(polars.Float64)
    return np.asarray(series.to_numpy())


def check_target(y: Any, n_rows: int) -> tuple[NDArray[Any] | None, tuple[str, ...] | None]:
    """The target as an array of `n_rows` rows, and its names; None stays None."""
    if y is None:
        return None, None
    array, names = plain_array(y)
    if array.ndim not in (1, 2):
        raise ValueError(
            f"y has {array.ndim} dimensions; give one value a row, or one row of values a row."
        )
    _check_length("y", len(array), n_rows)
    return array, names


def check_weight(weight: ArrayLike | None, n_rows: int) -> NDArray[np.float64] | None:
    """Row weights as float64 of shape (n_rows,), none of them negative, NaN or infinite."""
    if weight is None:
        return None
    array = np.asarray(plain_array(weight)[0], dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"weight has {array.ndim} dimensions; give one number a row.")
    _check_length("weight", len(array), n_rows)
    row = first_bad_weight(array)
    if row is not None:
        raise ValueError(
            f"weight holds {array[row]} in row {row} (counted from 0); "
            "weights must be finite and not negative."
        )
    return array


def first_bad_weight(weight: NDArray[np.float64]) -> int | None:
    """Number of the first weight that is negative, NaN or infinite."""
    good = (weight >= 0) & (weight < np.inf)
    return None if good.all() else int(np.argmin(good))


def _check_length(name: str, length: int, n_rows: int) -> None:
    if length != n_rows:
        raise ValueError(
            f"X has {n_rows} rows, but {name} has {length}; they must have the same number."
        )
