"""The inference table of a linear regression.

With p columns of rank r, W the sum of the weights (frequencies) and RSS the weighted sum of
squared residuals, the noise variance is σ² = RSS / (W − r − 1) (without the 1 if there is no
intercept).  With x̄ the columns' means, S their scatter and S⁻¹ = R Rᵀ, the estimates' covariance
is σ² T Tᵀ with

        ⎛ 1/√W   −x̄ᵀR ⎞  intercept
    T = ⎝   0      R   ⎠  coefficients

In these coordinates a row's score is its residual times u = (1/√W, Rᵀ(x − x̄)), and its leverage
is ‖u‖².

    log-likelihood = −(W/2) (log(2π RSS/W) + 1)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse, stats

from suffice.fitting.regression import as_columns
from suffice.linear.inference.hypothesis_tests import wald
from suffice.linear.inference.sandwich import Bread, RowScores, robust
from suffice.linear.inference.summary import Summary, coefficient_table, column_names, entry
from suffice.linear.inference.uncertainty import Uncertainty, without_noise
from suffice.linear.least_squares.normal_equations import NormalEquations
from suffice.linear.least_squares.solve import LeastSquaresSolution, solve
from suffice.linear.least_squares.spread import CoefficientSpread, spread
from suffice.numerics.double_double import Array, DoubleDouble
from suffice.sources import Block, Source


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RegressionSummary(Summary):
    """A linear regression's inference table: what every `Summary` has, and the following.

    Attributes
    ----------
    t : array
        Estimate over standard error.
    r2, r2_adjusted, f, f_p, sigma2 : float or array
        Shares of the variance explained, the F test that all coefficients but the intercept
        are zero (under the table's covariance), and the noise variance.
    """

    r2: Any
    r2_adjusted: Any
    f: Any
    f_p: Any
    sigma2: Any

    @property
    def t(self) -> Array:
        return self.ratio

    def _title(self) -> str:
        return "Linear regression"

    def _facts(self, k: int) -> list[str]:
        def at(value: Any) -> float:
            return entry(value, k)

        return [
            f"rows {self.n:g}   residual degrees of freedom {self.df_residual:g}",
            f"R² {at(self.r2):.6g}   adjusted R² {at(self.r2_adjusted):.6g}   "
            f"σ² {at(self.sigma2):.6g}",
            f"F({self.df_model:g}, {self._df:g}) {at(self.f):.6g}   p {at(self.f_p):.3g}",
            f"log L {at(self.log_likelihood):.6g}   AIC {at(self.aic):.6g}   "
            f"BIC {at(self.bic):.6g}",
        ]


def summarize_fit(
    model: Any,
    level: float,
    cov: str = "nonrobust",
    source: Source | None = None,
    clusters: Any = None,
) -> RegressionSummary:
    """The inference table of a fitted `LinearRegression`.

    Parameters
    ----------
    model : LinearRegression
    level : float
    cov : str
        The covariance, see `suffice.linear.inference.sandwich`.
    source : Source, optional
        The rows of the fit, for a covariance that is not "nonrobust".
    clusters : optional
    """
    equations = model._equations(model.statistics_)
    solution = solve(equations, np.zeros(model.n_features_in_))
    intercept, several = model._fitted_intercept, model.coef_.ndim > 1
    noise = spread(equations, intercept)
    rank = solution.rank or 0
    df_residual = equations.weight - rank - intercept
    numbers = _goodness(equations, solution, rank, intercept)
    bread = _bread(model, equations, solution, noise)
    if source is None:
        roots = bread.root * np.sqrt(numbers["sigma2"])[:, None, None]
        known = Uncertainty(roots, bread.null_space, df_residual, reference=bread.root)
    else:
        known = robust(cov, bread, source, model._pass, clusters, df_residual)
        numbers["f"] = _robust_f(equations, known, solution, noise)
    numbers["f_p"] = stats.f.sf(numbers["f"], rank, known.df)
    estimates = solution.coef.round()
    if intercept:
        estimates = np.vstack([solution.intercept.round(), estimates])
    shaped: dict[str, Any] = {k: v if several else float(v[0]) for k, v in numbers.items()}
    return RegressionSummary(
        names=column_names(model, intercept),
        targets=tuple(f"y{i}" for i in range(estimates.shape[1])) if several else (),
        **coefficient_table(estimates if several else estimates[:, 0], known, level),
        n=equations.weight,
        df_model=rank,
        df_residual=df_residual,
        n_parameters=rank + intercept,
        **shaped,
    )


def _goodness(
    equations: NormalEquations, solution: LeastSquaresSolution, rank: int, intercept: bool
) -> dict[str, Any]:
    """The numbers below the table, an entry for each target."""
    W, parameters = equations.weight, rank + intercept
    rss, total = solution.residual.round(), equations.total.round()
    nothing = np.full(len(rss), np.nan)
    df = W - parameters
    with np.errstate(divide="ignore", invalid="ignore"):
        sigma2 = rss / df if df > 0 else nothing
        explained_ss = (equations.total - DoubleDouble.of(rss)).round()
        r2 = np.where(total > 0, explained_ss / total, np.nan)
        log_likelihood = -W / 2 * (np.log(2 * np.pi * rss / W) + 1)
        return {
            "r2": r2,
            "r2_adjusted": 1 - (1 - r2) * (W - intercept) / (df if df > 0 else np.nan),
            "f": (explained_ss / rank) / sigma2 if rank else nothing,
            "sigma2": sigma2,
            "log_likelihood": log_likelihood,
            "aic": -2 * log_likelihood + 2 * parameters,
            "bic": -2 * log_likelihood + parameters * np.log(W),
        }


def _bread(
    model: Any, equations: NormalEquations, solution: LeastSquaresSolution, noise: CoefficientSpread
) -> Bread:
    intercept, W = model._fitted_intercept, equations.weight
    R, coef = noise.root, solution.coef.round()
    spreads = np.sqrt(equations.x_square)[:, None]
    open_directions = noise.null_space * spreads
    open_directions = without_noise(open_directions, np.abs(open_directions).max(axis=0, initial=0))
    null_space = np.where(open_directions != 0, noise.null_space, 0.0)
    root = R
    if intercept:
        root = np.block([[np.full((1, 1), W**-0.5), -noise.centre], [np.zeros((len(R), 1)), R]])
        centre = equations.x_mean.round()
        constant = without_noise(-(centre @ null_space), np.abs(centre) @ np.abs(null_space))
        null_space = np.vstack([constant, null_space])

    def row_scores(block: Block) -> RowScores:
        y, X = as_columns(block.y), block.X
        if sparse.issparse(X):
            # What a sparse column's mean takes from its digits, its zeros have no share in.
            u = X @ R - noise.centre * intercept
            residual = y - (X @ coef + solution.intercept.round() * intercept)
        else:
            X = np.asarray(X, dtype=np.float64) - equations.x_mean.hi
            u = X @ R - equations.x_mean.lo @ R
            residual = (y - equations.y_mean.hi) - equations.y_mean.lo - X @ coef
            residual += equations.x_mean.lo @ coef
        if intercept:
            u = np.hstack([np.full((len(u), 1), W**-0.5), u])
        leverage = np.einsum("ij,ij->i", u, u)
        return RowScores(residual.T[:, :, None] * u, leverage, block.weight)

    return Bread(root, null_space, W, row_scores)


def _robust_f(
    equations: NormalEquations,
    uncertainty: Uncertainty,
    solution: LeastSquaresSolution,
    noise: CoefficientSpread,
) -> Array:
    """The F value of all coefficients, in coordinates in which their scatter is the identity."""
    scatter = equations.A.round() if isinstance(equations.A, DoubleDouble) else equations.A
    first = uncertainty.root.shape[1] - len(scatter)
    R = np.pad(noise.root.T @ scatter, ((0, 0), (first, 0)))
    estimates = np.pad(solution.coef.round().T, ((0, 0), (first, 0)))
    if not len(R):
        return np.full(len(estimates), np.nan)
    determined = replace(uncertainty, null_space=np.zeros((R.shape[1], 0)))
    return np.asarray(wald(estimates, determined, R, 0.0).statistic)
