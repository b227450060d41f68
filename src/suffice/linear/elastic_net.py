"""Elastic net: least squares with a penalty that makes coefficients zero.

    minimise over θ, b:   (1/2W) Σ wᵢ (yᵢ − θ·xᵢ − b)² + α (ρ ‖θ‖₁ + ½ (1 − ρ) ‖θ‖²),     W = Σ wᵢ

The squared error is a mean here, as in scikit-learn, while `Ridge` has a sum: its α is W times as
large for the same penalty.  The centred moments are sufficient, so the path of all α costs one
pass over the rows.  Where there are more columns than rows, or more than a matrix of columns by
columns can hold, a working set of columns takes the moments' place.

Reference: Zou and Hastie, "Regularization and variable selection via the elastic net" (2005).
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions

from suffice.linear.lasso_solvers.fit import (
    CoordinateDescentMinimiser,
    dual_gap,
    sparse_coef,
    strength,
)
from suffice.linear.lasso_solvers.path import PenaltyPath, penalty_path
from suffice.linear.least_squares.base import LeastSquaresModel


class ElasticNet(LeastSquaresModel):
    """Linear regression with an absolute and a squared penalty on the coefficients.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty, not negative.  The squared error is a mean: with `l1_ratio=0`,
        `Ridge(alpha=a)` is the same as `alpha=a / rows`.
    l1_ratio : float, default=0.5
        ρ, the share of the absolute penalty: 1 is the lasso, 0 a ridge.
    fit_intercept : bool, default=True
        Whether the model has a constant term, which is not penalised.
    precompute : bool or array, default=False
        Accepted for compatibility: the products of the columns are the statistic.
    max_iter : int, default=10000
        Most sweeps of coordinate descent over a working set.
    copy_X : bool, default=True
        Accepted for compatibility: the input is never overwritten.
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
    >>> from suffice import ElasticNet
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ElasticNet(alpha=0.01, l1_ratio=0.9).fit(X, y)
    >>> round(model.score(X, y), 4)
    0.4906
    >>> model.path(n_alphas=20).coefs.shape
    (20, 10)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "fit_intercept": ["boolean"],
        "precompute": ["boolean", "array-like"],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "copy_X": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "warm_start": ["boolean"],
        "positive": ["boolean"],
        "random_state": ["random_state"],
        "selection": [StrOptions({"cyclic", "random"})],
        "standardize": ["boolean"],
        "solver": [StrOptions({"auto", "moments", "working_set"})],
        "exact": ["boolean"],
    }
    _refit_parameters: ClassVar[tuple[str, ...]] = (
        "alpha", "l1_ratio", "fit_intercept", "positive", "standardize",
    )  # fmt: skip
    _saved_private = ("_sweeps", "_gaps")
    dual_gap_, sparse_coef_ = property(dual_gap), property(sparse_coef)
    _strength = strength
    _minimiser = CoordinateDescentMinimiser()
    _has_leverages = False

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        precompute: Any = False,
        max_iter: int | None = 10_000,
        copy_X: bool = True,
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
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.copy_X = copy_X
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
