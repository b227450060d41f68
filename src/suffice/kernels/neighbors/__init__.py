"""Kernels of a search for neighbours."""
