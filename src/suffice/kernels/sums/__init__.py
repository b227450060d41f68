"""Kernels of sums over rows, exact or by group."""
