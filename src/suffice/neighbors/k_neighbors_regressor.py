"""Regression by the k nearest rows.

    ŷ(x) = Σ wᵢ yᵢ / Σ wᵢ     over the k rows nearest to x

The prediction is the mean of what the neighbours have, each counted once or with the reciprocal of
its distance as weight.

Reference: Stone, "Consistent nonparametric regression" (1977).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MultiOutputMixin
from sklearn.utils._param_validation import StrOptions

from suffice.fitting.inputs import in_dtype_of
from suffice.fitting.regression import Regressor
from suffice.neighbors.base import NeighborsModel
from suffice.neighbors.search.answers import Weights, neighbor_weights
from suffice.neighbors.search.choose import Floats, Integers
from suffice.sources import Block, Source
from suffice.sources.finite import LARGEST, within_range
from suffice.sources.memory.query_blocks import QueryBlocks


class KNeighborsRegressor(MultiOutputMixin, Regressor, NeighborsModel):
    """The mean of the target over the nearest rows.

    Parameters
    ----------
    n_neighbors : int, default=5
        k, the number of neighbours.
    weights : {"uniform", "distance"}, callable or None, default="uniform"
        How much each counts: once, by the reciprocal of its distance (where there are rows at
        distance 0, these alone), or by a function of an array of distances.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        How they are found: by a kd-tree (also where a ball tree is asked for) or by comparing
        with all rows, as sparse rows always are.  It changes no result.
    leaf_size : int, default=30
        Most rows in a leaf of the tree.
    p : float, default=2
        The power of a Minkowski distance.
    metric : str, default="minkowski"
        "euclidean", "manhattan", "chebyshev", "minkowski" or "cosine"; "l1", "l2" and
        "cityblock" are known too.
    metric_params : dict, optional
        `w`, weights of the columns in a Minkowski distance.
    n_jobs : int, optional
        Threads; by default what `suffice.config` says.

    Attributes
    ----------
    effective_metric_ : str
    effective_metric_params_ : dict
    n_samples_fit_ : int
        Rows that are kept.
    statistics_ : RowsAndTargets
    certificate_ : Certificate
        Says which search runs.
    trace_ : Trace

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from suffice import KNeighborsRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = KNeighborsRegressor(n_neighbors=20, weights="distance").fit(X[:300], y[:300])
    >>> round(model.score(X[300:], y[300:]), 2)
    0.51
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NeighborsModel._parameter_constraints,
        "weights": [StrOptions({"uniform", "distance"}), callable, None],
    }
    _refit_parameters: ClassVar[tuple[str, ...]] = (*NeighborsModel._refit_parameters, "weights")

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: Weights = "uniform",
        algorithm: str = "auto",
        leaf_size: int = 30,
        p: float | None = 2,
        metric: Any = "minkowski",
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    # --- fitting --------------------------------------------------------------------------

    def _targets(self, block: Block) -> Floats:
        y = block.y
        assert y is not None
        try:
            target = np.asarray(y, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"the target must hold numbers to be averaged: {error}") from None
        if not within_range(target):
            raise ValueError(f"the target holds values beyond {LARGEST:g}: rescale it")
        return target

    def _take_target(self, source: Source, reset: bool) -> None:
        if not reset:
            self._check_shape(source.target_shape)

    def _join(self, models: Sequence[Self]) -> None:
        for other in models[1:]:
            models[0]._check_shape(other._target_shape)

    def _check_shape(self, found: tuple[int, ...]) -> None:
        if found != self._target_shape:
            raise ValueError(
                f"the target of one row has shape {found}, but that of the fit has shape "
                f"{self._target_shape}"
            )

    @property
    def _target_shape(self) -> tuple[int, ...]:
        return self.statistics_.y[0].shape[1:]

    # --- predicting -----------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The mean of the neighbours' targets.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source, of shape (rows, columns), or None
            None stands for the rows of the fit, none of which is a neighbour of itself.

        Returns
        -------
        array of shape (rows,) or (rows, targets)
        """
        return in_dtype_of(X, np.concatenate(self._over_nearest(X, self._mean)))

    def _predicted(self, rows: Any) -> NDArray[np.float64]:
        return self.predict(QueryBlocks(rows))

    def _mean(self, distances: Floats, rows: Integers) -> Floats:
        y = self.statistics_.joined().y[0][rows]
        return averages(y, neighbor_weights(distances, self.weights))


def averages(y: Floats, weights: Floats | None) -> Floats:
    """Means over neighbours.

    Parameters
    ----------
    y : array of shape (queries, neighbours) or (queries, neighbours, targets)
    weights : array of shape (queries, neighbours), or None

    Returns
    -------
    array of shape (queries,) or (queries, targets)
    """
    if weights is None:
        return np.asarray(y.mean(axis=1))
    weights = weights.reshape(weights.shape + (1,) * (y.ndim - 2))
    return np.asarray((y * weights).sum(axis=1) / weights.sum(axis=1))
