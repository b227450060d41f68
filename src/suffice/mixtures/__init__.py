"""Mixtures of distributions, their pictures, and EM for latent models of one's own."""

from __future__ import annotations

from suffice.mixtures.em import EMResult, em
from suffice.mixtures.latent.half_steps import HalfStep
from suffice.mixtures.showing.paths import MeansPath
from suffice.mixtures.showing.pictures import plot_ellipses, plot_likelihood, plot_path

__all__ = [
    "EMResult",
    "HalfStep",
    "MeansPath",
    "em",
    "plot_ellipses",
    "plot_likelihood",
    "plot_path",
]
