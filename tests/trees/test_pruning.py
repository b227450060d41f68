"""Pruned trees: scikit-learn's where it prunes, else every subtree that a tree has."""

from __future__ import annotations

from functools import lru_cache
from itertools import product

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from suffice.trees.nodes.tree import Tree
from suffice.trees.pruning import cost_complexity, reduced_error
from tests.trees.scikit_learns import as_tree, assert_same_nodes

# --- cost complexity -------------------------------------------------------------------------


@lru_cache
def data(name):
    rng = np.random.default_rng(1)
    if name == "lattice":  # many splits that gain the same, or nothing
        X = np.array(list(product(range(4), repeat=3)), float)
        return X, (X.sum(axis=1) % 3 == 0).astype(int)
    if name == "noise":
        return rng.normal(size=(300, 4)), rng.integers(4, size=300)
    load = {"iris": load_iris, "cancer": load_breast_cancer, "diabetes": load_diabetes}[name]
    return load(return_X_y=True)


MODELS = [
    *product(("iris", "cancer", "lattice", "noise"), ("gini", "entropy"), (None, 9)),
    *product(("diabetes",), ("squared_error", "poisson"), (None, 40)),
]


@pytest.mark.parametrize(("name", "criterion", "leaves"), MODELS)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_path_and_its_trees_are_scikit_learns(name, criterion, leaves, weighted):
    X, y = data(name)
    weight = np.random.default_rng(2).integers(1, 4, len(y)).astype(float) if weighted else None
    kind = DecisionTreeRegressor if name == "diabetes" else DecisionTreeClassifier
    model = kind(criterion=criterion, max_leaf_nodes=leaves, random_state=0)
    tree = as_tree(model.fit(X, y, weight).tree_)
    path, theirs = (
        cost_complexity.pruning_path(tree),
        model.cost_complexity_pruning_path(X, y, weight),
    )
    np.testing.assert_array_equal(path.ccp_alphas, theirs.ccp_alphas)
    np.testing.assert_array_equal(path.impurities, theirs.impurities)
    among = path.ccp_alphas[:: max(len(path.ccp_alphas) // 3, 1)]
    for alpha in {0.0, *among, path.ccp_alphas[-1], path.ccp_alphas[-1] * 2}:
        if alpha >= 0:
            expected = model.set_params(ccp_alpha=alpha).fit(X, y, weight).tree_
            assert_same_nodes(cost_complexity.pruned(tree, alpha), expected)


def test_a_leaf_has_a_path_of_itself():
    tree = as_tree(DecisionTreeClassifier().fit([[0.0], [1.0]], [1, 1]).tree_)
    assert [part.tolist() for part in cost_complexity.pruning_path(tree)] == [[0], [0]]
    assert cost_complexity.pruned(tree, 1.0).node_count == 1


def test_each_subtree_of_the_path_is_the_best_of_all_at_its_alpha():
    X, y = data("noise")
    tree = as_tree(DecisionTreeClassifier(max_leaf_nodes=8, random_state=0).fit(X, y).tree_)
    cost = tree.weighted_n_node_samples * tree.impurity / len(y)
    alphas = cost_complexity.pruning_path(tree).ccp_alphas
    for alpha in (alphas[:-1] + alphas[1:]) / 2:  # between two: there is one best subtree
        best = min(prunings(tree), key=lambda ends: sum(cost[t] + alpha for t in ends))
        pruned = cost_complexity.pruned(tree, alpha)
        assert sorted(pruned.impurity[pruned.is_leaf]) == sorted(tree.impurity[list(best)])


def test_a_chain_of_30000_nodes_is_pruned_in_good_time():
    inner = 15_000
    number = np.arange(2 * inner + 1)
    is_inner = (number % 2 == 0) & (number < 2 * inner)
    left, right = np.where(is_inner, number + 1, -1), np.where(is_inner, number + 2, -1)
    rows = inner + 1 - number // 2 - number % 2 * (inner - number // 2)
    tree = Tree(
        1, left, right, np.where(is_inner, 0, -2), np.where(is_inner, number, -2.0),
        np.zeros_like(left), np.where(is_inner, 1.0, 0.0), rows, rows,
        np.zeros((len(number), 1, 1)), np.empty(0), np.empty(0),
    ).typed()  # fmt: skip
    alphas, costs = cost_complexity.pruning_path(tree)
    assert (np.diff(alphas) > -1e-12).all()
    assert costs[0] == 0
    assert costs[-1] == 1


# --- reduced error ---------------------------------------------------------------------------


def prunings(tree, t=0):
    """The leaves of every subtree that has the root, as tuples."""
    if tree.children_left[t] < 0:
        return [(t,)]
    below = prunings(tree, tree.children_left[t]), prunings(tree, tree.children_right[t])
    return [(t,), *(left + right for left, right in product(*below))]


def error_at(tree, ends, X, y, weight, loss):
    """What rows cost whose way ends at one of some nodes."""
    total = 0.0
    for row, target, w in zip(X, y, weight, strict=True):
        t = 0
        while t not in ends:
            goes_left = row[tree.feature[t]] <= tree.threshold[t]
            t = tree.children_left[t] if goes_left else tree.children_right[t]
        value = tree.value[t, 0]
        if loss == "misclassification":
            total += w * (value.argmax() != target)
        else:
            total += w * abs(value[0] - target) ** (2 if loss == "squared_error" else 1)
    return total


@pytest.mark.parametrize("loss", ["misclassification", "squared_error", "absolute_error"])
@pytest.mark.parametrize("seed", range(4))
def test_no_subtree_errs_less_and_none_that_errs_as_little_is_smaller(loss, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(6, size=(40, 3)).astype(float), rng.integers(3, size=40)
    kind = DecisionTreeClassifier if loss == "misclassification" else DecisionTreeRegressor
    tree = as_tree(kind(max_leaf_nodes=8, random_state=0).fit(X, y).tree_)
    V, target = rng.integers(6, size=(25, 3)).astype(float), rng.integers(3, size=25)
    weight = rng.integers(0, 3, size=25).astype(float)

    pruned = reduced_error.pruned(tree, tree.apply(V), target, weight, loss)

    found = {ends: error_at(tree, set(ends), V, target, weight, loss) for ends in prunings(tree)}
    least = min(found.values())
    best = [ends for ends, error in found.items() if error <= least + 1e-9]
    assert pruned.n_leaves == min(map(len, best))
    own = error_at(pruned, set(np.flatnonzero(pruned.is_leaf)), V, target, weight, loss)
    assert own == pytest.approx(least, abs=1e-9)


def test_validation_accuracy_never_falls():
    X, y = data("cancer")
    rng = np.random.default_rng(0)
    for _ in range(5):
        held = rng.random(len(y)) < 0.3
        model = DecisionTreeClassifier(random_state=0).fit(X[~held], y[~held])
        tree = as_tree(model.tree_)
        V = X[held].astype(np.float32)
        pruned = reduced_error.pruned(tree, tree.apply(V), y[held], None, "misclassification")
        before, after = ((t.majority[t.apply(V)] == y[held]).mean() for t in (tree, pruned))
        assert after >= before
        assert pruned.node_count < tree.node_count


def test_ties_prune_also_where_sums_of_weights_are_rounded():
    X, y = np.arange(20.0)[:, None], np.array([0, 0, 0, 1, 0] * 4)
    tree = as_tree(DecisionTreeClassifier(random_state=0).fit(X, y).tree_)
    none = reduced_error.pruned(
        tree, np.empty(0, np.int64), np.empty(0, int), None, "squared_error"
    )
    assert none.node_count == 1  # nothing speaks for a branch
    # Every branch errs on all rows, and so does the root.
    weight = np.full(20, 0.1)
    pruned = reduced_error.pruned(tree, tree.apply(X), np.full(20, 2), weight, "misclassification")
    assert pruned.node_count == 1
