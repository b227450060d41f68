"""The posterior of Bayesian linear regression, its evidence and its intervals."""
