"""Pooled moments, moments by label and fourth moments: exact sums, many classes, bad input."""

from __future__ import annotations

import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from suffice.fitting.files.decoding import checked
from suffice.statistics.moments.fourth import FourthMoments
from suffice.statistics.moments.full import Moments
from suffice.statistics.moments.labelled import LabelledMoments
from suffice.statistics.moments.pooled import PooledMoments
from tests.numerics.rational import exactly


def sample(n=60, d=3, classes=4, seed=0, offset=0.0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, size=n)
    return rng.normal(size=(n, d)) * rng.uniform(0.1, 10, d) + 5.0 * y[:, None] + offset, y


def integers(x):
    """Floats as integers, and the power of two by which they are divided."""
    mantissa, exponent = np.frexp(x)
    least = int(exponent.min()) - 53
    whole = np.ldexp(mantissa, 53).astype(np.int64).astype(object)
    return whole * (1 << (exponent - 53 - least).astype(object)), Fraction(2) ** least


def exact_scatters(X, y, weight=None):
    """About the mean of each class, in integers: fractions of so many rows take seconds."""
    X, unit = integers(X)
    w, unit_of_weights = integers(np.ones(len(X)) if weight is None else weight)
    found = []
    for k in np.unique(y):
        rows, mine = X[y == k], w[y == k]
        weighted = mine[:, None] * rows
        sums, total = weighted.sum(axis=0), int(mine.sum())
        about_zero = weighted.T.dot(rows)
        scale = unit * unit * unit_of_weights / total
        found.append((about_zero * total - np.multiply.outer(sums, sums)) * scale)
    return found


def within_bound(statistic, truth):
    root = np.sqrt(statistic.magnitude)
    allowed = statistic.error_unit * np.multiply.outer(root, root) * (1 + 1e-9)
    assert np.all(abs(exactly(statistic.scatter) - truth) <= exactly(allowed))


@pytest.mark.parametrize("precision", ["float64", "double-double"])
@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize(
    "rows", [60, *(pytest.param(n, marks=pytest.mark.compiled) for n in (7000, 11_000))]
)
def test_scatters_are_exact_to_the_bound(precision, offset, rows):
    X, y = sample(rows, offset=offset)
    weight = np.random.default_rng(1).uniform(0.1, 3, size=rows)
    truth = exact_scatters(X, y, weight)
    pooled = PooledMoments.summarize(X, y, weight, precision)
    within_bound(pooled, sum(truth))
    within_bound(pooled.within, sum(truth))
    labelled = LabelledMoments.summarize(X, y, weight, precision)
    within_bound(labelled.within, sum(truth))
    for moments, one in zip(labelled.moments, truth, strict=True):
        within_bound(moments, one)
    relative = np.abs(pooled.within.rounded_scatter / sum(truth).astype(float) - 1).max()
    assert relative < 1e-11
    # All rows about their common mean.
    whole = exact_scatters(X, np.zeros(rows), weight)[0]
    within_bound(pooled.total, whole)
    within_bound(labelled.total, whole)


@pytest.mark.parametrize("weighted", [False, True])
def test_third_and_fourth_moments(weighted):
    X, _ = sample(500, offset=1e4)
    weight = np.random.default_rng(1).uniform(0.1, 3, size=500) if weighted else None
    w = np.ones(500) if weight is None else weight
    away = X - np.average(X, axis=0, weights=w)
    found = FourthMoments.summarize(X, weight)
    third, fourth = (
        np.einsum("i,ij,ij,ik->jk", w, away, away, away),
        np.einsum("i,ij,ij,ik,ik->jk", w, away, away, away, away),
    )
    np.testing.assert_allclose(found.third, third, atol=1e-9 * np.abs(third).max())
    np.testing.assert_allclose(found.fourth, fourth, rtol=1e-11)
    scaled = found.rescaled(np.zeros(3), np.full(3, 3.0), 3)
    again = FourthMoments.summarize(X / 3.0, weight)
    np.testing.assert_allclose(scaled.fourth, again.fourth, rtol=1e-11)


