"""What models of a density share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from suffice.engines.passes import reduce
from suffice.fitting.inputs import finite_rows
from suffice.sources import Block, Source
from suffice.statistics.sums import Sums

Floats = NDArray[np.float64]


class DensityModel(DensityMixin):
    """A kind of model: it tells how probable rows are."""

    _apply_in_dtype: Callable[..., NDArray[Any]]

    _log_densities: Callable[[Any], Floats]
    """The logarithm of the density at each of some rows; a model provides it."""

    def score_samples(self, X: Any) -> Floats:
        """Logarithm of the density at each row.

        Parameters
        ----------
        X : array, data frame or Source, of shape (rows, columns)

        Returns
        -------
        array of shape (rows,)
        """
        check_is_fitted(self)
        return self._apply_in_dtype(X, self._log_densities)

    def score(self, X: Any, y: Any = None) -> float:
        """The mean log-likelihood of rows.

        Parameters
        ----------
        X : array, data frame or Source
            The rows of a source count with their weights.
        y : None
            Ignored.
        """
        total, weight = log_likelihood(self, X, self._log_densities)
        return total / weight


def log_likelihood(model: Any, X: Any, density: Callable[[Any], Floats]) -> tuple[float, float]:
    """The log-likelihood of rows, and their weight; a source is read block by block.

    Parameters
    ----------
    model : Estimator
    X : array, data frame or Source
        The rows of a source count with their weights.
    density : function of rows
        Their log densities.
    """
    check_is_fitted(model)
    if not isinstance(X, Source):
        found = model._apply(X, density)
        return float(np.sum(found)), float(len(found))
    model._check_names(X)
    missing = model._takes_missing()

    def summarize(block: Block) -> Sums:
        found = density(finite_rows(block, X, missing).X)
        weight = np.ones(len(found)) if block.weight is None else block.weight
        there = weight > 0
        total = np.sum(found[there] * weight[there])
        return Sums((np.asarray(total), np.asarray(weight.sum())))

    total, weight = reduce(X, summarize, model._n_jobs()).values
    return float(total), float(weight)
