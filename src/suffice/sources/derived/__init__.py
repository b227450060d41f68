"""Rows of other sources: some of them, or changed."""
