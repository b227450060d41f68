"""Eigenvalues of a kernel's matrix, and what is proved about them."""
