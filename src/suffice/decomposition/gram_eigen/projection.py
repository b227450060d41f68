"""What principal components in the space of a kernel do with rows: coordinates, and a way back.

The coordinates of a row are linear in its values with the rows of the fit,

    t(x) = k(x)ᵀ P − o,      P = (I − q 1ᵀ) W v / √λ,      o = (K q)ᵀ P,

which takes φ(x) from the mean of the features, and projects it.  The way back is kernel ridge
regression of the rows on their coordinates, with coefficients from the fit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils._set_output import _wrap_data_with_container
from sklearn.utils.validation import check_array, check_is_fitted

from suffice.fitting.estimator import Estimator
from suffice.fitting.files.registry import register
from suffice.fitting.gram.kernel_choice import as_table, chosen_kernel
from suffice.fitting.gram.matrix import by_queries
from suffice.fitting.inputs import in_dtype_of, is_float32
from suffice.fitting.transforming import SourceTransformer
from suffice.numerics.kernel_functions import Floats, KernelFunction
from suffice.sources import MappedSource, Source
from suffice.statistics.rows.sparse import SparseRows

register(SparseRows)


class KernelProjection(ClassNamePrefixFeaturesOutMixin, SourceTransformer, Estimator):
    """A model with components in the space of a kernel."""

    kernel: str | Callable[..., float]
    degree: float
    coef0: float
    kernel_params: dict[str, Any] | None
    n_jobs: int | None

    _saved_private = ("_rows", "_projection", "_offset")
    _rows: Floats | SparseRows
    _projection: Floats
    """From values of the kernel to coordinates: (I − q 1ᵀ) W v / √λ."""
    _offset: Floats
    """The coordinates of the mean."""

    eigenvalues_: Floats
    eigenvectors_: Floats
    gamma_: float
    dual_coef_: Floats
    X_transformed_fit_: Floats

    @property
    def X_fit_(self) -> Any:
        """The rows of the fit."""
        if "_rows" not in vars(self):
            raise AttributeError("X_fit_ is there once the model is fitted")
        return as_table(self._rows)

    @property
    def _n_features_out(self) -> int:
        return len(self.eigenvalues_)

    def _kernel(self, gamma: float, n_columns: int) -> KernelFunction:
        return chosen_kernel(
            self.kernel, gamma, self.degree, self.coef0, self.kernel_params, n_columns
        )

    def _check_loaded(self) -> None:
        """Raise ValueError unless what a file holds could be a fitted model."""
        rows, n = self._rows, len(self._projection)
        if len(getattr(rows, "shape", ())) != 2:
            raise ValueError("its rows are no table")
        fitted = rows.shape[1] if self.kernel == "precomputed" else rows.shape[0]
        shapes = (self._projection.shape, self._offset.shape)
        if fitted != n or shapes != ((n, len(self.eigenvalues_)), (len(self.eigenvalues_),)):
            raise ValueError("its rows and eigenvectors do not belong together")

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit, and return the coordinates of the same rows: √λ v, which need no further values.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source, of shape (rows, columns)
        y : ignored
        **fit_params
            Arguments of `fit`.

        Returns
        -------
        As of `transform`.
        """
        if isinstance(X, Source) or fit_params:  # rows of weight 0 have coordinates too
            return super().fit_transform(X, y, **fit_params)
        self.fit(X)
        found = self.eigenvectors_ * np.sqrt(self.eigenvalues_)
        if is_float32(X):
            found = found.astype(np.float32)
        return _wrap_data_with_container("transform", found, X, self)

    def transform(self, X: Any) -> Any:
        """Coordinates of rows along the components.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source, of shape (rows, columns)
            With "precomputed", the values of the kernel for rows and those of the fit.

        Returns
        -------
        array of shape (rows, components)
            Of a source, a source of these rows, computed when they are read.
        """
        check_is_fitted(self)
        if not isinstance(X, Source):
            found = self._apply_in_dtype(X, self._project)
            return _wrap_data_with_container("transform", found, X, self)
        self._check_names(X)
        labels = [str(name) for name in self.get_feature_names_out()]
        names = self._names_of_source(labels)
        return MappedSource(X, self._project, len(labels), names, labels=labels)

    def _project(self, queries: Any) -> Floats:
        along, offset, rows = self._projection, self._offset, self.X_fit_
        queries = as_table(queries)
        if self.kernel == "precomputed":
            return by_queries(queries, len(along), lambda some: some @ along - offset, self.n_jobs)
        kernel = self._kernel(self.gamma_, rows.shape[1])
        return by_queries(
            queries, len(along), lambda some: kernel(some, rows) @ along - offset, self.n_jobs
        )

    def inverse_transform(self, X: Any) -> Floats:
        """Rows that have about these coordinates, as learned with `fit_inverse_transform`.

        Parameters
        ----------
        X : array of shape (rows, components)

        Returns
        -------
        array of shape (rows, columns)
        """
        if "dual_coef_" not in vars(self):
            raise NotFittedError(
                "the way back is learned by a fit with fit_inverse_transform=True; this "
                f"{type(self).__name__} has no such fit"
            )
        given = check_array(X, input_name="X", dtype="numeric")
        fitted, dual = self.X_transformed_fit_, self.dual_coef_
        if given.shape[1] != fitted.shape[1]:
            raise ValueError(
                f"X has {given.shape[1]} columns, but {type(self).__name__} has "
                f"{fitted.shape[1]} components"
            )
        kernel = self._kernel(self.gamma_, self.n_features_in_)
        found = by_queries(
            as_table(given), len(fitted), lambda some: kernel(some, fitted) @ dual, self.n_jobs
        )
        return in_dtype_of(given, found)