def test_many_classes_share_one_scatter():
    """500 classes of 100 columns: 40 MB of scatters by class, and 0.1 MB pooled."""
    X, y = sample(2000, 100, 500)
    pooled = PooledMoments.merge([PooledMoments.summarize(X[i::2], y[i::2]) for i in range(2)])
    assert pooled.scatter.nbytes == 8 * 100**2
    assert pooled.nbytes < 5_000_000
    away = X.copy()
    for k in np.unique(y):
        away[y == k] -= X[y == k].mean(axis=0)
    scale = np.abs(pooled.scatter).max()
    np.testing.assert_allclose(pooled.scatter, away.T @ away, rtol=0, atol=1e-12 * scale)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray, np.float32])
def test_classes_summed_together_are_those_summed_apart(weighted, layout):
    """From some size on a kernel sums all classes in one pass, in an order of its own."""
    X, y = sample(9000, 6, offset=100.0)
    X = layout(X)
    weight = np.random.default_rng(1).uniform(0.1, 3, size=9000) if weighted else None
    found = LabelledMoments.summarize(X, y, weight)
    if weighted:
        again = LabelledMoments.summarize(X, y, weight.astype(np.longdouble))
        np.testing.assert_array_equal(again.within.scatter, found.within.scatter)
    for k, part in enumerate(found.parts):
        alone = Moments.summarize(X[y == k], None, None if weight is None else weight[y == k])
        assert part.count == alone.count
        assert float(part.weight.hi) == float(alone.weight.hi)
        root = np.sqrt(part.magnitude)
        units = part.error_unit + alone.error_unit
        assert (abs(part.scatter - alone.scatter) <= units * np.multiply.outer(root, root)).all()
        assert (abs(part.mean.hi - alone.mean.hi) <= units * root / np.sqrt(part.count)).all()


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("weighted", [False, True])
def test_classes_merged_together_are_exact_to_the_bound(offset, weighted):
    """Parts of unequal weight, the heaviest not the same for each class, as exact sums see them."""
    X, y = sample(400, classes=3, offset=offset)
    y[:150] = np.minimum(y[:150] + y[100:250] % 2, 2)
    weight = np.random.default_rng(2).uniform(1e-6, 3, size=400) if weighted else None
    cuts = [slice(0, 30), slice(30, 290), slice(290, 300), slice(300, 400)]
    parts = [
        LabelledMoments.summarize(X[c], y[c], None if weight is None else weight[c]) for c in cuts
    ]
    assert {tuple(part.labels) for part in parts} == {(0, 1, 2)}
    whole = LabelledMoments.merge(parts)
    apart = [Moments.merge(ones) for ones in zip(*(part.parts for part in parts), strict=True)]
    for k, (one, alone) in enumerate(zip(whole.parts, apart, strict=True)):
        within_bound(one, exact_scatters(X, y, weight)[k])
        assert (one.count, one.roundings) == (alone.count, alone.roundings)
        for name in ("weight", "mean"):
            a, b = getattr(one, name), getattr(alone, name)
            np.testing.assert_array_equal(a.hi, b.hi)
            np.testing.assert_array_equal(a.lo, b.lo)
        np.testing.assert_array_equal(one.mean_rest, alone.mean_rest)
        np.testing.assert_allclose(one.magnitude, alone.magnitude, rtol=1e-14)


def test_a_class_of_one_part_stays_as_it_is():
    X, y = sample(90, classes=3)
    parts = [LabelledMoments.summarize(X[y == k], y[y == k]) for k in range(3)]
    whole = LabelledMoments.merge(parts)
    assert [one is part.parts[0] for one, part in zip(whole.parts, parts, strict=True)] == [
        True
    ] * 3


def test_many_classes_of_many_columns_are_summed_one_by_one():
    """Where their products weigh more than the rows, no second copy of all of them is made."""
    X, y = sample(4000, 100, 20)
    found = LabelledMoments.summarize(X, y)
    for k, part in enumerate(found.parts):
        np.testing.assert_array_equal(part.scatter, Moments.summarize(X[y == k]).scatter)


