"""What both decision trees do at the edges: little data, bad data, much data, other threads."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

import suffice
from suffice import DecisionTreeClassifier, DecisionTreeRegressor
from tests.trees.oracle import measurements, same_trees

BOTH = [DecisionTreeClassifier, DecisionTreeRegressor]
both = pytest.mark.parametrize("Tree", BOTH)
CRITERIA = [
    DecisionTreeClassifier(criterion="gini"),
    DecisionTreeClassifier(criterion="entropy"),
    DecisionTreeClassifier(criterion="misclassification"),
    DecisionTreeRegressor(criterion="squared_error"),
    DecisionTreeRegressor(criterion="absolute_error"),
    DecisionTreeRegressor(criterion="poisson"),
]
each = pytest.mark.parametrize("model", CRITERIA, ids=lambda model: model.criterion)


def rows(Tree, seed=0, **options):
    classes = 3 if Tree is DecisionTreeClassifier else 0
    return measurements(np.random.default_rng(seed), classes=classes, **options)


# --- little to learn from --------------------------------------------------------------------


@each
def test_one_row(model):
    model = clone(model).fit([[1.0, np.nan]], [3])
    assert model.tree_.node_count == 1
    assert model.predict([[np.nan, 7.0], [0.0, 0.0]]).tolist() == [3, 3]
    assert model.get_depth() == 0
    assert model.feature_importances_.tolist() == [0.0, 0.0]


@each
def test_a_constant_target(model):
    model = clone(model).fit(np.arange(12.0).reshape(6, 2), np.full(6, 2))
    assert model.tree_.node_count == 1
    assert model.tree_.impurity[0] == 0
    assert model.predict([[0.0, 0.0]]).tolist() == [2]


@each
def test_columns_that_tell_nothing(model):
    X = np.column_stack([np.full(6, 0.1), np.full(6, np.nan), np.zeros(6)])
    model = clone(model).fit(X, [1, 1, 1, 1, 2, 2])
    assert model.tree_.node_count == 1
    with_one = clone(model).fit(np.column_stack([X, [9, 9, 9, 9, 5, 5]]), [1, 1, 1, 1, 2, 2])
    assert with_one.tree_.feature.tolist() == [3, -2, -2]
    assert with_one.feature_importances_.tolist() == [0, 0, 0, 1]
    assert with_one.predict([[np.nan, 3.0, np.inf * 0, 4.0]]).tolist() == [2]


@each
def test_known_against_missing(model):
    X = np.array([[1.0], [1.0], [1.0], [np.nan], [np.nan]])
    model = clone(model).fit(X, [1, 1, 1, 2, 2])
    assert model.tree_.threshold[0] == np.inf
    assert model.tree_.missing_go_to_left[0] == 0
    assert model.predict(X).tolist() == [1, 1, 1, 2, 2]
    assert model.predict([[1e9], [-1e9]]).tolist() == [1, 1]


@each
def test_duplicates_that_disagree(model):
    model = clone(model).fit([[1.0], [1.0], [1.0], [2.0]], [1, 1, 4, 2])
    assert model.get_n_leaves() == 2


@each
def test_neighbouring_floats_are_parted(model):
    """A midpoint that rounds up to the larger one would send both to the left."""
    for low in (1.0, np.nextafter(1.0, 2), 1e16, -1.0, 0.0, 2.0**-1074 * 3):
        high = np.nextafter(low, np.inf)
        X = np.array([[low], [high]])
        found = clone(model).fit(X, [1, 2])
        assert low <= found.tree_.threshold[0] < high
        assert found.predict(X).tolist() == [1, 2]
    X = np.array([[-1e149], [1e149]])
    assert clone(model).fit(X, [1, 2]).predict(X).tolist() == [1, 2]


@each
def test_signed_zeros_are_one_value(model):
    model = clone(model).fit([[-0.0], [0.0], [0.0], [-0.0]], [1, 2, 2, 1])
    assert model.tree_.node_count == 1


# --- refused ---------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("cell", [np.inf, -np.inf])
def test_infinite_cells(Tree, cell):
    X = np.ones((4, 2))
    X[2, 1] = cell
    with pytest.raises(ValueError, match="inf"):
        Tree().fit(X, [0, 1, 0, 1])
    model = Tree().fit(np.arange(8.0).reshape(4, 2), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="inf"):
        model.predict(X)


@both
def test_several_targets(Tree):
    with pytest.raises(ValueError, match=r"target|output|1d|column"):
        Tree().fit(np.eye(3), np.eye(3, dtype=int)[:, :2])


@both
def test_monotone_constraints(Tree):
    with pytest.raises(ValueError, match="monoton"):
        Tree(monotonic_cst=[1, 0, 0]).fit(np.eye(3), [0, 1, 1])


@both
def test_sparse_rows(Tree):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4)) * (rng.random((120, 4)) < 0.4)
    y = (X[:, 0] > X[:, 1]).astype(int)
    thin = sparse.csr_matrix(X)
    for options in ({}, {"max_bins": 255}, {"prune": "reduced_error"}):
        models = [Tree(random_state=0, **options).fit(rows, y) for rows in (X, thin)]
        for rows in (X, thin):
            np.testing.assert_array_equal(models[0].predict(X), models[1].predict(rows))
            np.testing.assert_array_equal(models[0].apply(X), models[1].apply(rows))


@both
@pytest.mark.parametrize(
    ("weight", "message"),
    [([0, 0, 0], "weight"), ([1, -1, 1], "weight|[Nn]egative"), ([1, np.nan, 1], "NaN|weight")],
)
def test_weights(Tree, weight, message):
    with pytest.raises(ValueError, match=message):
        Tree().fit(np.eye(3), [0, 1, 1], weight)


@both
@pytest.mark.parametrize(
    "wrong",
    [
        {"max_depth": 0},
        {"min_samples_split": 1},
        {"min_samples_leaf": 0},
        {"min_samples_leaf": 1.5},
        {"min_weight_fraction_leaf": 0.6},
        {"max_features": 0},
        {"max_features": "many"},
        {"max_leaf_nodes": 1},
        {"min_impurity_decrease": -0.1},
        {"ccp_alpha": -1.0},
        {"criterion": "best"},
        {"prune": "error"},
        {"max_bins": 256},
        {"max_bins": 1},
    ],
    ids=str,
)
def test_parameters(Tree, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Tree(**wrong).fit(np.eye(3), [0, 1, 1])


@both
def test_rows_without_columns_or_without_rows(Tree):
    for X, y in ((np.empty((0, 2)), []), (np.empty((3, 0)), [0, 1, 1])):
        with pytest.raises(ValueError, match=r"0 (sample|feature)"):
            Tree().fit(X, y)


def test_a_target_that_is_missing():
    with pytest.raises(ValueError, match="NaN"):
        DecisionTreeRegressor().fit(np.eye(3), [0.0, np.nan, 1.0])


def test_a_failed_fit_changes_nothing():
    X, y, _ = rows(DecisionTreeRegressor)
    model = DecisionTreeRegressor(max_depth=2).fit(X, y)
    before = model.tree_
    with pytest.raises(ValueError, match=r"poisson|Poisson"):
        model.set_params(criterion="poisson").fit(X, -y)
    assert model.tree_ is before


# --- arrays of all sorts ---------------------------------------------------------------------


@both
def test_types_and_layouts(Tree):
    X, y, weight = rows(Tree, weighted=True, missing=True)
    whole = np.nan_to_num(X * 10).astype(np.int32)
    expected = Tree(max_depth=5).fit(X, y, weight)
    frozen = X.copy()
    frozen.setflags(write=False)
    y.setflags(write=False)
    for same in (
        X.astype(np.float32), np.asfortranarray(X), frozen, X.tolist(), X[:, ::-1][:, ::-1],
        np.repeat(X, 2, axis=0)[::2], pd.DataFrame(X).to_numpy(),
    ):  # fmt: skip
        same_trees(Tree(max_depth=5).fit(same, y, weight).tree_, expected.tree_)
        np.testing.assert_array_equal(expected.apply(same), expected.apply(X))
    numbers = Tree(max_depth=5).fit(whole.astype(np.float64), y, weight)
    for dtype in (np.int16, np.int32, np.int64, np.float16, np.float32):
        same_trees(Tree(max_depth=5).fit(whole.astype(dtype), y, weight).tree_, numbers.tree_)


@both
def test_nothing_that_was_passed_changes(Tree):
    X, y, weight = rows(Tree, weighted=True, missing=True)
    before = X.copy(), y.copy(), weight.copy()
    Tree(ccp_alpha=0.01).fit(X, y, weight).predict(X)
    for now, then in zip((X, y, weight), before, strict=True):
        np.testing.assert_array_equal(now, then)


@both
def test_copies(Tree, tmp_path):
    X, y, weight = rows(Tree, weighted=True, missing=True)
    model = Tree(max_depth=6, min_samples_leaf=3).fit(X, y, weight)
    model.save(tmp_path / "tree")
    for copy in (pickle.loads(pickle.dumps(model)), suffice.load(tmp_path / "tree")):
        same_trees(copy.tree_, model.tree_)
        np.testing.assert_array_equal(copy.predict(X), model.predict(X))
        np.testing.assert_array_equal(copy.feature_importances_, model.feature_importances_)
        assert copy.get_params() == model.get_params()
    fresh = clone(model)
    assert not hasattr(fresh, "tree_")
    same_trees(fresh.fit(X, y, weight).tree_, model.tree_)


# --- chance, order, threads ------------------------------------------------------------------


@both
def test_drawn_columns(Tree):
    X, y, _ = rows(Tree)
    X = np.column_stack([X, np.random.default_rng(1).normal(size=(300, 8))])

    def features(seed, drawn):
        model = Tree(max_features=drawn, random_state=seed, max_depth=4).fit(X, y)
        return tuple(model.tree_.feature.tolist())

    assert features(0, 3) == features(0, 3)
    assert len({features(seed, 3) for seed in range(5)}) > 1
    assert len({features(seed, None) for seed in range(3)}) == 1
    for drawn in ("sqrt", "log2", 0.3, 3):  # three of twelve columns each
        assert features(7, drawn) == features(7, 3)
    assert {features(seed, 1)[0] for seed in range(60)} == set(range(12))
    state = np.random.RandomState(3)
    assert Tree(max_features=1, random_state=state).fit(X, y).score(X, y) == 1.0


@both
def test_a_constant_column_that_is_drawn_is_drawn_again(Tree):
    X, y, _ = rows(Tree)
    X = np.column_stack([np.zeros((300, 40)), X[:, 0], np.full((300, 9), np.nan)])
    for seed in range(5):
        assert Tree(max_features=1, random_state=seed).fit(X, y).score(X, y) == 1.0


@both
def test_threads_change_no_bit(Tree):
    X, y, weight = rows(Tree, missing=True, weighted=True, n=3000)
    one, many = (Tree(n_jobs=jobs, min_samples_leaf=2).fit(X, y, weight).tree_ for jobs in (1, 3))
    for name in ("feature", "threshold", "impurity", "value", "children_left"):
        np.testing.assert_array_equal(getattr(one, name), getattr(many, name))


@both
def test_two_fits_at_once(Tree):
    sets = [rows(Tree, seed, n=2000) for seed in range(2)]
    expected = [Tree().fit(X, y).tree_ for X, y, _ in sets]
    found = {}

    def fit(i):
        X, y, _ = sets[i]
        found[i] = [Tree().fit(X, y).tree_ for _ in range(4)]

    threads = [threading.Thread(target=fit, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(2):
        for tree in found[i]:
            same_trees(tree, expected[i])


# --- deep and large --------------------------------------------------------------------------


def test_ten_thousand_levels(tmp_path):
    """Labels that alternate: each test parts one row from the rest."""
    X, y = np.arange(10_001.0)[:, None], np.arange(10_001) % 2
    model = DecisionTreeClassifier().fit(X, y)
    assert model.get_depth() > 4000
    assert model.get_n_leaves() == 10_001
    assert model.score(X, y) == 1.0
    model.save(tmp_path / "deep")
    for copy in (pickle.loads(pickle.dumps(model)), suffice.load(tmp_path / "deep")):
        assert copy.get_depth() == model.get_depth()
    some = X[::2000]
    path = model.decision_path(some)
    assert path.shape == (len(some), model.tree_.node_count)
    np.testing.assert_array_equal(path.indices[path.indptr[1:] - 1], model.apply(some))
    cut = DecisionTreeClassifier(ccp_alpha=1e-3).fit(X, y)
    assert cut.get_n_leaves() < 10_001


@pytest.mark.skipif(os.name != "posix", reason="sends signals as POSIX does")
@pytest.mark.parametrize(
    "growing",
    ["DecisionTreeClassifier()", "DecisionTreeClassifier(max_leaf_nodes=10**6)",
     "DecisionTreeRegressor(criterion='absolute_error')"],
)  # fmt: skip
def test_ctrl_c(growing):
    code = f"""
import json, os, signal, threading, time
import numpy as np
from suffice import DecisionTreeClassifier, DecisionTreeRegressor

rng = np.random.default_rng(0)
X, y = rng.random((400_000, 20)), rng.integers(0, 2, 400_000)
model = {growing}
model.fit(X[:50], y[:50])
before, sent = model.tree_, []

def send():
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)

threading.Timer(0.7, send).start()
try:
    model.fit(X, y)
    print(json.dumps("the fit ended before"))
except KeyboardInterrupt:
    print(json.dumps([time.monotonic() - sent[0] < 1, model.tree_ is before]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [True, True]
