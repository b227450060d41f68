"""What a generalised linear model says about its own uncertainty.

A fit keeps the information of its last pass, as `Laplace`.  Estimates are about normal, with the
covariance φ H⁻¹ of the expected information H, or with a sandwich
(`suffice.linear.inference.sandwich`), to which a row contributes the score −ℓ′(η) a, and whose
outer parts are of the observed information.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from suffice.linear.glm.goodness_of_fit import MOST_INFORMATION
from suffice.linear.glm.loss import GeneralizedLoss
from suffice.linear.inference.laplace import Laplace, Prediction, prediction
from suffice.linear.inference.sandwich import Bread, RowScores, estimated
from suffice.linear.inference.summary import PENALISED, Summary, column_names, target_name
from suffice.numerics.double_double import Array
from suffice.sources import Block, Source

FOOTER = """\
rows {n:g}   residual degrees of freedom {df_residual:g}   dispersion {dispersion:.6g}
deviance {deviance:.6g}   null deviance {null_deviance:.6g}   Pearson χ² {pearson_chi2:.6g}
log L {log_likelihood:.6g}   AIC {aic:.6g}   BIC {bic:.6g}"""


def summarize_glm(
    model: Any, level: float, cov: str, source: Source | None, clusters: Any
) -> Summary:
    """The inference table of a fitted `GeneralizedLinearModel`.

    Parameters
    ----------
    model : GeneralizedLinearModel
    level : float
    cov : str
    source : Source, optional
        The rows of the fit, for a covariance that is not "nonrobust".
    clusters : optional
    """
    laplace, good = known_laplace(model), model._goodness
    known = estimated(
        cov, bread_of(model), source, model._pass, clusters, dispersion=good.dispersion
    )
    names, estimates = column_names(model, True), np.append(model.intercept_, model.coef_)
    shown = np.append([0] if laplace.intercept else [], laplace.kept + 1).astype(np.intp)
    family, link = model.family_.name, model.link_.label
    return Summary(
        "generalised linear model",
        tuple(names[j] for j in shown),
        estimates[shown],
        known,
        level,
        FOOTER,
        target=target_name(model),
        detail=f": {family}, link {link}",
        n=good.weight,
        df_model=good.n_parameters - laplace.intercept,
        n_parameters=good.n_parameters,
        log_likelihood=model.log_likelihood_,
        notes=(PENALISED,) if model.alpha > 0 else (),
        family=family,
        link=link,
        deviance=good.deviance,
        null_deviance=good.null_deviance,
        pearson_chi2=good.pearson,
        dispersion=good.dispersion,
    )


def bread_of(model: Any) -> Bread:
    """What a sandwich covariance needs of a fitted `GeneralizedLinearModel`."""
    laplace = model._laplace
    root, null_space = laplace.in_user_columns()
    loss = GeneralizedLoss(model.family_, model.link_, expected=True)
    observed, reader = replace(loss, expected=False), model._target_reader()

    def derivatives(block: Block, loss: GeneralizedLoss) -> tuple[Array, Array]:
        """ℓ′ and ℓ″ of each row."""
        y, weight, offset = reader(block)
        eta = block.X @ model.coef_ + model.intercept_
        found = loss(y, (eta if offset is None else eta + offset)[None], 2)
        assert found.gradient is not None
        assert found.hessian is not None
        # A row that counts trials is one observation of as many.
        trials = 1.0 if weight is None else weight
        trials = trials if block.weight is None else trials / block.weight
        return trials * found.gradient[0], trials * found.hessian[0, 0]

    def row_scores(block: Block) -> RowScores:
        gradient, hessian = derivatives(block, loss)
        u = laplace.directions(block.X)
        leverage = hessian * np.square(u).sum(axis=1)
        return RowScores((-gradient[:, None] * u)[None], leverage, block.weight)

    def excess(block: Block) -> Array:
        more = derivatives(block, observed)[1] - derivatives(block, loss)[1]
        u = laplace.directions(block.X)
        return np.asarray((u.T * (more if block.weight is None else more * block.weight)) @ u)

    is_canonical = GeneralizedLoss.of(model.family_, model.link_).expected
    return Bread(
        root,
        null_space,
        model._goodness.weight,
        row_scores,
        excess=None if is_canonical else excess,
    )


def known_laplace(model: Any) -> Laplace:
    """How well the predictor is known."""
    check_is_fitted(model)
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
