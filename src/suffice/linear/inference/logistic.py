"""What a logistic regression says about its own uncertainty.

A fit keeps its likelihood and the information where that costs next to nothing
(`suffice.linear.inference.logistic_likelihood`); elsewhere, `summary` makes them from the rows.
What is kept may be the information of a point near the fit: given the rows, `summary` takes it at
the fit itself, and sees by the objective there whether they are the rows of the fit.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from suffice.engines.workers import one_blas_thread
from suffice.fitting.classification import labels_of
from suffice.linear.inference.logistic_likelihood import (
    MOST_PARAMETERS,
    ClassLikelihood,
    fitted_target,
)
from suffice.linear.inference.logistic_table import LogisticSummary, summarize_logistic
from suffice.linear.inference.sandwich import (
    GIVE_THE_SAME,
    NOT_THE_ROWS,
    check_weight,
    checked_kind,
)
from suffice.linear.inference.summary import checked_level
from suffice.linear.solvers.losses import COMPILED_FROM, Logistic, Softmax
from suffice.linear.solvers.objective import Objective
from suffice.linear.solvers.sample import FirstLook, first_look_pass, stride_of
from suffice.numerics.double_double import Array
from suffice.sources import Source
from suffice.statistics.curvature import Curvature

SAME_OBJECTIVE = 1e-6
"""Share of the loss of knowing nothing, or of the objective if that is larger, within which the
objective at a fit is the same again.  That of n other rows of the same kind is off by some 1/√n."""


def summary_of(
    model: Any, level: float, cov: str, rows: tuple[Any, Any, Any], clusters: Any
) -> LogisticSummary:
    """The inference table of a fitted model; `rows` are X, y and weights, or None each."""
    check_is_fitted(model)
    level, cov = checked_level(level), checked_kind(cov, rows[0], clusters)
    source = None if rows[0] is None else model._training_source(*rows, reset=False)
    with one_blas_thread():
        known = known_likelihood(model, source)
        return summarize_logistic(model, known, level, cov, source, clusters)


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
