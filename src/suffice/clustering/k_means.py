"""K-means.

    minimise over k centres μ and labels z:   Σ wᵢ ‖xᵢ − μ_zᵢ‖²

the inertia: the cost of describing each row by its cluster's centre.  For given centres the best
label is the nearest centre; for given labels the best centre is the mean of its rows.  Lloyd's
algorithm does one after the other (`suffice.clustering.lloyd.passes.lloyd`) until labels repeat:
a fixed point, which no single change of a label or a centre improves, though other starts may
end lower.  It starts from k-means++ (`suffice.clustering.starts.seeding.k_means_plus_plus`).

Rows are compared with centres by a matrix product in float32, and once more in float64 where that
does not prove which is the nearest (`suffice.clustering.lloyd.centres`): labels are those of
float64.  From pass to pass, bounds tell most rows that their centre is still the nearest
(`suffice.kernels.clustering.bounds`).

With ``metric="cosine"`` rows and centres have length 1, and ‖x − μ‖² = 2 (1 − cos): spherical
k-means.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils._set_output import _wrap_data_with_container
from sklearn.utils.validation import check_is_fitted

from suffice.clustering.lloyd.centres import (
    CentreTable,
    Floats,
    Labels,
    as_rows,
    distances_to,
    squares_to,
)
from suffice.clustering.lloyd.held import HeldRows
from suffice.clustering.lloyd.passes import Clustering, LocationScale, lloyd
from suffice.clustering.lloyd.reading import read
from suffice.clustering.lloyd.streamed import StreamedRows
from suffice.clustering.starts.seeding import Start, start_from
from suffice.engines.passes import map_rows
from suffice.fitting.certificate import Certificate
from suffice.fitting.clustering import Clusterer
from suffice.fitting.estimator import Estimator, callers_level
from suffice.fitting.requests import Found, Passes
from suffice.fitting.transforming import SourceTransformer
from suffice.sources import Block, MappedSource, Source, as_source, block_rows
from suffice.sources.finite import LARGEST, within_range
from suffice.statistics.sums import Sums

CLAIM = "each row belongs to its nearest centre, and each centre is the mean of its rows"


class KMeans(Clusterer, ClassNamePrefixFeaturesOutMixin, SourceTransformer, Estimator):
    """Clusters around k means.

    Parameters
    ----------
    n_clusters : int, default=8
    init : {"k-means++", "random"}, array of shape (clusters, columns) or function, \
