"""Races of k-means from one start, with a last assignment of all rows.

What is compared is the inertia with that of scikit-learn; rounding may send a few rows another
way, after which passes differ a little.
"""

from __future__ import annotations

import importlib
import warnings
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import covertype
from benchmarks.harness import Answer, Bar, Options, Race, Row, cores

Floats = NDArray[np.float64]


def some_rows(X: Floats, k: int) -> Floats:
    """Rows to start from."""
    return X[np.random.default_rng(5).choice(len(X), k, replace=False)]


def blobs(options: Options, *, rows: int, columns: int, k: int) -> tuple[Floats, Floats]:
    """Clusters that overlap a little, and where to start."""
    rows = rows // 10 if options.quick else rows
    rng = np.random.default_rng(21)
    middles = 3 * rng.standard_normal((k, columns))
    X = middles[rng.integers(k, size=rows)] + 2 * rng.standard_normal((rows, columns))
    return X, some_rows(X, k)


def noise(options: Options, *, rows: int, columns: int, k: int) -> tuple[Floats, Floats]:
    """Rows without clusters."""
    rows = rows // 10 if options.quick else rows
    X = np.random.default_rng(22).standard_normal((rows, columns))
    return X, some_rows(X, k)


def forests(options: Options, *, k: int) -> tuple[Floats, Floats]:
    """Forest cover types, each column in units of its deviation."""
    X = covertype.read()[0]
    X = X[:: 10 if options.quick else 1]
    deviation = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    return X, some_rows(X, k)


def inertia(X: Floats, centres: Floats, labels: Any) -> Answer:
    """By the definition."""
    return np.array([np.square(X - np.asarray(centres, dtype=np.float64)[labels]).sum()])


def clustered(X: Floats, start: Floats, *, address: str, passes: int, **options: Any) -> Answer:
    """The inertia of a model of scikit-learn's kind."""
    module, _, name = address.rpartition(".")
    cls = getattr(importlib.import_module(module), name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = cls(len(start), init=start, n_init=1, max_iter=passes, tol=0, **options).fit(X)
    return np.array([float(model.inertia_)])


def by_faiss(X: Floats, start: Floats, *, passes: int) -> Answer:
    """All rows in all passes, and a search for the last labels."""
    faiss = importlib.import_module("faiss")
    faiss.omp_set_num_threads(cores())
    rows = X.astype(np.float32)
    model = faiss.Kmeans(
        X.shape[1], len(start), niter=passes, max_points_per_centroid=len(X),
        min_points_per_centroid=1,
    )  # fmt: skip
    model.train(rows, init_centroids=start.astype(np.float32))
    _, labels = model.index.search(rows, 1)
    return inertia(X, model.centroids, labels.ravel())


def race(work: str, data: Any, passes: int, bar: Bar, *slow: str) -> Race:
    """Ours beside the peers, of whom slow ones run once."""
    peers = {
        "intelex": partial(clustered, address="sklearnex.cluster.KMeans", passes=passes),
        "scikit-learn": partial(clustered, address="sklearn.cluster.KMeans", passes=passes),
        "faiss": partial(by_faiss, passes=passes),
    }
    ours = partial(clustered, address="suffice.KMeans", passes=passes)
    once = frozenset(slow)
    return Race(work, data, ours, peers, bar, "scikit-learn", tolerance=1e-4, rounds=3, once=once)


ROWS: tuple[Row, ...] = (
    race(
        "K-means, 20 clusters, 50 passes",
        partial(blobs, rows=200_000, columns=20, k=20),
        50,
        Bar(0.6, strict=False),
    ),
    race(
        "K-means, 100 clusters, 50 passes",
        partial(blobs, rows=500_000, columns=50, k=100),
        50,
        Bar(0.35, strict=False),
        "scikit-learn",
        "faiss",
    ),
    race(
        "K-means of noise, 20 clusters, 50 passes",
        partial(noise, rows=200_000, columns=20, k=20),
        50,
        Bar(0.8, strict=False),
    ),
    race(
        "K-means of forest cover types, 64 clusters, 50 passes",
        partial(forests, k=64),
        50,
        Bar(0.8),
        "scikit-learn",
        "faiss",
    ),
)
