"""Priors of coefficients and covariances are rows that nobody saw: so rows are the oracle."""

from __future__ import annotations

import numpy as np
import pytest

from suffice import (
    BayesianLinearRegression,
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
    Ridge,
)
from suffice.bayes import CoefficientPrior, NormalInverseWishart, PseudoScatter
from suffice.numerics.double_double import DoubleDouble
from suffice.statistics.moments.full import Moments
from tests.numerics.rational import exactly


def numbers(n=40, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 2.0
    return X, X @ np.arange(1.0, d + 1) + rng.normal(size=n)


@pytest.mark.parametrize("of_pairs", [False, True])
@pytest.mark.parametrize("to_pairs", [False, True])
def test_added_in_the_precision_of_the_scatter(of_pairs, to_pairs):
    third = DoubleDouble.of(1.0) / 3.0
    diagonal = third * np.array([1.0, 1e-20, 5.0])
    rest = np.array([[0.0, 0.5, 0.0], [0.5, 0.0, 0.25], [0.0, 0.25, 0.0]])
    prior = PseudoScatter(diagonal if of_pairs else diagonal.hi, rest)
    S = np.arange(9.0).reshape(3, 3) + np.arange(9.0).reshape(3, 3).T
    found = prior.added_to(DoubleDouble.of(S) if to_pairs else S)
    assert isinstance(found, DoubleDouble) == to_pairs
    truth = exactly(S) + exactly(rest)
    truth[np.diag_indices(3)] += exactly(diagonal if of_pairs else diagonal.hi)
    unit = 2.0**-100 if to_pairs else 2.0**-52
    assert (abs(exactly(found) - truth) <= unit * abs(truth)).all()


def test_what_it_multiplies():
    rng = np.random.default_rng(1)
    R = rng.normal(size=(5, 3))
    P = R.T @ R
    prior = CoefficientPrior.of(P, 0.0, 3)
    v, V = rng.normal(size=3), P + np.eye(3)
    np.testing.assert_allclose(prior.precision.matrix, P, rtol=1e-14)
    np.testing.assert_allclose(prior.precision.times(v).round(), P @ v, rtol=1e-12)
    assert prior.precision.square(v) == pytest.approx(v @ P @ v, rel=1e-13)
    assert prior.precision.trace_with(V) == pytest.approx(np.trace(P @ V), rel=1e-13)
    assert prior.log_det == pytest.approx(np.linalg.slogdet(P)[1], rel=1e-12)
    twice = prior.scaled(2.0)
    np.testing.assert_allclose(twice.precision.matrix, 2 * P, rtol=1e-14)
    assert twice.log_det == pytest.approx(np.linalg.slogdet(2 * P)[1], rel=1e-12)


def test_ridge_is_least_squares_with_rows_that_nobody_saw():
    X, y = numbers()
    alpha, d = 2.5, X.shape[1]
    rows = np.vstack([X - X.mean(axis=0), np.sqrt(alpha) * np.eye(d)])
    target = np.concatenate([y - y.mean(), np.zeros(d)])
    oracle = np.linalg.lstsq(rows, target, rcond=None)[0]
    np.testing.assert_allclose(Ridge(alpha=alpha).fit(X, y).coef_, oracle, rtol=1e-12)


def test_a_prior_of_coefficients_is_rows_on_its_line():
    X, y = numbers()
    rng = np.random.default_rng(2)
    R, m = rng.normal(size=(6, 3)), rng.normal(size=3)
    rows = np.vstack([X - X.mean(axis=0), R])
    oracle = np.linalg.lstsq(rows, np.concatenate([y - y.mean(), R @ m]), rcond=None)[0]
    found = BayesianLinearRegression(prior_precision=R.T @ R, prior_mean=m).fit(X, y)
    np.testing.assert_allclose(found.coef_, oracle, rtol=1e-11)


def with_unseen(rows, worth):
    """Rows, and others about their mean that have the mean variance in each direction."""
    d, centre = rows.shape[1], rows.mean(axis=0)
    size = np.sqrt(d * np.square(rows - centre).sum() / rows.size)
    unseen = centre + size * np.vstack([np.eye(d), -np.eye(d)])
    weight = np.concatenate([np.ones(len(rows)), np.full(2 * d, worth / (2 * d))])
    return np.cov(np.vstack([rows, unseen]).T, aweights=weight, ddof=0)


def test_shrinkage_is_a_covariance_with_rows_that_nobody_saw():
    X, _ = numbers(60)
    y = np.arange(60) % 2
    worth = 7.5
    shrinkage = worth / (worth + 30)
    model = QuadraticDiscriminantAnalysis(shrinkage=shrinkage, store_covariance=True).fit(X, y)
    for k in range(2):
        np.testing.assert_allclose(model.covariance_[k], with_unseen(X[y == k], worth), rtol=1e-12)
    both = LinearDiscriminantAnalysis(
        solver="lsqr", shrinkage=shrinkage, store_covariance=True
    ).fit(X, y)
    half = [with_unseen(X[y == k], worth) for k in range(2)]
    np.testing.assert_allclose(both.covariance_, np.mean(half, axis=0), rtol=1e-12)


def test_shrinkage_is_the_mode_under_the_wishart_prior():
    X, _ = numbers(60)
    y = np.arange(60) % 2
    d, worth = 3, 7.5
    model = QuadraticDiscriminantAnalysis(
        shrinkage=worth / (worth + 30), store_covariance=True
    ).fit(X, y)
    for k in range(2):
        rows = X[y == k]
        psi = worth * rows.var(axis=0).mean()
        prior = NormalInverseWishart(np.zeros(d), kappa=0, nu=worth - (d + 2), psi=psi)
        mode = (prior + Moments.summarize(rows)).map().covariance
        np.testing.assert_allclose(model.covariance_[k], mode, rtol=1e-12)


@pytest.mark.parametrize(
    "fit",
    [
        lambda X, y: Ridge(alpha=1.0).fit(X, y),
        lambda X, y: BayesianLinearRegression(prior_precision=2.0).fit(X, y),
        lambda X, y: LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1).fit(X, y > y.mean()),
        lambda X, y: QuadraticDiscriminantAnalysis(reg_param=0.1).fit(X, y > y.mean()),
        lambda X, y: NormalInverseWishart(np.zeros(3), psi=2.0).posterior(X),
    ],
    ids=["ridge", "bayesian", "linear discriminants", "quadratic discriminants", "wishart"],
)
def test_one_mechanism_serves_all(fit, monkeypatch):
    """Each of them asks the pseudo-statistic: without it, none can be computed."""
    X, y = numbers()
    fit(X, y)

    def refuse(*_):
        raise ArithmeticError("no prior without its pseudo-statistic")

    monkeypatch.setattr(PseudoScatter, "added_to", refuse)
    monkeypatch.setattr(PseudoScatter, "matrix", property(refuse))
    with pytest.raises(ArithmeticError, match="pseudo-statistic"):
        fit(X, y)


def test_a_prior_of_other_columns_is_refused():
    with pytest.raises(ValueError, match=r"1 columns cannot be added .* \(3, 3\)"):
        PseudoScatter.isotropic(0.5, 1).added_to(np.zeros((3, 3)))


def test_large_squares_are_kept():
    assert (PseudoScatter.isotropic(1e305, 2).matrix == 1e305 * np.eye(2)).all()


def test_bad_priors_are_refused():
    for precision, mean, match in (
        (-1.0, 0.0, "negative"),
        ([[1.0, 2.0], [0.0, 1.0]], 0.0, "symmetric"),
        ([[1.0, 2.0], [2.0, 1.0]], 0.0, "positive semi-definite"),
        (np.nan, 0.0, "finite"),
        ("strong", 0.0, "numbers"),
        (1.0, [0.0, 0.0, 0.0], "prior_mean"),
        (np.ones((3, 3)), 0.0, "prior_precision"),
        (1.0, 1e200, "prior_mean is too large"),
        (1e200, [1e60, 0.0], "prior_mean is too large"),
    ):
        with pytest.raises(ValueError, match=match):
            CoefficientPrior.of(precision, mean, 2)
