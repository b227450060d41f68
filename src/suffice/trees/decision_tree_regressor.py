"""Regression by a tree of binary tests (CART).

A node t with weight W splits its rows by the test, x_j ≤ θ or x_j ∈ S, that decreases most

    W i(t) − W_L i(left) − W_R i(right),

where the impurity i of targets y with weights w, mean m and median q is

    squared error    (1/W) Σ w (y − m)²
    absolute error   (1/W) Σ w |y − q|
    Poisson          (1/W) Σ w y log(y/m)

A leaf predicts the mean, or the median, of its rows.

Reference: Breiman, Friedman, Olshen and Stone, "Classification and regression trees" (1984).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions

from suffice.fitting.regression import Regressor
from suffice.sources import Block
from suffice.trees.base import TreeModel
from suffice.trees.growing.overview import numbers_of
from suffice.trees.nodes.tree import Floats


class DecisionTreeRegressor(Regressor, TreeModel):
    """A tree of binary tests whose leaves are numbers.

    Parameters
    ----------
    criterion : {"squared_error", "absolute_error", "poisson"}, default="squared_error"
        What splits decrease; "poisson" is for counts, and for targets that are not negative.
        The absolute error takes the rows in memory.
    splitter, max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf,\
 max_features,\
 random_state, max_leaf_nodes, min_impurity_decrease, ccp_alpha, prune, validation_fraction,\
 categorical, max_bins, monotonic_cst, n_jobs
        As for `DecisionTreeClassifier`.

    Attributes
    ----------
    tree_ : Tree
        The nodes, in arrays that have scikit-learn's names.
    categories_ : list
        For each column of categories, these in the order of their numbers; None for others.
    feature_importances_ : array of shape (columns,)
    max_features_ : int
    certificate_ : Certificate
        Says whether cuts were exact.
    trace_ : Trace

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from suffice import DecisionTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = DecisionTreeRegressor(max_depth=3, min_samples_leaf=20).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.24
    >>> X.columns[model.feature_importances_.argsort()[::-1][:2]].tolist()
    ['bmi', 's5']
    >>> model.certificate_.path
    'exact: every cut between two values was tried'
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TreeModel._parameter_constraints,
        "criterion": [StrOptions({"squared_error", "absolute_error", "poisson"})],
    }
    _target_checks = {"y_numeric": True, "multi_output": False}

    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = None,
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        prune: str | None = None,
        validation_fraction: float = 0.25,
        categorical: Sequence[Any] | None = None,
        max_bins: Any = "auto",
        monotonic_cst: None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.prune = prune
        self.validation_fraction = validation_fraction
        self.categorical = categorical
        self.max_bins = max_bins
        self.monotonic_cst = monotonic_cst
        self.n_jobs = n_jobs

    @property
    def _validation_loss(self) -> str:
        return "absolute_error" if self.criterion == "absolute_error" else "squared_error"

    def _target_of(self, block: Block, reset: bool) -> NDArray[Any]:
        y = numbers_of(block.y)
        if not np.isfinite(y).all():
            raise ValueError("the target holds NaN or infinity")
        if self.criterion == "poisson" and (y < 0).any():
            raise ValueError("Some value(s) of y are negative: not a target of Poisson regression")
        if reset and self.criterion == "poisson" and not y.any():
            raise ValueError("Sum of y is not positive, as Poisson regression needs it to be")
        return y

    def _class_weights(self, weight: Floats) -> Floats | None:
        return None

    def _n_classes(self) -> int:
        return 0

    def _predicted(self, rows: Any) -> Floats:
        return self._values(rows)[:, 0]
