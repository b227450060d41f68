"""Bernoulli naive Bayes: closed form in fractions, thresholds, missing cells, no smoothing."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, LeaveOneOut, StratifiedKFold

import suffice
from suffice import BernoulliNB, PoissonNB
from suffice.bayes import BetaBernoulli
from suffice.sources import Block
from tests.generative.count_rows import LAYOUTS, counts, holed

layouts = pytest.mark.parametrize("make", LAYOUTS.values(), ids=LAYOUTS)


@layouts
@pytest.mark.parametrize("alpha", [1.0, 0.125, [1.0, 2.0, 0.5, 0.25, 3.0, 1.0]])
@pytest.mark.parametrize("threshold", [0.0, 1.5])
@pytest.mark.parametrize("holes", [False, True])
def test_shares_of_rows(alpha, threshold, holes, make):
    """(ones + α) / (known + 2α), and the product over the cells that are there."""
    X, y = counts()
    X = holed(X) if holes else X
    known = ~np.isnan(X)
    model = BernoulliNB(alpha=alpha, binarize=threshold).fit(make(X), y)
    a = [Fraction(one) for one in np.broadcast_to(alpha, 6)]
    p = np.array(
        [
            [
                (int((X[y == k, j] > threshold).sum()) + a[j])
                / (int(known[y == k, j].sum()) + 2 * a[j])
                for j in range(6)
            ]
            for k in model.classes_
        ]
    )
    np.testing.assert_allclose(np.exp(model.feature_log_prob_), p.astype(float), rtol=1e-14)
    np.testing.assert_allclose(np.exp(model.absent_log_prob_), (1 - p).astype(float), rtol=1e-14)
    on = np.nan_to_num(X) > threshold
    logs = (
        np.where(on[:, None, :], np.log(p.astype(float)), np.log((1 - p).astype(float)))
        * known[:, None, :]
    )
    expected = model.class_log_prior_ + logs.sum(axis=2)
    np.testing.assert_allclose(model.predict_joint_log_proba(make(X)), expected, rtol=1e-12)
    ones = model.feature_count_
    zeros = np.array([known[y == k].sum(axis=0) for k in model.classes_]) - ones
    posterior = BetaBernoulli(np.broadcast_to(alpha, 6), np.broadcast_to(alpha, 6))
    mean = posterior.given(ones, zeros).mean()
    np.testing.assert_allclose(np.exp(model.feature_log_prob_), mean, rtol=1e-14)


def test_booleans_and_integers():
    X, y = counts()
    expected = BernoulliNB().fit(X, y).feature_log_prob_
    for form in (X > 0, (X > 0).astype(np.int8), X.astype(np.float32), sparse.csr_array(X > 0)):
        for threshold in (0.0, None):
            if threshold is None and form.dtype == np.float32:
                continue
            model = BernoulliNB(binarize=threshold).fit(form, y)
            np.testing.assert_array_equal(model.feature_log_prob_, expected)


def test_values_between_0_and_1_are_shares_of_a_row():
    X, y = counts()
    X = np.minimum(X, 4) / 4
    model = BernoulliNB(binarize=None).fit(X, y)
    first = X[y == model.classes_[0]]
    p = (first.sum(axis=0) + 1) / (len(first) + 2)
    np.testing.assert_allclose(np.exp(model.feature_log_prob_[0]), p, rtol=1e-13)
    expected = model.class_log_prior_[0] + X @ np.log(p) + (1 - X) @ np.log(1 - p)
    np.testing.assert_allclose(model.predict_joint_log_proba(X)[:, 0], expected, rtol=1e-11)
    for bad in (X * 8, X - 0.5, sparse.csr_array(X * 8)):
        with pytest.raises(ValueError, match="from 0 to 1"):
            BernoulliNB(binarize=None).fit(bad, y)
        with pytest.raises(ValueError, match="from 0 to 1"):
            model.predict(bad)
    weight = np.ones(len(X))
    X[3], weight[3] = 9, 0
    BernoulliNB(binarize=None).fit(X, y, weight)


@layouts
@pytest.mark.parametrize("weighted", [False, True])
def test_without_smoothing(weighted, make):
    """Columns that are always on or always off make some rows impossible, and others not NaN."""
    X = np.array([[1.0, 1, 0], [1, 0, 0], [1, 1, 1], [0, 1, 1], [0, 0, 1]])
    y = np.array([0, 0, 0, 1, 1])
    weight = np.array([0.1, 0.3, 0.7, 0.2, 0.9]) if weighted else np.ones(5)
    model = BernoulliNB(alpha=0).fit(make(X), y, weight)
    assert model.certificate_.holds
    found = model.predict_joint_log_proba(make(X))
    for k, other in ((0, 1), (1, 0)):
        mine = X[y == k]
        p = weight[y == k] @ mine / weight[y == k].sum()
        prior = weight[y == k].sum() / weight.sum()
        expected = np.log(prior * np.where(mine > 0, p, 1 - p).prod(axis=1))
        np.testing.assert_allclose(found[y == k, k], expected, rtol=1e-13)
        assert np.isneginf(found[y == k, other]).all()


def test_a_class_without_a_value_borrows_from_all():
    X = np.array([[1.0, 1], [1, 0], [0, np.nan], [1, np.nan]])
    model = BernoulliNB(alpha=0).fit(X, [0, 0, 1, 1])
    np.testing.assert_allclose(np.exp(model.feature_log_prob_[1]), [0.5, 0.5])
    smoothed = BernoulliNB(alpha=[1, 0]).fit(X, [0, 0, 1, 1])
    np.testing.assert_allclose(np.exp(smoothed.feature_log_prob_[1]), [0.5, 0.5])
    np.testing.assert_allclose(
        np.exp(BernoulliNB().fit(X, [0, 0, 1, 1]).feature_log_prob_[1, 1]), 0.5
    )


@layouts
@pytest.mark.parametrize("holes", [False, True])
def test_heavy_classes_take_no_digits_from_light_ones(holes, make):
    """What rounding does to the sums of one class says nothing about those of another."""
    X = np.array([[1.0, 0, 1], [0, 1, 1], [1, 1, 0], [1, 0, 1], [0, 0, 0], [0, 1, 0]])
    y = np.array([0, 0, 0, 1, 1, 1])
    if holes:
        X[:3, 2] = np.nan
    weight = np.array([0.3e15, 0.1e15, 0.7e15, 0.1, 0.3, 0.2])
    model = BernoulliNB(alpha=0).fit(make(X), y, weight)
    alone = BernoulliNB(alpha=0).fit(make(X[3:]), y[3:], weight[3:])
    assert model.certificate_.holds
    np.testing.assert_allclose(np.exp(model.feature_log_prob_[1]), [1 / 6, 1 / 3, 1 / 6])
    np.testing.assert_array_equal(model.feature_log_prob_[1], alone.feature_log_prob_[0])
    np.testing.assert_array_equal(model.absent_log_prob_[1], alone.absent_log_prob_[0])
    found = model._leave_one_out(Block(make(X), y, weight, 0))
    rest = BernoulliNB(alpha=0).fit(make(X[[3, 4]]), y[[3, 4]], weight[[3, 4]])
    expected = rest.predict_joint_log_proba(make(X[5:])) - rest.class_log_prior_
    prior = np.log(weight[3:5].sum()) - np.log(weight[:5].sum())
    np.testing.assert_allclose(found[5, 1], expected[0, 0] + prior, rtol=1e-12)


def test_a_threshold_changed_after_the_fit_changes_nothing(tmp_path):
    X, y = counts()
    whole = BernoulliNB(binarize=1.0).fit(X, y)
    model = BernoulliNB(binarize=1.0).fit(X[:200], y[:200])
    model.set_params(binarize=0.0).update(X[200:], y[200:])
    model.save(tmp_path / "model")
    for one in (model, suffice.load(tmp_path / "model")):
        np.testing.assert_array_equal(one.feature_count_, whole.feature_count_)
        np.testing.assert_array_equal(one.predict_log_proba(X), whole.predict_log_proba(X))
        block = Block(X, y, None, 0)
        np.testing.assert_array_equal(one._leave_one_out(block), whole._leave_one_out(block))
    parts = [BernoulliNB(binarize=1.0).fit(X[i::2], y[i::2]) for i in (0, 1)]
    merged = (parts[0] + parts[1]).set_params(binarize=0.0)
    np.testing.assert_array_equal(merged.predict_log_proba(X), whole.predict_log_proba(X))
    anew = model.fit(X, y)
    expected = BernoulliNB().fit(X, y)
    np.testing.assert_array_equal(anew.predict_log_proba(X), expected.predict_log_proba(X))


def test_counts_of_different_thresholds_do_not_merge():
    """Whatever the parameter says by now."""
    X, y = counts()
    one = BernoulliNB(binarize=0.0).fit(X, y)
    other = BernoulliNB(binarize=5.0).fit(X, y).set_params(binarize=0.0)
    for pair in ((one, other), (other, one)):
        with pytest.raises(ValueError, match=r"fitted with binarize=[05]\.0 and binarize=[05]\.0"):
            suffice.merge(*pair)
    twice = one + BernoulliNB(binarize=0.0).fit(X, y)
    np.testing.assert_array_equal(twice.feature_count_, 2 * one.feature_count_)


def test_entries_of_one_cell_are_added_up():
    """1 and 2 twice in one cell of a CSR matrix are a 3, in a fit as in a prediction."""
    entries = np.array([1.0, 2.0, 0.5, 0.5, 2.0, 2.0, 1.0])
    form = [0, 0, 1, 1, 1, 0, 2], [0, 3, 5, 7, 7]
    S, y = sparse.csr_matrix((entries, *form), shape=(4, 3)), np.array([0, 0, 1, 1])
    X = S.toarray()
    for threshold in (0.0, 1.5):
        model, dense = (BernoulliNB(binarize=threshold).fit(rows, y) for rows in (S, X))
        for method in ("predict_joint_log_proba", "predict_proba", "predict"):
            found, expected = getattr(model, method)(S), getattr(dense, method)(X)
            np.testing.assert_array_equal(found, expected)
        assert model.score(S, y) == dense.score(X, y)
        for cv in (LeaveOneOut(), KFold(4), StratifiedKFold(2)):
            for scoring in ("accuracy", "neg_log_loss"):
                if scoring == "neg_log_loss" and not isinstance(cv, StratifiedKFold):
                    continue
                found, expected = (
                    suffice.cross_validate(BernoulliNB(binarize=threshold), rows, y, cv=cv,
                                           scoring=scoring)["test_score"]
                    for rows in (S, X)
                )  # fmt: skip
                np.testing.assert_allclose(found, expected, rtol=1e-12)
    # The matrix is as it was.
    np.testing.assert_array_equal(S.data, entries)
    np.testing.assert_array_equal(S.indices, form[0])


def test_errors_of_missing_weights_are_admitted():
    """What is off is a difference of weights, and has the error of those that are missing."""
    rng = np.random.default_rng(0)
    X = np.concatenate([np.full(50, np.nan), [1.0, 0.0, 1.0, 0.0]])[:, None]
    y = np.array([0] * 52 + [1] * 2)
    weight = np.concatenate([rng.uniform(1e10, 2e10, 50), [0.7, 0.9, 0.3, 0.6]])
    with pytest.warns(ConvergenceWarning, match="not proved"):
        model = BernoulliNB(alpha=0).fit(X, y, weight)
    off = abs(np.exp(model.absent_log_prob_[0, 0]) / (0.9 / 1.6) - 1)
    assert 1e-8 < off <= model.certificate_.error


@pytest.mark.parametrize(
    ("model", "cells"),
    [(BernoulliNB(alpha=1e-3), [0.0, 1.0, 0.0]), (PoissonNB(beta=0), [0.0, np.nan, 3.0])],
    ids=["off", "known"],
)
def test_errors_of_the_weight_are_those_of_what_is_left_of_it(model, cells):
    """Of a class of 10⁶ rows all digits are there, of the one row of them that counts none."""
    X, y = np.array([*cells, 1.0])[:, None], np.array([0, 0, 0, 1])
    weight = np.array([1e23, 1e6 + 0.3, 1.2, 1.0])
    model = clone(model).fit(X, y, weight)
    with pytest.raises(ValueError, match="digits could be guaranteed"):
        model.forget(X[:1], y[:1], weight[:1])
    assert model.class_count_[0] > 1e22


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_columns_that_are_always_on_are_never_off():
    """However the weights round: what a sum errs by is no weight of its own."""
    rng = np.random.default_rng(1)
    for n in (2, 3, 10, 1000):
        weight = 10.0 ** rng.uniform(-3, 12, size=2 * n)
        X = np.column_stack([np.ones(2 * n), rng.random(2 * n) < 0.5])
        y = np.arange(2 * n) % 2
        for start in (0, n // 2):
            model = BernoulliNB(alpha=0).fit(X, y, weight)
            if start:
                model.forget(X[:start], y[:start], weight[:start], digits=0)
            assert np.isneginf(model.absent_log_prob_[:, 0]).all()
    # Beside heavy cells that are missing, or were taken away, they are not off either.
    for x in (np.nan, 0.0) * 8:
        X, y = np.concatenate([np.full(50, x), np.ones(20)])[:, None], np.zeros(70, int)
        heavy = rng.uniform(1e10, 2e25 if x == 0 else 2e10, size=50)
        weight = np.concatenate([heavy, rng.uniform(0.1, 1, size=20)])
        model = BernoulliNB(alpha=0).fit(X, y, weight)
        if x == 0:
            model.forget(X[:50], y[:50], weight[:50], digits=0)
        assert np.isneginf(model.absent_log_prob_[0, 0])
