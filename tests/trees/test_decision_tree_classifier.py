"""Classification trees: scikit-learn's node by node, and the best of all splits by brute force."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.tree import DecisionTreeClassifier as Peer

from suffice import DecisionTreeClassifier
from tests.contract import contract
from tests.trees.oracle import (
    Table,
    Target,
    check_tree,
    measurements,
    same_trees,
    small_table,
    untied,
)

# Without limits many splits of small nodes cost the same.  Where a peer is asked, limits, weights
# and a search for tables without ties see to it that there is one best tree.
LIMITS = [
    {"max_depth": 4, "min_samples_leaf": 5},
    {"min_samples_split": 30},
    {"min_samples_leaf": 0.03, "min_samples_split": 0.1},
    {"min_weight_fraction_leaf": 0.04},
    {"min_impurity_decrease": 0.01, "min_samples_leaf": 8},
    {"max_leaf_nodes": 9, "min_samples_leaf": 5},
    {"max_leaf_nodes": 12, "max_depth": 4, "min_samples_leaf": 5},
    {"ccp_alpha": 0.012, "min_samples_leaf": 9},
    {"class_weight": {0: 1.0, 1: 0.5, 2: 4.0}, "min_samples_leaf": 14},
]
CRITERIA = ["gini", "entropy", "misclassification"]


# --- scikit-learn ----------------------------------------------------------------------------


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_the_nodes_of_scikit_learn(criterion, limits, weighted, missing):
    def draw(rng):
        return measurements(rng, classes=3, missing=missing, weighted=weighted)

    peer = Peer(criterion=criterion, **limits)
    (X, y, weight), expected = untied(peer, draw)
    model = DecisionTreeClassifier(criterion=criterion, **limits).fit(X, y, weight)
    same_trees(model.tree_, expected)
    assert expected.node_count > 5
    queries = measurements(np.random.default_rng(99), missing=True)[0]  # gaps at prediction too
    peer.set_params(random_state=0).fit(X, y, weight)
    np.testing.assert_allclose(model.predict_proba(queries), peer.predict_proba(queries))
    np.testing.assert_array_equal(model.predict(queries), peer.predict(queries))
    np.testing.assert_array_equal(model.apply(queries), peer.apply(queries))
    paths = model.decision_path(queries)
    assert (paths != peer.decision_path(queries)).nnz == 0
    np.testing.assert_allclose(
        model.feature_importances_, peer.feature_importances_, rtol=1e-9, atol=1e-12
    )
    assert model.get_depth() == peer.get_depth()
    assert model.get_n_leaves() == peer.get_n_leaves()


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_one_column_to_the_last_leaf(criterion):
    def draw(rng):
        X, y, weight = measurements(rng, classes=4, weighted=True)
        return X[:, :1], y, weight

    (X, y, weight), expected = untied(Peer(criterion=criterion), draw)
    model = DecisionTreeClassifier(criterion=criterion).fit(X, y, weight)
    same_trees(model.tree_, expected)
    assert model.score(X, y) == 1.0


@pytest.mark.parametrize("load", [load_wine, load_breast_cancer, load_digits])
def test_the_nodes_of_scikit_learn_on_real_rows(load):
    X, y = load(return_X_y=True)

    def draw(rng):  # weights, and cells that are off, leave no ties
        near = X + 0.3 * X.std(axis=0) * rng.normal(size=X.shape)
        return near.astype(np.float32), y, rng.uniform(0.5, 2, len(y))

    limits = {"max_depth": 5, "min_samples_leaf": 15}
    (rows, _, weight), expected = untied(Peer(**limits), draw)
    same_trees(DecisionTreeClassifier(**limits).fit(rows, y, weight).tree_, expected)


def test_the_path_of_cost_complexity_pruning():
    X, y, weight = measurements(np.random.default_rng(0), classes=3, weighted=True)
    limits = {"min_samples_split": 30}
    (X, y, weight), _ = untied(
        Peer(**limits), lambda rng: measurements(rng, classes=3, weighted=True)
    )
    found = DecisionTreeClassifier(**limits).cost_complexity_pruning_path(X, y, weight)
    expected = Peer(**limits).cost_complexity_pruning_path(X, y, weight)
    np.testing.assert_allclose(found.ccp_alphas, expected.ccp_alphas, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(found.impurities, expected.impurities, rtol=1e-9)


# --- brute force -----------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_split_is_the_best_of_all(criterion, classes, weighted):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y, weight = small_table(rng, classes=classes)
        weight = weight if weighted else np.ones(len(y))
        leaf = int(rng.integers(1, 4))
        model = DecisionTreeClassifier(criterion=criterion, min_samples_leaf=leaf)
        model.fit(X, y, weight if weighted else None)
        codes = np.searchsorted(model.classes_, y)
        target = Target(codes, weight, criterion, len(model.classes_))
        check_tree(model.tree_, Table.of(X), target, min_samples_leaf=leaf)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_columns_of_hundreds_of_values(criterion):
    rng = np.random.default_rng(4)
    X, y, weight = small_table(rng, classes=3, n=420, missing=0.2)
    assert len(np.unique(X[:, 1])) > 300
    limits = {"min_samples_split": 12, "max_depth": 9, "min_impurity_decrease": 0.001}
    model = DecisionTreeClassifier(criterion=criterion, **limits).fit(X, y, weight)
    check_tree(model.tree_, Table.of(X), Target(y, weight, criterion, 3), **limits)
    limits = {"max_leaf_nodes": 7, "min_samples_leaf": 3}
    model = DecisionTreeClassifier(criterion=criterion, **limits).fit(X, y, weight)
    check_tree(model.tree_, Table.of(X), Target(y, weight, criterion, 3), **limits)
    assert model.get_n_leaves() == 7


def test_leaves_of_a_share_of_the_weight():
    X, y, weight = small_table(np.random.default_rng(5), classes=3, n=90, missing=0.2)
    model = DecisionTreeClassifier(min_weight_fraction_leaf=0.08).fit(X, y, weight)
    least = 0.08 * weight.sum()
    check_tree(model.tree_, Table.of(X), Target(y, weight, "gini", 3), min_weight_leaf=least)
    assert model.get_n_leaves() > 4


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_real_rows_to_the_last_leaf(load):
    X, y = load(return_X_y=True)
    for criterion in CRITERIA:
        model = DecisionTreeClassifier(criterion=criterion).fit(X, y)
        assert model.score(X, y) == 1.0
        target = Target(y, np.ones(len(y)), criterion, y.max() + 1)
        check_tree(model.tree_, Table.of(X), target)


def test_many_columns_of_few_values():
    X, y = load_digits(return_X_y=True)
    X, y = X[:600].astype(np.float32), y[:600]
    model = DecisionTreeClassifier(criterion="entropy", max_depth=5).fit(X, y)
    check_tree(model.tree_, Table.of(X), Target(y, np.ones(len(y)), "entropy", 10), max_depth=5)


# --- classes ---------------------------------------------------------------------------------


def test_a_class_of_weight_zero_is_none():
    X, y = np.arange(6.0)[:, None], np.array(["a", "b", "c"] * 2)
    model = DecisionTreeClassifier().fit(X, y, [1, 1, 0, 1, 1, 0])
    rows = np.array([0, 1, 3, 4])
    same_trees(model.tree_, DecisionTreeClassifier().fit(X[rows], y[rows]).tree_)


def test_names_of_classes():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    for y in (["Öl", "Öl", "東京", "東京"], [True, True, False, False], [-7, -7, 12, 12]):
        model = DecisionTreeClassifier().fit(X, y)
        assert model.classes_.tolist() == sorted(set(y))
        assert model.predict(X).tolist() == y
        assert model.tree_.threshold[0] == 1.5
        assert model.predict_proba(X).tolist() == [
            [float(c == k) for k in sorted(set(y))] for c in y
        ]


def test_one_class():
    model = DecisionTreeClassifier().fit([[1.0], [2.0]], ["only", "only"])
    assert model.tree_.node_count == 1
    assert model.predict_proba([[np.nan], [9.0]]).tolist() == [[1.0], [1.0]]
    assert model.predict([[0.0]]).tolist() == ["only"]


def test_balanced_classes():
    limits = {"class_weight": "balanced", "min_samples_leaf": 14}
    (X, y, _), expected = untied(Peer(**limits), lambda rng: measurements(rng, classes=3))
    same_trees(DecisionTreeClassifier(**limits).fit(X, y).tree_, expected)


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_weights_are_repetitions(class_weight):
    X, y, _ = measurements(np.random.default_rng(8), classes=3)
    times = np.random.default_rng(9).integers(0, 4, len(y))
    limits = {"max_depth": 4, "min_weight_fraction_leaf": 0.02, "class_weight": class_weight}
    weighted = DecisionTreeClassifier(**limits).fit(X, y, times)
    repeated = DecisionTreeClassifier(**limits).fit(X.repeat(times, 0), y.repeat(times))
    np.testing.assert_array_equal(weighted.tree_.threshold, repeated.tree_.threshold)
    np.testing.assert_allclose(weighted.tree_.value, repeated.tree_.value, rtol=1e-12)


# --- contract --------------------------------------------------------------------------------


@contract(
    [DecisionTreeClassifier()],
    switched=[
        DecisionTreeClassifier(criterion="entropy", max_leaf_nodes=4),
        DecisionTreeClassifier(criterion="misclassification", ccp_alpha=0.01),
    ],
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
