"""Kernels of neighbours against sorting: small data, so that every loop also runs as Python."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from suffice.kernels.neighbors.building import grow, turn_leaves
from suffice.kernels.neighbors.distances import (
    NOBODY,
    SHORT,
    nearest_directly,
    offer,
    ranks_of_pairs,
    settle,
    within_directly,
)
from suffice.kernels.neighbors.screening import nearest_of_candidates, pairs_below, screen
from suffice.kernels.neighbors.sparse import nearest_sparse, within_sparse
from suffice.kernels.neighbors.tree import leaves_of, nearest_in_tree, within_in_tree

NONE = np.empty(0)
KINDS = {
    "squared": (0, 2.0, False),
    "manhattan": (1, 1.0, False),
    "chebyshev": (2, 1.0, False),
    "power": (3, 1.5, False),
    "weighted": (3, 1.0, True),
    "weighted squares": (3, 2.0, True),
    "weighted powers": (3, 1.5, True),
}
each_kind = pytest.mark.parametrize(("metric", "p", "weighted"), KINDS.values(), ids=KINDS)
# Nearly every product is rounded; the last of six columns does not count.
WEIGHTS = np.array([0.1, 3.0, 0.3, 7.0, 0.7, 0.0])
each_width = pytest.mark.parametrize("d", [1, 3, 4])


def rank(q, x, metric, p, w=NONE):
    """One number at a time, in the columns' order."""
    total = 0.0
    weights = w.tolist() or [1.0] * len(q)
    for a, b, weight in zip(q.tolist(), x.tolist(), weights, strict=True):
        away = abs(b - a)
        if metric == 2:
            total = max(total, away)
        elif metric == 3 and weight > 0:
            total += weight * (away * away if p == 2 else away**p)
        elif metric < 2:
            total += (away * away, away)[metric]
    return total


def sorted_rows(q, X, metric, p, w=NONE):
    return sorted((rank(q, x, metric, p, w), i) for i, x in enumerate(X))


def weights_for(d, weighted):
    return WEIGHTS[:d].copy() if weighted else NONE


def table(d, n=150):
    """Rows with many ties."""
    rng = np.random.default_rng(d)
    return np.round(rng.normal(size=(n, d)), 1), np.round(rng.normal(size=(4, d)), 1)


@pytest.mark.parametrize("k", [1, 2, 5, SHORT, SHORT + 1, 40])
def test_the_best_are_kept_in_a_heap(k):
    rng = np.random.default_rng(k)
    values = rng.integers(0, 20, size=120).astype(float)
    order = rng.permutation(120)
    ranks, rows = np.full((2, k), np.inf), np.full((2, k), NOBODY)
    for row in order.tolist():
        if (values[row], row) < (ranks[1, 0], rows[1, 0]):
            offer.python(ranks, rows, 1, k, values[row], row)
    settle.python(ranks, rows, 1)
    expected = sorted((value, row) for row, value in enumerate(values.tolist()))[:k]
    assert list(zip(ranks[1].tolist(), rows[1].tolist(), strict=True)) == expected
    assert np.isinf(ranks[0]).all()


@each_kind
@each_width
def test_nearest_directly(metric, p, weighted, d):
    X, queries = table(d)
    w = weights_for(d, weighted)
    ranks, rows = np.empty((4, 7)), np.empty((4, 7), np.int64)
    nearest_directly(queries, X, metric, p, w, ranks, rows)
    for i, q in enumerate(queries):
        expected = sorted_rows(q, X, metric, p, w)[:7]
        assert list(zip(ranks[i].tolist(), rows[i].tolist(), strict=True)) == expected


@each_kind
def test_within_directly(metric, p, weighted):
    X, queries = table(3)
    w = weights_for(3, weighted)
    most = sorted_rows(queries[0], X, metric, p, w)[10][0]
    counts, none, nothing = np.empty(4, np.int64), np.empty(0), np.empty(0, np.int64)
    within_directly(queries, X, metric, p, w, most, nothing, counts, none, nothing)
    expected = [[i for i, x in enumerate(X) if rank(q, x, metric, p, w) <= most] for q in queries]
    assert counts.tolist() == [len(rows) for rows in expected]
    starts = np.concatenate([[0], np.cumsum(counts)])
    ranks, rows = np.empty(starts[-1]), np.empty(starts[-1], np.int64)
    within_directly(queries, X, metric, p, w, most, starts[:-1], counts, ranks, rows)
    assert rows.tolist() == [row for part in expected for row in part]


@each_kind
def test_ranks_of_pairs(metric, p, weighted):
    X, queries = table(4)
    w = weights_for(4, weighted)
    of, rows = np.array([0, 3, 3, 1]), np.array([5, 5, 149, 0])
    ranks = np.empty(4)
    ranks_of_pairs(queries, X, metric, p, w, of, rows, ranks)
    assert ranks.tolist() == [
        rank(queries[i], X[r], metric, p, w) for i, r in zip(of, rows, strict=True)
    ]


