"""Sums by class: exact sums, bounds on the others, missing cells, classes that come and go."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from suffice.fitting.files.shapes import check_shapes
from suffice.statistics.counts import block_totals
from suffice.statistics.counts.block_totals import NegativeCellError
from suffice.statistics.counts.sums_by_class import ClassSums
from tests.laws.specimens import assert_identical, class_sums_agree

LAYOUTS = {"dense": np.asarray, "CSR": sparse.csr_array}


def counts(n=300, d=7, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    names = np.array(["spam", "ham", "œufs"], dtype=object)[:classes]
    return rng.poisson(0.8, size=(n, d)).astype(float), names[rng.integers(0, classes, size=n)]


def exact(X, y, weight=None):
    """Sums and missing weights of each class in fractions."""
    weight = np.ones(len(X)) if weight is None else weight
    rows = [[Fraction(0) if np.isnan(x) else Fraction(x) for x in row] for row in X]
    w = [Fraction(one) for one in weight]
    labels = sorted(set(y[weight > 0].tolist()))
    sums = [
        [sum(w[i] * rows[i][j] for i in np.flatnonzero(y == k)) for j in range(X.shape[1])]
        for k in labels
    ]
    missing = [
        [sum(w[i] for i in np.flatnonzero((y == k) & np.isnan(X[:, j]))) for j in range(X.shape[1])]
        for k in labels
    ]
    return labels, np.array(sums), np.array(missing)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("make", LAYOUTS.values(), ids=LAYOUTS)
def test_whole_numbers_are_exact(make, holes, compiled, monkeypatch):
    monkeypatch.setattr(block_totals, "COMPILED_FROM", 0 if compiled else 1 << 60)
    X, y = counts()
    if holes:
        X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    weight = np.random.default_rng(2).integers(0, 4, size=len(X)).astype(float)
    found = ClassSums.summarize(make(X), y, weight)
    labels, sums, missing = exact(X, y, weight)
    assert found.labels.tolist() == labels
    assert found.is_exact
    assert (found.sums == sums).all()
    assert found.missing.shape == ((3, 7) if holes else (3, 0))
    if holes:
        assert (found.missing == missing).all()
    total = np.array([sum(weight[y == k]) for k in labels])
    np.testing.assert_array_equal(found.weight.round(), total)
    expected = total[:, None] - missing.astype(float)
    np.testing.assert_array_equal(np.broadcast_to(found.cell_weight, (3, 7)), expected)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("make", LAYOUTS.values(), ids=LAYOUTS)
def test_fractions_stay_within_the_bound(make, compiled, monkeypatch):
    monkeypatch.setattr(block_totals, "COMPILED_FROM", 0 if compiled else 1 << 60)
    rng = np.random.default_rng(4)
    X, y = counts()
    X = X * 10.0 ** rng.uniform(-6, 6, size=X.shape)
    X[rng.random(X.shape) < 0.1] = np.nan
    weight = 10.0 ** rng.uniform(-3, 3, size=len(X))
    parts = [ClassSums.summarize(make(X[i::3]), y[i::3], weight[i::3]) for i in range(3)]
    whole = ClassSums.merge(parts)
    rest = np.arange(len(X)) % 3 != 1
    for found, chosen in ((whole, slice(None)), (whole.subtract(parts[1]), rest)):
        _, sums, missing = exact(X[chosen], y[chosen], weight[chosen])
        assert not found.is_exact
        off = abs(np.vectorize(Fraction)(found.sums) - sums)
        assert (off <= np.vectorize(Fraction)(found.error)).all()
        off = abs(np.vectorize(Fraction)(found.missing) - missing)
        assert (off <= np.vectorize(Fraction)(found.weight_error)).all()
        assert found.error.max() <= 1e-13 * whole.sums.max()


def test_taking_whole_numbers_away_leaves_no_trace():
    X, y = counts()
    X[::9, 2] = np.nan
    whole = ClassSums.summarize(X, y)
    gone = np.zeros(len(X), bool)
    gone[40:170] = True
    left = whole.subtract(ClassSums.summarize(X[gone], y[gone]))
    assert_identical(left, ClassSums.summarize(X[~gone], y[~gone]))
    holed = np.isnan(X).any(axis=1)
    left = whole.subtract(ClassSums.summarize(X[holed], y[holed]))
    assert_identical(left, ClassSums.summarize(X[~holed], y[~holed]))
    assert left.missing.shape == (3, 0)


def test_classes_come_and_go():
    X, y = counts()
    early, late = y != "ham", y == "ham"
    parts = [ClassSums.summarize(X[rows], y[rows]) for rows in (early, late)]
    whole = ClassSums.merge(parts)
    assert_identical(whole, ClassSums.summarize(X, y))
    assert whole.subtract(parts[1]).labels.tolist() == ["spam", "œufs"]
    assert_identical(whole.subtract(parts[1]), parts[0])
    assert whole.subtract(whole).count == 0
    placed = parts[1].placed(whole.labels)
    assert placed.labels.tolist() == whole.labels.tolist()
    assert placed.count == parts[1].count
    assert not placed.sums[1:].any()


def test_only_rows_that_are_there_can_be_taken_away():
    X, y = counts()
    whole = ClassSums.summarize(X, y)
    for part, message in (
        (ClassSums.summarize(X[:1], np.array(["eggs"])), "rows of class 'eggs'"),
        (ClassSums.summarize(X[:1], np.array([3])), "rows of class 3"),
        (ClassSums.summarize(np.tile(X, (2, 1)), np.tile(y, 2)), "rows of class 'spam' away from"),
        (ClassSums.summarize(X[:5] + 1000, y[:5]), "more than there is"),
        (ClassSums.summarize(X[:5] * np.nan, y[:5]), "more than there is"),
        (ClassSums.summarize(X[:5], y[:5], np.full(5, 1e6)), "more weight than there is"),
    ):
        with pytest.raises(ValueError, match=message):
            whole.subtract(part)


@pytest.mark.parametrize("make", LAYOUTS.values(), ids=LAYOUTS)
def test_what_cannot_be_summed(make):
    X, y = counts(20)
    bad = X.copy()
    bad[3, 2] = -1
    with pytest.raises(NegativeCellError):
        ClassSums.summarize(make(bad), y)
    ClassSums.summarize(make(bad), y, (np.arange(20) != 3).astype(float))
    bad[3, 2] = np.inf
    with pytest.raises(FloatingPointError, match="infinity"):
        ClassSums.summarize(make(bad), y)
    y[4] = None
    with pytest.raises(FloatingPointError, match="missing label"):
        ClassSums.summarize(make(X), y)


def test_a_sum_that_may_have_been_rounded_is_not_called_exact():
    """2⁵³ + 1 reads 2⁵³, whether a block or a merge added it up."""
    large, one = np.array([[2.0**53, 1.0]]), np.array([[1.0, 0.0]])
    y = np.zeros(1, dtype=np.int64)
    in_block = ClassSums.summarize(np.vstack([large, one]), np.repeat(y, 2))
    merged = ClassSums.merge([ClassSums.summarize(X, y) for X in (large, one)])
    for found in (in_block, merged):
        assert not found.is_exact
        away = abs(int(found.sums[0, 0]) - (2**53 + 1))
        assert away <= found.error[0, 0]
    assert ClassSums.summarize(np.array([[2.0**53 - 1]]), y).is_exact


def test_sums_beyond_what_float64_counts_are_not_called_exact():
    X = np.full((3, 1), 2.0**51)
    parts = [ClassSums.summarize(X, np.zeros(3, int)) for _ in range(4)]
    assert parts[0].is_exact
    merged = ClassSums.merge(parts)
    assert not merged.is_exact
    assert merged.error[0, 0] >= 2.0
    class_sums_agree(merged.subtract(parts[0]), ClassSums.merge(parts[1:]))


def test_layouts_dtypes_and_strides_agree():
    X, y = counts(5000, 9)
    expected = ClassSums.summarize(X, y)
    forms = [np.asfortranarray(X), X.astype(np.int16), X.astype(np.float32)]
    forms += [np.repeat(X, 2, axis=1)[:, ::2], sparse.csr_array(X.astype(np.uint8))]
    wide = sparse.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for form in (*forms, wide):
        assert_identical(ClassSums.summarize(form, y), expected)
    X.flags.writeable = False
    assert_identical(ClassSums.summarize(X, y), expected)


@pytest.mark.parametrize("make", LAYOUTS.values(), ids=LAYOUTS)
def test_sums_that_overflow_together(make):
    y = np.array([0, 1])
    with pytest.raises(FloatingPointError, match="overflows"):
        ClassSums.summarize(make(np.array([[1e308, 0.0], [0.0, 1e308]])), y)
    parts = [ClassSums.summarize(make(np.diag(d)), y) for d in ([1e308, 1.0], [1.0, 1e308])]
    for some in (parts, parts[:1] * 2, parts * 2):
        with pytest.raises(ValueError, match="beyond float64's range"):
            ClassSums.merge(some)
    # So do weights, even of rows of zeros.
    zeros, heavy = make(np.zeros((2, 2))), np.array([1e308, 1.0])
    with pytest.raises(FloatingPointError, match="overflows"):
        ClassSums.summarize(zeros, y, np.full(2, 1e308))
    with pytest.raises(FloatingPointError, match="overflows"):
        ClassSums.summarize(zeros, np.zeros(2, int), np.full(2, 1e308))
    with pytest.raises(ValueError, match="beyond float64's range"):
        ClassSums.merge([ClassSums.summarize(zeros, y, heavy)] * 2)


def test_loaded_errors_are_checked():
    found = ClassSums.summarize(*counts())
    for wrong in (-1.0, np.nan, np.zeros(3), None):
        with pytest.raises(ValueError, match="its lost_weight"):
            check_shapes(replace(found, lost_weight=wrong))
    check_shapes(found)
