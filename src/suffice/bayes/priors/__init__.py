"""Pseudo-statistics that models add to their own: of scatters, coefficients and shares."""
