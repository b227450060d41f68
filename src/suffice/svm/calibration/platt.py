"""Probabilities from decision values: Platt's sigmoid.

    P(y = 1 | f) = 1 / (1 + exp(A f + B))

with A and B of the greatest likelihood, where the target of n₊ rows of the class is
(n₊ + 1) / (n₊ + 2), and that of n₋ others 1 / (n₋ + 2).  The values are to be those of rows that
the machine has not seen: of its own rows too many lie on the margin.

Reference: Lin, Lin and Weng, "A note on Platt's probabilistic outputs for support vector
machines" (2007).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit

from suffice.svm.smo.dual import Floats, Integers

FOLDS = 5


def fit_sigmoid(values: Floats, positive: NDArray[np.bool_], weight: Floats) -> tuple[float, float]:
    """A and B, by Newton's method.

    Parameters
    ----------
    values : float64 array of shape (rows,)
    positive : bool array of shape (rows,)
    weight : float64 array of shape (rows,)
    """
    there, rest = float(weight[positive].sum()), float(weight[~positive].sum())
    target = np.where(positive, (there + 1) / (there + 2), 1 / (rest + 2))
    scale = float(np.abs(values).max()) or 1.0
    table = np.column_stack([values / scale, np.ones(len(values))])
    theta = np.array([0.0, np.log((rest + 1) / (there + 1))])

    def loss(theta: Floats) -> float:
        z = table @ theta
        return -float(weight @ (target * log_expit(-z) + (1 - target) * log_expit(z)))

    current = loss(theta)
    for _ in range(100):
        p = expit(-(table @ theta))
        gradient = table.T @ (weight * (target - p))
        curvature = (table * (weight * p * (1 - p))[:, None]).T @ table + 1e-12 * np.eye(2)
        direction = -np.linalg.solve(curvature, gradient)
        step = 1.0
        while loss(theta + step * direction) > current + 1e-4 * step * (gradient @ direction):
            step /= 2
            if step < 1e-10:
                return float(theta[0] / scale), float(theta[1])
        theta = theta + step * direction
        before, current = current, loss(theta)
        if before - current <= 1e-12 * (1 + abs(current)):
            break
    return float(theta[0] / scale), float(theta[1])


def log_probabilities(scores: Floats, slopes: Floats, offsets: Floats) -> Floats:
    """Logarithms of the classes' probabilities.

    Parameters
    ----------
    scores : float64 array of shape (rows,) for two classes, else (rows, classes)
    slopes, offsets : float64 arrays of shape (1,) or (classes,)
        A and B.
    """
    if scores.ndim == 1:
        z = slopes[0] * scores + offsets[0]
        return np.column_stack([log_expit(z), log_expit(-z)])
    found = log_expit(-(scores * slopes + offsets))
    return np.asarray(found - np.logaddexp.reduce(found, axis=1, keepdims=True))


def folds_of(codes: Integers, random: np.random.RandomState | None) -> Integers:
    """A fold for each row: rows of a class take turns, in their order or in a random one."""
    found = np.empty(len(codes), np.int64)
    for code in np.unique(codes):
        rows = np.flatnonzero(codes == code)
        if random is not None:
            rows = random.permutation(rows)
        found[rows] = np.arange(len(rows)) % FOLDS
    return found
