"""What models that tell anomalies from ordinary rows share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from suffice.fitting.inputs import in_dtype_of

Floats = NDArray[np.float64]


class OutlierDetector(OutlierMixin):
    """A kind of model: it scores rows, and flags those whose score is below `offset_`.

    Attributes
    ----------
    offset_ : float
    """

    _apply: Callable[..., NDArray[Any]]
    offset_: float

    def _row_scores(self, rows: Any) -> Floats:
        """The lower, the more of an anomaly is a row; a model provides it."""
        raise TypeError(f"{type(self).__name__} has no scores")

    def _flagged(self, scores: Floats) -> NDArray[np.int64]:
        """−1 for anomalies, 1 for ordinary rows."""
        return np.where(scores < self.offset_, -1, 1)

    def score_samples(self, X: Any) -> Floats:
        """How ordinary each row is.

        Parameters
        ----------
        X : array, data frame or Source, of shape (rows, columns)

        Returns
        -------
        array of shape (rows,)
            The lower, the more of an anomaly.
        """
        check_is_fitted(self)
        return self._apply(X, self._row_scores)

    def decision_function(self, X: Any) -> Floats:
        """The scores less `offset_`.

        Parameters
        ----------
        X : array, data frame or Source, of shape (rows, columns)

        Returns
        -------
        array of shape (rows,)
            Negative for anomalies; in float32 where the rows are.
        """
        scores = self.score_samples(X)
        # Of two infinite ones the difference is unknown, and the row not below.
        with np.errstate(invalid="ignore", over="ignore"):
            return in_dtype_of(X, np.where(scores == self.offset_, 0.0, scores - self.offset_))

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Which rows are anomalies.

        Parameters
        ----------
        X : array, data frame or Source, of shape (rows, columns)

        Returns
        -------
        int array of shape (rows,)
            −1 for anomalies, 1 for ordinary rows.
        """
        return self._flagged(self.score_samples(X))
