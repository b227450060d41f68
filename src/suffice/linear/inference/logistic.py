"""What a logistic regression says about its own uncertainty.

The information is H = Σ wᵢ ℓ″ᵢ ⊗ aᵢaᵢᵀ (observed and expected are one, as the log odds are linear),
and a row's score is −ℓ′ᵢ ⊗ aᵢ.  With L the likelihood at the fit and L₀ that of the classes'
shares alone,

    deviance = −2 log L,      McFadden's R² = 1 − log L / log L₀.

Under a squared penalty H includes its curvature: H⁻¹ is then Laplace's approximation of the
posterior under the prior N(0, C I), not the scatter of an unbiased estimate, and the table says so.

A fit keeps its likelihood and the information where that costs next to nothing
(`suffice.linear.inference.logistic_likelihood`); elsewhere, `summary` makes them from the rows.
What is kept may be the information of a point near the fit: given the rows, `summary` takes it at
the fit itself, and sees by the objective there whether they are the rows of the fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy import stats

from suffice.fitting.classification import labels_of
from suffice.linear.inference.logistic_likelihood import (
    MOST_PARAMETERS,
    ClassLikelihood,
    codes_in_the_fit,
    fitted_target,
)
from suffice.linear.inference.sandwich import (
    GIVE_THE_SAME,
    NOT_THE_ROWS,
    Bread,
    RowScores,
    check_weight,
    estimated,
)
from suffice.linear.inference.summary import PENALISED, Summary, column_names, target_name
from suffice.linear.solvers.losses import COMPILED_FROM, Logistic, Softmax
from suffice.linear.solvers.objective import Objective
from suffice.linear.solvers.sample import FirstLook, first_look_pass, stride_of
from suffice.numerics.double_double import Array
from suffice.sources import Block, Source
from suffice.statistics.curvature import Curvature

SAME_OBJECTIVE = 1e-6
"""Share of the loss of knowing nothing, or of the objective if that is larger, within which the
objective at a fit is the same again.  That of n other rows of the same kind is off by some 1/√n."""

FOOTER = """\
rows {n:g}   residual degrees of freedom {df_residual:g}
log L {log_likelihood:.6g}   of the shares alone {null_log_likelihood:.6g}   \
McFadden's R² {r2_mcfadden:.6g}
χ²({df_model:g}) {lr:.6g}   p {lr_p:.3g}
deviance {deviance:.6g}   AIC {aic:.6g}   BIC {bic:.6g}"""


def summarize_logistic(
    model: Any, level: float, cov: str, source: Source | None, clusters: Any
) -> Summary:
    """The inference table of a fitted `LogisticRegression`.

    Parameters
    ----------
    model : LogisticRegression
    level : float
    cov : str
    source : Source, optional
        The rows of the fit, for a covariance that is not "nonrobust", or where the fit kept
        no information.
    clusters : optional
    """
    known = known_likelihood(model, source)
    uncertainty = estimated(cov, bread_of(model, known), source, model._pass, clusters)
    intercept, several = known.laplace[0].intercept, len(model.coef_) > 1
    estimates = np.column_stack([model.intercept_, model.coef_] if intercept else [model.coef_])
    L, k, L0 = known.log_likelihood, known.n_parameters, known.null_log_likelihood
    fitted = tuple(map(str, fitted_classes(model)))
    df_model = k - (len(model.classes_) - 1) * intercept
    positive = " = ".join(filter(None, (target_name(model), fitted[0])))
    # Parameters under a penalty are not all free.
    unknown = ("aic", "bic", "df_residual") if known.penalised else ()
    criteria: dict[str, Any] = dict.fromkeys(unknown, np.nan)
    lr = 2 * (L - L0) if intercept and not known.penalised else np.nan
    return Summary(
        "logistic regression",
        column_names(model, intercept),
        estimates.T if several else estimates[0],
        uncertainty,
        level,
        FOOTER,
        targets=fitted if several else (),
        target_kind="class",
        target=target_name(model) if several else positive,
        n=known.weight,
        df_model=df_model,
        n_parameters=k,
        log_likelihood=L,
        notes=tuple(_notes(model, known)),
        positive="" if several else fitted[0],
        deviance=-2 * L,
        null_log_likelihood=L0,
        r2_mcfadden=1 - L / L0,
        lr=lr,
        lr_p=float(stats.chi2.sf(lr, df_model)) if df_model else np.nan,
        **criteria,
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


def known_likelihood(model: Any, source: Source | None) -> ClassLikelihood:
    """The likelihood and the information: kept, or made from the rows at the fit."""
    known: ClassLikelihood | None = getattr(model, "_likelihood", None)
    if known is None:
        _check_smooth(model)
        if source is None:
            raise ValueError(
                "the fit kept no information, as it had many rows or columns: give its rows "
                "once, as in summary(X=X, y=y) or summary(X=source)"
            )
        known = model._likelihood = _likelihood_of(model, source)
    elif source is not None:
        known = _taken_again(model, known, source)
    return known


def _check_smooth(model: Any) -> None:
    """Raise unless the fit is a minimum about which the objective is a bowl."""
    if "separated" in model.certificate_.claim:
        raise ValueError(
            "the classes are separated: the likelihood has no maximum, and so there are no "
            "standard errors; see separating_direction_, or fit with a penalty, C=1.0 say"
        )
    if model._l1():
        raise ValueError(
            "a penalty on absolute values leaves no standard errors: its minimum is at a kink; "
            "fit the columns it chose without a penalty (on other rows), or use l1_ratio=0"
        )
    if model.coef_.size + len(model.coef_) > MOST_PARAMETERS:
        raise ValueError(
            f"the information of {model.coef_.size:,} coefficients is not inverted; it is for "
            f"up to {MOST_PARAMETERS:,}"
        )


def _likelihood_of(model: Any, source: Source) -> ClassLikelihood:
    """By two passes over the rows of the fit."""
    stride = stride_of(source.count_rows(), source.n_columns + 1)
    asked = first_look_pass(stride, labels_of)
    first_look: FirstLook = model._pass(source, asked.summarize)
    if first_look.labels.tolist() != model.classes_.tolist():
        raise ValueError(NOT_THE_ROWS + "they hold other classes")
    objective, factors = model._objective(first_look), model._class_factors(first_look)
    at, hessian = _at_the_fit(model, objective, source)
    return ClassLikelihood.of(objective, hessian, at.loss, factors, first_look.label_weights)


def _taken_again(model: Any, kept: ClassLikelihood, source: Source) -> ClassLikelihood:
    """The likelihood at the fit itself instead of near it, by one pass over its rows."""
    loss: Logistic | Softmax = model._fitted_loss()
    columns = kept.columns
    if isinstance(loss, Logistic):
        loss = replace(loss, compiled=source.count_rows() >= COMPILED_FROM)
    l1, l2 = np.zeros((2, loss.n_predictors, columns.n_parameters))
    l2[:, : len(columns.scale)] = model._l2() / columns.scale**2
    target = partial(fitted_target, classes=model.classes_, kept=kept)
    at, hessian = _at_the_fit(model, Objective(loss, columns, l2, l1, target), source, kept)
    return kept.at(hessian, at.loss)


def _at_the_fit(
    model: Any, objective: Objective, source: Source, kept: ClassLikelihood | None = None
) -> tuple[Curvature, Array]:
    """Loss and derivatives of the rows at the fit; an error unless they are its rows."""
    parameters = objective.columns.from_user(model.coef_, np.atleast_1d(model.intercept_))
    summarize = partial(objective.summarize, parameters=parameters, order=2)
    at: Curvature = model._pass(source, summarize)
    hessian = objective.hessian(at)
    if kept is not None:
        check_weight(at.weight, kept.weight)
    now, then = objective.value(at, parameters), model.certificate_.measures["objective"]
    allowed = SAME_OBJECTIVE * max(then, at.weight * np.log(len(model.classes_)))
    if model.certificate_.holds:
        # What was measured may be the objective before a last step of about that distance.
        step = model.certificate_.measures.get("distance", 0.0) * np.linalg.norm(parameters)
        allowed += step**2 * np.trace(hessian)
    if not abs(now - then) <= allowed:
        raise ValueError(
            f"{NOT_THE_ROWS}at its coefficients their objective is {now:.9g}, and in the fit "
            f"it was {then:.9g}; {GIVE_THE_SAME}, and leave the model's parameters as they were"
        )
    return at, hessian
