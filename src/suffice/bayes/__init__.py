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
    from suffice.bayes.coefficient_prior import CoefficientPrior as CoefficientPrior
    from suffice.bayes.conjugate import Conjugate as Conjugate
    from suffice.bayes.conjugate import Interval as Interval
    from suffice.bayes.dirichlet_categorical import DirichletCategorical as DirichletCategorical
    from suffice.bayes.gamma_poisson import GammaPoisson as GammaPoisson
    from suffice.bayes.normal_inverse_gamma import MeanAndVariance as MeanAndVariance
    from suffice.bayes.normal_inverse_gamma import NormalInverseGamma as NormalInverseGamma
    from suffice.bayes.normal_inverse_wishart import MeanAndCovariance as MeanAndCovariance
    from suffice.bayes.normal_inverse_wishart import NormalInverseWishart as NormalInverseWishart
    from suffice.bayes.normal_normal import NormalNormal as NormalNormal
    from suffice.bayes.predictive_counts import BetaBinomial as BetaBinomial
    from suffice.bayes.predictive_counts import CategoricalShares as CategoricalShares
    from suffice.bayes.predictive_counts import NegativeBinomial as NegativeBinomial
    from suffice.bayes.predictive_numbers import MultivariateT as MultivariateT
    from suffice.bayes.predictive_numbers import StudentT as StudentT
    from suffice.bayes.pseudo_scatter import PseudoScatter as PseudoScatter
    from suffice.bayes.smoothing import log_smoothed_share as log_smoothed_share
    from suffice.bayes.smoothing import smoothed_share as smoothed_share

# Public name → the module that defines it, imported when the name is first used: a model that
# needs one prior does not wait for all.
_PUBLIC = {
    "BetaBernoulli": "suffice.bayes.beta_bernoulli",
    "BetaBinomial": "suffice.bayes.predictive_counts",
    "CategoricalShares": "suffice.bayes.predictive_counts",
    "CoefficientPrior": "suffice.bayes.coefficient_prior",
    "Conjugate": "suffice.bayes.conjugate",
    "DirichletCategorical": "suffice.bayes.dirichlet_categorical",
    "GammaPoisson": "suffice.bayes.gamma_poisson",
    "Interval": "suffice.bayes.conjugate",
    "MeanAndCovariance": "suffice.bayes.normal_inverse_wishart",
    "MeanAndVariance": "suffice.bayes.normal_inverse_gamma",
    "MultivariateT": "suffice.bayes.predictive_numbers",
    "NegativeBinomial": "suffice.bayes.predictive_counts",
    "NormalInverseGamma": "suffice.bayes.normal_inverse_gamma",
    "NormalInverseWishart": "suffice.bayes.normal_inverse_wishart",
    "NormalNormal": "suffice.bayes.normal_normal",
    "PseudoScatter": "suffice.bayes.pseudo_scatter",
    "StudentT": "suffice.bayes.predictive_numbers",
    "log_smoothed_share": "suffice.bayes.smoothing",
    "smoothed_share": "suffice.bayes.smoothing",
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
