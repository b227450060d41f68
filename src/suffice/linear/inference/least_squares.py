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

Where weights are precisions, the row i has the noise variance σ²/wᵢ.  Coefficients, RSS and T are
the same; the number n of rows stands for W in all else, and ½ Σ log wᵢ is added to the
log-likelihood.  The moments do not tell it: it takes a pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse, stats

from suffice.fitting.regression import as_columns
from suffice.linear.inference.hypothesis_tests import wald
from suffice.linear.inference.sandwich import Bread, RowScores, check_weight, estimated
from suffice.linear.inference.summary import Summary, column_names, target_name
from suffice.linear.inference.uncertainty import Uncertainty, without_noise
from suffice.linear.least_squares.normal_equations import NormalEquations
from suffice.linear.least_squares.solve import LeastSquaresSolution, solve
from suffice.linear.least_squares.spread import CoefficientSpread, spread
from suffice.numerics.double_double import Array, DoubleDouble
from suffice.sources import Block, Source
from suffice.statistics.sums import Sums

FOOTER = """\
rows {n:g}   residual degrees of freedom {df_residual:g}
R² {r2:.6g}   adjusted R² {r2_adjusted:.6g}   σ² {sigma2:.6g}
F({df_model:g}, {uncertainty.df:g}) {f:.6g}   p {f_p:.3g}
log L {log_likelihood:.6g}   AIC {aic:.6g}   BIC {bic:.6g}"""


def summarize_fit(
    model: Any,
    level: float,
    cov: str = "nonrobust",
    source: Source | None = None,
    clusters: Any = None,
    weights: str = "frequency",
) -> Summary:
    """The inference table of a fitted `LinearRegression`.

    Parameters
    ----------
    model : LinearRegression
    level : float
    cov : str
        The covariance, see `suffice.linear.inference.sandwich`.
    source : Source, optional
        The rows of the fit, for a covariance that is not "nonrobust", and for the likelihood
        where weights are precisions.
    clusters : optional
    weights : {"frequency", "precision"}
    """
    if model.positive:
        raise ValueError(
            "with positive=True coefficients end at zero, and standard errors, tests and intervals "
            "of least squares do not hold: refit with positive=False, or resample the rows"
        )
    equations = model._equations(model.statistics_)
    n, log_weights = _rows(model, cov, source, weights, equations.weight)
    solution = solve(equations, np.zeros(model.n_features_in_))
    intercept, several = model._fitted_intercept, model.coef_.ndim > 1
    noise = spread(equations, intercept)
    rank = solution.rank or 0
    df_residual = n - rank - intercept
    numbers = _goodness(equations, solution, rank, intercept, n)
    numbers["log_likelihood"] = numbers["log_likelihood"] + log_weights / 2
    bread = _bread(model, equations, solution, noise)
    known = estimated(cov, bread, source, model._pass, clusters, df_residual, numbers["sigma2"])
    if cov != "nonrobust":
        numbers["f"] = _robust_f(equations, known, solution, noise)
        numbers["f_p"] = stats.f.sf(numbers["f"], rank, known.df)
    estimates = solution.coef.round()
    if intercept:
        estimates = np.vstack([solution.intercept.round(), estimates])
    shaped: dict[str, Any] = {k: v if several else float(v[0]) for k, v in numbers.items()}
    return Summary(
        "linear regression",
        column_names(model, intercept),
        estimates if several else estimates[:, 0],
        known,
        level,
        FOOTER,
        target=target_name(model),
        targets=_targets(model, estimates.shape[1]) if several else (),
        n=n,
        df_model=rank,
        n_parameters=rank + intercept,
        notes=tuple(
            _notes(weights, model.statistics_.count, equations.weight, df_residual, log_weights)
        ),
        **shaped,
    )


def _rows(
    model: Any, cov: str, source: Source | None, weights: str, W: float
) -> tuple[float, float]:
    """The number of rows by what their weights mean, and Σ log w; NaN where that takes the rows."""
    if weights == "frequency":
        return W, 0.0
    if weights != "precision":
        raise ValueError(f"weights must be 'frequency' or 'precision', got {weights!r}")
    if cov != "nonrobust":
        raise ValueError(
            f"cov={cov!r} takes weights as frequencies: use weights='frequency', or "
            "cov='nonrobust' with weights='precision'"
        )
    count = float(model.statistics_.count)
    if source is None:
        return count, np.nan
    total, logs = model._pass(source, _log_weights).values[0]
    check_weight(total, W)
    return count, float(logs)


def _log_weights(block: Block) -> Sums:
    """Σ w and Σ log w of the rows that have a weight."""
    weight = np.ones(block.n_rows) if block.weight is None else block.weight[block.weight > 0]
    return Sums((np.array([weight.sum(), np.log(weight).sum()]),))


def _notes(
    weights: str, count: int, W: float, df_residual: float, log_weights: float
) -> Iterator[str]:
    """What a reader of the table should know."""
    if not df_residual > 0:
        yield "no degrees of freedom are left over: the noise variance is not known"
    if weights == "frequency" and W < count * (1 - 1e-12):
        yield (
            f"the weights of {count} rows add up to {W:g}: as frequencies they stand for fewer "
            "rows than there are; for weights ∝ 1/variance use summary(weights='precision')"
        )
    if np.isnan(log_weights):
        yield (
            "log L, AIC and BIC need the weights of the rows: "
            "summary(weights='precision', X=X, y=y, sample_weight=weight)"
        )


def _targets(model: Any, n: int) -> tuple[str, ...]:
    """What several targets are called."""
    return getattr(model, "target_names_in_", tuple(f"y{i}" for i in range(n)))


def _goodness(
    equations: NormalEquations,
    solution: LeastSquaresSolution,
    rank: int,
    intercept: bool,
    W: float,
) -> dict[str, Any]:
    """The numbers below the table, an entry for each target; W counts the rows."""
    rss, total = solution.residual.round(), equations.total.round()
    nothing = np.full(len(rss), np.nan)
    df = W - rank - intercept
    with np.errstate(divide="ignore", invalid="ignore"):
        sigma2 = rss / df if df > 0 else nothing
        explained_ss = (equations.total - DoubleDouble.of(rss)).round()
        r2 = np.where(total > 0, explained_ss / total, np.nan)
        f = (explained_ss / rank) / sigma2 if rank else nothing
        return {
            "r2": r2,
            "r2_adjusted": 1 - (1 - r2) * (W - intercept) / (df if df > 0 else np.nan),
            "f": f,
            "f_p": stats.f.sf(f, rank, df),
            "sigma2": sigma2,
            "log_likelihood": -W / 2 * (np.log(2 * np.pi * rss / W) + 1),
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
