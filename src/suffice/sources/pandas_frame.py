"""Rows of a pandas frame: views where it is one array inside, else column by column."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.sources.columns import NUMBERS, fill, kind_of, refuse

# What pandas calls columns of Python objects that are all numbers or missing.
NUMBER_OBJECTS = ("integer", "floating", "mixed-integer-float", "boolean", "decimal", "empty")

Filler = Callable[[NDArray[np.float64], int, int], None]


class PandasReader:
    """Rows of a pandas frame; see `suffice.sources.frames`."""

    def __init__(self, frame: Any) -> None:
        self.shape: tuple[int, int] = frame.shape
        self.names: tuple[str, ...] | None = None
        if all(isinstance(name, str) for name in frame.columns):
            self.names = tuple(frame.columns)
        for j, (name, dtype) in enumerate(zip(frame.columns, frame.dtypes, strict=True)):
            check_column(name, dtype, frame.iloc[:, j] if dtype == object else None)
        self.whole: NDArray[Any] | None = None
        self.columns: list[Filler] = []
        if is_one_array(frame):
            self.whole = frame.to_numpy()
        else:
            self.columns = [column_filler(frame.iloc[:, j]) for j in range(frame.shape[1])]

    def read(self, start: int, stop: int) -> NDArray[Any]:
        if self.whole is not None:
            return self.whole[start:stop]
        out = np.empty((stop - start, self.shape[1]))
        for j, put in enumerate(self.columns):
            put(out[:, j], start, stop)
        return out


def check_column(name: object, dtype: Any, objects: Any) -> None:
    """Raise unless a column holds numbers or booleans; `objects` if it holds Python objects."""
    if objects is not None:
        inferred = sys.modules["pandas"].api.types.infer_dtype(objects, skipna=True)
        if inferred not in NUMBER_OBJECTS:
            raise refuse(name, f"object ({inferred})")
    elif hasattr(dtype, "pyarrow_dtype"):
        if kind_of(dtype.pyarrow_dtype) not in NUMBERS:
            raise refuse(name, dtype)
    elif getattr(dtype, "kind", "O") not in "biuf":
        raise refuse(name, dtype)


def is_one_array(frame: Any) -> bool:
    """Whether a pandas frame is one 2-D array inside, so that views of it are free.

    Its first row then shares memory with its columns; the probe costs one row
    where it does not.
    """
    if frame.shape[0] == 0 or len(set(frame.dtypes)) != 1:
        return False
    if not isinstance(frame.dtypes.iloc[0], np.dtype) or frame.dtypes.iloc[0] == object:
        return False
    first_row = frame.iloc[:1].to_numpy()
    ends = (frame.iloc[:1, 0].to_numpy(), frame.iloc[:1, -1].to_numpy())
    return all(np.may_share_memory(first_row, column) for column in ends)


class ViewFiller:
    """Copies rows of a NumPy column."""

    def __init__(self, values: NDArray[Any]) -> None:
        self.values = values

    def __call__(self, out: NDArray[np.float64], start: int, stop: int) -> None:
        out[:] = self.values[start:stop]


class ChunkFiller:
    """Copies rows of an Arrow column, in place from its chunks."""

    def __init__(self, column: Any) -> None:
        self.column = column

    def __call__(self, out: NDArray[np.float64], start: int, stop: int) -> None:
        fill(out, self.column.slice(start, stop - start))


class SeriesFiller:
    """Lets pandas convert rows of one of its own column types (nullable, sparse, object)."""

    def __init__(self, series: Any) -> None:
        self.series = series

    def __call__(self, out: NDArray[np.float64], start: int, stop: int) -> None:
        out[:] = self.series.iloc[start:stop].to_numpy(dtype=np.float64, na_value=np.nan)


def column_filler(series: Any) -> Filler:
    """How the rows of one pandas column are read fastest."""
    if isinstance(series.dtype, np.dtype) and series.dtype != object:
        return ViewFiller(series.to_numpy())
    if hasattr(series.dtype, "pyarrow_dtype"):
        import pyarrow as pa

        return ChunkFiller(pa.array(series))
    return SeriesFiller(series)
