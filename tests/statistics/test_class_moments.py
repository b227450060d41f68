"""Moments by class: labels of every kind, classes that come and go, ten thousand of them."""

from __future__ import annotations

import time

import numpy as np
import pytest

from suffice.statistics.counts.labels import coded
from suffice.statistics.moments.by_class import ClassMoments
from tests.statistics.test_column_moments import PRECISIONS, assert_within

KINDS = {
    "bool": np.array([True, False, True]),
    "int": np.array([7, -3, 10**12]),
    "uint8": np.array([7, 3, 255], np.uint8),
    "float": np.array([1.0, 2.0, -5.0]),
    "large float": np.array([1e300, -1e20, 0.0]),
    "half": np.array([0.5, 1.5, -0.5]),
    "text": np.array(["grün", "blau", "赤"]),
    "objects": np.array(["grün", "", "赤"], dtype=object),
    "int objects": np.array([3, 1, 2], dtype=object),
    "bool objects": np.array([True, False, True], dtype=object),
}


def sample(values, n=200, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)) + 5, values[rng.integers(0, len(values), size=n)]


@pytest.mark.parametrize("values", KINDS.values(), ids=KINDS)
def test_labels_are_coded(values):
    _, y = sample(values)
    labels, codes = coded(y)
    expected, inverse = np.unique(y.astype(type(y[0])), return_inverse=True)
    assert labels.tolist() == expected.tolist()
    assert codes.tolist() == inverse.tolist()
    assert codes.dtype == np.int64
    assert labels.dtype.kind in "bifO"


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("values", KINDS.values(), ids=KINDS)
def test_each_class_by_itself(values, precision):
    X, y = sample(values)
    X[::7, 1] = np.nan
    weight = np.random.default_rng(1).uniform(0.5, 2, size=len(X))
    moments = ClassMoments.summarize(X, y, weight, precision)
    for k, label in enumerate(moments.labels):
        own = y == label
        assert_within(moments.columns.at(k), X[own], weight[own])
        assert moments.rows[k] == own.sum()
        assert moments.weight.round()[k] == pytest.approx(weight[own].sum(), rel=1e-15)
    assert moments.count == len(X)
    assert moments.precision == precision


def test_classes_unite_in_any_order():
    X, y = sample(np.array(["d", "a", "c", "b"]))
    order = np.argsort(y)
    cuts = [order[:30], order[30:31], order[31:150], order[150:]]
    parts = [ClassMoments.summarize(X[cut], y[cut]) for cut in cuts]
    for some in (parts, parts[::-1]):
        merged = ClassMoments.merge(some)
        assert merged.labels.tolist() == ["a", "b", "c", "d"]
        for k, label in enumerate(merged.labels):
            assert_within(merged.columns.at(k), X[y == label])


def test_a_class_leaves_with_its_last_row():
    X, y = sample(np.array([1, 2, 3]))
    whole = ClassMoments.summarize(X, y)
    rest = whole.subtract(ClassMoments.summarize(X[y == 2], y[y == 2]))
    assert rest.labels.tolist() == [1, 3]
    assert rest.rows.tolist() == [(y == 1).sum(), (y == 3).sum()]
    assert_within(rest.columns.at(1), X[y == 3])
    assert whole.subtract(whole).count == 0


def test_what_cannot_be_subtracted():
    X, y = sample(np.array(["a", "b"]))
    whole = ClassMoments.summarize(X, y)
    with pytest.raises(ValueError, match="class 'c' away: there are none"):
        whole.subtract(ClassMoments.summarize(X[:1], np.array(["c"])))
    with pytest.raises(ValueError, match="there are none"):
        whole.subtract(ClassMoments.summarize(X[:1], np.array([1])))
    twice = ClassMoments.merge([ClassMoments.summarize(X, y)] * 2)
    with pytest.raises(ValueError, match=r"rows of class 'a' away from"):
        ClassMoments.summarize(X[y == "a"], y[y == "a"]).subtract(
            ClassMoments.summarize(np.r_[X, X][:, :3], np.full(400, "a"))
        )
    with pytest.raises(ValueError, match="only rows that are part"):
        whole.subtract(twice)


def test_labels_of_two_kinds():
    X, y = sample(np.array(["a", "b"]))
    text, numbers = ClassMoments.summarize(X, y), ClassMoments.summarize(X, np.ones(200, int))
    with pytest.raises(ValueError, match="of one kind, but these are integers and text"):
        ClassMoments.merge([text, numbers])
    mixed = np.array(["a", 1, 2.0], dtype=object)
    with pytest.raises(ValueError, match=r"of one kind.*but these are float, int, str"):
        coded(mixed)
    with pytest.raises(ValueError, match="of one kind"):
        coded(np.array([True, 2], dtype=object))
    with pytest.raises(ValueError, match="accepted are booleans, integers, floats and text"):
        coded(np.array(["2020-01-01"], dtype="datetime64[D]"))
    with pytest.raises(ValueError, match="accepted are"):
        coded(np.array([2**63], dtype=np.uint64))


@pytest.mark.parametrize(
    "y", [np.array([1.0, np.nan]), np.array(["a", None], object), np.array(["a", np.nan], object)]
)
def test_a_missing_label(y):
    with pytest.raises(FloatingPointError, match="missing label"):
        ClassMoments.summarize(np.zeros((2, 1)), y)
    there = ClassMoments.summarize(np.zeros((2, 1)), y, np.array([1.0, 0.0]))
    assert there.count == 1


def test_rows_of_weight_zero_leave_no_label():
    X, y = sample(np.array(["a", "b", "c"]))
    weight = (y != "b").astype(float)
    assert ClassMoments.summarize(X, y, weight).labels.tolist() == ["a", "c"]
    assert ClassMoments.summarize(X, y, np.zeros(200)).count == 0


@pytest.mark.compiled
def test_ten_thousand_classes():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(16384, 20)), rng.integers(0, 10_000, size=16384)
    ClassMoments.summarize(X, y)  # compiles
    began = time.perf_counter()
    a, b = (ClassMoments.summarize(X[i::2], y[i::2]) for i in range(2))
    merged = ClassMoments.merge([a, b])
    assert time.perf_counter() - began < 5
    whole = ClassMoments.summarize(X, y)
    np.testing.assert_array_equal(merged.labels, whole.labels)
    np.testing.assert_allclose(merged.columns.scatter, whole.columns.scatter, atol=1e-12)
    assert merged.subtract(b).labels.tolist() == a.labels.tolist()
