"""What models of neighbours share: the rows they keep, and the search through them.

There is nothing to learn: a model is its rows, in their order.  `update` appends rows, merging puts
those of one model after those of another, and `forget` takes rows away that are there to the
last bit.  All parameters can change without the rows being given again: the metric and the search
by `refit`, how many neighbours count and how much at once.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.base import is_classifier
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from suffice.engines.gather import Rows, gather
from suffice.fitting.files.registry import register
from suffice.fitting.inputs import refuse_strangers
from suffice.fitting.one_pass import OnePass, Solved
from suffice.fitting.requests import Found, Gather, Passes, needed
from suffice.neighbors.search import answers
from suffice.neighbors.search.choose import (
    Floats,
    Integers,
    Search,
    path_certificate,
    search_of,
    takes_all_rows,
    warn_about,
)
from suffice.neighbors.search.metrics import Metric, metric_of
from suffice.neighbors.search.queries import checked_number, in_blocks, over_queries
from suffice.sources import Block, Source, as_source
from suffice.sources.memory.frames import is_frame
from suffice.statistics.moments.full import Precision
from suffice.statistics.rows.sparse import SparseRows
from suffice.statistics.rows.with_targets import RowsAndTargets, as_table

register(RowsAndTargets)
register(SparseRows)

T = TypeVar("T")


class NeighborsModel(OnePass):
    """A model that keeps its rows and finds the nearest of them."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "algorithm": [StrOptions({"auto", "ball_tree", "kd_tree", "brute"})],
        "leaf_size": [Interval(Integral, 1, None, closed="left")],
        "p": [Interval(Real, 0, None, closed="right"), None],
        "metric": [str, callable],
        "metric_params": [dict, None],
        "n_jobs": [Integral, None],
    }
    _refit_parameters: ClassVar[tuple[str, ...]] = (
        "n_neighbors",
        "algorithm",
        "leaf_size",
        "p",
        "metric",
        "metric_params",
    )

    n_neighbors: int
    algorithm: str
    leaf_size: int
    p: float | None
    metric: Any
    metric_params: dict[str, Any] | None
    n_jobs: int | None
    statistics_: RowsAndTargets
    effective_metric_: str
    effective_metric_params_: dict[str, Any]

    _saved_private = ("_leaf_size",)
    _leaf_size: int | None
    """Most rows in a leaf of the tree that was fitted; None where there is no tree."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # --- fitting --------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the rows.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source
            Rows of shape (rows, columns); or a source such as `suffice.scan` makes, which
            brings its own target.  Row weights are not taken.
        y : array of shape (rows,) or (rows, targets)
            The target.  None if `X` is a source.

        Returns
        -------
        self
        """
        return super().fit(X, y)

    def update(self, X: Any, y: Any = None) -> Self:  # type: ignore[override]
        """Keep more rows, after those that are there.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source
        y : array of shape (rows,) or (rows, targets)
            None if `X` is a source.

        Returns
        -------
        self
        """
        return self._update(X, y, None) if hasattr(self, "certificate_") else self.fit(X, y)

    def partial_fit(self, X: Any, y: Any = None) -> Self:  # type: ignore[override]
        """`update` under scikit-learn's name."""
        return self.update(X, y)

    def _joins_folds(self, source: Source) -> bool:
        # Put together from the statistics of folds, rows would come in another order, which
        # decides between equal distances.
        return False

    def _passes(self, source: Source) -> Passes:
        return fit_to_rows(self, "rowsandtargets in float64")

    def _statistic_of(self, source: Source, precision: Precision) -> Any:
        return kept_rows(self, source)

    def _summarize(self, block: Block, precision: Precision) -> RowsAndTargets:
        if block.weight is not None and (block.weight != 1).any():
            raise ValueError(
                f"{type(self).__name__} takes no row weights (other than 0 for rows that do "
                "not exist): repeat the rows instead"
            )
        return RowsAndTargets.summarize(block.X, None if block.y is None else self._targets(block))

    @abstractmethod
    def _targets(self, block: Block) -> NDArray[Any] | None:
        """The target of rows as it is kept; None for a model without one."""

    def _solve(self, rows: RowsAndTargets, final: bool) -> Solved:
        rows = rows.joined()
        metric = metric_of(self.metric, self.p, self.metric_params, rows.n_columns)
        brute = takes_all_rows(self.algorithm, metric, rows.X[0], self.n_neighbors)
        self._leaf_size = None if brute else self.leaf_size
        self.effective_metric_, self.effective_metric_params_ = metric.described()
        search = self._search_in(rows)
        warn_about(metric, self.p, self.metric_params)
        self.n_samples_fit_ = rows.count
        self._adopt_targets(rows)
        return Solved(path_certificate(search, self.algorithm, rows), float("nan"))

    def _adopt_targets(self, rows: RowsAndTargets) -> None:
        """Set what is learned from the targets."""

    def _check_loaded(self) -> None:
        """Raise ValueError unless what a file holds could be a fitted model."""
        rows = vars(self).get("statistics_")
        if "n_samples_fit_" not in vars(self):
            return
        if not isinstance(rows, RowsAndTargets) or rows.n_columns != self.n_features_in_:
            raise ValueError(f"its rows are not of {self.n_features_in_} columns")
        if rows.count != self.n_samples_fit_ or len(rows.X) != 1:
            raise ValueError(f"its rows are not the {self.n_samples_fit_} of the fit")
        if bool(rows.y) != self.__sklearn_tags__().target_tags.required:
            raise ValueError("its rows have no target, or one too many")
        found = self.effective_metric_, self.effective_metric_params_
        if found != metric_of(found[0], None, found[1], rows.n_columns).described():
            raise ValueError("its metric is none")
        size: Any = self._leaf_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError("its tree has leaves without rows")

    # --- the search -----------------------------------------------------------------------

    @property
    def _fitted_metric(self) -> Metric:
        return Metric(self.effective_metric_, **self.effective_metric_params_)

    def _search_in(self, rows: RowsAndTargets) -> Search:
        """The search through some rows that was fitted, kept with them."""
        key = metric, leaf_size = self._fitted_metric, self._leaf_size
        known: tuple[Any, Search] | None = rows.memo.get("search")
        if known is not None and known[0] == key:
            return known[1]
        search = search_of(rows.X[0], metric, leaf_size, self.n_jobs)
        rows.memo["search"] = (key, search)
        return search

    def _over_queries(self, X: Any, answer: Callable[[Search, Any, int], T]) -> list[T]:
        """What a function makes of the search, of each block of queries and its first row's number.

        X is an array, a frame or a source; None stands for the rows of the fit.
        """
        refuse_strangers(X)
        rows, n_jobs = self.statistics_.joined(), self._n_jobs()
        search = self._search_in(rows)
        if isinstance(X, Source) or is_frame(X):
            source = as_source(X)
            self._check_names(source)
        else:
            table = as_table(rows.X[0]) if X is None else self._checked_queries(X)
            source = in_blocks(table, search, n_jobs)
        return over_queries(source, search, answer, n_jobs)

    def _over_nearest(
        self, X: Any, answer: Callable[[Floats, Integers], T], n_neighbors: int | None = None
    ) -> list[T]:
        """What a function makes of distances and numbers of neighbours, block by block.

        Where X is None, no row is a neighbour of itself.
        """
        self._check_ready()
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        k = checked_number(k, X, self.statistics_.count)

        def work(search: Search, queries: Any, start: int) -> T:
            ranks, found = search.nearest(queries, k if X is not None else k + 1)
            distances = search.metric.distance(ranks)
            if X is None:
                distances, found = answers.without_self(distances, found, start)
            return answer(distances, found)

        return self._over_queries(X, work)

    def _check_ready(self) -> None:
        """Raise unless the model is fitted and its parameters, as they are now, are valid."""
        check_is_fitted(self)
        self._validate_params()

    def _leaves_one_out(self, source: Source) -> bool:
        several = is_classifier(self) and source.target_shape
        return not source.has_weight and not several

    def _leave_one_out_of_all(self) -> tuple[NDArray[Any], NDArray[Any]]:
        # The k + 1 nearest without the row itself: the others keep their order.
        model: Any = self
        return self.statistics_.joined().y[0], model.predict(None)

    # --- who the neighbours are -----------------------------------------------------------

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
        answers.check_mode(mode)
        distances, rows = self.kneighbors(X, n_neighbors)
        lengths = np.full(len(rows), rows.shape[1])
        return answers.graph(mode, distances.ravel(), rows.ravel(), lengths, self.n_samples_fit_)

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
        radius = 1.0 if radius is None else radius
        if not (isinstance(radius, Real) and radius >= 0):
            raise ValueError(f"radius={radius!r} must be a number that is not negative")
        self._check_ready()

        def work(search: Search, queries: Any, start: int) -> answers.Within:
            own = start if X is None else None
            return answers.neighbors_within(search, queries, radius, sort_results, own)

        found = self._over_queries(X, work)
        rows = answers.as_arrays([part for _, parts in found for part in parts])
        if not return_distance:
            return rows
        return answers.as_arrays([part for parts, _ in found for part in parts]), rows

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
        answers.check_mode(mode)
        distances, rows = self.radius_neighbors(X, radius, sort_results=sort_results)
        lengths = [len(part) for part in rows]
        numbers = np.concatenate([*rows, np.empty(0, np.int64)])
        away = np.concatenate([*distances, np.empty(0)])
        return answers.graph(mode, away, numbers, lengths, self.n_samples_fit_)


# --- models that are their rows ----------------------------------------------------------------


def fit_to_rows(model: OnePass, step: str) -> Passes:
    """The fit of a model that keeps its rows; `step` is what the trace calls their reading."""
    model.__dict__.pop("statistics_", None)
    solved: Solved | None = None

    def learned() -> dict[str, Any] | None:
        return None if solved is None else model._fitted_attributes()

    rows = kept_rows(model, (yield from needed(Gather(step, learned=learned))))
    solved = model._solve(rows, final=True)
    assert solved is not None
    return Found({"statistics_": rows}, *solved)


def kept_rows(model: OnePass, rows: Rows | Source) -> Any:
    """What a model keeps of rows: they are one block, wherever they come from."""
    if isinstance(rows, Source):
        rows = gather(rows, type(model).__name__, model._takes_missing(), model._n_jobs())
    return model._summarize(Block(rows.X, rows.y, rows.weight, 0), "float64")
