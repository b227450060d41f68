"""Rows that are kept: joined, and taken away by their values."""

from __future__ import annotations

import pickle
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.fitting.files.decoding import checked
from suffice.kernels.density.smooth import LEAF
from suffice.numerics.spatial import make_leaves, spatial_order
from suffice.statistics.rows.weighted import WeightedRows


def weights_by_value(rows):
    found = Counter()
    for x, w in zip((rows.X + 0.0).tolist(), rows.weight.tolist(), strict=True):
        found[tuple(x)] += Fraction(w)
    return found


cells = st.sampled_from([-1.0, 0.0, -0.0, 0.5, 1e150])
few_rows = st.lists(st.tuples(cells, cells, st.integers(1, 3)), min_size=1, max_size=10)


@given(few_rows, st.data())
def test_taking_away_leaves_the_rest(table, data):
    table = np.array(table)
    gone = np.array(data.draw(st.lists(st.booleans(), min_size=len(table), max_size=len(table))))
    whole = WeightedRows.summarize(table[:, :2], table[:, 2])
    left = whole.subtract(WeightedRows.summarize(table[gone, :2], table[gone, 2]))
    rest = WeightedRows.summarize(table[~gone, :2], table[~gone, 2])
    assert weights_by_value(left) == weights_by_value(rest)
    assert left.count <= whole.count


@given(few_rows)
def test_repetitions_can_be_taken_from_a_weight(table):
    table = np.array(table)
    whole = WeightedRows.summarize(table[:, :2], table[:, 2] + 1)
    left = whole.subtract(WeightedRows.summarize(table[::-1, :2]))
    assert weights_by_value(left) == weights_by_value(
        WeightedRows.summarize(table[:, :2], table[:, 2])
    )


def test_those_that_stay_keep_their_order():
    X = np.array([[3.0], [1.0], [2.0], [1.0], [0.0]])
    left = WeightedRows.summarize(X).subtract(WeightedRows.summarize(np.array([[1.0], [2.0]])))
    assert left.X.tolist() == [[3.0], [1.0], [0.0]]


@pytest.mark.parametrize(
    "strange", [([[9.0]], [1.0]), ([[1.0]], [2.5]), ([[1.0], [1.0]], [1.0, 2.0])]
)
def test_rows_that_are_not_there(strange):
    rows = WeightedRows.summarize(np.array([[1.0], [2.0]]), np.array([2.0, 1.0]))
    with pytest.raises(ValueError, match="not there"):
        rows.subtract(WeightedRows.summarize(np.array(strange[0]), np.array(strange[1])))


@given(st.integers(1, 2**51), st.integers(1, 2**51), st.integers(-9, 9))
def test_whole_weights_are_taken_exactly(a, b, more):
    gone = max(a + b + more, 1)
    rows = WeightedRows.summarize(np.zeros((2, 1)), np.array([a, b], dtype=float))
    part = WeightedRows.summarize(np.zeros((1, 1)), np.array([gone], dtype=float))
    if gone > a + b:
        with pytest.raises(ValueError, match="not there"):
            rows.subtract(part)
    else:
        assert sum(map(int, rows.subtract(part).weight)) == a + b - gone


def test_weights_that_are_rounded():
    """0.1 and 0.2 are a little more than 0.3, and all of it."""
    rows = WeightedRows.summarize(np.zeros((1, 1)), np.array([0.3]))
    assert rows.subtract(WeightedRows.summarize(np.zeros((2, 1)), np.array([0.1, 0.2]))).count == 0
    left = rows.subtract(WeightedRows.summarize(np.zeros((1, 1)), np.array([0.1])))
    assert left.subtract(WeightedRows.summarize(np.zeros((1, 1)), np.array([0.2]))).count == 0
    with pytest.raises(ValueError, match="not there"):
        rows.subtract(WeightedRows.summarize(np.zeros((1, 1)), np.array([0.3 + 1e-14])))


def test_values_that_are_not_finite():
    for value in (np.nan, np.inf):
        with pytest.raises(FloatingPointError):
            WeightedRows.summarize(np.array([[1.0], [value]]))
        WeightedRows.summarize(np.array([[1.0], [value]]), np.array([1.0, 0.0]))


@pytest.mark.parametrize(
    ("X", "weight"),
    [
        (np.ones(3), np.ones(3)),
        (np.ones((3, 1)), np.ones(2)),
        (np.ones((3, 1), np.float32), np.ones(3)),
        (np.full((3, 1), np.nan), np.ones(3)),
        (np.ones((3, 1)), np.zeros(3)),
    ],
)
def test_what_cannot_come_from_a_file(X, weight):
    with pytest.raises(ValueError, match="WeightedRows is damaged: its "):
        checked(WeightedRows(X, weight))


def test_leaves_are_not_pickled():
    rows = WeightedRows.summarize(np.random.default_rng(0).normal(size=(600, 2)))
    size = len(pickle.dumps(rows))
    assert rows.leaves is rows.leaves
    assert len(pickle.dumps(rows)) == size


@pytest.mark.parametrize("n", [1, 2, 255, 256, 257, 1000])
def test_leaves_hold_every_row_once(n):
    X = np.random.default_rng(1).normal(size=(n, 3)).round(1)
    leaves = make_leaves(X, LEAF)
    assert sorted(leaves.order.tolist()) == list(range(n))
    placed = leaves.X.transpose(0, 2, 1).reshape(-1, 3)
    np.testing.assert_array_equal(placed[:n], X[leaves.order])
    assert not placed[n:].any()
    for leaf in range(len(leaves.X)):
        part = placed[leaf * LEAF : min((leaf + 1) * LEAF, n)]
        np.testing.assert_array_equal(leaves.low[:, leaf], part.min(axis=0))
        np.testing.assert_array_equal(leaves.high[:, leaf], part.max(axis=0))


def test_runs_of_a_column_do_not_overlap():
    x = np.random.default_rng(2).permutation(np.arange(64.0))
    runs = x[spatial_order(x[:, None], 8)].reshape(8, 8)
    assert sorted(map(tuple, np.sort(runs))) == [tuple(range(8 * i, 8 * i + 8)) for i in range(8)]
