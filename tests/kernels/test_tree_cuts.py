"""Cuts of bins and sets of categories, against a search of all there are."""

from __future__ import annotations

import itertools
import math
import time

import numpy as np
import pytest

from suffice.kernels.trees.criteria import (
    ENTROPY,
    GINI,
    MISCLASSIFICATION,
    POISSON,
    SQUARED_ERROR,
)
from suffice.kernels.trees.cuts import best_cut, best_subset

CRITERIA = {
    "gini": GINI, "entropy": ENTROPY, "misclassification": MISCLASSIFICATION,
    "squared error": SQUARED_ERROR, "poisson": POISSON,
}  # fmt: skip


def plain_cost(name, sums):
    """The weight times the impurity, less what all splits share, as a textbook writes it."""
    if name in ("squared error", "poisson"):
        weight, target = sums
        mean = target / weight
        if name == "squared error":
            return -weight * mean**2
        return -weight * mean * math.log(mean) if target > 0 else math.inf
    weight = sum(sums)
    shares = [one / weight for one in sums]
    if name == "gini":
        return weight * sum(p * (1 - p) for p in shares)
    if name == "entropy":
        return weight * sum(-p * math.log2(p) for p in shares if p > 0)
    return weight * (1 - max(shares))


class Node:
    """Bins with whole sums (so that equal costs are equal), and what is missing."""

    def __init__(self, seed, name, bins, classes=3, missing=True, empty=0.2):
        rng = np.random.default_rng(seed)
        self.name = name
        self.counts = rng.integers(1, 6, bins) * (rng.random(bins) > empty)
        self.n_missing = int(rng.integers(1, 5)) if missing else 0
        rows = np.append(self.counts, self.n_missing)
        if CRITERIA[name] < SQUARED_ERROR:
            weight = rng.dirichlet(np.full(classes, 0.7), bins + 1)
            sums = np.array([rng.multinomial(2 * n, p) for n, p in zip(rows, weight, strict=True)])
        else:
            weight = rng.integers(1, 4, bins + 1) * rows
            mean = rng.integers(0 if name == "poisson" else -4, 5, bins + 1)
            sums = np.column_stack([weight, weight * mean])
        self.table, self.missing = sums[:-1].astype(float), sums[-1].astype(float)
        self.total, self.n_rows = sums.sum(axis=0).astype(float), int(rows.sum())
        self.known = [int(k) for k in np.flatnonzero(self.counts)]

    def arguments(self, min_samples_leaf=1, min_weight_leaf=0.0):
        return (
            CRITERIA[self.name], self.table, self.counts, self.total, self.missing, self.n_missing,
            self.n_rows, min_samples_leaf, min_weight_leaf, np.empty(len(self.counts), np.int64),
            np.empty((3, len(self.total))),
        )  # fmt: skip

    def cost(self, left, missing_left, min_samples_leaf=1, min_weight_leaf=0.0):
        """Of a set of bins to the left and the others to the right; ∞ unless it is allowed."""
        costs = 0.0
        for side, takes in ((left, missing_left), (set(self.known) - set(left), not missing_left)):
            side = [k for k in self.known if k in side]
            rows = sum(self.counts[k] for k in side) + takes * self.n_missing
            sums = sum((self.table[k] for k in side), takes * self.missing)
            weight = sums[0] if CRITERIA[self.name] >= SQUARED_ERROR else sum(sums)
            if rows == 0 or rows < min_samples_leaf or weight < min_weight_leaf:
                return math.inf
            costs += plain_cost(self.name, list(sums))
        return costs

    @property
    def directions(self):
        return (False, True) if self.n_missing else (False,)


LIMITS = [(1, 0.0), (4, 0.0), (1, 7.5), (3, 6.0)]


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("name", CRITERIA)
def test_best_cut_is_the_best_of_all(name, limits):
    allowed = 0
    for seed in range(60):
        node = Node(seed, name, bins=seed % 7 + 1, missing=seed % 3 > 0)
        # In the order of ties: what is missing to the right first, lowest cut first.
        ways = [
            (node.cost(node.known[: p + 1], to_left, *limits), last, to_left)
            for to_left in node.directions
            for p, last in enumerate(node.known)
        ]
        expected = min((way[0] for way in ways), default=math.inf)
        found, last, missing_left = best_cut(*node.arguments(*limits))
        if expected == math.inf:
            assert (found, last) == (math.inf, -1)
            continue
        allowed += 1
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)
        first = next(way for way in ways if way[0] <= expected + 1e-9)
        if node.n_missing:
            assert (last, missing_left) == first[1:]
        else:
            assert last == first[1]
            rows_left = sum(node.counts[: last + 1])
            assert missing_left == (2 * rows_left > node.n_rows)
    assert allowed > 10


def all_sets(node):
    for size in range(len(node.known) + 1):
        for left in itertools.combinations(node.known, size):
            for to_left in node.directions:
                yield left, to_left


