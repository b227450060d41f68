"""Models over columns of any kind, whose cells become numbers before a tree sees them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from suffice.fitting.column_kinds import categorical_columns, with_named
from suffice.fitting.estimator import Estimator
from suffice.fitting.regression import as_columns
from suffice.fitting.text_columns import (
    any_large,
    is_table,
    text_queries,
    text_source,
    unless_rounded,
)
from suffice.sources import Block, Source, as_source
from suffice.trees.growing.overview import dense_parts, written_out
from suffice.trees.nodes.cells import cells_of


class CellsModel(Estimator):
    """Base of trees and forests: how rows come in.

    Attributes
    ----------
    categories_ : list
        For each column of categories, these in the order of their numbers; None for others.
    """

    categories_: list[NDArray[Any] | None]
    categorical: Sequence[Any] | None
    monotonic_cst: Any

    _takes_text = True
    _answers_check_range = True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = tags.input_tags.string = True
        return tags

    def _training_source(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> Source:
        if self.monotonic_cst is not None:
            raise ValueError(
                "monotonic_cst is not taken yet: grow without it, or use scikit-learn's trees"
            )
        if self._target_checks["y_numeric"] and getattr(y, "dtype", None) == object:
            as_columns(y)
        if is_table(X) and 0 not in getattr(X, "shape", ())[:1]:
            source = text_source(self, X, y, sample_weight, reset)
            self._take_target_names(source, y, reset)
        else:
            source = super()._training_source(X, y, sample_weight, reset)
        if not isinstance(X, Source):
            # For those who read the same rows again: numbers of a frame may be categories.
            source.categorical = categorical_columns(source, X)  # type: ignore[attr-defined]
        return source

    def _categorical(self, source: Source) -> NDArray[np.bool_]:
        """Whether each column holds categories."""
        names = getattr(self, "feature_names_in_", None)
        return np.array(with_named(categorical_columns(source), self.categorical, names), bool)

    def _label(self, j: int) -> Any:
        return self.feature_names_in_[j] if hasattr(self, "feature_names_in_") else j

    def _cells(self, rows: Any) -> Any:
        """Rows as trees take them."""
        rows = written_out(rows) if issparse(rows) else rows
        if isinstance(rows, np.ndarray) and all(one is None for one in self.categories_):
            return rows
        is_one = np.array([one is not None for one in self.categories_])
        known = [np.empty(0) if one is None else one for one in self.categories_]
        return cells_of(rows, known, is_one, False, getattr(self, "feature_names_in_", None))

    def _apply(self, X: Any, function: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
        if is_table(X):
            return function(text_queries(self, X))
        if issparse(X):
            X = as_source(self._checked_queries(X))
        if isinstance(X, Source):
            known = [one for one in getattr(self, "categories_", ()) if one is not None]
            if any_large(known):
                columns = [j for j, one in enumerate(self.categories_) if one is not None]
                function = unless_rounded(X, columns, function)
        return super()._apply(X, partial(in_parts, function))


def in_parts(function: Callable[[Any], NDArray[Any]], rows: Any) -> NDArray[Any]:
    """A function of rows; sparse ones are written out a part at a time."""
    if not issparse(rows):
        return function(rows)
    parts = dense_parts(Block(rows, None, None, 0))
    return np.concatenate([function(part.X) for part in parts])
