"""Counts: of values, of classes, of words."""
