"""Classification by the k nearest rows.

    P(y = c | x) = Σ wᵢ [yᵢ = c] / Σ wᵢ     over the k rows nearest to x

The neighbours vote, each once or with the reciprocal of its distance as weight.  With more and more
rows, k → ∞ and k/n → 0 the error tends to the smallest that there is; with k = 1 to at most twice
that.

References: Cover and Hart, "Nearest neighbor pattern classification" (1967); Stone, "Consistent
nonparametric regression" (1977).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MultiOutputMixin
from sklearn.exceptions import DataConversionWarning
from sklearn.utils._param_validation import StrOptions

from suffice.fitting.classification import Classifier, labels_of
from suffice.fitting.inputs import in_dtype_of
from suffice.neighbors.base import NeighborsModel
from suffice.neighbors.search.answers import Weights, neighbor_weights
from suffice.neighbors.search.choose import Floats, Integers
from suffice.sources import Block, Source
from suffice.sources.memory.query_blocks import QueryBlocks
from suffice.statistics.counts.labels import coded
from suffice.statistics.rows.with_targets import RowsAndTargets


class KNeighborsClassifier(MultiOutputMixin, Classifier, NeighborsModel):
    """The class that most of the nearest rows have.

    Parameters
    ----------
    n_neighbors : int, default=5
        k, the number of neighbours that vote.
    weights : {"uniform", "distance"}, callable or None, default="uniform"
        How much each counts: once, by the reciprocal of its distance (rows at distance 0 then
        outvote all others), or by a function of an array of distances.
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
    classes_ : array of shape (classes,)
        The labels, sorted; a list of such arrays if there are several targets.
    effective_metric_ : str
    effective_metric_params_ : dict
    n_samples_fit_ : int
        Rows that are kept.
    outputs_2d_ : bool
        Whether there are several targets.
    statistics_ : RowsAndTargets
    certificate_ : Certificate
        Says which search runs.
    trace_ : Trace

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import KNeighborsClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KNeighborsClassifier().fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.99
    >>> model.certificate_.path
    'kd-tree of 4 leaves'
    >>> distances, rows = model.kneighbors(X[:1], 2)
    >>> rows
    array([[0, 2]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NeighborsModel._parameter_constraints,
        "weights": [StrOptions({"uniform", "distance"}), callable, None],
    }
    _refit_parameters: ClassVar[tuple[str, ...]] = (*NeighborsModel._refit_parameters, "weights")

    classes_: Any

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    # --- fitting --------------------------------------------------------------------------

    _target_checks = {"multi_output": True, "y_numeric": False}

    def _training_source(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> Source:
        passed = y
        if _is_a_column(y):
            warnings.warn(
                "A column-vector y was passed when a 1d array was expected. Please change the "
                "shape of y to (n_samples,), for example using ravel().",
                DataConversionWarning,
                stacklevel=2,
            )
            y = [row[0] for row in y] if isinstance(y, list | tuple) else np.asarray(y).ravel()
        source = super()._training_source(X, y, sample_weight, reset)
        self._take_target_names(source, passed, reset)
        return source

    def _targets(self, block: Block) -> NDArray[Any]:
        y = block.y
        assert y is not None
        columns = [y] if y.ndim == 1 else list(y.T)
        kept = [_of_a_kind(labels_of(Block(block.X, one, None, block.start))) for one in columns]
        return kept[0] if y.ndim == 1 else _side_by_side(kept)

    def _adopt_targets(self, rows: RowsAndTargets) -> None:
        classes = [labels for labels, _ in votes_of(rows)]
        self.outputs_2d_ = rows.y[0].ndim == 2
        self.classes_ = classes if self.outputs_2d_ else classes[0]

    def _take_target(self, source: Source, reset: bool) -> None:
        if not reset:
            self._check_outputs(source.target_shape[0] if source.target_shape else None)

    def _join(self, models: Sequence[Self]) -> None:
        for other in models[1:]:
            models[0]._check_outputs(len(other.classes_) if other.outputs_2d_ else None)

    def _check_outputs(self, found: int | None) -> None:
        known = len(self.classes_) if self.outputs_2d_ else None
        if found != known:
            raise ValueError(
                f"the target has {found or 1} columns, but that of the fit has {known or 1}"
            )

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None) -> Self:
        """`update` under scikit-learn's name.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source
        y : array of shape (rows,) or (rows, targets)
            None if `X` is a source.
        classes : array of shape (classes,), optional
            Not needed: classes may appear at any time, and one without rows has no votes.

        Returns
        -------
        self
        """
        return self.update(X, y)

    # --- predicting -----------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the most votes; of several the first in the labels' order.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source, of shape (rows, columns), or None
            None stands for the rows of the fit, which then do not vote on themselves.

        Returns
        -------
        array of shape (rows,) or (rows, targets)
        """
        found = self._shares(X)
        columns = [
            labels[np.argmax(share, axis=1)]
            for labels, share in zip(self._all_classes(), found, strict=True)
        ]
        return _side_by_side(columns) if self.outputs_2d_ else columns[0]

    def _predicted(self, rows: Any) -> NDArray[Any]:
        return self.predict(QueryBlocks(rows))

    def predict_proba(self, X: Any) -> Any:
        """Each class's share of the votes.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source, of shape (rows, columns), or None
            None stands for the rows of the fit, which then do not vote on themselves.

        Returns
        -------
        array of shape (rows, classes), or a list of one for each target
        """
        shares = [in_dtype_of(X, share) for share in self._shares(X)]
        return shares if self.outputs_2d_ else shares[0]

    def _all_classes(self) -> list[NDArray[Any]]:
        return self.classes_ if self.outputs_2d_ else [self.classes_]

    def _shares(self, X: Any) -> list[Floats]:
        """Each class's share of the votes, for every target."""

        def count(distances: Floats, rows: Integers) -> list[Floats]:
            weights = neighbor_weights(distances, self.weights)
            return [
                shares(codes[rows], weights, len(labels))
                for labels, codes in votes_of(self.statistics_.joined())
            ]

        found = self._over_nearest(X, count)
        return [np.concatenate(parts) for parts in zip(*found, strict=True)]


def shares(codes: Integers, weights: Floats | None, n_classes: int) -> Floats:
    """Shares of the classes among neighbours.

    Parameters
    ----------
    codes : int array of shape (queries, neighbours)
        The neighbours' classes.
    weights : array of the same shape, or None
    n_classes : int

    Returns
    -------
    array of shape (queries, classes)
    """
    votes = np.zeros((len(codes), n_classes))
    queries = np.arange(len(codes))
    for j in range(codes.shape[1]):
        votes[queries, codes[:, j]] += 1.0 if weights is None else weights[:, j]
    return votes / votes.sum(axis=1, keepdims=True)


def votes_of(rows: RowsAndTargets) -> list[tuple[NDArray[Any], Integers]]:
    """The sorted labels of each target, and the place of each row's label among them."""
    if "votes" not in rows.memo:
        y = rows.y[0]
        rows.memo["votes"] = [coded(one) for one in ([y] if y.ndim == 1 else y.T)]
    found: list[tuple[NDArray[Any], Integers]] = rows.memo["votes"]
    return found


def _of_a_kind(y: NDArray[Any]) -> NDArray[Any]:
    """Labels as they are kept: booleans, int64, float64, or objects for text."""
    if not len(y):
        return y
    labels, codes = coded(y)
    return labels[codes]


def _side_by_side(columns: list[NDArray[Any]]) -> NDArray[Any]:
    """Labels of several targets as one array, of objects if they are of several kinds."""
    if len({one.dtype.kind for one in columns}) > 1:
        columns = [one.astype(object) for one in columns]
    return np.stack(columns, axis=1)


def _is_a_column(y: Any) -> bool:
    """Whether a target has two dimensions and one column."""
    if isinstance(y, list | tuple):
        return len(y) > 0 and all(isinstance(row, list | tuple) and len(row) == 1 for row in y)
    shape: tuple[int, ...] = getattr(y, "shape", ())
    return len(shape) == 2 and shape[1] == 1
