"""Regression trees: scikit-learn's node by node, and the best of all splits by brute force."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor as Peer

from suffice import DecisionTreeRegressor
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

# Two columns tie where they part a small node in the same way: limits, and a search for
# tables without ties, see to it that there is one best tree.
LIMITS = [
    {"max_depth": 4, "min_samples_leaf": 2},
    {"min_samples_split": 30},
    {"min_samples_leaf": 7},
    {"min_samples_leaf": 0.03, "min_samples_split": 0.1},
    {"min_weight_fraction_leaf": 0.03},
    {"min_impurity_decrease": 0.01, "min_samples_leaf": 5},
    {"max_leaf_nodes": 9, "min_samples_leaf": 5},
    {"max_leaf_nodes": 30, "max_depth": 5, "min_samples_leaf": 5},
    {"ccp_alpha": 0.01, "min_samples_leaf": 5},
]
CRITERIA = ["squared_error", "poisson", "absolute_error"]


# --- scikit-learn ----------------------------------------------------------------------------


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_nodes_of_scikit_learn(criterion, limits, weighted, missing):
    if criterion == "absolute_error":
        # The peer takes no gaps with it.  Without weights two ways to part the rows may put the
        # same targets above a median, and cost the same.
        missing, weighted = False, True

    def draw(rng):
        return measurements(rng, missing=missing, weighted=weighted)

    peer = Peer(criterion=criterion, **limits)
    (X, y, weight), expected = untied(peer, draw)
    model = DecisionTreeRegressor(criterion=criterion, **limits).fit(X, y, weight)
    same_trees(model.tree_, expected)
    assert expected.node_count > 5
    with_gaps = criterion != "absolute_error"
    queries = measurements(np.random.default_rng(99), missing=with_gaps)[0]
    peer.set_params(random_state=0).fit(X, y, weight)
    np.testing.assert_allclose(model.predict(queries), peer.predict(queries), rtol=1e-12)
    np.testing.assert_array_equal(model.apply(queries), peer.apply(queries))
    assert (model.decision_path(queries) != peer.decision_path(queries)).nnz == 0
    np.testing.assert_allclose(
        model.feature_importances_, peer.feature_importances_, rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("criterion", CRITERIA)
def test_one_column_to_the_last_leaf(criterion):
    def draw(rng):
        X, y, weight = measurements(rng, weighted=True)
        return X[:, :1], y, weight

    (X, y, weight), expected = untied(Peer(criterion=criterion), draw)
    model = DecisionTreeRegressor(criterion=criterion).fit(X, y, weight)
    same_trees(model.tree_, expected)
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-12)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_nodes_of_scikit_learn_on_real_rows(criterion, diabetes):
    X, y = diabetes

    def draw(rng):
        near = X + 0.01 * X.std(axis=0) * rng.normal(size=X.shape)
        return near.astype(np.float32), y, rng.uniform(0.5, 2, len(y))

    limits = {"min_samples_leaf": 12}
    (rows, _, weight), expected = untied(Peer(criterion=criterion, **limits), draw)
    model = DecisionTreeRegressor(criterion=criterion, **limits).fit(rows, y, weight)
    same_trees(model.tree_, expected)


def test_the_path_of_cost_complexity_pruning(diabetes):
    X, y = diabetes
    limits = {"min_samples_leaf": 12}

    def draw(rng):
        near = X + 0.01 * X.std(axis=0) * rng.normal(size=X.shape)
        return near.astype(np.float32), y, None

    (X, y, _), _ = untied(Peer(**limits), draw)
    found = DecisionTreeRegressor(**limits).cost_complexity_pruning_path(X, y)
    expected = Peer(**limits).cost_complexity_pruning_path(X, y)
    np.testing.assert_allclose(found.ccp_alphas, expected.ccp_alphas, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(found.impurities, expected.impurities, rtol=1e-9)


# --- brute force -----------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("weighted", [False, True])
def test_every_split_is_the_best_of_all(criterion, weighted):
    for seed in range(16):
        rng = np.random.default_rng(seed)
        X, y, weight = small_table(rng)
        if criterion != "poisson":
            y = np.log(y + 0.1)
        elif not y.any():
            continue
        weight = weight if weighted else np.ones(len(y))
        leaf = int(rng.integers(1, 4))
        model = DecisionTreeRegressor(criterion=criterion, min_samples_leaf=leaf)
        model.fit(X, y, weight if weighted else None)
        check_tree(model.tree_, Table.of(X), Target(y, weight, criterion), min_samples_leaf=leaf)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_columns_of_hundreds_of_values(criterion):
    X, y, weight = small_table(np.random.default_rng(4), n=420, missing=0.2)
    assert len(np.unique(X[:, 1])) > 300
    target = Target(y, weight, criterion)
    limits = {"min_samples_split": 12, "max_depth": 7, "min_impurity_decrease": 0.001}
    model = DecisionTreeRegressor(criterion=criterion, **limits).fit(X, y, weight)
    check_tree(model.tree_, Table.of(X), target, **limits)
    limits = {"max_leaf_nodes": 7, "min_samples_leaf": 3}
    model = DecisionTreeRegressor(criterion=criterion, **limits).fit(X, y, weight)
    check_tree(model.tree_, Table.of(X), target, **limits)
    assert model.get_n_leaves() == 7


def test_leaves_of_a_share_of_the_weight():
    X, y, weight = small_table(np.random.default_rng(5), n=90, missing=0.2)
    model = DecisionTreeRegressor(min_weight_fraction_leaf=0.08).fit(X, y, weight)
    target = Target(y, weight, "squared_error")
    check_tree(model.tree_, Table.of(X), target, min_weight_leaf=0.08 * weight.sum())
    assert model.get_n_leaves() > 4


@pytest.mark.parametrize("criterion", CRITERIA)
def test_real_rows(criterion, diabetes):
    X, y = diabetes
    model = DecisionTreeRegressor(criterion=criterion, min_samples_leaf=4, max_depth=6).fit(X, y)
    target = Target(y, np.ones(len(y)), criterion)
    check_tree(model.tree_, Table.of(X), target, min_samples_leaf=4, max_depth=6)


# --- targets ---------------------------------------------------------------------------------


def test_targets_far_from_zero_lose_no_split():
    X, y, _ = measurements(np.random.default_rng(2))
    y = y.round(3)
    far = y + 2.0**33  # a sum of squares of these has no digits left for the differences
    limits = {"min_samples_leaf": 7}
    for criterion in ("squared_error", "absolute_error"):
        near = DecisionTreeRegressor(criterion=criterion, **limits).fit(X, far - 2.0**33)
        model = DecisionTreeRegressor(criterion=criterion, **limits).fit(X, far)
        np.testing.assert_array_equal(model.tree_.feature, near.tree_.feature)
        np.testing.assert_array_equal(model.tree_.threshold, near.tree_.threshold)
        np.testing.assert_allclose(model.tree_.impurity, near.tree_.impurity, rtol=1e-6, atol=1e-9)


def test_poisson_has_no_leaf_of_zeros():
    X, y = np.arange(8.0)[:, None], np.array([0, 0, 0, 1, 0, 3, 2, 5])
    model = DecisionTreeRegressor(criterion="poisson").fit(X, y)
    assert model.predict(X).min() > 0
    check_tree(model.tree_, Table.of(X), Target(y.astype(float), np.ones(8), "poisson"))


@pytest.mark.parametrize("y", [[1.0, -0.5, 2.0], [0.0, 0.0, 0.0]])
def test_poisson_refuses(y):
    with pytest.raises(ValueError, match=r"[Pp]oisson"):
        DecisionTreeRegressor(criterion="poisson").fit([[1.0], [2.0], [3.0]], y)


def test_weights_are_repetitions():
    X, y, _ = measurements(np.random.default_rng(8))
    times = np.random.default_rng(9).integers(0, 4, len(y))
    limits = {"max_depth": 4, "min_weight_fraction_leaf": 0.02}
    for criterion in CRITERIA:
        model = DecisionTreeRegressor(criterion=criterion, **limits)
        weighted = model.fit(X, y, times).tree_
        repeated = model.fit(X.repeat(times, 0), y.repeat(times)).tree_
        np.testing.assert_array_equal(weighted.threshold, repeated.threshold)
        np.testing.assert_allclose(weighted.value, repeated.value, rtol=1e-12)


# --- contract --------------------------------------------------------------------------------


@contract(
    [DecisionTreeRegressor()],
    switched=[
        DecisionTreeRegressor(criterion="absolute_error", max_leaf_nodes=4),
        DecisionTreeRegressor(criterion="absolute_error"),
        DecisionTreeRegressor(ccp_alpha=0.01),
    ],
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
