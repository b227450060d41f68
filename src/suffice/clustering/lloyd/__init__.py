"""Passes of k-means: each row to its nearest centre, each centre to the mean of its rows."""
