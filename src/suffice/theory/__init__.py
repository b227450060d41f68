"""Theory that can be run: the best possible classifier, and how far distributions are apart."""

from __future__ import annotations

from suffice.theory.bayes_classifier import BayesClassifier
from suffice.theory.bayes_error import ErrorEstimate
from suffice.theory.densities import Density, MultivariateGaussian
from suffice.theory.divergence import kl_divergence
from suffice.theory.intervals import clopper_pearson

__all__ = [
    "BayesClassifier",
    "Density",
    "ErrorEstimate",
    "MultivariateGaussian",
    "clopper_pearson",
    "kl_divergence",
]