default="k-means++"
        Where centres start.  A function is called with the rows, `n_clusters` and
        `random_state`, and returns centres.
    n_init : "auto" or int, default="auto"
        How many starts to try; the one of the least inertia is kept.  "auto" is 1 for
        "k-means++" and an array, and 10 for random rows and a function.
    max_iter : int, default=300
        Passes of one start.
    tol : float, default=1e-4
        A start has ended when the squared moves of all centres together are no more than this,
        in units of the columns' mean variance; or when labels repeat.
    verbose : int, default=0
        Accepted for compatibility: `trace_` tells how the fit went.
    random_state : int, RandomState or None, default=None
    copy_x : bool, default=True
        Accepted for compatibility: the input is never overwritten.
    algorithm : {"lloyd", "elkan"}, default="lloyd"
        Accepted for compatibility: the result does not depend on it, and bounds are used
        where they pay.
    metric : {"euclidean", "cosine"}, default="euclidean"
        "cosine" brings rows and centres to length 1 (spherical k-means).
    n_jobs : int, optional
        Threads; by default what `suffice.config` says.  The result is the same at any number.

    Attributes
    ----------
    cluster_centers_ : array of shape (clusters, columns)
    labels_ : int32 array of shape (rows,)
        The cluster of each row of the fit.
    inertia_ : float
        Σ w ‖x − μ‖²; Σ w (1 − cos) for the cosine.
    n_iter_ : int
        Passes of the start that was kept.
    certificate_ : Certificate
    trace_ : Trace
        The inertia before each pass.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import KMeans
    >>> X = load_iris().data
    >>> model = KMeans(3, random_state=0).fit(X)
    >>> model.cluster_centers_[model.predict([[5.0, 3.4, 1.5, 0.2]])].round(3)
    array([[5.006, 3.428, 1.462, 0.246]])
    >>> round(model.inertia_, 3), model.certificate_.holds
    (78.856, True)
    """

    cluster_centers_: Floats
    inertia_: float

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions({"k-means++", "random"}), callable, "array-like"],
        "n_init": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "copy_x": ["boolean"],
        "algorithm": [StrOptions({"lloyd", "elkan"})],
        "metric": [StrOptions({"euclidean", "cosine"})],
        "n_jobs": [Integral, None],
    }
    _shapes = "cluster_centers_(clusters, columns)"

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        n_init: str | int = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        verbose: int = 0,
        random_state: Any = None,
        copy_x: bool = True,
        algorithm: str = "lloyd",
        metric: str = "euclidean",
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.copy_x = copy_x
        self.algorithm = algorithm
        self.metric = metric
        self.n_jobs = n_jobs

    # --- fitting --------------------------------------------------------------------------

    def _training_source(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> Source:
        ignored = None if not isinstance(X, Source) else y  # a source says what it does not take
        return super()._training_source(X, ignored, sample_weight, reset)

    def _passes(self, source: Source) -> Passes:
        random = check_random_state(self.random_state)
        rows, frame, count = yield from read(source, self._unit)
        if count < self.n_clusters:
            raise ValueError(f"n_samples={count} should be >= n_clusters={self.n_clusters}.")
        best: Clustering | None = None
        for _ in range(self._starts()):
            start = yield from self._start(source, rows, frame, random)
            found = yield from lloyd(rows, frame, start, self.max_iter, self.tol)
            if best is None or found.inertia < best.inertia:
                best = found
        assert best is not None
        inertia = best.inertia / 2 if self._unit else best.inertia
        attributes = {
            "cluster_centers_": best.centres,
            "labels_": best.labels,
            "inertia_": inertia,
            "n_iter_": best.n_iter,
        }
        return Found(attributes, self._proof(best), inertia)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    @property
    def _unit(self) -> bool:
        """Whether rows and centres have length 1."""
        return self.metric == "cosine"

    def _starts(self) -> int:
        if self.n_init != "auto":
            given = not isinstance(self.init, str) and not callable(self.init)
            if given and self.n_init != 1:
                message = (
                    "Explicit initial center position passed: performing only one init in KMeans "
                    f"instead of n_init={self.n_init}."
                )
                warnings.warn(message, RuntimeWarning, stacklevel=callers_level())
                return 1
            return int(self.n_init)
        return 10 if callable(self.init) or self._init_is("random") else 1

    def _init_is(self, name: str) -> bool:
        return isinstance(self.init, str) and self.init == name

    def _start(
        self, source: Source, rows: HeldRows | StreamedRows, frame: LocationScale, random: Any
    ) -> Start:
        """Centres to begin with, checked."""
        given: Any = self.init
        if isinstance(given, str) or callable(given):
            given = yield from start_from(source, rows, frame, given, self.n_clusters, random)
        centres = np.array(given, dtype=np.float64)
        shape = f"The shape of the initial centers {centres.shape} does not match the number of"
        if centres.ndim != 2 or len(centres) != self.n_clusters:
            raise ValueError(f"{shape} clusters {self.n_clusters}.")
        if centres.shape[1] != source.n_columns:
            raise ValueError(f"{shape} features of the data {source.n_columns}.")
        if not within_range(centres):
            raise ValueError(f"init holds a value that is not finite, or beyond {LARGEST:g}")
        return as_rows(centres, self._unit)

    def _proof(self, found: Clustering) -> Certificate:
        clusters = found.clusters
        end = "labels repeat" if found.stable else "the centres hardly move any more"
        path = f"Lloyd's algorithm: {end}"
        notes: tuple[str, ...] = ()
        if not found.converged:
            path = "Lloyd's algorithm, not at its end"
            notes = (f"increase max_iter (now {self.max_iter}), or scale the columns",)
        if clusters < self.n_clusters:
            message = (
                f"Number of distinct clusters ({clusters}) found smaller than n_clusters "
                f"({self.n_clusters}). Possibly due to duplicate points in X."
            )
            warnings.warn(message, ConvergenceWarning, stacklevel=callers_level())
            notes += (f"{clusters} clusters have rows: there may be no more different rows",)
        measures = {"shift": found.shift, "iterations": found.n_iter, "clusters": clusters}
        claim = CLAIM if found.stable else f"{CLAIM}, to within the tolerance"
        return Certificate(found.converged, claim, path, measures, notes)

    def _check_loaded(self) -> None:
        """Raise ValueError unless what a file holds could be a fitted model."""
        if len(vars(self).get("cluster_centers_", ())) != self.n_clusters:
            raise ValueError("its centres do not fit its number of clusters")

    # --- rows to answer for ---------------------------------------------------------------

    def _assigned(self, rows: Any) -> Labels:
        table = CentreTable.alone(self.cluster_centers_)
        return self._in_blocks(rows, lambda some: table.nearest(as_rows(some, self._unit)))

    def _in_blocks(self, rows: Any, function: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
        """A function of many rows in memory on all threads."""
        if not isinstance(rows, np.ndarray) or len(rows) <= block_rows(rows.shape[1]):
            return function(rows)
        return map_rows(as_source(rows), lambda block: function(block.X), self._n_jobs())

    def fit_transform(  # type: ignore[override]
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> Any:
        """Fit, and tell how far the rows are from the centres.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.

        Returns
        -------
        As of `transform`.
        """
        return self.fit(X, y, sample_weight).transform(X)

    def transform(self, X: Any) -> Any:
        """The distance of each row to each centre; 1 − cos for the cosine.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source, of shape (rows, columns)

        Returns
        -------
        array of shape (rows, clusters)
            Of a source, a source of these rows, computed when they are read.
        """
        check_is_fitted(self)
        measure = partial(_distances, centres=self.cluster_centers_, unit=self._unit)
        if not isinstance(X, Source):
            in_blocks = partial(self._in_blocks, function=measure)
            found = self._apply_in_dtype(X, in_blocks)
            return _wrap_data_with_container("transform", found, X, self)
        self._check_names(X)
        labels = [str(name) for name in self.get_feature_names_out()]
        return MappedSource(X, measure, len(labels), self._names_of_source(labels), labels=labels)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The inertia of rows, negative: the greater the better.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source, of shape (rows, columns)
        y : ignored
        sample_weight : array of shape (rows,), optional
            Of a source, its own weights count.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        cost = partial(_costs, centres=self.cluster_centers_, unit=self._unit)
        if not isinstance(X, Source):
            weight = self._checked_weight(sample_weight, X)
            costs = self._apply(X, partial(self._in_blocks, function=cost))
            return -float(costs.sum() if weight is None else weight @ costs)
        if y is not None or sample_weight is not None:
            raise ValueError("a source brings its own weights: pass neither y nor sample_weight")
        self._check_names(X)
        return -float(self._pass(X, partial(_cost_of_block, cost=cost)).values[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = False
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _distances(rows: Any, centres: Floats, unit: bool) -> Floats:
    squares = distances_to(as_rows(rows, unit), centres)
    return squares / 2 if unit else np.sqrt(squares)


def _costs(rows: Any, centres: Floats, unit: bool) -> Floats:
    X = as_rows(rows, unit)
    squares = squares_to(X, centres, CentreTable.alone(centres).nearest(X))
    return squares / 2 if unit else squares


def _cost_of_block(block: Block, cost: Callable[[Any], NDArray[np.float64]]) -> Sums:
    weight = np.ones(block.n_rows) if block.weight is None else block.weight
    there = weight > 0
    return Sums((np.asarray(weight[there] @ cost(block.X[there])),))
