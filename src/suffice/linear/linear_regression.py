"""Linear regression by least squares.

    minimise over θ, b:   ½ Σ wᵢ (θ·xᵢ + b − yᵢ)²

The normal equations, from the centred moments: Sxx θ = Sxy and b = ȳ − θ·x̄.  Under
Gaussian noise this is the maximum of the likelihood, and `summary` says how well the data
determine each coefficient.

Reference: Hastie, Tibshirani and Friedman, "The Elements of Statistical Learning", 3.2.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from suffice.linear.inference.least_squares import summarize_fit
from suffice.linear.inference.summary import Summary, checked_level, summary_of
from suffice.linear.least_squares.base import LeastSquaresModel
from suffice.linear.least_squares.spread import spread
from suffice.linear.solvers.gradient_descent import CONSTRAINTS, SOLVERS
from suffice.sources import Source


class LinearRegression(LeastSquaresModel):
    """Ordinary (weighted) least squares, to as many digits as the data determine.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether the model has a constant term.
    copy_X : bool, default=True
        Accepted for compatibility: the input is never overwritten.
    tol : float, default=1e-8
        Relative gradient at which gradient methods stop: "gd", "sgd", and conjugate gradients,
        which are used only where there are more columns and rows than any direct method can
        hold.
    n_jobs : int, optional
        Threads; by default what `suffice.config` says.  Does not change the result.
    positive : bool, default=False
        No coefficient may be negative.  Needs the moments of all columns.
    solver : {"auto", "gd", "sgd"}, default="auto"
        The normal equations; or gradient descent by all rows at once ("gd") or by a few
        ("sgd"), which keep no statistic.
    max_iter : int, optional
        Most passes of "gd" (by default 10,000) or "sgd" (100).
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
    random_state : int, RandomState or None, default=None
        Of the order in which "sgd" visits the rows.
    exact : bool, default=False
        Keep the statistic in double-double from the start, so that `forget` has digits to
        spare.  Takes about eight times as long.

    Attributes
    ----------
    coef_ : array of shape (columns,) or (targets, columns)
    intercept_ : float or array of shape (targets,)
    rank_ : int
        Number of independent columns; below the number of columns, the solution of
        smallest norm was taken.  Absent with `positive`.
    statistics_ : Moments
        Moments of the columns, then the targets.
    certificate_ : Certificate
    trace_ : Trace

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from suffice import LinearRegression
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LinearRegression().fit(X, y)
    >>> round(model.score(X, y), 4)
    0.5177
    >>> model.certificate_.holds
    True
    >>> bool(model.certificate_.digits > 12)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "fit_intercept": ["boolean"],
        "copy_X": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_jobs": [None, Integral],
        "positive": ["boolean"],
        "solver": [StrOptions({"auto", *SOLVERS})],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        **CONSTRAINTS,
        "random_state": ["random_state"],
        "exact": ["boolean"],
    }
    _refit_parameters = ("fit_intercept", "positive")

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        tol: float = 1e-8,
        n_jobs: int | None = None,
        positive: bool = False,
        solver: str = "auto",
        max_iter: int | None = None,
        batch_size: int = 1,
        learning_rate: str = "auto",
        eta0: float | None = None,
        power_t: float = 0.5,
        momentum: float = 0.0,
        random_state: Any = None,
        exact: bool = False,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.tol = tol
        self.n_jobs = n_jobs
        self.positive = positive
        self.solver = solver
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.eta0 = eta0
        self.power_t = power_t
        self.momentum = momentum
        self.random_state = random_state
        self.exact = exact

    def _shape_of_target(self, source: Source) -> tuple[int, ...]:
        return source.target_shape  # here one column is a table of one, as in scikit-learn

    def summary(
        self,
        level: float = 0.95,
        *,
        cov: str = "nonrobust",
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        clusters: Any = None,
        weights: str = "frequency",
    ) -> Summary:
        """The fit as a statistician reads it.

        Parameters
        ----------
        level : float, default=0.95
            Coverage of the confidence intervals.
        cov : {"nonrobust", "HC0", "HC1", "HC2", "HC3", "cluster"}, default="nonrobust"
            Where standard errors come from: from the statistic, if all errors have one variance;
            from the rows, if each row has its own, or rows of one cluster are not independent.
        X, y, sample_weight : optional
            The rows of the fit (or a Source as `X`), for all but "nonrobust": one more pass.
        clusters : array of shape (rows,), str or Source, optional
            For "cluster": a label for each row, the name of a column of `X`, or a source
            whose target are the labels.  Their sums are kept: clusters × coefficients numbers.
        weights : {"frequency", "precision"}, default="frequency"
            What weights in the fit mean: a row of weight 3 is three rows; or it is one row whose
            noise has a third of the variance, as in weighted least squares.  The likelihood
            of the latter needs the rows, `X`, `y` and `sample_weight`.

        Returns
        -------
        Summary
            Prints as a table; `to_frame()` gives the coefficients as a data frame,
            `wald_test` and `likelihood_ratio_test` test hypotheses.
        """
        rows = X, y, sample_weight
        return summary_of(self, summarize_fit, level, cov, rows, clusters, weights=weights)

    def predict_interval(
        self, X: Any, level: float = 0.95, *, kind: str = "prediction"
    ) -> NDArray[np.float64]:
        """Intervals for new rows under Gaussian noise.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source, of shape (rows, columns)
        level : float, default=0.95
            Coverage.
        kind : {"prediction", "mean"}, default="prediction"
            Where a new target will lie, or where the mean of such targets lies.

        Returns
        -------
        array of shape (rows, 2) or (rows, 2, targets)
            Lower and upper ends.
        """
        if kind not in ("prediction", "mean"):
            raise ValueError(f'kind must be "prediction" or "mean", got {kind!r}')
        check_is_fitted(self)
        fit = summarize_fit(self, checked_level(level))
        equations = self._equations(self.statistics_)
        noise = spread(equations, self._fitted_intercept)
        centre = equations.x_mean.round()
        constant = 1 / equations.weight if self._fitted_intercept else 0.0
        constant += kind == "prediction"
        width = stats.t.ppf((1 + level) / 2, fit.df_residual) * np.sqrt(fit.sigma2)

        def interval(rows: Any) -> NDArray[np.float64]:
            middle = np.asarray(rows @ self.coef_.T + self.intercept_)
            leverage, is_open = noise.leverages(rows, centre)
            leverage[is_open] = np.nan  # such a row has no interval
            half = np.multiply.outer(np.sqrt(constant + leverage), width)
            half = half.reshape(middle.shape)
            return np.stack([middle - half, middle + half], axis=1)

        return self._apply(X, interval)
