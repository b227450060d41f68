"""Slices, centring and double-double linear algebra, against exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from suffice.kernels.compiler.compile import Kernel
from suffice.kernels.sums.exact import centre_pair, double_double_matvec, downdate, split_slices

U = Fraction(1, 2**53)


def fraction(hi: float, lo: float) -> Fraction:
    return Fraction(float(hi)) + Fraction(float(lo))


def pairs(values: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Append random low parts to `values`."""
    lo = values * rng.uniform(-1.0, 1.0, values.shape) * 2.0**-53
    hi = values + lo
    return hi, lo - (hi - values)


# Slices ------------------------------------------------------------------------------------------


def slices_by_definition(value: Fraction, exponent: int, beta: int, slices: int) -> list[int]:
    integers = []
    for p in range(slices):
        weight = Fraction(2) ** (exponent - beta * (p + 1))
        integers.append(round(value / weight))  # Python rounds fractions half to even
        value -= integers[-1] * weight
    return integers


def check_slices(
    hi: np.ndarray, lo: np.ndarray, exponents: np.ndarray, beta: int, slices: int
) -> np.ndarray:
    rows, columns = hi.shape
    out = np.full((rows, slices * columns), np.nan)
    used = split_slices(hi, lo, exponents, beta, out)
    by_slice = out.reshape(rows, slices, columns)
    for i in range(rows):
        for j in range(columns):
            expected = slices_by_definition(
                fraction(hi[i, j], lo[i, j]), int(exponents[j]), beta, slices
            )
            assert by_slice[i, :, j].tolist() == expected
    nonzero = np.flatnonzero(by_slice.any(axis=(0, 2)))
    assert used == (nonzero[-1] + 1 if nonzero.size else 0)
    return by_slice


@st.composite
def double_doubles(draw: st.DrawFn) -> tuple[float, float]:
    """Draw pairs of all sizes, among them many whose high part is a tie at some slice."""
    bits = draw(st.sampled_from([1, 2, 3, 20, 53]))
    mantissa = draw(st.integers(-(2**bits) + 1, 2**bits - 1))
    hi = math.ldexp(mantissa, draw(st.integers(-90, 10)))
    half_ulp = 0.5 * math.ulp(hi) if hi else 0.0
    share = draw(st.sampled_from([0.0, 1.0, -1.0, 0.5, 2.0**-30, -(2.0**-300)]))
    lo = half_ulp * share * draw(st.sampled_from([1.0, 0.7, -0.3]))
    return hi, (lo if hi + lo == hi else 0.0)


@given(st.data())
def test_slices_are_the_exact_remainders_rounded_to_even(data: st.DataObject) -> None:
    rows, columns = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 5))
    drawn = data.draw(st.lists(double_doubles(), min_size=rows * columns, max_size=rows * columns))
    hi, lo = np.array(drawn).reshape(rows, columns, 2).transpose(2, 0, 1).copy()
    room = data.draw(st.integers(1, 4))
    exponents = np.frexp(np.abs(hi).max(axis=0))[1].astype(np.int64) + room
    beta, slices = data.draw(st.integers(2, 30)), data.draw(st.integers(1, 8))
    by_slice = check_slices(hi, lo, exponents, beta, slices)
    assert np.abs(by_slice).max() <= 2.0 ** (beta - 1)


@pytest.mark.parametrize("exponent", [-1073, -1022, -900, -1, 0, 1, 900, 1024, 1025])
def test_slices_of_tiny_and_huge_columns(exponent: int) -> None:
    hi = [math.ldexp(one, max(exponent - 2, -1074)) for one in (0.75, -1.0, 0.5, 1.25, 0.0)]
    lo = [x * 2.0**-55 for x in hi]
    hi += [2.0**-1074, -(2.0**-1074)]
    lo += [0.0, 0.0]
    for beta, slices in ((21, 5), (2, 7), (50, 3)):
        check_slices(
            np.array([hi]), np.array([lo]), np.full(len(hi), exponent, np.int64), beta, slices
        )


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_low_part_that_underflows_still_decides_a_tie(sign: float) -> None:
    exponent, beta = 1000, 10
    hi = sign * math.ldexp(2.5, exponent - beta)
    tiny = 2.0**-1074
    by_slice = check_slices(
        np.array([[hi, hi, hi]]),
        np.array([[tiny, -tiny, 0.0]]),
        np.full(3, exponent, np.int64),
        beta,
        4,
    )
    assert np.abs(by_slice[0, 0]).tolist() == ([3, 2, 2] if sign > 0 else [2, 3, 2])


