"""The inference table of any linear model, for any covariance of its estimates.

A coefficient's standard error is the root of its variance; θ / SE has a t distribution, or a
normal one where the degrees of freedom are infinite, if the coefficient is zero.

    AIC = −2 log L + 2k,      BIC = −2 log L + k log W

with k parameters and the sum W of the weights, which are frequencies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats
from sklearn.utils.validation import check_is_fitted

from suffice.engines.workers import one_blas_thread
from suffice.linear.inference.hypothesis_tests import (
    LikelihoodRatioTest,
    WaldTest,
    contrasts,
    likelihood_ratio,
    wald,
)
from suffice.linear.inference.sandwich import checked_kind
from suffice.linear.inference.uncertainty import Uncertainty
from suffice.numerics.double_double import Array

PENALISED = (
    "penalised: the standard errors are deviations of the posterior under a Gaussian prior "
    "(Laplace's approximation); the p values test nothing"
)
"""Note of a fit that does not maximise the likelihood."""

UNDETERMINED = (
    "nan: the rows do not determine these coefficients, as columns depend on each other or do not "
    "vary; of all solutions one of small norm is shown"
)
"""Note of a fit that is not the only one."""

COLUMNS = ("coef", "std_err", "ratio", "p", "lower", "upper")
FORMATS = (".6g", ".6g", ".3f", ".3g", ".6g", ".6g")


class Summary:
    """A linear model's inference table.

    Arrays over coefficients have shape (coefficients,), the intercept first if there is
    one, or (coefficients, targets) for several targets or classes; the other numbers are floats
    or have shape (targets,).

    Parameters
    ----------
    kind : str
        The model; likelihoods of different ones are not compared.
    names, targets, uncertainty, level, n, df_model, n_parameters, log_likelihood, notes
        See the attributes.
    estimates : array of shape (coefficients,) or (coefficients, targets)
        With an `uncertainty` of each target, or of all together, one after the other.
    footer : str
        What is printed below the table: numbers by their names, in the syntax of `str.format`.
    target : str
        What the title calls the target, or the class of it, that all of the table is about.
    detail : str
        What the title says beside the kind.
    target_kind : str
        What a target is called.
    **numbers
        What else the kind of model has to tell; each becomes an attribute.

    Attributes
    ----------
    names : tuple of str
    targets : tuple of str
        What the columns of two-dimensional arrays stand for, targets by their names where these
        are known; empty if there is one only.
    coef, std_err, ratio, p, lower, upper : arrays
        Estimate, standard error, their ratio (also as `t` or `z`), two-sided p value,
        confidence interval.
    level : float
        Coverage of the interval.
    uncertainty : Uncertainty
        The covariance of the estimates, and how it was found.
    n : float
        Sum of the rows' weights; their number where weights are precisions.
    df_model, df_residual : float
        Independent coefficients without the intercept; rows less all parameters.
    n_parameters : float
        Parameters that the likelihood was maximised over, as AIC counts them.
    log_likelihood, aic, bic : float or array
    notes : tuple of str
        What a reader should know.
    r2, r2_adjusted, f, f_p, sigma2 : float or array
        Of linear regressions: shares of the variance explained, the F test that all
        coefficients but the intercept are zero (under the table's covariance), and the noise
        variance.
    positive : str
        Of logistic regressions, as are the following: the class whose log odds the
        coefficients give, where there is one predictor only.
    null_log_likelihood, r2_mcfadden : float
    lr, lr_p : float
        The likelihood-ratio test against the classes' shares alone.
    deviance : float
        Of logistic regressions and generalised linear models.
    family, link : str
        Of generalised linear models, as are the following.
    null_deviance, pearson_chi2, dispersion : float
    """

    def __init__(
        self,
        kind: str,
        names: tuple[str, ...],
        estimates: Array,
        uncertainty: Uncertainty,
        level: float,
        footer: str,
        *,
        n: float,
        df_model: float,
        n_parameters: float,
        log_likelihood: Any,
        targets: tuple[str, ...] = (),
        target_kind: str = "target",
        target: str = "",
        detail: str = "",
        notes: tuple[str, ...] = (),
        **numbers: Any,
    ) -> None:
        self._kind, self._target, self._detail, self._footer = kind, target, detail, footer
        self._target_kind, self.targets, self.names = target_kind, targets, names
        self.notes = (UNDETERMINED, *notes) if uncertainty.is_open.any() else notes
        self.uncertainty, self.coef = uncertainty, estimates
        self.std_err = np.sqrt(uncertainty.variances()).reshape(estimates.T.shape).T
        with np.errstate(divide="ignore", invalid="ignore"):
            self.ratio = estimates / self.std_err
        self.p = 2 * stats.t.sf(np.abs(self.ratio), uncertainty.df)
        half = stats.t.ppf((1 + level) / 2, uncertainty.df) * self.std_err
        self.lower, self.upper, self.level = estimates - half, estimates + half, level
        self.n, self.df_model, self.df_residual = n, df_model, n - n_parameters
        self.n_parameters, self.log_likelihood = n_parameters, log_likelihood
        self.aic = -2 * log_likelihood + 2 * n_parameters
        self.bic = -2 * log_likelihood + n_parameters * float(np.log(n))
        vars(self).update(numbers)

    if TYPE_CHECKING:  # the numbers that only some models have

        def __getattr__(self, name: str) -> Any: ...

    @property
    def letter(self) -> str:
        """What the ratio of estimate and standard error is called."""
        return "t" if np.isfinite(self.uncertainty.df) else "z"

    t = z = property(lambda self: self.ratio, doc="The ratio, by the name of its distribution.")

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
        if other._kind != self._kind:
            raise TypeError(
                f"a {self._kind} cannot be compared with a {other._kind}: the likelihoods are of "
                "different models"
            )
        if PENALISED in self.notes + other.notes:
            raise ValueError(
                "a likelihood ratio compares maxima of the likelihood, and a penalised fit is none"
            )
        if np.isnan(np.append(self.log_likelihood, other.log_likelihood)).any():
            raise ValueError(
                "a table without a log-likelihood cannot be compared; its notes say why"
            )
        return likelihood_ratio(self, other)

    # --- for people -------------------------------------------------------------------------

    def to_frame(self) -> Any:
        """The coefficients as a pandas DataFrame, a row each (needs `suffice[frames]`)."""
        import pandas as pd

        heads = [self.letter if name == "ratio" else name for name in COLUMNS]
        frames = [
            pd.DataFrame(dict(zip(heads, columns, strict=True)), index=list(self.names))
            for columns in self._by_target()
        ]
        if self.coef.ndim == 1:
            return frames[0]
        return pd.concat(frames, keys=list(self.targets), names=[self._target_kind, None])

    def _by_target(self) -> Array:
        """The columns of each target's table, of shape (targets, columns, coefficients)."""
        columns = np.stack([getattr(self, name) for name in COLUMNS])
        return columns[None] if columns.ndim == 2 else np.moveaxis(columns, 2, 0)

    def __repr__(self) -> str:
        tables = [self._table(k, columns) for k, columns in enumerate(self._by_target())]
        notes = [f"covariance: {self.uncertainty.note}"] if self.uncertainty.note else []
        return "\n".join(["\n\n".join(tables), *notes, *self.notes])

    def _table(self, k: int, columns: Array) -> str:
        ends = f"{(1 - self.level) / 2:.4g}", f"{(1 + self.level) / 2:.4g}"
        rows = [["", "coef", "std err", self.letter, "p", *ends]]
        for name, numbers in zip(self.names, columns.T, strict=True):
            rows.append([name, *map(format, numbers, FORMATS)])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])
            for row in rows
        ]
        rule = "-" * len(lines[0])
        what = " = ".join(filter(None, (self._target, *self.targets[k : k + 1])))
        title = self._kind.capitalize() + (f" of {what}" if what else "") + self._detail
        return "\n".join([title, rule, *lines, rule, *self._facts(k)])

    def _facts(self, k: int) -> list[str]:
        """Lines below the k-th table: of its target, or below the last one of all targets."""
        if np.ndim(self.log_likelihood):
            values = {
                name: value[..., k] if isinstance(value, np.ndarray) else value
                for name, value in vars(self).items()
            }
        elif k < len(self.targets) - 1:
            return []
        else:
            values = vars(self)
        lines = [_told(line, values) for line in self._footer.splitlines()]
        return [line for line in lines if line]


