"""Fitted models around trees that are made by scikit-learn, or by hand."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from suffice.trees.nodes.tree import TYPES, Tree


class Fitted(BaseEstimator):
    """What is asked of a fitted model that is shown."""

    def __init__(self, criterion="gini"):
        self.criterion = criterion

    def fit(self, X, y):
        raise NotImplementedError


def fitted(tree, criterion="gini", classes=None, names=None, categories=None):
    model = Fitted(criterion)
    model.tree_, model.n_features_in_ = tree, tree.n_features
    model.categories_ = categories or [None] * tree.n_features
    if classes is not None:
        model.classes_ = np.asarray(classes)
    if names is not None:
        model.feature_names_in_ = np.asarray(names, dtype=object)
    return model


def ours(theirs):
    """The same tree as scikit-learn's fitted one."""
    nodes = {name: getattr(theirs.tree_, name) for name in TYPES if not name.startswith("category")}
    tree = Tree(
        theirs.n_features_in_, **nodes, category_start=np.empty(0), category_bits=np.empty(0)
    )
    return fitted(
        tree.typed(),
        theirs.criterion,
        getattr(theirs, "classes_", None),
        getattr(theirs, "feature_names_in_", None),
    )


def classifier(X, y, **parameters):
    return DecisionTreeClassifier(random_state=0, **parameters).fit(X, y)


def regressor(X, y, **parameters):
    return DecisionTreeRegressor(random_state=0, **parameters).fit(X, y)


def by_hand(nodes, n_features=1, categories=()):
    """A tree from one tuple a node: left, right, column, threshold, missing left, value.

    A threshold that is a set of codes is a test of categories.
    """
    left, right, column, tests, missing, value = zip(*nodes, strict=True)
    start, bits = [], []
    for j, test in zip(column, tests, strict=True):
        start.append(len(bits) if isinstance(test, set) else -1)
        if isinstance(test, set):
            words = [0] * -(-len(categories[j]) // 32)
            for code in test:
                words[code // 32] |= 1 << code % 32
            bits += words
    value = np.array([np.atleast_1d(one) for one in value], float)[:, None, :]
    n = len(nodes)
    thresholds = [np.nan if isinstance(test, set) else test for test in tests]
    return Tree(
        n_features, left, right, column, thresholds, missing, np.zeros(n),
        np.arange(n, 0, -1) * 10, np.arange(n, 0, -1) * 10.0, value,
        start if bits else np.empty(0), bits,
    ).typed()  # fmt: skip


def a_chain(levels):
    """A tree of two classes that goes down by one leaf at a time."""
    nodes = []
    for level in range(levels):
        nodes.append((2 * level + 1, 2 * level + 2, 0, float(level), 1, [0.5, 0.5]))
        nodes.append((-1, -1, -2, -2.0, 0, [level % 2, 1 - level % 2]))
    nodes.append((-1, -1, -2, -2.0, 0, [0.25, 0.75]))
    return by_hand(nodes)


COLOURS = np.array(["blue", "green", "red", "yellow"], dtype=object)


def with_categories():
    """Colours in {blue, red} first, then numbers up to 2, then only what is missing."""
    tree = by_hand(
        [
            (1, 2, 0, {0, 2}, 1, [0.5, 0.5]),
            (-1, -1, -2, -2.0, 0, [1.0, 0.0]),
            (3, 4, 1, 2.0, 0, [0.4, 0.6]),
            (5, 6, 0, {0, 1}, 0, [0.5, 0.5]),
            (7, 8, 1, np.inf, 0, [0.1, 0.9]),
            (-1, -1, -2, -2.0, 0, [0.9, 0.1]),
            (-1, -1, -2, -2.0, 0, [0.0, 1.0]),
            (-1, -1, -2, -2.0, 0, [0.2, 0.8]),
            (-1, -1, -2, -2.0, 0, [0.7, 0.3]),
        ],
        n_features=2,
        categories=[COLOURS, None],
    )
    return fitted(tree, "entropy", ["no", "yes"], ["colour", "size"], [COLOURS, None])
