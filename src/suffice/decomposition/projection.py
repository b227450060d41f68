"""What principal components do with rows: coordinates, their inverse, and densities.

With V the components, m the mean and s the scale of the columns, a row x has the coordinates

    t = V ((x − m) / s),

divided by their standard deviations if the fit whitens.  Probabilistic PCA reads the components as
a normal distribution: the kept variances along them, the noise variance σ² in all other directions,

    log p(x) = −½ [Σ tₖ²/λₖ + ‖(x − m)/s − Vᵀ t‖²/σ²
                   + Σ log λₖ + (d − k) log σ² + d log 2π] − Σ log s.

Reference: Tipping and Bishop, "Probabilistic principal component analysis" (1999).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils._set_output import _wrap_data_with_container
from sklearn.utils.validation import check_array, check_is_fitted

from suffice.fitting.inputs import in_dtype_of
from suffice.fitting.one_pass import OnePass
from suffice.fitting.transforming import SourceTransformer
from suffice.numerics.double_double import Array
from suffice.sources import Block, MappedSource, Source
from suffice.statistics.sums import Sums


class Projection(ClassNamePrefixFeaturesOutMixin, SourceTransformer, OnePass):
    """A model with orthonormal components, their variances and a mean."""

    components_: Array
    explained_variance_: Array
    noise_variance_: float
    mean_: Array
    n_components_: int

    _saved_private = ("_fitted_whiten",)
    _fitted_whiten: bool
    """Whether the fit whitens; `whiten` may be set anew after it."""

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def _scales(self) -> Array:
        """What each column is divided by."""
        return vars(self).get("scale_", np.ones(self.components_.shape[1]))

    def _widths(self) -> Array:
        """What each coordinate is divided by."""
        if not self._fitted_whiten:
            return np.ones(self.n_components_)
        variance = self.explained_variance_
        return np.sqrt(np.where(variance > 0, variance, 1.0))

    def transform(self, X: Any) -> Any:
        """Coordinates of rows along the components.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source, of shape (rows, columns)

        Returns
        -------
        array of shape (rows, components)
            Of a source, a source of these rows, computed when they are read.
        """
        check_is_fitted(self)
        loadings = self.components_ / self._widths()[:, None] / self._scales()
        onto = partial(project, mean=self.mean_, loadings=loadings)
        if not isinstance(X, Source):
            return _wrap_data_with_container("transform", self._apply_in_dtype(X, onto), X, self)
        self._check_names(X)
        labels = [str(name) for name in self.get_feature_names_out()]
        names = self._names_of_source(labels)
        return MappedSource(X, onto, self.n_components_, names, labels=labels)

    def inverse_transform(self, X: Any) -> Any:
        """The rows, in the columns' units, that have these coordinates.

        Parameters
        ----------
        X : array or Source, of shape (rows, components)

        Returns
        -------
        array of shape (rows, columns), or a Source
        """
        check_is_fitted(self)
        loadings = self.components_ * self._widths()[:, None] * self._scales()
        expand = partial(_expand, mean=self.mean_, loadings=loadings)
        source = isinstance(X, Source)
        given = X.n_columns if source else None
        if not source:
            X = check_array(X, input_name="X", dtype="numeric", ensure_min_features=0)
            given = X.shape[1]
        if given != self.n_components_:
            raise ValueError(
                f"X has {given} columns, but {type(self).__name__} has {self.n_components_} "
                "components"
            )
        if not source:
            return in_dtype_of(X, expand(X))
        names = getattr(self, "feature_names_in_", None)
        return MappedSource(X, expand, self.n_features_in_, None if names is None else tuple(names))

    def get_covariance(self) -> NDArray[np.float64]:
        """Covariance of the columns in the model: kept variances, and noise in all else.

        Returns
        -------
        array of shape (columns, columns)
        """
        return self._in_columns(self.explained_variance_, self.noise_variance_, self._scales())

    def get_precision(self) -> NDArray[np.float64]:
        """The inverse of the covariance.

        Returns
        -------
        array of shape (columns, columns)
        """
        kept, noise = self._positive_variances()
        return self._in_columns(1 / kept, 1 / noise, 1 / self._scales())

    def _in_columns(self, along: Array, across: float, scale: Array) -> Array:
        """A matrix with these values along the components and across all other directions."""
        check_is_fitted(self)
        V = self.components_
        matrix = (V.T * (along - across)) @ V
        matrix.flat[:: len(matrix) + 1] += across
        return matrix * scale[:, None] * scale

    def _positive_variances(self) -> tuple[Array, float]:
        """Variances of the model along the components and elsewhere, where it has a density."""
        check_is_fitted(self)
        kept, noise = self.explained_variance_, self.noise_variance_
        everywhere = self.n_components_ == len(self.mean_)
        if not (kept > 0).all() or not (noise > 0 or everywhere):
            raise ValueError(
                "the model has no variance in some directions, hence no density there: keep fewer "
                "components (n_components), so that the variance left out is not zero, or fit with "
                "exact=True if it is so small that float64 cannot tell it from zero"
            )
        return kept, 1.0 if everywhere else noise

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Logarithm of each row's density in the model (probabilistic PCA).

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source, of shape (rows, columns)

        Returns
        -------
        array of shape (rows,)
        """
        return self._apply(X, self._log_density())

    def score(self, X: Any, y: Any = None) -> float:
        """Mean of the rows' log-densities; of a source, weighted as it says.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source, of shape (rows, columns)
        y : ignored

        Returns
        -------
        float
        """
        if not isinstance(X, Source):
            return float(np.mean(self.score_samples(X)))
        density = self._log_density()
        self._check_names(X)

        def summarize(block: Block) -> Sums:
            weight = np.ones(block.n_rows) if block.weight is None else block.weight
            present = weight > 0
            total = weight[present] @ density(block.X[present])
            if not np.isfinite(total):
                raise FloatingPointError("a value that is not finite, or too large")
            return Sums((np.asarray(total), np.asarray(weight.sum())))

        total, weight = self._pass(X, summarize).values
        return float(total / weight)

    def _log_density(self) -> partial[Array]:
        kept, noise = self._positive_variances()
        scale = self._scales()
        across = len(self.mean_) - self.n_components_
        constant = len(self.mean_) * np.log(2 * np.pi) + np.log(kept).sum() + across * np.log(noise)
        return partial(
            _density,
            mean=self.mean_,
            scale=scale,
            components=self.components_,
            kept=kept,
            noise=noise if across else np.inf,
            constant=float(constant + 2 * np.log(scale).sum()),
        )


