"""Arithmetic and linear algebra beyond float64."""
