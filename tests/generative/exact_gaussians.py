"""Gaussians of classes in fractions: the oracle for discriminants."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

fractions = np.vectorize(Fraction, otypes=[object])


class Exact(NamedTuple):
    """Weights, means and scatters of each class, as Fractions."""

    weights: Any
    means: Any
    scatters: Any

    @property
    def within(self) -> Any:
        return sum(self.scatters) / sum(self.weights)

    @property
    def covariances(self) -> Any:
        return [s / w for s, w in zip(self.scatters, self.weights, strict=True)]


def exact_gaussians(X: Any, y: Any, weight: Any = None) -> Exact:
    """Of rows of float64 numbers."""
    weight = np.ones(len(X)) if weight is None else weight
    X, w = fractions(X), fractions(weight)
    weights, means, scatters = [], [], []
    for k in np.unique(y[weight > 0]):
        rows, mine = X[y == k], w[y == k]
        weights.append(mine.sum())
        means.append((mine[:, None] * rows).sum(axis=0) / mine.sum())
        away = rows - means[-1]
        scatters.append((mine[:, None] * away).T.dot(away))
    return Exact(np.array(weights), np.array(means), scatters)


def inverse(matrix: Any) -> Any:
    """By Gauss and Jordan."""
    n = len(matrix)
    work = np.concatenate([matrix.copy(), fractions(np.eye(n))], axis=1)
    for i in range(n):
        pivot = next(r for r in range(i, n) if work[r, i])
        work[[i, pivot]] = work[[pivot, i]]
        work[i] = work[i] / work[i, i]
        for r in range(n):
            if r != i:
                work[r] = work[r] - work[r, i] * work[i]
    return work[:, n:]


def determinant(matrix: Any) -> Fraction:
    work, out = matrix.copy(), Fraction(1)
    for i in range(len(work)):
        pivot = next((r for r in range(i, len(work)) if work[r, i]), None)
        if pivot is None:
            return Fraction(0)
        if pivot != i:
            work[[i, pivot]] = work[[pivot, i]]
            out = -out
        out *= work[i, i]
        for r in range(i + 1, len(work)):
            work[r] = work[r] - work[r, i] / work[i, i] * work[i]
    return out


def floats(values: Any) -> Any:
    return np.asarray(values, dtype=object).astype(np.float64)


def close(found: Any, expected: Any, tolerance: float) -> None:
    """Relative to the largest entry."""
    expected = floats(expected)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * scale)
