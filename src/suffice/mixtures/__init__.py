"""Mixtures of distributions, and EM for latent models."""

from __future__ import annotations

from suffice.mixtures.showing.paths import MeansPath
from suffice.mixtures.showing.pictures import plot_ellipses, plot_likelihood, plot_path

__all__ = ["MeansPath", "plot_ellipses", "plot_likelihood", "plot_path"]
