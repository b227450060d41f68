"""Cells of columns of any kind as numbers: categories by their places among those of the fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.fitting.categories import is_missing
from suffice.sources import Columns
from suffice.statistics.counts.distinct import distinct, locate
from suffice.trees.nodes.tree import Floats


def categories_of(rows: Any, categorical: NDArray[np.bool_]) -> list[NDArray[Any]]:
    """The distinct values of columns of categories, missing ones apart; none of other columns."""
    found = []
    for j, is_one in enumerate(categorical):
        values = distinct(_column(rows, j)).values if is_one else np.empty(0)
        found.append(values[~_are_missing(values)])
    return found


def cells_of(
    rows: Any,
    categories: Sequence[NDArray[Any]],
    categorical: NDArray[np.bool_],
    missing_is_a_value: bool,
    names: Sequence[str] | None,
) -> Floats:
    """Rows as a tree takes them: numbers, and for a category its place among those of the fit.

    Parameters
    ----------
    rows : array of shape (rows, columns), or Columns
    categories : list of arrays
        The values of each column of categories in the fit.
    categorical : boolean array of shape (columns,)
    missing_is_a_value : bool
        If so, a missing cell is the place after the last, and a category that the fit did not
        have is −1.  If not, both are NaN.
    names : sequence of str, optional
        Of the columns, for messages.

    Returns
    -------
    float64 array of shape (rows, columns)
    """
    cells = np.empty(rows.shape)
    for j, is_one in enumerate(categorical):
        column = _column(rows, j)
        if not is_one:
            if column.dtype == object:
                if not _are_missing(column).all():
                    label = j if names is None else names[j]
                    raise ValueError(f"column {label!r} holds text; in the fit it held numbers")
                column = np.full(len(column), np.nan)
            cells[:, j] = column
            continue
        is_text, was_text = column.dtype == object, categories[j].dtype == object
        if is_text != was_text and len(categories[j]) and not _are_missing(column).all():
            kinds = ("text", "numbers") if is_text else ("numbers", "text")
            label = j if names is None else names[j]
            raise ValueError(f"column {label!r} holds {kinds[0]}; in the fit it held {kinds[1]}")
        place = locate(column, categories[j]).astype(np.float64)
        if missing_is_a_value:
            place[_are_missing(column)] = len(categories[j])
        else:
            place[place < 0] = np.nan
        cells[:, j] = place
    return cells


def _column(rows: Any, j: int) -> NDArray[Any]:
    column: NDArray[Any] = rows.column(j) if isinstance(rows, Columns) else rows[:, j]
    return column


def _are_missing(column: NDArray[Any]) -> NDArray[np.bool_]:
    if column.dtype == object:
        return np.fromiter(map(is_missing, column), bool, len(column))
    return np.isnan(column) if column.dtype.kind == "f" else np.zeros(len(column), bool)
