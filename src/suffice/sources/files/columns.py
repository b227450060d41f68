"""Arrow columns as NumPy arrays.

What an Arrow type means here is its *kind*:

    "bool", "int", "float"   numbers (decimals are floats)
    "null"                   nothing but missing values, read as NaN
    "date"                   dates and timestamps: in files, days since 1970-01-01
    "text"                   strings: labels of a target, or features to be encoded
    "other"                  times of day, nested and binary types: not accepted
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

NUMBERS = frozenset({"bool", "int", "float", "null"})
ACCEPTED = "numbers (integers, floats, decimals) and booleans"
ENCODE = "Encode text as numbers first (suffice.preprocessing.OneHotEncoder), or leave it out."
DATES = (
    "Convert dates to numbers (days or seconds since a day of your choice) or to text first, or "
    "leave them out."
)

ROWS_AT_ONCE = 4096

_EXACT = 1 << 53  # from here on, float64 no longer tells neighbouring integers apart


def kind_of(arrow_type: Any) -> str:
    """Kind of an Arrow data type; a dictionary has the kind of its values."""
    import pyarrow as pa
    from pyarrow import types

    if isinstance(arrow_type, pa.BaseExtensionType):
        return "bool" if str(arrow_type) == "extension<arrow.bool8>" else "other"
    if types.is_dictionary(arrow_type):
        return kind_of(arrow_type.value_type)
    if types.is_boolean(arrow_type):
        return "bool"
    if types.is_integer(arrow_type):
        return "int"
    if types.is_floating(arrow_type) or types.is_decimal(arrow_type):
        return "float"
    if types.is_null(arrow_type):
        return "null"
    if types.is_date(arrow_type) or types.is_timestamp(arrow_type):
        return "date"
    text = types.is_string(arrow_type) or types.is_large_string(arrow_type)
    return "text" if text or types.is_string_view(arrow_type) else "other"


@cache
def _plain_types() -> frozenset[int]:
    """Arrow types whose buffer NumPy can read in place."""
    from pyarrow import lib

    sizes = ("INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64")
    names = (*sizes, "HALF_FLOAT", "FLOAT", "DOUBLE")
    return frozenset(getattr(lib, f"Type_{name}") for name in names)


def numbers(array: Any) -> NDArray[Any]:
    """An Arrow array of numbers or dates as a 1-D NumPy array, missing values as NaN.

    A view where nothing is missing and the type is a plain integer or float,
    else a float64 copy.
    """
    if array.null_count == 0 and array.type.id in _plain_types():
        return array.to_numpy()
    import pyarrow as pa

    if kind_of(array.type) == "date":
        return _days(array)
    return array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)


def _days(array: Any) -> NDArray[np.float64]:
    """Dates and timestamps as days since 1970-01-01 (UTC where they have a time zone)."""
    import pyarrow as pa

    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if pa.types.is_date(array.type):
        array = array.cast(pa.date32()).cast(pa.int32())
        return array.cast(pa.float64()).to_numpy(zero_copy_only=False)
    per_day = 86_400 * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[array.type.unit]
    missing = array.is_null().to_numpy(zero_copy_only=False)
    ticks = array.cast(pa.int64()).fill_null(0).to_numpy()
    # Whole days apart: nanoseconds since 1970 are more than float64 holds.
    days = ticks // per_day + ticks % per_day / per_day
    days[missing] = np.nan
    return days


def refuse(column: object, dtype: object) -> ValueError:
    """The error for a column that holds no numbers."""
    is_date = any(word in str(dtype).lower() for word in ("date", "time", "duration"))
    return ValueError(
        f"Column {column!r} has type {dtype}, which is not numeric; accepted are {ACCEPTED}. "
        f"{DATES if is_date else ENCODE}"
    )


def write_columns(out: NDArray[np.float64], columns: Sequence[NDArray[Any]]) -> None:
    """Write columns of numbers side by side into a C-order array.

    Written one by one, every value goes to a cache line of its own.  Of a dozen columns and more,
    it is quicker to gather them first, and to turn some thousand rows over at once.
    """
    n_rows, n_columns = out.shape
    if not 12 <= n_columns <= n_rows:
        for j, column in enumerate(columns):
            out[:, j] = column
        return
    # A few cells more: a power of two apart, a row's values would share one place in the cache.
    gathered = np.empty((n_columns, min(n_rows, ROWS_AT_ONCE) + 8))
    for start in range(0, n_rows, ROWS_AT_ONCE):
        rows = out[start : start + ROWS_AT_ONCE]
        tile = gathered[:, : len(rows)]
        for j, column in enumerate(columns):
            tile[j] = column[start : start + ROWS_AT_ONCE]
        rows[...] = tile.T


def fill(out: NDArray[np.float64], column: Any) -> None:
    """Write an Arrow array or chunked array of numbers into `out`."""
    chunks = getattr(column, "chunks", None)
    row = 0
    for chunk in [column] if chunks is None else chunks:
        out[row : row + len(chunk)] = numbers(chunk)
        row += len(chunk)


def labels(array: Any, kind: str) -> NDArray[Any]:
    """A target column as a 1-D NumPy array of one kind.

    Parameters
    ----------
    array : pyarrow Array or ChunkedArray
    kind : str
        "bool" and "int" give bool and int64 (float64 with NaN where values are
        missing), "float" and "null" give float64, "text" gives an object array
        of str with None where values are missing.

    Notes
    -----
    Integers that arrive as floats, as they do from CSV files, become int64
    again if all of them are whole.
    """
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if kind == "text":
        return texts(array)
    if kind not in NUMBERS:
        raise ValueError(
            f"The target has type {array.type}; accepted are {ACCEPTED}, and text as labels."
        )
    if array.null_count or kind in {"float", "null"}:
        return numbers(array).astype(np.float64, copy=False)
    if kind == "bool":
        return array.cast(pa.bool_()).to_numpy(zero_copy_only=False)
    values = numbers(array)
    return _whole(values) if values.dtype.kind == "f" else _as_int64(values)


def texts(array: Any) -> NDArray[np.object_]:
    """Strings as Python objects, each distinct one made once; None where one is missing."""
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if isinstance(array, pa.ChunkedArray):  # too much text for one chunk
        return np.concatenate([texts(chunk) for chunk in array.chunks])
    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    distinct = np.array([*array.dictionary.to_pylist(), None], dtype=object)
    codes = numbers(array.indices.cast(pa.int64()).fill_null(len(distinct) - 1))
    return distinct[codes]


def _whole(values: NDArray[np.floating[Any]]) -> NDArray[Any]:
    if not np.all((np.abs(values) < _EXACT) & (values == np.trunc(values))):
        return values.astype(np.float64, copy=False)
    return values.astype(np.int64)


def _as_int64(values: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    if values.dtype == np.uint64 and len(values) and values.max() > np.iinfo(np.int64).max:
        raise ValueError("The target holds integers of 2^63 and more; accepted are 64-bit signed.")
    return values.astype(np.int64, copy=False)
