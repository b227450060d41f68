"""Races of linear support vector machines with liblinear.

liblinear penalises the intercept, so both get a column of ones and no intercept: then the problem
is one.  What is compared is the objective.  For hinges liblinear gets about as many sweeps as it
needs to come within 1% of the least objective; ours is proved to a millionth.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_classification
from sklearn.svm import LinearSVC as Liblinear

from benchmarks import covertype
from benchmarks.harness import Answer, Bar, Options, Race, Row
from suffice import LinearSVC

Floats = NDArray[np.float64]


def with_ones(X: Floats) -> Floats:
    """A column of ones as the last."""
    return np.hstack([X, np.ones((len(X), 1))])


def made(options: Options) -> tuple[Floats, Any]:
    """Two classes of clusters."""
    rows = 20_000 if options.quick else 200_000
    X, y = make_classification(rows, 50, n_informative=20, random_state=0)
    return with_ones(X), y


def forests(options: Options) -> tuple[Floats, Any]:
    """Lodgepole pine against all other covers, each column in units of its deviation."""
    X, y = covertype.read()
    X, y = X[:200_000].astype(np.float64), y[:200_000]
    X, y = (X[::10], y[::10]) if options.quick else (X, y)
    deviation = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    return with_ones(X), (y == 2).astype(int)


def objective(model: Any, X: Floats, y: Any) -> Answer:
    """½‖w‖² and the sum of the losses, for C = 1."""
    w = model.coef_[0]
    slack = np.maximum(1 - np.where(y > 0, 1, -1) * (X @ w), 0)
    loss = slack if model.loss == "hinge" else slack**2
    return np.array([w @ w / 2 + loss.sum()])


def ours(X: Floats, y: Any, *, loss: str) -> Answer:
    """Proved to a relative gap of 1e-6."""
    model = LinearSVC(loss=loss, tol=1e-6, fit_intercept=False).fit(X, y)
    assert model.certificate_.holds
    return np.array([model.certificate_.primal])


def by_liblinear(X: Floats, y: Any) -> Answer:
    """Squared hinges by its trust-region Newton method."""
    model = Liblinear(dual=False, fit_intercept=False).fit(X, y)
    return objective(model, X, y)


def by_sweeps(X: Floats, y: Any, *, sweeps: int) -> Answer:
    """Hinges by so many sweeps of dual coordinate descent."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Liblinear(
            loss="hinge", dual=True, tol=1e-12, max_iter=sweeps, fit_intercept=False,
            random_state=0,
        )  # fmt: skip
        return objective(model.fit(X, y), X, y)


def squared(work: str, data: Any) -> Race:
    """Squared hinges."""
    fit = partial(ours, loss="squared_hinge")
    bar = Bar(0.1, strict=False)
    peers = {"liblinear": by_liblinear}
    return Race(work, data, fit, peers, bar, "liblinear", tolerance=1e-4, rounds=3)


def hinges(work: str, data: Any, sweeps: int) -> Race:
    """Hinges; liblinear with the sweeps that bring it within 1%."""
    fit = partial(ours, loss="hinge")
    peers = {"liblinear": partial(by_sweeps, sweeps=sweeps)}
    return Race(
        work, data, fit, peers, Bar(1.0), fit, truth="our proved one", tolerance=0.01, rounds=3,
        once=frozenset({"liblinear"}),
    )  # fmt: skip


ROWS: tuple[Row, ...] = (
    squared("Squared hinges", made),
    squared("Squared hinges of forest cover types", forests),
    hinges("Hinges to 1e-6, liblinear's to 1%", made, 1000),
    hinges("Hinges of forest cover types to 1e-6, liblinear's to 1%", forests, 200),
)
