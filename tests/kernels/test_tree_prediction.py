"""Rows on their way down a tree, against the rules as they are stated, in plain Python."""

from __future__ import annotations

import math

import numpy as np
import pytest

from suffice.kernels.trees.prediction import (
    ROWS,
    find_leaves,
    find_leaves_one_by_one,
    is_among,
    make_records,
)
from suffice.sources.finite import LARGEST

NONE = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.uint32)


def random_tree(rng, nodes, columns):
    """Nodes numbered by chance, each child after its parent: (left, right, feature, θ, missing)."""
    left, right = np.full(nodes, -1, np.int32), np.full(nodes, -1, np.int32)
    leaves = [0]
    for first in range(1, nodes - 1, 2):
        t = leaves.pop(rng.integers(len(leaves)))
        left[t], right[t] = rng.permutation([first, first + 1])
        leaves += [first, first + 1]
    inner = left >= 0
    feature = np.where(inner, rng.integers(columns, size=nodes), -2).astype(np.int32)
    threshold = np.where(inner, rng.integers(-2, 3, size=nodes), -2.0).astype(float)
    missing = np.where(inner, rng.integers(2, size=nodes), 0).astype(np.uint8)
    return left, right, feature, threshold, missing


def random_sets(rng, feature, words):
    """A set of bits for about half of the nodes that test something."""
    chosen = (feature >= 0) & (rng.random(len(feature)) < 0.5)
    start = np.where(chosen, np.cumsum(chosen) * words - words, -1).astype(np.int64)
    bits = rng.integers(2**32, size=chosen.sum() * words, dtype=np.uint32)
    return start, start + words, bits


def naive(row, left, right, feature, threshold, missing, start, end, bits):
    t = 0
    while left[t] != -1:
        x = float(row[feature[t]])
        if len(start) and start[t] >= 0:
            words = [int(word) for word in bits[start[t] : end[t]]]
            members = {
                32 * w + b for w, word in enumerate(words) for b in range(32) if word >> b & 1
            }
            known = not math.isnan(x) and 0 <= x < 32 * len(words)
            goes_left = int(x) in members if known else bool(missing[t])
        elif math.isnan(x):
            goes_left = bool(missing[t])
        else:
            goes_left = x <= threshold[t]
        t = left[t] if goes_left else right[t]
    return t


def leaves_together(X, tree):
    records, number = np.empty((len(tree[0]), 2)), np.empty(len(tree[0]), np.int32)
    make_records(*tree, records, number)
    out = np.full(len(X), -9)
    assert find_leaves(X, records, number, out) == (np.abs(X) > LARGEST).any()
    return out


def leaves_one_by_one(X, tree, sets=NONE):
    out = np.full(len(X), -9)
    assert find_leaves_one_by_one(X, *tree, *sets, out) == (np.abs(X) > LARGEST).any()
    return out


@pytest.mark.parametrize("nodes", [1, 3, 41])
@pytest.mark.parametrize("rows", [1, ROWS + 3])
def test_rows_come_to_their_leaves(nodes, rows):
    rng = np.random.default_rng(nodes)
    tree = random_tree(rng, nodes, 4)
    X = rng.integers(-3, 4, size=(rows, 4)).astype(float)  # many equal to a threshold
    X[rng.random(X.shape) < 0.2] = np.nan
    expected = [naive(row, *tree, *NONE) for row in X]
    assert leaves_together(X, tree).tolist() == expected
    assert leaves_together(X.astype(np.float32), tree).tolist() == expected
    assert leaves_one_by_one(X, tree).tolist() == expected


@pytest.mark.parametrize("words", [1, 3])
def test_categories_go_with_their_set_and_others_with_the_missing(words):
    rng = np.random.default_rng(words)
    tree = random_tree(rng, 31, 3)
    sets = random_sets(rng, tree[2], words)
    X = rng.integers(-2, 32 * words + 2, size=(200, 3)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:2, 0] = np.inf, -np.inf
    assert leaves_one_by_one(X, tree, sets).tolist() == [naive(row, *tree, *sets) for row in X]


def test_a_category_without_a_bit_goes_with_the_missing():
    bits = np.array([0, 1 << 31, 0xFFFFFFFF], np.uint32)
    assert is_among(31.0, 1, 2, bits, False)
    assert not is_among(30.0, 1, 2, bits, True)
    for x in (32.0, -1.0, np.nan, np.inf, 1e300):
        assert is_among(x, 1, 2, bits, True)
        assert not is_among(x, 1, 2, bits, False)


def test_infinite_thresholds_send_all_that_is_there_to_the_left():
    left, right = np.array([1, -1, -1], np.int32), np.array([2, -1, -1], np.int32)
    feature = np.array([0, -2, -2], np.int32)
    tree = left, right, feature, np.array([np.inf, -2, -2]), np.zeros(3, np.uint8)
    X = np.array([[1e300], [-1.0], [np.nan]])
    assert leaves_together(X, tree).tolist() == leaves_one_by_one(X, tree).tolist() == [1, 1, 2]


def test_a_leaf_alone_takes_rows_of_no_columns():
    tree = random_tree(np.random.default_rng(0), 1, 1)
    assert leaves_together(np.empty((5, 0)), tree).tolist() == [0] * 5
    assert leaves_together(np.empty((0, 2)), tree).tolist() == []
