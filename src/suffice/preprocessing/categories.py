"""Columns of categories in memory: numbers or text, as the statistics know them.

Inside, text is an object array with None where a value is missing, and numbers are numbers with
NaN.  Which form a user's column had is a *form*, so that categories are shown as they came:

    "float64", "int32", "bool", …   numbers of this dtype
    "object:int", "object:float"    numbers in an array of objects
    "text", "text:nan"              objects, a missing one shown as None or as NaN
    "str"                           an array of fixed-width strings
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from suffice.sources import Columns
from suffice.sources.frames import FrameSource, is_frame
from suffice.sources.memory import library


class Table(NamedTuple):
    """Rows in memory, and the form of each column."""

    rows: Any
    forms: tuple[str, ...]


def table_of(X: Any) -> Table:
    """An array of any dtype, or a frame, as rows that statistics can be made of.

    Raises
    ------
    TypeError
        If a column mixes text and numbers, or holds neither.
    """
    if is_frame(X):
        return _frame(X)
    if X.dtype.kind in "biuf" or issparse(X):
        return Table(X, (X.dtype.name,) * X.shape[1])
    if X.dtype.kind == "U":
        return Table(Columns([column.astype(object) for column in X.T]), ("str",) * X.shape[1])
    if X.dtype.kind != "O":
        raise TypeError(f"X has dtype {X.dtype}; accepted are numbers, booleans and text")
    columns, forms = zip(*(_objects(column) for column in X.T), strict=True)
    if any(column.dtype == object for column in columns):
        return Table(Columns(columns), forms)
    return Table(np.column_stack(columns), forms)


def _frame(X: Any) -> Table:
    source = FrameSource(X)
    rows = source.rows(0, source.n_rows).X
    kinds = source.kinds or ("number",) * source.n_columns
    if library(X) != "pandas":
        return Table(rows, tuple("text" if k == "text" else "float64" for k in kinds))
    return Table(
        rows,
        tuple(_series_form(X.iloc[:, j], kind == "text") for j, kind in enumerate(kinds)),
    )


def _series_form(series: Any, text: bool) -> str:
    if not text:
        dtype = getattr(series.dtype, "categories", series).dtype
        whole = isinstance(dtype, np.dtype) and dtype.kind in "biu" and not series.isna().any()
        return dtype.name if whole else "float64"
    if series.dtype != object:
        return "text:nan"
    missing = series[series.isna()]
    return "text:nan" if any(isinstance(value, float) for value in missing) else "text"


def is_missing(value: object) -> bool:
    """Whether an object stands for no value: None, NaN, pandas.NA."""
    pandas = sys.modules.get("pandas")
    return (
        value is None
        or (isinstance(value, float) and value != value)
        or (pandas is not None and value is pandas.NA)
    )


def _objects(values: NDArray[np.object_]) -> tuple[NDArray[Any], str]:
    """A column of objects in its inner form, and its form."""
    missing = np.fromiter(map(is_missing, values), bool, len(values))
    present = values[~missing].tolist()
    kinds = {type(value) for value in present}
    if kinds and all(issubclass(kind, str) for kind in kinds):
        text = values.copy()
        text[missing] = None
        shown = any(isinstance(value, float) for value in values[missing])
        return text, "text:nan" if shown else "text"
    if any(issubclass(kind, str) for kind in kinds):
        raise TypeError(
            "Encoders require their input argument must be uniformly strings or numbers. Got "
            f"{sorted(kind.__qualname__ for kind in kinds)}"
        )
    numbers = np.full(len(values), np.nan)
    numbers[~missing] = [float(value) for value in present]
    whole = present and all(issubclass(kind, (int, np.integer)) for kind in kinds)
    return numbers, "object:int" if whole and not missing.any() else "object:float"


def shown(values: NDArray[Any], form: str) -> NDArray[Any]:
    """Categories in the form that the user's column had."""
    if values.dtype == object:
        if form == "str" and None not in values.tolist():
            return values.astype(str)
        if form == "text:nan" and len(values) and values[-1] is None:
            return np.array([*values[:-1].tolist(), np.nan], dtype=object)
        return values.copy()
    if form.startswith("object"):
        whole = form == "object:int"
        items = [int(v) if whole and v == v else float(v) for v in values]
        return np.array(items, dtype=object)
    if form in ("text", "text:nan", "str") or (np.isnan(values).any() and form != "float32"):
        return values.astype(np.float64)
    return values.astype(form)


def inner(categories: Any, is_text: bool) -> NDArray[Any]:
    """Categories that a user listed, in the form that the statistics know."""
    items = np.asarray(categories, dtype=object).tolist()
    if is_text:
        out = np.empty(len(items), dtype=object)
        out[:] = [None if is_missing(item) else item for item in items]
        return out
    return np.array([np.nan if is_missing(item) else item for item in items], dtype=np.float64)
