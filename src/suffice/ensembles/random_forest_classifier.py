"""Classification by the mean of many trees that differ by chance (random forest).

Tree t is grown from rows that are drawn with replacement, and each of its nodes looks at a few
columns that are drawn anew.  The forest answers with the mean of what the trees say,

    f(x) = (1/T) Σₜ fₜ(x).

If two trees have the correlation ρ and each the variance σ² over training sets, the mean has

    Var f(x) = ρ σ² + (1 − ρ) σ²/T:

drawing makes ρ smaller, and σ² a little larger.  A row that a tree did not draw is new to it: such
out-of-bag rows judge the forest without others to be held out.

Columns are cut between at most 255 bins, most of whose bounds are quantiles
(`suffice.trees.growing.bins`).

Reference: Breiman, "Random forests" (2001); Ho, "The random subspace method" (1998).
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from suffice.ensembles.forests import classification
from suffice.ensembles.forests.base import ForestModel
from suffice.fitting.classification import Classifier
from suffice.trees.nodes.tree import Floats


class RandomForestClassifier(Classifier, ForestModel):
    """A classifier that is the mean of trees from drawn rows and columns.

    Parameters
    ----------
    n_estimators : int, default=100
        Trees.
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        What splits decrease; "log_loss" is another name of "entropy".
    max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, max_leaf_nodes,\
 min_impurity_decrease, ccp_alpha, categorical
        Of each tree, as for `DecisionTreeClassifier`; rows that were drawn twice are counted once.
    max_features : int, float, {"sqrt", "log2"} or None, default="sqrt"
        How many columns a node looks at; those that do not vary in it are not counted.
    bootstrap : bool, default=True
        Whether each tree draws as many rows as there are, with replacement; else it has all.
    oob_score : bool or function, default=False
        Whether to judge the forest by rows that trees did not draw: by accuracy, or by a
        function of true and predicted labels.
    n_jobs : int, optional
        Threads; by default what `suffice.config` says.  The forest is the same at any number.
    random_state : int, RandomState instance or None, default=None
        Of all draws.
    verbose : int, default=0
        Accepted for compatibility.
    warm_start : bool, default=False
        Whether the next `fit` keeps the trees that there are, and adds to them: to the same rows,
        the same forest as at once.
    class_weight : dict, "balanced", "balanced_subsample" or None, default=None
        Factors for the weights of rows by their labels; "balanced" makes all classes weigh the
        same, "balanced_subsample" among the rows of each tree.
    max_samples : int or float, optional
        How many rows each tree draws; a float is a share of their weight.
    monotonic_cst : None
        Not taken yet.
    max_bins : int or None, default=255
        Bins of a column, 2 to 255, between which it is cut; None cuts between any two values.
    feature_sampling : {"split", "tree"}, default="split"
        Whether columns are drawn anew in each node, or once for each tree (the random subspace
        method).
    voting : {"soft", "hard"}, default="soft"
        Whether probabilities are the mean of the trees' shares, or the share of trees that vote
        for a class.

    Attributes
    ----------
    classes_ : array of shape (classes,)
        The labels, sorted.
    n_classes_ : int
    forest_ : Forest
        The nodes of all trees.
    estimators_ : list of DecisionTreeClassifier
    estimators_samples_ : list of arrays
        The rows that each tree drew.
    feature_importances_ : array of shape (columns,)
    oob_score_ : float
    oob_decision_function_ : array of shape (rows, classes)
        Probabilities from trees that did not draw the row; NaN if there are none such.
    certificate_ : Certificate
    trace_ : Trace

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from suffice import RandomForestClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RandomForestClassifier(oob_score=True, random_state=0).fit(X[::2], y[::2])
    >>> model.oob_score_ > 0.93, model.score(X[1::2], y[1::2]) > 0.93
    (True, True)
    """

    _task: ClassVar[ModuleType] = classification
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ForestModel._parameter_constraints,
        **classification.PARAMETERS,
    }

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        oob_score: Any = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        max_samples: float | None = None,
        monotonic_cst: None = None,
        max_bins: int | None = 255,
        feature_sampling: str = "split",
        voting: str = "soft",
        categorical: Sequence[Any] | None = None,
    ) -> None:
        super().__init__(
            n_estimators=n_estimators, criterion=criterion, max_depth=max_depth,
            min_samples_split=min_samples_split, min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf, max_features=max_features,
            max_leaf_nodes=max_leaf_nodes, min_impurity_decrease=min_impurity_decrease,
            bootstrap=bootstrap, oob_score=oob_score, n_jobs=n_jobs, random_state=random_state,
            verbose=verbose, warm_start=warm_start, class_weight=class_weight,
            ccp_alpha=ccp_alpha, max_samples=max_samples, monotonic_cst=monotonic_cst,
            max_bins=max_bins, feature_sampling=feature_sampling, voting=voting,
            categorical=categorical,
        )  # fmt: skip

    def _probabilities(self, rows: Any) -> Floats:
        return self._mean(rows)

    def _log_probabilities(self, rows: Any) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(self._mean(rows))
