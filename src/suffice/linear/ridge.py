"""Ridge regression.

    minimise over θ, b:   ½ Σ wᵢ (θ·xᵢ + b − yᵢ)² + (α/2) ‖θ‖²

The centred moments are sufficient: (Sxx + αI) θ = Sxy and b = ȳ − θ·x̄.  It is also the
most probable θ when the noise is Gaussian with variance σ² and θ has the prior
N(0, σ²/α I).  The penalty compares columns, so their units matter; `standardize=True`
penalises σⱼ θⱼ instead of θⱼ, with σⱼ the column's standard deviation.

Reference: Hoerl and Kennard, "Ridge regression" (1970).
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from suffice.linear.least_squares.base import LeastSquaresModel
from suffice.linear.least_squares.many_penalties import checked_alphas
from suffice.linear.least_squares.non_negative import solve_non_negative
from suffice.linear.least_squares.solve import solve
from suffice.linear.solvers.gradient_descent import CONSTRAINTS, SOLVERS
from suffice.numerics.double_double import Array

# One way to the solution serves every name of scikit-learn's: the choice is made by shape and
# precision.
SAME = {"auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"}


class RidgePath(NamedTuple):
    """Ridge solutions along a list of penalties.

    Attributes
    ----------
    alphas : array of shape (alphas,)
    coefs : array of shape (alphas, columns) or (alphas, targets, columns)
    intercepts : array of shape (alphas,) or (alphas, targets)
    digits : array of shape (alphas,)
        Decimal digits guaranteed at each penalty.
    """

    alphas: Array
    coefs: Array
    intercepts: Array
    digits: Array


class Ridge(LeastSquaresModel):
    """Linear regression with a squared penalty on the coefficients.

    Parameters
    ----------
    alpha : float or array of shape (targets,), default=1.0
        Strength of the penalty, not negative; one for each target if wished.
    fit_intercept : bool, default=True
        Whether the model has a constant term, which is not penalised.
    copy_X : bool, default=True
        Accepted for compatibility: the input is never overwritten.
    max_iter : int, optional
        Most conjugate-gradient steps, where those are needed (see `tol`), passes of
        solver="gd" (by default 10,000) or of "sgd" (100).
    tol : float, default=1e-8
        Relative gradient at which gradient methods stop: "gd", "sgd", and conjugate gradients,
        which are used only where there are more columns and rows than any direct method can
        hold.
    solver : str, default="auto"
        Any of scikit-learn's names is accepted; the solution does not depend on it.  "gd" and
        "sgd" are gradient descent by all rows at once, or by a few, which keep no statistic.
    positive : bool, default=False
        No coefficient may be negative.  Needs the moments of all columns.
    random_state : int, RandomState or None, default=None
        Of the order in which "sgd" visits the rows.
    batch_size : int, default=1
        Rows of a step of "sgd"; 1 is the LMS rule.
    learning_rate : {"auto", "constant", "invscaling"}, default="auto"
        How long the steps of "gd" and "sgd" are: see `suffice.linear.solvers.gradient_descent`.
    eta0 : float, optional
        Their first length; by default what the curvature allows.
    power_t : float, default=0.5
        The power of the step's number by which "invscaling" shortens them.
    momentum : float, default=0.0
        Share of the last step that is added to the next.
    standardize : bool, default=False
        Penalise coefficients of columns in units of their standard deviation.  The
        coefficients are reported in the user's units either way.
    exact : bool, default=False
        Keep the statistic in double-double from the start, so that `forget` has digits to
        spare.  Takes about eight times as long.

    Attributes
    ----------
    coef_ : array of shape (columns,) or (targets, columns)
    intercept_ : float or array of shape (targets,)
    rank_ : int
        Number of independent columns of the penalised problem; absent with `positive`.
    statistics_ : Moments
        Moments of the columns, then the targets.
    certificate_ : Certificate
    trace_ : Trace

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from suffice import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = Ridge(alpha=0.1).fit(X, y)
    >>> round(model.score(X, y), 4)
    0.5126
    >>> model.path([0.01, 0.1, 1.0]).coefs.shape
    (3, 10)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, None, closed="left"), np.ndarray, list],
        "fit_intercept": ["boolean"],
        "copy_X": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "solver": [StrOptions({*SAME, *SOLVERS})],
        "positive": ["boolean"],
        "random_state": ["random_state"],
        **CONSTRAINTS,
        "standardize": ["boolean"],
        "exact": ["boolean"],
    }
    _refit_parameters = ("alpha", "fit_intercept", "positive", "standardize")

    def __init__(
        self,
        alpha: float | ArrayLike = 1.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: int | None = None,
        tol: float = 1e-8,
        solver: str = "auto",
        positive: bool = False,
        random_state: Any = None,
        batch_size: int = 1,
        learning_rate: str = "auto",
        eta0: float | None = None,
        power_t: float = 0.5,
        momentum: float = 0.0,
        standardize: bool = False,
        exact: bool = False,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.positive = positive
        self.random_state = random_state
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.eta0 = eta0
        self.power_t = power_t
        self.momentum = momentum
        self.standardize = standardize
        self.exact = exact

    def _alphas(self, n_targets: int) -> Array:
        alpha = np.asarray(self.alpha, dtype=np.float64)
        if alpha.ndim > 1 or (alpha.ndim == 1 and len(alpha) not in (1, n_targets)):
            raise ValueError(
                f"alpha must be one number or one for each of the {n_targets} targets, "
                f"got an array of shape {alpha.shape}"
            )
        if not (np.isfinite(alpha) & (alpha >= 0)).all():
            raise ValueError(f"alpha must be finite and not negative, got {self.alpha!r}")
        return np.broadcast_to(alpha, n_targets).astype(np.float64)

    def _penalty_scale(self, variance: Callable[[], Any]) -> Any:
        return variance() if self.standardize else np.ones(self.n_features_in_)

    def path(self, alphas: ArrayLike) -> RidgePath:
        """Solutions for other penalties, from the statistic alone.

        Parameters
        ----------
        alphas : array of shape (alphas,)
            Not negative.

        Returns
        -------
        RidgePath
            Arrays `alphas`, `coefs`, `intercepts` and `digits`.
        """
        check_is_fitted(self)
        alphas = checked_alphas(alphas)
        equations = self._equations(self.statistics_)
        scale = self._penalty_scale(equations.x_variance)
        solver = solve_non_negative if self.positive else solve
        coefs, intercepts, digits = [], [], []
        for alpha in alphas:
            solution = solver(equations, scale * alpha)
            digits.append(solution.digits)
            coefs.append(solution.coef.round().T.reshape(self.coef_.shape))
            intercepts.append(self._shaped(solution.intercept.round()))
        return RidgePath(alphas, np.array(coefs), np.array(intercepts), np.array(digits))
