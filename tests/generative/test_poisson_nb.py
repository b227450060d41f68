"""Poisson naive Bayes: closed form in fractions, densities, the logistic form, no smoothing."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.special import gammaln, softmax
from scipy.stats import poisson

from suffice import GaussianNB, PoissonNB
from suffice.bayes import GammaPoisson
from tests.generative.count_rows import LAYOUTS, counts, holed

layouts = pytest.mark.parametrize("make", LAYOUTS.values(), ids=LAYOUTS)


@layouts
@pytest.mark.parametrize(
    ("alpha", "beta"), [(1.0, 1.0), (0.5, 0.0), ([1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1])]
)
@pytest.mark.parametrize("holes", [False, True])
def test_rates(alpha, beta, holes, make):
    """(events + α) / (rows + β) in fractions."""
    X, y = counts()
    X = holed(X) if holes else X
    model = PoissonNB(alpha=alpha, beta=beta).fit(make(X), y)
    rows = np.vectorize(Fraction)(np.nan_to_num(X))
    a, b = (np.array([Fraction(v) for v in np.broadcast_to(one, 6)]) for one in (alpha, beta))
    for k, label in enumerate(model.classes_):
        mine = y == label
        known = np.array([int(n) for n in (~np.isnan(X[mine])).sum(axis=0)])
        expected = (rows[mine].sum(axis=0) + a) / (known + b)
        np.testing.assert_allclose(model.rate_[k], expected.astype(float), rtol=1e-15)
        posterior = GammaPoisson(np.broadcast_to(alpha, 6), np.broadcast_to(beta, 6))
        np.testing.assert_allclose(
            model.rate_[k], posterior.given(np.nansum(X[mine], axis=0), known).mean(), rtol=1e-15
        )


@layouts
def test_densities(make):
    """The posterior is that of Poisson densities, over the cells that are there."""
    X, y = counts()
    model = PoissonNB().fit(X, y)
    X = holed(X)
    logs = poisson.logpmf(np.nan_to_num(X)[:, None, :], model.rate_)
    joint = model.class_log_prior_ + np.where(np.isnan(X)[:, None, :], 0, logs).sum(axis=2)
    np.testing.assert_allclose(
        model.predict_proba(make(X)), softmax(joint, axis=1), rtol=1e-11, atol=1e-14
    )
    left_out = -np.nansum(gammaln(X + 1), axis=1)
    np.testing.assert_allclose(
        model.predict_joint_log_proba(make(X)) + left_out[:, None], joint, rtol=1e-11
    )


@pytest.mark.parametrize("classes", [2, 4])
def test_the_posterior_is_logistic(classes):
    X, y = counts(classes=classes)
    model = PoissonNB().fit(X, y)
    scores = X @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(model.predict_proba(X), softmax(scores, axis=1), rtol=1e-12)
    np.testing.assert_allclose(model.predict_joint_log_proba(X), scores, rtol=1e-12)
    if classes == 2:
        w = np.log(model.rate_[1] / model.rate_[0])
        b = (model.rate_[0] - model.rate_[1]).sum() + np.diff(model.class_log_prior_)[0]
        sigmoid = 1 / (1 + np.exp(-(X @ w + b)))
        np.testing.assert_allclose(model.predict_proba(X)[:, 1], sigmoid, rtol=1e-11)
        fresh = model.refit(class_prior=[0.3, 0.7])
        np.testing.assert_allclose(
            fresh.predict_joint_log_proba(X), X @ fresh.coef_.T + fresh.intercept_
        )


@pytest.mark.parametrize("classes", [2, 4])
def test_tied_gaussians_are_logistic_too(classes):
    """w = (θ₁ − θ₀) / v, and with more classes one such vector for each."""
    X, y = counts(classes=classes)
    model = GaussianNB(tied_variance=True).fit(X, y)
    v = model.var_[0]
    scores = X @ (model.theta_ / v).T - 0.5 * (model.theta_**2 / v).sum(axis=1)
    scores = scores + np.log(model.class_prior_)
    found = model.predict_proba(X)
    np.testing.assert_allclose(found, softmax(scores, axis=1), rtol=1e-10, atol=1e-14)
    if classes == 2:
        w = (model.theta_[1] - model.theta_[0]) / v
        b = 0.5 * ((model.theta_[0] ** 2 - model.theta_[1] ** 2) / v).sum()
        b += np.log(model.class_prior_[1] / model.class_prior_[0])
        np.testing.assert_allclose(found[:, 1], 1 / (1 + np.exp(-(X @ w + b))), rtol=1e-10)


@layouts
def test_without_smoothing(make):
    X = np.array([[2.0, 0], [4, 0], [0, 3], [0, 1]])
    model = PoissonNB(alpha=0, beta=0).fit(make(X), [0, 0, 1, 1])
    np.testing.assert_array_equal(model.rate_, [[3, 0], [0, 2]])
    rows = make(np.array([[1.0, 0], [0, 1], [0, 0], [1, 1]]))
    zero = softmax([-3.0, -2.0])
    np.testing.assert_allclose(model.predict_proba(rows), [[1, 0], [0, 1], zero, [0.5, 0.5]])


def test_a_class_without_a_value_borrows_from_all():
    X = np.array([[1.0, 4], [3, 2], [0, np.nan], [1, np.nan]])
    model = PoissonNB(alpha=0, beta=0).fit(X, [0, 0, 1, 1])
    np.testing.assert_allclose(model.rate_, [[2, 3], [0.5, 3]])
    X[:, 1] = np.nan
    model = PoissonNB(alpha=0, beta=0).fit(X, [0, 0, 1, 1])
    assert np.isnan(model.rate_[:, 1]).all()
    np.testing.assert_allclose(model.predict_proba([[1.0, 7.0]]), model.predict_proba([[1.0, 0.0]]))


@layouts
@pytest.mark.parametrize("weight", [[0.1, 0.2, 0.3], [0.1, 0.7, 0.1], [0.3, 0.3, 0.1]])
def test_rounded_weights_leave_nothing_of_missing_cells(weight, make):
    """The weights of missing cells add up to that of the class, if for the last bits."""
    X = np.array([[1.0, np.nan], [2, np.nan], [0, np.nan], [3, 1], [1, 2]])
    y, weight = np.array([0, 0, 0, 1, 1]), np.array([*weight, 1, 1])
    model = PoissonNB().fit(make(X), y, weight)
    assert model.certificate_.holds
    np.testing.assert_array_equal(model.statistics_.cell_weight[0, 1], 0)
    np.testing.assert_allclose(model.rate_[:, 1], [1, 4 / 3])
    borrowed = PoissonNB(beta=0).fit(make(X), y, weight)
    np.testing.assert_allclose(borrowed.rate_[:, 1], [2, 2])


def test_rates_of_any_size():
    rng = np.random.default_rng(0)
    X = rng.poisson(3.0, size=(50, 3)) * np.array([1e-3, 1.0, 1e9])
    y = np.arange(50) % 2
    model = PoissonNB(alpha=0, beta=0).fit(X, y)
    np.testing.assert_allclose(model.rate_[0], X[y == 0].mean(axis=0), rtol=1e-14)
    assert np.isfinite(model.predict_log_proba(X)).all()


def test_bad_parameters():
    X, y = counts()
    with pytest.raises(ValueError, match="When beta is an array"):
        PoissonNB(beta=[1, 2]).fit(X, y)
    with pytest.raises(ValueError, match="beta"):
        PoissonNB(beta=-1).fit(X, y)
