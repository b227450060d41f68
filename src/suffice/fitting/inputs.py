"""From what users pass to rows: sources to learn from, and tables to answer for.

Arrays, frames and sparse matrices are checked as scikit-learn checks them; sources bring their
own target and weights.  Frames and sources stay where they are, and are read block by block.
"""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import (
    _check_sample_weight,
    _check_y,
    check_array,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from suffice.engines.passes import map_rows
from suffice.sources import Block, Source, as_source
from suffice.sources.finite import describe_non_finite, within_range
from suffice.sources.frames import is_frame
from suffice.sources.memory import library, plain_array


class TakesRows(BaseEstimator):
    """What can be given rows, in all forms in which users have them.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only where the columns have names.
    """

    _takes_text: ClassVar[bool] = False
    """Whether feature columns may hold text."""

    # --- to learn from --------------------------------------------------------------------

    def _training_source(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> Source:
        """The rows to learn from; with `reset=False`, rows of an earlier fit's columns."""
        if isinstance(X, Source):
            if y is not None or sample_weight is not None:
                raise ValueError(
                    "a source brings its own target and weights: name them in scan(target=…, "
                    "weight=…), and pass neither y nor sample_weight"
                )
            if not X.has_target and self.__sklearn_tags__().target_tags.required:
                raise ValueError(
                    f"{type(self).__name__} needs a target: name it in scan(…, target=…)"
                )
            self._take_names(X, reset)
            return X
        refuse_strangers(X)
        weight = self._checked_weight(sample_weight, X)
        y = without_absent(y, weight)
        if is_frame(X):
            return self._frame_source(X, y, weight, reset)
        if reset and self._is_plain(X, y):
            self.__dict__.pop("feature_names_in_", None)
            self.n_features_in_ = X.shape[1]
            return as_source(X, y, weight)
        checks = {
            "accept_sparse": self._accepts_sparse(),
            "dtype": "numeric",
            "ensure_all_finite": False,
            "reset": reset,
        }
        if y is None and not self.__sklearn_tags__().target_tags.required:
            X = validate_data(self, X, **checks)
        else:
            X, y = validate_data(self, X, y, **checks, **self._target_checks())
        return as_source(X, y, weight)

    def _is_plain(self, X: Any, y: Any) -> bool:
        """Whether `validate_data` would find nothing to say: arrays of finite numbers."""
        return (
            type(X) is np.ndarray
            and type(y) is np.ndarray
            and X.dtype.kind in "fiub"
            and y.dtype.kind in "fiub"
            and X.ndim == 2
            and y.ndim in (1, 2)
            and len(X) == len(y)
            and min(X.size, y.size) > 0
            and bool(np.isfinite(y).all())
            and self._target_checks().get("y_numeric", False)
        )

    def _frame_source(self, X: Any, y: Any, weight: Any, reset: bool) -> Source:
        """A data frame stays where it is: only its names and the target are checked here."""
        source = as_source(X, self._checked_target(X, y), weight)
        self._take_names(source, reset)
        return source

    def _checked_target(self, X: Any, y: Any) -> Any:
        """The target of rows that `validate_data` does not see."""
        if y is not None:
            y = _check_y(y, estimator=self, **self._target_checks())
            check_consistent_length(X, y)
        elif self.__sklearn_tags__().target_tags.required:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        return y

    def _accepts_sparse(self) -> str | bool:
        return "csr" if self.__sklearn_tags__().input_tags.sparse else False

    def _target_checks(self) -> dict[str, Any]:
        """Arguments of scikit-learn's `validate_data` that concern the target."""
        return {"y_numeric": True, "multi_output": True}

    def _checked_weight(self, sample_weight: Any, X: Any) -> NDArray[np.float64] | None:
        if sample_weight is None:
            return None
        return np.asarray(
            _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        )

    def _take_names(self, source: Source, reset: bool = True) -> None:
        """Learn the columns' names and number, or compare them with those of the fit."""
        if not reset:
            self._check_names(source)
            return
        if not self._takes_text:
            source.refuse_text()
        self.__dict__.pop("feature_names_in_", None)
        self.n_features_in_ = source.n_columns
        if source.feature_names is not None:
            self.feature_names_in_ = np.asarray(source.feature_names, dtype=object)

    def _check_names(self, source: Source) -> None:
        """Whether a source to predict from has the columns of the fit."""
        if not self._takes_text:
            source.refuse_text()
        name = type(self).__name__
        expected = getattr(self, "feature_names_in_", None)
        found = source.feature_names
        if expected is not None and found is not None and tuple(expected) != tuple(found):
            missing = [str(column) for column in expected if column not in found]
            extra = [str(column) for column in found if column not in set(expected)]
            detail = (
                f"missing: {missing}, unexpected: {extra}"
                if missing or extra
                else "the same names in another order"
            )
            raise ValueError(
                f"The feature names should match those that were passed during fit: {detail}"
            )
        if source.n_columns != self.n_features_in_:
            raise ValueError(
                f"X has {source.n_columns} features, but {name} is expecting "
                f"{self.n_features_in_} features as input"
            )

    # --- to answer for --------------------------------------------------------------------

    def _apply(self, X: Any, function: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
        """Apply a row-wise function to arrays at once, to frames and sources block by block."""
        check_is_fitted(self)
        refuse_strangers(X)
        if not isinstance(X, Source) and not is_frame(X):
            return function(self._checked_queries(X))
        source = as_source(X)
        self._check_names(source)

        def apply(block: Block) -> NDArray[Any]:
            message = describe_non_finite(block, source, self._takes_missing())
            if message:
                raise ValueError(message)
            return function(block.X)

        return map_rows(source, apply, self._n_jobs())

    def _checked_queries(self, X: Any) -> Any:
        """Queries as an array, or a sparse one, of numbers within range."""
        checks = {"accept_sparse": self._accepts_sparse(), "dtype": "numeric"}
        X = validate_data(self, X, reset=False, ensure_all_finite=False, **checks)
        if not within_range(X):
            missing = self._takes_missing()
            finite = "allow-nan" if missing else True
            check_array(X, ensure_all_finite=finite, estimator=self, input_name="X", **checks)
            message = describe_non_finite(Block(X, None, None, 0), as_source(X), missing)
            if message:
                raise ValueError(message)
        return X

    def _check_scored(self, source: Source, y: Any, sample_weight: Any) -> None:
        """Raise unless the predictions of a source can be scored."""
        check_is_fitted(self)
        if y is not None or sample_weight is not None:
            raise ValueError("a source brings its own target and weights: pass neither")
        if not source.has_target:
            raise ValueError("score needs a target: name it in scan(…, target=…)")
        self._check_names(source)

    def _takes_missing(self) -> bool:
        return bool(self.__sklearn_tags__().input_tags.allow_nan)

    def _n_jobs(self) -> int | None:
        return getattr(self, "n_jobs", None)


def refuse_strangers(X: Any) -> None:
    """Paths and collections of a cluster, which NumPy would misread or gather here."""
    if isinstance(X, (str, bytes, PathLike)) or library(X) == "dask":
        as_source(X)
    if library(X) == "polars" and type(X).__name__ == "LazyFrame":
        raise TypeError("X is a polars LazyFrame, a plan without rows: pass X.collect()")


def without_absent(y: Any, weight: NDArray[np.float64] | None) -> Any:
    """The target with a number in rows of weight 0: they do not exist, whatever they hold."""
    if y is None or weight is None or weight.all():
        return y
    values = plain_array(y)[0]
    absent = weight == 0
    kind = values.dtype.kind
    if len(values) != len(weight) or kind not in "fO" or (kind == "O" and absent.all()):
        return y
    if kind == "f" and np.isfinite(values[absent]).all():
        return y
    values = values.copy()
    values[absent] = values[~absent][0] if kind == "O" else 0.0
    return values
