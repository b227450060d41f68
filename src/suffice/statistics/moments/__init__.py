"""Moments: weight, mean and scatter, of all columns or of each."""
