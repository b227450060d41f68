"""Races of generative classifiers on rows in memory."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Answer, Bar, Options, Race, Row
from benchmarks.least_squares import fit_estimator

Floats = NDArray[np.float64]


def gaussians(X: Floats, y: Any, *, address: str) -> Answer:
    """Means and variances of a fitted Gaussian naive Bayes, each in units of its own."""
    model = fit_estimator(X, y, address=address, parameters={})
    return np.concatenate([model.theta_.ravel(), model.var_.ravel()])


def classes(options: Options, *, rows: int, columns: int, labels: int) -> tuple[Floats, Any]:
    """Normal columns whose means depend on the class."""
    rows = rows // 10 if options.quick else rows
    rng = np.random.default_rng(11)
    y = rng.integers(0, labels, size=rows)
    return rng.standard_normal((rows, columns)) + 0.3 * y[:, None], y


ROWS: tuple[Row, ...] = (
    Race(
        "GaussianNB",
        partial(classes, rows=1_000_000, columns=50, labels=2),
        partial(gaussians, address="suffice.GaussianNB"),
        {"scikit-learn": partial(gaussians, address="sklearn.naive_bayes.GaussianNB")},
        Bar(1.0, aim=0.7),
        reference="scikit-learn",
    ),
)