def test_first_slice_needs_one_bit_of_room_for_its_bound() -> None:
    full, beta = np.array([[1.0 - 2.0**-53]]), 10
    zero = np.zeros((1, 1))
    assert check_slices(full, zero, np.array([0]), beta, 3)[0, 0, 0] == 2.0**beta
    assert check_slices(full, zero, np.array([1]), beta, 3)[0, 0, 0] == 2.0 ** (beta - 1)


def test_number_of_used_slices_counts_leading_zero_slices() -> None:
    out = np.empty((1, 4))
    zero = np.zeros((1, 1))
    assert split_slices(np.array([[2.0**-15]]), zero, np.array([1]), 10, out) == 2
    assert out.tolist() == [[0.0, 16.0, 0.0, 0.0]]
    assert split_slices(zero, zero, np.array([1]), 10, out) == 0
    assert not out.any()


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_slices_of_nothing(shape: tuple[int, int]) -> None:
    empty = np.empty(shape)
    out = np.empty((shape[0], 2 * shape[1]))
    assert split_slices(empty, empty, np.zeros(shape[1], np.int64), 10, out) == 0


def test_gram_matrix_from_slices_is_exact() -> None:
    rng = np.random.default_rng(0)
    hi, lo = pairs(rng.normal(size=(8192, 2)) * np.array([1.0, 1e-7]), rng)
    beta, slices = 21, 6
    exponents = np.frexp(np.abs(hi).max(axis=0))[1].astype(np.int64) + 1
    out = np.empty((8192, slices * 2))
    used = split_slices(hi, lo, exponents, beta, out)
    products = out[:, : used * 2].T @ out[:, : used * 2]
    exact = sum(
        (fraction(h0, l0) * fraction(h1, l1) for (h0, h1), (l0, l1) in zip(hi, lo, strict=True)),
        Fraction(0),
    )
    gram = Fraction(0)
    for p in range(used):
        for q in range(used):
            weight = int(exponents.sum()) - beta * (p + q + 2)
            gram += int(products[2 * p, 2 * q + 1]) * Fraction(2) ** weight
    remainder = Fraction(2) ** (int(exponents.sum()) - beta * used)  # of one row, at most
    assert abs(gram - exact) <= 8192 * remainder
    assert abs(gram - exact) <= Fraction(1, 2**100) * abs(exact)


# Centring ----------------------------------------------------------------------------------------

reals = st.floats(-1e100, 1e100, allow_subnormal=True)


@given(reals, reals, st.floats(-1.0, 1.0), st.integers(-3, 3))
@example(1.0, 1.0, 0.0, 0)
@example(1.0, 0.0, 1.0, 0)
@example(2.0**53 + 2, -1.0, 0.5, 0)
def test_centring_errs_by_less_than_2_to_the_minus_104(
    x: float, c: float, share: float, steps: int
) -> None:
    c_lo = 0.5 * math.ulp(c) * share
    c_lo = c_lo if c + c_lo == c else 0.0
    near = c
    for _ in range(abs(steps)):
        near = math.nextafter(near, math.copysign(math.inf, steps))
    X = np.array([[x, near, c * 1.5, c_lo]])
    out_hi, out_lo = np.empty((2, 1, 4))
    centre_pair(X, np.full(4, c), np.full(4, c_lo), out_hi, out_lo)
    for value, hi, lo in zip(X[0], out_hi[0], out_lo[0], strict=True):
        exact = Fraction(float(value)) - fraction(c, c_lo)
        assert hi + lo == hi
        assert abs(fraction(hi, lo) - exact) <= abs(exact) / 2**104


def test_centring_may_overwrite_its_input() -> None:
    rng = np.random.default_rng(1)
    X, (c_hi, c_lo) = rng.normal(size=(7, 3)), pairs(rng.normal(size=3), rng)
    out_hi, out_lo = np.empty((2, 7, 3))
    centre_pair(X, c_hi, c_lo, out_hi, out_lo)
    centre_pair(X, c_hi, c_lo, X, low := np.empty((7, 3)))
    assert np.array_equal(X, out_hi)
    assert np.array_equal(low, out_lo)


# Linear algebra ----------------------------------------------------------------------------------


