"""What estimators share that choose one of many models and then are that model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from suffice.fitting.certificate import Certificate
from suffice.fitting.inputs import in_dtype_of, is_float32, take_names
from suffice.numerics.double_double import Array
from suffice.sources import Source, as_source
from suffice.sources.memory.frames import is_frame


class ChosenModel(RegressorMixin, BaseEstimator):
    """A linear regressor that was found by a search.

    Attributes
    ----------
    best_estimator_ : estimator
        The model that was chosen, fitted to all rows.
    coef_, intercept_, certificate_ : its own
    """

    best_estimator_: Any
    certificate_: Certificate
    coef_: Array
    intercept_: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _take_over(self, best: Any) -> None:
        """Be the model that was chosen."""
        self.coef_, self.intercept_ = best.coef_, best.intercept_
        self.certificate_, self.n_features_in_ = best.certificate_, best.n_features_in_
        take_names(self, best)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the target, by the model that was chosen.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source, of shape (rows, columns)

        Returns
        -------
        array of shape (rows,) or (rows, targets)
        """
        check_is_fitted(self)
        if isinstance(X, Source):
            return np.asarray(self.best_estimator_.predict(X))
        if is_frame(X):
            validate_data(self, X, reset=False, skip_check_array=True)
            return np.asarray(self.best_estimator_.predict(X))
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype="numeric")
        return in_dtype_of(X, np.asarray(X @ self.coef_.T + self.intercept_))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """R² of the model that was chosen.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source
        y : array of shape (rows,) or (rows, targets)
            None if `X` is a source.
        sample_weight : array of shape (rows,), optional
        """
        if isinstance(X, Source):
            check_is_fitted(self)
            return float(self.best_estimator_.score(X, y, sample_weight))
        rows = as_source(X) if is_float32(X) else X  # a source's predictions are in float64
        return float(super().score(rows, y, sample_weight))
