"""What a generalised linear model says about its own uncertainty.

A fit keeps the information of its last pass, as `Laplace`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from suffice.linear.glm.goodness_of_fit import MOST_INFORMATION
from suffice.linear.glm.loss import GeneralizedLoss
from suffice.linear.inference.glm_table import GeneralizedSummary, summarize_glm
from suffice.linear.inference.laplace import Laplace, Prediction, prediction
from suffice.linear.inference.sandwich import checked_kind
from suffice.linear.inference.summary import checked_level
from suffice.numerics.double_double import Array


def summary_of(
    model: Any, level: float, cov: str, rows: tuple[Any, Any, Any], clusters: Any
) -> GeneralizedSummary:
    """The inference table of a fitted model; `rows` are X, y and weights, or None each."""
    check_is_fitted(model)
    level, source = checked_level(level), None
    known_laplace(model)
    if checked_kind(cov, rows[0], clusters) != "nonrobust":
        source = model._training_source(*rows, reset=False)
    return summarize_glm(model, level, cov, source, clusters)


def known_laplace(model: Any) -> Laplace:
    """How well the predictor is known."""
    laplace: Laplace | None = model._laplace
    if laplace is None:
        raise ValueError(
            f"this fit of {model.n_features_in_} columns has no information from which "
            f"uncertainties could be told: it is computed up to {MOST_INFORMATION} "
            "parameters, and where it is within float64's range"
        )
    return laplace


def predicted_means(model: Any, X: Any, level: float) -> Prediction:
    """Where the means of rows may lie.

    Parameters
    ----------
    model : GeneralizedLinearModel
    X : array, data frame, CSR matrix or Source, of shape (rows, columns)
    level : float
    """
    laplace, loss = known_laplace(model), GeneralizedLoss(model.family_, model.link_)

    def both(rows: Any) -> Array:
        variance = model.dispersion_ * laplace.variance(rows)
        return np.column_stack([model._predictors(rows), np.sqrt(variance)])

    eta, deviation = model._apply(X, both).T
    return prediction(loss, eta, deviation, level)
