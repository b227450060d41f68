"""The compiled logistic loss, against the C library's functions and exact limits."""

import math

import numpy as np
import pytest

from suffice.kernels.linear.logistic import STRIP, logistic_derivatives


def computed(y, eta):
    y, eta = np.asarray(y, float), np.asarray(eta, float)
    parts = np.empty((3, len(eta)))
    logistic_derivatives(y, eta, *parts)
    return parts


def naive(y, eta):
    """Row by row, in forms that lose no digits."""
    rows = []
    for t, x in zip(y, eta, strict=True):
        small = math.exp(-abs(x))
        larger, smaller = 1 / (1 + small), small / (1 + small)
        one, zero = (larger, smaller) if x >= 0 else (smaller, larger)
        rows.append((max(x, 0) - t * x + math.log1p(small), (1 - t) * one - t * zero, one * zero))
    return np.array(rows).T


@pytest.mark.parametrize("spread", [1e-12, 0.1, 3.0, 40.0, 590.0])
def test_the_naive_loss(spread):
    rng = np.random.default_rng(0)
    eta = np.concatenate([rng.uniform(-spread, spread, 3 * STRIP + 7), [0.0, -0.0]])
    for y in (np.zeros_like(eta), np.ones_like(eta), rng.random(len(eta))):
        value, gradient, hessian = computed(y, eta)
        expected = naive(y, eta)
        # Between 0 and 1 a share of successes makes terms cancel, in both.
        size = np.abs(eta) + 1 if 0 < y[0] < 1 else 0.0
        assert (np.abs(value - expected[0]) <= 2e-15 * expected[0] + 1e-15 * size).all()
        assert (np.abs(gradient - expected[1]) <= 2e-15 * np.abs(expected[1]) + 1e-16 * size).all()
        np.testing.assert_allclose(hessian, expected[2], rtol=2e-15)


def test_certain_rows():
    value, gradient, hessian = computed([1, 0, 1, 0], [1e9, -1e9, -1e9, 1e9])
    assert (value[:2] < 1e-250).all()
    assert value[2:].tolist() == [1e9, 1e9]
    np.testing.assert_allclose(gradient, [0, 0, -1, 1], atol=1e-250)
    np.testing.assert_allclose(hessian, 0, atol=1e-250)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_predictor_that_is_no_number_shows_in_the_loss(bad):
    for y in (0.0, 1.0):
        with np.errstate(invalid="ignore"):  # 0 · ∞, where the kernel is interpreted
            value = computed([y, y], [0.0, bad])[0]
        assert value[0] == pytest.approx(math.log(2), rel=1e-15)
        assert not np.isfinite(value[1]) or value[1] < 1e-250


def test_no_rows():
    assert computed([], []).shape == (3, 0)
