"""Complement naive Bayes: closed form in fractions, unequal classes, no smoothing."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from suffice import ComplementNB
from suffice.generative.naive_bayes.counts import of_others
from suffice.sources import Block
from tests.generative.count_rows import LAYOUTS, counts, holed

layouts = pytest.mark.parametrize("make", LAYOUTS.values(), ids=LAYOUTS)


@layouts
@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("alpha", [1.0, [1.0, 2.0, 0.5, 0.25, 3.0, 1.0]])
def test_weights(norm, alpha, make):
    X, y = counts()
    X = holed(X)
    model = ComplementNB(alpha=alpha, norm=norm).fit(make(X), y)
    rows = np.vectorize(Fraction)(np.nan_to_num(X))
    a = np.array([Fraction(one) for one in np.broadcast_to(alpha, 6)])
    for k, label in enumerate(model.classes_):
        others = rows[y != label].sum(axis=0) + a
        logs = np.log((others / others.sum()).astype(float))
        expected = logs / logs.sum() if norm else -logs
        np.testing.assert_allclose(model.feature_log_prob_[k], expected, rtol=1e-13)
        scores = np.nan_to_num(X) @ expected
        found = model.predict_joint_log_proba(make(X))[:, k]
        np.testing.assert_allclose(found, scores, rtol=1e-12, atol=1e-12)


def test_sums_of_others_do_not_cancel():
    table = np.array([[1e20, 0.1], [0.0, 0.2], [3.0, 0.0]])
    np.testing.assert_array_equal(of_others(table), [[3, 0.2], [1e20 + 3, 0.1], [1e20, 0.1 + 0.2]])
    assert not of_others(table[:1]).any()
    assert of_others(np.zeros((3, 0))).shape == (3, 0)


@layouts
def test_without_smoothing(make):
    """A word that no other class has decides for its class."""
    X = np.array([[2.0, 0, 1, 0], [0, 3, 1, 0], [0, 0, 1, 5]])
    model = ComplementNB(alpha=0).fit(make(X), ["a", "b", "c"])
    assert model.predict(make(X)).tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(model.predict_proba(make(X)), np.eye(3))
    assert np.isfinite(model.predict_proba(make(np.ones((1, 4))))).all()
    scaled = ComplementNB(alpha=0, norm=True).fit(make(X), ["a", "b", "c"])
    small = ComplementNB(alpha=1e-200, norm=True).fit(make(X), ["a", "b", "c"])
    np.testing.assert_allclose(scaled.feature_log_prob_, small.feature_log_prob_, atol=0.02)
    assert scaled.predict(make(X)).tolist() == ["a", "b", "c"]


def test_the_prior_plays_no_part():
    X, y = counts()
    model = ComplementNB().fit(X, y)
    expected = model.predict_joint_log_proba(X)
    for params in ({"fit_prior": False}, {"class_prior": [0.1, 0.1, 0.8]}, {"prior_alpha": 50}):
        other = ComplementNB(**params).fit(X, y)
        np.testing.assert_array_equal(other.predict_joint_log_proba(X), expected)
        assert not np.array_equal(other.class_log_prior_, model.class_log_prior_)


@layouts
@pytest.mark.filterwarnings("error")
def test_a_single_column_tells_nothing(make):
    """Its share of the events is 1 in every class, with a row and without it."""
    X, y = np.array([[1.0], [2], [0], [3]]), np.array([0, 0, 1, 1])
    model = ComplementNB(norm=True).fit(make(X), y)
    np.testing.assert_array_equal(model.predict_joint_log_proba(make(X)), np.zeros((4, 2)))
    found = model._leave_one_out(Block(make(X), y, None, 0))
    np.testing.assert_array_equal(found, np.zeros((4, 2)))
