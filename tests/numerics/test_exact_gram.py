"""Gram matrices without rounding error, against whole numbers and rational ones."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from suffice.numerics import exact_gram as module
from suffice.numerics.double_double import DoubleDouble, two_product, two_sum
from suffice.numerics.exact_gram import (
    COMPILED_FROM,
    MOST_SLICES,
    column_exponents,
    exact_gram,
    exact_sparse_gram,
    slice_bits,
    split,
)
from tests.numerics.rational import exactly, gram, whole_pairs

MOST_ROWS = 1 << 16


@pytest.fixture(params=["numpy", "kernel"])
def path(request, monkeypatch):
    """Both ways to cut a block into slices, whatever its size."""
    monkeypatch.setattr(module, "COMPILED_FROM", {"numpy": 1 << 62, "kernel": 0}[request.param])
    return request.param


def largest(block):
    return exactly(np.abs(block.hi).max(axis=0, initial=0.0))


def assert_close(result, left, right):
    """Within 2⁻¹⁰⁴ of rows × the columns' largest entries; the two words do not overlap."""
    bound = np.multiply.outer(largest(left), largest(right)) * left.shape[0] / 2**104
    # Where the second word is subnormal, it is a multiple of 2⁻¹⁰⁷⁴ whatever the first is.
    bound = np.where(np.abs(result.hi) < 2.0**-970, bound + Fraction(1, 2**1070), bound)
    assert np.all(abs(exactly(result) - gram(left, right)) <= bound)
    assert np.array_equal(result.hi + result.lo, result.hi)


def random_pairs(rng, shape, exponents=0):
    """Double-doubles with all their bits, times powers of two."""
    hi, lo = rng.uniform(-1, 1, size=shape), 2.0**-54 * rng.uniform(-1, 1, size=shape)
    return DoubleDouble(*two_sum(hi, hi * lo)).scaled(np.ldexp(1.0, exponents))


def same_bits(a, b):
    return np.array_equal(a.hi, b.hi) and np.array_equal(a.lo, b.lo)


# --- the width of a slice ------------------------------------------------------------------


def test_sums_of_slice_products_stay_below_the_largest_exact_integer():
    for rows in [*range(1, 300), *(2**k + d for k in range(8, 17) for d in (-1, 0, 1))]:
        if rows > MOST_ROWS:
            continue
        largest_slice = 2 ** (slice_bits(rows) - 1)
        assert MOST_SLICES * rows * largest_slice**2 <= 2**53
        assert MOST_SLICES * slice_bits(rows) >= 108


def test_six_slices_of_a_block_hold_114_bits():
    assert MOST_SLICES * slice_bits(8192) == 114


