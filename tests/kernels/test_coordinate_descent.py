"""Coordinate descent against a naive twin, and against conditions of optimality."""

from __future__ import annotations

import numpy as np
import pytest

from suffice.kernels.linear.coordinate_descent import best_coordinate, descend


def naive(G, q, l1, l2, positive, theta, sweeps):
    """Each coordinate to its own minimum, by the objective alone."""
    theta = theta.copy()
    for _ in range(sweeps):
        for j in range(len(theta)):
            theta[j] = 0.0
            z = q[j] - G[j] @ theta
            size = max(abs(z) - l1[j], 0.0)
            if positive and z < 0:
                size = 0.0
            theta[j] = np.sign(z) * size / (G[j, j] + l2[j]) if G[j, j] + l2[j] > 0 else 0.0
    return theta


def problem(seed, p):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(3 * p, p)), rng.normal(size=3 * p) * 3
    return X.T @ X, X.T @ y, rng.uniform(0, 5, p), rng.uniform(0, 2, p)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("p", [1, 2, 7])
def test_the_first_sweep_is_that_of_the_twin(p, positive):
    G, q, l1, l2 = problem(p, p)
    theta, slope = np.zeros(p), q.copy()
    assert abs(descend(G, l1, l2, positive, theta, slope, 1, 0.0)) == 1
    np.testing.assert_allclose(theta, naive(G, q, l1, l2, positive, np.zeros(p), 1), rtol=1e-13)
    np.testing.assert_allclose(slope, q - G @ theta, atol=1e-12)


@pytest.mark.parametrize("positive", [False, True])
def test_it_comes_to_rest_where_the_twin_does(positive):
    G, q, l1, l2 = problem(3, 8)
    theta, slope = np.zeros(8), q.copy()
    assert 0 < descend(G, l1, l2, positive, theta, slope, 1000, 1e-13) < 1000
    expected = naive(G, q, l1, l2, positive, np.zeros(8), 300)
    np.testing.assert_allclose(theta, expected, atol=1e-12)
    np.testing.assert_array_equal(theta == 0, expected == 0)


def test_columns_of_nothing_stay_out():
    G, q = np.diag([0.0, 2.0]), np.array([0.0, 3.0])
    theta, slope = np.zeros(2), q.copy()
    assert descend(G, np.array([0.0, 1.0]), np.zeros(2), False, theta, slope, 10, 1e-13) > 0
    np.testing.assert_array_equal(theta, [0.0, 1.0])


def test_one_coordinate():
    assert best_coordinate.python(3.0, 2.0, 1.0, False) == 1.0
    assert best_coordinate.python(-3.0, 2.0, 1.0, False) == -1.0
    assert best_coordinate.python(-3.0, 2.0, 1.0, True) == 0.0
    assert best_coordinate.python(0.5, 2.0, 1.0, False) == 0.0
