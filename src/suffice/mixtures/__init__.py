"""Mixtures of distributions, and EM for latent models."""
