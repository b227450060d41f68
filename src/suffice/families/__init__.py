"""The exponential family: distributions p(y; η) = b(y) exp(η·T(y) − a(η)).

Each family has the same verbs: `natural` and `parameters`, `sufficient_statistic`,
`log_base_measure`, `log_partition`, `mean`, `covariance`, `log_density`, `sample`, `fit`.
"""

from __future__ import annotations

from suffice.families.base import Family
from suffice.families.bernoulli import Bernoulli
from suffice.families.beta import Beta
from suffice.families.categorical import Categorical
from suffice.families.dirichlet import Dirichlet
from suffice.families.distribution import Distribution, Fitted
from suffice.families.exponential import Exponential
from suffice.families.gamma import Gamma
from suffice.families.gaussian import Gaussian
from suffice.families.known_variance import GaussianKnownVariance
from suffice.families.poisson import Poisson
from suffice.statistics.exponential_family import SufficientSums

__all__ = [
    "Bernoulli",
    "Beta",
    "Categorical",
    "Dirichlet",
    "Distribution",
    "Exponential",
    "Family",
    "Fitted",
    "Gamma",
    "Gaussian",
    "GaussianKnownVariance",
    "Poisson",
    "SufficientSums",
]
