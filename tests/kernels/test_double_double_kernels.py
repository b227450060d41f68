"""Error-free transformations and double-double arithmetic, against exact fractions."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import assume, given
from hypothesis import strategies as st

from suffice.kernels.sums.double_double import (
    add,
    fast_two_sum,
    multiply,
    split,
    two_product,
    two_sum,
)

U = Fraction(1, 2**53)
anything = st.floats(-(2.0**1000), 2.0**1000, allow_subnormal=True)
moderate = st.builds(
    lambda mantissa, exponent: mantissa * 2.0**exponent,
    st.floats(-2.0, 2.0).filter(lambda x: x == 0 or abs(x) > 1e-3),
    st.integers(-200, 200),
)


@st.composite
def double_doubles(draw: st.DrawFn) -> tuple[float, float]:
    hi = draw(moderate)
    return two_sum.python(hi, hi * draw(st.floats(-1.0, 1.0)) * 2.0**-53)


@given(anything, anything)
def test_two_sum_is_exact(a: float, b: float) -> None:
    s, e = two_sum(a, b)
    assert s == a + b
    assert Fraction(s) + Fraction(e) == Fraction(a) + Fraction(b)


@given(anything, anything)
def test_fast_two_sum_is_exact_for_ordered_terms(a: float, b: float) -> None:
    large, small = (a, b) if abs(a) >= abs(b) else (b, a)
    s, e = fast_two_sum(large, small)
    assert Fraction(s) + Fraction(e) == Fraction(a) + Fraction(b)
    assert fast_two_sum(0.0, small) == (small, 0.0)


@given(st.floats(-(2.0**990), 2.0**990))
def test_split_leaves_halves_whose_product_is_exact(a: float) -> None:
    head, tail = split(a)
    assert Fraction(head) + Fraction(tail) == Fraction(a)
    for half in (head, tail):
        numerator = abs(Fraction(half).numerator)
        assert numerator >> ((numerator & -numerator).bit_length() - 1 if numerator else 0) < 2**26


@given(moderate, moderate)
def test_two_product_is_exact(a: float, b: float) -> None:
    p, e = two_product(a, b)
    assert p == a * b
    assert Fraction(p) + Fraction(e) == Fraction(a) * Fraction(b)


@given(double_doubles(), double_doubles())
def test_product_and_sum_keep_their_error_bounds(
    a: tuple[float, float], b: tuple[float, float]
) -> None:
    exact_a, exact_b = (Fraction(hi) + Fraction(lo) for hi, lo in (a, b))
    for operation, exact, bound in (
        (multiply, exact_a * exact_b, 5 * U**2),
        (add, exact_a + exact_b, 3 * U**2 + 13 * U**3),
    ):
        hi, lo = operation(*a, *b)
        assert hi + lo == hi
        assert abs(Fraction(hi) + Fraction(lo) - exact) <= bound * abs(exact)


@given(double_doubles(), st.integers(1, 60))
def test_sum_keeps_its_bound_under_cancellation(a: tuple[float, float], bits: int) -> None:
    near = two_sum.python(-a[0] * (1.0 + 2.0**-bits), -a[1] / 3.0)
    assume(near[0] != 0.0)
    exact = sum(map(Fraction, (*a, *near)), Fraction(0))
    hi, lo = add(*a, *near)
    assert abs(Fraction(hi) + Fraction(lo) - exact) <= (3 * U**2 + 13 * U**3) * abs(exact)
