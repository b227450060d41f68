"""What machines share that are sums of kernel values: their kernel, their rows, their settings.

f(x) = Σᵢ βᵢ k(x, xᵢ) + b     over the support vectors, the rows with βᵢ ≠ 0
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils._param_validation import Interval, StrOptions

from suffice.engines.gather import Rows
from suffice.fitting.estimator import Estimator
from suffice.numerics.kernel_functions import KernelFunction, gamma_of
from suffice.sources import Source
from suffice.svm.smo.solver import SolverSettings

Floats = NDArray[np.float64]

MOST_STEPS = 10_000_000
"""Steps where `max_iter` sets no limit; or 100 a variable, if that is more."""


class SupportVectorMachine(Estimator):
    """Kernel, tolerance and support vectors, for classification and regression alike."""

    support_: NDArray[np.int32]
    support_vectors_: Any
    n_support_: NDArray[np.int32]
    dual_coef_: Floats
    intercept_: Floats
    shape_fit_: tuple[int, int]
    _gamma: float

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [
            StrOptions({"linear", "poly", "rbf", "sigmoid", "logistic", "precomputed"}),
            callable,
        ],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "shrinking": ["boolean"],
        "cache_size": [Interval(Real, 0, None, closed="neither")],
        "verbose": ["verbose"],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "warm_start": ["boolean"],
        "n_jobs": [Integral, None],
    }
    _saved_private: ClassVar[tuple[str, ...]] = ("_gamma",)

    kernel: Any
    degree: int
    gamma: float | str
    coef0: float
    tol: float
    shrinking: bool
    cache_size: float
    max_iter: int
    warm_start: bool

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        precomputed = isinstance(self.kernel, str) and self.kernel == "precomputed"
        tags.input_tags.pairwise = precomputed
        tags.input_tags.sparse = not precomputed
        return tags

    # --- fitting --------------------------------------------------------------------------

    def _training_source(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> Source:
        if issparse(X) and self.__sklearn_tags__().input_tags.pairwise:
            raise TypeError("Sparse precomputed kernels are not supported.")
        return super()._training_source(X, y, sample_weight, reset)

    def _rows(self, rows: Rows, n_rows: int | None) -> Any:
        """The rows in float64; of a precomputed kernel the values among them."""
        X = rows.X
        if issparse(X):
            return csr_array(X, dtype=np.float64)
        X = np.ascontiguousarray(X, dtype=np.float64)
        if self.__sklearn_tags__().input_tags.pairwise and X.shape[0] != X.shape[1]:
            hint = "" if n_rows in {None, X.shape[0]} else " (leave out rows of weight 0)"
            raise ValueError(
                "Precomputed matrix must be a square matrix. Input is a "
                f"{X.shape[0]}x{X.shape[1]} matrix{hint}."
            )
        return X

    def _kernel_function(self, X: Any, weight: Floats | None) -> KernelFunction:
        """The kernel, with γ as these rows have it."""
        if callable(self.kernel) or self.kernel == "precomputed":
            self._gamma = 0.0
        elif weight is None or self.gamma != "scale":
            self._gamma = gamma_of(self.gamma, X)
        else:
            self._gamma = gamma_of_repeated(X, weight)
        return self._kernel()

    def _kernel(self) -> KernelFunction:
        if callable(self.kernel):
            return KernelFunction("callable", function=self.kernel)
        return KernelFunction(self.kernel, self._gamma, self.degree, self.coef0)

    def _settings(self, n_variables: int) -> SolverSettings:
        most = max(MOST_STEPS, 100 * n_variables) if self.max_iter == -1 else self.max_iter
        return SolverSettings(self.tol, most, self.cache_size * 2**20 / 4, self.shrinking)

    def _support_vectors(self, X: Any, rows: NDArray[np.int64]) -> Any:
        if self.__sklearn_tags__().input_tags.pairwise:
            return np.empty((0, 0))
        return X[rows]

    # --- answers --------------------------------------------------------------------------

    def _queries(self, rows: Any) -> Any:
        """What kernel values are computed from; the support vectors' columns, if given."""
        if self.__sklearn_tags__().input_tags.pairwise:
            return np.asarray(rows, np.float64)[:, self.support_]
        return csr_array(rows, dtype=np.float64) if issparse(rows) else rows

    def _weights(self) -> Any:
        """w of each machine, of shape (machines, columns)."""
        vectors = self.support_vectors_
        return (csr_array(self.dual_coef_) if issparse(vectors) else self.dual_coef_) @ vectors

    @property
    def coef_(self) -> Any:
        """Weights of the columns, for the linear kernel: shape (machines, columns)."""
        if not isinstance(self.kernel, str) or self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        if "dual_coef_" not in vars(self):
            raise AttributeError("coef_ is there once the model is fitted")
        weights = self._weights()
        # Computed at each call: a change to it would be lost without a word.
        (weights.data if issparse(weights) else weights).flags.writeable = False
        return weights

    def _check_loaded(self) -> None:
        """Raise ValueError unless what a file holds could be a fitted model."""
        learned = vars(self)
        vectors = learned.get("support_vectors_", np.empty((0, 0)))
        given = self.__sklearn_tags__().input_tags.pairwise
        count = len(learned.get("support_", ()))
        if learned["dual_coef_"].shape[1] != count or (not given and vectors.shape[0] != count):
            raise ValueError("its coefficients do not fit its support vectors")


def gamma_of_repeated(X: Any, weight: Floats) -> float:
    """γ = 1 / (columns · variance of all cells), each row counted as often as it weighs."""
    cells = float(weight.sum()) * X.shape[1]
    mean = float((weight @ X).sum()) / cells
    if issparse(X):
        variance = float((weight @ X.multiply(X)).sum()) / cells - mean**2
    else:
        variance = float((weight @ np.square(X - mean)).sum()) / cells
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0
