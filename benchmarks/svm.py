"""Races of support vector classification with a Gaussian kernel.

What is compared first is the dual value, from the coefficients and in float64: a contender that
stopped before its end does not count.
"""

from __future__ import annotations

import importlib
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import covertype
from benchmarks.harness import Answer, Bar, Options, Race, Row

Floats = NDArray[np.float64]


def standardised(X: Floats) -> Floats:
    """Each column in units of its deviation."""
    deviation = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)


def made(options: Options, *, rows: int, columns: int, flipped: float) -> tuple[Floats, Any]:
    """Two classes in several clusters, some labels of which are wrong."""
    from sklearn.datasets import make_classification

    rows = rows // 10 if options.quick else rows
    X, y = make_classification(
        rows, columns, n_informative=columns // 2, flip_y=flipped, random_state=0
    )
    return standardised(X), y


def digits(options: Options) -> tuple[Floats, Any]:
    """Written digits, in ten classes."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return standardised(X), y


def forests(options: Options) -> tuple[Floats, Any]:
    """The most frequent of the forest cover types against the rest."""
    X, y = covertype.read()
    chosen = np.random.default_rng(0).choice(len(X), 1200 if options.quick else 12_000, False)
    most = np.bincount(y).argmax()
    return standardised(X[np.sort(chosen)]), (y[np.sort(chosen)] == most).astype(int)


def dual_value(model: Any, X: Floats) -> Answer:
    """Of the multipliers of all pairs of classes, by the definition."""
    gamma = 1 / (X.shape[1] * X.var())
    vectors = X[model.support_]
    lengths = np.square(vectors).sum(axis=1)
    K = np.exp(-gamma * np.maximum(lengths[:, None] + lengths - 2 * vectors @ vectors.T, 0.0))
    ends = np.cumsum(model.n_support_)
    groups = [slice(e - c, e) for e, c in zip(ends, model.n_support_, strict=True)]
    total = 0.0
    for i, first in enumerate(groups):
        for j, second in enumerate(groups[i + 1 :], i + 1):
            beta = np.zeros(len(vectors))
            beta[first] = model.dual_coef_[j - 1, first]
            beta[second] = model.dual_coef_[i, second]
            total += float(np.abs(beta).sum() - beta @ (K @ beta) / 2)
    return np.array([total])


class Machine:
    """A fitted machine, whose dual value is computed after the clock has stopped."""

    def __init__(self, X: Floats, y: Any, address: str) -> None:
        module, _, name = address.rpartition(".")
        self.X = X
        self.model = getattr(importlib.import_module(module), name)().fit(X, y)

    intercept_ = np.zeros(0)

    @property
    def coef_(self) -> Answer:
        """What the harness compares."""
        return dual_value(self.model, self.X)


def race(work: str, data: Any, limit: float, strict: bool = False) -> Race:
    """Ours beside LIBSVM and intelex."""
    peers = {
        "scikit-learn": partial(Machine, address="sklearn.svm.SVC"),
        "intelex": partial(Machine, address="sklearnex.svm.SVC"),
    }
    ours = partial(Machine, address="suffice.SVC")
    bar = Bar(limit, strict=strict)
    return Race(work, data, ours, peers, bar, "scikit-learn", tolerance=1e-4, rounds=3)


ROWS: tuple[Row, ...] = (
    race("SVC", partial(made, rows=10_000, columns=50, flipped=0.01), 0.5),
    race("SVC", partial(made, rows=20_000, columns=50, flipped=0.01), 0.6),
    race("SVC of noisy labels", partial(made, rows=5_000, columns=20, flipped=0.2), 0.3),
    race("SVC of digits, ten classes", digits, 0.8),
    race("SVC of forest cover types", forests, 0.9, strict=True),
)
