"""Kernel ridge regression.

    minimise over f in the space of the kernel k:   ½ Σ wᵢ (f(xᵢ) − yᵢ)² + (α/2) ‖f‖²

By the representer theorem the best f is a sum over the rows of the fit, f(x) = Σ aᵢ k(x, xᵢ), with

    (K + α W⁻¹) a = y,      K the values of all pairs of rows, W = diag(w).

There is no intercept.  With k(x, z) = x·z this is `Ridge` without one, θ = Σ aᵢ xᵢ.

The system is solved by Cholesky's factorisation (`suffice.fitting.gram.shifted`), and what the
certificate says is measured: with r = y − (K + α W⁻¹) a, and ‖r‖ in the norm Σ w r², the fitted
values K a are no further than ‖r‖ from those of the exact solution wherever K is positive
semi-definite, whatever its condition.  How far a itself may be depends on the condition.

Reference: Saunders, Gammerman and Vovk, "Ridge regression learning algorithm in dual variables"
(1998).
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from suffice.fitting.certificate import ENOUGH_DIGITS, Certificate, digits_within, rounded_down
from suffice.fitting.estimator import Estimator
from suffice.fitting.files.registry import register
from suffice.fitting.gram.kernel_choice import PARAMETERS, as_table, chosen_kernel, kept_rows
from suffice.fitting.gram.matrix import by_queries, gathered_pairs, gram_matrix, own_columns
from suffice.fitting.gram.shifted import Answered, ShiftedGram
from suffice.fitting.regression import Regressor, as_columns
from suffice.fitting.requests import Found, Passes
from suffice.numerics.kernel_functions import Floats, KernelFunction
from suffice.sources import Source
from suffice.statistics.rows.sparse import SparseRows

register(SparseRows)

EPS = float(np.finfo(np.float64).eps)


class KernelRidge(Regressor, Estimator):
    """Ridge regression on the features of a kernel.

    Parameters
    ----------
    alpha : float or array of shape (targets,), default=1.0
        Strength of the penalty, of all targets or of each.
    kernel : str or callable, default="linear"
        "linear", "poly" (or "polynomial"), "rbf", "sigmoid", "logistic", "cosine", "laplacian",
        "chi2", "additive_chi2"; "precomputed" if `X` holds the values of the kernel; or a function
        of two rows that returns a number.
    gamma : float, default=None
        γ of the kernel; None is 1 / columns, and 1 for "chi2".
    degree : float, default=3
        Of "poly".
    coef0 : float, default=1
        c₀ of "poly", "sigmoid" and "logistic".
    kernel_params : dict, default=None
        Further arguments of a function.
    n_jobs : int, optional
        Threads; by default what `suffice.config` says.

    Attributes
    ----------
    dual_coef_ : array of shape (rows,) or (rows, targets)
        a, the coefficient of each row.
    X_fit_ : array or CSR array of shape (rows, columns)
        The rows of the fit that have a weight; with "precomputed", their values.
    certificate_ : Certificate
        Its measures are the relative `residual` of the system, the `condition` of its matrix (a
        bound where the kernel is known to be positive semi-definite, else an estimate), and the
        `digits` of `dual_coef_` that follow from both.
    trace_ : Trace

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from suffice import KernelRidge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = KernelRidge(alpha=0.1, kernel="rbf", gamma=10).fit(X[:300], y[:300])
    >>> round(model.score(X[300:], y[300:]), 2)
    0.5
    >>> model.certificate_.holds
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
        **PARAMETERS,
        "n_jobs": [Integral, None],
    }
    _saved_private = ("_rows",)
    _rows: Floats | SparseRows

    dual_coef_: Floats

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        kernel: str | Callable[..., float] = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.target_tags.multi_output = True
        return tags

    @property
    def X_fit_(self) -> Any:
        """The rows of the fit."""
        if "_rows" not in vars(self):
            raise AttributeError("X_fit_ is there once the model is fitted")
        return as_table(self._rows)

    # --- fitting --------------------------------------------------------------------------

    def _passes(self, source: Source) -> Passes:
        precomputed = self.kernel == "precomputed"
        rows, present = yield from gathered_pairs(precomputed)
        X, y = as_table(rows.X), as_columns(rows.y)
        kernel, alphas = self._kernel(X.shape[1]), self._penalties(y.shape[1])
        values = own_columns(X, present) if precomputed else X
        gram = ShiftedGram(
            gram_matrix(kernel, values, type(self).__name__, self.n_jobs), self.n_jobs
        )
        weight = np.ones(len(y)) if rows.weight is None else rows.weight
        dual = np.zeros((X.shape[1] if precomputed else len(y), y.shape[1]))
        answers = {}
        for alpha in np.unique(alphas).tolist():
            those = alphas == alpha
            found = gram.solve(alpha / weight, y[:, those], kernel.is_semi_definite)
            answers[alpha], dual[np.ix_(present, those)] = found, found.solution
        attributes = {
            "dual_coef_": dual.reshape(len(dual), *source.target_shape),
            "_rows": kept_rows(rows.X),
        }
        return Found(attributes, certify(answers, y, weight, alphas, named(self.kernel)))

    def _kernel(self, n_columns: int) -> KernelFunction:
        return chosen_kernel(
            self.kernel, self.gamma, self.degree, self.coef0, self.kernel_params, n_columns
        )

    def _penalties(self, n_targets: int) -> Floats:
        """α of each target, or raise ValueError."""
        alphas = np.atleast_1d(np.asarray(self.alpha, np.float64))
        if alphas.shape not in {(1,), (n_targets,)}:
            raise ValueError(
                f"alpha is one number, or one for each of {n_targets} targets; got an array of "
                f"shape {alphas.shape}"
            )
        if not (np.isfinite(alphas) & (alphas >= 0)).all():
            raise ValueError(f"alpha must be finite and at least 0, got {self.alpha}")
        return np.broadcast_to(alphas, (n_targets,))

    def _check_loaded(self) -> None:
        """Raise ValueError unless what a file holds could be a fitted model."""
        rows = self._rows
        if len(getattr(rows, "shape", ())) != 2:
            raise ValueError("its rows are no table")
        n, columns = rows.shape
        n = columns if self.kernel == "precomputed" else n
        if columns != self.n_features_in_ or self.dual_coef_.shape[:1] != (n,):
            raise ValueError("its rows and coefficients do not belong together")

    # --- predicting -----------------------------------------------------------------------

    def _predicted(self, queries: Any) -> Floats:
        queries, rows, dual = as_table(queries), self.X_fit_, self.dual_coef_
        if self.kernel == "precomputed":
            return by_queries(queries, len(dual), lambda part: part @ dual, self.n_jobs)
        kernel = self._kernel(rows.shape[1])
        return by_queries(queries, len(dual), lambda part: kernel(part, rows) @ dual, self.n_jobs)


