"""Lasso: least squares with an absolute penalty, which makes coefficients zero.

    minimise over θ, b:   (1/2W) Σ wᵢ (yᵢ − θ·xᵢ − b)² + α ‖θ‖₁,        W = Σ wᵢ

The elastic net with ρ = 1; see `suffice.linear.elastic_net`.

Reference: Tibshirani, "Regression shrinkage and selection via the lasso" (1996).
"""

from __future__ import annotations

from typing import Any, ClassVar

from numpy.typing import ArrayLike

from suffice.linear.elastic_net import ElasticNet
from suffice.linear.lasso_solvers.fit import (
    CoordinateDescentMinimiser,
    dual_gap,
    sparse_coef,
    strength,
)
from suffice.linear.lasso_solvers.path import PenaltyPath, penalty_path
from suffice.linear.least_squares.base import LeastSquaresModel


class Lasso(LeastSquaresModel):
    """Linear regression with an absolute penalty on the coefficients.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty, not negative.  The squared error is a mean, as in scikit-learn.
    fit_intercept : bool, default=True
        Whether the model has a constant term, which is not penalised.
    precompute : bool or array, default=False
        Accepted for compatibility: the products of the columns are the statistic.
    copy_X : bool, default=True
        Accepted for compatibility: the input is never overwritten.
    max_iter : int, default=10000
        Most sweeps of coordinate descent over a working set.
    tol : float, default=1e-8
        Duality gap, relative to the target's mean square, up to which the certificate holds.
    warm_start : bool, default=False
        Accepted for compatibility: the solution does not depend on where the search begins.
    positive : bool, default=False
        Whether coefficients may not be negative.
    random_state : int, optional
        Accepted for compatibility: nothing here is random.
    selection : {"cyclic", "random"}, default="cyclic"
        Accepted for compatibility: the solution does not depend on the order of the columns.
    standardize : bool, default=False
        Penalise coefficients of columns in units of their standard deviation.  The
        coefficients are reported in the user's units either way.
    solver : {"auto", "moments", "working_set"}, default="auto"
        From the moments of all columns, or on a working set of columns with all rows in memory.
        The shape of the data decides by default.
    exact : bool, default=False
        Keep the statistic in double-double from the start, so that `forget` has digits to
        spare.  Takes about eight times as long.

    Attributes
    ----------
    coef_ : array of shape (columns,) or (targets, columns)
    intercept_ : float or array of shape (targets,)
    sparse_coef_ : sparse matrix of shape (1, columns) or (targets, columns)
    dual_gap_ : float or array of shape (targets,)
        How far the objective is from its minimum, at most.
    n_iter_ : int or list of int
        Sweeps of coordinate descent.
    statistics_ : Moments
        Moments of the columns, then the targets; absent with a working set.
    certificate_ : Certificate
    trace_ : Trace

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from suffice import Lasso
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = Lasso(alpha=0.1).fit(X, y)
    >>> int((model.coef_ != 0).sum())
    7
    >>> round(model.refit(alpha=1.0).score(X, y), 4)
    0.3574
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        name: allowed
        for name, allowed in ElasticNet._parameter_constraints.items()
        if name != "l1_ratio"
    }
    _refit_parameters = ("alpha", "fit_intercept", "positive", "standardize")
    _saved_private = ("_sweeps", "_gaps")
    dual_gap_, sparse_coef_ = property(dual_gap), property(sparse_coef)
    _strength = strength
    _minimiser = CoordinateDescentMinimiser()
    _has_leverages = False

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        precompute: Any = False,
        copy_X: bool = True,
        max_iter: int | None = 10_000,
        tol: float = 1e-8,
        warm_start: bool = False,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
        standardize: bool = False,
        solver: str = "auto",
        exact: bool = False,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.standardize = standardize
        self.solver = solver
        self.exact = exact

    def path(
        self, alphas: ArrayLike | None = None, *, eps: float = 1e-3, n_alphas: int = 100
    ) -> PenaltyPath:
        """Solutions for other strengths of the penalty, from the statistic alone.

        Parameters
        ----------
        alphas : array of shape (alphas,), optional
            Not negative.  By default `n_alphas` numbers in geometric progression, from the
            smallest that leaves no coefficient down to `eps` times that.
        eps : float, default=1e-3
        n_alphas : int, default=100

        Returns
        -------
        PenaltyPath
            Arrays `alphas`, `coefs`, `intercepts` and `gaps`.
        """
        return penalty_path(self, alphas, eps, n_alphas)
