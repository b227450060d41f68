"""Races of generalised linear models on rows in memory."""

from __future__ import annotations

import importlib
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Answer, Bar, Options, Race, Row
from benchmarks.least_squares import estimator

Floats = NDArray[np.float64]

# --- contenders ----------------------------------------------------------------------------


def statsmodels_glm(X: Floats, y: Floats, *, family: str) -> Answer:
    api = importlib.import_module("statsmodels.api")
    model = api.GLM(y, api.add_constant(X), family=getattr(api.families, family)())
    return np.asarray(model.fit().params)


def statsmodels_gamma(X: Floats, y: Floats) -> Answer:
    api = importlib.import_module("statsmodels.api")
    family = api.families.Gamma(api.families.links.Log())
    return np.asarray(api.GLM(y, api.add_constant(X), family=family).fit().params)


def glum_glm(X: Floats, y: Floats, *, family: str) -> Any:
    """Only where it is installed: it is no dependency of the benchmarks."""
    glum = importlib.import_module("glum")
    return glum.GeneralizedLinearRegressor(family=family, alpha=0, gradient_tol=1e-9).fit(X, y)


def scikit_learn(name: str) -> dict[str, Any]:
    """Both solvers, at tolerances at which they reach the coefficients to seven digits."""
    address = f"sklearn.linear_model.{name}"
    return {
        "scikit-learn lbfgs": estimator(address, alpha=0, tol=1e-8, max_iter=1000),
        "scikit-learn newton-cholesky": estimator(
            address, alpha=0, tol=1e-8, solver="newton-cholesky"
        ),
    }


def with_glum(peers: dict[str, Any], family: str) -> dict[str, Any]:
    try:
        importlib.import_module("glum")
    except ImportError:
        return peers
    return {**peers, "glum": partial(glum_glm, family=family)}


# --- data ----------------------------------------------------------------------------------


def counts(options: Options, *, rows: int, columns: int) -> tuple[Floats, Floats]:
    """Normal columns, and counts with means from about 0.3 to 10."""
    X, mean, rng = _means(options, rows, columns)
    return X, rng.poisson(mean).astype(np.float64)


def amounts(options: Options, *, rows: int, columns: int) -> tuple[Floats, Floats]:
    """The same means, of amounts with a coefficient of variation of a half."""
    X, mean, rng = _means(options, rows, columns)
    return X, rng.gamma(4, mean / 4)


def _means(options: Options, rows: int, columns: int) -> tuple[Floats, Floats, Any]:
    rng = np.random.default_rng(rows + columns)
    X = rng.standard_normal((rows // 10 if options.quick else rows, columns))
    theta = rng.standard_normal(columns) / np.sqrt(2 * columns)
    return X, np.exp(0.5 + X @ theta), rng


ROWS: tuple[Row, ...] = (
    Race(
        "GeneralizedLinearModel, Poisson",
        partial(counts, rows=200_000, columns=50),
        estimator("suffice.GeneralizedLinearModel", family="poisson"),
        with_glum(
            {
                **scikit_learn("PoissonRegressor"),
                "statsmodels": partial(statsmodels_glm, family="Poisson"),
            },
            "poisson",
        ),
        Bar(0.7),
        reference="statsmodels",
        tolerance=1e-6,
        once=frozenset({"statsmodels"}),
    ),
    Race(
        "GeneralizedLinearModel, Gamma",
        partial(amounts, rows=200_000, columns=50),
        estimator("suffice.GeneralizedLinearModel", family="gamma"),
        with_glum({**scikit_learn("GammaRegressor"), "statsmodels": statsmodels_gamma}, "gamma"),
        Bar(0.7),
        reference="statsmodels",
        tolerance=1e-6,
        once=frozenset({"statsmodels"}),
    ),
)
