"""Generative classifiers without one row, for every row."""
