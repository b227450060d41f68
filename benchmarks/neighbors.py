"""Races of searches for neighbours: a fit and queries, by brute force and by trees.

What is compared are the distances of the first queries, with those of the definition.
"""

from __future__ import annotations

import importlib
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Answer, Bar, Options, Race, Row, cores

Floats = NDArray[np.float64]
NEIGHBOURS = 5
COMPARED = 200
"""Queries whose distances are compared."""


def normal(options: Options, *, rows: int, queries: int, columns: int) -> tuple[Floats, Floats]:
    """Rows and queries."""
    tenth = 10 if options.quick else 1
    rng = np.random.default_rng(17)
    return (
        rng.standard_normal((rows // tenth, columns)),
        rng.standard_normal((queries // tenth, columns)),
    )


def ours(X: Floats, queries: Floats, *, algorithm: str) -> Answer:
    cls = importlib.import_module("suffice").KNeighborsDensity
    model = cls(NEIGHBOURS, algorithm=algorithm).fit(X)
    return np.asarray(model.kneighbors(queries)[0][:COMPARED])


def peer(X: Floats, queries: Floats, *, module: str, algorithm: str, **options: Any) -> Answer:
    cls = importlib.import_module(module).NearestNeighbors
    model = cls(n_neighbors=NEIGHBOURS, algorithm=algorithm, **options).fit(X)
    return np.asarray(model.kneighbors(queries)[0][:COMPARED])


def scipy_tree(X: Floats, queries: Floats, **options: Any) -> Answer:
    tree = importlib.import_module("scipy.spatial").cKDTree(X, **options)
    return np.asarray(tree.query(queries, NEIGHBOURS, workers=cores())[0][:COMPARED])


def by_definition(X: Floats, queries: Floats) -> Answer:
    away = [np.sqrt(np.square(X - q).sum(axis=1)) for q in queries[:COMPARED]]
    return np.array([np.sort(np.partition(one, NEIGHBOURS)[:NEIGHBOURS]) for one in away])


ROWS: tuple[Row, ...] = (
    Race(
        "Neighbours, brute force, 20,000 queries",
        partial(normal, rows=100_000, queries=20_000, columns=50),
        partial(ours, algorithm="brute"),
        {
            "scikit-learn": partial(peer, module="sklearn.neighbors", algorithm="brute"),
            "intelex": partial(peer, module="sklearnex.neighbors", algorithm="brute"),
        },
        Bar(0.5),
        reference=by_definition,
        truth="the definition",
        tolerance=1e-7,
        rounds=4,
    ),
    Race(
        "Neighbours, tree, 50,000 queries",
        partial(normal, rows=200_000, queries=50_000, columns=3),
        partial(ours, algorithm="kd_tree"),
        {
            "scikit-learn": partial(
                peer, module="sklearn.neighbors", algorithm="kd_tree", n_jobs=-1
            ),
            "intelex": partial(peer, module="sklearnex.neighbors", algorithm="kd_tree"),
            "SciPy": scipy_tree,
            "SciPy, built quickly": partial(scipy_tree, balanced_tree=False, compact_nodes=False),
        },
        Bar(1.2, aim=1.0),
        reference=by_definition,
        truth="the definition",
        tolerance=1e-7,
        rounds=15,
    ),
)
