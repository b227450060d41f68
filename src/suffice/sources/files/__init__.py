"""Rows of files."""
