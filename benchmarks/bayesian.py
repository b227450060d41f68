"""Races of Bayesian linear regression at the largest evidence."""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks.harness import Bar, Fit, Race, Row
from benchmarks.least_squares import estimator, normal

# Without hyper-priors scikit-learn climbs to the same maximum, as far as its tolerance goes.
NO_HYPER_PRIORS = dict.fromkeys(("alpha_1", "alpha_2", "lambda_1", "lambda_2"), 0.0)


def bayesian_ridge(tol: float) -> Fit:
    return estimator("sklearn.linear_model.BayesianRidge", tol=tol, **NO_HYPER_PRIORS)


OURS = estimator("suffice.BayesianLinearRegression", evidence="maximise")
COMMON: dict[str, Any] = {
    "peers": {"scikit-learn": bayesian_ridge(1e-8)},
    "reference": bayesian_ridge(1e-12),
    "truth": "scikit-learn at tol=1e-12",
    "tolerance": 1e-8,
}

ROWS: tuple[Row, ...] = (
    Race(
        "BayesianLinearRegression at the largest evidence",
        partial(normal, rows=200_000, columns=50),
        OURS,
        bar=Bar(1.0),
        rounds=5,
        **COMMON,
    ),
    Race(
        "BayesianLinearRegression at the largest evidence, many columns",
        partial(normal, rows=5_000, columns=500),
        OURS,
        bar=Bar(1.0),
        rounds=5,
        **COMMON,
    ),
)
