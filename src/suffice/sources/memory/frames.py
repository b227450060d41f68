"""Rows of a data frame (pandas, polars, pyarrow), converted block by block.

Each library has a small reader: the names of the columns, the number of rows,
and `read(start, stop)`, which puts those rows into a C-order float64 array with
NaN for what is missing, or into `Columns` where some hold text.  Only a pandas frame
that is one array inside is handed out as views of it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from suffice.sources.base import Block, Source
from suffice.sources.files.columns import NUMBERS, fill, kind_of, refuse, texts
from suffice.sources.memory.mixed import TEXT, Columns, kinds_of, rows_of
from suffice.sources.memory.pandas_frame import PandasReader
from suffice.sources.memory.target import RowRange, check_target, check_weight, cut, library


class FrameReader(Protocol):
    """How one library's frame is read."""

    names: tuple[str, ...] | None
    shape: tuple[int, int]
    kinds: tuple[str, ...] | None

    def read(self, start: int, stop: int) -> Any: ...

    def type_name(self, column: int) -> str: ...


class FrameSource(Source):
    """The rows of a data frame of numbers, booleans and text.

    Missing values (null, None, pandas.NA) become NaN, and None in text.  Categories are what
    their values are.  The frame is converted a block at a time, never as a whole.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame, pyarrow.Table or pyarrow.RecordBatch
        Nullable and Arrow-backed pandas columns are welcome.
    y : Series, array, ChunkedArray or data frame of `rows` rows, optional
    weight : Series, array or ChunkedArray of `rows` numbers, optional
        Row weights, finite and not negative.

    Raises
    ------
    ValueError
        If a column holds dates, is nested or mixed: the message names it.

    Examples
    --------
    >>> import pyarrow as pa
    >>> source = FrameSource(pa.table({"age": [31, None], "member": [True, False]}))
    >>> next(source.pieces()).load().X
    array([[31.,  1.],
           [nan,  0.]])
    """

    n_rows: int

    def __init__(self, frame: Any, y: Any = None, weight: Any = None) -> None:
        self._reader = reader_of(frame)
        self._library = library(frame)
        self.n_rows, self.n_columns = self._reader.shape
        self.feature_names = self._reader.names
        self.kinds = self._reader.kinds
        self.y, self.target_names = check_target(y, self.n_rows)
        self.weight = check_weight(weight, self.n_rows)
        self.has_target, self.has_weight = y is not None, weight is not None

    def pieces(self) -> Iterator[RowRange]:
        return cut(self)

    def rows(self, start: int, stop: int) -> Block:
        """Rows `start` to `stop`, converted."""
        y, weight = self.y, self.weight
        return Block(
            self._reader.read(start, stop),
            None if y is None else y[start:stop],
            None if weight is None else weight[start:stop],
            start,
        )

    def _type_name(self, column: int) -> str:
        return self._reader.type_name(column)

    def __repr__(self) -> str:
        return f"FrameSource({self.n_rows:,} rows x {self.n_columns:,} columns of {self._library})"


def is_frame(value: object) -> bool:
    """Whether `value` is a frame that `FrameSource` knows, told without any import."""
    known = {
        "pandas": {"DataFrame"},
        "polars": {"DataFrame", "LazyFrame"},
        "pyarrow": {"Table", "RecordBatch"},
    }
    ancestors = type(value).__mro__
    return any(cls.__name__ in known.get(cls.__module__.partition(".")[0], ()) for cls in ancestors)


def reader_of(frame: Any) -> FrameReader:
    """The reader for the library that `frame` comes from."""
    packages = {cls.__module__.partition(".")[0] for cls in type(frame).__mro__}
    if "pandas" in packages:
        return PandasReader(frame)
    if "polars" in packages:
        return PolarsReader(frame)
    if "pyarrow" in packages:
        return ArrowReader(frame)
    raise TypeError(
        f"{type(frame).__name__} is not a data frame that can be read; accepted are pandas and "
        "polars DataFrames and pyarrow Tables."
    )


class PolarsReader:
    """Rows of a polars frame, converted by polars itself."""

    def __init__(self, frame: Any) -> None:
        polars = sys.modules["polars"]
        if type(frame).__name__ == "LazyFrame":
            raise ValueError(
                "A polars LazyFrame has no rows yet: call .collect() on it, or write it to "
                "Parquet and use suffice.scan()."
            )
        text = (polars.String, polars.Categorical, polars.Enum)
        for name, dtype in frame.schema.items():
            if not (dtype.is_numeric() or dtype in (polars.Boolean, polars.Null, *text)):
                raise refuse(name, dtype)
        self.kinds = kinds_of(dtype in text for dtype in frame.dtypes)
        self.frame = frame
        self.names: tuple[str, ...] | None = tuple(frame.columns)
        self.shape: tuple[int, int] = frame.shape
        self.mixed = any(dtype != polars.Float64 for dtype in frame.dtypes)

    def read(self, start: int, stop: int) -> Any:
        polars, part = sys.modules["polars"], self.frame.slice(start, stop - start)
        if self.kinds is not None:
            columns = zip(self.kinds, part.get_columns(), strict=True)
            return Columns(
                [
                    texts(column.cast(polars.String).to_arrow())
                    if kind == TEXT
                    else column.cast(polars.Float64).to_numpy()
                    for kind, column in columns
                ]
            )
        if self.mixed:
            part = part.cast(polars.Float64)
        return np.ascontiguousarray(part.to_numpy(order="c"))

    def type_name(self, column: int) -> str:
        return str(self.frame.dtypes[column])


class ArrowReader:
    """Rows of a pyarrow table or record batch, read in place from its chunks."""

    def __init__(self, frame: Any) -> None:
        for field in frame.schema:
            if kind_of(field.type) not in {*NUMBERS, TEXT}:
                raise refuse(field.name, field.type)
        self.kinds = kinds_of(kind_of(field.type) == TEXT for field in frame.schema)
        self.frame = frame
        self.names: tuple[str, ...] | None = tuple(frame.schema.names)
        self.shape: tuple[int, int] = (frame.num_rows, frame.num_columns)

    def read(self, start: int, stop: int) -> Any:
        out = rows_of(self.kinds, stop - start, self.shape[1])
        for j, column in enumerate(self.frame.slice(start, stop - start).columns):
            if self.kinds is not None and self.kinds[j] == TEXT:
                out.column(j)[:] = texts(column)
            else:
                fill(out[:, j] if self.kinds is None else out.column(j), column)
        return out

    def type_name(self, column: int) -> str:
        return str(self.frame.schema.field(column).type)
