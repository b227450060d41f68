"""Races of linear regression and ridge on rows in memory."""

from __future__ import annotations

import importlib
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.exact import exact_answer
from benchmarks.harness import Answer, Bar, Fit, Options, Race, Row

Floats = NDArray[np.float64]

# --- contenders ----------------------------------------------------------------------------


def fit_estimator(X: Any, y: Floats, *, address: str, parameters: dict[str, Any]) -> Any:
    module, _, name = address.rpartition(".")
    return getattr(importlib.import_module(module), name)(**parameters).fit(X, y)


def estimator(address: str, **parameters: Any) -> Fit:
    """An estimator by its import path, imported where it runs."""
    return partial(fit_estimator, address=address, parameters=parameters)


def statsmodels_ols(X: Floats, y: Floats) -> Answer:
    api = importlib.import_module("statsmodels.api")
    return np.asarray(api.OLS(y, api.add_constant(X)).fit().params)


def dense_ridge(X: Any, y: Floats) -> Any:
    return estimator("sklearn.linear_model.Ridge", solver="cholesky")(X.toarray(), y)


OUR_LINEAR, OUR_RIDGE = estimator("suffice.LinearRegression"), estimator("suffice.Ridge")
SKLEARN_LINEAR = {"scikit-learn": estimator("sklearn.linear_model.LinearRegression")}
SKLEARN_RIDGE = {"scikit-learn": estimator("sklearn.linear_model.Ridge")}
INTELEX_LINEAR = {"intelex": estimator("sklearnex.linear_model.LinearRegression")}
INTELEX_RIDGE = {"intelex": estimator("sklearnex.linear_model.Ridge")}

# --- data ----------------------------------------------------------------------------------


def with_target(X: Any, rng: np.random.Generator) -> tuple[Any, Floats]:
    theta = rng.standard_normal(X.shape[1])
    return X, 1.0 + X @ theta + rng.standard_normal(X.shape[0])


def normal(options: Options, *, rows: int, columns: int) -> tuple[Any, Floats]:
    """Independent normal columns; quick: a tenth of the longer side."""
    if options.quick and max(rows, columns) > 1000:
        rows, columns = (rows // 10, columns) if rows > columns else (rows, columns // 10)
    rng = np.random.default_rng(rows + columns)
    return with_target(rng.standard_normal((rows, columns)), rng)


def ill_conditioned(options: Options, *, rows: int, columns: int) -> tuple[Any, Floats]:
    """Columns of equal spread and a condition number of 10⁴."""
    rng = np.random.default_rng(4)
    left, right = (np.linalg.qr(rng.standard_normal((columns, columns)))[0] for _ in "ab")
    mix = left * np.logspace(0, -4, columns) @ right
    X = rng.standard_normal((rows // 10 if options.quick else rows, columns)) @ mix
    return with_target(X / X.std(axis=0), rng)


def sparse(options: Options, *, rows: int, columns: int, density: float) -> tuple[Any, Floats]:
    from scipy.sparse import random_array

    rng = np.random.default_rng(7)
    rows = rows // 10 if options.quick else rows
    X = random_array(
        (rows, columns), density=density, format="csr", rng=rng, data_sampler=rng.standard_normal
    )
    return with_target(X, rng)


TALL = partial(normal, rows=1_000_000, columns=50)
SMALL = partial(normal, rows=150, columns=4)
WIDE = partial(normal, rows=500, columns=20_000)
AT_LEAST_AS_FAST, HALF_MORE = Bar(1.0, aim=0.7), Bar(1.5, strict=False)

ROWS: tuple[Row, ...] = (
    Race(
        "LinearRegression",
        TALL,
        OUR_LINEAR,
        {**INTELEX_LINEAR, **SKLEARN_LINEAR, "statsmodels": statsmodels_ols},
        AT_LEAST_AS_FAST,
        reference=exact_answer,
        once=frozenset({"statsmodels"}),
    ),
    Race(
        "Ridge",
        TALL,
        OUR_RIDGE,
        {**INTELEX_RIDGE, **SKLEARN_RIDGE},
        AT_LEAST_AS_FAST,
        reference=partial(exact_answer, ridge=True),
    ),
    Race(
        "LinearRegression, later fits of a process",
        SMALL,
        OUR_LINEAR,
        SKLEARN_LINEAR,
        HALF_MORE,
        reference=exact_answer,
        judged_by="median",
        rounds=1000,
    ),
    Race(
        "Ridge, later fits of a process",
        SMALL,
        OUR_RIDGE,
        SKLEARN_RIDGE,
        HALF_MORE,
        reference=partial(exact_answer, ridge=True),
        judged_by="median",
        rounds=1000,
    ),
    Race(
        "LinearRegression at condition number 10⁴",
        partial(ill_conditioned, rows=1_000_000, columns=50),
        OUR_LINEAR,
        {**SKLEARN_LINEAR, **INTELEX_LINEAR},
        Bar(1.0),
        reference=exact_answer,
    ),
    Race(
        "LinearRegression, wide",
        WIDE,
        OUR_LINEAR,
        SKLEARN_LINEAR,
        Bar(1.0),
        reference="scikit-learn",
        rounds=5,
    ),
    Race(
        "Ridge, wide",
        WIDE,
        OUR_RIDGE,
        SKLEARN_RIDGE,
        Bar(1.0),
        reference="scikit-learn",
        rounds=5,
    ),
    Race(
        "Ridge, sparse (2% non-zero)",
        partial(sparse, rows=200_000, columns=500, density=0.02),
        OUR_RIDGE,
        {
            name: estimator("sklearn.linear_model.Ridge", solver=solver, tol=1e-10)
            for name, solver in (("scikit-learn", "auto"), ("scikit-learn lsqr", "lsqr"))
        },
        Bar(1.0),
        reference=dense_ridge,
        truth="scikit-learn on a dense copy",
        tolerance=1e-8,
        rounds=5,
    ),
)
