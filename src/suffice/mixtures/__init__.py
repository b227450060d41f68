"""Mixtures of distributions, and EM for latent models."""

from __future__ import annotations

from suffice.mixtures.showing.paths import MeansPath
from suffice.mixtures.showing.pictures import plot_ellipses, plot_likelihood, plot_path

__all__ = ["MeansPath", "plot_ellipses", "plot_likelihood", "plot_path"]
"""Mixtures of distributions, and EM for latent models of one's own."""

from __future__ import annotations

from suffice.mixtures.em import EMResult, em
from suffice.mixtures.latent.half_steps import HalfStep

__all__ = ["EMResult", "HalfStep", "em"]
