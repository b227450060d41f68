"""Rows to be clustered."""

from __future__ import annotations

import numpy as np


def squares(X, centres):
    return np.square(X[:, None, :] - centres).sum(axis=2)


def table_of(seed):
    """Rows of many kinds: clusters or noise, offsets, scales, whole numbers."""
    rng = np.random.default_rng(seed)
    n, d, k = int(rng.integers(20, 400)), int(rng.integers(1, 12)), int(rng.integers(1, 9))
    middles = rng.normal(size=(k, d)) * rng.choice([0.0, 2.0, 10.0])
    X = middles[rng.integers(k, size=n)] + rng.normal(size=(n, d))
    X *= rng.choice([1.0, 10.0 ** rng.uniform(-6, 6)], size=d)
    X += rng.choice([0.0, 1e6], size=d) * X.std(axis=0)
    return X, X[rng.choice(n, k, replace=False)]
