"""Races of steps that follow one another: the perceptron and stochastic gradients."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Answer, Bar, Options, Race, Row
from benchmarks.least_squares import fit_estimator

Floats = NDArray[np.float64]


def boundary(X: Floats, y: Any, *, address: str, parameters: dict[str, Any]) -> Answer:
    """Weights and intercept after a fixed number of passes in the rows' order."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit_estimator(X, y, address=address, parameters=parameters)
    return np.concatenate([model.coef_.ravel(), model.intercept_.ravel()])


def accuracy(X: Floats, y: Any, *, address: str, parameters: dict[str, Any]) -> Answer:
    """Share of rows on their side: shuffled fits have nothing else in common."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit_estimator(X, y, address=address, parameters=parameters)
    return np.array([model.score(X[:100_000], y[:100_000])])


def two_classes(options: Options, *, rows: int, columns: int) -> tuple[Floats, Any]:
    """Normal rows on two sides of a boundary, some of them on the wrong one."""
    rows = rows // 10 if options.quick else rows
    rng = np.random.default_rng(5)
    X = rng.standard_normal((rows, columns))
    z = X @ rng.standard_normal(columns) + rng.standard_normal(rows)
    return X, (z > 0).astype(int)


def both(work: Any, **parameters: Any) -> tuple[Any, dict[str, Any]]:
    ours = partial(work, address="suffice.Perceptron", parameters=parameters)
    theirs = partial(work, address="sklearn.linear_model.Perceptron", parameters=parameters)
    return ours, {"scikit-learn": theirs}


TALL = partial(two_classes, rows=1_000_000, columns=50)

ROWS: tuple[Row, ...] = (
    Race(
        "Perceptron, 20 passes in order",
        TALL,
        *both(boundary, shuffle=False, tol=None, max_iter=20),
        Bar(1.0),
        reference="scikit-learn",
        rounds=3,
    ),
    Race(
        "Perceptron, 20 shuffled passes",
        TALL,
        *both(accuracy, tol=None, max_iter=20),
        Bar(1.0, aim=0.7),
        reference="scikit-learn",
        tolerance=0.05,
        rounds=3,
    ),
)
