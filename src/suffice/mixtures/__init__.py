"""Mixtures of distributions, and EM for latent models of one's own."""

from __future__ import annotations

from suffice.mixtures.em import EMResult, em
from suffice.mixtures.latent.half_steps import HalfStep

__all__ = ["EMResult", "HalfStep", "em"]
