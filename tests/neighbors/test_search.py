"""Searches find, bit for bit, what comparing every query with every row finds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.kernels.neighbors import tree as neighbors_tree
from suffice.kernels.neighbors.distances import POWER
from suffice.neighbors.search import brute_force
from suffice.neighbors.search.brute_force import BruteForce, Screen
from suffice.neighbors.search.kd_tree import KdTree, TreeSearch
from suffice.neighbors.search.metrics import Metric
from tests.neighbors.search_oracle import nearest, within

pytestmark = pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")

METRICS = [
    Metric("euclidean"),
    Metric("manhattan"),
    Metric("chebyshev"),
    Metric("minkowski", 3.0),
    Metric("minkowski", 1.5),
]


def normal(rng, d):
    return rng.normal(size=(1200, d)), rng.normal(size=(60, d))


def grid(rng, d):
    """Nothing but ties."""
    X = rng.integers(0, 3, size=(1260, d)).astype(float)
    return X, X[:60]


def rounded(rng, d):
    X = np.round(rng.normal(size=(1200, d)), 1)
    return X, X[::20] + 0.05


def offset(rng, d):
    X = rng.normal(size=(1200, d))
    X[:, 0] += 1e8
    return X, X[:60] + rng.normal(size=(60, d)) * 1e-3


def two_clusters(rng, d):
    """Too far apart for float32."""
    X = rng.normal(size=(1200, d))
    X[:500] += 1e8
    return X, np.vstack([X[::24] + 0.01, X[:10]])


def outlier(rng, d):
    X = rng.normal(size=(1200, d))
    X[7] = 1e12
    return X, np.vstack([rng.normal(size=(50, d)), X[7:8]])


def duplicates(rng, d):
    X = np.repeat(rng.normal(size=(30, d)), 40, axis=0)
    return rng.permutation(X), X[::20]


def constant_columns(rng, d):
    X = rng.normal(size=(1200, d))
    X[:, 1:] = 5.0
    return X, X[:60]


def all_alike(rng, d):
    return np.full((1200, d), 0.1), np.array([[0.1] * d, [0.3] * d])


def tiny(rng, d):
    """Squares vanish."""
    return rng.normal(size=(1200, d)) * 1e-165, rng.normal(size=(20, d)) * 1e-165


def far_queries(rng, d):
    return rng.normal(size=(1200, d)), rng.normal(size=(20, d)) * 10.0 ** np.arange(20)[:, None]


SHAPES = [
    normal,
    grid,
    rounded,
    offset,
    two_clusters,
    outlier,
    duplicates,
    constant_columns,
    all_alike,
    tiny,
    far_queries,
]


def assert_exact(searches, X, queries, metric, ks):
    queries = np.ascontiguousarray(queries)
    with np.errstate(over="ignore"):
        ranks, rows = nearest(queries, X, metric, max(ks))
    for search in searches:
        for k in ks:
            found_ranks, found = search.nearest(queries, k)
            np.testing.assert_array_equal(found, rows[:, :k])
            np.testing.assert_array_equal(found_ranks, ranks[:, :k])


@pytest.mark.compiled
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
@pytest.mark.parametrize("d", [1, 2, 3, 7, 12])
def test_nearest_rows_are_those_of_the_definition(shape, d, monkeypatch):
    monkeypatch.setattr(brute_force, "FEWEST_ROWS", 0)
    X, queries = shape(np.random.default_rng(d), d)
    for metric in METRICS if d in (2, 7) else METRICS[:1]:
        searches = [BruteForce(X, metric), TreeSearch(X, metric, 1), TreeSearch(X, metric)]
        assert_exact(searches, X, queries, metric, (1, 5, 40))  # 40 best are a heap


@pytest.mark.compiled
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_rows_within_a_rank_are_those_of_the_definition(shape, monkeypatch):
    monkeypatch.setattr(brute_force, "FEWEST_ROWS", 0)
    X, queries = shape(np.random.default_rng(0), 7)
    queries = np.ascontiguousarray(queries[:20])
    for metric in METRICS:
        with np.errstate(over="ignore"):
            ranks, _ = nearest(queries, X, metric, 30)
            # Ranks that occur, so that rows are on the very edge.
            limits = [*np.quantile(ranks, [0.0, 0.5], method="lower"), np.inf]
            expected = [within(queries, X, metric, most) for most in limits]
        for search in (BruteForce(X, metric), TreeSearch(X, metric)):
            for most, rows in zip(limits, expected, strict=True):
                found = search.within(queries, float(most))
                for mine, theirs in zip(
                    np.split(found.rows, found.starts[1:-1]), rows, strict=True
                ):
                    np.testing.assert_array_equal(mine, theirs)


@pytest.mark.compiled
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
@pytest.mark.parametrize("d", [1, 2, 7])
def test_differences_are_weighed_not_rows(shape, d):
    """Weights that round nearly every product leave ties what they are."""
    X, queries = shape(np.random.default_rng(d), d)
    queries = np.ascontiguousarray(queries[:20])
    w = (0.1, 3.0, 0.7, 1e-3, 50.0, 0.3, 1.0)[:d]
    for p in (1.0, 2.0, 3.0):
        metric = Metric("minkowski", p, w)
        with np.errstate(over="ignore"):
            limit = float(np.quantile(nearest(queries, X, metric, 9)[0], 0.5, method="lower"))
            expected = within(queries, X, metric, limit)
        searches = [BruteForce(X, metric), TreeSearch(X, metric, 1)]
        assert_exact(searches, X, queries, metric, [5])
        for search in searches:
            found = search.within(queries, limit)
            for mine, theirs in zip(
                np.split(found.rows, found.starts[1:-1]), expected, strict=True
            ):
                np.testing.assert_array_equal(mine, theirs)


@pytest.mark.compiled
@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 511, 512, 513, 1025])
def test_any_number_of_rows(n, monkeypatch):
    monkeypatch.setattr(brute_force, "FEWEST_ROWS", 0)
    rng = np.random.default_rng(n)
    X, queries = rng.normal(size=(n, 8)), rng.normal(size=(5, 8))
    searches = [BruteForce(X, METRICS[0]), TreeSearch(X, METRICS[0])]
    assert_exact(searches, X, queries, METRICS[0], {1, n, max(n // 9, 1)})


@pytest.mark.compiled
@pytest.mark.parametrize("m", [1, 511, 513, 1100])
def test_any_number_of_queries(m):
    rng = np.random.default_rng(m)
    X, queries = rng.normal(size=(3000, 8)), rng.normal(size=(m, 8))
    searches = [BruteForce(X, METRICS[0]), TreeSearch(X, METRICS[0])]
    assert_exact(searches, X, queries, METRICS[0], [3])


cells = st.sampled_from([0.0, 1.0, -1.0, 0.1, 0.1 + 2.0**-56, 1e8, 1e8 + 1, 3.0])


@pytest.mark.compiled
@given(data=st.data())
def test_ties_whatever_the_rows(data):
    d = data.draw(st.integers(1, 4))
    rows = st.lists(st.tuples(*[cells] * d), min_size=1, max_size=40)
    X = np.array(data.draw(rows), dtype=float)
    queries = np.array(data.draw(rows), dtype=float)
    k = data.draw(st.integers(1, len(X)))
    before = brute_force.FEWEST_ROWS, brute_force.FEWEST_COLUMNS
    brute_force.FEWEST_ROWS = brute_force.FEWEST_COLUMNS = 0
    try:
        for metric in METRICS[:3]:
            searches = [BruteForce(X, metric), TreeSearch(X, metric, 1)]
            assert_exact(searches, X, queries, metric, [k])
    finally:
        brute_force.FEWEST_ROWS, brute_force.FEWEST_COLUMNS = before


# --- the bound of the screening ------------------------------------------------------------


@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e60])
@pytest.mark.parametrize("spread", [1.0, 1e4, 1e9])
def test_bounds_hold_in_exact_arithmetic(scale, spread):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1100, 6)) * spread ** rng.uniform(-1, 1, size=(1100, 1)) * scale
    X[:, 0] += 1e5 * scale
    queries = X[:4] + rng.normal(size=(4, 6)) * scale
    screen = Screen.of(X)
    assert screen is not None
    factor, squares, far = screen.queries(queries)
    assert not far.any()
    product = factor @ screen.table.T
    unit = Fraction(screen.scale) ** 2
    for i in range(len(queries)):
        q = [Fraction(v) for v in queries[i]]
        common = (1 - Fraction(screen.c)) * Fraction(squares[i])
        slack = 2 * Fraction(screen.c) * Fraction(squares[i])
        for row in range(0, len(X), 7):
            true = unit * sum((Fraction(v) - w) ** 2 for v, w in zip(X[row], q, strict=True))
            lower = Fraction(float(product[i, row])) + common
            assert lower <= true <= lower + Fraction(screen.slack[row]) + slack


def test_screening_leaves_few_candidates():
    """On rows as they should be, the bound is worth something: only the last cannot tell."""
    rng = np.random.default_rng(0)
    X, queries = rng.normal(size=(5000, 20)), rng.normal(size=(50, 20))
    screen = Screen.of(X)
    factor, squares, _ = screen.queries(queries)
    lower = factor @ screen.table.T
    upper = lower + screen.slack + 2 * screen.c * squares[:, None]
    limit = np.sort(upper, axis=1)[:, 4:5]
    assert (lower <= limit).sum(axis=1).max() <= 7


@pytest.mark.parametrize(
    "X",
    [
        np.ones((2000, 8)),
        np.full((2000, 8), 1e110) * np.arange(2000)[:, None],
        np.arange(16000.0).reshape(2000, 8) * 1e-200,
        np.zeros((2000, 2)),
        np.zeros((3, 8)),
    ],
    ids=["alike", "huge", "tiny", "narrow", "few"],
)
def test_what_is_not_screened(X):
    assert Screen.of(X) is None


def test_clusters_are_left_to_float64():
    """Where the bound says nothing, candidates overflow and all rows are looked at."""
    X, queries = two_clusters(np.random.default_rng(0), 8)
    search = BruteForce(np.vstack([X, X]), METRICS[0])
    ranks, rows = np.empty((60, 5)), np.empty((60, 5), np.int64)
    assert len(search._screened(search.screen, queries, ranks, rows)) > 0
    assert_exact([search], np.vstack([X, X]), queries, METRICS[0], [5])


# --- the tree ------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 8, 9, 100, 1000])
@pytest.mark.parametrize("leaf_size", [1, 8, 30])
def test_a_tree_holds_every_row_once_and_its_boxes_fit(n, leaf_size):
    X = np.round(np.random.default_rng(n).normal(size=(n, 3)), 1)
    tree = KdTree.build(X, leaf_size)
    assert sorted(tree.order.tolist()) == list(range(n))
    np.testing.assert_array_equal(tree.rows, X[tree.order])
    for level in range(tree.levels + 1):
        for place in range(1 << level):
            rows = tree.rows[place * n >> level : (place + 1) * n >> level]
            node = (1 << level) - 1 + place
            np.testing.assert_array_equal(tree.low[node], rows.min(axis=0))
            np.testing.assert_array_equal(tree.high[node], rows.max(axis=0))
            if level < tree.levels:
                column, split = tree.columns[node], tree.splits[node]
                middle = ((2 * place + 1) * n >> level + 1) - (place * n >> level)
                assert (rows[:middle, column] <= split).all()
                assert (rows[middle:, column] >= split).all()
    assert -(-n >> tree.levels) <= max(leaf_size, 8)


@pytest.mark.compiled
@pytest.mark.parametrize("kind", ["sorted", "falling", "alike", "organ pipe", "two values"])
def test_orders_that_defeat_simple_splits(kind):
    n = 40_000
    ramp = np.arange(n, dtype=float)
    X = {
        "sorted": ramp,
        "falling": -ramp,
        "alike": np.zeros(n),
        "organ pipe": np.minimum(ramp, n - ramp),
        "two values": np.floor(ramp / (n - 1)),
    }[kind][:, None]
    tree = KdTree.build(X)
    assert sorted(tree.order.tolist()) == list(range(n))
    assert (tree.low[0], tree.high[0]) == (X.min(), X.max())


@pytest.mark.parametrize("d", [1, 3, 20])
def test_boxes_are_nearer_however_a_library_rounds_powers(d, monkeypatch):
    """Each power is wrong by up to two units in the last place, for boxes and rows by chance."""
    rng = np.random.default_rng(d)

    def grown(total, away, weight, metric, p):
        return total + weight * away**p * (1 + rng.uniform(-2, 2) * 2.0**-52)

    for name in ("outside", "weight_of"):
        monkeypatch.setattr(neighbors_tree, name, getattr(neighbors_tree, name).python)
    monkeypatch.setattr(neighbors_tree, "grown", grown)
    X, queries = rng.normal(size=(300, d)), rng.normal(size=(1, d))
    search = TreeSearch(X, Metric("minkowski", 1.5))
    for x in X:  # a row is its own box
        arguments = queries, 0, x[None], x[None], 0, POWER, 1.5, np.empty(0), search._margin
        box = neighbors_tree.box_rank.python(*arguments)
        rank = 0.0
        for away in np.abs(x - queries[0]):
            rank = grown(rank, away, 1.0, POWER, 1.5)
        assert (1 - 1e-12) * rank < box <= rank


@pytest.mark.compiled
def test_a_tree_is_the_same_at_any_number_of_threads():
    X = np.random.default_rng(0).normal(size=(50_000, 3))
    trees = [KdTree.build(X, n_jobs=threads) for threads in (1, 2, 3, 4)]
    for tree in trees[1:]:
        for name in ("rows", "order", "columns", "splits", "low", "high"):
            np.testing.assert_array_equal(getattr(tree, name), getattr(trees[0], name))
