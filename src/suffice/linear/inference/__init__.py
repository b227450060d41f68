"""Standard errors, tests and tables of linear models."""
