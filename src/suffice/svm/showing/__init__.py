"""Margins and gaps as pictures."""
