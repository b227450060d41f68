"""Races of robust standard errors: the fit, and the sandwich from one more pass."""

from __future__ import annotations

import importlib
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Answer, Bar, Options, Race, Row
from benchmarks.least_squares import normal

Floats = NDArray[np.float64]

ROWS_PER_CLUSTER = 100


def clusters(X: Floats) -> NDArray[np.int64]:
    """Labels of neighbouring rows."""
    return np.arange(len(X)) // ROWS_PER_CLUSTER


def our_errors(X: Floats, y: Floats, *, model: str, cov: str, **params: Any) -> Answer:
    suffice = importlib.import_module("suffice")
    labels = clusters(X) if cov == "cluster" else None
    fitted = getattr(suffice, model)(**params).fit(X, y)
    return np.asarray(fitted.summary(cov=cov, X=X, y=y, clusters=labels).std_err)


def statsmodels_errors(X: Floats, y: Floats, *, model: str, cov: str) -> Answer:
    api = importlib.import_module("statsmodels.api")
    options = {"disp": 0} if model == "Logit" else {}
    groups = {"groups": clusters(X)} if cov == "cluster" else None
    fitted = getattr(api, model)(y, api.add_constant(X))
    return np.asarray(fitted.fit(cov_type=cov, cov_kwds=groups, **options).bse)


def labels(options: Options, *, rows: int, columns: int) -> tuple[Any, Floats]:
    """Normal columns, and two classes that they tell little about."""
    X, y = normal(options, rows=rows, columns=columns)
    return X, (y > 2 * np.std(y) * np.random.default_rng(0).standard_normal(len(y))).astype(float)


ROWS: tuple[Row, ...] = (
    *(
        Race(
            f"LinearRegression, {cov} standard errors",
            partial(normal, rows=200_000, columns=20),
            partial(our_errors, model="LinearRegression", cov=cov),
            {"statsmodels": partial(statsmodels_errors, model="OLS", cov=cov)},
            Bar(1.0, aim=0.3),
            reference="statsmodels",
            tolerance=1e-9,
            rounds=5,
        )
        for cov in ("HC3", "cluster")
    ),
    Race(
        "LogisticRegression, HC0 standard errors",
        partial(labels, rows=200_000, columns=20),
        partial(our_errors, model="LogisticRegression", cov="HC0", C=np.inf),
        {"statsmodels": partial(statsmodels_errors, model="Logit", cov="HC0")},
        Bar(1.0, aim=0.5),
        reference="statsmodels",
        tolerance=1e-8,
        rounds=5,
    ),
)
