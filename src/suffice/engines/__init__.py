"""Where a pass over the rows runs."""
