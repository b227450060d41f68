"""Kernels of decision trees."""
