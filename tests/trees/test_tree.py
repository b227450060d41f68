"""A tree's nodes, against scikit-learn's own trees, and files that hold none."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, fields, replace

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import suffice
from suffice.fitting.files.decoding import checked
from suffice.fitting.files.registry import find_record
from suffice.sources.finite import NotFinite
from suffice.trees.nodes.tree import TYPES, Tree
from tests.trees.scikit_learns import as_tree, assert_same_nodes


@dataclass
class Case:
    model: object
    X: np.ndarray

    def __post_init__(self):
        self.theirs = self.model.tree_
        self.tree = as_tree(self.theirs)


@pytest.fixture(scope="module")
def cases():
    rng = np.random.default_rng(0)
    X, y = load_iris(return_X_y=True)
    X = np.tile(X, (3, 1)) + rng.normal(0, 0.3, (450, 4))
    X = X.astype(np.float32).astype(float)
    gaps = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    y, weight = np.tile(y, 3), rng.integers(1, 4, len(X)).astype(float)
    U, target = load_diabetes(return_X_y=True)
    U = U.astype(np.float32).astype(float)
    return {
        "classes": Case(DecisionTreeClassifier(random_state=0).fit(X, y, weight), X),
        "missing": Case(DecisionTreeClassifier(random_state=0).fit(gaps, y), gaps),
        "best first": Case(DecisionTreeClassifier(max_leaf_nodes=20, random_state=0).fit(X, y), X),
        "numbers": Case(
            DecisionTreeRegressor(min_samples_leaf=2, random_state=0).fit(U, target), U
        ),
        "one leaf": Case(DecisionTreeRegressor(random_state=0).fit(X, np.ones(len(X))), X),
    }


NAMES = ("classes", "missing", "best first", "numbers", "one leaf")


@pytest.mark.parametrize("name", NAMES)
def test_rows_go_where_they_go_in_scikit_learn(cases, name):
    case = cases[name]
    tree, X32 = case.tree, case.X.astype(np.float32)
    np.testing.assert_array_equal(tree.apply(case.X), case.theirs.apply(X32))
    np.testing.assert_array_equal(tree.apply(X32), case.theirs.apply(X32))
    np.testing.assert_array_equal(tree.apply(np.asfortranarray(case.X)), case.theirs.apply(X32))
    np.testing.assert_array_equal(tree.apply(case.X[:7]), case.theirs.apply(X32[:7]))
    np.testing.assert_array_equal(tree.predict(case.X), case.theirs.predict(X32))
    path, theirs = tree.decision_path(case.X), case.model.decision_path(case.X)
    assert path.shape == theirs.shape
    assert type(path) is type(theirs)
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(path, part), getattr(theirs, part))


@pytest.mark.parametrize("name", NAMES)
def test_what_a_tree_says_of_itself_is_what_scikit_learns_says(cases, name):
    case = cases[name]
    tree, theirs = case.tree, case.theirs
    for attribute in ("node_count", "n_leaves", "max_depth", "n_outputs", "max_n_classes"):
        assert getattr(tree, attribute) == getattr(theirs, attribute)
    assert tree.n_classes.tolist() == theirs.n_classes.tolist()
    np.testing.assert_array_equal(tree.depth + 1, theirs.compute_node_depths())
    for normalize in (True, False):
        np.testing.assert_allclose(
            tree.compute_feature_importances(normalize),
            theirs.compute_feature_importances(normalize),
            rtol=1e-15,
            atol=1e-16,
        )
    inner = np.flatnonzero(~tree.is_leaf)
    assert tree.parent[0] == -1
    assert (tree.parent[tree.children_left[inner]] == inner).all()
    assert (tree.parent[tree.children_right[inner]] == inner).all()
    assert tree.nbytes <= sum(
        part.nbytes for part in theirs.__getstate__().values() if hasattr(part, "nbytes")
    )


def test_rows_of_other_columns_are_refused(cases):
    for X in (np.ones((3, 5)), np.ones((300, 3)), np.ones(4)):
        with pytest.raises(ValueError, match="not of 4 columns"):
            cases["classes"].tree.apply(X)


@pytest.mark.parametrize("rows", [1, 300])
def test_cells_out_of_range_are_refused(cases, rows):
    for cell in (np.inf, -np.inf, 2e150):
        X = np.zeros((rows, 4))
        X[-1, 3] = cell
        with pytest.raises(NotFinite):
            cases["classes"].tree.apply(X)


def with_categories(seed=0):
    """Seven nodes, 70 categories: sets at nodes 0 and 4, a number at node 1; not depth first."""
    bits = np.random.default_rng(seed).integers(2**32, size=6, dtype=np.uint32)
    children = [1, 3, -1, -1, 5, -1, -1], [4, 2, -1, -1, 6, -1, -1]
    feature, threshold = [0, 1, -2, -2, 0, -2, -2], [np.nan, 0.5, -2, -2, np.nan, -2, -2]
    value = np.arange(7.0).reshape(7, 1, 1)
    start = [3, -1, -1, -1, 0, -1, -1]
    counts = np.ones(7)
    return Tree(
        2, *children, feature, threshold, [1, 0, 0, 0, 1, 0, 0], counts, counts, counts, value,
        start, bits,
    ).typed()  # fmt: skip


def test_the_set_of_a_node_ends_where_the_next_begins():
    tree = with_categories()
    members = {node: tree.categories_left(node, 96) for node in (0, 4)}
    assert [tree.tests_categories(node) for node in range(7)] == [1, 0, 0, 0, 1, 0, 0]
    X = np.array([[c, x] for c in [*range(-1, 98), np.nan] for x in (0.0, 1.0)])
    for (category, number), leaf in zip(X, tree.apply(X), strict=True):
        known = 0 <= category < 96
        at_root, at_four = (members[n][int(category)] if known else True for n in (0, 4))
        if at_root:
            assert leaf == (3 if number <= 0.5 else 2)
        else:
            assert leaf == (5 if at_four else 6)


def test_a_tree_cut_back_keeps_the_sets_of_its_nodes():
    tree = with_categories()
    X = np.array([[c, x] for c in range(-1, 98) for x in (0.0, 1.0)])
    cut = tree.cut_back(np.arange(7) == 1)
    checked(cut)
    assert cut.value.ravel().tolist() == [0, 1, 4, 5, 6]  # node 1 is a leaf
    assert len(cut.category_bits) == 6
    expected = np.where(np.isin(tree.apply(X), (2, 3)), 1, tree.apply(X))
    np.testing.assert_array_equal(cut.predict(X).ravel(), expected)
    cut = tree.cut_back(np.arange(7) == 4)
    assert cut.value.ravel().tolist() == [0, 1, 3, 2, 4]  # depth first
    np.testing.assert_array_equal(cut.category_bits, tree.category_bits[3:])
    assert cut.category_start.tolist() == [0, -1, -1, -1, -1]
    root = tree.cut_back(np.arange(7) == 0)
    assert (root.node_count, root.n_leaves, len(root.category_bits)) == (1, 1, 0)
    assert root.apply(X).tolist() == [0] * len(X)


def test_a_tree_that_nothing_is_cut_from_is_numbered_depth_first(cases):
    tree = cases["numbers"].tree
    assert_same_nodes(tree.cut_back(tree.is_leaf), cases["numbers"].theirs)
    tree = cases["best first"].tree
    X = cases["best first"].X
    again = tree.cut_back(tree.is_leaf)
    inner = np.flatnonzero(~again.is_leaf)
    assert (again.children_left[inner] == inner + 1).all()
    np.testing.assert_array_equal(again.predict(X), tree.predict(X))
    np.testing.assert_array_equal(np.sort(again.impurity), np.sort(tree.impurity))


def test_a_pickled_tree_is_its_nodes_and_nothing_cached(cases):
    tree, X = cases["classes"].tree, cases["classes"].X
    before = len(pickle.dumps(as_tree(cases["classes"].theirs)))
    expected = tree.predict(X), tree.depth, tree.parent, tree.majority
    content = pickle.dumps(tree)
    assert len(content) == before
    again = pickle.loads(content)
    np.testing.assert_array_equal(again.predict(X), expected[0])
    np.testing.assert_array_equal(again.majority, again.value[:, 0].argmax(axis=1))


# --- files -----------------------------------------------------------------------------------


def changed(array, place, value):
    array = array.copy()
    array[place] = value
    return array


def damaged_trees():
    tree = with_categories()
    yield "n_features", -1, "number of columns"
    yield "n_features", 2.0, "number of columns"
    yield "n_features", 1, "columns beyond"
    for name, dtype in TYPES.items():
        part = getattr(tree, name)
        other = np.float32 if np.dtype(dtype).kind == "f" else np.int16
        yield name, part.astype(other), f"its {name} is not of"
        if dtype is not np.uint8:
            yield name, part.astype(np.dtype(dtype).newbyteorder(">")), f"its {name} is not of"
        yield name, part[None], f"its {name} is not of"
        yield name, None, f"its {name} is not of"
        if not name.startswith("category_bits"):
            yield name, part[:-1], "nodes"
    yield "value", np.empty((7, 1, 0)), "not of one number"
    for name in ("children_left", "children_right"):
        part = getattr(tree, name)
        yield name, changed(part, 0, 0), "not a tree"  # a way without an end
        yield name, changed(part, 4, 1), "not a tree"  # up again
        yield name, changed(part, 0, 7), "not a tree"
        yield name, changed(part, 0, -2), "not a tree"
        yield name, changed(part, 4, 3), "not a tree"  # two parents
        yield name, changed(part, 2, 6), "leaves have children|not a tree"
        yield name, changed(part, 4, -1), "leaves have children|not a tree"
    yield "feature", changed(tree.feature, 0, 2), "columns beyond"
    yield "feature", changed(tree.feature, 0, -2), "columns beyond"
    yield "missing_go_to_left", changed(tree.missing_go_to_left, 0, 2), "neither 0 nor 1"
    yield "category_start", changed(tree.category_start, 0, 6), "sets of categories"
    yield "category_start", changed(tree.category_start, 0, -2), "sets of categories"
    yield "category_bits", tree.category_bits[:3], "sets of categories"


def test_what_a_file_holds_is_a_tree_or_an_error():
    assert find_record("Tree") is Tree
    whole = {one.name: getattr(with_categories(), one.name) for one in fields(Tree)}
    checked(Tree(**whole))
    for name, part, message in damaged_trees():
        with pytest.raises(ValueError, match=message):
            checked(Tree(**whole | {name: part}))


def test_a_model_brings_its_tree_back_from_a_file(cases, tmp_path):
    case = cases["classes"]
    model = suffice.GaussianNB().fit(np.eye(4), [0, 1, 0, 1])
    model.tree_ = case.tree
    case.tree.apply(case.X)  # what is cached stays out of the file
    model.save(tmp_path / "model")
    again = suffice.load(tmp_path / "model").tree_
    assert_same_nodes(again, case.theirs)
    np.testing.assert_array_equal(again.apply(case.X), case.tree.apply(case.X))


def test_trees_of_scikit_learns_are_sound(cases):
    for case in cases.values():
        checked(case.tree)
        assert replace(case.tree).node_count == case.theirs.node_count
