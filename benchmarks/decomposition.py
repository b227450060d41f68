"""Races of principal components on rows in memory."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import Answer, Bar, Fit, Options, Race, Row
from benchmarks.least_squares import Floats, estimator


def factors(options: Options, *, rows: int, columns: int, strong: int) -> tuple[Floats, None]:
    """A few strong factors in turned directions, and noise in all columns."""
    rows = rows // 10 if options.quick else rows
    rng = np.random.default_rng(8)
    turn = np.linalg.qr(rng.standard_normal((columns, columns)))[0]
    deviations = np.append(3 * 0.9 ** np.arange(strong), np.full(columns - strong, 0.4))
    return rng.standard_normal((rows, columns)) @ (deviations[:, None] * turn), None


def answer(variances: Floats, components: Floats) -> Answer:
    """Relative variances, and the directions up to their sign."""
    return np.append(variances / variances.max(), np.abs(components))


def described(X: Any, y: Any, *, fit: Fit, directions: int) -> Answer:
    model = fit(X, y)
    return answer(model.explained_variance_, model.components_[:directions])


def pca(address: str, directions: int = 10) -> Fit:
    return partial(described, fit=estimator(address, n_components=10), directions=directions)


def by_triangle(X: Floats, y: None, *, directions: int = 10) -> Answer:
    """From the singular values of R in X − m = Q R: nothing is squared."""
    R = np.linalg.qr(X - X.mean(axis=0), mode="r")
    _, values, turned = np.linalg.svd(R)
    return answer(np.square(values[:10]), turned[:directions])


ROWS: tuple[Row, ...] = (
    Race(
        "PCA, 10 components",
        partial(factors, rows=1_000_000, columns=50, strong=12),
        pca("suffice.PCA"),
        {
            "intelex": pca("sklearnex.decomposition.PCA"),
            "scikit-learn": pca("sklearn.decomposition.PCA"),
        },
        Bar(1.0, aim=0.7),
        reference=by_triangle,
        truth="singular values",
    ),
)
