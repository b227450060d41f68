"""Double-double arithmetic on arrays, against rational numbers."""

from __future__ import annotations

import dataclasses
import operator
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from suffice.numerics.double_double import (
    DOUBLE_DOUBLE_UNIT,
    UNIT,
    DoubleDouble,
    quick_two_sum,
    two_product,
    two_sum,
)
from tests.numerics.rational import U, as_double_double, double_doubles, exactly, floats, nearest

UNIT2 = Fraction(DOUBLE_DOUBLE_UNIT)

# Products of two stay far from under- and overflow, of a number and its last bits too.
wide = double_doubles(-200, 200)
wide_floats = floats(-200, 200)
OPERATIONS = [operator.add, operator.sub, operator.mul, operator.truediv]


def close(result, exact, bound=UNIT2):
    """Whether all numbers are double-doubles within a relative error of the exact ones."""
    assert np.shape(result.hi) == np.shape(result.lo) == np.shape(exact)
    assert np.array_equal(result.hi + result.lo, result.hi)
    return np.all(abs(exactly(result) - exact) <= bound * abs(exact))


def test_units():
    assert UNIT == np.finfo(np.float64).epsneg
    assert UNIT2 == 16 * U**2


# --- error-free transformations ------------------------------------------------------------


@given(floats(-1000, 1000), floats(-1000, 1000))
def test_two_sum_is_exact(a, b):
    s, e = two_sum(a, b)
    assert s == a + b
    assert Fraction(s) + Fraction(e) == Fraction(a) + Fraction(b)


@given(floats(-1000, 1000), floats(-1000, 1000))
def test_quick_two_sum_is_exact_for_ordered_terms(a, b):
    a, b = sorted((a, b), key=abs, reverse=True)
    s, e = quick_two_sum(a, b)
    assert s == a + b
    assert Fraction(s) + Fraction(e) == Fraction(a) + Fraction(b)


@given(floats(-480, 490), floats(-480, 490))
def test_two_product_is_exact(a, b):
    p, e = two_product(a, b)
    assert p == a * b
    assert Fraction(p) + Fraction(e) == Fraction(a) * Fraction(b)


# --- operations ----------------------------------------------------------------------------


@pytest.mark.parametrize("operation", OPERATIONS)
@given(a=wide, b=wide)
def test_of_two_double_doubles(operation, a, b):
    assume(b[0] != 0.0 or operation is not operator.truediv)
    x, y = DoubleDouble(*map(np.asarray, a)), DoubleDouble(*map(np.asarray, b))
    assert close(operation(x, y), operation(exactly(x), exactly(y)))


@pytest.mark.parametrize("operation", OPERATIONS)
@given(a=wide, b=wide_floats)
def test_with_a_float_on_the_right(operation, a, b):
    assume(b != 0.0 or operation is not operator.truediv)
    x = DoubleDouble(*map(np.asarray, a))
    for number in (b, np.float64(b), np.asarray(b)):
        assert close(operation(x, number), operation(exactly(x), Fraction(b)))


@pytest.mark.parametrize("operation", [operator.add, operator.sub, operator.mul])
@given(a=wide_floats, b=wide)
def test_with_a_float_on_the_left(operation, a, b):
    x = DoubleDouble(*map(np.asarray, b))
    for number in (a, np.float64(a), np.asarray(a)):
        result = operation(number, x)
        assert isinstance(result, DoubleDouble)
        assert close(result, operation(Fraction(a), exactly(x)))


@given(a=wide, bits=st.integers(1, 110), share=st.floats(-1.0, 1.0))
def test_a_difference_of_near_numbers_keeps_its_relative_error(a, bits, share):
    x = DoubleDouble(*map(np.asarray, a))
    near = nearest(exactly(x) * (1 + Fraction(share) / 2**bits))
    assert close(x - near, exactly(x) - exactly(near))
    assert close(x - near.hi, exactly(x) - exactly(near.hi))
    assert close(near.hi - x, exactly(near.hi) - exactly(x))


@given(a=wide, power=st.integers(-200, 200))
def test_negation_and_scaling_by_powers_of_two_are_exact(a, power):
    x = DoubleDouble(*map(np.asarray, a))
    assert exactly(-x) == -exactly(x)
    assert exactly(x.scaled(2.0**power)) == exactly(x) * Fraction(2) ** power


