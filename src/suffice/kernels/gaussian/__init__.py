"""Kernels of Gaussians."""
