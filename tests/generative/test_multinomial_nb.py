"""Multinomial naive Bayes: closed form in fractions, no smoothing, the notes' spam filter."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import multinomial

from suffice import ComplementNB, MultinomialNB, PoissonNB
from suffice.bayes import DirichletCategorical
from tests.generative.count_rows import LAYOUTS, counts, holed

layouts = pytest.mark.parametrize("make", LAYOUTS.values(), ids=LAYOUTS)


def shares(X, y, alpha):
    """(Σ counts + α) / (Σ all counts + Σ α) of each class, in fractions."""
    rows = np.vectorize(Fraction)(np.nan_to_num(X))
    sums = np.array([rows[y == k].sum(axis=0) for k in np.unique(y)])
    alpha = np.array([Fraction(a) for a in np.broadcast_to(alpha, X.shape[1])])
    return (sums + alpha) / (sums + alpha).sum(axis=1, keepdims=True)


@layouts
@pytest.mark.parametrize("alpha", [1.0, 0.125, [1.0, 2.0, 0.5, 0.25, 3.0, 1.0]])
@pytest.mark.parametrize("holes", [False, True])
def test_shares_of_events(alpha, holes, make):
    X, y = counts()
    X = holed(X) if holes else X
    model = MultinomialNB(alpha=alpha).fit(make(X), y)
    expected = shares(X, y, alpha).astype(float)
    np.testing.assert_allclose(np.exp(model.feature_log_prob_), expected, rtol=1e-14)
    np.testing.assert_allclose(np.exp(model.feature_log_prob_).sum(axis=1), 1, rtol=1e-14)
    joint = np.log(model.class_count_ / len(X)) + np.nan_to_num(X) @ np.log(expected).T
    np.testing.assert_allclose(model.predict_joint_log_proba(make(X)), joint, rtol=1e-12)
    posterior = DirichletCategorical(np.broadcast_to(alpha, 6)).given(model.feature_count_)
    np.testing.assert_allclose(np.exp(model.feature_log_prob_), posterior.mean(), rtol=1e-14)


@layouts
def test_words_that_a_class_has_never_seen(make):
    """Without smoothing they make the class impossible, and words that are absent do not matter."""
    X = np.array([[2.0, 0.0, 1.0], [0.0, 3.0, 1.0]])
    model = MultinomialNB(alpha=0).fit(make(X), ["ham", "spam"])
    assert np.isneginf(model.feature_log_prob_[0, 1])
    rows = make(np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 2.0], [1.0, 1.0, 0.0]]))
    found = model.predict_proba(rows)
    ham = (1 / 3) ** 2 / ((1 / 3) ** 2 + (1 / 4) ** 2)
    np.testing.assert_allclose(found, [[1, 0], [0, 1], [ham, 1 - ham], [0.5, 0.5]], rtol=1e-13)


def test_a_class_without_events():
    """All events are alike there, as the prior alone would have it."""
    X = np.array([[0.0, 0.0], [1.0, 2.0]])
    model = MultinomialNB(alpha=0).fit(X, [0, 1])
    np.testing.assert_allclose(np.exp(model.feature_log_prob_), [[0.5, 0.5], [1 / 3, 2 / 3]])
    model = MultinomialNB(alpha=0).fit(np.zeros((2, 3)), [0, 1])
    np.testing.assert_allclose(model.predict_proba(np.ones((1, 3))), [[0.5, 0.5]])


def test_large_counts_do_not_overflow():
    X = np.array([[1e15, 1.0], [1.0, 1e15]])
    model = MultinomialNB().fit(X, [0, 1])
    np.testing.assert_array_equal(model.predict_proba(X), np.eye(2))
    assert np.isfinite(model.predict_joint_log_proba(X * 1e80)).all()


@pytest.mark.parametrize("model", [MultinomialNB(), ComplementNB(), PoissonNB()])
def test_counts_at_the_end_of_the_range(model):
    X, y = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 1.0, 3.0]]), [0, 0, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.fit(3e149 * X, y).predict(3e149 * X).tolist() == y
    with pytest.raises(ValueError, match="finite"):
        model.set_params(alpha=10**400).fit(X, y)
    with pytest.raises(ValueError, match="finite"):
        model.set_params(alpha=1.0, class_prior=[10**400, 1]).fit(X, y)


@layouts
def test_what_is_left_out_of_the_joint_density(make):
    X, y = counts()
    model = MultinomialNB(alpha=0.5).fit(make(X), y)
    found = model.predict_joint_log_proba(make(X))
    n = X.sum(axis=1)
    left_out = gammaln(n + 1) - gammaln(X + 1).sum(axis=1)
    for k, logs in enumerate(model.feature_log_prob_):
        theta = np.exp(logs)
        density = multinomial(n, theta / theta.sum()).logpmf(X)
        np.testing.assert_allclose(
            found[:, k] + left_out, model.class_log_prior_[k] + density, rtol=1e-12
        )
