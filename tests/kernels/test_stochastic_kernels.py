"""Stochastic gradient steps, against plain loops and the losses' own derivatives."""

from __future__ import annotations

import numpy as np
import pytest

from suffice.kernels.linear.stochastic import LOGISTIC, SOFTMAX, SQUARED, slopes, stochastic_steps
from suffice.linear.solvers.losses import Logistic, Softmax, Squared

LOSSES = {
    SQUARED: (Squared(2), 2, lambda rng, n: rng.normal(size=(n, 2))),
    LOGISTIC: (Logistic(), 1, lambda rng, n: rng.integers(0, 2, (n, 1)).astype(float)),
    SOFTMAX: (Softmax(3), 3, lambda rng, n: rng.integers(0, 3, (n, 1)).astype(float)),
}
each_loss = pytest.mark.parametrize("kind", LOSSES)


def as_taken(kind, y):
    """A target of the kernel's shape as the loss takes it."""
    return y if kind == SQUARED else y[:, 0]


@each_loss
@pytest.mark.parametrize("size", [0.1, 3.0, 800.0])
def test_slopes_are_those_of_the_loss(kind, size):
    loss, k, make = LOSSES[kind]
    rng = np.random.default_rng(kind)
    y, eta = make(rng, 50), size * rng.normal(size=(50, k))
    expected = loss(as_taken(kind, y), eta.T, 1)
    for i in range(50):
        room = eta[i].copy()
        np.testing.assert_allclose(slopes(kind, y[i], room), expected.value[i], rtol=1e-13)
        np.testing.assert_allclose(room, expected.gradient[:, i], rtol=1e-12, atol=1e-15)


def run(kernel, kind, A, y, weight, rates, batch, decay, momentum, intercept=True):
    k = LOSSES[kind][1]
    shape = k, A.shape[1] + intercept
    theta, velocity, mean = np.zeros((3, *shape))
    total = kernel(
        A, y, weight, kind, rates, batch, np.full(shape, decay), momentum,
        theta, velocity, mean, 0, np.empty(shape), np.empty(k),
    )  # fmt: skip
    return theta, velocity, total, mean


@each_loss
@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.parametrize("intercept", [True, False])
def test_steps_of_any_loss(kind, batch, intercept):
    loss, k, make = LOSSES[kind]
    rng = np.random.default_rng(3)
    n, d, momentum, decay = 60, 4, 0.3, 0.05
    A, y, weight = rng.normal(size=(n, d)), make(rng, n), rng.uniform(0.5, 2, n)
    rates = 0.1 / np.arange(1, -(-n // batch) + 1)
    a = np.hstack([A, np.ones((n, 1))]) if intercept else A
    theta, velocity, total, reached = np.zeros((k, a.shape[1])), 0.0, 0.0, []
    for b, rate in enumerate(rates):
        some = slice(b * batch, (b + 1) * batch)
        found = loss(as_taken(kind, y[some]), theta @ a[some].T, 1)
        total += weight[some] @ found.value
        gradient = (found.gradient * weight[some]) @ a[some] / len(a[some]) + decay * theta
        velocity = momentum * velocity - rate * gradient
        theta = theta + velocity
        reached.append(theta)
    found = run(stochastic_steps, kind, A, y, weight, rates, batch, decay, momentum, intercept)
    np.testing.assert_allclose(found[0], theta, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found[1], velocity, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found[2], total, rtol=1e-12)
    np.testing.assert_allclose(found[3], np.mean(reached, axis=0), rtol=1e-12, atol=1e-14)


def test_one_row_at_a_time_is_the_lms_rule_to_the_last_bit():
    rng = np.random.default_rng(8)
    A, y = rng.normal(size=(300, 3)), rng.normal(size=300)
    theta, b = np.zeros(3), 0.0
    for x, target in zip(A, y, strict=True):
        z = b
        for j in range(3):
            z += theta[j] * x[j]
        residual = z - target
        theta = theta - 0.05 * (residual * x)
        b = b - 0.05 * residual
    found = run(
        stochastic_steps, SQUARED, A, np.stack([y, y], axis=1), np.ones(300),
        np.full(300, 0.05), 1, 0.0, 0.0,
    )[0]  # fmt: skip
    assert found[0].tobytes() == found[1].tobytes() == np.append(theta, b).tobytes()


@pytest.mark.compiled
@each_loss
def test_compiled_bits_are_those_of_python(kind):
    rng = np.random.default_rng(1)
    A, y, weight = rng.normal(size=(100, 3)), LOSSES[kind][2](rng, 100), rng.uniform(size=100)
    more = A, y, weight, np.full(34, 0.1), 3, 0.01, 0.5
    fast = run(stochastic_steps, kind, *more)
    slow = run(stochastic_steps.python, kind, *more)
    for ours, theirs in zip(fast, slow, strict=True):
        assert np.asarray(ours).tobytes() == np.asarray(theirs).tobytes()
