"""Models that compare a query with the rows themselves."""
