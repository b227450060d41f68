"""Plain sums over rows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.statistics.sums import Sums


def test_merge_adds_what_belongs_together():
    a = Sums((np.array([1.0, 2.0]), np.array([[3.0]])))
    b = Sums((np.array([10.0, 20.0]), np.array([[30.0]])))
    c = Sums((np.array([100.0, 200.0]), np.array([[300.0]])))
    first, second = Sums.merge([a, b, c]).values
    assert first.tolist() == [111.0, 222.0]
    assert second.tolist() == [[333.0]]


def test_subtract_takes_away():
    a, b = Sums((np.array([5.0, 7.0]),)), Sums((np.array([2.0, 9.0]),))
    assert a.subtract(b).values[0].tolist() == [3.0, -2.0]


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=30))
def test_sum_of_numbers(numbers):
    (total,) = Sums.merge([Sums((np.array([x]),)) for x in numbers]).values
    bound = len(numbers) * 2.0**-53 * math.fsum(map(abs, (x / 64 for x in numbers))) * 64
    assert abs(total[0] / 64 - math.fsum(x / 64 for x in numbers)) <= bound


def test_zero_has_the_shapes_it_is_told():
    zero = Sums.zero((), (3,), (2, 4))
    assert [value.shape for value in zero.values] == [(), (3,), (2, 4)]
    assert all(value.dtype == np.float64 and not value.any() for value in zero.values)
    assert Sums.zero().values == ()


def test_bytes():
    assert Sums.zero((3,), (2, 4)).nbytes == 8 * (3 + 8)
    assert Sums.zero().nbytes == 0


def test_sums_of_different_things_do_not_mix():
    one, two = Sums.zero((3,)), Sums.zero((3,), (3,))
    with pytest.raises(ValueError):
        Sums.merge([one, two])
    with pytest.raises(ValueError):
        one.subtract(two)
    with pytest.raises(ValueError):
        Sums.merge([Sums.zero((3,)), Sums.zero((4,))])
