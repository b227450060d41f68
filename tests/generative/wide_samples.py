"""Fewer rows than columns, for the tests of discriminants."""

from __future__ import annotations

import numpy as np


def sample(n=40, d=130, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    X = rng.normal(size=(n, d)) * np.exp(rng.normal(size=d)) + rng.normal(size=(classes, d))[y]
    return X, y


CASES = ["plain", "offset", "weights", "duplicates", "constant columns", "one row of a class"]


def case(name):
    """Rows, labels, weights, and the distinct rows with theirs."""
    rng = np.random.default_rng(3)
    X, y = sample(10, 18 if name == "duplicates" else 14, 3, seed=2)
    weight = np.ones(10)
    if name == "offset":
        X = X + 1e8
    if name == "weights":
        weight = rng.choice([0.0, 0.5, 2.0, 3.25], size=10)
        weight[:3] = 1.0
    if name == "constant columns":
        X[:, 3], X[y == 1, 5] = 1e8 / 3, 0.25
    if name == "one row of a class":
        y[0] = 7
    if name == "duplicates":
        twice = rng.integers(0, 10, size=6)
        whole = np.vstack([X, X[twice]]), np.append(y, y[twice])
        return (*whole, None), (X, y, weight + np.bincount(twice, minlength=10))
    return (X, y, weight), (X, y, weight)
