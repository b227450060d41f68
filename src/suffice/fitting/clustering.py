"""What models that put rows into groups share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from suffice.sources import Source


class Clusterer(ClusterMixin):
    """A kind of model: it tells to which group a row belongs."""

    _apply: Callable[..., NDArray[Any]]
    fit: Callable[..., Any]
    labels_: NDArray[np.int32]

    _assigned: Callable[[Any], NDArray[np.int32]]
    """The number of the group of each of some rows; a model provides it."""

    def predict(self, X: Any) -> NDArray[np.int32]:
        """The number of the group of each row.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source, of shape (rows, columns)

        Returns
        -------
        int32 array of shape (rows,)
        """
        check_is_fitted(self)
        return self._apply(X, self._assigned)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> NDArray[np.int32]:
        """Fit, and tell the group of each row of the fit.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.

        Returns
        -------
        int32 array of shape (rows,)
        """
        self.fit(X, y, sample_weight)
        return self.predict(X) if isinstance(X, Source) else self.labels_
