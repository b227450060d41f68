"""Classification by a tree of binary tests (CART).

A node t with weight W and class weights c splits its rows by the test, x_j ≤ θ or x_j ∈ S, that
decreases most

    W i(t) − W_L i(left) − W_R i(right),

where the impurity i is, with the shares p = c/W,

    gini                1 − Σ pₖ²
    entropy             −Σ pₖ log₂ pₖ
    misclassification   1 − max pₖ

A leaf predicts the class of the largest share.  Misclassification is what is to be made small in
the end, and yet a poor guide to it: it does not see that a child has become purer as long as the
same class wins in both.

Reference: Breiman, Friedman, Olshen and Stone, "Classification and regression trees" (1984).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions

from suffice.fitting.class_weights import class_factors
from suffice.fitting.classification import Classifier
from suffice.sources import Block
from suffice.statistics.counts.distinct import locate
from suffice.statistics.counts.labels import coded
from suffice.trees.base import TreeModel
from suffice.trees.nodes.tree import Floats

MOST_CLASSES = 65_535


class DecisionTreeClassifier(Classifier, TreeModel):
    """A tree of binary tests whose leaves are classes.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss", "misclassification"}, default="gini"
        What splits decrease; "log_loss" is another name of "entropy".
    splitter : {"best"}, default="best"
        Every cut is tried; scikit-learn's random ones are not offered.
    max_depth : int, optional
        Most tests on the way to a leaf.
    min_samples_split : int or float, default=2
        Least rows of a node that is split; a float is a share of all rows.
    min_samples_leaf : int or float, default=1
        Least rows of a leaf.
    min_weight_fraction_leaf : float, default=0.0
        Least share of all weight of a leaf.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        How many columns a node looks at, drawn anew in each; a float is a share of them, None all.
    random_state : int, RandomState instance or None, default=None
        Of these draws, and of the rows that pruning splits off.
    max_leaf_nodes : int, optional
        Most leaves; nodes are then split in the order of what it gains.
    min_impurity_decrease : float, default=0.0
        Least decrease, relative to the weight of all rows.
    class_weight : dict, "balanced" or None, default=None
        Factors for the weights of rows by their labels; "balanced" makes all classes weigh the
        same.
    ccp_alpha : float, default=0.0
        Price of a leaf: the subtree with the least impurity at this price is kept.
    prune : {"reduced_error"} or None, default=None
        Make a node a leaf wherever that does not err more on rows that were held out.
    validation_fraction : float, default=0.25
        The share of rows held out for it, unless `fit` is given some.
    categorical : sequence, optional
        Names or numbers of columns of numbers that stand for categories, or a boolean for each
        column.  Text, categories and booleans are categories anyway.
    max_bins : int, "auto" or None, default="auto"
        "auto" tries every cut between two values, and between 255 bins a column where a
        stream is large; None always the former; a number the latter, with so many bins.
    monotonic_cst : None
        Not taken yet.
    n_jobs : int, optional
        Threads; by default what `suffice.config` says.

    Attributes
    ----------
    tree_ : Tree
        The nodes, in arrays that have scikit-learn's names.
    classes_ : array of shape (classes,)
        The labels, sorted.
    n_classes_ : int
    categories_ : list
        For each column of categories, these in the order of their numbers; None for others.
    feature_importances_ : array of shape (columns,)
    max_features_ : int
    certificate_ : Certificate
        Says whether cuts were exact.
    trace_ : Trace

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import DecisionTreeClassifier
    >>> from suffice.trees import export_text
    >>> iris = load_iris(as_frame=True)
    >>> model = DecisionTreeClassifier(max_depth=2).fit(iris.data, iris.target_names[iris.target])
    >>> print(export_text(model))
    |--- petal length (cm) <= 2.45
    |   |--- class: setosa
    |--- petal length (cm) >  2.45
    |   |--- petal width (cm) <= 1.75
    |   |   |--- class: versicolor
    |   |--- petal width (cm) >  1.75
    |   |   |--- class: virginica
    <BLANKLINE>
    >>> model.predict_proba(iris.data[:1])
    array([[1., 0., 0.]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TreeModel._parameter_constraints,
        "criterion": [StrOptions({"gini", "entropy", "log_loss", "misclassification"})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }
    _validation_loss = "misclassification"

    def __init__(
        self,
        *,
        criterion: str = "gini",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = None,
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        class_weight: Any = None,
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
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.prune = prune
        self.validation_fraction = validation_fraction
        self.categorical = categorical
        self.max_bins = max_bins
        self.monotonic_cst = monotonic_cst
        self.n_jobs = n_jobs

    # --- labels ---------------------------------------------------------------------------

    def _target_of(self, block: Block, reset: bool) -> NDArray[Any]:
        labels = self._labels(block)
        if not reset:
            codes = locate(coded(labels)[0], self.classes_)[coded(labels)[1]]
            if (codes < 0).all():
                raise ValueError(
                    f"none of the validation labels is among those of the fit: {labels[0]!r}, "
                    f"but not one of {self.classes_[:10].tolist()}"
                )
            return codes  # a class that nobody has seen is −1: always an error
        classes, codes = coded(labels)
        self._adopt_classes(classes)
        return codes

    def _adopt_classes(self, classes: NDArray[Any]) -> None:
        if len(classes) > MOST_CLASSES:
            raise ValueError(f"{len(classes):,} classes; at most {MOST_CLASSES:,} are taken")
        self.classes_, self.n_classes_ = classes, len(classes)

    def _n_classes(self) -> int:
        return len(self.classes_)

    def _class_weights(self, weight: Floats) -> Floats | None:
        return class_factors(self.class_weight, self.classes_, weight)

    # --- predicting -----------------------------------------------------------------------

    def _probabilities(self, rows: Any) -> Floats:
        return self._values(rows)

    def _log_probabilities(self, rows: Any) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(self._values(rows))

    def _predicted(self, rows: Any) -> NDArray[Any]:
        return self.classes_[self.tree_.majority[self.tree_.apply(self._cells(rows))]]
