"""Kernels of linear models: coordinate descent, stochastic steps, the logistic loss."""
