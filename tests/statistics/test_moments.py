"""Moments against exact rational ones: the error bound that they carry is never exceeded."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from suffice.numerics.double_double import DOUBLE_DOUBLE_UNIT, UNIT, DoubleDouble
from suffice.statistics.moments import of_block as block_moments
from suffice.statistics.moments import products
from suffice.statistics.moments.full import Moments
from suffice.statistics.moments.products import rows_per_product
from tests.numerics import rational
from tests.numerics.rational import exactly
from tests.statistics.rows import Rows, assert_within, make, mean_of, rows

PRECISIONS = ["float64", "double-double"]
every_precision = pytest.mark.parametrize("precision", PRECISIONS)
LAYOUTS = {"dense": np.asarray, "sparse": sparse.csr_array}
every_layout = pytest.mark.parametrize("layout", list(LAYOUTS))


def summarize(block, precision="float64", layout="dense"):
    return Moments.summarize(LAYOUTS[layout](block.Z), None, block.weight, precision)


def words(moments):
    """Everything that moments hold, as arrays."""
    scatter = DoubleDouble.of(moments.scatter)
    return [
        np.asarray(moments.count),
        *(np.asarray(x) for dd in (moments.weight, moments.mean, scatter) for x in (dd.hi, dd.lo)),
        moments.mean_rest,
        moments.magnitude,
        np.asarray(moments.roundings),
    ]


def identical(a, b, but_count=False):
    pairs = list(zip(words(a), words(b), strict=True))[but_count:]
    return a.precision == b.precision and all(np.array_equal(x, y) for x, y in pairs)


# --- one block -----------------------------------------------------------------------------


@every_precision
@every_layout
@given(block=rows())
def test_within_the_bound(precision, layout, block):
    result = summarize(block, precision, layout)
    if not len(block.present):
        assert identical(result, Moments.zero(block.Z.shape[1], precision))
        return
    assert_within(result, block.exact(), len(block.present))
    assert result.precision == precision


@every_precision
@given(
    Z=st.lists(
        st.tuples(rational.floats(-30, 40), rational.floats(-30, 40)), min_size=1, max_size=6
    ),
    data=st.data(),
)
def test_within_the_bound_for_numbers_one_by_one(precision, Z, data):
    # Drawn number by number, so that a failure shrinks to a readable one.
    weights = st.lists(st.floats(1e-6, 1e6), min_size=len(Z), max_size=len(Z))
    weight = data.draw(st.one_of(st.none(), weights.map(np.array)))
    block = Rows(np.array(Z), weight)
    for layout in LAYOUTS:
        assert_within(summarize(block, precision, layout), block.exact(), len(block))


@every_precision
@pytest.mark.parametrize("n", [63, 64, 65, 127, 128, 129, 256, 385, 1000])
@pytest.mark.parametrize("kind", ["normal", "drift", "outlier"])
def test_rows_around_the_length_of_a_product(precision, n, kind):
    block = make(n, n, 2, kind, "wide" if n % 2 else "none", 1e8, 1e-3)
    for layout in LAYOUTS:
        assert_within(summarize(block, precision, layout), block.exact(), n)


@every_precision
def test_a_whole_block(precision):
    for weights in ("none", "wide"):
        block = make(0, 8192, 2, "normal", weights, 1e6, 1.0)
        assert_within(summarize(block, precision), block.exact(), 8192)


@every_precision
def test_many_columns(precision):
    assert rows_per_product(129) > rows_per_product(128)
    block = make(1, 600, 130, "normal", "near one", 100.0, 1.0)
    result = summarize(block, precision)
    some = [0, 64, 129]
    part = Moments(
        count=result.count,
        weight=result.weight,
        mean=result.mean[some],
        mean_rest=result.mean_rest[some],
        scatter=result.scatter[np.ix_(some, some)],
        magnitude=result.magnitude[some],
        roundings=result.roundings,
    )
    assert_within(part, Rows(block.Z[:, some], block.weight).exact(), 600)


@every_precision
@pytest.mark.parametrize("n", [3, 129, 200, 1000])
def test_equal_rows_round_the_same_way_all_along(precision, n):
    Z = np.full((n, 2), [2187916404.272005, 1 / 3])
    Z[0] += 253.123
    for layout in LAYOUTS:
        block = Rows(Z, None)
        assert_within(summarize(block, precision, layout), block.exact(), n)


@every_precision
def test_a_drift_inside_the_block_is_centred_away(precision):
    # The first 64 rows say nothing about the others.
    rng = np.random.default_rng(2)
    Z = rng.normal(size=(1000, 2))
    Z[70:] += 1e9
    Z[70:, 1] = 1e9
    block = Rows(Z, None)
    result = summarize(block, precision)
    assert_within(result, block.exact(), 1000)
    assert np.all(result.magnitude <= 20 * np.diagonal(result.rounded_scatter))


@every_layout
def test_weights_that_differ_by_twelve_orders_of_magnitude(layout):
    # The largest entry has next to no weight, and then all the weight: what an exact product
    # leaves out must stay small next to the weighted squares.
    rng = np.random.default_rng(3)
    n = 4097
    Z = rng.uniform(0.5, 1.0, size=(n, 2))
    Z[0], Z[1], Z[5] = [1.0, -1.0], [-1.0, 1.0], [0.75, 1e-9]
    weight = 1e-6 * rng.uniform(1, 2, size=n)
    weight[5] = 1e6
    assert_within(summarize(Rows(Z, weight), "double-double", layout), Rows(Z, weight).exact(), n)
    Z[2:, 0] = 1e-9 * rng.random(n - 2)
    weight = 1e6 * rng.uniform(0.5, 1.0, size=n)
    weight[:2] = 1e-6
    assert_within(summarize(Rows(Z, weight), "double-double", layout), Rows(Z, weight).exact(), n)


@every_precision
@pytest.mark.parametrize("factor", [1e-200, 1e-140, 1e120])
def test_weights_of_any_size(precision, factor):
    block = make(4, 8, 2, "normal", "near one", 10.0, 1.0)
    block = Rows(block.Z, block.weight * factor)
    for layout in LAYOUTS:
        assert_within(summarize(block, precision, layout), block.exact(), 8)


# --- exact cases ---------------------------------------------------------------------------


@every_precision
@pytest.mark.parametrize("value", [0.0, 0.1, -1 / 3, 1e8 + 0.1, -7e100, 5e-324])
@pytest.mark.parametrize("weights", ["none", "wide"])
def test_constant_columns_have_no_scatter(precision, value, weights):
    block = make(5, 300, 2, "normal", weights, 0.0, 1.0)
    block.Z[:, 1] = value
    result = summarize(block, precision)
    assert result.mean.hi[1] == value
    assert not result.mean.lo[1]
    scatter = DoubleDouble.of(result.scatter)
    for word in (scatter.hi, scatter.lo):
        assert not word[1].any()
        assert not word[:, 1].any()
    assert result.magnitude[1] == 0.0


@every_precision
@every_layout
def test_one_row(precision, layout):
    block = Rows(np.array([[0.1, -1e8, 0.0]]), None)
    result = summarize(block, precision, layout)
    assert result.count == 1
    assert result.weight.hi == 1.0
    assert np.array_equal(result.mean.hi, block.Z[0])
    assert not result.mean.lo.any()
    assert not DoubleDouble.of(result.scatter).hi.any()


@every_precision
@every_layout
def test_small_integers_are_exact(precision, layout):
    Z = np.array([[1.0, 2.0], [3.0, 5.0], [5.0, 5.0], [7.0, 4.0]])
    result = summarize(Rows(Z, None), precision, layout)
    scatter = DoubleDouble.of(result.scatter)
    assert result.mean.round().tolist() == [4.0, 4.0]
    assert scatter.hi.tolist() == [[20.0, 6.0], [6.0, 6.0]]
    assert not scatter.lo.any()


@every_layout
@given(seed=st.integers(0, 2**32), n=st.integers(1, 8), offset=st.sampled_from([0, 1000, -(2**20)]))
def test_integer_weights_are_repetitions_exactly(layout, seed, n, offset):
    rng = np.random.default_rng(seed)
    Z = (offset + rng.integers(-999, 1000, size=(n, 2))) / 8.0
    times = rng.integers(1, 6, size=n)
    weighted = summarize(Rows(Z, times.astype(np.float64)), "double-double", layout)
    repeated = summarize(Rows(np.repeat(Z, times, axis=0), None), "double-double", layout)
    assert repeated.count == times.sum()
    assert weighted.count == n
    assert identical(weighted, repeated, but_count=True)


@every_precision
@every_layout
def test_columns_of_y_follow_those_of_x(precision, layout):
    block = make(6, 40, 4, "normal", "near one", 5.0, 2.0)
    X, Y = LAYOUTS[layout](block.Z[:, :3]), block.Z[:, 3:]
    apart = Moments.summarize(X, Y, block.weight, precision)
    assert_within(apart, block.exact(), 40)
    if layout == "dense":
        assert identical(apart, summarize(block, precision))


@every_precision
def test_no_columns(precision):
    result = Moments.summarize(np.zeros((5, 0)), None, None, precision)
    assert result.count == 5
    assert result.weight.hi == 5.0
    assert result.rounded_scatter.shape == (0, 0)


# --- what the rows come as -----------------------------------------------------------------


@every_precision
@pytest.mark.parametrize("dtype", ["f2", "f4", "i1", "u1", "i4", "i8", "u8", "?"])
def test_any_dtype(precision, dtype):
    rng = np.random.default_rng(7)
    Z = (rng.random((150, 3)) < 0.5) if dtype == "?" else rng.integers(0, 100, size=(150, 3))
    Z = Z.astype(dtype)
    if dtype[0] == "f":
        Z = (Z / 7).astype(dtype)
    expected = summarize(Rows(Z.astype(np.float64), None), precision)
    assert identical(summarize(Rows(Z, None), precision), expected)
    sparse_expected = summarize(Rows(Z.astype(np.float64), None), precision, "sparse")
    if dtype != "f2":
        assert identical(summarize(Rows(Z, None), precision, "sparse"), sparse_expected)
    assert_within(expected, Rows(Z.astype(np.float64), None).exact(), 150)


@every_precision
def test_float32_keeps_its_offset(precision):
    Z = (1e6 + np.random.default_rng(8).normal(size=(100, 2))).astype(np.float32)
    block = Rows(Z, None)
    assert_within(summarize(block, precision), Rows(Z.astype(np.float64), None).exact(), 100)


@every_precision
def test_any_stride(precision):
    block = make(9, 200, 3, "normal", "near one", 3.0, 1.0)
    expected = summarize(block, precision)
    wide = np.zeros((400, 6))
    wide[::2, ::2] = block.Z
    backwards = np.ascontiguousarray(block.Z[::-1, ::-1])[::-1, ::-1]
    frozen = block.Z.copy()
    frozen.setflags(write=False)
    for Z in (np.asfortranarray(block.Z), wide[::2, ::2], backwards, frozen):
        assert identical(summarize(Rows(Z, block.weight), precision), expected)
    weight = np.repeat(block.weight, 2)
    weight.setflags(write=False)
    assert identical(summarize(Rows(block.Z, weight[::2]), precision), expected)


@every_precision
@every_layout
def test_rows_of_weight_zero_do_not_exist(precision, layout):
    block = make(10, 30, 2, "normal", "near one", 3.0, 1.0)
    here = np.arange(30) % 3 > 0
    Z = np.where(here[:, None], block.Z, [[np.nan, np.inf]])
    expected = summarize(block[here], precision, layout)
    assert identical(summarize(Rows(Z, block.weight * here), precision, layout), expected)
    Y = Z[:, 1:]
    X = LAYOUTS[layout](Z[:, :1])
    assert Moments.summarize(X, Y, block.weight * here, precision).count == here.sum()
    nothing = summarize(Rows(Z, np.zeros(30)), precision, layout)
    assert identical(nothing, Moments.zero(2, precision))


# --- numbers that cannot be summarised -----------------------------------------------------


@every_precision
@every_layout
@pytest.mark.parametrize("weights", ["none", "near one"])
@pytest.mark.parametrize("row", [0, 1, 99])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200, -1.7e308])
def test_numbers_that_are_not_finite_or_too_large(precision, layout, weights, row, bad):
    block = make(11, 100, 2, "normal", weights, 0.0, 1.0)
    Y = block.Z[:, 1:].copy()
    for target in (block.Z, Y):
        target[row, 0] = bad
        with pytest.raises(FloatingPointError, match=r"NaN or infinite|overflow"):
            Moments.summarize(LAYOUTS[layout](block.Z), Y, block.weight, precision)
        target[row, 0] = 1.0


@every_precision
@every_layout
def test_opposite_extremes_and_rows_of_nothing_but_infinity(precision, layout):
    for Z in ([[1.7e308], [-1.7e308]], [[np.inf], [np.inf]], [[np.nan], [np.nan]]):
        with pytest.raises(FloatingPointError):
            summarize(Rows(np.array(Z), None), precision, layout)


@every_precision
@every_layout
@pytest.mark.parametrize("size", [1e100, 1e140])
def test_weighted_squares_that_overflow(precision, layout, size):
    block = Rows(np.array([[size], [-size], [0.0]]), np.full(3, 1e300))
    with pytest.raises(FloatingPointError):
        summarize(block, precision, layout)
    with pytest.raises(FloatingPointError):
        Moments.summarize(LAYOUTS[layout](np.zeros((3, 1))), block.Z, block.weight, precision)


def test_a_failure_leaves_nothing_behind():
    block = make(12, 50, 2, "normal", "none", 0.0, 1.0)
    before = summarize(block)
    with pytest.raises(FloatingPointError):
        summarize(Rows(np.full((50, 2), np.nan), None))
    assert identical(summarize(block), before)


@every_precision
@pytest.mark.parametrize("size", [5e-324, 1e-310, 1e-300, 1e-170])
def test_columns_so_small_that_their_squares_vanish(precision, size):
    # Their products with other columns do not.
    Z = np.array([[0.0, 1.0], [4 * size, 3.0], [8 * size, 5.0]])
    result = summarize(Rows(Z, None), precision)
    assert result.mean.round().tolist() == [4 * size, 3.0]
    assert result.rounded_scatter[0, 1] == result.rounded_scatter[1, 0] == 16 * size
    assert result.rounded_scatter[1, 1] == 8.0


# --- merge and subtract --------------------------------------------------------------------


@every_precision
@every_layout
@given(block=rows(), data=st.data())
def test_merged_and_subtracted_within_the_bound(precision, layout, block, data):
    block = block.present
    cut = data.draw(st.integers(0, len(block)))
    whole = summarize(block, precision, layout)
    a, b = (summarize(part, precision, layout) for part in (block[:cut], block[cut:]))
    merged = Moments.merge([a, b])
    if len(block):
        assert_within(merged, block.exact(), len(block))
    # From the merged parts, and from the one block: their means have different errors.
    for total in (merged, whole):
        left = total.subtract(b)
        if cut:
            assert_within(left, block[:cut].exact(), cut)
            assert_within(Moments.merge([b, left]), block.exact(), len(block))
        else:
            assert identical(left, Moments.zero(block.Z.shape[1], precision))


@every_precision
@given(block=rows(most=10))
def test_merged_row_by_row(precision, block):
    block = block.present
    parts = [summarize(block[i : i + 1], precision) for i in range(len(block))]
    if parts:
        assert_within(Moments.merge(parts), block.exact(), len(block))
        chain = parts[0]
        for part in parts[1:]:
            chain = Moments.merge([chain, part])
        assert_within(chain, block.exact(), len(block))
        for part in parts[:-1]:
            chain = chain.subtract(part)
        assert_within(chain, block[-1:].exact(), 1)


@every_precision
@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8, 1e12])
def test_an_offset_costs_no_digits_when_merging(precision, offset):
    block = make(13, 60, 2, "normal", "none", offset, 1.0)
    parts = [summarize(block[i : i + 20], precision) for i in (0, 20, 40)]
    merged = Moments.merge(parts)
    assert_within(merged, block.exact(), 60)
    assert_within(
        merged.subtract(parts[1]), Rows(np.delete(block.Z, slice(20, 40), 0), None).exact(), 40
    )
    # The bound has not grown with the offset either.
    assert np.all(merged.magnitude <= 8 * np.diagonal(merged.rounded_scatter))


@every_precision
def test_a_light_part_far_away_comes_first(precision):
    block = Rows(
        np.array([[1e6, 1e6], [1.0, 2.0], [-1.0, 5.0], [1.25, 2.0], [0.3, 0.1]]),
        np.array([1.0, 1e12, 1e12, 1e12, 1e12]),
    )
    parts = [summarize(block[:1], precision), summarize(block[1:3], precision)]
    parts.append(summarize(block[3:], precision))
    for order in ([0, 1, 2], [2, 1, 0], [1, 0, 2]):
        assert_within(Moments.merge([parts[k] for k in order]), block.exact(), 5)


@every_precision
@pytest.mark.parametrize("heavy", [1.0, 1e3, 1e6])
def test_forgetting_most_of_the_weight(precision, heavy):
    # What stays inherits the error of a mean that was dominated by what goes.
    rng = np.random.default_rng(14)
    Z = rng.normal(size=(12, 2)) + np.array([0.0, 50.0])
    weight = np.where(np.arange(12) < 3, 1.0, heavy)
    block = Rows(Z, weight)
    whole = summarize(block, precision)
    left = whole.subtract(summarize(block[3:], precision))
    assert_within(left, block[:3].exact(), 3)
    assert_within(
        Moments.merge([left, summarize(block[5:9], precision)]),
        Rows(Z[[0, 1, 2, 5, 6, 7, 8]], weight[[0, 1, 2, 5, 6, 7, 8]]).exact(),
        7,
    )


@every_precision
@pytest.mark.parametrize("seed", range(20))
def test_forgetting_one_row_of_nearly_all_the_weight(precision, seed):
    # What is left of the weight has lost digits, and so has the shift of the mean.
    rng = np.random.default_rng(seed)
    weight = rng.uniform(0.1, 1, size=6)
    weight[-1] = 10.0 ** rng.uniform(5, 28)
    block = Rows(rng.normal(size=(6, 2)) + 10.0 ** rng.uniform(0, 6), weight)
    rest, heavy = summarize(block[:5], precision), summarize(block[5:], precision)
    for whole in (summarize(block, precision), Moments.merge([rest, heavy])):
        left, exact = whole.subtract(heavy), block[:5].exact()
        bound = Fraction(left.error_unit) * exactly(np.sqrt(left.magnitude * (1 + 1e-15)))
        assert np.all((mean_of(left) - exact.mean) ** 2 * exact.weight <= bound**2)
        error = abs(exactly(left.scatter) - exact.scatter)
        assert np.all(error * Fraction(left.error_unit) <= np.multiply.outer(bound, bound))


@given(block=rows(columns=2), data=st.data())
def test_precisions_mix(block, data):
    block = block.present
    cut = data.draw(st.integers(0, len(block)))
    a, b = summarize(block[:cut], "float64"), summarize(block[cut:], "double-double")
    for parts in ([a, b], [b, a]):
        merged = Moments.merge(parts)
        if 0 < cut < len(block):
            assert merged.precision == "float64"
            assert_within(merged, block.exact(), len(block))
            assert_within(merged.subtract(b), block[:cut].exact(), cut)
            assert_within(merged.subtract(a), block[cut:].exact(), len(block) - cut)


def test_merging_one_part_or_nothing_but_zeros():
    a = summarize(make(15, 5, 2, "normal", "none", 0.0, 1.0))
    zero = Moments.zero(2)
    assert identical(Moments.merge([a]), a)
    assert identical(Moments.merge([zero, a, zero]), a)
    assert identical(Moments.merge([zero, zero]), zero)


def test_only_rows_that_are_there_can_be_subtracted():
    block = make(16, 6, 2, "normal", "none", 0.0, 1.0)
    all_rows, some = summarize(block), summarize(block[:2])
    with pytest.raises(ValueError, match=r"6 rows away from 2"):
        some.subtract(all_rows)
    heavy = summarize(Rows(block.Z[:2], np.full(2, 100.0)))
    with pytest.raises(ValueError, match="weight"):
        all_rows.subtract(heavy)
    assert identical(all_rows.subtract(all_rows), Moments.zero(2))
    assert identical(all_rows.subtract(Moments.zero(2)), all_rows)


# --- memory --------------------------------------------------------------------------------


@every_precision
@every_layout
def test_nothing_is_shared(precision, layout):
    rng = np.random.default_rng(17)
    X, Y, weight = rng.normal(size=(100, 3)), rng.normal(size=(100, 1)), rng.uniform(1, 2, size=100)
    inputs = [X.copy(), Y.copy(), weight.copy()]
    matrix = LAYOUTS[layout](X)
    first = Moments.summarize(matrix, Y, weight, precision)
    kept = [word.copy() for word in words(first)]
    # Another block of the same shape goes through the same working memory.
    Moments.summarize(LAYOUTS[layout](X * 3 + 1), Y - 7, weight, precision)
    for array, before in zip((X, Y, weight), inputs, strict=True):
        assert np.array_equal(array, before)
    if layout == "sparse":
        assert np.array_equal(matrix.toarray(), inputs[0])
    for array in (X, Y, weight):
        assert not any(np.shares_memory(word, array) for word in words(first))
        array[...] = -1.0
    assert all(np.array_equal(a, b) for a, b in zip(words(first), kept, strict=True))


def test_threads_do_not_disturb_each_other():
    blocks = [make(seed, 600, 3, "normal", "none", 1.0, 1.0) for seed in range(24)]
    expected = [summarize(block) for block in blocks]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as pool:
            results = list(pool.map(summarize, blocks))
    finally:
        sys.setswitchinterval(interval)
    assert all(identical(a, b) for a, b in zip(results, expected, strict=True))


def test_working_memory_grows_and_changes_its_width():
    for n, d in ((10, 2), (500, 2), (20, 2), (20, 5), (300, 1)):
        block = make(18, n, d, "normal", "none", 4.0, 1.0)
        assert_within(summarize(block), block.exact(), n)


# --- attributes ----------------------------------------------------------------------------


@every_precision
def test_zero(precision):
    zero = Moments.zero(3, precision)
    assert zero.count == 0
    assert zero.precision == precision
    assert zero.weight.hi == 0.0
    assert not zero.rounded_scatter.any()
    assert zero.rounded_scatter.shape == (3, 3)
    assert zero.error_unit > 0
    assert identical(Moments.summarize(np.zeros((0, 3)), None, None, precision), zero)
    assert identical(Moments.summarize(sparse.csr_array((0, 3)), None, None, precision), zero)


def test_precision_unit_and_bytes():
    block = make(19, 50, 3, "normal", "none", 0.0, 1.0)
    rounded, exact = (summarize(block, precision) for precision in PRECISIONS)
    assert rounded.precision == "float64"
    assert exact.precision == "double-double"
    assert rounded.error_unit == UNIT * rounded.roundings
    assert exact.error_unit == DOUBLE_DOUBLE_UNIT * exact.roundings
    assert rounded.nbytes == rounded.scatter.nbytes
    assert exact.nbytes == exact.scatter.hi.nbytes + exact.scatter.lo.nbytes
    assert exact.rounded_scatter is exact.scatter.hi
    assert rounded.rounded_scatter is rounded.scatter


@given(block=rows())
def test_means_have_three_words(block):
    # The words do not overlap, so the first alone is the mean rounded to float64.
    result = summarize(block, "double-double")
    if result.count:
        assert np.array_equal(result.mean.hi + result.mean.lo, result.mean.hi)
        assert np.all(np.abs(result.mean_rest) <= np.spacing(np.abs(result.mean.lo)))
        mean = mean_of(result)
        rounded = np.array([float(m) for m in mean])
        assert np.all(np.abs(result.mean.hi - rounded) <= np.spacing(np.abs(rounded)))


def test_the_middle_of_a_column_is_on_a_coarse_grid():
    Z = np.array([[0.1, 7.0, -1e9], [0.9, 7.0, 1e9 + 1]])
    middle = block_moments._middle(Z)
    assert middle[1] == 7.0
    assert Z[0, 0] <= middle[0] <= Z[1, 0]
    assert exactly(middle[0]).denominator <= 2**8
    assert abs(middle[2]) <= 2.0**24
    assert Fraction(middle[2]) % 1 == 0


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "columns"), [(16_384, 50), (5_000, 200), (300, 4), (100, 3)])
def test_bits_do_not_depend_on_how_many_rows_are_centred_at_once(n, columns, weighted, monkeypatch):
    noise = np.random.default_rng(n)
    X = noise.standard_normal((n, columns)) + 1e3 * (np.arange(columns) % 2)
    X[:, 0] = 7.0  # constant: its squares are below the floor
    y = noise.standard_normal((n, 1))
    weight = noise.uniform(0.5, 2.0, n) if weighted else None
    usual = words(Moments.summarize(X, y, weight))
    for cells in (1, 1 << 30):
        monkeypatch.setattr(products, "CELLS_AT_ONCE", cells)
        for ours, theirs in zip(usual, words(Moments.summarize(X, y, weight)), strict=True):
            assert ours.tobytes() == theirs.tobytes()
