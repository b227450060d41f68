"""Models whose penalty is chosen by cross-validation."""