def test_a_centre_far_from_the_mean_is_moved():
    """The first rows of one class are far from its others, and say nothing of their mean."""
    X, y = sample(11_000)
    X[500:][y[500:] == 2] += 1e7
    found = LabelledMoments.summarize(X, y)
    for moments, truth in zip(found.moments, exact_scatters(X, y), strict=True):
        within_bound(moments, truth)
    assert (
        found.moments[2].error_unit * found.moments[2].magnitude.max()
        < 1e-9 * np.diagonal(found.moments[2].scatter).max()
    )


def test_squares_that_underflow_are_not_taken_for_none():
    X, y = sample(11_000)
    X[:, 1] *= 1e-170
    X[y == 3, 2] = 7.0
    found = LabelledMoments.summarize(X, y)
    assert all(part.magnitude[1] > 0 for part in found.parts)
    assert [bool(part.magnitude[2] > 0) for part in found.parts] == [True, True, True, False]


def test_more_rows_than_are_summarised_at_once():
    X, y = sample(70_000, 2)
    pooled, labelled = PooledMoments.summarize(X, y), LabelledMoments.summarize(X, y)
    np.testing.assert_allclose(pooled.scatter, labelled.within.scatter, rtol=1e-11)
    assert pooled.count == labelled.count == 70_000


def test_a_forgotten_class_takes_digits_with_it():
    """The bound remembers what was large, even where its class is gone."""
    X, y = sample(300)
    large = np.random.default_rng(3).normal(size=(50, 3)) * 1e9
    both = PooledMoments.merge(
        [PooledMoments.summarize(X, y), PooledMoments.summarize(large, np.full(50, 9))]
    )
    left = both.subtract(PooledMoments.summarize(large, np.full(50, 9)))
    assert left.labels.tolist() == [0, 1, 2, 3]
    within_bound(left, sum(exact_scatters(X, y)))
    assert left.error_unit * left.magnitude.max() > 1.0


def test_what_cannot_be_subtracted():
    X, y = sample()
    for statistic in (PooledMoments, LabelledMoments):
        whole = statistic.summarize(X, y)
        with pytest.raises(ValueError, match="cannot take rows of class"):
            whole.subtract(statistic.summarize(X, y + 10))
        with pytest.raises(ValueError, match="cannot take"):
            statistic.summarize(X[:30], y[:30]).subtract(whole)
        with pytest.raises(ValueError, match="not part of the statistic"):
            whole.subtract(statistic.summarize(X[:20] * 1e3, y[:20]))
        assert not whole.subtract(whole).count


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200])
@pytest.mark.parametrize("rows", [60, 11_000])
def test_values_that_are_none(value, rows):
    X, y = sample(rows)
    X[3, 1] = value
    for summarize in (PooledMoments.summarize, LabelledMoments.summarize):
        for precision in ("float64", "double-double"):
            with pytest.raises(FloatingPointError):
                summarize(X, y, None, precision)
    with pytest.raises(FloatingPointError):
        FourthMoments.summarize(np.where(X == value, 1e160, X))


def test_labels_of_several_kinds():
    X, y = sample()
    for statistic in (PooledMoments, LabelledMoments):
        parts = [statistic.summarize(X, y), statistic.summarize(X, y.astype(str))]
        with pytest.raises(ValueError, match="labels must be of one kind"):
            statistic.merge(parts)


def test_loaded_statistics_are_checked():
    X, y = sample()
    pooled = PooledMoments.summarize(X, y)
    bad = PooledMoments(pooled.classes, pooled.scatter[:2, :2], pooled.magnitude[:2], 3)
    labelled = LabelledMoments.summarize(X, y, fourth=True)
    for statistic in (
        bad,
        LabelledMoments(labelled.labels[:2], labelled.parts, 3),
        LabelledMoments(labelled.labels, labelled.parts, 2),
        LabelledMoments(labelled.labels[:2], (labelled.parts[0], labelled.moments[1]), 3),
        replace(labelled.parts[0], third=np.zeros((2, 2))),
        replace(labelled.parts[0], height=np.ones(2)),
    ):
        with pytest.raises(ValueError, match="its "):
            checked(statistic)
    for statistic in (pooled, labelled, labelled.parts[0]):
        checked(statistic)
        assert pickle.loads(pickle.dumps(statistic)).count == statistic.count