@given(st.integers(0, 6), st.integers(0, 7), st.integers(0, 2**32))
def test_downdate_subtracts_the_outer_product(d: int, start: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    start = min(start, d)
    l_hi, l_lo = pairs(rng.normal(size=d) * 10.0 ** rng.integers(-9, 9, d), rng)
    S_hi, S_lo = pairs(np.outer(l_hi, l_hi) * (1 + 1e-9 * rng.normal(size=(d, d))), rng)
    new_hi, new_lo = S_hi.copy(), S_lo.copy()
    downdate(new_hi, new_lo, l_hi, l_lo, start)
    for i in range(d):
        for j in range(d):
            new, old = fraction(new_hi[i, j], new_lo[i, j]), fraction(S_hi[i, j], S_lo[i, j])
            if start <= j <= i:
                product = fraction(l_hi[i], l_lo[i]) * fraction(l_hi[j], l_lo[j])
                bound = U**2 * (5 * abs(product) + 4 * abs(new))
                assert abs(new - (old - product)) <= bound
                assert new_hi[i, j] + new_lo[i, j] == new_hi[i, j]
            else:
                assert new == old


@given(st.integers(0, 4), st.integers(0, 9), st.integers(0, 2**32))
def test_product_with_a_vector(rows: int, columns: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    S_hi, S_lo = pairs(rng.normal(size=(rows, columns)), rng)
    x_hi, x_lo = pairs(rng.normal(size=columns) * 10.0 ** rng.integers(-9, 9, columns), rng)
    out_hi, out_lo = np.full((2, rows), np.nan)
    double_double_matvec(S_hi, S_lo, x_hi, x_lo, out_hi, out_lo)
    for i in range(rows):
        terms = [
            fraction(S_hi[i, j], S_lo[i, j]) * fraction(x_hi[j], x_lo[j]) for j in range(columns)
        ]
        bound = (6 + 3 * math.ceil(math.log2(max(columns, 1)))) * U**2 * sum(map(abs, terms))
        assert abs(fraction(out_hi[i], out_lo[i]) - sum(terms)) <= bound


# Compiled and Python -----------------------------------------------------------------------------


def example_arguments(kernel: Kernel[..., Any]) -> tuple[list[Any], list[Any]]:
    """Return inputs and outputs for a call with arrays large enough for all vector loops."""
    rng = np.random.default_rng(2)
    rows, columns, slices = 29, 37, 4
    hi, lo = pairs(rng.normal(size=(rows, columns)) * 10.0 ** rng.integers(-9, 9, columns), rng)
    exponents = np.frexp(np.abs(hi).max(axis=0))[1].astype(np.int64) + 1
    x_hi, x_lo = pairs(rng.normal(size=columns), rng)
    if kernel is split_slices:
        return [hi, lo, exponents, 20], [np.zeros((rows, slices * columns))]
    if kernel is centre_pair:
        return [hi, x_hi, x_lo], [np.zeros((rows, columns)), np.zeros((rows, columns))]
    if kernel is downdate:
        return [hi[0], lo[0], 3], [*pairs(rng.normal(size=(columns, columns)), rng)]
    return [hi, lo, x_hi, x_lo], [np.zeros(rows), np.zeros(rows)]


def call(kernel: Any, inputs: list[Any], outputs: list[Any]) -> Any:
    downdates = "downdate" in repr(kernel)
    return kernel(*outputs, *inputs) if downdates else kernel(*inputs, *outputs)


kernels = pytest.mark.parametrize(
    "kernel", [split_slices, centre_pair, downdate, double_double_matvec], ids=str
)


@pytest.mark.compiled
@kernels
def test_compiled_bits_are_those_of_python(kernel: Kernel[..., Any]) -> None:
    inputs, outputs = example_arguments(kernel)
    plain = [one.copy() for one in outputs]
    assert call(kernel, inputs, outputs) == call(kernel.python, inputs, plain)
    for fast, slow in zip(outputs, plain, strict=True):
        assert fast.tobytes() == slow.tobytes()


@kernels
def test_inputs_may_be_read_only_or_not(kernel: Kernel[..., Any]) -> None:
    inputs, outputs = example_arguments(kernel)
    again = [one.copy() for one in outputs]
    call(kernel, inputs, outputs)
    compiled = kernel.compiled
    for one in inputs:
        if isinstance(one, np.ndarray):
            one.flags.writeable = False
    call(kernel, inputs, again)
    assert kernel.compiled == compiled
    for first, second in zip(outputs, again, strict=True):
        assert np.array_equal(first, second)


@pytest.mark.compiled
@kernels
def test_other_arrays_are_refused(kernel: Kernel[..., Any]) -> None:
    inputs, outputs = example_arguments(kernel)
    wrong_dtype = [inputs[0].astype(np.float32), *inputs[1:]]
    with pytest.raises(TypeError, match="No matching definition"):
        call(kernel, wrong_dtype, outputs)
    wrong_stride = [np.repeat(inputs[0], 2, axis=-1)[..., ::2], *inputs[1:]]
    with pytest.raises(TypeError, match="No matching definition"):
        call(kernel, wrong_stride, outputs)
    outputs[0].flags.writeable = False
    with pytest.raises(TypeError, match="No matching definition"):
        call(kernel, inputs, outputs)
