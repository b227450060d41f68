"""Kernels that compare rows with centres, and add rows up by their cluster."""
