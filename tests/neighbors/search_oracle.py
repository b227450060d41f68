"""Neighbours by definition: every rank, column by column in float64, and a stable sort."""

from __future__ import annotations

import numpy as np


def power(away, p):
    """The C library's power, one number at a time: NumPy's of arrays may differ in the last bit."""
    return np.array([one**p for one in away.ravel().tolist()]).reshape(away.shape)


def all_ranks(queries, X, metric):
    """Ranks of all rows from all queries, of shape (queries, rows)."""
    ranks = np.zeros((len(queries), len(X)))
    for j in range(X.shape[1]):
        away = np.abs(X[None, :, j] - queries[:, None, j])
        if metric.name == "chebyshev":
            ranks = np.maximum(ranks, away)
        elif metric.name == "manhattan":
            ranks += away
        elif metric.name == "minkowski":
            weight = 1.0 if metric.w is None else metric.w[j]
            ranks += weight * (away * away if metric.p == 2 else power(away, metric.p))
        else:
            ranks += away * away
    return ranks


def nearest(queries, X, metric, k):
    """Ranks and numbers of the k nearest rows; the first of several at one distance."""
    ranks = all_ranks(queries, X, metric)
    rows = np.argsort(ranks, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(ranks, rows, axis=1), rows


def within(queries, X, metric, most):
    """For each query the numbers of the rows up to a rank."""
    return [np.flatnonzero(row <= most) for row in all_ranks(queries, X, metric)]
