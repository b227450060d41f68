"""Theory that can be run: the best possible classifier, how far distributions are apart, and how
far estimates may be off.
"""

from __future__ import annotations

from suffice.theory.averaging import EnsembleParts, ensemble_parts, ensemble_variance
from suffice.theory.bayes_classifier import BayesClassifier
from suffice.theory.bayes_error import ErrorEstimate
from suffice.theory.bootstrapping import BootstrapEstimate, bootstrap
from suffice.theory.densities import Density, MultivariateGaussian
from suffice.theory.divergence import kl_divergence
from suffice.theory.intervals import clopper_pearson

__all__ = [
    "BayesClassifier",
    "BootstrapEstimate",
    "Density",
    "EnsembleParts",
    "ErrorEstimate",
    "MultivariateGaussian",
    "bootstrap",
    "clopper_pearson",
    "ensemble_parts",
    "ensemble_variance",
    "kl_divergence",
]
