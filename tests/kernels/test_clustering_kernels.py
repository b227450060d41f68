"""Kernels of k-means against the definition, row by row."""

from __future__ import annotations

import numpy as np
import pytest

from suffice.kernels.clustering.bounds import in_doubt, squared_distances, still_in_doubt
from suffice.kernels.clustering.cluster_sums import potentials, regroup
from suffice.kernels.clustering.nearest import pack, settle, two_smallest


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_pack(rng):
    X, centre = rng.normal(size=(7, 3)), rng.normal(size=3)
    rows = np.array([5, 0, 2])
    packed, squares = np.empty((3, 3), np.float32), np.empty(3, np.float32)
    pack(X, centre, 0.5, rows, packed, squares)
    expected = (X[rows] - centre) * 0.5
    np.testing.assert_array_equal(packed, expected.T.astype(np.float32))
    np.testing.assert_allclose(squares, np.square(expected).sum(axis=1), rtol=1e-7)


@pytest.mark.parametrize("k", [1, 2, 7])
def test_two_smallest(rng, k):
    products = rng.integers(0, 5, size=(k, 40)).astype(np.float32)  # with ties
    offsets = rng.integers(0, 3, size=k).astype(np.float32)
    first, second = np.empty(40, np.float32), np.empty(40, np.float32)
    nearest = np.empty(40, np.int32)
    two_smallest(products, offsets, first, second, nearest)
    scores = offsets[:, None] - products
    ordered = np.sort(np.r_[scores, np.full((1, 40), np.inf)], axis=0)
    np.testing.assert_array_equal(first, ordered[0])
    np.testing.assert_array_equal(second, ordered[1])
    np.testing.assert_array_equal(nearest, scores.argmin(axis=0))


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # interpreted, NumPy says so
def test_settle_looks_again_where_scores_are_near_or_no_numbers(rng):
    X, centres = rng.normal(size=(4, 2)), rng.normal(size=(3, 2))
    table = np.square(X[:, None] - centres).sum(axis=2)
    first = np.array([0.0, 1.0, np.nan, -np.inf], np.float32)
    second = np.array([9.0, 1.0, 2.0, 5.0], np.float32)
    squares = np.array([1.0, 1.0, 1.0, np.inf], np.float32)
    nearest, bounds = np.full(4, 2, np.int32), np.zeros((2, 4), np.float32)
    again = settle(
        X, centres, np.arange(4), first, second, squares, np.ones(3), 1e-6, 0.0, 1.0, nearest,
        bounds,
    )  # fmt: skip
    assert again == 3
    assert nearest[0] == 2
    np.testing.assert_array_equal(nearest[1:], table.argmin(axis=1)[1:])
    assert (bounds[0, 1:] >= np.sqrt(table.min(axis=1)[1:])).all()
    assert (bounds[1, 2:] == 0).all()


def test_regroup_leaves_nothing_of_a_row_that_has_gone(rng):
    X = rng.normal(size=(30, 3)) * 10.0 ** rng.integers(-8, 13, size=(30, 1))
    weight, labels = rng.uniform(0, 1, size=30), np.full(30, -1, np.int32)
    weight[3] = 0
    high, low = np.zeros((2, 5)), np.zeros((2, 5))
    everything = np.arange(30)
    assert regroup(X, weight, everything, np.zeros(30, np.int32), labels, high, low) == 29
    moved = (np.arange(30) % 3 > 0).astype(np.int32)
    assert regroup(X, weight, everything, moved, labels, high, low) == 20 - (moved[3] > 0)
    np.testing.assert_array_equal(labels, moved)
    for c in range(2):
        mine = (moved == c) & (weight > 0)
        exact = (weight[mine, None] * X[mine]).sum(axis=0, dtype=np.longdouble)
        np.testing.assert_allclose((high + low)[c, :3], exact.astype(float), rtol=1e-13)
        np.testing.assert_allclose((high + low)[c, 3], weight[mine].sum(), rtol=1e-15)
        assert high[c, 4] == mine.sum()


def test_bounds_hold(rng):
    X, before = rng.normal(size=(60, 2)), rng.normal(size=(4, 2))
    now = before + 0.1 * rng.normal(size=(4, 2))
    table = np.sqrt(np.square(X[:, None] - before).sum(axis=2))
    labels = table.argmin(axis=1).astype(np.int32)
    ordered = np.sort(table, axis=1)
    bounds = np.ascontiguousarray(ordered[:, :2].T.astype(np.float32))
    bounds[0] *= np.float32(1.0001)
    bounds[1] *= np.float32(0.9999)
    moves = np.sqrt(np.square(now - before).sum(axis=1)).astype(np.float32) * np.float32(1.0001)
    others = np.array([np.delete(moves, c).max() for c in range(4)], np.float32)
    rows = np.empty(60, np.int64)
    nothing = np.zeros(4, np.float32)
    count = in_doubt(labels, moves, others, nothing, bounds, rows)
    after = np.sqrt(np.square(X[:, None] - now).sum(axis=2))
    own = after[np.arange(60), labels]
    rest = np.where(np.arange(4) == labels[:, None], np.inf, after).min(axis=1)
    assert (bounds[0] >= own).all()
    assert (bounds[1] <= rest).all()
    changed = np.flatnonzero(after.argmin(axis=1) != labels)
    assert set(changed) <= set(rows[:count])
    left = still_in_doubt(X, now, labels, 1.0, nothing, bounds, rows, count)
    assert left <= count < 60
    assert set(changed) <= set(rows[:left])


def test_squared_distances(rng):
    X, centres = rng.normal(size=(9, 5)), rng.normal(size=(3, 5))
    labels, found = rng.integers(3, size=9).astype(np.int32), np.empty(9)
    squared_distances(X, centres, labels, found)
    np.testing.assert_allclose(found, np.square(X - centres[labels]).sum(axis=1))


def test_potentials(rng):
    X = rng.normal(size=(20, 4))
    candidates = X[[3, 11]]
    weight = rng.uniform(0, 1, size=20)
    weight[5] = 0
    least = rng.uniform(0, 9, size=20).astype(np.float32)
    lesser, totals = np.empty((2, 20), np.float32), np.zeros(2)
    products = (candidates @ X.T).astype(np.float32)
    squares = np.square(X).sum(axis=1).astype(np.float32)
    lengths = np.square(candidates).sum(axis=1)
    potentials(
        products, squares, lengths, 1e-5, X, candidates, 1.0, 0, weight, least, lesser, totals
    )
    exact = np.minimum(np.square(X - candidates[:, None]).sum(axis=2), least)
    exact[:, 5] = 0
    np.testing.assert_allclose(lesser, exact, rtol=1e-4)
    assert lesser[0, 3] == lesser[1, 11] == 0
    np.testing.assert_allclose(totals, exact @ weight, rtol=1e-5)
