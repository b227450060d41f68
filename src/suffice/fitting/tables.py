"""Rows of categories in memory, arrays and frames, without a loss.

A column keeps its own type, so that large integers stay apart; `suffice.fitting.categories`
says what a form is.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from suffice.fitting.categories import is_missing, is_nan, whole_numbers
from suffice.sources import Columns
from suffice.sources.files.columns import DATES, kind_of, numbers, texts
from suffice.sources.memory.frames import is_frame
from suffice.sources.memory.pandas_frame import column_type
from suffice.sources.memory.target import library
from suffice.statistics.counts.distinct import EXACT_INTEGERS, objects

ACCEPTED = "numbers, booleans and text"


class Column(NamedTuple):
    """Values of a column, and its form."""

    values: NDArray[Any]
    form: str


class Table(NamedTuple):
    """Rows in memory, and the form of each column."""

    rows: Any
    forms: tuple[str, ...]


def table_of(X: Any) -> Table:
    """An array of any dtype, or a frame, as rows whose categories can be counted.

    Raises
    ------
    TypeError
        If a column mixes text and numbers, or holds neither.
    ValueError
        If it holds integers that would be mistaken for each other.
    """
    if is_frame(X):
        read = {"pandas": _pandas, "polars": _polars}.get(library(X), _arrow)
        return _stacked(read(X))
    if X.dtype.kind in "biuf" or issparse(X):
        return Table(X, (X.dtype.name,) * X.shape[1])
    if X.dtype.kind == "U":
        return Table(Columns([column.astype(object) for column in X.T]), ("str",) * X.shape[1])
    if X.dtype.kind != "O":
        raise refused("X", X.dtype)
    return _stacked([object_column(column, f"column {j}") for j, column in enumerate(X.T)])


def refused(where: str, dtype: object) -> TypeError:
    """The error for a column that holds neither numbers nor text."""
    return TypeError(f"{where} has type {dtype}; accepted are {ACCEPTED}. {DATES}")


def _stacked(columns: Sequence[Column]) -> Table:
    """One array where that loses nothing, else `Columns`."""
    values = [column.values for column in columns]
    forms = tuple(column.form for column in columns)
    types = {v.dtype for v in values}
    if np.dtype(object) in types or (len(types) > 1 and any(map(has_large, values))):
        return Table(Columns(values), forms)
    return Table(np.column_stack(values), forms)


def has_large(values: NDArray[Any]) -> bool:
    """Whether there are integers, or floats, of 2⁵³ and more."""
    if values.dtype.kind not in "iuf" or not len(values):
        return False
    low, high = np.fmin.reduce(values), np.fmax.reduce(values)
    return bool(low <= -EXACT_INTEGERS or high >= EXACT_INTEGERS)


def with_gaps(present: NDArray[Any], missing: NDArray[np.bool_], where: str) -> Column:
    """Numbers between missing cells, as float64."""
    if present.dtype.kind in "iu" and has_large(present):
        raise ValueError(
            f"{where} holds integers of 2^53 and more beside missing cells, and float64 cannot "
            "tell them apart: fill the missing cells, or pass the column as text"
        )
    values = np.full(len(missing), np.nan)
    values[~missing] = present
    return Column(values, "float64")


def _whole_column(present: NDArray[Any], missing: NDArray[np.bool_], where: str) -> Column:
    """Integers, or floats where some cells are missing."""
    if missing.any():
        return with_gaps(present, missing, where)
    return Column(present, present.dtype.name)


def object_column(values: NDArray[np.object_], where: str) -> Column:
    """A column of Python's objects: text or numbers, None and NaN as they are."""
    items = values.tolist()
    try:
        seen = list(dict.fromkeys(items))
    except TypeError:  # not even hashable
        seen = items
    kinds = {type(value) for value in seen if not is_missing(value)}
    if len({issubclass(kind, str) for kind in kinds}) > 1:
        raise TypeError(
            f"{where} holds values of the types "
            f"{', '.join(sorted(kind.__qualname__ for kind in kinds))}: a column must hold "
            "uniformly strings or numbers; convert it to text"
        )
    plain = all(issubclass(kind, (str, int, float, np.number, np.bool_)) for kind in kinds)
    if plain and all(v is None or is_nan(v) or not is_missing(v) for v in seen):
        return Column(values, "object")
    # pandas.NA is None, and decimals and fractions are floats.
    return Column(objects([_item(value, plain, where) for value in items]), "object")


