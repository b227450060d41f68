"""Support vector regression.

    minimise over w, b:    ½ ‖w‖² + Σ Cᵢ max(0, |yᵢ − f(xᵢ)| − ε),      f(x) = w·φ(x) + b

Errors up to ε cost nothing, and larger ones in proportion: rows well within the tube around f have
no part in it.  The dual has two multipliers a row, α for rows above the tube and α* for those
below; with β = α − α*

    maximise:    Σ yᵢ βᵢ − ε Σ |βᵢ| − ½ Σᵢⱼ βᵢ βⱼ k(xᵢ, xⱼ)     for |βᵢ| ≤ Cᵢ, Σ βᵢ = 0.

It is solved as that of classification is (`suffice.svm.smo.solver`), with 2n variables.  The
conditions of a minimum, with the residual r = y − f(x):

    β = 0           |r| ≤ ε
    0 < |β| < C      r = ε sign β
    |β| = C          r sign β ≥ ε

Reference: Drucker, Burges, Kaufman, Smola and Vapnik, "Support vector regression machines" (1997).
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.utils._param_validation import Interval

from suffice.engines.gather import Rows
from suffice.engines.workers import stopped_here
from suffice.fitting.regression import Regressor
from suffice.fitting.requests import Found, Gather, Passes, needed
from suffice.sources import Source
from suffice.svm.base import Floats, SupportVectorMachine
from suffice.svm.margins.conditions import Examined, certificate_from
from suffice.svm.smo.dual import ROUNDED, Dual, imbalance
from suffice.svm.smo.kernel_rows import KernelRows
from suffice.svm.smo.kernel_sums import kernel_sums
from suffice.svm.smo.solver import Solver


class SVR(Regressor, SupportVectorMachine):
    """Regression that does not mind errors up to ε.

    Parameters
    ----------
    kernel, degree, gamma, coef0, tol, shrinking, cache_size, verbose, max_iter, warm_start, n_jobs
        As of `SVC`.
    C : float, default=1.0
        The price of an error beyond ε.
    epsilon : float, default=0.1
        ε, half of the width of the tube.

    Attributes
    ----------
    support_ : int array of shape (support vectors,)
        Numbers of rows; rows of weight 0 are not counted.
    support_vectors_ : array or CSR matrix of shape (support vectors, columns)
    n_support_ : int array of shape (1,)
    dual_coef_ : array of shape (1, support vectors)
        β of each.
    coef_ : array of shape (1, columns)
        Only for the linear kernel.
    intercept_ : array of shape (1,)
    n_iter_ : int
    fit_status_ : int
        0 if the certificate holds.
    shape_fit_ : tuple of int
    certificate_ : Certificate
        The worst violation, the primal and the dual value, and their gap.
    trace_ : Trace

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from suffice import SVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SVR(C=100).fit(X, y)
    >>> round(model.score(X, y), 3), model.certificate_.holds
    (0.665, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SupportVectorMachine._parameter_constraints,
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
    }
    _target_checks = {"y_numeric": True, "multi_output": False}

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        C: float = 1.0,
        epsilon: float = 0.1,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
        warm_start: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.n_jobs = n_jobs

    # --- fitting --------------------------------------------------------------------------

    def _passes(self, source: Source) -> Passes:
        rows: Rows = yield from needed(Gather("rows"))
        X = self._rows(rows, source.n_rows)
        y = one_target(rows.y)
        n = len(y)
        bounds = np.full(n, float(self.C)) if rows.weight is None else self.C * rows.weight
        kernel = self._kernel_function(X, rows.weight)
        none, settings = np.zeros(n), self._settings(2 * n)
        dual = Dual(
            KernelRows(kernel, X, self.n_jobs),
            np.tile(np.arange(n), 2),
            np.append(self.epsilon - y, -self.epsilon - y),
            np.append(none, -bounds),
            np.append(bounds, none),
        )
        found = Solver(dual, settings, stopped_here()).solve(self._start(bounds))
        beta, intercept = dual.by_row(found.beta), -dual.multiplier(found.gradient, found.beta)
        sums = found.gradient[:n] - dual.linear[:n]
        worst, values = examined(beta, sums, y - sums - intercept, y, bounds, self.epsilon)
        stopped = found.steps >= settings.most
        known = Examined(worst, *values, imbalance(beta), found.is_curved_down, stopped)
        proof = certificate_from(kernel, known, self.tol)
        support = np.flatnonzero(beta)
        attributes = {
            "support_": support.astype(np.int32),
            "support_vectors_": self._support_vectors(X, support),
            "n_support_": np.array([len(support)], np.int32),
            "dual_coef_": beta[support][None],
            "intercept_": np.array([intercept]),
            "n_iter_": found.steps,
            "fit_status_": int(not proof.holds),
            "shape_fit_": tuple(X.shape),
        }
        return Found(attributes, proof, values[1])

    def _start(self, bounds: Floats) -> Floats | None:
        """The multipliers of the last fit, brought within the bounds."""
        last = vars(self)
        if not self.warm_start or last.get("shape_fit_", (0,))[0] != len(bounds):
            return None
        beta = np.zeros(len(bounds))
        beta[last["support_"]] = last["dual_coef_"][0]
        there = beta != 0
        if not there.any() or imbalance(beta) > ROUNDED:
            return None
        beta *= min(1.0, float((bounds[there] / np.abs(beta[there])).min()))
        beta = np.clip(beta, -bounds, bounds)
        return np.append(np.maximum(beta, 0.0), np.minimum(beta, 0.0))

    # --- answers --------------------------------------------------------------------------

    def _predicted(self, rows: Any) -> Floats:
        kernel, queries = self._kernel(), self._queries(rows)
        if kernel.name == "linear":
            found = queries @ self._weights().T
            values = np.asarray(found.toarray() if issparse(found) else found)[:, 0]
        else:
            sums = kernel_sums(
                kernel, queries, self.support_vectors_, self.dual_coef_, self.n_support_,
                self.n_jobs,
            )  # fmt: skip
            values = sums[:, 0, 0]
        return values + self.intercept_[0]


def one_target(y: Any) -> Floats:
    """The target as numbers, or raise ValueError."""
    found = np.asarray(y)
    if found.ndim != 1:
        raise ValueError(f"the target has {found.shape[1]} columns; SVR takes one")
    try:
        return found.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"the target must hold numbers to be regressed on: {error}") from None


def examined(
    beta: Floats, sums: Floats, residual: Floats, y: Floats, bounds: Floats, epsilon: float
) -> tuple[float, tuple[float, float]]:
    """By how much a row misses its condition at worst; the primal and the dual value.

    Parameters
    ----------
    beta, sums, residual, y, bounds : float64 arrays of shape (rows,)
        `sums` are Kβ.
    epsilon : float
    """
    above, below = residual - epsilon, -residual - epsilon
    outside = np.maximum(above, below)
    missed = np.maximum(
        np.maximum(np.where(beta < bounds, above, 0.0), np.where(beta > -bounds, below, 0.0)),
        np.maximum(np.where(beta > 0, -above, 0.0), np.where(beta < 0, -below, 0.0)),
    )
    half = max(float(beta @ sums), 0.0) / 2
    primal = half + float(bounds @ np.maximum(outside, 0.0))
    dual = float(y @ beta) - epsilon * float(np.abs(beta).sum()) - half
    return max(float(missed.max()), 0.0), (primal, dual)
