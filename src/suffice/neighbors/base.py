"""What models of neighbours share: the rows they keep, the search, and questions put to it.

There is nothing to learn: a model is its rows, in their order.  `update` appends rows, merging puts
those of one model after those of another, and `forget` takes rows away that are there to the
last bit.  All parameters can change without the rows being given again: the metric and the search
by `refit`, how many neighbours count and how much at once.

Queries are answered block by block, on all threads, whether they come from an array or from files:
what is in memory at a time does not grow with their number.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from contextlib import closing
from numbers import Integral, Real
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import is_classifier
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from suffice.engines.passes import in_order
from suffice.engines.settings import resolve_threads
from suffice.fitting.certificate import Certificate
from suffice.fitting.files.registry import register
from suffice.fitting.inputs import refuse_strangers
from suffice.fitting.one_pass import OnePass, Solved
from suffice.fitting.requests import Found
from suffice.neighbors.search.choose import (
    Floats,
    Integers,
    Search,
    search_of,
    takes_all_rows,
    without_self,
)
from suffice.neighbors.search.metrics import Metric, metric_of
from suffice.sources import Block, Piece, Source, as_source, block_rows
from suffice.sources.finite import describe_non_finite
from suffice.sources.memory.frames import is_frame
from suffice.sources.memory.query_blocks import QueryBlocks
from suffice.sources.memory.sparse import check_columns
from suffice.statistics.moments.full import NOTHING, Precision
from suffice.statistics.rows.sparse import SparseRows
from suffice.statistics.rows.with_targets import RowsAndTargets, as_table

register(RowsAndTargets)
register(SparseRows)

T = TypeVar("T")

KEPT = [np.float64, np.float32, np.int64, np.int32, np.int16, np.int8, np.uint8]
"""Queries that become float64 block by block; others do at once."""


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

    def _summarize(self, block: Block, precision: Precision) -> RowsAndTargets:
        weight = block.weight
        if weight is not None:
            if not np.isin(weight, (0.0, 1.0)).all():
                raise ValueError(
                    f"{type(self).__name__} takes no row weights (other than 0 for rows that do "
                    "not exist): repeat the rows instead"
                )
            there = weight > 0
            y = None if block.y is None else block.y[there]
            block = Block(block.X[there], y, None, block.start)
        targets = None if block.y is None or not block.n_rows else self._targets(block)
        return RowsAndTargets.summarize(block.X, targets)

    @abstractmethod
    def _targets(self, block: Block) -> NDArray[Any] | None:
        """The target of a block as it is kept; None for a model without one."""

    def _solve(self, rows: RowsAndTargets, final: bool) -> Solved:
        if not rows.count:
            raise ValueError(NOTHING)
        rows = rows.joined()
        metric = metric_of(self.metric, self.p, self.metric_params, rows.n_columns)
        brute = takes_all_rows(self.algorithm, metric, rows.X[0], self.n_neighbors)
        self._leaf_size = None if brute else self.leaf_size
        self.effective_metric_, self.effective_metric_params_ = _described(metric)
        search = self._search_in(rows)
        self._warn_about(metric)
        self.n_samples_fit_ = rows.count
        self._adopt_targets(rows)
        return Solved(self._certify(search, rows), float("nan"))

    def _adopt_targets(self, rows: RowsAndTargets) -> None:
        """Set what is learned from the targets."""

    def _warn_about(self, metric: Metric) -> None:
        if "p" in (self.metric_params or {}) and self.p is not None:
            warnings.warn(
                "Parameter p is found in metric_params. The corresponding parameter from __init__ "
                "is ignored.",
                SyntaxWarning,
                stacklevel=2,
            )
        if metric.p < 1:
            warnings.warn(
                "Mind that for 0 < p < 1, Minkowski metrics are not distance metrics. Continuing "
                "the execution with `algorithm='brute'`.",
                stacklevel=2,
            )

    def _found(self, statistic: Any, solved: Solved | None) -> Found:
        return super()._found(statistic.joined(), solved)

    def _resolve(self, step: str, statistic: Any, began: float, final: bool = True) -> bool:
        return super()._resolve(step, statistic.joined(), began, final)

    def _certify(self, search: Search, rows: RowsAndTargets) -> Certificate:
        notes: tuple[str, ...] = ()
        if self.algorithm in ("kd_tree", "ball_tree") and rows.sparse:
            notes = ("there is no tree of sparse rows: they are all compared",)
        elif self.algorithm == "ball_tree":
            notes = ("a kd-tree runs in place of a ball tree",)
        return Certificate(
            True,
            "the neighbours are those of a comparison with every row in float64, equal distances "
            "in the order of the rows",
            search.path,
            {"rows": float(rows.count)},
            notes,
        )

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
        if found != _described(metric_of(found[0], None, found[1], rows.n_columns)):
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
        rows = self.statistics_.joined()
        search = self._search_in(rows)
        source = self._query_source(X, rows, search)

        def work(run: list[Piece]) -> list[T]:
            found = []
            for piece in run:
                block = piece.load()
                if not isinstance(source, QueryBlocks):
                    message = describe_non_finite(block, source)
                    if message:
                        raise ValueError(message)
                found.append(answer(search, search.prepared(block.X), block.start))
            return found

        with closing(in_order(source, work, self._n_jobs(), 1)) as runs:
            return [one for run in runs for one in run]

    def _query_source(self, X: Any, rows: RowsAndTargets, search: Search) -> Source:
        if isinstance(X, Source) or is_frame(X):
            source = as_source(X)
            self._check_names(source)
            return source
        if X is None:
            X = as_table(rows.X[0])
        else:
            X = self._checked_queries(X)
            if X.dtype not in KEPT:
                X = X.astype(np.float64)
            if issparse(X):
                check_columns(X)
        # Every thread gets a share, however few the queries.
        share = -(-X.shape[0] // resolve_threads(self._n_jobs()))
        # Sparse queries of dense rows are written out, a block at a time.
        most = min(search.together, block_rows(X.shape[1])) if issparse(X) else search.together
        return QueryBlocks(X, max(min(most, share), 1))

    def _over_nearest(
        self, X: Any, answer: Callable[[Floats, Integers], T], n_neighbors: int | None = None
    ) -> list[T]:
        """What a function makes of distances and numbers of neighbours, block by block.

        Where X is None, no row is a neighbour of itself.
        """
        self._check_ready()
        k = self._checked_number(n_neighbors, X, self.statistics_.count)

        def work(search: Search, queries: Any, start: int) -> T:
            ranks, found = search.nearest(queries, k if X is not None else k + 1)
            distances = search.metric.distance(ranks)
            if X is None:
                distances, found = without_self(distances, found, start)
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
        """The target of each row, and what a model of all other rows predicts for it.

        The neighbours are the k + 1 nearest without the row itself: the others keep their order.
        """
        model: Any = self
        return self.statistics_.joined().y[0], model.predict(None)

    def _checked_number(self, n_neighbors: int | None, X: Any, n_rows: int) -> int:
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        if not isinstance(k, Integral):
            raise TypeError(f"n_neighbors does not take {type(k)} value, enter integer value")
        if k <= 0:
            raise ValueError(f"Expected n_neighbors > 0. Got {k}")
        if k > n_rows - (X is None):
            asked = n_rows if X is None else X.n_rows if isinstance(X, Source) else _length(X)
            raise ValueError(
                f"Expected n_neighbors {'<' if X is None else '<='} n_samples_fit, but "
                f"n_neighbors = {k}, n_samples_fit = {n_rows}, n_samples = {asked}"
            )
        return int(k)


def _described(metric: Metric) -> tuple[str, dict[str, Any]]:
    """A metric as scikit-learn's attributes tell it: its name and its parameters."""
    params = {"p": metric.p, "w": metric.w} if metric.name == "minkowski" else {}
    return metric.name, params


def _length(X: Any) -> int:
    """How many rows there are, of whatever; what is no table counts as one."""
    return int((*np.shape(X), 1)[0])
