"""Conjugate priors: posterior = prior + statistics.

A prior is the statistic of rows that nobody saw.  Each pair has the same verbs: `posterior` (or
`prior + statistics`), `mean`, `map`, `variance`, `interval`, `predictive`, `log_density`,
`log_evidence`, `sample`; `a + b` merges what two posteriors learned and counts the prior once.
"""

from __future__ import annotations

from suffice.bayes.beta_bernoulli import BetaBernoulli
from suffice.bayes.conjugate import Conjugate, Interval
from suffice.bayes.dirichlet_categorical import DirichletCategorical
from suffice.bayes.gamma_poisson import GammaPoisson
from suffice.bayes.normal_inverse_gamma import MeanAndVariance, NormalInverseGamma
from suffice.bayes.normal_inverse_wishart import MeanAndCovariance, NormalInverseWishart
from suffice.bayes.normal_normal import NormalNormal
from suffice.bayes.predictive_counts import BetaBinomial, CategoricalShares, NegativeBinomial
from suffice.bayes.predictive_numbers import MultivariateT, StudentT
from suffice.bayes.smoothing import log_smoothed_share, smoothed_share

__all__ = [
    "BetaBernoulli",
    "BetaBinomial",
    "CategoricalShares",
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
    "StudentT",
    "log_smoothed_share",
    "smoothed_share",
]
