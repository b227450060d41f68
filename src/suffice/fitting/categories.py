"""Categories: as users know them, and as the statistics do.

Inside, numbers are numbers with NaN where a cell is missing, and all else are objects.  Which
form a user's column had is a *form*, so that categories are shown as they came:

    "float64", "int32", "bool", …   numbers of this dtype
    "object"                        Python's objects: text or numbers; None and NaN are two
    "str"                           an array of fixed-width strings
    "text", "text:nan"              a column of a type for text: what is missing is None inside,
                                    and shown as None or as NaN
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.sources import Columns
from suffice.statistics.counts.distinct import cast_exactly, objects


def is_missing(value: object) -> bool:
    """Whether an object stands for no value: None, NaN, pandas.NA."""
    pandas = sys.modules.get("pandas")
    return (
        value is None
        or (isinstance(value, float) and value != value)
        or (pandas is not None and value is pandas.NA)
    )


def is_nan(value: object) -> bool:
    """Whether an object is NaN."""
    return isinstance(value, float) and value != value


def shown(values: NDArray[Any], form: str) -> NDArray[Any]:
    """Categories in the form that the user's column had, where that holds them."""
    if values.dtype == object:
        if form == "str" and all(isinstance(value, str) for value in values):
            return values.astype(str)
        if form == "text:nan":
            return objects([np.nan if value is None else value for value in values])
        return values.copy()
    if form == "object" or form.startswith(("text", "str")):
        return values.copy()
    cast, same = cast_exactly(values, np.dtype(form))
    return cast.copy() if same.all() else values.copy()


def inner(categories: Any, form: str, as_objects: bool) -> NDArray[Any]:
    """Categories that a user listed for a column, as the statistics know them."""
    items = np.asarray(categories, dtype=object).tolist()
    if as_objects:
        none = form.startswith("text")
        return objects([None if is_missing(i) and (none or not is_nan(i)) else i for i in items])
    if items and all(isinstance(item, (int, np.integer)) for item in items):
        return whole_numbers(items)
    return np.array([np.nan if is_missing(item) else item for item in items], dtype=np.float64)


def whole_numbers(items: Sequence[Any]) -> NDArray[Any]:
    """Integers as int64, or as uint64 where some are too large for that."""
    try:
        try:
            return np.array(items, dtype=np.int64)
        except OverflowError:
            return np.array(items, dtype=np.uint64)
    except OverflowError:
        raise ValueError("integers must fit into 64 bits; pass larger ones as text") from None


def in_terms(column: NDArray[Any], form: str, known: NDArray[Any], own: str) -> NDArray[Any]:
    """A column of the form `form` with its missing cells marked as in a column of form `own`.

    Parameters
    ----------
    column : array
        Numbers or objects.
    form : str
    known : array
        Values of the other column.
    own : str
    """
    if column.dtype != object:
        # A column in which nothing is there fits to numbers and to text.
        if known.dtype != object or column.dtype.kind != "f" or not np.isnan(column).all():
            return column
        column, form = np.full(len(column), None), "text"
    if own == form == "object":
        return column
    blank: Any = None
    if known.dtype != object or (own == "object" and any(map(is_nan, known))):
        # Where both are known, the one that users see in such columns.
        both = known.dtype == object and any(value is None for value in known)
        blank = None if both and form == "text" else np.nan
    missing = np.fromiter(map(is_missing, column), bool, len(column))
    if not missing.any():
        return column
    out = column.copy()
    out[missing] = blank
    return out


def common_form(forms: Sequence[str]) -> str:
    """The form of a column that came in several."""
    return "object" if "object" in forms else forms[0]


def aligned(rows: Any, forms: Sequence[str], known: Sequence[Any], own: Sequence[str]) -> Any:
    """Rows with missing cells marked as in the rows of a fit; see `in_terms`."""
    if not isinstance(rows, Columns) and all(values.dtype != object for values in known):
        return rows
    columns = rows.columns if isinstance(rows, Columns) else rows.T
    each = zip(columns, forms, known, own, strict=True)
    return Columns([in_terms(*one) for one in each])
