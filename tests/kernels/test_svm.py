"""Kernels of support vector machines beside what they abbreviate."""

import numpy as np
import pytest

from suffice.kernels.svm.kernel_values import gaussian_doubles, gaussian_singles, take_block
from suffice.kernels.svm.smo import LANES, NUMBERS, minimise_pairs


@pytest.mark.parametrize(
    ("values_of", "dtype", "error"),
    [(gaussian_singles, np.float32, 3e-7), (gaussian_doubles, np.float64, 2e-15)],
)
def test_gaussians(values_of, dtype, error):
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(7, 3)).astype(dtype), rng.normal(size=(5, 3)).astype(dtype)
    values, gamma = X @ Z.T, 0.4
    lengths = [(gamma * np.square(one).sum(axis=1)).astype(dtype) for one in (X, Z)]
    values_of(values, *lengths, dtype(2 * gamma))
    apart = X[:, None].astype(float) - Z[None].astype(float)
    np.testing.assert_allclose(values, np.exp(-gamma * np.square(apart).sum(axis=2)), atol=error)


def test_blocks():
    K = np.arange(36.0).reshape(6, 6)
    rows, block = np.array([1, 4]), np.ones((2, 3))
    take_block(K, rows, block)
    np.testing.assert_array_equal(block, [[7, 10, 0], [25, 28, 0]])


def naive(K, y, C, tol):
    """Pairs as the paper has them, in float64."""
    lower, upper = np.where(y > 0, 0, -C), np.where(y > 0, C, 0)
    beta, gradient, steps = np.zeros(len(y)), -y, 0
    while True:
        up = np.where(beta < upper, gradient, np.inf)
        down = np.where(beta > lower, gradient, -np.inf)
        i = int(up.argmin())
        if down.max() - up[i] <= tol:
            return beta, steps
        curvature = np.maximum(K[i, i] + np.diagonal(K) - 2 * K[i], 1e-12)
        j = int((np.maximum(down - up[i], 0) ** 2 / curvature).argmax())
        moved = min((down[j] - up[i]) / curvature[j], upper[i] - beta[i], beta[j] - lower[j])
        beta[i] += moved
        beta[j] -= moved
        gradient = gradient + moved * (K[i] - K[j])
        steps += 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pairs_are_those_of_the_paper(dtype):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(70, 3))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=70) > 0, 1.0, -1.0)
    K = np.exp(-0.3 * np.square(X[:, None] - X).sum(axis=2))
    expected, steps = naive(K, y, 1.0, 1e-2)
    chunks = -(-70 // LANES)
    padded = np.zeros((70, chunks * LANES), dtype)
    padded[:, :70] = K
    gradient, beta, outcome = np.zeros((chunks, LANES)), np.zeros(70), np.zeros(3)
    gradient.ravel()[:70] = -y
    taken = minimise_pairs(
        padded.reshape(70, chunks, LANES), np.ones((chunks, LANES), dtype), gradient, beta,
        np.where(y > 0, 0.0, -1.0), np.where(y > 0, 1.0, 0.0), 0.0, 1e-2, 10_000,
        np.empty((4, chunks + 1, LANES), dtype), np.empty(LANES, np.int32),
        np.array(NUMBERS, dtype), outcome,
    )  # fmt: skip
    assert taken == steps
    np.testing.assert_allclose(beta, expected, atol=1e-4)
    np.testing.assert_allclose(gradient.ravel()[:70], K @ beta - y, atol=1e-5)
    assert outcome[0] <= 1e-2
    assert outcome[2] > 0