# --- screening -----------------------------------------------------------------------------


def screened(lower, row_slack, query_slack, k, room, width=70):
    """Screen a table of bounds in tiles; return candidates as sets, and the limits."""
    m, n = lower.shape
    state = (
        np.full((m, k), np.inf),
        np.zeros((m, k), np.int64),
        np.full(m, np.inf, np.float32),
        np.empty((m, room), np.int64),
        np.empty((m, room), np.float32),
        np.zeros(m, np.int64),
    )
    for start in range(0, n, width):
        tile = np.ascontiguousarray(lower[:, start : start + width])
        screen(tile, start, row_slack, query_slack, *state)
    return state


def test_screening_keeps_whatever_may_be_near():
    rng = np.random.default_rng(0)
    lower = rng.integers(-50, 50, size=(3, 300)).astype(np.float32)
    row_slack, query_slack = rng.uniform(0, 3, size=300), rng.uniform(0, 1, size=3)
    _, _, limits, candidates, bounds, counts = screened(lower, row_slack, query_slack, 5, 200)
    upper = lower + row_slack + query_slack[:, None]
    for i in range(3):
        kth = np.sort(upper[i])[4]
        assert kth <= limits[i] <= kth + 1e-5
        kept = set(candidates[i, : counts[i]].tolist())
        assert set(np.flatnonzero(lower[i] <= kth).tolist()) <= kept
        np.testing.assert_array_equal(bounds[i, : counts[i]], lower[i, candidates[i, : counts[i]]])


def test_candidates_that_were_too_many_are_dropped_or_reported():
    falling = np.linspace(100, 0, 300).astype(np.float32)  # every row is the best so far
    alike = np.zeros(300, np.float32)
    lower = np.stack([falling, alike])
    _, _, _, candidates, _, counts = screened(lower, np.zeros(300), np.zeros(2), 3, 16)
    assert counts[1] == -1
    assert 3 <= counts[0] <= 16
    assert {297, 298, 299} <= set(candidates[0, : counts[0]].tolist())


def test_candidates_are_ranked_exactly():
    X, queries = table(3)
    candidates = np.tile(np.arange(149, -1, -1), (4, 1))
    bounds = np.zeros((4, 150), np.float32)
    bounds[:, ::2] = 2.0  # beyond the limit
    ranks, rows = np.empty((4, 5)), np.empty((4, 5), np.int64)
    counts, limits = np.array([150, 150, 150, -1]), np.ones(4, np.float32)
    about = queries, X, 0, 2.0, NONE
    nearest_of_candidates(*about, candidates, bounds, counts, limits, ranks, rows)
    for i in range(3):
        left = [pair for pair in sorted_rows(queries[i], X, 0, 2.0) if pair[1] % 2 == 0][:5]
        assert list(zip(ranks[i].tolist(), rows[i].tolist(), strict=True)) == left


def test_pairs_below():
    rng = np.random.default_rng(1)
    tile, limits = rng.random((3, 130)).astype(np.float32), np.array([0.1, 0.0, 0.9], np.float32)
    limits[0] = tile[0, 129]  # equal is below
    expected = [(i, 1000 + r) for i in range(3) for r in range(130) if tile[i, r] <= limits[i]]
    of, rows = np.empty(5, np.int64), np.empty(5, np.int64)
    assert pairs_below(tile, 1000, limits, of, rows) == len(expected)
    of, rows = np.empty(400, np.int64), np.empty(400, np.int64)
    count = pairs_below(tile, 1000, limits, of, rows)
    assert list(zip(of[:count].tolist(), rows[:count].tolist(), strict=True)) == expected


# --- the tree ------------------------------------------------------------------------------


def planted(X, levels):
    n, d = X.shape
    nodes = (2 << levels) - 1
    rows, order = X.copy(), np.arange(n)
    columns, splits = np.zeros(nodes, np.int64), np.zeros(nodes)
    low, high = np.empty((nodes, d)), np.empty((nodes, d))
    parts = (columns, splits, low, high)
    grow(rows, order, levels, 0, 0, 1, *parts)  # the top by itself
    grow(rows, order, levels, 1, 1, levels, *parts)
    grow(rows, order, levels, 2, 1, levels, *parts)
    for node in range((1 << levels) - 2, -1, -1):
        low[node] = np.minimum(low[2 * node + 1], low[2 * node + 2])
        high[node] = np.maximum(high[2 * node + 1], high[2 * node + 2])
    leaves = np.full((1 << levels, d, 24), np.inf), np.full((1 << levels, 24), NOBODY)
    turn_leaves(rows, order, levels, *leaves)
    return rows, order, columns, splits, low, high, leaves


