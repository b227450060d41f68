"""Principal components in the space of a kernel.

The features φ(x) of a kernel k(x, z) = φ(x)·φ(z) need not be known: what their principal components
are follows from the matrix of values K.  With m = Σ wᵢ φ(xᵢ) / W, the values between features
taken from their mean are

    K̃ = (I − 1 qᵀ) K (I − q 1ᵀ),    q = w / W,

and with the eigenvectors u and values λ of W^½ K̃ W^½, v = W^−½ u, a row has the coordinates

    t(x) = Σ wᵢ vᵢ k̃(x, xᵢ) / √λ,      of a row of the fit:   √λ vᵢ.

A few components of many rows are found by Lanczos's iteration (ARPACK), all or many by LAPACK.
Either way the certificate measures ‖K̃ v − λ v‖, a bound on the error of λ.  The way back from
coordinates to rows is learned: kernel ridge regression of the rows on their coordinates.  The
steps are in `suffice.decomposition.gram_eigen`.

References: Schölkopf, Smola and Müller, "Nonlinear component analysis as a kernel eigenvalue
problem" (1998); Bakır, Weston and Schölkopf, "Learning to find pre-images" (2004).
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import _check_psd_eigenvalues

from suffice.decomposition.gram_eigen.certificate import certify
from suffice.decomposition.gram_eigen.projection import KernelProjection
from suffice.decomposition.gram_eigen.solve import (
    centre,
    centring_error,
    largest_eigenpairs,
    stretch,
)
from suffice.fitting.gram.kernel_choice import PARAMETERS, as_table, kept_rows
from suffice.fitting.gram.matrix import gathered_pairs, gram_matrix, own_columns
from suffice.fitting.gram.shifted import ShiftedGram
from suffice.fitting.requests import Found, Passes
from suffice.numerics.kernel_functions import Floats, KernelFunction
from suffice.sources import Source


class KernelPCA(KernelProjection):
    """The directions in which the features of a kernel vary most.

    Parameters
    ----------
    n_components : int, default=None
        How many to keep; None keeps all whose eigenvalue is not zero.
    kernel : str or callable, default="linear"
        "linear", "poly" (or "polynomial"), "rbf", "sigmoid", "logistic", "cosine", "laplacian",
        "chi2", "additive_chi2"; "precomputed" if `X` holds the values of the kernel; or a function
        of two rows that returns a number.
    gamma : float, default=None
        γ of the kernel; None is 1 / columns.
    degree : float, default=3
        Of "poly".
    coef0 : float, default=1
        c₀ of "poly", "sigmoid" and "logistic".
    kernel_params : dict, default=None
        Further arguments of a function.
    alpha : float, default=1.0
        Penalty of the ridge regression that learns `inverse_transform`.
    fit_inverse_transform : bool, default=False
        Whether to learn it.
    eigen_solver : {"auto", "dense", "arpack", "randomized"}, default="auto"
        "auto" takes ARPACK for at most a tenth as many components as rows, of more than 200
        rows; "randomized" is accepted, and means ARPACK too.
    tol : float, default=0
        Tolerance of ARPACK; 0 is the precision of float64.
    max_iter : int, default=None
        Iterations of ARPACK at most.
    iterated_power : int or "auto", default="auto"
        Accepted for compatibility: it steers a solver that is not needed here.
    remove_zero_eig : bool, default=False
        Whether to leave out components whose eigenvalue is zero.
    random_state : int, RandomState instance or None, default=None
        Of the vector that ARPACK starts from; None always takes the same one.
    copy_X : bool, default=True
        Accepted for compatibility: the input is never overwritten, and always copied.
    n_jobs : int, optional
        Threads; by default what `suffice.config` says.

    Attributes
    ----------
    eigenvalues_ : array of shape (components,)
        Descending.
    eigenvectors_ : array of shape (rows, components)
        v; the largest entry of each, in absolute value, is positive.
    gamma_ : float
    X_fit_ : array or CSR array of shape (rows, columns)
        The rows of the fit that have a weight; with "precomputed", their values.
    X_transformed_fit_ : array of shape (rows, components)
        Their coordinates; only with `fit_inverse_transform`.
    dual_coef_ : array of shape (rows, columns)
        Coefficients of the way back; only with `fit_inverse_transform`.
    certificate_ : Certificate
    trace_ : Trace

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import KernelPCA
    >>> X = load_iris().data
    >>> model = KernelPCA(n_components=2, kernel="rbf", gamma=0.1).fit(X)
    >>> model.eigenvalues_.round(2)
    array([45.2 , 12.07])
    >>> model.transform(X[:1]).round(3)
    array([[0.771, 0.096]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        **PARAMETERS,
        "alpha": [Interval(Real, 0, None, closed="left")],
        "fit_inverse_transform": ["boolean"],
        "eigen_solver": [StrOptions({"auto", "dense", "arpack", "randomized"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "iterated_power": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "remove_zero_eig": ["boolean"],
        "random_state": ["random_state"],
        "copy_X": ["boolean"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: str | Callable[..., float] = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        alpha: float = 1.0,
        fit_inverse_transform: bool = False,
        eigen_solver: str = "auto",
        tol: float = 0,
        max_iter: int | None = None,
        iterated_power: int | str = "auto",
        remove_zero_eig: bool = False,
        random_state: Any = None,
        copy_X: bool = True,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.alpha = alpha
        self.fit_inverse_transform = fit_inverse_transform
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.iterated_power = iterated_power
        self.remove_zero_eig = remove_zero_eig
        self.random_state = random_state
        self.copy_X = copy_X
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # --- fitting --------------------------------------------------------------------------

    def _training_source(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> Source:
        if self.fit_inverse_transform and self.kernel == "precomputed":
            raise ValueError(
                "Cannot fit_inverse_transform with a precomputed kernel: there are no rows to go "
                "back to"
            )
        return super()._training_source(X, None, sample_weight, reset)  # there is no target

    def _passes(self, source: Source) -> Passes:
        precomputed = self.kernel == "precomputed"
        rows, present = yield from gathered_pairs(precomputed)
        X = as_table(rows.X)
        gamma = 1.0 / X.shape[1] if self.gamma is None else float(self.gamma)
        kernel = self._kernel(gamma, X.shape[1])
        values = own_columns(X, present) if precomputed else X
        K = gram_matrix(kernel, values, type(self).__name__, self.n_jobs)
        weight = np.ones(len(K)) if rows.weight is None else rows.weight
        rounding = centring_error(K, weight, kernel.is_semi_definite)
        means = centre(K, weight / weight.sum(), self.n_jobs)
        if rows.weight is not None:
            stretch(K, np.sqrt(weight), self.n_jobs)
        pairs = largest_eigenpairs(
            K, self.n_components, self.eigen_solver, self.tol, self.max_iter, self.random_state,
            self.n_jobs,
        )  # fmt: skip
        proof = certify(K, pairs, rounding, kernel, self.n_jobs)
        del K
        found = np.where(np.abs(pairs.values) > rounding, pairs.values, 0.0)
        values, vectors = self._in_order(found, pairs.vectors / np.sqrt(weight)[:, None])
        inverse = np.where(values > 0, 1 / np.sqrt(np.where(values > 0, values, 1.0)), 0.0)
        along = weight[:, None] * vectors * inverse
        projection = np.zeros((X.shape[1] if precomputed else len(along), len(values)))
        projection[present] = along - np.outer(weight / weight.sum(), along.sum(axis=0))
        attributes = {
            "eigenvalues_": values,
            "eigenvectors_": vectors,
            "gamma_": gamma,
            "_rows": kept_rows(rows.X),
            "_projection": projection,
            "_offset": means @ projection[present],
        }
        for name in ("dual_coef_", "X_transformed_fit_"):  # those of an earlier fit
            self.__dict__.pop(name, None)
        if self.fit_inverse_transform:
            attributes |= self._way_back(X, vectors * np.sqrt(values), weight, kernel)
        return Found(attributes, proof)

    def _in_order(self, values: Floats, vectors: Floats) -> tuple[Floats, Floats]:
        """Eigenvalues and vectors, the largest first, with scikit-learn's signs."""
        values = _check_psd_eigenvalues(values, enable_warnings=False)
        vectors, _ = svd_flip(u=vectors, v=None)
        order = np.argsort(-values, kind="stable")
        if self.remove_zero_eig or self.n_components is None:
            order = order[values[order] > 0]
        return values[order], np.ascontiguousarray(vectors[:, order])

    def _way_back(
        self, X: Any, coordinates: Floats, weight: Floats, kernel: KernelFunction
    ) -> dict[str, Floats]:
        """Kernel ridge regression of the rows on their coordinates."""
        if issparse(X):
            raise NotImplementedError(
                "Inverse transform not implemented for sparse matrices: fit_inverse_transform "
                "needs rows as an array"
            )
        K = gram_matrix(kernel, coordinates, type(self).__name__, self.n_jobs)
        found = ShiftedGram(K, self.n_jobs).solve(self.alpha / weight, X, kernel.is_semi_definite)
        return {"dual_coef_": found.solution, "X_transformed_fit_": coordinates}