def certify(
    answers: dict[float, Answered], y: Floats, weight: Floats, alphas: Floats, kernel: str
) -> Certificate:
    """What the residuals prove."""
    residual, condition, error, notes = EPS, 0.0, EPS, []
    roots = np.sqrt(weight)[:, None]
    for alpha, found in answers.items():
        if found.rank < len(y):
            notes.append(
                f"α = {alpha:g}: the matrix has rank {found.rank} of {len(y)}; of all solutions "
                "with the least squared residual this is the shortest"
            )
        left = np.abs(found.residual) + found.error
        targets = y[:, alphas == alpha]
        residual = max(residual, relative(lengths(roots * left), lengths(roots * targets)))
        condition = max(condition, found.norm * found.inverse)
        off = lengths(left) * found.inverse
        error = max(error, relative(off, lengths(found.solution)))
    digits = digits_within(residual)
    claim = (
        f"the fitted values solve the system to {rounded_down(digits)} digits or more of the target"
    )
    paths = sorted({found.path for found in answers.values()})
    measures = {"residual": residual, "condition": condition, "digits": digits_within(error)}
    path = f"{kernel} kernel, {' and '.join(paths)}"
    return Certificate(digits >= ENOUGH_DIGITS, claim, path, measures, tuple(notes))


def lengths(columns: Floats) -> Floats:
    """The length of each column."""
    return np.asarray(np.linalg.norm(columns, axis=0))


def relative(error: Floats, size: Floats) -> float:
    """The largest ratio; of nothing, the error itself."""
    return float((error / np.where(size > 0, size, 1.0)).max())


def named(kernel: str | Callable[..., float]) -> str:
    """What to call a kernel."""
    return kernel if isinstance(kernel, str) else getattr(kernel, "__name__", "a user's")
