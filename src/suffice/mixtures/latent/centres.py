"""Centres of rows from which EM starts: those of k-means, or those that it would start from."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.clustering.lloyd.held import HeldRows
from suffice.clustering.lloyd.passes import lloyd
from suffice.clustering.lloyd.reading import read
from suffice.clustering.starts.seeding import start_from
from suffice.fitting.requests import Request, reading
from suffice.sources import Source

Floats = NDArray[np.float64]

MAX_ITER, TOL = 300, 1e-4
"""When k-means stops, as `suffice.KMeans` does."""


def start_centres(
    source: Source, method: str, k: int, seed: int
) -> Generator[Request, Any, Floats]:
    """Centres of the rows of a source, which need not be that of the fit.

    Parameters
    ----------
    source : Source
        Without missing cells, and of at least k rows.
    method : {"kmeans", "k-means++", "random_from_data"}
        Any other name starts as k-means++ does.
    k, seed : int
    """
    return reading(_centres(source, method, k, seed), source)


def _centres(source: Source, method: str, k: int, seed: int) -> Generator[Request, Any, Floats]:
    rows, frame, _ = yield from read(source, False)
    try:
        init = "random" if method == "random_from_data" else "k-means++"
        random = np.random.RandomState(seed)
        centres = yield from start_from(source, rows, frame, init, k, random)
        if method == "kmeans":
            found = yield from lloyd(rows, frame, centres, MAX_ITER, TOL)
            centres = found.centres
    finally:
        if isinstance(rows, HeldRows):
            rows.shards.close()
    return centres


def with_labels(centres: Floats, means: Floats, units: Floats) -> Floats:
    """Means of labelled rows for the first components, for others the centres far from these.

    Parameters
    ----------
    centres : array of shape (components, columns)
    means : array of shape (labels, columns)
    units : array of shape (columns,)
        What distances are measured in.
    """
    others = len(centres) - len(means)
    away = np.square((centres[:, None] - means) / units).sum(axis=2).min(axis=1)
    return np.concatenate([means, centres[np.argsort(-away, kind="stable")[:others]]])
