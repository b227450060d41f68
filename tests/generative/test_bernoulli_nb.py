"""Bernoulli naive Bayes: closed form in fractions, thresholds, missing cells, no smoothing."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

import suffice
from suffice import BernoulliNB
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