@each_kind
@each_width
def test_nearest_in_tree(metric, p, weighted, d):
    X, queries = table(d)
    w = weights_for(d, weighted)
    _, _, columns, splits, low, high, leaves = planted(X, 3)
    own = np.empty(4, np.int64)
    leaves_of(queries, 3, columns, splits, own)
    for i, q in enumerate(queries):
        node = 0
        for _ in range(3):
            node = 2 * node + 1 + int(q[columns[node]] >= splits[node])
        assert own[i] == node - 7
    ranks, rows = np.empty((4, 6)), np.empty((4, 6), np.int64)
    turns = np.array([2, 0, 3, 1])
    about = queries, turns, own, 3, low, high, *leaves
    nearest_in_tree(*about, metric, p, w, 1 - 1e-13, ranks, rows)
    for i, q in enumerate(queries):
        expected = sorted_rows(q, X, metric, p, w)[:6]
        assert list(zip(ranks[i].tolist(), rows[i].tolist(), strict=True)) == expected


@each_kind
def test_within_in_tree(metric, p, weighted):
    X, queries = table(3)
    w = weights_for(3, weighted)
    _, _, _, _, low, high, leaves = planted(X, 3)
    most = sorted_rows(queries[1], X, metric, p, w)[20][0]
    counts, none, nothing = np.empty(4, np.int64), np.empty(0), np.empty(0, np.int64)
    about = (queries, 3, low, high, *leaves, metric, p, w, 1 - 1e-13, most)
    within_in_tree(*about, nothing, counts, none, nothing)
    starts = np.concatenate([[0], np.cumsum(counts)])
    ranks, rows = np.empty(starts[-1]), np.empty(starts[-1], np.int64)
    within_in_tree(*about, starts[:-1], counts, ranks, rows)
    for i, q in enumerate(queries):
        found = sorted(rows[starts[i] : starts[i + 1]].tolist())
        assert found == [r for r, x in enumerate(X) if rank(q, x, metric, p, w) <= most]


def test_boxes_and_halves():
    X, _ = table(3)
    rows, order, _, _, low, high, leaves = planted(X, 3)
    np.testing.assert_array_equal(rows, X[order])
    for node in range(15):
        level = (node + 1).bit_length() - 1
        place = node - (1 << level) + 1
        mine = rows[place * 150 >> level : (place + 1) * 150 >> level]
        np.testing.assert_array_equal(low[node], mine.min(axis=0))
        np.testing.assert_array_equal(high[node], mine.max(axis=0))
    tiles, numbers = leaves
    there = numbers < NOBODY
    np.testing.assert_array_equal(np.sort(numbers[there]), np.arange(150))
    np.testing.assert_array_equal(tiles.transpose(0, 2, 1)[there], X[numbers[there]])
    assert np.isinf(tiles.transpose(0, 2, 1)[~there]).all()


# --- rows of which most cells are zero -----------------------------------------------------


def sparse_table(n=120):
    rng = np.random.default_rng(5)
    X = np.round(rng.normal(size=(n, 6)), 1) * (rng.random((n, 6)) < 0.3)
    queries = np.vstack([X[:2], np.round(rng.normal(size=(2, 6)), 1), np.zeros((1, 6))])
    return X, queries


def entries(X):
    table = sparse.csr_array(X)
    squares = np.square(X).sum(axis=1)
    return table.data, table.indices.astype(np.int64), table.indptr.astype(np.int64), squares


@each_kind
@pytest.mark.parametrize("scale", [1.0, 1e-160])  # squares vanish
def test_nearest_sparse(metric, p, weighted, scale):
    X, queries = (scale * one for one in sparse_table())
    w = weights_for(6, weighted)
    ranks, rows = np.empty((5, 7)), np.empty((5, 7), np.int64)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        by_columns = entries(X.T)[:3]
        about = *entries(queries), *entries(X), *by_columns, metric, p, w
        nearest_sparse(*about, 1e-14, ranks, rows)
        for i, q in enumerate(queries):
            expected = sorted_rows(q, X, metric, p, w)[:7]
            assert list(zip(ranks[i].tolist(), rows[i].tolist(), strict=True)) == expected


@each_kind
def test_within_sparse(metric, p, weighted):
    X, queries = sparse_table()
    w = weights_for(6, weighted)
    most = sorted_rows(queries[2], X, metric, p, w)[10][0]
    arguments = (*entries(queries), *entries(X), *entries(X.T)[:3], metric, p, w, 1e-14, most)
    counts, none, nothing = np.empty(5, np.int64), np.empty(0), np.empty(0, np.int64)
    within_sparse(*arguments, nothing, counts, none, nothing)
    expected = [[i for i, x in enumerate(X) if rank(q, x, metric, p, w) <= most] for q in queries]
    assert counts.tolist() == [len(found) for found in expected]
    starts = np.concatenate([[0], np.cumsum(counts)])
    ranks, rows = np.empty(starts[-1]), np.empty(starts[-1], np.int64)
    within_sparse(*arguments, starts[:-1].copy(), counts, ranks, rows)
    assert rows.tolist() == [i for found in expected for i in found]
    assert ranks.tolist() == [
        rank(queries[i], X[r], metric, p, w) for i, found in enumerate(expected) for r in found
    ]