@given(a=wide)
def test_round_is_the_nearest_float64(a):
    x = DoubleDouble(*map(np.asarray, a))
    assert x.round() == float(exactly(x))


@given(a=wide)
def test_square_root(a):
    assume(a[0] != 0.0)
    sign = np.sign(a[0])
    x = DoubleDouble(np.asarray(sign * a[0]), np.asarray(sign * a[1]))
    root = exactly(x.sqrt())
    assert root > 0
    assert (1 - UNIT2) ** 2 * exactly(x) <= root**2 <= (1 + UNIT2) ** 2 * exactly(x)


def test_square_roots_of_squares_are_exact():
    x = np.array([1.0, 3.0, 2.0**-30, 1e8 + 1, 94906265.0])
    root = DoubleDouble(*two_product(x, x)).sqrt()
    assert np.array_equal(root.hi, x)
    assert not root.lo.any()


def test_a_third_times_three_is_one():
    third = DoubleDouble.of(1.0) / 3.0
    assert abs(exactly(third) - Fraction(1, 3)) <= UNIT2 / 3
    assert exactly(third * 3.0) == 1


# --- sums ----------------------------------------------------------------------------------


def sum_bound(x):
    return len(x) * U**2 * sum(map(abs, x), Fraction(0))


@given(st.lists(double_doubles(-100, 100), max_size=40))
def test_sum(pairs):
    x = as_double_double(pairs)
    exact = sum(exactly(x), Fraction(0))
    column = DoubleDouble(x.hi[:, None], x.lo[:, None])
    for total in (x.sum(), x.sum(axis=-1), column.sum()[0], column.T.sum(axis=1)[0]):
        assert np.shape(total.hi) == np.shape(total.lo) == ()
        assert abs(exactly(total) - exact) <= sum_bound(exactly(x))


@given(st.lists(double_doubles(-20, 20), min_size=1, max_size=20), st.integers(40, 104))
def test_sum_of_terms_that_cancel(pairs, bits):
    x = as_double_double(pairs)
    opposite = nearest(-exactly(x) * (1 + Fraction(1, 2**bits)))
    both = DoubleDouble(np.append(x.hi, opposite.hi), np.append(x.lo, opposite.lo))
    assert abs(exactly(both.sum()) - sum(exactly(both))) <= sum_bound(exactly(both))
    zero = DoubleDouble(np.append(x.hi, -x.hi), np.append(x.lo, -x.lo)).sum()
    assert abs(exactly(zero)) <= sum_bound(exactly(both))


@pytest.mark.parametrize("n", [1, 2, 3, 127, 128, 129, 1000])
@pytest.mark.parametrize("value", [1 / 3, 1.0 + 2.0**-52, 2.0 - 2.0**-52])
def test_sum_of_many_equal_terms(n, value):
    # Equal terms round the same way all along: the errors have no chance to cancel.
    x = DoubleDouble(np.full((n, 2), value), np.full((n, 2), value * 0.99 * 2.0**-54))
    exact = n * exactly(x[0])
    assert np.all(abs(exactly(x.sum()) - exact) <= n * U**2 * exact)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_sum_along_any_axis(axis):
    hi = np.random.default_rng(0).normal(size=(3, 4, 5))
    x = DoubleDouble(*two_sum(hi, hi[::-1, ::-1, ::-1] * 2.0**-54))
    exact = exactly(x).sum(axis=axis)
    bound = x.shape[axis] * U**2 * abs(exactly(x)).sum(axis=axis)
    total = x.sum(axis=axis)
    assert total.shape == exact.shape
    assert np.all(abs(exactly(total) - exact) <= bound)


def test_sums_of_nothing_are_zero():
    assert DoubleDouble.zeros(0).sum().shape == ()
    assert float(DoubleDouble.zeros(0).sum().hi) == 0.0
    for axis, shape in ((0, (3,)), (-1, (0,))):
        total = DoubleDouble.zeros((0, 3)).sum(axis=axis)
        assert total.shape == total.lo.shape == shape
        assert not total.hi.any()


# --- products ------------------------------------------------------------------------------


