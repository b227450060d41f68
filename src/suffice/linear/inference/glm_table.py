"""The inference table of a generalised linear model.

Estimates are about normal, with the covariance φ H⁻¹ of the expected information H, or with a
sandwich (`suffice.linear.inference.sandwich`), to which a row contributes the score −ℓ′(η) a, and
whose outer parts are of the observed information.  With L the likelihood at the fit and k
parameters,

    AIC = −2 log L + 2k,      BIC = −2 log L + k log W.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from suffice.linear.glm.loss import GeneralizedLoss
from suffice.linear.inference.sandwich import Bread, RowScores, robust
from suffice.linear.inference.summary import PENALISED, Summary, coefficient_table, column_names
from suffice.linear.inference.uncertainty import Uncertainty
from suffice.numerics.double_double import Array
from suffice.sources import Block, Source


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class GeneralizedSummary(Summary):
    """A generalised linear model's table: what every `Summary` has, and the following.

    Attributes
    ----------
    z : array
        Estimate over standard error.
    family, link : str
    deviance, null_deviance, pearson_chi2, dispersion : float
    """

    family: str
    link: str
    deviance: float
    null_deviance: float
    pearson_chi2: float
    dispersion: float

    @property
    def z(self) -> Any:
        return self.ratio

    def _title(self) -> str:
        return f"Generalised linear model: {self.family}, link {self.link}"

    def _facts(self, k: int) -> list[str]:
        return [
            f"rows {self.n:g}   residual degrees of freedom {self.df_residual:g}   "
            f"dispersion {self.dispersion:.6g}",
            f"deviance {self.deviance:.6g}   null deviance {self.null_deviance:.6g}   "
            f"Pearson χ² {self.pearson_chi2:.6g}",
            f"log L {self.log_likelihood:.6g}   AIC {self.aic:.6g}   BIC {self.bic:.6g}",
        ]


def summarize_glm(
    model: Any, level: float, cov: str, source: Source | None, clusters: Any
) -> GeneralizedSummary:
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
    bread, laplace, good = bread_of(model), model._laplace, model._goodness
    if source is None:
        roots = bread.root[None] * np.sqrt(good.dispersion)
        uncertainty = Uncertainty(roots, bread.null_space, np.inf)
    else:
        uncertainty = robust(cov, bread, source, model._pass, clusters)
    estimates = model.coef_[laplace.kept]
    if laplace.intercept:
        estimates = np.concatenate([[model.intercept_], estimates])
    names = column_names(model, False)
    kept = tuple(names[j] for j in laplace.kept)
    return GeneralizedSummary(
        names=(("intercept",) if laplace.intercept else ()) + kept,
        targets=(),
        **coefficient_table(estimates, uncertainty, level),
        n=good.weight,
        df_model=good.n_parameters - laplace.intercept,
        df_residual=good.df_residual,
        n_parameters=good.n_parameters,
        log_likelihood=model.log_likelihood_,
        aic=model.aic_,
        bic=model.bic_,
        notes=(PENALISED,) if model.alpha > 0 else (),
        family=model.family_.name,
        link=model.link_.label,
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
