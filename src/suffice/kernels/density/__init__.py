"""Kernels of kernel density estimates."""
