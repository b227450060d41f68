"""The races on independent columns once more, on correlated ones: six factors, κ = 30.

Contenders, references, tolerances and bars are those of the first race.  Models whose answer
depends on the columns' units have them divided by their deviations, and keep their offsets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import (
    bayesian,
    density,
    ensembles,
    generative,
    glm,
    inference,
    lasso,
    local,
    logistic,
    neighbors,
    perceptron,
    selection,
)
from benchmarks.correlated import deviations, with_target
from benchmarks.harness import Fit, Options, Row
from benchmarks.least_squares import estimator
from benchmarks.tables import factors

Floats = NDArray[np.float64]

KAPPA = 30.0

# --- data ----------------------------------------------------------------------------------


def table(options: Options, rows: int, columns: int, scaled: bool) -> Floats:
    X = factors(rows // 10 if options.quick else rows, columns, KAPPA, seed=3)
    return X / X.std(axis=0) if scaled else X


def signal(X: Floats, deviation: float, targets: int = 1) -> Floats:
    """Sums that all columns have an equal part in, of the deviation asked for."""
    theta = np.random.default_rng(5).standard_normal((X.shape[1], targets))
    sums = (X - X.mean(axis=0)) / X.std(axis=0) @ theta
    return sums * (deviation / sums.std(axis=0))


def target(options: Options, *, rows: int, columns: int, scaled: bool) -> tuple[Floats, Floats]:
    return with_target(table(options, rows, columns, scaled), 5)


def classes(
    options: Options, *, rows: int, columns: int, labels: int, scaled: bool
) -> tuple[Floats, NDArray[np.int64]]:
    """Classes drawn by log odds."""
    X = table(options, rows, columns, scaled)
    return X, logistic.drawn(signal(X, 2.0, labels), np.random.default_rng(6))


def counts(options: Options, *, rows: int, columns: int, scaled: bool) -> tuple[Floats, Floats]:
    X = table(options, rows, columns, scaled)
    mean = np.exp(0.5 + signal(X, 0.7).ravel())
    return X, np.random.default_rng(6).poisson(mean).astype(np.float64)


def waves(options: Options) -> tuple[Floats, Floats]:
    """20,000 rows after the queries."""
    rows = 10 * local.QUERIES + (10 if options.quick else 1) * local.QUERIES
    X = table(options, rows, 10, scaled=True)
    return X, np.sin(X).sum(axis=1) + np.random.default_rng(6).standard_normal(len(X))


def rows_and_queries(
    options: Options, *, rows: int, queries: int, columns: int
) -> tuple[Floats, Floats]:
    X = table(options, rows + queries, columns, scaled=True)
    queries = queries // 10 if options.quick else queries
    return X[queries:], X[:queries]


def centred(options: Options) -> tuple[Floats, Floats]:
    """Many columns, a hundred of which matter; centred, as a path has no intercept."""
    shape = (300, 3000) if options.quick else (1000, 20_000)
    X = factors(*shape, KAPPA, seed=3)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    rng = np.random.default_rng(5)
    y = X[:, :100] @ rng.standard_normal(100) + 3 * rng.standard_normal(len(X))
    return X, y - y.mean()


# --- rows ----------------------------------------------------------------------------------

RACES: Mapping[str, Any] = {
    row.work: row
    for module in (
        lasso,
        local,
        logistic,
        bayesian,
        perceptron,
        generative,
        density,
        neighbors,
        ensembles,
        glm,
        inference,
        selection,
    )
    for row in module.ROWS
}


def moments_units(X: Floats) -> Floats:
    """Units of the means and variances of two classes."""
    scale = 1 / X.std(axis=0)
    return np.concatenate([scale, scale, scale**2, scale**2])


def again(work: str, data: Any, how: str = "", **changes: Any) -> Row:
    """The race of this name on other data."""
    name = f"{work}, on factors at κ = {KAPPA:g}{how}"
    row: Row = replace(RACES[work], work=name, data=data, **changes)
    return row


def on_products(peers: Mapping[str, Fit]) -> dict[str, Fit]:
    """Without those that visit the rows at every step: minutes here, and short of six digits."""
    return {name: fit for name, fit in peers.items() if name not in ("scikit-learn", "celer")}


CROSS_VALIDATED = "LassoCV, 100 penalties and 5 folds"
SCALED = ", standardised but not centred"
CENTRED = ", centred and standardised"


ROWS: tuple[Row, ...] = (
    *(
        again(
            name,
            partial(target, rows=1_000_000, columns=50, scaled=True),
            SCALED,
            peers={**on_products(RACES[name].peers), **lasso.tightened(name)},
        )
        for name in ("Lasso", "ElasticNet")
    ),
    again(
        CROSS_VALIDATED,
        partial(target, rows=100_000, columns=50, scaled=True),
        SCALED,
        peers={
            **RACES[CROSS_VALIDATED].peers,
            "scikit-learn, tol=1e-7": estimator(
                "sklearn.linear_model.LassoCV", tol=1e-7, max_iter=lasso.MANY
            ),
        },
    ),
    again("lasso_path of 100 penalties, wide", centred, CENTRED),
    again("LocallyWeightedRegression, 2,000 queries", waves, SCALED),
    again(
        "LogisticRegression",
        partial(classes, rows=200_000, columns=50, labels=2, scaled=True),
        SCALED,
    ),
    again(
        "LogisticRegression, 10 classes",
        partial(classes, rows=60_000, columns=100, labels=10, scaled=True),
        SCALED,
    ),
    again(
        "BayesianLinearRegression at the largest evidence",
        partial(target, rows=200_000, columns=50, scaled=True),
        SCALED,
    ),
    again(
        "Perceptron, 20 passes in order",
        partial(classes, rows=1_000_000, columns=50, labels=2, scaled=True),
        SCALED,
    ),
    again(
        "Perceptron, 20 shuffled passes",
        partial(classes, rows=1_000_000, columns=50, labels=2, scaled=True),
        SCALED,
    ),
    again(
        "GaussianNB",
        partial(classes, rows=1_000_000, columns=50, labels=2, scaled=False),
        units=moments_units,
    ),
    again(
        "KernelDensity, 2,000 queries",
        partial(rows_and_queries, rows=20_000, queries=2_000, columns=8),
        SCALED,
    ),
    again(
        "Neighbours, brute force, 20,000 queries",
        partial(rows_and_queries, rows=100_000, queries=20_000, columns=50),
        SCALED,
    ),
    again(
        "Neighbours, tree, 50,000 queries",
        partial(rows_and_queries, rows=200_000, queries=50_000, columns=8),
        SCALED,
    ),
    again(
        "OneVsRest(LogisticRegression()), ten classes",
        partial(classes, rows=100_000, columns=20, labels=10, scaled=True),
        SCALED,
    ),
    *(
        again(
            "GeneralizedLinearModel, Poisson",
            partial(counts, rows=200_000, columns=50, scaled=bool(how)),
            how,
            units=deviations,
        )
        for how in ("", SCALED)
    ),
    again(
        "LinearRegression, HC3 standard errors",
        partial(target, rows=200_000, columns=20, scaled=False),
        units=deviations,
    ),
    again(
        "LogisticRegression, HC0 standard errors",
        partial(classes, rows=200_000, columns=20, labels=2, scaled=False),
        units=deviations,
    ),
    again(
        "Leave-one-out of Ridge, next to one fit",
        partial(target, rows=200_000, columns=50, scaled=False),
    ),
    again(
        "Leave-one-out of GaussianNB, next to one fit",
        partial(classes, rows=200_000, columns=50, labels=3, scaled=False),
    ),
)
