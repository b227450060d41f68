"""Races on correlated columns in many units: the cost must not grow with the condition number."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.decomposition import by_triangle, pca
from benchmarks.discriminant import OURS, PEERS, boundaries
from benchmarks.harness import Answer, Bar, Options, Race, Row
from benchmarks.least_squares import Floats, fit_estimator
from benchmarks.tables import FACTORS, factors

SIX_DIGITS = 1e-6


def columns(options: Options, *, rows: int, kappa: float) -> tuple[Floats, None]:
    return factors(rows // 10 if options.quick else rows, 50, kappa, seed=8), None


def labelled(options: Options, *, rows: int, kappa: float) -> tuple[Floats, Any]:
    """The same within each of three classes."""
    X, _ = columns(options, rows=rows, kappa=kappa)
    rng = np.random.default_rng(12)
    y = rng.integers(0, 3, size=len(X))
    X += (0.3 * X.std(axis=0) * rng.standard_normal((3, X.shape[1])))[y]
    return X, y


def scores(X: Floats, y: Any, *, address: str, parameters: dict[str, Any]) -> Answer:
    """Of some rows: what the inverse covariances of the classes say."""
    model = fit_estimator(X, y, address=address, parameters=parameters)
    return np.asarray(model.decision_function(X[:1000])).ravel()


def components(kappa: float) -> Race:
    """Ten variances, and the directions of the factors."""
    return Race(
        f"PCA, 10 components, condition number {kappa:g}",
        partial(columns, rows=400_000, kappa=kappa),
        pca("suffice.PCA", FACTORS),
        {
            "intelex": pca("sklearnex.decomposition.PCA", FACTORS),
            "scikit-learn": pca("sklearn.decomposition.PCA", FACTORS),
        },
        Bar(1.0, aim=0.7),
        reference=partial(by_triangle, directions=FACTORS),
        truth="singular values",
        tolerance=SIX_DIGITS,
    )


def discriminants(name: str, answer: Any, kappa: float, **parameters: Any) -> Race:
    return Race(
        f"{name}, condition number {kappa:g}",
        partial(labelled, rows=200_000, kappa=kappa),
        partial(answer, address=OURS + name, parameters={}),
        {
            f"scikit-learn {solver}": partial(
                answer, address=PEERS + name, parameters={"solver": solver, **parameters}
            )
            for solver in ("svd", "eigen")
        },
        Bar(1.0, aim=0.4),
        reference="scikit-learn svd",
        tolerance=SIX_DIGITS,
    )


ROWS: tuple[Row, ...] = (
    *(components(kappa) for kappa in (1.0, 30.0, 1e3, 1e5)),
    *(discriminants("LinearDiscriminantAnalysis", boundaries, kappa) for kappa in (1.0, 30.0, 1e3)),
    # Its tolerance is in the columns' units, and small columns would be refused.
    *(
        discriminants("QuadraticDiscriminantAnalysis", scores, kappa, tol=0.0)
        for kappa in (1.0, 30.0, 1e3)
    ),
)
