"""Kernels of categories next to naive twins."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from suffice.kernels.sums.categories import (
    add_entries,
    count_cells,
    place_cells,
    ranges,
    weigh_cells,
)


def table(dtype, n=60, d=4, seed=0):
    """Whole numbers of short ranges; among floats some are missing."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 5, size=(n, d)).astype(dtype)
    if X.dtype.kind == "f":
        X[rng.random(X.shape) < 0.2] = np.nan
    return X, rng.integers(0, 3, size=n), rng.uniform(0.1, 3, size=n)


def test_ranges():
    X, _, _ = table(np.float64)
    X[7, 1], X[:, 3] = 0.5, np.nan
    low, high, whole = np.full(4, np.inf), np.full(4, -np.inf), np.ones(4, bool)
    ranges(X, low, high, whole)
    for j in range(3):
        assert (low[j], high[j]) == (np.nanmin(X[:, j]), np.nanmax(X[:, j]))
    assert (low[3], high[3]) == (np.inf, -np.inf)
    assert whole.tolist() == [True, False, True, True]


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
@pytest.mark.parametrize("columns", [[0, 1, 2, 3], [1, 3]])
def test_counts_and_weights(dtype, columns):
    X, codes, weight = table(dtype)
    X.flags.writeable = False
    columns, low = np.array(columns), np.full(len(columns), -3)
    first = 8 * np.arange(len(columns))
    size = (3, 8 * len(columns))
    counts, again = np.zeros(size, np.int64), np.zeros(size, np.int64)
    heft, rest = np.zeros(size), np.zeros(size)
    count_cells(X, codes, columns, low, first, counts)
    weigh_cells(X, codes, weight, columns, low, first, again, heft, rest)
    for c, j in enumerate(columns):
        for k in range(3):
            for value in range(-3, 5):
                held = (X[:, j] == value) & (codes == k)
                at = k, first[c] + value + 3
                assert counts[at] == again[at] == held.sum()
                exact = sum(map(Fraction, weight[held]), Fraction(0))
                assert abs(Fraction(heft[at]) + Fraction(rest[at]) - exact) <= exact * 2**-100


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_places(dtype):
    X, _, _ = table(dtype)
    values = [np.array([-3, -2, -1, 0]), np.array([-1, 3]), np.array([], int), np.array([0, 1, 4])]
    values = [v.astype(dtype) for v in values]
    first = np.concatenate([[0], np.cumsum([len(v) for v in values])])
    out = np.empty(X.shape, np.int64)
    place_cells(X, np.concatenate(values), first, out)
    for (i, j), value in np.ndenumerate(X):
        if value != value:
            expected = -1
        elif value in values[j]:
            expected = first[j] + values[j].tolist().index(value)
        else:
            expected = first[-1] + j
        assert out[i, j] == expected


def test_places_at_the_ends_of_integers():
    ends = np.iinfo(np.int64)
    values = np.array([ends.min, -1, 2**53, 2**53 + 1, ends.max])
    X = np.array([[ends.min], [ends.max], [2**53], [2**53 + 1], [2**53 + 2], [0]])
    out = np.empty(X.shape, np.int64)
    place_cells(X, values, np.array([0, 5]), out)
    assert out.ravel().tolist() == [0, 4, 2, 3, 5, 5]


def test_entries_add_up_in_order():
    rng = np.random.default_rng(0)
    entries, places = rng.normal(size=(9, 3)), rng.integers(-1, 9, size=(40, 5))
    out = rng.normal(size=(40, 3))
    expected = out.copy()
    for j in range(5):
        expected += np.where((places[:, j] < 0)[:, None], 0.0, entries[places[:, j]])
    add_entries(places, entries, out)
    np.testing.assert_array_equal(out, expected)
