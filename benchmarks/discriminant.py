"""Races of linear and quadratic discriminants; scikit-learn-intelex has neither."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.generative import classes
from benchmarks.harness import Answer, Bar, Race, Row
from benchmarks.least_squares import fit_estimator

Floats = NDArray[np.float64]

OURS, PEERS = "suffice.", "sklearn.discriminant_analysis."


def boundaries(X: Floats, y: Any, *, address: str, parameters: dict[str, Any]) -> Answer:
    """What the score of each class has beyond that of the first: solvers differ in the rest."""
    model = fit_estimator(X, y, address=address, parameters=parameters)
    lines = np.column_stack([model.coef_, model.intercept_])
    return (lines[1:] - lines[:1]).ravel()


def shapes(X: Floats, y: Any, *, address: str, parameters: dict[str, Any]) -> Answer:
    """Means and covariances of the classes."""
    parameters = {"store_covariance": True, **parameters}
    model = fit_estimator(X, y, address=address, parameters=parameters)
    return np.concatenate([model.means_.ravel(), np.ravel(model.covariance_)])


def linear(where: str, **parameters: Any) -> Any:
    return partial(boundaries, address=where + "LinearDiscriminantAnalysis", parameters=parameters)


def quadratic(where: str, **parameters: Any) -> Any:
    return partial(shapes, address=where + "QuadraticDiscriminantAnalysis", parameters=parameters)


ROWS: tuple[Row, ...] = (
    Race(
        "LinearDiscriminantAnalysis",
        partial(classes, rows=200_000, columns=50, labels=3),
        linear(OURS),
        {f"scikit-learn {s}": linear(PEERS, solver=s) for s in ("svd", "lsqr", "eigen")},
        Bar(0.4),
        reference="scikit-learn svd",
    ),
    Race(
        "LinearDiscriminantAnalysis, shrinkage estimated",
        partial(classes, rows=200_000, columns=50, labels=3),
        linear(OURS, shrinkage="auto"),
        {f"scikit-learn {s}": linear(PEERS, solver=s, shrinkage="auto") for s in ("lsqr", "eigen")},
        Bar(1.0),
        reference="scikit-learn lsqr",
    ),
    Race(
        "QuadraticDiscriminantAnalysis",
        partial(classes, rows=200_000, columns=50, labels=3),
        quadratic(OURS),
        {f"scikit-learn {s}": quadratic(PEERS, solver=s) for s in ("svd", "eigen")},
        Bar(0.4),
        reference="scikit-learn svd",
    ),
)
