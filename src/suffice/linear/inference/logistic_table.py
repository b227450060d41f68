"""Inference about a logistic regression: its likelihood, and the table of its coefficients.

The information is H = Σ wᵢ ℓ″ᵢ ⊗ aᵢaᵢᵀ (observed and expected are one, as the log odds are linear),
and a row's score is −ℓ′ᵢ ⊗ aᵢ.  With L the likelihood at the fit and L₀ that of the classes'
shares alone,

    deviance = −2 log L,      McFadden's R² = 1 − log L / log L₀.

Under a squared penalty H includes its curvature: H⁻¹ is then Laplace's approximation of the
posterior under the prior N(0, C I), not the scatter of an unbiased estimate, and the table says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from suffice.linear.inference.logistic_likelihood import ClassLikelihood, codes_in_the_fit
from suffice.linear.inference.sandwich import Bread, RowScores, robust
from suffice.linear.inference.summary import PENALISED, Summary, coefficient_table, column_names
from suffice.linear.inference.uncertainty import Uncertainty
from suffice.numerics.double_double import Array
from suffice.sources import Block, Source


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LogisticSummary(Summary):
    """A logistic regression's table: what every `Summary` has, and the following.

    Attributes
    ----------
    z : array
        Estimate over standard error.
    positive : str
        The class whose log odds the coefficients give, where there is one predictor only.
    deviance, null_log_likelihood, r2_mcfadden : float
    lr, lr_p : float
        The likelihood-ratio test against the classes' shares alone.
    """

    positive: str
    deviance: float
    null_log_likelihood: float
    r2_mcfadden: float
    lr: float
    lr_p: float

    @property
    def z(self) -> Array:
        return self.ratio

    def _target_kind(self) -> str:
        return "class"

    def _title(self) -> str:
        return "Logistic regression" + (f" of {self.positive}" if self.positive else "")

    def _facts(self, k: int) -> list[str]:
        if k < len(self.targets) - 1:
            return []
        return [
            f"rows {self.n:g}   residual degrees of freedom {self.df_residual:g}",
            f"log L {self.log_likelihood:.6g}   of the shares alone "
            f"{self.null_log_likelihood:.6g}   McFadden's R² {self.r2_mcfadden:.6g}",
            f"χ²({self.df_model:g}) {self.lr:.6g}   p {self.lr_p:.3g}",
            f"deviance {self.deviance:.6g}   AIC {self.aic:.6g}   BIC {self.bic:.6g}",
        ]


def summarize_logistic(
    model: Any,
    known: ClassLikelihood,
    level: float,
    cov: str,
    source: Source | None,
    clusters: Any,
) -> LogisticSummary:
    """The inference table of a fitted `LogisticRegression`.

    Parameters
    ----------
    model : LogisticRegression
    known : ClassLikelihood
    level : float
    cov : str
    source : Source, optional
        The rows of the fit, for a covariance that is not "nonrobust".
    clusters : optional
    """
    bread = bread_of(model, known)
    if cov == "nonrobust":
        uncertainty = Uncertainty(bread.root[None], bread.null_space, np.inf)
    else:
        assert source is not None
        uncertainty = robust(cov, bread, source, model._pass, clusters)
    intercept, several = known.laplace[0].intercept, len(model.coef_) > 1
    estimates = np.column_stack([model.intercept_, model.coef_] if intercept else [model.coef_])
    L, k, L0 = known.log_likelihood, known.n_parameters, known.null_log_likelihood
    fitted = fitted_classes(model)
    df_model = k - (len(model.classes_) - 1) * intercept
    lr = 2 * (L - L0) if intercept and not known.penalised else np.nan
    penalised = np.nan if known.penalised else 1.0
    return LogisticSummary(
        names=column_names(model, intercept),
        targets=tuple(map(str, fitted)) if several else (),
        **coefficient_table(estimates.T if several else estimates[0], uncertainty, level),
        n=known.weight,
        df_model=df_model,
        df_residual=known.weight - k,
        n_parameters=k,
        log_likelihood=L,
        aic=(-2 * L + 2 * k) * penalised,
        bic=(-2 * L + k * np.log(known.weight)) * penalised,
        notes=tuple(_notes(model, known)),
        positive="" if several else str(fitted[0]),
        deviance=-2 * L,
        null_log_likelihood=L0,
        r2_mcfadden=1 - L / L0,
        lr=lr,
        lr_p=float(stats.chi2.sf(lr, df_model)) if df_model else np.nan,
    )


def _notes(model: Any, known: ClassLikelihood) -> Iterator[str]:
    if known.penalised:
        yield PENALISED
    if not model.certificate_.holds:
        yield f"not proved: {model.certificate_.claim}; standard errors are of the minimum"
    if (known.factors != 1).any():
        yield "class weights count as rows: standard errors are those of rows so repeated"


def fitted_classes(model: Any) -> Any:
    """The classes that have a predictor of their own."""
    if len(model.coef_) == len(model.classes_):
        return model.classes_
    return np.delete(model.classes_, getattr(model._fitted_loss(), "reference", 0))


def bread_of(model: Any, known: ClassLikelihood) -> Bread:
    """What a sandwich covariance needs of a fitted `LogisticRegression`."""
    loss = model._fitted_loss()

    def row_scores(block: Block) -> RowScores:
        codes = codes_in_the_fit(block, model.classes_)
        eta = np.asarray(block.X @ model.coef_.T + model.intercept_).T
        found = loss(codes.astype(np.float64), eta, 2)
        towards = [part.directions(block.X) for part in known.laplace]
        scores = sum(-g[:, None] * u for g, u in zip(found.gradient, towards, strict=True))
        leverage = None
        if len(towards) == 1:
            leverage = found.hessian[0, 0] * np.square(towards[0]).sum(axis=1)
        return RowScores(scores[None], leverage, known.row_weights(codes, block.weight))

    root, null_space = known.stacked()
    return Bread(root, null_space, known.weight, row_scores, known.n_parameters)
