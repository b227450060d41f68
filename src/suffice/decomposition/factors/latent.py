"""What a model of latent factors does with rows: factor scores and densities.

With loadings Λ (factors × columns), factor correlations Φ and noise Ψ,

    x ~ N(μ, Σ),  Σ = Λᵀ Φ Λ + Ψ,      E[z | x] = (Φ⁻¹ + Λ Ψ⁻¹ Λᵀ)⁻¹ Λ Ψ⁻¹ (x − μ).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils._set_output import _wrap_data_with_container
from sklearn.utils.validation import check_is_fitted

from suffice.decomposition.projection import TOGETHER, project
from suffice.fitting.density import log_likelihood
from suffice.fitting.one_pass import OnePass
from suffice.fitting.transforming import SourceTransformer
from suffice.numerics.double_double import Array
from suffice.sources import MappedSource, Source


class LatentFactors(ClassNamePrefixFeaturesOutMixin, SourceTransformer, OnePass):
    """A normal distribution whose covariance is that of a few factors and of noise."""

    components_: Array
    noise_variance_: Array
    factor_correlation_: Array
    mean_: Array

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def transform(self, X: Any) -> Any:
        """Factor scores: the mean of the factors of each row, given the row.

        Parameters
        ----------
        X : array, data frame or Source, of shape (rows, columns)

        Returns
        -------
        array of shape (rows, components)
            Of a source, a source of these rows, computed when they are read.
        """
        check_is_fitted(self)
        scaled = self.components_ / self.noise_variance_
        inverse = np.linalg.inv(self.factor_correlation_) + scaled @ self.components_.T
        weights = np.asarray(np.linalg.solve(inverse, scaled), dtype=np.float64)
        scores = partial(project, mean=self.mean_, loadings=weights)
        if not isinstance(X, Source):
            return _wrap_data_with_container("transform", self._apply_in_dtype(X, scores), X, self)
        self._check_names(X)
        labels = [str(name) for name in self.get_feature_names_out()]
        names = self._names_of_source(labels)
        return MappedSource(X, scores, self._n_features_out, names, labels=labels)

    def get_covariance(self) -> NDArray[np.float64]:
        """Covariance of the columns in the model, Λᵀ Φ Λ + Ψ.

        Returns
        -------
        array of shape (columns, columns)
        """
        check_is_fitted(self)
        loadings = self.components_
        return loadings.T @ self.factor_correlation_ @ loadings + np.diag(self.noise_variance_)

    def get_precision(self) -> NDArray[np.float64]:
        """The inverse of the covariance.

        Returns
        -------
        array of shape (columns, columns)
        """
        covariance = self.get_covariance()
        root = np.sqrt(np.diagonal(covariance))  # of columns of variance 1 it is easier to invert
        inverse = np.linalg.inv(covariance / root[:, None] / root)
        return (inverse + inverse.T) / 2 / root[:, None] / root

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Logarithm of each row's density in the model.

        Parameters
        ----------
        X : array, data frame or Source, of shape (rows, columns)

        Returns
        -------
        array of shape (rows,)
        """
        return self._apply(X, self._log_density())

    def score(self, X: Any, y: Any = None) -> float:
        """Mean of the rows' log-densities; of a source, weighted as it says.

        Parameters
        ----------
        X : array, data frame or Source, of shape (rows, columns)
        y : ignored

        Returns
        -------
        float
        """
        total, weight = log_likelihood(self, X, self._log_density())
        return total / weight

    def _log_density(self) -> partial[Array]:
        root = np.asarray(np.linalg.cholesky(self.get_covariance()), dtype=np.float64)
        constant = len(root) * np.log(2 * np.pi) + 2 * np.log(np.diagonal(root)).sum()
        return partial(_density, mean=self.mean_, root=root, constant=float(constant))


def _density(rows: Any, mean: Array, root: Array, constant: float) -> Array:
    result = np.empty(rows.shape[0])
    for start in range(0, rows.shape[0], TOGETHER):
        part = slice(start, start + TOGETHER)
        whitened = solve_triangular(root, (rows[part] - mean).T, lower=True, check_finite=False)
        result[part] = -(np.square(whitened).sum(axis=0) + constant) / 2
    return result
