"""The inference table of a linear regression.

With p columns of rank r, W the sum of the weights (frequencies) and RSS the weighted sum of
squared residuals, the noise variance is σ² = RSS / (W − r − 1) (without the 1 if there is no
intercept), a coefficient's standard error is σ √C_jj with C the inverse of the scatter, and
t = θ_j / SE has a t distribution if θ_j is zero and the noise is Gaussian.

    log-likelihood = −(W/2) (log(2π RSS/W) + 1),   AIC = −2 log L + 2k,   BIC = −2 log L + k log W

with k = r plus one for the intercept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from suffice.linear.least_squares import solve, spread
from suffice.numerics.double_double import Array, DoubleDouble


@dataclass(frozen=True, eq=False)
class Summary:
    """A linear regression's inference table.

    Arrays over coefficients have shape (coefficients,), the intercept first if there is
    one, or (coefficients, targets) for several targets; the other numbers are floats or
    have shape (targets,).

    Attributes
    ----------
    names : tuple of str
    coef, std_err, t, p, lower, upper : arrays
        Estimate, standard error, t value, two-sided p value, confidence interval.
    level : float
        Coverage of the interval.
    n : float
        Number of rows, or sum of their weights.
    df_model, df_residual : float
    r2, r2_adjusted, f, f_p, sigma2, log_likelihood, aic, bic : float or array
    """

    names: tuple[str, ...]
    targets: tuple[str, ...]
    coef: Array
    std_err: Array
    t: Array
    p: Array
    lower: Array
    upper: Array
    level: float
    n: float
    df_model: float
    df_residual: float
    r2: Any
    r2_adjusted: Any
    f: Any
    f_p: Any
    sigma2: Any
    log_likelihood: Any
    aic: Any
    bic: Any

    def to_frame(self) -> Any:
        """The coefficients as a pandas DataFrame, a row each (needs `suffice[frames]`)."""
        import pandas as pd

        frames = [
            pd.DataFrame(dict(zip(_COLUMNS, columns, strict=True)), index=list(self.names))
            for columns in self._by_target()
        ]
        if self.coef.ndim == 1:
            return frames[0]
        return pd.concat(frames, keys=list(self.targets), names=["target", None])

    def _by_target(self) -> list[list[Array]]:
        columns = [self.coef, self.std_err, self.t, self.p, self.lower, self.upper]
        if self.coef.ndim == 1:
            return [columns]
        return [[c[:, k] for c in columns] for k in range(self.coef.shape[1])]

    def __str__(self) -> str:
        return "\n\n".join(self._table(k, columns) for k, columns in enumerate(self._by_target()))

    __repr__ = __str__

    def _table(self, k: int, columns: list[Array]) -> str:
        def at(value: Any) -> float:
            return float(np.atleast_1d(value)[k])

        ends = f"{(1 - self.level) / 2:.4g}", f"{(1 + self.level) / 2:.4g}"
        heads = ["", "coef", "std err", "t", "p", *ends]
        rows = [
            [
                name,
                *(f"{v:.6g}" for v in numbers[:2]),
                f"{numbers[2]:.3f}",
                f"{numbers[3]:.3g}",
                *(f"{v:.6g}" for v in numbers[4:]),
            ]
            for name, *numbers in zip(self.names, *columns, strict=True)
        ]
        widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
        lines = [
            "  ".join(
                cell.ljust(width) if i == 0 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in [heads, *rows]
        ]
        rule = "-" * len(lines[0])
        title = "Linear regression" + (f" of {self.targets[k]}" if self.targets else "")
        facts = [
            f"rows {self.n:g}   residual degrees of freedom {self.df_residual:g}",
            f"R² {at(self.r2):.6g}   adjusted R² {at(self.r2_adjusted):.6g}   "
            f"σ² {at(self.sigma2):.6g}",
            f"F({self.df_model:g}, {self.df_residual:g}) {at(self.f):.6g}   p {at(self.f_p):.3g}",
            f"log L {at(self.log_likelihood):.6g}   AIC {at(self.aic):.6g}   "
            f"BIC {at(self.bic):.6g}",
        ]
        return "\n".join([title, rule, *lines, rule, *facts])


_COLUMNS = ("coef", "std_err", "t", "p", "lower", "upper")


def summarize_fit(model: Any, level: float) -> Summary:
    """The inference table of a fitted `LinearRegression`, from its statistic."""
    equations = model._equations(model.statistics_)
    solution = solve(equations, np.zeros(model.n_features_in_))
    intercept = model._fitted_intercept
    noise = spread(equations, intercept)
    k = equations.y_mean.shape[0]
    estimates = solution.coef.round()
    variances = np.square(noise.root).sum(axis=1)
    # What the data leave open has no standard error.
    variances[np.abs(noise.null_space).sum(axis=1) > 1e-9] = np.nan
    if intercept:
        estimates = np.vstack([solution.intercept.round(), estimates])
        variances = np.concatenate([[noise.intercept], variances])
    W, rank = equations.weight, solution.rank or 0
    df_residual = W - rank - intercept
    rss = solution.residual.round()
    with np.errstate(divide="ignore", invalid="ignore"):
        sigma2 = rss / df_residual if df_residual > 0 else np.full(k, np.nan)
        std_err = np.sqrt(np.outer(variances, sigma2))
        t = estimates / std_err
        p = 2 * stats.t.sf(np.abs(t), df_residual)
        half = stats.t.ppf((1 + level) / 2, df_residual) * std_err
        explained_ss = (equations.total - DoubleDouble.of(rss)).round()
        total = equations.total.round()
        r2 = np.where(total > 0, explained_ss / total, np.nan)
        r2_adjusted = 1 - (1 - r2) * (W - intercept) / (df_residual if df_residual > 0 else np.nan)
        f = (explained_ss / rank) / sigma2 if rank else np.full(k, np.nan)
        log_likelihood = -W / 2 * (np.log(2 * np.pi * rss / W) + 1)
    parameters = rank + intercept
    several = model.coef_.ndim > 1

    def shaped(values: Array) -> Array:
        return values if several else values[:, 0]

    def number(values: Array) -> Any:
        return values if several else float(values[0])

    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = [f"x{j}" for j in range(model.n_features_in_)]
    return Summary(
        names=(*(("intercept",) if intercept else ()), *map(str, names)),
        targets=tuple(f"y{i}" for i in range(k)) if several else (),
        coef=shaped(estimates),
        std_err=shaped(std_err),
        t=shaped(t),
        p=shaped(p),
        lower=shaped(estimates - half),
        upper=shaped(estimates + half),
        level=level,
        n=W,
        df_model=rank,
        df_residual=df_residual,
        r2=number(r2),
        r2_adjusted=number(r2_adjusted),
        f=number(f),
        f_p=number(stats.f.sf(f, rank, df_residual)),
        sigma2=number(sigma2),
        log_likelihood=number(log_likelihood),
        aic=number(-2 * log_likelihood + 2 * parameters),
        bic=number(-2 * log_likelihood + parameters * np.log(W)),
    )