@st.composite
def matrices(draw, rows, columns):
    entries = st.lists(double_doubles(-60, 60), min_size=rows * columns, max_size=rows * columns)
    x = as_double_double(draw(entries))
    return DoubleDouble(x.hi.reshape(rows, columns), x.lo.reshape(rows, columns))


@given(st.lists(wide, min_size=1, max_size=4), st.lists(wide, min_size=1, max_size=4))
def test_outer(left, right):
    a, b = as_double_double(left), as_double_double(right)
    assert close(a.outer(b), np.multiply.outer(exactly(a), exactly(b)))


# --- arrays --------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", OPERATIONS)
def test_broadcasting(operation):
    rng = np.random.default_rng(1)
    a = DoubleDouble(*two_sum(rng.normal(size=(3, 1)), 2.0**-54 * rng.normal(size=(3, 1))))
    b = DoubleDouble(*two_sum(rng.normal(size=4), 2.0**-54 * rng.normal(size=4)))
    assert close(operation(a, b), operation(exactly(a), exactly(b)))
    assert close(operation(a, b.hi), operation(exactly(a), exactly(b.hi)))
    assert close(operation(a, 2.0), operation(exactly(a), Fraction(2)))
    if operation is not operator.truediv:
        assert close(operation(b.hi, a), operation(exactly(b.hi), exactly(a)))


def test_numbers_without_dimensions():
    x = DoubleDouble.of(2.0) / 3.0
    assert x.shape == ()
    assert x[None].shape == (1,)
    assert exactly(x[None][0]) == exactly(x[()]) == exactly(x)
    assert (x * np.ones(2)).shape == (2,)
    assert exactly(x.sqrt() * x.sqrt()) == pytest.approx(exactly(x), rel=1e-30)


def test_indexing_takes_both_words():
    x = DoubleDouble(np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(2, 3) * 2.0**-60)
    for index in (0, -1, (1, 2), slice(1, None), (slice(None), [2, 0]), np.array([True, False])):
        part = x[index]
        assert np.array_equal(part.hi, x.hi[index])
        assert np.array_equal(part.lo, x.lo[index])
        assert isinstance(part.hi, np.ndarray)
        assert isinstance(part.lo, np.ndarray)
    assert np.array_equal(x.T.hi, x.hi.T)
    assert np.array_equal(x.T.lo, x.lo.T)


@pytest.mark.parametrize(
    "value",
    [1, 2.5, True, np.float32(0.1), [1, 2], np.arange(3), np.ones((2, 2), dtype=np.float32)],
)
def test_of_takes_any_real_numbers(value):
    x = DoubleDouble.of(value)
    assert x.hi.dtype == x.lo.dtype == np.float64
    assert np.array_equal(x.hi, np.asarray(value, dtype=np.float64))
    assert x.shape == x.lo.shape
    assert not x.lo.any()


def test_of_a_double_double_is_itself():
    x = DoubleDouble.zeros((2, 3))
    assert DoubleDouble.of(x) is x
    assert x.shape == (2, 3)
    assert not x.hi.any()
    assert not x.lo.any()


def test_operations_leave_their_operands_alone():
    rng = np.random.default_rng(2)
    a = DoubleDouble(rng.normal(size=(4, 4)), 2.0**-60 * rng.normal(size=(4, 4)))
    b = DoubleDouble(rng.normal(size=(4, 4)), 2.0**-60 * rng.normal(size=(4, 4)))
    words = [word.copy() for x in (a, b) for word in (x.hi, x.lo)]
    for result in (
        a + b,
        a - b,
        a * b,
        a / b,
        -a,
        a.scaled(2.0),
        a.sum(),
        a[0].outer(b[0]),
    ):
        for operand in (a, b):
            assert not np.shares_memory(result.hi, operand.hi)
            assert not np.shares_memory(result.lo, operand.lo)
    assert not np.shares_memory(a.round(), a.hi)
    for word, before in zip((a.hi, a.lo, b.hi, b.lo), words, strict=True):
        assert np.array_equal(word, before)


def test_a_double_double_is_frozen_and_travels():
    x = DoubleDouble.of(np.arange(3.0)) / 7.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        x.hi = np.zeros(3)
    copy = pickle.loads(pickle.dumps(x))
    assert np.array_equal(copy.hi, x.hi)
    assert np.array_equal(copy.lo, x.lo)
