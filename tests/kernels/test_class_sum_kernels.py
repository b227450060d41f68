"""Kernels of class sums against loops, on blocks that are large and small, odd and empty."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from suffice.kernels.sums.class_sums import add_entries, add_rows


def naive(X, codes, weight, classes):
    """The sums, and what a reader would note about the cells."""
    sums, noted = np.zeros((classes, X.shape[1])), 0
    for i, row in enumerate(X):
        for j, x in enumerate(row):
            value = (weight[i] if len(weight) else 1.0) * x
            sums[codes[i], j] += value
            noted |= int(value != np.rint(value)) | (2 * int(value < 0))
    return sums, noted


def rows(kind, n=57, d=11):
    rng = np.random.default_rng(3)
    X = rng.poisson(1.0, size=(n, d)).astype(float)
    if kind == "fractions":
        X[30, 4] += 0.5
    if kind == "negative":
        X[n - 1, d - 1] = -1.0
    if kind == "both":
        X = X - 0.5
    return X, rng.integers(0, 3, size=n)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["counts", "fractions", "negative", "both"])
def test_sums_and_notes(kind, weighted):
    X, codes = rows(kind)
    weight = np.arange(len(X)) % 3 + 1.0 if weighted else np.zeros(0)
    expected, noted = naive(X, codes, weight, 4)
    sums = np.zeros((4, X.shape[1]))
    assert add_rows(X, codes, weight, sums) == noted
    np.testing.assert_array_equal(sums, expected)  # the same additions in the same order
    table = sparse.csr_array(X)
    for index in (np.int32, np.int64):
        sums = np.zeros((4, X.shape[1]))
        places = table.indices.astype(index), table.indptr.astype(index)
        assert add_entries(table.data, *places, codes, weight, sums) == noted
        np.testing.assert_array_equal(sums, expected)


def test_nothing_to_add():
    sums = np.ones((2, 3))
    assert add_rows(np.zeros((0, 3)), np.zeros(0, np.int64), np.zeros(0), sums) == 0
    empty = np.zeros(0, np.int64)
    assert add_entries(np.zeros(0), empty, np.zeros(1, np.int64), empty, np.zeros(0), sums) == 0
    assert (sums == 1).all()


def test_missing_and_infinite_cells_come_through():
    X = np.array([[1.0, np.nan, 2.0], [np.inf, 1.0, 2.0]])
    codes, sums = np.array([0, 1]), np.zeros((2, 3))
    assert add_rows(X, codes, np.zeros(0), sums) & 1
    np.testing.assert_array_equal(sums, X)


def test_fractional_weights_are_noted():
    sums = np.zeros((1, 1))
    assert add_rows(np.ones((2, 1)), np.zeros(2, np.int64), np.array([0.5, 0.5]), sums) == 1
    assert sums[0, 0] == 1.0


def test_whole_numbers_of_any_size():
    """Up to 2^51; beyond, a number may be called a fraction, never the other way round."""
    for value in (0.0, 1.0, 2.0**31, 2.0**51 - 1, 2.0**51):
        sums = np.zeros((1, 1))
        assert add_rows(np.array([[value]]), np.zeros(1, np.int64), np.zeros(0), sums) == 0
    for value in (0.1, 2.0**-1074, 2.0**31 + 0.5, 2.0**50 + 0.25):
        sums = np.zeros((1, 1))
        assert add_rows(np.array([[value]]), np.zeros(1, np.int64), np.zeros(0), sums) == 1
