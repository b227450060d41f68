"""Fitted models as files that no byte can change unnoticed, and that run no code."""
