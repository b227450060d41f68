"""Squares of distances, and how those beyond the range compare."""

from __future__ import annotations

import numpy as np
import pytest

from suffice.numerics.far_squares import half_squares


def test_within_the_range_they_are_sums_of_squares():
    away = np.random.default_rng(0).normal(size=(7, 3, 4)) * 1e150
    np.testing.assert_allclose(half_squares(away), 0.5 * np.square(away).sum(axis=2), rtol=1e-15)
    assert half_squares(np.zeros((2, 3, 0))).tolist() == [[0.0] * 3] * 2
    assert half_squares(np.zeros((0, 3, 2))).shape == (0, 3)


@pytest.mark.filterwarnings("error")
def test_beyond_the_range_they_keep_their_proportions():
    away = np.random.default_rng(0).normal(size=(7, 3, 4))
    found, near = half_squares(away * 1e200), half_squares(away)
    assert np.isfinite(found).all()
    share, expected = (one / one.max(axis=1, keepdims=True) for one in (found, near))
    np.testing.assert_allclose(share, expected, rtol=1e-14)


@pytest.mark.filterwarnings("error")
def test_infinite_entries_count_alone():
    found = half_squares(np.array([[[np.inf, 1.0], [1e300, 1e300], [-np.inf, np.inf]]]))
    assert found[0, 1] == 0
    assert 0 < found[0, 0] == found[0, 2] / 2 < np.inf


def test_each_row_has_a_unit_of_its_own():
    found = half_squares(np.array([[[3.0], [4.0]], [[3e200], [4e200]]]))
    assert found[0].tolist() == [4.5, 8.0]
    assert found[1, 0] / found[1, 1] == pytest.approx(9 / 16, rel=1e-14)
