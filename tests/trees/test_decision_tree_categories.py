"""Trees whose columns hold categories: the best subset by brute force, and cells of every type."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import suffice
from suffice import DecisionTreeClassifier, DecisionTreeRegressor
from tests.trees.oracle import Table, Target, check_tree

CLASSIFICATION = ["gini", "entropy", "misclassification"]
REGRESSION = ["squared_error", "poisson", "absolute_error"]
TOWNS = np.array(["Ulm", "Köln", "東京", "", "São Paulo", "nan", "None", "0"], dtype=object)


def frame_of(rng, sizes, n, *, gaps=0.15):
    """Columns of text with some cells missing, and one of numbers; a score that depends on all."""
    names = np.array([f"{TOWNS[k % 8]}{k // 8 or ''}" for k in range(max(sizes))], dtype=object)
    table, score = {}, rng.normal(size=n)
    for j, size in enumerate(sizes):
        codes = rng.integers(0, size, n)
        score += rng.normal(size=size)[codes]
        cells = names[codes]
        cells[rng.random(n) < gaps] = None
        table[f"town {j}"] = pd.Series(cells, dtype=object)
    table["height"] = rng.normal(size=n).round(1)
    return pd.DataFrame(table), score


def grown(criterion, frame, score, weight, classes, **limits):
    """A tree, its table and its target."""
    if criterion in CLASSIFICATION:
        edges = np.quantile(score, np.linspace(0, 1, classes + 1)[1:-1])
        y = np.digitize(score, edges)
        y = np.unique(y, return_inverse=True)[1]
        model = DecisionTreeClassifier(criterion=criterion, **limits)
        target = Target(y, weight, criterion, int(y.max()) + 1)
    else:
        y = np.exp(score / 2).round(1) + 0.1
        model = DecisionTreeRegressor(criterion=criterion, **limits)
        target = Target(y, weight, criterion)
    model.fit(frame, y, weight)
    return model, Table.of(frame), target


# --- the best subset -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("criterion", "classes"),
    [*((c, k) for c in CLASSIFICATION for k in (2, 3, 6)), *((c, 0) for c in REGRESSION)],
)
def test_up_to_eight_categories_in_all_subsets(criterion, classes):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 60))
        frame, score = frame_of(rng, (2, 5, 8), n, gaps=[0, 0.15, 0.8][seed % 3])
        weight = rng.choice([0.25, 1.0, 3.0], n)
        check_tree(*_tree_first(*grown(criterion, frame, score, weight, classes)))


@pytest.mark.parametrize(
    ("criterion", "classes"),
    [*((c, k) for c in CLASSIFICATION for k in (2, 4)), ("squared_error", 0), ("poisson", 0)],
)
def test_many_categories(criterion, classes):
    """The best subset where sorting finds it; else no worse than one against the rest."""
    rng = np.random.default_rng(1)
    frame, score = frame_of(rng, (12, 40), 300)
    limits = {"max_depth": 5}
    found = grown(criterion, frame, score, rng.uniform(0.5, 2, 300), classes, **limits)
    check_tree(*_tree_first(*found), **limits)


def test_many_categories_by_absolute_error():
    rng = np.random.default_rng(1)
    frame, score = frame_of(rng, (12, 40), 300)
    found = grown("absolute_error", frame, score, np.ones(300), 0, max_depth=5)
    check_tree(*_tree_first(*found), max_depth=5)


@pytest.mark.parametrize("max_leaf_nodes", [None, 6])
def test_classes_that_hold_two_categories_each(max_leaf_nodes):
    codes = np.repeat(np.arange(8), 6)
    y = np.array(["a", "c", "b", "d"])[codes % 2 + 2 * (codes // 4)]
    frame = pd.DataFrame({"kind": pd.Series([f"k{c}" for c in codes], dtype=object)})
    model = DecisionTreeClassifier(max_leaf_nodes=max_leaf_nodes).fit(frame, y)
    assert model.score(frame, y) == 1.0
    assert model.get_n_leaves() == 4
    classes = np.searchsorted(model.classes_, y)
    check_tree(model.tree_, Table.of(frame), Target(classes, np.ones(48), "gini", 4))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("criterion", [*CLASSIFICATION, *REGRESSION])
def test_leaves_of_several_rows(criterion, classes):
    rng = np.random.default_rng(2)
    frame, score = frame_of(rng, (5, 7), 80, gaps=0.1)
    limits = {"min_samples_leaf": 6}
    found = grown(criterion, frame, score, np.ones(80), classes, **limits)
    check_tree(*_tree_first(*found), **limits)


def test_ten_thousand_categories():
    rng = np.random.default_rng(3)
    codes = rng.permutation(np.arange(30_000) % 10_000)
    frame = pd.DataFrame({"id": pd.Series(codes.astype(str), dtype=object)})
    lucky = np.random.default_rng(4).random(10_000) < 0.4
    model = DecisionTreeClassifier().fit(frame, lucky[codes])
    assert model.get_n_leaves() == 2
    assert model.score(frame, lucky[codes]) == 1.0
    model = DecisionTreeClassifier(max_depth=1).fit(frame, codes % 3)  # a stated heuristic
    cost = (model.tree_.impurity * model.tree_.weighted_n_node_samples)[1:].sum()
    rest = np.bincount(codes % 3) - 3 * np.eye(3)  # without one category, by its class
    assert cost < (29_997 - np.square(rest).sum(axis=1) / 29_997).min()
    level = rng.normal(size=10_000)
    regressor = DecisionTreeRegressor(max_leaf_nodes=50).fit(frame, level[codes])
    by_number = DecisionTreeRegressor(max_leaf_nodes=50).fit(level[codes, None], level[codes])
    np.testing.assert_allclose(regressor.predict(frame), by_number.predict(level[codes, None]))


# --- unseen, missing, named ------------------------------------------------------------------


def test_unseen_categories_go_with_the_missing():
    cells = ["a", "a", "a", "b", "b", "c", None, None, None, None]
    y = [0, 0, 0, 1, 1, 1, 2, 2, 2, 2]
    frame = pd.DataFrame({"x": pd.Series(cells, dtype=object)})
    model = DecisionTreeClassifier().fit(frame, y)
    assert model.score(frame, y) == 1.0
    queries = pd.DataFrame({"x": pd.Series(["new", None, "b", "A", ""], dtype=object)})
    assert model.predict(queries).tolist() == [2, 2, 1, 2, 2]
    # where none was missing, both follow the greater number of rows
    known = DecisionTreeClassifier(max_depth=1).fit(frame[:6], [0, 0, 0, 0, 0, 1])
    assert known.apply(queries[:2]).tolist() == known.apply(frame[3:5]).tolist()


def test_a_category_that_a_node_did_not_see_goes_with_the_missing():
    """ "b" is there in the fit, but not on the right of the root, where the text is asked."""
    frame = pd.DataFrame(
        {
            "x": [0.0] * 6 + [1.0] * 8,
            "town": pd.Series(["b"] * 6 + ["a"] * 5 + ["c"] * 3, dtype=object),
        }
    )
    y = [5.0] * 6 + [0.0] * 5 + [1.0] * 3
    model = DecisionTreeRegressor().fit(frame, y)
    assert model.predict(frame).tolist() == y
    tree, node = model.tree_, int(model.tree_.children_right[0])
    assert tree.feature[:1].tolist() == [0]
    assert tree.feature[node] == 1
    queries = pd.DataFrame({"x": [1.0] * 3, "town": pd.Series(["b", None, "zz"], dtype=object)})
    assert model.predict(queries).tolist() == [0.0, 0.0, 0.0]


def test_numbers_named_as_categories():
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 6, 200)
    X = np.column_stack([np.array([3.5, -1.0, 7.0, 0.0, 100.0, 2.0])[codes], rng.normal(size=200)])
    X[::17, 0] = np.nan
    y = np.where(np.isnan(X[:, 0]), 2, codes % 2)
    model = DecisionTreeClassifier(categorical=[0]).fit(X, y)
    assert model.get_n_leaves() == 3
    assert model.score(X, y) == 1.0
    check_tree(model.tree_, Table.of(X, categorical=[0]), Target(y, np.ones(200), "gini", 3))
    unseen = np.array([[55.0, 0.0], [np.nan, 0.0]])
    assert model.predict(unseen).tolist() == [2, 2]
    mask = DecisionTreeClassifier(categorical=[True, False]).fit(X, y)
    named = DecisionTreeClassifier(categorical=["a"]).fit(pd.DataFrame(X, columns=["a", "b"]), y)
    for other in (mask, named):
        same_trees_of_categories(model.tree_, other.tree_)


@pytest.mark.parametrize("categorical", [[2], ["town"], [True], [-1]])
def test_names_of_columns_that_are_not_there(categorical):
    with pytest.raises(ValueError, match="categorical"):
        DecisionTreeClassifier(categorical=categorical).fit(np.eye(2), [0, 1])


# --- types -----------------------------------------------------------------------------------


def tables():
    """One table in all the types that hold it."""
    text = ["x", "y", "z", None, "x", "y", "z", "x", "y", "w"] * 3
    truth = [True, False, False, True, True] * 6
    number = [float(i % 7) for i in range(30)]
    plain = pd.DataFrame({"text": pd.Series(text, dtype=object), "truth": truth, "number": number})
    yield "objects", plain
    yield "categories", plain.assign(text=pd.Categorical(text, categories=["z", "w", "y", "x"]))
    yield "unused categories", plain.assign(text=pd.Categorical(text, categories=list("zwyxq")))
    yield "strings", plain.assign(text=pd.array(text, dtype="string"))
    yield "booleans", plain.assign(truth=pd.array(truth, dtype="boolean"))
    yield "polars", pl.DataFrame({"text": text, "truth": truth, "number": number})
    typed = pl.DataFrame({"text": text, "truth": truth, "number": number})
    yield "polars categories", typed.with_columns(pl.col("text").cast(pl.Categorical))
    yield "arrow", pa.table({"text": text, "truth": truth, "number": number})
    coded = pa.array(text).dictionary_encode()
    yield "arrow dictionary", pa.table({"text": coded, "truth": truth, "number": number})


def same_trees_of_categories(tree, other):
    for name in ("children_left", "feature", "n_node_samples", "missing_go_to_left"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(other, name), err_msg=name)
    np.testing.assert_array_equal(tree.threshold, other.threshold)
    np.testing.assert_array_equal(tree.value, other.value)


@pytest.mark.parametrize("kind", [name for name, _ in tables()])
def test_the_same_cells_in_other_types(kind):
    y = np.array([0, 1, 2, 1, 0, 1, 0, 2, 2, 1] * 3)
    first = dict(tables())["objects"]
    expected = DecisionTreeClassifier().fit(first, y)
    check_tree(expected.tree_, Table.of(first), Target(y, np.ones(30), "gini", 3))
    frame = dict(tables())[kind]
    model = DecisionTreeClassifier().fit(frame, y)
    same_trees_of_categories(model.tree_, expected.tree_)
    np.testing.assert_array_equal(model.predict(frame), expected.predict(first))
    np.testing.assert_array_equal(model.apply(frame), expected.apply(first))


def test_arrays_of_text_objects_and_booleans():
    y = [0, 0, 1, 1]
    for X in (
        np.array([["a"], ["b"], ["c"], ["d"]]),
        np.array([["a"], ["b"], ["c"], [None]], dtype=object),
        [["a"], ["b"], ["c"], ["d"]],
    ):
        model = DecisionTreeClassifier().fit(X, y)
        assert model.get_n_leaves() == 2
        assert model.predict(X).tolist() == y
    truth = np.array([[True], [True], [False], [False]])
    assert DecisionTreeClassifier().fit(truth, y).predict(truth).tolist() == y


def test_the_order_of_rows_and_names_changes_no_prediction():
    rng = np.random.default_rng(6)
    frame, score = frame_of(rng, (4, 6), 90)
    y = (score > 0).astype(int)
    weight = rng.uniform(0.5, 2, 90)
    model = DecisionTreeClassifier(max_depth=3).fit(frame, y, weight)
    renamed = frame.copy()
    for name in ("town 0", "town 1"):
        renamed[name] = [None if v is None else f"{99 - len(v)}{v}" for v in frame[name]]
    other = DecisionTreeClassifier(max_depth=3).fit(renamed, y, weight)
    np.testing.assert_allclose(other.predict_proba(renamed), model.predict_proba(frame))


def test_saved_and_loaded(tmp_path):
    rng = np.random.default_rng(7)
    frame, score = frame_of(rng, (40, 3), 120)
    model = DecisionTreeRegressor().fit(frame, score)
    model.save(tmp_path / "tree")
    loaded = suffice.load(tmp_path / "tree")
    same_trees_of_categories(loaded.tree_, model.tree_)
    queries, _ = frame_of(np.random.default_rng(8), (48, 4), 50)
    np.testing.assert_array_equal(loaded.predict(queries), model.predict(queries))


def _tree_first(model, table, target):
    return model.tree_, table, target
