"""What statistics share: rows that exist, places among more classes, common means, squares."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array

from suffice.numerics.double_double import DoubleDouble
from suffice.statistics.base import present
from suffice.statistics.moments import products
from suffice.statistics.moments.full import Moments
from suffice.statistics.moments.merging import common_mean, mapped, placed, stacked


def exactly(value: DoubleDouble) -> list[Fraction]:
    pairs = zip(value.hi.ravel().tolist(), value.lo.ravel().tolist(), strict=True)
    return [Fraction(hi) + Fraction(lo) for hi, lo in pairs]


def test_rows_of_weight_zero_do_not_exist():
    weight, X, y = np.array([1.0, 0.0, 2.0]), np.arange(6.0).reshape(3, 2), np.array(list("abc"))
    X[1] = np.nan
    w, rows, labels, nothing = present(weight, X, y, None)
    assert w.tolist() == [1.0, 2.0]
    assert rows.tolist() == [[0.0, 1.0], [4.0, 5.0]]
    assert labels.tolist() == ["a", "c"]
    assert nothing is None
    _, sparse = present(weight, csr_array(np.eye(3)))
    assert sparse.toarray().tolist() == [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]


def test_where_all_rows_exist_nothing_is_copied():
    weight, X = np.array([1.0, 2.0]), np.eye(2)
    assert present(None, X) == (None, X)
    found = present(weight, X)
    assert found[0] is weight
    assert found[1] is X


@pytest.mark.parametrize("double", [False, True])
def test_places(double):
    values = np.array([[1.0, 2.0], [3.0, 4.0]])
    given = DoubleDouble(values, values * 2.0**-60) if double else values
    found = placed(given, np.array([2, 0]), 4)
    expected = np.array([[3.0, 4.0], [0.0, 0.0], [1.0, 2.0], [0.0, 0.0]])
    assert np.array_equal(found.hi if double else found, expected)
    if double:
        assert np.array_equal(found.lo, expected * 2.0**-60)
    counts = placed(np.array([5, 7]), np.array([0, 2]), 3)
    assert counts.tolist() == [5, 0, 7]
    assert counts.dtype == np.int64


def test_a_function_of_each_word():
    pair = DoubleDouble(np.array([1.0, 2.0]), np.array([2.0**-60, 0.0]))
    turned = mapped(lambda words: words[::-1], pair)
    assert turned.hi.tolist() == [2.0, 1.0]
    assert turned.lo.tolist() == [0.0, 2.0**-60]
    assert mapped(np.add, np.ones(2), np.ones(2)).tolist() == [2.0, 2.0]


def test_the_common_mean_against_fractions():
    rng = np.random.default_rng(3)
    means = 1e8 + rng.normal(size=(5, 3))
    weights = rng.integers(1, 9, 5).astype(float)
    pairs = stacked([DoubleDouble.of(row) for row in means])
    mean, rest, distances = common_mean(pairs, np.zeros((5, 3)), DoubleDouble.of(weights))
    total = sum(map(Fraction, weights))
    found = [a + Fraction(b) for a, b in zip(exactly(mean), rest.tolist(), strict=True)]
    for j in range(3):
        column = [Fraction(x) for x in means[:, j].tolist()]
        each = zip(weights.tolist(), column, strict=True)
        truth = sum(Fraction(w) * x for w, x in each) / total
        assert abs(found[j] - truth) <= Fraction(2) ** -95
        away = exactly(distances[:, j])
        for x, distance in zip(column, away, strict=True):
            assert abs(distance - (x - truth)) <= Fraction(2) ** -90


@pytest.mark.parametrize("exact", [False, True])
def test_squares_of_more_rows_than_one_product_takes(exact, monkeypatch):
    rng = np.random.default_rng(4)
    distances = DoubleDouble.of(rng.normal(size=(23, 4)))
    weights = DoubleDouble.of(rng.integers(1, 9, 23).astype(float))
    whole = products.squares_of(distances, weights, exact)
    monkeypatch.setattr(products, "MOST_ROWS", 5)
    cut = products.squares_of(distances, weights, exact)
    for found in (whole, cut):
        pairs = exactly(DoubleDouble.of(found))
        bound = Fraction(2) ** (-90 if exact else -40)
        for i, j in ((0, 0), (1, 3)):
            left, right = distances.hi[:, i].tolist(), distances.hi[:, j].tolist()
            each = zip(weights.hi.tolist(), left, right, strict=True)
            truth = sum(Fraction(w) * Fraction(a) * Fraction(b) for w, a, b in each)
            assert abs(pairs[4 * i + j] - truth) <= bound


def test_rows_are_cut_up_in_order(monkeypatch):
    monkeypatch.setattr(products, "MOST_ROWS", 4)
    X, weight = np.arange(9.0)[:, None], np.arange(9.0)
    parts = list(products.cut_up(X, None, weight))
    assert [len(rows) for rows, _, _ in parts] == [4, 4, 1]
    assert all(nothing is None for _, nothing, _ in parts)
    assert np.array_equal(np.concatenate([rows for rows, _, _ in parts]), X)
    assert np.array_equal(np.concatenate([w for _, _, w in parts]), weight)


def test_exact_moments_of_more_parts_than_one_product_takes(monkeypatch):
    X = np.random.default_rng(5).normal(size=(40, 3))
    whole = Moments.summarize(X, precision="double-double")
    monkeypatch.setattr(products, "MOST_ROWS", 7)
    parts = [Moments.summarize(row[None], precision="double-double") for row in X]
    apart = Moments.merge(parts)
    gap = np.abs((apart.scatter - whole.scatter).hi)
    root = np.sqrt(whole.magnitude)
    assert (gap <= (apart.error_unit + whole.error_unit) * np.outer(root, root)).all()
