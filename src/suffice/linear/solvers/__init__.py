"""How the objective of an iterative linear model is minimised."""
