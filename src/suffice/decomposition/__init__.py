"""Decompositions: few directions that say most about many columns."""
