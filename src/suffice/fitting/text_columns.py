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
from suffice.fitting.estimator import Estimator
from suffice.fitting.inputs import refuse_strangers, without_absent
from suffice.fitting.rounded import refuse_rounded, rounds_integers
from suffice.fitting.tables import has_large, table_of, with_gaps
from suffice.sources import Block, Columns, Source, as_source
from suffice.sources.memory.frames import is_frame


class TakesText(Estimator):
    """A model some of whose columns may hold text."""

    _takes_text = True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def _training_source(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> Source:
        if isinstance(X, Source) or _is_numeric(X) or 0 in getattr(X, "shape", ()):
            return super()._training_source(X, y, sample_weight, reset)
        refuse_strangers(X)
        weight = self._checked_weight(sample_weight, X)
        y = without_absent(y, weight)
        rows = self._table(X, reset)
        source = as_source(rows, self._checked_target(X, y), weight)
        if hasattr(self, "feature_names_in_"):
            source.feature_names = tuple(self.feature_names_in_)
        return source

    def _apply(self, X: Any, function: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
        check_is_fitted(self)
        if isinstance(X, Source):
            return super()._apply(X, self._unless_rounded(X, function))
        if _is_numeric(X):
            return super()._apply(X, function)
        refuse_strangers(X)
        return function(self._table(X, reset=False))

    def _table(self, X: Any, reset: bool) -> Any:
        """Rows in memory, each column in its own type."""
        if is_frame(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return _plain(table_of(X).rows)
        options = {"reset": reset, "ensure_all_finite": False, "accept_sparse": False}
        checked = validate_data(self, X, dtype=None, **options)
        if not hasattr(X, "dtype") and checked.dtype.kind == "U":  # a list of numbers and text
            checked = validate_data(self, X, dtype=object, **options)
        if checked.dtype.kind == "c":
            raise ValueError("Complex data not supported: X holds complex numbers")
        return _plain(table_of(checked).rows)

    # --- integers of 2⁵³ and more -----------------------------------------------------------

    def _categorical(self) -> Sequence[int]:
        """The columns whose values must not be mistaken for each other."""
        return range(self.n_features_in_)

    def _large_values(self) -> bool:
        """Whether a category that was learned is a number of 2⁵³ and more."""
        return False

    def _pass(self, source: Source, summarize: Callable[[Block], Any]) -> Any:
        refuse = self._refuse_rounded(source)

        def checked(block: Block) -> Any:
            refuse(block.X)
            return summarize(block)

        return super()._pass(source, checked if rounds_integers(source) else summarize)

    def _refuse_rounded(self, source: Source) -> Callable[[Any], None]:
        """What raises if values of rows may be several integers rounded to one."""
        columns = self._categorical()
        labels = [source.column_label(j) for j in columns]

        def refuse(rows: Any) -> None:
            cells = rows.columns if isinstance(rows, Columns) else rows.T
            refuse_rounded([cells[j] for j in columns], labels)

        return refuse

    def _unless_rounded(
        self, source: Source, function: Callable[[Any], NDArray[Any]]
    ) -> Callable[[Any], NDArray[Any]]:
        if not (rounds_integers(source) and self._large_values()):
            return function
        refuse = self._refuse_rounded(source)

        def checked(rows: Any) -> NDArray[Any]:
            refuse(rows)
            return function(rows)

        return checked


def any_large(values: Any) -> bool:
    """Whether a number is of 2⁵³ and more."""
    return any(map(has_large, values))


def _is_numeric(X: Any) -> bool:
    return issparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind in "biuf")


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
