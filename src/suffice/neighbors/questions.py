"""Who the neighbours are: the methods of scikit-learn that name them."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from suffice.neighbors.search.choose import Floats, Integers, Search


class Neighborhoods:
    """Neighbours of queries by number or within a radius, as arrays and as graphs.

    A part of models that are a `NeighborsModel`.
    """

    n_samples_fit_: int
    _check_ready: Any
    _over_nearest: Any
    _over_queries: Any

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> Any:
        """The nearest rows of each query, the nearest first.

        Of rows at the same distance, that with the smaller number comes first.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source, optional
            The queries, of shape (queries, columns); by default the rows of the fit, none of
            which is a neighbour of itself.
        n_neighbors : int, optional
            How many; by default as the model has it.
        return_distance : bool, default=True

        Returns
        -------
        distances : array of shape (queries, neighbours)
            Only if `return_distance`.
        rows : int array of shape (queries, neighbours)
            Numbers of rows of the fit.
        """
        found = self._over_nearest(X, lambda distances, rows: (distances, rows), n_neighbors)
        rows = np.concatenate([rows for _, rows in found])
        if not return_distance:
            return rows
        return np.concatenate([distances for distances, _ in found]), rows

    def kneighbors_graph(
        self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity"
    ) -> csr_matrix:
        """The nearest rows of each query as a sparse matrix.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source, optional
            As for `kneighbors`.
        n_neighbors : int, optional
        mode : {"connectivity", "distance"}
            Whether entries are 1, or the distances.

        Returns
        -------
        CSR matrix of shape (queries, rows)
        """
        check_mode(mode)
        distances, rows = self.kneighbors(X, n_neighbors)
        entries = np.ones(rows.size) if mode == "connectivity" else distances.ravel()
        starts = np.arange(0, rows.size + 1, rows.shape[1])
        shape = (len(rows), self.n_samples_fit_)
        return csr_matrix((entries, rows.ravel(), starts), shape=shape)

    def radius_neighbors(
        self,
        X: Any = None,
        radius: float | None = None,
        return_distance: bool = True,
        sort_results: bool = False,
    ) -> Any:
        """All rows within a distance of each query.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source, optional
            As for `kneighbors`.
        radius : float, optional
            1 by default.  Rows at this very distance are included.
        return_distance : bool, default=True
        sort_results : bool, default=False
            Sort rows by distance, not by their numbers.

        Returns
        -------
        distances : array of shape (queries,) of arrays
            Only if `return_distance`.
        rows : array of shape (queries,) of int arrays
        """
        if sort_results and not return_distance:
            raise ValueError("return_distance must be True if sort_results is True.")
        found = self._within(X, radius, sort_results)
        rows = as_arrays([part for _, parts in found for part in parts])
        if not return_distance:
            return rows
        return as_arrays([part for parts, _ in found for part in parts]), rows

    def radius_neighbors_graph(
        self,
        X: Any = None,
        radius: float | None = None,
        mode: str = "connectivity",
        sort_results: bool = False,
    ) -> csr_matrix:
        """All rows within a distance of each query as a sparse matrix.

        Parameters
        ----------
        X, radius, sort_results
            As for `radius_neighbors`.
        mode : {"connectivity", "distance"}
            Whether entries are 1, or the distances.

        Returns
        -------
        CSR matrix of shape (queries, rows)
        """
        check_mode(mode)
        distances, rows = self.radius_neighbors(X, radius, sort_results=sort_results)
        starts = np.concatenate([[0], np.cumsum([len(part) for part in rows])])
        numbers = np.concatenate([*rows, np.empty(0, np.int64)])
        entries = (
            np.ones(len(numbers))
            if mode == "connectivity"
            else np.concatenate([*distances, np.empty(0)])
        )
        return csr_matrix((entries, numbers, starts), shape=(len(rows), self.n_samples_fit_))

    def _within(
        self, X: Any, radius: float | None, by_distance: bool
    ) -> list[tuple[list[Floats], list[Integers]]]:
        radius = 1.0 if radius is None else radius
        if not (isinstance(radius, Real) and radius >= 0):
            raise ValueError(f"radius={radius!r} must be a number that is not negative")

        self._check_ready()

        def work(search: Search, queries: Any, start: int) -> tuple[list[Floats], list[Integers]]:
            starts, ranks, rows = search.within(queries, search.metric.rank(radius))
            distances = search.metric.distance(ranks)
            of = np.repeat(np.arange(len(queries)), np.diff(starts))
            near = distances <= radius
            if X is None:
                near &= rows != of + start
            distances, rows, of = distances[near], rows[near], of[near]
            if by_distance:
                order = np.lexsort((rows, distances, of))
                distances, rows = distances[order], rows[order]
            cuts = np.searchsorted(of, np.arange(1, len(queries)))
            return np.split(distances, cuts), np.split(rows, cuts)

        found: list[tuple[list[Floats], list[Integers]]] = self._over_queries(X, work)
        return found


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
