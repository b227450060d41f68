"""Compiled loops of support vector machines."""
