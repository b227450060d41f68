"""Densities by the distance to the k-th neighbour.

    p(x) = k / (n V(x)),     V(x) the volume of the ball around x that reaches the k-th nearest row

The number k of rows is fixed and the ball grows until it holds them; a kernel density fixes the
ball instead, and counts.  Balls are those of the metric: with r the k-th distance in d columns,

    V = c rᵈ,     c = (2 Γ(1 + 1/p))ᵈ / Γ(1 + d/p)

for a Minkowski distance, π^(d/2)/Γ(1 + d/2) for p = 2.  The estimate tends to the density for
k → ∞ and k/n → 0, but is none itself: its tails fall like r⁻ᵈ and have no finite integral.

Reference: Loftsgaarden and Quesenberry, "A nonparametric estimate of a multivariate density
function" (1965).
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import DensityMixin

from suffice.neighbors.base import NeighborsModel
from suffice.neighbors.search.choose import Floats, Integers
from suffice.sources import Block, Source
from suffice.statistics.rows.with_targets import RowsAndTargets


class KNeighborsDensity(DensityMixin, NeighborsModel):
    """The density of rows, from the volume that holds the k nearest.

    Parameters
    ----------
    n_neighbors : int, default=5
        k, the number of rows that the volume holds.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        How they are found: by a kd-tree (also where a ball tree is asked for) or by comparing
        with all rows, as sparse rows always are.  It changes no result.
    leaf_size : int, default=30
        Most rows in a leaf of the tree.
    p : float, default=2
        The power of a Minkowski distance.
    metric : str, default="minkowski"
        "euclidean", "manhattan", "chebyshev" or "minkowski"; "l1", "l2" and "cityblock" are
        known too.
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
    >>> from sklearn.datasets import load_iris
    >>> from suffice import KNeighborsDensity
    >>> X, y = load_iris(return_X_y=True)
    >>> petals = X[:, 2:]
    >>> model = KNeighborsDensity(n_neighbors=10).fit(petals[y == 0])
    >>> model.density([[1.5, 0.2], [4.0, 1.3]]).round(3)
    array([6.366, 0.008])
    """

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        algorithm: str = "auto",
        leaf_size: int = 30,
        p: float | None = 2,
        metric: Any = "minkowski",
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the rows.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source
            Rows of shape (rows, columns).  Row weights are not taken.
        y : ignored

        Returns
        -------
        self
        """
        return super().fit(X, y)

    def _training_source(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> Source:
        return super()._training_source(X, None, sample_weight, reset)  # there is no target

    def _targets(self, block: Block) -> None:
        """What a source brings as its target has no part in a density."""

    def _adopt_targets(self, rows: RowsAndTargets) -> None:
        # Raises for a metric without volumes, before there is a model.
        self._fitted_metric.log_unit_ball(rows.n_columns)

    def score_samples(self, X: Any) -> Floats:
        """Logarithm of the density at each row.

        It is +∞ where k rows or more are at the very place.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source, of shape (rows, columns), or None
            None stands for the rows of the fit, each under the density of all others.

        Returns
        -------
        array of shape (rows,)
        """
        others = X is None

        def log_density(distances: Floats, rows: Integers) -> Floats:
            d, k = self.n_features_in_, distances.shape[1]
            n = self.n_samples_fit_ - others
            with np.errstate(divide="ignore"):
                reach = d * np.log(distances[:, -1])
            return np.log(k / n) - self._fitted_metric.log_unit_ball(d) - reach

        return np.concatenate(self._over_nearest(X, log_density))

    def density(self, X: Any) -> Floats:
        """The density at each row; see `score_samples`."""
        return np.exp(self.score_samples(X))

    def _leave_one_out_log_densities(self) -> Floats:
        """The log density of each row of the fit under all others."""
        return self.score_samples(None)

    def score(self, X: Any, y: Any = None) -> float:
        """The sum of the log densities.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source
        y : ignored

        Returns
        -------
        float
        """
        return float(self.score_samples(X).sum())
