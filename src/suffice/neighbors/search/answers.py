"""What is made of the neighbours that a search finds: weights, graphs, and which rows count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from suffice.neighbors.search.choose import Floats, Integers, Search

Within = tuple[list[Floats], list[Integers]]
"""Distances and numbers of rows within a radius, for each query."""

Weights = str | Callable[[Floats], Any] | None
"""A name, or a function of distances."""


def neighbor_weights(distances: Floats, weights: Weights) -> Floats | None:
    """The weight of each neighbour; None if all count alike.

    Parameters
    ----------
    distances : array of shape (queries, neighbours)
    weights : {"uniform", "distance"}, callable or None
        "distance" weighs by the reciprocal of the distance.  Where weights are infinite, as at
        distance 0, these neighbours alone count.

    Returns
    -------
    array of shape (queries, neighbours), or None
    """
    if weights in (None, "uniform"):
        return None
    if callable(weights):
        # A copy, for what a function does to its argument is its own affair.
        found = np.array(weights(distances.copy()), dtype=np.float64)
        if found.shape != distances.shape:
            raise ValueError(
                f"weights returned an array of shape {found.shape} for distances of shape "
                f"{distances.shape}; it must return a weight for each"
            )
        if np.isnan(found).any() or (found == -np.inf).any():
            raise ValueError(
                "weights returned NaN or minus infinity for some distances; every weight must be a "
                "number, and infinity stands for a neighbour that alone counts"
            )
    else:
        with np.errstate(divide="ignore", over="ignore"):
            found = 1.0 / distances
    decisive = np.isinf(found)
    decided = decisive.any(axis=1)
    found[decided] = decisive[decided]
    if (found.sum(axis=1) == 0).any():
        raise ValueError(
            "All neighbors of some sample is getting zero weights. Please modify 'weights' to "
            "avoid this case if you are using a user-defined function."
        )
    return found


def neighbors_within(
    search: Search, queries: Any, radius: float, by_distance: bool, start: int | None
) -> Within:
    """The rows within a radius of each query.

    Parameters
    ----------
    search : Search
    queries : array or SparseRows
        As the search has prepared them.
    radius : float
    by_distance : bool
        Sort rows by distance, not by their numbers.
    start : int, or None
        Where queries are rows, the number of the first: none is a neighbour of itself.
    """
    starts, ranks, rows = search.within(queries, search.metric.rank(radius))
    distances = search.metric.distance(ranks)
    of = np.repeat(np.arange(len(queries)), np.diff(starts))
    near = distances <= radius
    if start is not None:
        near &= rows != of + start
    distances, rows, of = distances[near], rows[near], of[near]
    if by_distance:
        order = np.lexsort((rows, distances, of))
        distances, rows = distances[order], rows[order]
    cuts = np.searchsorted(of, np.arange(1, len(queries)))
    return np.split(distances, cuts), np.split(rows, cuts)


def without_self(distances: Floats, rows: Integers, start: int) -> tuple[Floats, Integers]:
    """Neighbours of rows among themselves, without each row itself.

    Parameters
    ----------
    distances, rows : arrays of shape (queries, k + 1)
    start : int
        Number of the first query, which is a row.

    Returns
    -------
    distances, rows : arrays of shape (queries, k)
    """
    other = rows != np.arange(start, start + len(rows))[:, None]
    # Behind many rows that equal it, a row is not among its nearest.
    other[other.all(axis=1), -1] = False
    shape = (len(rows), rows.shape[1] - 1)
    return distances[other].reshape(shape), rows[other].reshape(shape)


def graph(mode: str, distances: Floats, rows: Integers, lengths: Any, n: int) -> csr_matrix:
    """Neighbours as a sparse matrix of shape (queries, n).

    Parameters
    ----------
    mode : {"connectivity", "distance"}
        Whether entries are 1, or the distances.
    distances, rows : arrays of shape (neighbours of all queries,)
    lengths : sequence of int
        How many of them each query has.
    n : int
    """
    starts = np.concatenate([[0], np.cumsum(lengths)])
    entries = np.ones(len(rows)) if mode == "connectivity" else distances
    return csr_matrix((entries, rows, starts), shape=(len(lengths), n))


def check_mode(mode: str) -> None:
    """Raise unless a graph can have such entries."""
    if mode not in ("connectivity", "distance"):
        raise ValueError(
            'Unsupported mode, must be one of "connectivity", or "distance" but got '
            f'"{mode}" instead'
        )


def as_arrays(parts: list[Any]) -> NDArray[Any]:
    """An array of arrays, whatever their lengths."""
    out = np.empty(len(parts), dtype=object)
    for i, part in enumerate(parts):
        out[i] = part
    return out
