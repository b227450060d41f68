"""Models of how rows of each class come about."""