def _told(line: str, values: Mapping[str, Any]) -> str:
    """A line of facts, without those that are not known."""
    facts = [fact.format(**values) for fact in line.split("   ")]
    return "   ".join(fact for fact in facts if not fact.endswith(" nan"))


def _single(test: WaldTest) -> WaldTest:
    """The test of one equation, without the axis of equations."""
    by_row = {name: getattr(test, name)[:, 0] for name in ("estimate", "std_err", "t", "t_p")}
    return replace(test, **by_row, statistic=float(test.statistic[0]), p=float(test.p[0]))


def summary_of(
    model: Any,
    summarize: Callable[..., Summary],
    level: float,
    cov: str,
    rows: tuple[Any, Any, Any],
    clusters: Any,
    **options: Any,
) -> Summary:
    """The inference table of a fitted model.

    Parameters
    ----------
    model : Estimator
    summarize : function of the model, the level, the covariance, the source and the clusters
    level : float
    cov : str
        See `suffice.linear.inference.sandwich`.
    rows : X, y and weights, or None each
        Those of the fit.
    clusters : optional
    **options
        What else `summarize` takes.
    """
    check_is_fitted(model)
    level, cov = checked_level(level), checked_kind(cov, rows[0], clusters)
    source = None if rows[0] is None else model._training_source(*rows, reset=False)
    with one_blas_thread():
        return summarize(model, level, cov, source, clusters, **options)


def column_names(model: Any, intercept: bool) -> tuple[str, ...]:
    """The coefficients' names: the intercept first, then the columns."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = [f"x{j}" for j in range(model.n_features_in_)]
    return (*(("intercept",) if intercept else ()), *map(str, names))


def target_name(model: Any) -> str:
    """What a model's only target is called, "" if nobody said."""
    names: tuple[str, ...] = getattr(model, "target_names_in_", ())
    return names[0] if len(names) == 1 else ""


def checked_level(level: float) -> float:
    """The coverage of an interval, if it is one."""
    if not isinstance(level, Real) or not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level!r}")
    return float(level)
