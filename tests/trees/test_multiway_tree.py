"""Multi-way trees in arrays: depth beyond Python's stack, memory, damaged files."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from suffice import C45Classifier
from suffice.trees.multiway import tree as of_trees
from suffice.trees.multiway.growing import MultiwayNode, in_arrays, result_of
from suffice.trees.multiway.text import TreeInWords

DEEP = 2 * sys.getrecursionlimit()


def chain(depth):
    """x0 > 1, x0 > 2, …: row i ends after i steps."""
    root = node = MultiwayNode(np.array([float(depth), 1.0]))
    for i in range(1, depth + 1):
        node.column, node.threshold = 0, float(i)
        node.branches[0] = MultiwayNode(np.array([1.0, 0.0]))
        node.branches[1] = MultiwayNode(np.array([float(depth - i), 1.0]))
        node = node.branches[1]
    return in_arrays(root)


def test_trees_deeper_than_the_stack():
    def down(n):
        return 0 if n == 0 else 1 + (yield down(n - 1))

    assert result_of(down(DEEP)) == DEEP
    tree = chain(DEEP)
    assert tree.depth.max() == DEEP
    cells = np.arange(1.0, DEEP + 2)[:, None]
    ends = np.concatenate([parts.indices for _, parts in tree.ends(cells)])
    assert np.array_equal(tree.depth[ends], np.minimum(np.arange(1, DEEP + 2), DEEP))


def test_a_row_that_lacks_a_cell_is_everywhere_in_proportion():
    tree = chain(3)
    ((_, parts),) = tree.ends(np.array([[np.nan], [2.5]]))
    found = parts.toarray()[:, tree.is_leaf]
    np.testing.assert_allclose(found, [[1 / 4, 1 / 4, 1 / 4, 1 / 4], [0, 0, 1, 0]])


def test_rows_are_taken_some_at_a_time(monkeypatch):
    X = np.random.default_rng(0).normal(size=(100, 3))
    X[::3] = np.nan
    model = C45Classifier(prune=False).fit(X, np.arange(100) % 3)
    whole = model.predict_proba(X)
    monkeypatch.setattr(of_trees, "TOGETHER", 0)
    assert len(list(model.tree_.ends(X))) == 7
    np.testing.assert_array_equal(model.predict_proba(X), whole)


def test_words_for_a_chain_of_bounds():
    words = TreeInWords(chain(3), ["height"], [np.empty(0)], np.array(["low", "high"]))
    assert words.rules() == [
        "if height <= 1 then low (1.0)",
        "if height > 1 and height <= 2 then low (1.0)",
        "if height > 2 and height <= 3 then low (1.0)",
        "if height > 3 then high (1.0)",
    ]


@pytest.mark.parametrize(
    ("name", "value", "match"),
    [
        ("parent", [0, 0, 0, 2, 2, 4, 4], "no root"),
        ("parent", [-1, 0, 0, 4, 4, 2, 2], "not a tree"),
        ("value", [0, 1, 0, 0, 1, 0, 1], "not in order"),
        ("column", [0, 0, 0, -1, 0, -1, -1], "leaves have branches"),
        ("counts", np.full((7, 2), np.nan), "counts are none"),
        ("counts", np.zeros((7, 2)), "no row came by"),
    ],
)
def test_damaged_trees(name, value, match):
    tree = chain(3)
    tree._check_loaded()
    object.__setattr__(tree, name, np.asarray(value))
    for cached in ("_keys", "weight", "_number", "_first"):
        vars(tree).pop(cached, None)
    with pytest.raises(ValueError, match=match):
        tree._check_loaded()


def test_damaged_models():
    model = C45Classifier().fit([[1.0], [1.0], [2.0], [2.0]], ["a", "a", "b", "b"])
    model._check_loaded()
    for name, value, match in [
        ("classes_", np.array(["a"]), "does not fit its classes"),
        ("categories_", [], "do not fit its columns"),
        ("is_categorical_", np.zeros(2, bool), "which columns hold categories"),
        ("n_features_in_", 0, "columns that there are not"),
    ]:
        before = vars(model)[name]
        setattr(model, name, value)
        with pytest.raises(ValueError, match=match):
            model._check_loaded()
        setattr(model, name, before)
