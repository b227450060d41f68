"""Probabilities of classes that know how sure their coefficients are.

The log odds of a class against all others, λₖ = log pₖ/(1 − pₖ), are about normal under Laplace's
approximation of the posterior, with the variance

    vₖ = ‖Σⱼ gⱼ Tⱼᵀa‖²,      g = ∂λₖ/∂η = (1 for class k, −pⱼ/(1 − pₖ) for the others),

where H⁻¹ = T Tᵀ.  The mean of σ(λ) over that normal is about σ(λ / √(1 + π v/8)): nearer to ½ the
farther a row is from those of the fit.  Means of several classes are brought to the sum 1.

Reference: MacKay, "The evidence framework applied to classification networks" (1992); Bishop,
"Pattern Recognition and Machine Learning", section 4.5.2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import special, stats

from suffice.linear.inference.laplace import Laplace
from suffice.numerics.double_double import Array

CHUNK_CELLS = 1 << 20
"""Cells of the directions of all classes that are held at once."""


class ClassPrediction(NamedTuple):
    """What a classifier and its uncertainty say about rows.

    Attributes
    ----------
    proba : array of shape (rows, classes)
        Posterior means of the probabilities; `predict_proba` gives them at the fitted
        coefficients, as if those were known.
    lower, upper : arrays of shape (rows, classes)
        Between which each probability lies with the given probability.
    log_odds, log_odds_std : arrays of shape (rows, classes)
        Of each class against all others; the deviation is infinite where the rows of the
        fit leave the odds open.
    """

    proba: Array
    lower: Array
    upper: Array
    log_odds: Array
    log_odds_std: Array


def class_prediction(
    X: Any, eta: Array, laplace: tuple[Laplace, ...], reference: int | None, level: float
) -> ClassPrediction:
    """Predictions for some rows.

    Parameters
    ----------
    X : array or CSR matrix of shape (rows, columns)
    eta : array of shape (rows, predictors)
    laplace : tuple of Laplace
        One for each predictor.
    reference : int, optional
        The class whose predictor is fixed at 0, and is not among them.
    level : float
        Coverage of the intervals.
    """
    if reference is not None:
        eta = np.insert(eta, reference, 0.0, axis=1)
    log_odds = np.stack([_against_others(eta, k) for k in range(eta.shape[1])], axis=1)
    variance = np.empty_like(eta)
    size = max(CHUNK_CELLS // max(eta.shape[1] * laplace[0].root.shape[1], 1), 1)
    for start in range(0, len(eta), size):
        some = slice(start, start + size)
        variance[some] = _variances(X[some], eta[some], laplace, reference)
    std = np.sqrt(variance)
    proba = special.expit(log_odds / np.sqrt(1 + np.pi * variance / 8))
    proba /= proba.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        half = stats.norm.ppf((1 + level) / 2) * std
        lower, upper = special.expit(log_odds - half), special.expit(log_odds + half)
    return ClassPrediction(proba, lower, upper, log_odds, std)


def predicted_classes(
    model: Any, X: Any, laplace: tuple[Laplace, ...], level: float
) -> ClassPrediction:
    """The predictions of a fitted model of classes for rows of any kind.

    Parameters
    ----------
    model : LogisticRegression
    X : array, data frame, CSR matrix or Source, of shape (rows, columns)
    laplace : tuple of Laplace
    level : float
    """
    reference = None
    if len(model.coef_) < len(model.classes_):
        reference = getattr(model._fitted_loss(), "reference", 0)

    def predicted(rows: Any) -> Array:
        eta = np.asarray(rows @ model.coef_.T + model.intercept_)
        return np.stack(class_prediction(rows, eta, laplace, reference, level), axis=1)

    return ClassPrediction(*np.moveaxis(model._apply(X, predicted), 1, 0))


def _against_others(eta: Array, k: int) -> Array:
    return np.asarray(eta[:, k] - special.logsumexp(np.delete(eta, k, axis=1), axis=1))


def _variances(X: Any, eta: Array, laplace: tuple[Laplace, ...], reference: int | None) -> Array:
    """The variance of every class's log odds, of shape (rows, classes)."""
    towards = [part.directions(X) for part in laplace]
    is_open = [np.isinf(part.variance(X)) for part in laplace if part.null_space.any()]
    if reference is not None:
        towards.insert(reference, np.zeros_like(towards[0]))
    found = np.empty_like(eta)
    for k in range(eta.shape[1]):
        others = np.delete(np.arange(eta.shape[1]), k)
        shares = special.softmax(eta[:, others], axis=1)
        moved = towards[k] - sum(shares[:, [j]] * towards[other] for j, other in enumerate(others))
        found[:, k] = np.square(moved).sum(axis=1)
    if is_open:
        found[np.any(is_open, axis=0)] = np.inf
    return found