@pytest.mark.parametrize("rows", [1, 2, 3, 16, 17, 1000, 8192])
def test_largest_slices_there_are(rows, path):
    # 0111…1 again and again: every slice is as large as can be, and every row the same.
    bits = slice_bits(rows)
    pattern = Fraction(0)
    for p in range(100 // bits):
        pattern += Fraction(2 ** (bits - 1) - 1, 2 ** (bits * (p + 1)))
    hi = float(pattern)
    value = DoubleDouble(np.full((rows, 1), hi), np.full((rows, 1), float(pattern - Fraction(hi))))
    assert exactly(value[0, 0]) == pattern
    exact = rows * pattern**2
    result = exact_gram(value, -value)[0, 0]
    assert abs(exactly(result) + exact) <= exact / 2**105


@given(st.data(), st.integers(1, 8192))
def test_slices_are_small_integers_that_add_up(data, rows):
    bits = slice_bits(rows)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    exponents = rng.integers(-data.draw(st.integers(0, 120)) - 1, 1, size=(8, 3))
    block = random_pairs(rng, (8, 3), exponents).scaled(np.ldexp(1.0, rng.integers(-300, 300, 3)))
    e = column_exponents(block.hi)
    slices = split(block, e, bits)
    unit = [Fraction(2) ** int(exponent) for exponent in e]
    rest = exactly(block)
    for p, integers in enumerate(slices):
        assert np.array_equal(integers, np.rint(integers))
        assert np.abs(integers).max() <= 2 ** (bits - 1)
        rest = rest - exactly(integers) * unit / Fraction(2) ** (bits * (p + 1))
    below = Fraction(0) if len(slices) < MOST_SLICES else Fraction(1, 2 ** (MOST_SLICES * bits + 1))
    assert np.all(abs(rest) <= below * np.array(unit))


def test_exponents_bound_their_columns():
    columns = np.array([[1.0, -0.75, 0.0, 5e-324, -1e300], [-2.0, 0.5, 0.0, 0.0, 1.0]])
    e = column_exponents(columns)
    assert e[2] == 0
    for value, exponent in zip(np.abs(columns).max(axis=0), e, strict=True):
        assert value == 0 or 2 ** Fraction(int(exponent) - 2) <= Fraction(value)
        assert value == 0 or Fraction(value) < Fraction(2) ** int(exponent - 1)


# --- dense ---------------------------------------------------------------------------------


@st.composite
def blocks(draw, rows, columns):
    """Numbers from 1e-150 to 1e100, with as much of that range in a column as can be."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    top = np.array(draw(st.lists(st.integers(-200, 331), min_size=columns, max_size=columns)))
    depth = draw(st.sampled_from([0, 1, 20, 60, 120, 900]))
    exponents = np.maximum(top - rng.integers(0, depth + 1, size=(rows, columns)), -498)
    exponents[rng.integers(rows)] = top
    block = random_pairs(rng, (rows, columns), exponents)
    if draw(st.booleans()):
        block = DoubleDouble.of(block.hi)
    if draw(st.booleans()):
        zero = rng.random((rows, columns)) < 0.5
        block = DoubleDouble(np.where(zero, 0.0, block.hi), np.where(zero, 0.0, block.lo))
    return block


@given(st.data(), st.integers(1, 12), st.integers(1, 3), st.integers(1, 3))
def test_within_its_bound(data, rows, m, k):
    left = data.draw(blocks(rows, m))
    right = data.draw(blocks(rows, k))
    for cells in (0, 1 << 62):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "COMPILED_FROM", cells)
            assert_close(exact_gram(left), left, left)
            assert_close(exact_gram(left, right), left, right)


# On both sides of the size from which a kernel cuts the slices.
SHAPES = [(1, 1), (2, 5), (100, 3), (4095, 4), (4096, 4), (8191, 2), (8192, 1), (8192, 2)]


@pytest.mark.parametrize("shape", SHAPES)
def test_many_rows_within_its_bound(shape):
    rng = np.random.default_rng(0)
    left = random_pairs(rng, shape, rng.integers(-40, 3, size=shape))
    assert (math.prod(shape) >= COMPILED_FROM) == (shape in [(4096, 4), (8192, 2)])
    assert_close(exact_gram(left), left, left)
    weighted = left * rng.uniform(1e-6, 1e6, size=(shape[0], 1))
    assert_close(exact_gram(left, weighted), left, weighted)


@pytest.mark.compiled
def test_as_many_rows_as_there_may_be():
    rng = np.random.default_rng(0)
    left = random_pairs(rng, (MOST_ROWS, 1), rng.integers(-9, 3, size=(MOST_ROWS, 1)))
    assert_close(exact_gram(left), left, left)


@pytest.mark.parametrize("shape", SHAPES)
def test_integers_are_exact(shape):
    # 45 bits squared, 8192 times: 103 bits, which two words hold.
    rng = np.random.default_rng(1)
    integers = rng.integers(-(2**44), 2**44, size=shape)
    block = DoubleDouble.of(integers)
    weight = rng.integers(1, 4, size=(shape[0], 1))
    columns = integers.T.tolist()
    exact = [[sum(map(int.__mul__, a, b)) for b in columns] for a in columns]
    assert exactly(exact_gram(block)).tolist() == exact
    weighted = [[w * v for w, v in zip(weight[:, 0].tolist(), a, strict=True)] for a in columns]
    exact = [[sum(map(int.__mul__, a, b)) for b in weighted] for a in columns]
    assert exactly(exact_gram(block, DoubleDouble.of(integers * weight))).tolist() == exact


def test_bits_that_fit_are_exact_far_from_one(path):
    rng = np.random.default_rng(2)
    integers = rng.integers(-(2**40), 2**40, size=(50, 3)).astype(np.float64)
    for exponents in ([-450, 0, 440], [300, 301, -300]):
        block = DoubleDouble.of(integers * np.ldexp(1.0, exponents))
        assert np.all(exactly(exact_gram(block)) == gram(block, block))


@given(st.integers(0, 2**32), st.integers(2, 300))
@settings(max_examples=20)
def test_order_of_rows_leaves_no_trace(seed, rows):
    rng = np.random.default_rng(seed)
    block = random_pairs(rng, (rows, 3), rng.integers(-100, 100, size=(rows, 3)))
    other = random_pairs(rng, (rows, 2))
    order = rng.permutation(rows)
    assert same_bits(exact_gram(block[order]), exact_gram(block))
    assert same_bits(exact_gram(block[order], other[order]), exact_gram(block, other))


def test_order_of_many_rows_leaves_no_trace():
    rng = np.random.default_rng(3)
    block = random_pairs(rng, (6000, 3), rng.integers(-40, 1, size=(6000, 3)))
    order = rng.permutation(6000)
    assert same_bits(exact_gram(block[order]), exact_gram(block))


def test_symmetric_and_transposed(path):
    rng = np.random.default_rng(4)
    left, right = (random_pairs(rng, (60, 3), rng.integers(-9, 9, size=(60, 3))) for _ in range(2))
    assert same_bits(exact_gram(left), exact_gram(left).T)
    assert same_bits(exact_gram(left), exact_gram(left, left))
    assert same_bits(exact_gram(left, right), exact_gram(right, left).T)


def test_columns_of_zeros(path):
    block = DoubleDouble.of(np.array([[0.0, 3.0, 0.0], [0.0, -5.0, 0.0]]))
    result = exact_gram(block)
    assert np.array_equal(result.hi, [[0, 0, 0], [0, 34, 0], [0, 0, 0]])
    assert not result.lo.any()
    nothing = DoubleDouble.zeros((4, 2))
    assert not exact_gram(nothing).hi.any()
    assert not exact_gram(nothing, DoubleDouble.of(np.ones((4, 3)))).hi.any()
    assert exact_gram(nothing, DoubleDouble.of(np.ones((4, 3)))).shape == (2, 3)


def test_no_rows():
    result = exact_gram(DoubleDouble.zeros((0, 3)), DoubleDouble.zeros((0, 2)))
    assert result.shape == (3, 2)
    assert not result.hi.any()


@pytest.mark.parametrize("size", [5e-324, 3e-310, 2e-305, 1e-200])
def test_tiny_columns(size, path):
    # The square underflows; the product with a column near 1 must not suffer from that.
    block = DoubleDouble.of(np.array([[size, 1.0], [2 * size, 5.0], [-size, 0.5]]))
    result = exact_gram(block)
    assert result.hi[0, 1] == result.hi[1, 0] == 10.5 * size or size == 5e-324
    assert np.all(exactly(result)[1, 1] == Fraction(26.25))
    assert np.isfinite(result.hi).all()


def test_memory_layout_does_not_matter(path):
    rng = np.random.default_rng(5)
    block = random_pairs(rng, (40, 4))
    fortran = DoubleDouble(np.asfortranarray(block.hi), np.asfortranarray(block.lo))
    strided = DoubleDouble(np.repeat(block.hi, 2, axis=1), np.repeat(block.lo, 2, axis=1))
    frozen = random_pairs(np.random.default_rng(5), (40, 4))
    frozen.hi.setflags(write=False)
    frozen.lo.setflags(write=False)
    for same in (fortran, strided[:, ::2], frozen):
        assert same_bits(exact_gram(same), exact_gram(block))


# --- sparse --------------------------------------------------------------------------------


@st.composite
def weighted_sparse(draw):
    rows, columns, k = (draw(st.integers(1, 8)), draw(st.integers(1, 4)), draw(st.integers(0, 2)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = rng.normal(size=(rows, columns)) * 2.0 ** rng.integers(-40, 40, size=(rows, columns))
    X[rng.random(X.shape) < draw(st.sampled_from([0.0, 0.5, 1.0]))] = 0.0
    return X, random_pairs(rng, (rows, k)), rng.uniform(0.1, 10, size=rows)


def sparse_result(X, dense, weight):
    data = DoubleDouble(*two_product(X.data, np.repeat(weight, np.diff(X.indptr))))
    return exact_sparse_gram(X, data, dense, dense * weight[:, None])


@given(weighted_sparse())
def test_sparse_within_its_bound(case):
    X, dense, weight = case
    result = sparse_result(sparse.csr_array(X), dense, weight)
    left = DoubleDouble(np.hstack([X, dense.hi]), np.hstack([np.zeros_like(X), dense.lo]))
    right = left * weight[:, None]
    rounding = 2 * largest(left)[:, None] * largest(right)[None, :] * len(X) / 2**104
    assert np.all(abs(exactly(result) - gram(left, right)) <= rounding)


def test_sparse_integers_are_exact():
    rng = np.random.default_rng(6)
    X = rng.integers(-(2**40), 2**40, size=(200, 5)) * (rng.random((200, 5)) < 0.2)
    dense = rng.integers(-(2**40), 2**40, size=(200, 2))
    weight = rng.integers(1, 100, size=200).astype(np.float64)
    everything = np.hstack([X, dense]).astype(object)
    exact = (everything * weight.astype(int)[:, None].astype(object)).T @ everything
    result = sparse_result(sparse.csr_array(X.astype(np.float64)), DoubleDouble.of(dense), weight)
    assert exactly(result).tolist() == exact.tolist()


def test_sparse_without_entries_and_with_entries_that_are_zero():
    dense = DoubleDouble.of(np.array([[1.0], [2.0]]))
    empty = sparse.csr_array((2, 3))
    stored = sparse.csr_array((np.zeros(2), np.array([0, 2]), np.array([0, 1, 2])), shape=(2, 3))
    for X in (empty, stored):
        result = sparse_result(X, dense, np.ones(2))
        assert result.hi.tolist() == [[0, 0, 0, 0]] * 3 + [[0, 0, 0, 5]]
        assert not result.lo.any()


def test_sparse_entries_in_any_order():
    X = sparse.csr_array(np.random.default_rng(7).normal(size=(5, 4)))
    shuffled = sparse.csr_array(
        (X.data.reshape(5, 4)[:, ::-1].ravel(), X.indices.reshape(5, 4)[:, ::-1].ravel(), X.indptr),
        shape=X.shape,
    )
    nothing = DoubleDouble.zeros((5, 0))
    one, other = (sparse_result(matrix, nothing, np.ones(5)) for matrix in (X, shuffled))
    assert same_bits(one, other)
    dense = DoubleDouble.of(X.toarray())
    assert same_bits(one, exact_gram(dense))


def test_the_oracle_itself():
    numbers, exponent = whole_pairs(DoubleDouble(np.array([1.5, -2.0]), np.array([2.0**-60, 0.0])))
    assert [n * Fraction(2) ** exponent for n in numbers] == [
        Fraction(1.5) + Fraction(2) ** -60,
        -2,
    ]
