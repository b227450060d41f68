"""Random numbers by integers of any length, ranks by search, and forests tree by tree."""

from __future__ import annotations

import bisect
import itertools

import numpy as np
import pytest

from suffice.ensembles.forests.draws import key_of
from suffice.kernels.trees.forest_prediction import rank_rows
from suffice.kernels.trees.random_numbers import draw_rows, next_below, next_bits, next_uniform
from suffice.sources.finite import LARGEST
from suffice.trees.nodes.forest import Forest
from suffice.trees.nodes.tree import Tree

# Bits beyond 64 are meant to be lost; without a compiler NumPy says so of each number.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in scalar:RuntimeWarning")

MASK = (1 << 64) - 1
KEYS = [0, 1, 1234567, MASK, 0x9E3779B97F4A7C15]


def splitmix(key, n):
    """The first n numbers, as Steele, Lea and Flood state them."""
    found = []
    for _ in range(n):
        key = (key + 0x9E3779B97F4A7C15) & MASK
        z = ((key ^ (key >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        found.append(z ^ (z >> 31))
    return found


def test_the_numbers_are_those_of_the_reference():
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert splitmix(1234567, 3) == published


@pytest.mark.parametrize("key", KEYS)
def test_random_numbers(key):
    bits = splitmix(key, 20)
    state = np.array([key], np.uint64)
    assert [int(next_bits(state)) for _ in range(20)] == bits
    for n in (1, 2, 7, 1000, 2**32 - 1):
        state[0] = key
        assert [int(next_below(state, n)) for _ in range(20)] == [(b >> 32) * n >> 32 for b in bits]
    state[0] = key
    assert [float(next_uniform(state)) for _ in range(20)] == [(b >> 11) / 2**53 for b in bits]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("n_rows", [1, 2, 33])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_drawn(key, n_rows, weighted):
    weight = np.random.default_rng(n_rows).integers(1, 9, n_rows) / 4
    sums = np.cumsum(weight) if weighted else np.empty(0)
    counts = np.full(n_rows, 7, np.int32)
    draw_rows(key, 50, sums, counts)
    expected = [0] * n_rows
    for bits in splitmix(key, 50):
        place = (bits >> 32) * n_rows >> 32
        if weighted:
            place = bisect.bisect_right(sums.tolist(), (bits >> 11) / 2**53 * sums[-1])
        expected[place] += 1
    assert counts.tolist() == expected


def test_keys_differ():
    every = itertools.product(range(20), range(200), range(3))
    keys = {key_of(*numbers) for numbers in every}
    assert len(keys) == 20 * 200 * 3
    assert all(0 <= key <= MASK for key in keys)


@pytest.mark.parametrize("cell", [np.float64, np.float32])
@pytest.mark.parametrize("code", [np.uint16, np.uint32])
def test_ranks(cell, code):
    rng = np.random.default_rng(0)
    sizes = [0, 1, 2, 3, 8, 21, 4]
    columns = [np.sort(rng.choice(np.arange(-40, 40) / 4, n, replace=False)) for n in sizes]
    columns[6][-1] = np.inf
    X = rng.integers(-44, 44, (60, 8)).astype(cell) / 4
    X[:, 7] = rng.integers(-1, 9, 60)
    X[rng.random(X.shape) < 0.1] = np.nan
    codes, missing = np.zeros(X.shape, code), int(np.iinfo(code).max)
    places = np.cumsum([0, *sizes, 0])
    categorical = np.array([0] * 7 + [1], np.uint8)
    thresholds = np.concatenate(columns)
    assert not rank_rows(X, thresholds, places, categorical, missing, codes)
    for j, some in enumerate(columns):
        expected = np.searchsorted(some, X[:, j].astype(float), side="left")
        np.testing.assert_array_equal(codes[:, j], np.where(np.isnan(X[:, j]), missing, expected))
    known = X[:, 7] >= 0
    np.testing.assert_array_equal(codes[known, 7], X[known, 7])
    assert (codes[~known, 7] == missing).all()
    for x in (np.inf, -np.inf, 1.01 * LARGEST):
        if np.isinf(x) or cell is np.float64:
            X[5, 3] = x
            assert rank_rows(X, thresholds, places, categorical, missing, codes)


def random_tree(rng, nodes, values, categories):
    """Siblings side by side, leaves split by chance; the last column holds categories."""
    left, leaves = np.full(nodes, -1), [0]
    for first in range(1, nodes - 1, 2):
        left[leaves.pop(rng.integers(len(leaves)))] = first
        leaves += [first, first + 1]
    inner = left >= 0
    feature = np.where(inner, rng.integers(4, size=nodes), -2)
    is_set, words = feature == 3, -(-categories // 32)
    threshold = np.where(inner, rng.integers(-3, 4, nodes), -2.0)
    threshold[inner & (rng.random(nodes) < 0.1)] = np.inf
    return Tree(
        4,
        left,
        np.where(inner, left + 1, -1),
        feature,
        np.where(is_set, np.nan, threshold),
        np.where(inner, rng.integers(2, size=nodes), 0),
        rng.random(nodes),
        np.ones(nodes),
        np.ones(nodes),
        rng.random((nodes, 1, values)),
        np.where(is_set, np.cumsum(is_set) * words - words, -1),
        rng.integers(2**32, size=is_set.sum() * words, dtype=np.uint32),
    ).typed()


def leaf_of(tree, row, categories):
    t = 0
    while tree.children_left[t] >= 0:
        x = row[tree.feature[t]]
        left = bool(tree.missing_go_to_left[t])
        if tree.feature[t] == 3 and x >= 0:
            left = tree.categories_left(t, categories)[int(x)]
        elif tree.feature[t] != 3 and not np.isnan(x):
            left = x <= tree.threshold[t]
        t = tree.children_left[t] if left else tree.children_right[t]
    return t


@pytest.mark.parametrize("values", [1, 2, 5])
@pytest.mark.parametrize("n_rows", [1, 40])
def test_the_mean_of_all_trees(values, n_rows):
    rng = np.random.default_rng(values)
    categories = 70
    trees = [random_tree(rng, nodes, values, categories) for nodes in (1, 3, 21, 41, 1, 9)]
    X = rng.integers(-4, 5, (n_rows, 4)).astype(float)
    X[:, 3] = rng.integers(-1, categories, n_rows)
    X[rng.random(X.shape) < 0.1] = np.nan
    leaves = np.array([[leaf_of(tree, row, categories) for tree in trees] for row in X])
    value = np.array(
        [[tree.value[t, 0] for tree, t in zip(trees, row, strict=True)] for row in leaves]
    )
    forest = Forest.of(list(trees), np.array([-1, -1, -1, categories]))
    np.testing.assert_array_equal(forest.leaves(forest.codes(X)), leaves)
    np.testing.assert_allclose(forest.mean(X), value.mean(axis=1), rtol=1e-12)
    votes = value.argmax(axis=2)[:, :, None] == np.arange(values)
    np.testing.assert_allclose(forest.mean(X, votes=True), votes.mean(axis=1), rtol=1e-12)
    for tree, same in zip(trees, forest, strict=True):
        np.testing.assert_array_equal(tree.category_bits, same.category_bits)
        np.testing.assert_array_equal(tree.category_start, same.category_start)
    twice = Forest.joined([forest, forest])
    np.testing.assert_array_equal(twice.leaves(twice.codes(X)), np.tile(leaves, 2))
