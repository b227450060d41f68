"""Margins: the conditions of a minimum row by row, and whether classes can be separated."""
