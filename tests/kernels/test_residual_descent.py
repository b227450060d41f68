"""Coordinate descent on the residual against the same on products, dense and CSC."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from suffice.kernels.linear.residual_descent import descend_on_residual
from tests.kernels.test_coordinate_descent import naive


def columns(centred, seed=0):
    """A sparse X, weights, and the columns that they stand for."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((30, 7)) < 0.5, rng.normal(size=(30, 7)) + 1, 0.0)
    w, y = rng.uniform(0.5, 2, 30), rng.normal(size=30) * 3
    mean = w @ X / w.sum() if centred else np.zeros(7)
    y = y - w @ y / w.sum() if centred else y
    Z = np.sqrt(w)[:, None] * (X - mean)
    return X, w, y, mean, Z, np.sqrt(w) * y


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("sweeps", [1, 400])
def test_it_is_the_twin_on_products(positive, centred, as_sparse, sweeps):
    X, w, y, mean, Z, target = columns(centred)
    l1, l2 = np.linspace(0, 6, 7), np.linspace(1, 0, 7)
    theta, squares = np.zeros(7), np.square(Z).sum(axis=0)
    if as_sparse:
        stored = sparse.csc_array(X)
        indices, indptr = stored.indices.astype(np.int64), stored.indptr.astype(np.int64)
        data, v = stored.data, w * y
        parts = (data, data * w[indices], indices, indptr, squares, mean, w.sum() * mean)
    else:
        data, v = np.ascontiguousarray(Z.T).reshape(-1), target.copy()
        ends = np.arange(0, 7 * 30 + 1, 30)
        parts = (data, data, np.zeros(0, np.int64), ends, squares, np.zeros(7), np.zeros(7))
    count = descend_on_residual(*parts, l1, l2, positive, theta, v, sweeps, 1e-13)
    assert count == -1 if sweeps == 1 else 0 < count < sweeps
    expected = naive(Z.T @ Z, Z.T @ target, l1, l2, positive, np.zeros(7), sweeps)
    np.testing.assert_allclose(theta, expected, atol=1e-11)
    np.testing.assert_array_equal(theta == 0, expected == 0)