# --- rows to coordinates -------------------------------------------------------------------

TOGETHER = 4096
"""Rows that are centred at once."""


def project(rows: Any, mean: Array, loadings: Array) -> Array:
    """Loadings times rows about a mean; of rows in memory, dense or sparse."""
    if sparse.issparse(rows):
        return np.asarray(rows @ loadings.T) - mean @ loadings.T
    result = np.empty((rows.shape[0], len(loadings)))
    for start in range(0, rows.shape[0], TOGETHER):
        part = slice(start, start + TOGETHER)
        # Centred first: a large offset would cost digits of the products.
        result[part] = (rows[part] - mean) @ loadings.T
    return result


def _expand(rows: Any, mean: Array, loadings: Array) -> Array:
    return np.asarray(rows @ loadings) + mean


def _density(
    rows: Any,
    mean: Array,
    scale: Array,
    components: Array,
    kept: Array,
    noise: float,
    constant: float,
) -> Array:
    result = np.empty(rows.shape[0])
    for start in range(0, rows.shape[0], TOGETHER):
        part = rows[start : start + TOGETHER]
        part = part.toarray() if sparse.issparse(part) else part
        centred = (part - mean) / scale
        along = centred @ components.T
        squares = (np.square(along) / kept).sum(axis=1)
        if np.isfinite(noise):
            squares += np.square(centred - along @ components).sum(axis=1) / noise
        result[start : start + TOGETHER] = -(squares + constant) / 2
    return result
