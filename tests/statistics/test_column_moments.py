"""Moments of columns with missing cells: against exact fractions, within the promised bounds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.statistics.moments import of_columns as column_sums
from suffice.statistics.moments.columns import ColumnMoments
from suffice.statistics.moments.full import Moments
from tests.numerics.rational import U, exactly
from tests.statistics.rows import make, mean_of, rows

PRECISIONS = ["float64", "double-double"]


def exact_column(x, weight):
    """Count, weight, mean and scatter of the cells of a column that are there."""
    there = ~np.isnan(x) & (weight > 0)
    x, w = exactly(x[there]), exactly(weight[there])
    if not len(x):
        return 0, Fraction(0), Fraction(0), Fraction(0)
    total = sum(w)
    mean = sum(w * x) / total
    return len(x), total, mean, sum(w * (x - mean) ** 2)


def assert_within(moments, X, weight=None):
    weight = np.ones(len(X)) if weight is None else weight
    unit = Fraction(moments.error_unit)
    for j in range(X.shape[1]):
        count, total, mean, scatter = exact_column(X[:, j], weight)
        one = moments.at(j)
        magnitude = exactly(one.magnitude)
        assert one.count == count
        assert abs(exactly(one.weight) - total) <= 3 * count * U**2 * total
        assert (mean_of(one) - mean) ** 2 * total <= unit**2 * magnitude
        assert abs(exactly(one.scatter) - scatter) <= unit * magnitude
        assert magnitude >= scatter * (1 - 2 * unit - 8 * U)


@pytest.fixture(params=["numpy", "kernels"])
def _route(request, monkeypatch):
    monkeypatch.setattr(column_sums, "COMPILED_FROM", 0 if request.param == "kernels" else 1 << 40)


@pytest.mark.usefixtures("_route")
@pytest.mark.parametrize("precision", PRECISIONS)
@given(block=rows(), seed=st.integers(0, 99), share=st.sampled_from([0.0, 0.3, 0.9]))
def test_within_the_bounds(precision, block, seed, share):
    X = np.where(np.random.default_rng(seed).random(block.Z.shape) < share, np.nan, block.Z)
    assert_within(ColumnMoments.summarize(X, block.weight, precision), X, block.weight)


@pytest.mark.usefixtures("_route")
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("kind", ["drift", "outlier", "one heavy row"])
def test_many_rows_that_are_hard(precision, kind):
    block = make(3, 700, 2, kind, "none", 1e9, 1.0)
    moments = ColumnMoments.summarize(block.Z, block.weight, precision)
    assert_within(moments, block.Z, block.weight)
    # Nor is the bound an excuse.
    assert (moments.magnitude <= 50 * moments.rounded_scatter).all()


@pytest.mark.usefixtures("_route")
@pytest.mark.parametrize("precision", PRECISIONS)
def test_constant_columns_have_no_scatter(precision):
    X = np.full((100, 3), 0.1)
    X[:60, 1] = np.nan
    X[:, 2] = np.nan
    parts = [ColumnMoments.summarize(X[i : i + 9], None, precision) for i in range(0, 100, 9)]
    for moments in (ColumnMoments.summarize(X, None, precision), ColumnMoments.merge(parts)):
        assert moments.count.tolist() == [100, 40, 0]
        assert moments.mean.round().tolist() == [0.1, 0.1, 0.0]
        assert moments.rounded_scatter.tolist() == [0.0, 0.0, 0.0]
        assert moments.magnitude.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.usefixtures("_route")
@pytest.mark.parametrize("precision", PRECISIONS)
def test_tiny_values_are_not_constant(precision):
    X = np.array([[1e-170, 0.0], [-1e-170, 0.0]])
    moments = ColumnMoments.summarize(X, None, precision)
    assert moments.magnitude[0] > 0
    assert moments.magnitude[1] == 0


@pytest.mark.usefixtures("_route")
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e200])
def test_values_too_large(precision, value):
    X = np.array([[1.0, 2.0], [3.0, value], [np.nan, 5.0]])
    with pytest.raises(FloatingPointError, match="too large"):
        ColumnMoments.summarize(X, None, precision)
    ignored = ColumnMoments.summarize(X, np.array([1.0, 0.0, 1.0]), precision)
    assert ignored.mean.round().tolist() == [1.0, 3.5]


@pytest.mark.parametrize("dtype", ["float32", "int16", "bool", "uint8"])
def test_any_dtype_and_stride(dtype):
    X = np.random.default_rng(0).integers(0, 2, size=(40, 6)).astype(dtype)
    for form in (X, X[::-2, ::2], np.asfortranarray(X), X.T):
        plain = ColumnMoments.summarize(np.array(form, dtype=float, order="C"))
        moments = ColumnMoments.summarize(form)
        assert moments.scatter.tobytes() == plain.scatter.tobytes()


@pytest.mark.parametrize("precision", PRECISIONS)
@given(block=rows(most=20), seed=st.integers(0, 99))
def test_parts_merge_and_subtract_within_the_bounds(precision, block, seed):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random(block.Z.shape) < 0.3, np.nan, block.Z)
    weight = np.ones(len(X)) if block.weight is None else block.weight
    part = rng.integers(0, 3, size=len(X))
    parts = [ColumnMoments.summarize(X[part == k], weight[part == k], precision) for k in range(3)]
    whole = ColumnMoments.merge(parts)
    assert_within(whole, X, weight)
    assert_within(whole.subtract(parts[0]), X[part > 0], weight[part > 0])


def test_groups_are_blocks_of_their_own():
    rng = np.random.default_rng(5)
    X, codes = rng.normal(size=(300, 4)), rng.integers(0, 5, size=300)
    codes[codes == 2] = 3
    groups = ColumnMoments.summarize_groups(X, codes, 5)
    for k in range(5):
        assert_within(groups.at(k), X[codes == k])
    assert_within(groups.merged(), X)
    assert groups.count[2].tolist() == [0] * 4


def test_the_diagonal_of_full_moments():
    X = np.random.default_rng(1).normal(size=(50, 3)) + 1e6
    for precision in PRECISIONS:
        assert_within(ColumnMoments.diagonal(Moments.summarize(X, None, None, precision)), X)


def test_more_cannot_be_taken_than_there_is():
    few, many = (ColumnMoments.summarize(np.arange(n, dtype=float)[:, None]) for n in (3, 5))
    with pytest.raises(ValueError, match="more cells than a column has"):
        few.subtract(many)
    heavy = ColumnMoments.summarize(np.zeros((1, 1)), np.array([9.0]))
    with pytest.raises(ValueError, match="more weight"):
        few.subtract(heavy)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_subtracting_is_honest(precision):
    """Ten rows at 1e6 among a thousand: the bound says what is left of the digits."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 1))
    huge = 1e6 + rng.normal(size=(10, 1))
    whole = ColumnMoments.summarize(np.r_[X, huge], None, precision)
    rest = whole.subtract(ColumnMoments.summarize(huge, None, precision))
    assert_within(rest, X)
    relative = rest.error_unit * rest.magnitude / rest.rounded_scatter
    assert (relative < 1e-15) == (precision == "double-double")


def test_bytes():
    assert ColumnMoments.zero(10).nbytes < ColumnMoments.zero(10, "double-double").nbytes
