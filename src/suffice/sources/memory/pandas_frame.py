"""Rows of a pandas frame: views where it is one array inside, else column by column."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.sources.files.columns import NUMBERS, fill, kind_of, refuse
from suffice.sources.memory.mixed import TEXT, kinds_of, rows_of

# What pandas calls columns of Python objects that are all numbers or missing.
NUMBER_OBJECTS = ("integer", "floating", "mixed-integer-float", "boolean", "decimal", "empty")

Filler = Callable[[NDArray[np.float64], int, int], None]


class PandasReader:
    """Rows of a pandas frame; see `suffice.sources.memory.frames`."""

    def __init__(self, frame: Any) -> None:
        self.shape: tuple[int, int] = frame.shape
        self.names: tuple[str, ...] | None = None
        if all(isinstance(name, str) for name in frame.columns):
            self.names = tuple(frame.columns)
        self.types = tuple(
            column_type(name, frame.iloc[:, j]) for j, name in enumerate(frame.columns)
        )
        self.kinds = kinds_of(text for text, _ in self.types)
        self.whole: NDArray[Any] | None = None
        self.columns: list[Filler] = []
        if is_one_array(frame):
            self.whole = frame.to_numpy()
        else:
            self.columns = [
                column_filler(frame.iloc[:, j], text) for j, (text, _) in enumerate(self.types)
            ]

    def read(self, start: int, stop: int) -> Any:
        if self.whole is not None:
            return self.whole[start:stop]
        out = rows_of(self.kinds, stop - start, self.shape[1])
        for j, put in enumerate(self.columns):
            put(out[:, j] if self.kinds is None else out.column(j), start, stop)
        return out

    def type_name(self, column: int) -> str:
        return self.types[column][1]


def column_type(name: object, series: Any) -> tuple[bool, str]:
    """Whether a column holds text, and what a message should call its type.

    Raises
    ------
    ValueError
        If it holds neither text nor numbers nor booleans.
    """
    dtype = series.dtype
    shown = str(dtype)
    if dtype == object:
        inferred = sys.modules["pandas"].api.types.infer_dtype(series, skipna=True)
        shown = f"object ({inferred})"
        text, number = inferred == "string", inferred in NUMBER_OBJECTS
    elif hasattr(dtype, "pyarrow_dtype"):
        kind = kind_of(dtype.pyarrow_dtype)
        text, number = kind == TEXT, kind in NUMBERS
    elif hasattr(dtype, "categories"):
        try:
            return column_type(name, dtype.categories.to_series())[0], shown
        except ValueError:
            text = number = False
    else:
        text = isinstance(dtype, sys.modules["pandas"].StringDtype)
        number = getattr(dtype, "kind", "O") in "biuf"
    if not (text or number):
        raise refuse(name, shown)
    return text, shown


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


class TextFiller:
    """Rows of a text column of any pandas type; missing values as None."""

    def __init__(self, series: Any) -> None:
        self.series = series

    def __call__(self, out: NDArray[Any], start: int, stop: int) -> None:
        part = self.series.iloc[start:stop]
        values = part.to_numpy(dtype=object)
        out[:] = np.where(part.isna().to_numpy(), None, values)


class CategoryFiller:
    """Rows of a categorical column: the value of each code."""

    def __init__(self, series: Any, text: bool) -> None:
        categories = series.dtype.categories.to_numpy(dtype=object if text else np.float64)
        blank: Any = None if text else np.nan
        self.values = np.append(categories, blank)
        self.codes = series.cat.codes.to_numpy()

    def __call__(self, out: NDArray[Any], start: int, stop: int) -> None:
        out[:] = self.values[self.codes[start:stop]]  # a missing value has the code −1


def column_filler(series: Any, text: bool) -> Filler:
    """How the rows of one pandas column are read fastest."""
    if hasattr(series.dtype, "categories"):
        return CategoryFiller(series, text)
    if text:
        return TextFiller(series)
    if isinstance(series.dtype, np.dtype) and series.dtype != object:
        return ViewFiller(series.to_numpy())
    if hasattr(series.dtype, "pyarrow_dtype"):
        import pyarrow as pa

        return ChunkFiller(pa.array(series))
    return SeriesFiller(series)
