"""Rows of numbers and text side by side, as the models of categories take them.

Arrays of numbers and sources go the way of all models, block by block.  Frames, text and
objects are read column by column, each in a type of its own, so that integers of any size
stay apart; Python's numbers among objects become arrays of theirs, and missing cells NaN or None.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted, validate_data

from suffice.fitting.categories import is_missing, whole_numbers
from suffice.fitting.inputs import refuse_strangers, without_absent
from suffice.fitting.rounded_integers import refuse_rounded, rounds_integers
from suffice.fitting.tables import has_large, table_of, with_gaps
from suffice.sources import Block, Columns, Source, as_source
from suffice.sources.memory.frames import is_frame


def is_table(X: Any) -> bool:
    """Whether each column of rows is read in a type of its own."""
    numeric = isinstance(X, np.ndarray) and X.dtype.kind in "biuf"
    return not (isinstance(X, Source) or issparse(X) or numeric)


def text_source(model: Any, X: Any, y: Any, sample_weight: Any, reset: bool) -> Source:
    """Rows of such columns for a model to learn from."""
    refuse_strangers(X)
    weight = model._checked_weight(sample_weight, X)
    y = without_absent(y, weight)
    rows = _table(model, X, reset)
    source = as_source(rows, model._checked_target(X, y), weight)
    if hasattr(model, "feature_names_in_"):
        source.feature_names = tuple(model.feature_names_in_)
    return source


def text_queries(model: Any, X: Any) -> Any:
    """Rows of such columns for a fitted model to answer for."""
    check_is_fitted(model)
    refuse_strangers(X)
    return _table(model, X, reset=False)


def _table(model: Any, X: Any, reset: bool) -> Any:
    """Rows in memory, each column in its own type."""
    if is_frame(X):
        if X.shape[1] == 0:
            raise ValueError("Found a frame with 0 feature(s), while a minimum of 1 is required")
        validate_data(model, X, reset=reset, skip_check_array=True)
        return _plain(table_of(X).rows)
    options = {"reset": reset, "ensure_all_finite": False, "accept_sparse": False}
    checked = validate_data(model, X, dtype=None, **options)
    if not hasattr(X, "dtype") and checked.dtype.kind == "U":  # a list of numbers and text
        checked = validate_data(model, X, dtype=object, **options)
    if checked.dtype.kind == "c":
        raise ValueError("Complex data not supported: X holds complex numbers")
    return _plain(table_of(checked).rows)


def unless_rounded(
    source: Source, columns: Sequence[int], function: Callable[[Any], Any]
) -> Callable[[Any], Any]:
    """A function of blocks, or of their rows, that raises if integers may be rounded to one.

    Parameters
    ----------
    source : Source
        Of the rows.
    columns : sequence of int
        Whose values must not be mistaken for each other.
    function : function of a block, or of rows
    """
    if not rounds_integers(source):
        return function
    labels = [source.column_label(j) for j in columns]

    def checked(block: Any) -> Any:
        rows = block.X if isinstance(block, Block) else block
        cells = rows.columns if isinstance(rows, Columns) else rows.T
        refuse_rounded([cells[j] for j in columns], labels)
        return function(block)

    return checked


def any_large(values: Any) -> bool:
    """Whether a number is of 2⁵³ and more."""
    return any(map(has_large, values))


def _plain(rows: Any) -> Any:
    """Objects that are numbers as numbers; text with None where it is missing."""
    if not isinstance(rows, Columns):
        return rows
    columns = [
        column if column.dtype != object else _plain_column(column, j)
        for j, column in enumerate(rows.columns)
    ]
    return Columns(columns)


def _plain_column(column: NDArray[np.object_], j: int) -> NDArray[Any]:
    missing = np.fromiter(map(is_missing, column), bool, len(column))
    present = column[~missing]
    if len(present) and isinstance(present[0], str):
        column = column.copy()
        column[missing] = None
        return column
    if not len(present):
        return np.full(len(column), np.nan)
    whole = all(isinstance(v, (int, np.integer, np.bool_)) for v in present)
    values = whole_numbers(present.tolist()) if whole else present.astype(np.float64)
    return values if not missing.any() else with_gaps(values, missing, f"column {j}").values
