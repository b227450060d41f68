"""Trees that have a branch for every value of a column: what ID3 and C4.5 share."""
