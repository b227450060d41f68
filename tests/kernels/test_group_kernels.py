"""Sums by group and Gaussian densities, against loops that a reader checks by eye."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from suffice.kernels.gaussian.densities import add_log_densities
from suffice.kernels.sums.group_sums import (
    centred_sums,
    double_double_sums,
    farthest,
    near_means,
    weighted_sums,
)


@pytest.fixture
def block():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 5)) + 3
    X[rng.random(X.shape) < 0.2] = np.nan
    X[:, 4] = 0.1
    codes = rng.integers(0, 4, size=90)
    codes[codes == 2] = 1  # a group without rows
    return X, codes, rng.uniform(0.5, 2, size=90), rng.normal(size=(4, 5))


def naive(X, codes, weight, centre):
    """Exact count, weight, sum and squares of each group and column."""
    out = [[[0, Fraction(0), Fraction(0), Fraction(0)] for _ in range(5)] for _ in range(4)]
    for i, k in enumerate(codes):
        for j in range(5):
            if not math.isnan(X[i, j]):
                d = Fraction(X[i, j]) - Fraction(centre[k, j])
                w = Fraction(weight[i])
                cell = out[k][j]
                cell[:] = [cell[0] + 1, cell[1] + w, cell[2] + w * d, cell[3] + w * d * d]
    return np.array(out, dtype=object).transpose(2, 0, 1)


def test_near_means(block):
    X, codes, weight, _ = block
    first, centre = np.empty((4, 5)), np.empty((4, 5))
    near_means(X, codes, np.empty(0), 1000, first, centre)
    for k in range(4):
        for j in range(5):
            values = X[codes == k, j]
            values = values[~np.isnan(values)]
            if not len(values):
                assert first[k, j] == centre[k, j] == 0
                continue
            assert first[k, j] == values[0]
            assert centre[k, j] == pytest.approx(values.mean(), rel=1e-14)
    assert (centre[[0, 1, 3], 4] == 0.1).all()
    near_means(X, codes, weight, 1, first, centre)
    assert (centre[first == 0] == 0).all()


@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_sums(block, chunk):
    X, codes, weight, centre = block
    shape = (4, 5)
    count, sums, squares = np.zeros(shape, np.int64), np.zeros(shape), np.zeros(shape)
    centred_sums(X, codes, centre, chunk, count, sums, squares)
    n, _, s, q = naive(X, codes, np.ones(90), centre)
    assert (count == n).all()
    np.testing.assert_allclose(sums, s.astype(float), atol=1e-12)
    np.testing.assert_allclose(squares, q.astype(float), rtol=1e-13)
    count, sums, squares = np.zeros(shape, np.int64), np.zeros(shape), np.zeros(shape)
    heft, rest = np.zeros(shape), np.zeros(shape)
    weighted_sums(X, codes, weight, centre, chunk, count, heft, rest, sums, squares)
    n, h, s, q = naive(X, codes, weight, centre)
    assert (count == n).all()
    np.testing.assert_allclose(heft + rest, h.astype(float), rtol=1e-15)
    np.testing.assert_allclose(sums, s.astype(float), atol=1e-12)
    np.testing.assert_allclose(squares, q.astype(float), rtol=1e-13)


def test_double_double_sums(block):
    X, codes, weight, centre = block
    count = np.zeros((4, 5), np.int64)
    found = [np.zeros((2, 4, 5)) for _ in range(3)]
    double_double_sums(X, codes, weight, centre, count, *found)
    n, *exact = naive(X, codes, weight, centre)
    assert (count == n).all()
    for (hi, lo), truth in zip(found, exact, strict=True):
        for k in range(4):
            for j in range(5):
                error = Fraction(hi[k, j]) + Fraction(lo[k, j]) - truth[k, j]
                assert abs(error) <= Fraction(1, 2**90)


def test_farthest(block):
    X, codes, _, centre = block
    out = np.zeros((4, 5))
    farthest(X, codes, centre, out)
    for k in (0, 1, 3):
        np.testing.assert_array_equal(
            out[k], np.nanmax(np.abs(X[codes == k] - centre[k]), axis=0, initial=0.0)
        )
    assert (out[2] == 0).all()


def test_log_densities(block):
    X, _, _, theta = block
    rng = np.random.default_rng(1)
    scale, peak = rng.uniform(0.5, 2, size=(4, 5)), rng.normal(size=(4, 5))
    rest = rng.normal(size=(4, 5))
    out = np.ones((90, 4))
    add_log_densities(X, theta, rest, scale, peak, out)
    for i in range(90):
        for k in range(4):
            cells = [
                peak[k, j] - 0.5 * ((X[i, j] - theta[k, j] - rest[k, j]) * scale[k, j]) ** 2
                for j in range(5)
                if not math.isnan(X[i, j])
            ]
            assert out[i, k] == pytest.approx(1 + sum(cells), rel=1e-13, abs=1e-13)
