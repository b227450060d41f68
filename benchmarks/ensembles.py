"""Races of models made of others on rows in memory."""

from __future__ import annotations

import importlib
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.generative import classes
from benchmarks.harness import Answer, Bar, Race, Row

Floats = NDArray[np.float64]


def binary_coefficients(model: Any) -> Answer:
    """Coefficients and intercepts of all binary models."""
    parts = [(one.coef_.ravel(), one.intercept_) for one in model.estimators_]
    return np.concatenate([values for part in parts for values in part])


def ours(X: Floats, y: Any) -> Answer:
    suffice = importlib.import_module("suffice")
    return binary_coefficients(suffice.OneVsRest(suffice.LogisticRegression()).fit(X, y))


def sklearn_ours(X: Floats, y: Any) -> Answer:
    """scikit-learn's way to share out the classes, around our model."""
    suffice = importlib.import_module("suffice")
    multiclass = importlib.import_module("sklearn.multiclass")
    model = multiclass.OneVsRestClassifier(suffice.LogisticRegression())
    return binary_coefficients(model.fit(X, y))


def sklearn(X: Floats, y: Any, *, solver: str) -> Answer:
    linear = importlib.import_module("sklearn.linear_model")
    multiclass = importlib.import_module("sklearn.multiclass")
    model = linear.LogisticRegression(solver=solver, tol=1e-10, max_iter=1000)
    return binary_coefficients(multiclass.OneVsRestClassifier(model).fit(X, y))


ROWS: tuple[Row, ...] = (
    Race(
        "OneVsRest(LogisticRegression()), ten classes",
        partial(classes, rows=100_000, columns=20, labels=10),
        ours,
        {
            "scikit-learn newton-cholesky": partial(sklearn, solver="newton-cholesky"),
            "scikit-learn lbfgs": partial(sklearn, solver="lbfgs"),
            "scikit-learn around ours": sklearn_ours,
        },
        Bar(1.0),
        reference="scikit-learn newton-cholesky",
        truth="scikit-learn newton-cholesky",
        tolerance=1e-7,
        rounds=3,
        once=frozenset({"scikit-learn newton-cholesky", "scikit-learn lbfgs"}),
    ),
)
