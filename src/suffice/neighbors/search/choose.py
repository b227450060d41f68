"""Which search to take, and what is said about it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.fitting.certificate import Certificate
from suffice.fitting.estimator import callers_level
from suffice.kernels.neighbors.distances import SQUARED
from suffice.neighbors.search.brute_force import BruteForce
from suffice.neighbors.search.kd_tree import TreeSearch
from suffice.neighbors.search.metrics import Metric
from suffice.neighbors.search.sparse import SparseSearch
from suffice.statistics.rows.sparse import SparseRows
from suffice.statistics.rows.with_targets import RowsAndTargets

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

Search = BruteForce | TreeSearch | SparseSearch

MOST_COLUMNS, MOST_OF_SQUARES = 15, 10
"""Columns up to which "auto" builds a tree; fewer where a matrix product is the other way."""


def takes_all_rows(algorithm: str, metric: Metric, X: Any, k: int) -> bool:
    """Whether queries are compared with all rows, and not by a tree.

    Parameters
    ----------
    algorithm : {"auto", "brute", "kd_tree", "ball_tree"}
    metric : Metric
    X : array of shape (rows, columns) or SparseRows
    k : int
        Neighbours that will mostly be asked for.

    Raises
    ------
    ValueError
        If a tree is asked for that does not know the metric.
    """
    if isinstance(X, SparseRows):
        if algorithm not in ("auto", "brute"):
            warnings.warn(
                "cannot use tree with sparse input: using brute force", stacklevel=callers_level()
            )
        return True
    shape = X.shape
    if algorithm == "auto":
        most = MOST_OF_SQUARES if metric.kind == SQUARED else MOST_COLUMNS
        return k >= shape[0] // 2 or shape[1] > most or not metric.fits_trees
    if algorithm == "brute":
        return True
    if metric.name == "cosine":
        raise ValueError(
            f"metric='cosine' is not valid for algorithm={algorithm!r}: take 'brute' or 'auto'"
        )
    if not metric.fits_trees:
        raise ValueError(
            f'algorithm="{algorithm}" does not support 0 < p < 1 for the Minkowski metric. To '
            'resolve this problem either set p >= 1 or algorithm="brute".'
        )
    return False


def search_of(X: Any, metric: Metric, leaf_size: int | None, n_jobs: int | None) -> Search:
    """The search through some rows.

    Parameters
    ----------
    X : array of shape (rows, columns) or SparseRows
    metric : Metric
    leaf_size : int or None
        Most rows in a leaf of the tree; None for a search without one.
    n_jobs : int or None
        Threads for building a tree.
    """
    if isinstance(X, SparseRows):
        return SparseSearch(X, metric)
    if leaf_size is None:
        return BruteForce(X, metric)
    return TreeSearch(X, metric, leaf_size, n_jobs)


def path_certificate(search: Search, algorithm: str, rows: RowsAndTargets) -> Certificate:
    """That the neighbours found are the nearest, and which search runs."""
    notes: tuple[str, ...] = ()
    if algorithm in ("kd_tree", "ball_tree") and rows.sparse:
        notes = ("there is no tree of sparse rows: they are all compared",)
    elif algorithm == "ball_tree":
        notes = ("a kd-tree runs in place of a ball tree",)
    return Certificate(
        True,
        "the neighbours are those of a comparison with every row in float64, equal distances "
        "in the order of the rows",
        search.path,
        {"rows": float(rows.count)},
        notes,
    )


def warn_about(metric: Metric, p: float | None, params: dict[str, Any] | None) -> None:
    """Say that a parameter is overlooked, or that a metric is none."""
    if "p" in (params or {}) and p is not None:
        warnings.warn(
            "Parameter p is found in metric_params. The corresponding parameter from __init__ "
            "is ignored.",
            SyntaxWarning,
            stacklevel=callers_level(),
        )
    if metric.p < 1:
        warnings.warn(
            "Mind that for 0 < p < 1, Minkowski metrics are not distance metrics. Continuing "
            "the execution with `algorithm='brute'`.",
            stacklevel=callers_level(),
        )