def _item(value: Any, plain: bool, where: str) -> Any:
    if is_missing(value):
        return np.nan if is_nan(value) else None
    if plain:
        return value
    try:
        return float(value)
    except (TypeError, ValueError) as error:  # of bytes and of other things that are no number
        raise TypeError(
            f"{where} holds {type(value).__name__}; accepted are {ACCEPTED}: {error}"
        ) from None


# --- frames --------------------------------------------------------------------------------


def _pandas(X: Any) -> list[Column]:
    return [_series(X.iloc[:, j], f"column {name!r}") for j, name in enumerate(X.columns)]


def _series(series: Any, where: str) -> Column:
    dtype = series.dtype
    try:
        is_text, _ = column_type("", series)
    except ValueError:
        if dtype != object:
            raise refused(where, dtype) from None
    if dtype == object:
        return object_column(series.to_numpy(), where)
    missing = series.isna().to_numpy()
    if hasattr(dtype, "categories"):
        values, form = _series(dtype.categories.to_series(), where)
        codes = series.cat.codes.to_numpy()
        if form != "object" and not is_text and missing.any():
            return with_gaps(values[codes[~missing]], missing, where)
        if not missing.any():
            return Column(values[codes], form)
        blank = np.nan if form == "object" else None
        return Column(objects([*values.tolist(), blank])[codes], form)
    if is_text:
        values = series.to_numpy(dtype=object, copy=True)
        values[missing] = None
        return Column(values, "text:nan")
    if isinstance(dtype, np.dtype):
        return Column(series.to_numpy(), dtype.name)
    # Nullable and Arrow columns are float64 to scikit-learn too, where that loses nothing.
    if dtype.kind in "iu":
        present = series[~missing].to_numpy(dtype=np.uint64 if dtype.kind == "u" else np.int64)
        if not missing.any() and has_large(present):
            return Column(present, present.dtype.name)
        return with_gaps(present, missing, where)
    return Column(series.to_numpy(dtype=np.float64, na_value=np.nan), "float64")


def _polars(X: Any) -> list[Column]:
    return [_polars_column(series, f"column {series.name!r}") for series in X.get_columns()]


def _polars_column(series: Any, where: str) -> Column:
    polars, dtype = sys.modules["polars"], series.dtype
    if dtype in (polars.String, polars.Categorical, polars.Enum):
        return Column(texts(series.cast(polars.String).to_arrow()), "text")
    if dtype == polars.Null:
        return Column(np.full(len(series), None), "text")
    if not (dtype.is_numeric() or dtype == polars.Boolean):
        raise refused(where, dtype)
    missing = series.is_null().to_numpy()
    if dtype.is_integer():
        present = series.drop_nulls()
        wide = "128" in str(dtype)
        values = whole_numbers(present.to_list()) if wide else present.to_numpy()
        return _whole_column(values, missing, where)
    if dtype == polars.Boolean and not missing.any():
        return Column(series.to_numpy(), "bool")
    values = series.to_numpy() if dtype.is_float() else series.cast(polars.Float64).to_numpy()
    return Column(values, values.dtype.name)


def _arrow(X: Any) -> list[Column]:
    columns = zip(X.schema, X.columns, strict=True)
    return [_arrow_column(column, f"column {field.name!r}") for field, column in columns]


def _arrow_column(column: Any, where: str) -> Column:
    import pyarrow as pa

    kind = kind_of(column.type)
    if kind == "text":
        return Column(texts(column), "text")
    if kind == "null":
        return Column(np.full(len(column), None), "text")
    if kind not in ("bool", "int", "float"):
        raise refused(where, column.type)
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    missing = array.is_null().to_numpy(zero_copy_only=False)
    if kind == "int":
        return _whole_column(array.drop_null().to_numpy(), missing, where)
    if kind == "bool" and not missing.any():
        return Column(array.cast(pa.bool_()).to_numpy(zero_copy_only=False), "bool")
    values = numbers(array)
    return Column(values, values.dtype.name)
