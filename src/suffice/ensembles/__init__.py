"""Models made of other models."""
