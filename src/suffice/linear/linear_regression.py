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
from scipy import sparse, stats
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from suffice.linear.least_squares import spread
from suffice.linear.model import LeastSquaresModel
from suffice.linear.summary import Summary, summarize_fit
from suffice.numerics.double_double import Array


class LinearRegression(LeastSquaresModel):
    """Ordinary (weighted) least squares, to as many digits as the data determine.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether the model has a constant term.
    copy_X : bool, default=True
        Accepted for compatibility: the input is never overwritten.
    tol : float, default=1e-8
        Relative gradient at which conjugate gradients stop.  They are used only where there
        are more columns and rows than any direct method can hold.
    n_jobs : int, optional
        Threads; by default what `suffice.config` says.  Does not change the result.
    positive : bool, default=False
        Not supported: True raises.
    exact : bool, default=False
        Keep the statistic in double-double from the start, so that `forget` has digits to
        spare.  Takes about eight times as long.

    Attributes
    ----------
    coef_ : array of shape (columns,) or (targets, columns)
    intercept_ : float or array of shape (targets,)
    rank_ : int
        Number of independent columns; below the number of columns, the solution of
        smallest norm was taken.
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
        "exact": ["boolean"],
    }
    _refit_parameters = ("fit_intercept",)

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        tol: float = 1e-8,
        n_jobs: int | None = None,
        positive: bool = False,
        exact: bool = False,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.tol = tol
        self.n_jobs = n_jobs
        self.positive = positive
        self.exact = exact

    def _alphas(self, n_targets: int) -> Array:
        return np.zeros(n_targets)

    def summary(self, level: float = 0.95) -> Summary:
        """The fit as a statistician reads it.

        Parameters
        ----------
        level : float, default=0.95
            Coverage of the confidence intervals.

        Returns
        -------
        Summary
            Prints as a table; `to_frame()` gives the coefficients as a data frame.
        """
        check_is_fitted(self)
        return summarize_fit(self, _checked_level(level))

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
        fit = summarize_fit(self, _checked_level(level))
        equations = self._equations(self.statistics_)
        noise = spread(equations, self._fitted_intercept)
        root, open_directions = noise.root, noise.null_space
        centre = equations.x_mean.round()
        constant = 1 / equations.weight if self._fitted_intercept else 0.0
        constant += kind == "prediction"
        width = stats.t.ppf((1 + level) / 2, fit.df_residual) * np.sqrt(fit.sigma2)

        def interval(rows: Any) -> NDArray[np.float64]:
            middle = np.asarray(rows @ self.coef_.T + self.intercept_)
            leverage = np.square(rows @ root - centre @ root).sum(axis=1)
            # A row with a part along which the data say nothing has no interval.
            away = np.abs(rows @ open_directions - centre @ open_directions).sum(axis=1)
            leverage[away > 1e-9 * (np.sqrt(row_squares(rows)) + np.linalg.norm(centre))] = np.nan
            half = np.multiply.outer(np.sqrt(constant + leverage), width)
            half = half.reshape(middle.shape)
            return np.stack([middle - half, middle + half], axis=1)

        return self._apply(X, interval)


def row_squares(rows: Any) -> Array:
    """Sums of squares of the rows of an array or CSR matrix."""
    squares = rows.multiply(rows) if sparse.issparse(rows) else np.square(rows, dtype=np.float64)
    return np.asarray(squares.sum(axis=1)).ravel()


def _checked_level(level: float) -> float:
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level!r}")
    return float(level)
