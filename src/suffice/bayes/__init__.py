"""Conjugate priors: posterior = prior + statistics.

A prior is the statistic of rows that nobody saw.  Each pair has the same verbs: `posterior` (or
`prior + statistics`), `mean`, `map`, `variance`, `interval`, `predictive`, `log_density`,
`log_evidence`, `sample`; `a + b` merges what two posteriors learned and counts the prior once.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from suffice.bayes.beta_bernoulli import BetaBernoulli as BetaBernoulli
    from suffice.bayes.conjugate import Conjugate as Conjugate
    from suffice.bayes.conjugate import Interval as Interval
    from suffice.bayes.dirichlet_categorical import DirichletCategorical as DirichletCategorical
    from suffice.bayes.gamma_poisson import GammaPoisson as GammaPoisson
    from suffice.bayes.normal_inverse_gamma import MeanAndVariance as MeanAndVariance
    from suffice.bayes.normal_inverse_gamma import NormalInverseGamma as NormalInverseGamma
    from suffice.bayes.normal_inverse_wishart import MeanAndCovariance as MeanAndCovariance
    from suffice.bayes.normal_inverse_wishart import NormalInverseWishart as NormalInverseWishart
    from suffice.bayes.normal_normal import NormalNormal as NormalNormal
    from suffice.bayes.predictive import BetaBinomial as BetaBinomial
    from suffice.bayes.predictive import CategoricalShares as CategoricalShares
    from suffice.bayes.predictive import MultivariateT as MultivariateT
    from suffice.bayes.predictive import NegativeBinomial as NegativeBinomial
    from suffice.bayes.predictive import StudentT as StudentT
    from suffice.bayes.priors.coefficients import CoefficientPrior as CoefficientPrior
    from suffice.bayes.priors.scatter import PseudoScatter as PseudoScatter
    from suffice.bayes.priors.shares import log_smoothed_share as log_smoothed_share
    from suffice.bayes.priors.shares import smoothed_share as smoothed_share

# Public name → the module that defines it, imported when the name is first used: a model that
# needs one prior does not wait for all.
_PUBLIC = {
    "BetaBernoulli": "suffice.bayes.beta_bernoulli",
    "BetaBinomial": "suffice.bayes.predictive",
    "CategoricalShares": "suffice.bayes.predictive",
    "CoefficientPrior": "suffice.bayes.priors.coefficients",
    "Conjugate": "suffice.bayes.conjugate",
    "DirichletCategorical": "suffice.bayes.dirichlet_categorical",
    "GammaPoisson": "suffice.bayes.gamma_poisson",
    "Interval": "suffice.bayes.conjugate",
    "MeanAndCovariance": "suffice.bayes.normal_inverse_wishart",
    "MeanAndVariance": "suffice.bayes.normal_inverse_gamma",
    "MultivariateT": "suffice.bayes.predictive",
    "NegativeBinomial": "suffice.bayes.predictive",
    "NormalInverseGamma": "suffice.bayes.normal_inverse_gamma",
    "NormalInverseWishart": "suffice.bayes.normal_inverse_wishart",
    "NormalNormal": "suffice.bayes.normal_normal",
    "PseudoScatter": "suffice.bayes.priors.scatter",
    "StudentT": "suffice.bayes.predictive",
    "log_smoothed_share": "suffice.bayes.priors.shares",
    "smoothed_share": "suffice.bayes.priors.shares",
}

__all__ = [
    "BetaBernoulli",
    "BetaBinomial",
    "CategoricalShares",
    "CoefficientPrior",
    "Conjugate",
    "DirichletCategorical",
    "GammaPoisson",
    "Interval",
    "MeanAndCovariance",
    "MeanAndVariance",
    "MultivariateT",
    "NegativeBinomial",
    "NormalInverseGamma",
    "NormalInverseWishart",
    "NormalNormal",
    "PseudoScatter",
    "StudentT",
    "log_smoothed_share",
    "smoothed_share",
]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_PUBLIC[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
