"""The absolute error of rows about their median, against sums over all rows in fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeRegressor

from suffice.kernels.trees.absolute_error import absolute_costs, median_and_cost

NONE = np.empty(0)


def least_error(targets, weights):
    """The least Σ w |y − m|: a convex function with corners at the targets only."""
    pairs = [(Fraction(y), Fraction(w)) for y, w in zip(targets, weights, strict=True)]
    return min((sum(w * abs(y - m) for y, w in pairs) for m, _ in pairs), default=Fraction(0))


def computed(order, target, weight):
    order = np.asarray(order, np.uint32)
    m = len(order)
    by_target = order[np.argsort(target[order])]
    rank = np.full(len(target), 2**32 - 1, np.uint32)
    rank[by_target] = np.arange(m)
    left, right, sums = np.full(m, np.nan), np.full(m, np.nan), np.full((m + 1, 2), np.nan)
    absolute_costs(order, by_target, rank, target, weight, sums, left, right)
    return left, right, median_and_cost(by_target, target, weight)


def check(order, target, weight):
    """Compare with fractions, to the rounding of sums of the node's size."""
    left, right, (median, cost) = computed(order, target, weight)
    ones = weight if len(weight) else np.ones(len(target))
    y, w = target[order], ones[order]
    every = float(least_error(y, w))
    close = pytest.approx
    noise = {"rel": 0, "abs": 1e-13 * every + 1e-300}
    assert cost == close(every, **noise)
    assert left.tolist() == [
        close(float(least_error(y[: i + 1], w[: i + 1])), **noise) for i in range(len(y))
    ]
    assert right.tolist() == [
        close(float(least_error(y[i + 1 :], w[i + 1 :])), **noise) for i in range(len(y))
    ]
    assert min(left.min(), right.min(), cost) >= 0
    weight_of = {side: w[mask].sum() for side, mask in [(-1, y < median), (1, y > median)]}
    assert max(weight_of.values()) <= w.sum() / 2 * (1 + 1e-12)


@given(
    st.lists(
        st.tuples(st.integers(-3, 3), st.sampled_from([0.25, 1.0, 3.0])), min_size=1, max_size=24
    ),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_every_split_of_targets_with_ties(rows, weighted, random):
    target = np.array([y for y, _ in rows]) / 4
    weight = np.array([w for _, w in rows]) if weighted else NONE
    order = list(range(len(rows)))
    random.shuffle(order)
    check(order, target, weight)
    check(order[: max(1, len(order) // 2)], target, weight)  # a node with some of the rows


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("middle", [0.0, 1e9])
def test_every_split_of_measurements(weighted, middle):
    rng = np.random.default_rng(3)
    target = rng.gamma(2.0, size=45) + middle
    check(rng.permutation(45), target, rng.uniform(0.1, 2, 45) if weighted else NONE)


def test_one_row_and_two():
    target = np.array([5.0, 1.0, 2.0])
    left, right, found = computed([2], target, NONE)
    assert (left.tolist(), right.tolist(), found) == ([0.0], [0.0], (2.0, 0.0))
    left, right, found = computed([0, 1], target, NONE)
    assert (left.tolist(), right.tolist(), found) == ([0.0, 4.0], [0.0, 0.0], (3.0, 4.0))
    left, right, found = computed([0, 1], target, np.array([1.0, 3.0, 9.0]))
    assert (left.tolist(), right.tolist(), found) == ([0.0, 4.0], [0.0, 0.0], (1.0, 4.0))


def test_missing_cells_on_either_side():
    cells = np.array([np.nan, 3.0, 1.0, np.nan, 2.0, 4.0])
    target = np.array([9.0, 1.0, 7.0, 8.0, 2.0, 5.0])
    known, missing = np.argsort(cells)[:4], np.flatnonzero(np.isnan(cells))
    for order in ([*missing, *known], [*known, *missing]):
        check(np.array(order), target, NONE)


def test_the_median_of_equal_weights_does_not_depend_on_their_size():
    target = np.arange(20.0) ** 2
    for weight in (NONE, np.full(20, 0.1), np.full(20, 1 / 3), np.full(20, 1e-300)):
        assert computed(range(20), target, weight)[2][0] == np.median(target)


@pytest.mark.parametrize("weighted", ["no", "whole numbers", "any"])
def test_scikit_learn_predicts_the_same_median(weighted):
    rng = np.random.default_rng(0)
    for m in range(1, 25):
        target = rng.integers(0, 9, m) / 8
        weight = {
            "no": NONE, "whole numbers": rng.integers(1, 4, m) * 1.0, "any": rng.uniform(1, 3, m)
        }[weighted]  # fmt: skip
        peer = DecisionTreeRegressor(criterion="absolute_error", max_depth=1)
        peer.fit(np.zeros((m, 1)), target, weight if len(weight) else None)
        median, cost = computed(range(m), target, weight)[2]
        assert median == peer.tree_.value[0, 0, 0]
        total = weight.sum() if len(weight) else m
        assert cost / total == pytest.approx(peer.tree_.impurity[0], rel=1e-13, abs=1e-15)