@pytest.mark.parametrize("limits", LIMITS[::3])
@pytest.mark.parametrize("classes", [2, 3, 4])
@pytest.mark.parametrize("name", CRITERIA)
def test_best_subset_is_the_best_of_all(name, classes, limits):
    if CRITERIA[name] >= SQUARED_ERROR and classes > 2:
        return
    allowed = 0
    for seed in range(20):
        node = Node(seed, name, bins=seed % 9 + 1, classes=classes, missing=seed % 3 > 0)
        expected = min(node.cost(*way, *limits) for way in all_sets(node))
        goes_left = np.full(len(node.counts), 7, np.uint8)
        found, missing_left = best_subset(*node.arguments(*limits), goes_left)
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)
        if found < math.inf:
            allowed += 1
            left = [k for k in node.known if goes_left[k]]
            to_left = missing_left and node.n_missing > 0
            assert node.cost(left, to_left, *limits) == pytest.approx(found, rel=1e-12, abs=1e-12)
            assert (goes_left[node.counts == 0] == missing_left).all()
            assert set(goes_left) <= {0, 1}
    assert allowed > 5


def test_sorting_finds_the_best_of_more_than_eight_categories():
    for name in CRITERIA:
        for seed in range(2):
            node = Node(seed, name, bins=10, classes=2, empty=0.0)
            if name == "poisson":
                node.table[:, 1] += node.table[:, 0]  # no mean is 0
                node.missing[1] += node.missing[0]
                node.total[1] += node.total[0]
            expected = min(node.cost(*way) for way in all_sets(node))
            found, _ = best_subset(*node.arguments(), np.zeros(10, np.uint8))
            assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("name", CRITERIA)
def test_many_categories_are_divided_no_worse_than_one_against_the_rest(name, limits):
    better = 0
    for seed in range(20):
        node = Node(seed, name, bins=20, classes=4, missing=seed % 2 > 0)
        goes_left = np.zeros(20, np.uint8)
        found, missing_left = best_subset(*node.arguments(*limits), goes_left)
        single = min(
            node.cost([k], to_left, *limits) for k in node.known for to_left in node.directions
        )
        assert found <= single + 1e-9
        better += found < single - 1e-9
        left = [k for k in node.known if goes_left[k]]
        to_left = missing_left and node.n_missing > 0
        assert node.cost(left, to_left, *limits) == pytest.approx(found, rel=1e-12, abs=1e-12)
    assert better > 10


def test_two_groups_of_classes_are_told_apart_by_the_principal_direction():
    # Categories hold either mostly classes 0 and 1 or mostly 2 and 3: no single share orders them.
    rng = np.random.default_rng(0)
    node = Node(0, "gini", bins=40, classes=4, missing=False, empty=0.0)
    group = rng.permutation(40) % 2
    shares = rng.dirichlet(np.full(2, 0.5), 40) * 20
    node.table[:] = 0.0
    node.table[group == 0, :2] = shares[group == 0]
    node.table[group == 1, 2:] = shares[group == 1]
    node.total = node.table.sum(axis=0)
    goes_left = np.zeros(40, np.uint8)
    found, _ = best_subset(*node.arguments(), goes_left)
    assert found == pytest.approx(node.cost(np.flatnonzero(group == 0), False), rel=1e-12)
    assert len({*zip(goes_left, group, strict=True)}) == 2


def test_nothing_to_cut():
    for counts in ([0, 0, 0], [0, 9, 0]):
        node = Node(0, "gini", bins=3, missing=False)
        node.counts = np.array(counts)
        node.table[:] = node.counts[:, None]
        assert best_cut(*node.arguments())[:2] == (np.inf, -1)
        assert best_subset(*node.arguments(), np.zeros(3, np.uint8))[0] == np.inf
    # All missing but for one bin: that is a cut.
    node = Node(0, "gini", bins=3)
    node.counts = np.array([0, 4, 0])
    node.table = np.array([[0.0, 0, 0], [4, 0, 0], [0, 0, 0]])
    node.missing, node.n_missing, node.n_rows = np.array([0.0, 3, 1]), 4, 8
    node.total, node.known = node.table[1] + node.missing, [1]
    assert best_cut(*node.arguments()) == (pytest.approx(1.5), 1, False)
    assert best_subset(*node.arguments(), np.zeros(3, np.uint8))[0] == pytest.approx(1.5)


@pytest.mark.compiled
def test_ten_thousand_categories_take_no_time():
    for name, classes in (("gini", 2), ("entropy", 6), ("squared error", 2)):
        node = Node(1, name, bins=10_000, classes=classes)
        goes_left = np.zeros(10_000, np.uint8)
        arguments = node.arguments()
        best_subset(*arguments, goes_left)
        began = time.perf_counter()
        found, _ = best_subset(*arguments, goes_left)
        assert time.perf_counter() - began < 1.0
        assert np.isfinite(found)
        assert 0 < goes_left[node.known].sum() < len(node.known)
