"""The exponential of many numbers, against the C library's."""

import math

import numpy as np
import pytest

from suffice.kernels.density.exponential import LOWEST, exp_of_differences


def naive(values, rows):
    return np.array(
        [
            [math.exp(max(value - rows[i], LOWEST)) for value in line]
            for i, line in enumerate(values)
        ]
    )


@pytest.mark.parametrize("spread", [1e-9, 1.0, 40.0, 590.0])
def test_the_naive_exponential(spread):
    rng = np.random.default_rng(0)
    values = rng.uniform(-spread, spread, size=(7, 13))
    rows = rng.uniform(-1, 1, size=7)
    expected = naive(values, rows)
    exp_of_differences(values, rows)
    np.testing.assert_allclose(values, expected, rtol=4e-16)


def test_special_values():
    values = np.array([[0.0, -0.0, LOWEST, -1e9, -np.inf, 700.0, math.log(2) / 2]])
    expected = naive(values, np.zeros(1))
    exp_of_differences(values, np.zeros(1))
    assert values[0, 0] == values[0, 1] == 1.0
    assert values[0, 2] == values[0, 3] == values[0, 4] > 0
    np.testing.assert_allclose(values, expected, rtol=4e-16)


@pytest.mark.parametrize("shape", [(0, 5), (3, 0), (1, 1)])
def test_small_shapes(shape):
    values = np.zeros(shape)
    exp_of_differences(values, np.zeros(shape[0]))
    np.testing.assert_array_equal(values, np.ones(shape))


def test_read_only_rows():
    rows = np.array([1.0])
    rows.setflags(write=False)
    values = np.array([[1.0]])
    exp_of_differences(values, rows)
    assert values[0, 0] == 1.0
