"""The inference table of a linear model, for any covariance of its estimates.

A coefficient's standard error is the root of its variance; θ / SE has a t distribution, or a
normal one where the degrees of freedom are infinite, if the coefficient is zero.

    AIC = −2 log L + 2k,      BIC = −2 log L + k log W

with k parameters and the sum W of the weights, which are frequencies.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from scipy import stats

from suffice.linear.inference.hypothesis_tests import (
    LikelihoodRatioTest,
    WaldTest,
    contrasts,
    likelihood_ratio,
    wald,
)
from suffice.linear.inference.uncertainty import Uncertainty
from suffice.numerics.double_double import Array

PENALISED = (
    "penalised: the standard errors are deviations of the posterior under a Gaussian prior "
    "(Laplace's approximation); the p values test nothing"
)
"""Note of a fit that does not maximise the likelihood."""

_COLUMNS = ("coef", "std_err", "{}", "p", "lower", "upper")


@dataclass(frozen=True, eq=False, kw_only=True)
class Summary:
    """A linear model's inference table.

    Arrays over coefficients have shape (coefficients,), the intercept first if there is
    one, or (coefficients, targets) for several targets or classes; the other numbers are floats
    or have shape (targets,).

    Attributes
    ----------
    names : tuple of str
    targets : tuple of str
        What the columns of two-dimensional arrays stand for; empty if there is one only.
    coef, std_err, ratio, p, lower, upper : arrays
        Estimate, standard error, their ratio (the t or z value), two-sided p value,
        confidence interval.
    level : float
        Coverage of the interval.
    uncertainty : Uncertainty
        The covariance of the estimates, and how it was found.
    n : float
        Number of rows, or sum of their weights.
    df_model, df_residual : float
        Independent coefficients without the intercept; rows less all parameters.
    n_parameters : float
        Parameters that the likelihood was maximised over, as AIC counts them.
    log_likelihood, aic, bic : float or array
    notes : tuple of str
        What a reader should know.
    """

    names: tuple[str, ...]
    targets: tuple[str, ...]
    coef: Array
    std_err: Array
    ratio: Array
    p: Array
    lower: Array
    upper: Array
    level: float
    uncertainty: Uncertainty
    n: float
    df_model: float
    df_residual: float
    n_parameters: float
    log_likelihood: Any
    aic: Any
    bic: Any
    notes: tuple[str, ...] = ()

    @property
    def letter(self) -> str:
        """What the ratio of estimate and standard error is called."""
        return "t" if np.isfinite(self._df) else "z"

    @property
    def _df(self) -> float:
        return self.uncertainty.df

    @property
    def cov(self) -> str:
        """The kind of the covariance: "nonrobust", "HC0" … "HC3" or "cluster"."""
        return self.uncertainty.kind

    @property
    def covariance(self) -> Array:
        """Covariance of the coefficients; NaN where the data leave them open.

        Of shape (coefficients, coefficients), with one such matrix for each of several
        targets; the coefficients of several classes are in one matrix, class after class.
        """
        found = self.uncertainty.covariance()
        return found if len(found) > 1 else found[0]

    # --- tests ------------------------------------------------------------------------------

    def wald_test(self, R: Any, value: Any = 0.0) -> WaldTest:
        """Test linear hypotheses about the coefficients, R θ = value.

        Parameters
        ----------
        R : str, list of str, or array of shape (rows, coefficients)
            Names of coefficients that are zero under the hypothesis, or numbers, in the order
            of the table; for several classes, in all of them, class after class.
        value : float or array of shape (rows,), default=0

        Returns
        -------
        WaldTest
        """
        estimates = np.atleast_2d(self.coef.T)
        together = len(estimates) // len(self.uncertainty.root)
        estimates = estimates.reshape(len(self.uncertainty.root), -1)
        test = wald(estimates, self.uncertainty, contrasts(R, self.names, together), value)
        return test if len(estimates) > 1 else _single(test)

    def likelihood_ratio_test(self, other: Any) -> LikelihoodRatioTest:
        """Compare with a model that is nested in this one.

        Parameters
        ----------
        other : Summary, or a fitted model that has a summary
            Of the same rows and target, with fewer parameters.

        Returns
        -------
        LikelihoodRatioTest
        """
        other = other if isinstance(other, Summary) else other.summary()
        if type(other) is not type(self):
            raise TypeError(
                f"a {type(self).__name__} cannot be compared with a {type(other).__name__}: the "
                "likelihoods are of different models"
            )
        for one in (self, other):
            one._check_likelihood()
        return likelihood_ratio(
            (self.log_likelihood, self.n_parameters, self.n),
            (other.log_likelihood, other.n_parameters, other.n),
        )

    def _check_likelihood(self) -> None:
        if PENALISED in self.notes:
            raise ValueError(
                "a likelihood ratio compares maxima of the likelihood, and a penalised fit is none"
            )

    # --- for people -------------------------------------------------------------------------

    def to_frame(self) -> Any:
        """The coefficients as a pandas DataFrame, a row each (needs `suffice[frames]`)."""
        import pandas as pd

        heads = [head.format(self.letter) for head in _COLUMNS]
        frames = [
            pd.DataFrame(dict(zip(heads, columns, strict=True)), index=list(self.names))
            for columns in self._by_target()
        ]
        if self.coef.ndim == 1:
            return frames[0]
        return pd.concat(frames, keys=list(self.targets), names=[self._target_kind(), None])

    def _target_kind(self) -> str:
        return "target"

    def _title(self) -> str:
        return "Linear model"

    def _facts(self, k: int) -> list[str]:
        """Lines below the table of a target."""
        return []

    def _by_target(self) -> list[list[Array]]:
        columns = [self.coef, self.std_err, self.ratio, self.p, self.lower, self.upper]
        if self.coef.ndim == 1:
            return [columns]
        return [[c[:, k] for c in columns] for k in range(self.coef.shape[1])]

    def __str__(self) -> str:
        tables = [self._table(k, columns) for k, columns in enumerate(self._by_target())]
        notes = [f"covariance: {self.uncertainty.note}"] if self.uncertainty.note else []
        below = "".join(f"\n{note}" for note in (*notes, *self.notes))
        return "\n\n".join(tables) + below

    def __repr__(self) -> str:
        return str(self)

    def _table(self, k: int, columns: list[Array]) -> str:
        ends = f"{(1 - self.level) / 2:.4g}", f"{(1 + self.level) / 2:.4g}"
        heads = ["", "coef", "std err", self.letter, "p", *ends]
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
        title = self._title() + (f" of {self.targets[k]}" if self.targets else "")
        return "\n".join([title, rule, *lines, rule, *self._facts(k)])


def _single(test: WaldTest) -> WaldTest:
    """The test of one equation, without the axis of equations."""
    return replace(
        test,
        estimate=test.estimate[:, 0],
        std_err=test.std_err[:, 0],
        t=test.t[:, 0],
        t_p=test.t_p[:, 0],
        statistic=float(test.statistic[0]),
        p=float(test.p[0]),
    )


def entry(value: Any, k: int) -> float:
    """The number of the k-th target, or the only one."""
    return float(np.atleast_1d(value)[k if np.ndim(value) else 0])


def coefficient_table(estimates: Array, uncertainty: Uncertainty, level: float) -> dict[str, Any]:
    """The columns of a table, as arguments of `Summary`.

    Parameters
    ----------
    estimates : array of shape (coefficients,) or (coefficients, targets)
    uncertainty : Uncertainty
        Of equations by coefficients; or, of all targets together, one after the other.
    level : float
    """
    std_err = np.sqrt(uncertainty.variances()).reshape(estimates.T.shape).T
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = estimates / std_err
    half = stats.t.ppf((1 + level) / 2, uncertainty.df) * std_err
    return {
        "coef": estimates,
        "std_err": std_err,
        "ratio": ratio,
        "p": 2 * stats.t.sf(np.abs(ratio), uncertainty.df),
        "lower": estimates - half,
        "upper": estimates + half,
        "level": level,
        "uncertainty": uncertainty,
    }


def column_names(model: Any, intercept: bool) -> tuple[str, ...]:
    """The coefficients' names: the intercept first, then the columns."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = [f"x{j}" for j in range(model.n_features_in_)]
    return (*(("intercept",) if intercept else ()), *map(str, names))


def checked_level(level: float) -> float:
    """The coverage of an interval, if it is one."""
    if not isinstance(level, Real) or not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level!r}")
    return float(level)
