"""Counts of values by class: brute force, types of values, exact subtraction, bad input."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from suffice.sources import Columns
from suffice.statistics.counts import cells as categories
from suffice.statistics.counts.values_by_class import ClassValueCounts


def brute(columns, y, weight=None):
    """Weights by class, column and value, in fractions."""
    weight = np.ones(len(y)) if weight is None else weight
    found = Counter()
    for j, column in enumerate(columns):
        for value, label, w in zip(column, y, weight, strict=True):
            if w and not (value is None or value != value):
                found[label, j, value] += Fraction(w)
    return found


def contents(counts):
    """What a statistic holds, in the same form."""
    found = Counter()
    first = counts.first
    for k, label in enumerate(counts.labels.tolist()):
        for j, values in enumerate(counts.values):
            for i, value in enumerate(values.tolist()):
                hi, lo = (float(word[k, first[j] + i]) for word in (counts.weights.hi,
                                                                    counts.weights.lo))  # fmt: skip
                if counts.counts[k, first[j] + i]:
                    found[label, j, value] = Fraction(hi) + Fraction(lo)
    return found


def mixed(n=200, seed=0):
    rng = np.random.default_rng(seed)
    names = np.array(["Ulm", "Köln", "東京", "", None], dtype=object)
    holed = rng.integers(0, 4, n).astype(float)
    holed[rng.random(n) < 0.2] = np.nan
    columns = [
        names[rng.integers(0, 5, n)],
        rng.random(n) < 0.3,
        rng.integers(0, 5, n) + 2**53,
        rng.integers(0, 3, n) / 2,
        holed,
        rng.integers(0, 9, n).astype(np.int8),
    ]
    return columns, np.array(["b", "a", "ü"], dtype=object)[rng.integers(0, 3, n)]


@pytest.mark.parametrize("weighted", [False, True])
def test_brute_force(weighted):
    columns, y = mixed()
    weight = np.random.default_rng(1).integers(0, 4, len(y)) / 4 if weighted else None
    found = ClassValueCounts.summarize(Columns(columns), y, weight)
    assert contents(found) == brute([c.tolist() for c in columns], y, weight)
    assert found.labels.tolist() == ["a", "b", "ü"]
    there = np.ones(len(y)) if weight is None else weight
    assert found.weight.round().tolist() == [there[y == k].sum() for k in ("a", "b", "ü")]
    assert found.count == np.count_nonzero(there)


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.int16, np.uint64, np.float32, bool])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_kernel_and_distinct_values_count_alike(dtype, weighted, monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2 if dtype is bool else 7, size=(300, 5)).astype(dtype)
    if X.dtype.kind == "f":
        X[rng.random(X.shape) < 0.1] = np.nan
        X[:, 1] += 0.5
        X[:, 2] = np.nan
        X[0, 3] = 1e9
    y = rng.integers(0, 3, 300)
    weight = rng.integers(1, 9, 300) / 8 if weighted else None
    found = ClassValueCounts.summarize(np.asfortranarray(X), y, weight)
    monkeypatch.setattr(categories, "COMPILED_FROM", 1)
    again = ClassValueCounts.summarize(X, y, weight)
    assert contents(again) == contents(found)
    for a, b in zip(found.values, again.values, strict=True):
        assert a.dtype == b.dtype
        assert a.tolist() == b.tolist()
    assert (found.counts == again.counts).all()


def test_whole_numbers_are_the_same_in_any_type():
    y = np.array([0, 1, 1])
    parts = [
        ClassValueCounts.summarize(np.array(cells).reshape(-1, 1), y)
        for cells in ([0, 1, 2], [0.0, 1.0, 2.0], np.array([0, 1, 2], np.uint8))
    ]
    merged = ClassValueCounts.merge(parts)
    assert merged.values[0].tolist() == [0, 1, 2]
    assert merged.values[0].dtype == np.int64
    assert merged.counts.tolist() == [[3, 0, 0], [0, 3, 3]]


def test_neighbouring_integers_stay_apart():
    X = np.array([[2**53], [2**53 + 1], [2**63 - 1], [-(2**63)]])
    found = ClassValueCounts.summarize(X, np.zeros(4, int))
    assert found.values[0].tolist() == sorted(X.ravel().tolist())
    huge = ClassValueCounts.summarize(np.array([[2**64 - 1]], np.uint64), np.zeros(1, int))
    assert huge.values[0].tolist() == [2**64 - 1]


def test_classes_and_values_may_come_late_and_leave():
    early = ClassValueCounts.summarize(np.array([[1], [3]]), np.array([5, 5]))
    late = ClassValueCounts.summarize(np.array([[2], [np.nan], [0.5]]), np.array([4, 6, 5]))
    both = ClassValueCounts.merge([early, late])
    assert both.labels.tolist() == [4, 5, 6]
    assert both.values[0].tolist() == [0.5, 1.0, 2.0, 3.0]
    assert both.counts.tolist() == [[0, 0, 1, 0], [1, 1, 0, 1], [0, 0, 0, 0]]
    rest = both.subtract(late)
    assert rest.labels.tolist() == [5]
    assert rest.values[0].tolist() == [1, 3]
    assert rest.values[0].dtype == np.int64
    assert both.subtract(early).labels.tolist() == [4, 5, 6]


def test_fractional_weights_subtract_to_the_last_digit():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, size=(500, 3)), rng.integers(0, 2, 500)
    weight = rng.uniform(0, 1, 500) * 10.0 ** rng.integers(-6, 7, 500)
    whole = ClassValueCounts.summarize(X, y, weight)
    gone = ClassValueCounts.summarize(X[50:], y[50:], weight[50:])
    left = contents(whole.subtract(gone))
    expected = brute(X[:50].T.tolist(), y[:50], weight[:50])
    assert left.keys() == expected.keys()
    error = Fraction(whole.subtract(gone).error())
    assert all(abs(left[key] - expected[key]) <= error * expected[key] for key in left)
    assert error < 1e-12


def test_all_values_missing():
    found = ClassValueCounts.summarize(
        Columns([np.full(3, np.nan), np.full(3, None)]), np.array([0, 1, 0])
    )
    assert [len(v) for v in found.values] == [0, 0]
    assert found.rows.tolist() == [2, 1]
    text = ClassValueCounts.summarize(
        Columns([np.array([1.0]), np.array(["a"], dtype=object)]), np.array([1])
    )
    merged = ClassValueCounts.merge([found, text])
    assert [v.tolist() for v in merged.values] == [[1], ["a"]]


def test_bad_input():
    y = np.array([0, 1])
    with pytest.raises(FloatingPointError, match="infinity"):
        ClassValueCounts.summarize(np.array([[1.0], [np.inf]]), y)
    numbers = ClassValueCounts.summarize(np.array([[1.0], [2.0]]), y)
    text = ClassValueCounts.summarize(Columns([np.array(["a", "b"], dtype=object)]), y)
    with pytest.raises(ValueError, match="column 0 holds text in some rows and numbers in others"):
        ClassValueCounts.merge([numbers, text])
    with pytest.raises(ValueError, match="labels must be of one kind"):
        ClassValueCounts.merge([numbers, ClassValueCounts.summarize(np.ones((1, 1)), y[:1] > 0)])
    with pytest.raises(ValueError, match="hold 7 in column 0"):
        numbers.subtract(ClassValueCounts.summarize(np.array([[7]]), y[:1]))
    with pytest.raises(ValueError, match="rows of class 3 away"):
        numbers.subtract(ClassValueCounts.summarize(np.array([[1]]), np.array([3])))
    with pytest.raises(ValueError, match="cannot take 2 rows of class 0 away from 1"):
        numbers.subtract(ClassValueCounts.summarize(np.array([[1], [1]]), np.array([0, 0])))
    both = ClassValueCounts.summarize(np.array([[1], [2]]), np.array([0, 0]))
    with pytest.raises(ValueError, match="more rows of a class than hold a value"):
        both.subtract(ClassValueCounts.summarize(np.array([[1], [1]]), np.array([0, 0])))
    heavy = ClassValueCounts.summarize(np.array([[1]]), y[:1], np.array([2.0]))
    with pytest.raises(ValueError, match="more weight than there is"):
        ClassValueCounts.merge([numbers, numbers]).subtract(heavy)
