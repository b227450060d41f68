"""Shrinkage from statistics: scikit-learn's estimates, which see the rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import covariance as peer
from sklearn.base import clone
from sklearn.covariance import OAS, EmpiricalCovariance, LedoitWolf, ShrunkCovariance
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

import suffice
from suffice import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from suffice.bayes import NormalInverseWishart
from suffice.generative.discriminant.axes import principal_axes
from suffice.generative.discriminant.covariance import (
    Shrinkage,
    covariance,
    pooled,
    shrinkage_of,
    shrunk_covariance,
)
from suffice.statistics.moments.fourth import FourthMoments
from suffice.statistics.moments.full import Moments


def sample(n=50, d=6, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) * rng.uniform(0.1, 50, d) + 1e3


def close(found, expected, tolerance=1e-11):
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * scale)


SHAPES = [(50, 6), (5, 8), (300, 3), (2, 2), (40, 1)]


@pytest.mark.parametrize("precision", ["float64", "double-double"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("standardised", [False, True])
def test_ledoit_and_wolf(precision, shape, standardised):
    X = sample(*shape)
    rows = StandardScaler().fit_transform(X) if standardised else X
    scale = X.std(axis=0) if standardised else np.ones(shape[1])
    expected, amount = peer.ledoit_wolf(rows)
    part = FourthMoments.summarize(X, precision=precision)
    found, s = shrunk_covariance(part, Shrinkage("ledoit-wolf", standardised=standardised))
    close(s, amount, 1e-10)
    close(found.rounded, expected * scale[:, None] * scale, 1e-10)


@pytest.mark.parametrize("shape", SHAPES)
def test_ledoit_and_wolf_of_merged_parts_and_repeated_rows(shape):
    X = sample(*shape)
    rng = np.random.default_rng(1)
    weight = rng.integers(1, 4, size=len(X)).astype(float)
    rule = Shrinkage("ledoit-wolf", standardised=True)
    repeated = np.repeat(X, weight.astype(int), axis=0)
    expected, amount = shrunk_covariance(FourthMoments.summarize(repeated), rule)
    parts = [FourthMoments.summarize(X[i::2], weight[i::2]) for i in range(2)]
    found, s = shrunk_covariance(FourthMoments.merge(parts), rule)
    assert abs(s - amount) < 1e-11
    close(found.rounded, expected.rounded)
    alone, _ = shrunk_covariance(FourthMoments.merge(parts).subtract(parts[1]), rule)
    left, _ = shrunk_covariance(parts[0], rule)
    scale = np.abs(expected.rounded).max()
    np.testing.assert_allclose(alone.rounded, left.rounded, rtol=0, atol=1e-9 * scale)


@pytest.mark.parametrize("shape", SHAPES)
def test_oracle_approximating_shrinkage(shape):
    X = sample(*shape)
    found, s = shrunk_covariance(Moments.summarize(X), Shrinkage("oas"))
    expected, amount = peer.oas(X)
    close(s, amount, 1e-10)
    close(found.rounded, expected)


@pytest.mark.parametrize("scale", [1e-100, 1e-6, 1e100])
def test_the_oracles_amount_has_no_units(scale):
    """Nor has the bound on its error."""
    X = sample()
    plain, s = shrunk_covariance(Moments.summarize(X), Shrinkage("oas"))
    found, t = shrunk_covariance(Moments.summarize(X * scale), Shrinkage("oas"))
    assert abs(t / s - 1) < 1e-12
    sizes = []
    for one in (found, plain):
        deviations = np.sqrt(one.variances)
        sizes.append(np.linalg.norm(one.of_amount / deviations[:, None] / deviations))
    assert 0.5 < sizes[0] / sizes[1] < 2
    assert sizes[0] < 1e-11


def test_constant_columns_have_no_scale():
    X = sample()
    X[:, 2] = 7.0
    standard = StandardScaler().fit(X)
    expected, _ = peer.ledoit_wolf(standard.transform(X))
    expected = expected * standard.scale_[:, None] * standard.scale_
    rule = Shrinkage("ledoit-wolf", standardised=True)
    found, _ = shrunk_covariance(FourthMoments.summarize(X), rule)
    close(found.rounded, expected)


@pytest.mark.parametrize("precision", ["float64", "double-double"])
def test_fixed_amounts(precision):
    X = sample()
    C = np.cov(X.T, bias=True)
    found = covariance(Moments.summarize(X, precision=precision))
    close(found.rounded, C)
    close(found.shrunk(0.3).rounded, peer.shrunk_covariance(C, 0.3))
    close(found.regularised(0.3).rounded, 0.7 * C + 0.3 * np.eye(6))
    both = pooled([found, found.shrunk(0.5)], np.array([0.25, 0.75]))
    close(both.rounded, 0.25 * C + 0.75 * peer.shrunk_covariance(C, 0.5))


@pytest.mark.parametrize("amount", [0.01, 0.3, 0.9])
def test_a_fixed_amount_is_the_mode_of_a_posterior(amount):
    """Under an inverse Wishart prior of n₀ = s W / (1 − s) rows with the mean variance."""
    X = sample()
    n, d = X.shape
    moments = Moments.summarize(X)
    mean = np.trace(moments.scatter) / n / d
    seen = amount * n / (1 - amount)
    prior = NormalInverseWishart(np.zeros(d), 0.0, seen - (d + 2), seen * mean)
    found = covariance(moments).shrunk(amount)
    close(found.rounded, prior.posterior(moments).map().covariance, 1e-12)


def test_the_bound_on_the_error_holds():
    """Between float64 and double-double there is no more than what is admitted."""
    X = sample(400) + 1e7
    rules = [
        Shrinkage(),
        Shrinkage(amount=0.2),
        Shrinkage("ledoit-wolf", standardised=True),
        Shrinkage("ledoit-wolf"),
    ]
    for rule in rules:
        rough, fine = (
            shrunk_covariance(FourthMoments.summarize(X, precision=p), rule)[0]
            for p in ("float64", "double-double")
        )
        deviations = np.sqrt(fine.variances)
        allowed = rough.unit * np.multiply.outer(rough.g, rough.g)
        allowed += rough.of_amount * np.multiply.outer(deviations, deviations)
        assert (np.abs(rough.rounded - fine.rounded) <= allowed).all()


FAR = [1e-60, 1e-30, 1e30, 1e60]


@pytest.mark.parametrize("scale", FAR)
@pytest.mark.parametrize("precision", ["float64", "double-double"])
@pytest.mark.parametrize("standardised", [False, True])
def test_ledoit_and_wolfs_amount_has_no_units(scale, precision, standardised):
    """As long as float64 holds the fourth powers."""
    rule, X = Shrinkage("ledoit-wolf", standardised=standardised), sample()
    plain, s = shrunk_covariance(FourthMoments.summarize(X, precision=precision), rule)
    parts = [FourthMoments.summarize(X[i::2] * scale, precision=precision) for i in range(2)]
    found, t = shrunk_covariance(FourthMoments.merge(parts), rule)
    assert abs(t / s - 1) < 1e-11
    sizes = []
    for one in (found, plain):
        deviations = np.sqrt(one.variances)
        sizes.append(np.linalg.norm(one.of_amount / deviations[:, None] / deviations))
    assert sizes[0] < 1e-10
    assert sizes[1] < 1e-10


@pytest.mark.parametrize("scale", FAR)
@pytest.mark.parametrize(
    "model",
    [
        LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
        LinearDiscriminantAnalysis(solver="lsqr", covariance_estimator=LedoitWolf()),
        QuadraticDiscriminantAnalysis(solver="eigen", shrinkage="auto"),
    ],
    ids=["auto", "estimator", "quadratic"],
)
def test_models_of_fourth_powers_beyond_float64(scale, model, tmp_path):
    X, y = np.random.default_rng(0).normal(size=(50, 4)), np.arange(50) % 3
    expected = clone(model).fit(X, y).predict_proba(X)
    found = clone(model).fit(X * scale, y)
    assert found.certificate_.holds
    np.testing.assert_allclose(found.predict_proba(X * scale), expected, rtol=1e-10)
    if model.covariance_estimator is None:  # scikit-learn's own are not saved
        found.save(tmp_path / "model")
        found = suffice.load(tmp_path / "model")
    found.update(X[:20] * scale, y[:20]).forget(X[:20] * scale, y[:20])
    np.testing.assert_allclose(found.predict_proba(X * scale), expected, rtol=1e-8)


@pytest.mark.parametrize("seed", range(6))
def test_fourth_powers_that_rows_took_with_them(seed):
    """What is left of Q may be negative: an amount of 0 is then as uncertain as any other."""
    rng = np.random.default_rng(seed)
    X, large = rng.normal(size=(60, 4)), rng.normal(size=(5, 4)) * 1e6
    rule = Shrinkage("ledoit-wolf", standardised=True)
    stay, gone = (FourthMoments.summarize(Z, precision="double-double") for Z in (X, large))
    found, _ = shrunk_covariance(FourthMoments.merge([stay, gone]).subtract(gone), rule)
    expected, _ = shrunk_covariance(stay, rule)
    assert (np.abs(found.rounded - expected.rounded) <= found.of_amount + 1e-10).all()
    model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto", exact=True)
    model.fit(np.vstack([X, large]), np.arange(65) % 2)
    with pytest.raises(ValueError, match="digits could be guaranteed"):
        model.forget(large, np.arange(60, 65) % 2)


@pytest.mark.parametrize("scale", [1e-150, 1e-160])
def test_squares_that_underflow_prove_nothing(scale):
    X, y = np.random.default_rng(0).normal(size=(50, 4)), np.arange(50) % 3
    with pytest.warns(ConvergenceWarning, match="not proved"):
        LinearDiscriminantAnalysis(shrinkage="auto").fit(X * scale, y)


@pytest.mark.parametrize("scale", [1e-60, 1e60])
@pytest.mark.parametrize("constant", [0.0, 7.0])
@pytest.mark.parametrize("standardised", [False, True])
def test_constant_columns_beside_far_ones(scale, constant, standardised):
    rule, X = Shrinkage("ledoit-wolf", standardised=standardised), sample()
    X[:, 2] = 7.0
    _, s = shrunk_covariance(FourthMoments.summarize(X), rule)
    rows = X * scale
    rows[:, 2] = constant
    parts = [FourthMoments.summarize(rows[i::2]) for i in range(2)]
    found, t = shrunk_covariance(FourthMoments.merge(parts), rule)
    assert abs(t / s - 1) < 1e-11
    other = np.arange(6) != 2
    deviations = np.sqrt(found.variances[other])
    of_amount = found.of_amount[np.ix_(other, other)] / deviations[:, None] / deviations
    assert of_amount.max() < 1e-10


@pytest.mark.parametrize("scale", [1e-80, 1e-90, 1e-130])
def test_a_fixed_amount_has_no_units(scale):
    X, y = np.random.default_rng(0).normal(size=(50, 4)), np.arange(50) % 3
    assert LinearDiscriminantAnalysis(shrinkage=0.1).fit(X * scale, y).certificate_.holds


def test_rules():
    assert shrinkage_of(None, None) == Shrinkage()
    assert shrinkage_of(0.3, None) == Shrinkage(amount=0.3)
    assert shrinkage_of("auto", None) == Shrinkage("ledoit-wolf", standardised=True)
    assert shrinkage_of(None, EmpiricalCovariance()) == Shrinkage()
    assert shrinkage_of(None, ShrunkCovariance(shrinkage=0.2)) == Shrinkage(amount=0.2)
    assert shrinkage_of(0, LedoitWolf()) == Shrinkage("ledoit-wolf")
    assert shrinkage_of(None, OAS()) == Shrinkage("oas")
    with pytest.raises(ValueError, match="assume_centered=False"):
        shrinkage_of(None, OAS(assume_centered=True))


def test_principal_axes():
    X = sample()
    found = covariance(Moments.summarize(X))
    axes = principal_axes(found)
    B = axes.whitening
    np.testing.assert_allclose(B.T @ found.rounded @ B, np.eye(6), atol=1e-10)
    close(B @ B.T, np.linalg.inv(found.rounded), 1e-9)
    assert abs(axes.log_determinant - np.linalg.slogdet(found.rounded)[1]) < 1e-10
    few = principal_axes(covariance(Moments.summarize(X[:4])), 1e-8)
    assert few.rank == 3
    close(few.whitening @ few.whitening.T, _pseudo_inverse(X[:4]), 1e-9)


def _pseudo_inverse(X):
    """In columns divided by their deviations, as the threshold is."""
    scale = X.std(axis=0)
    return np.linalg.pinv(np.corrcoef(X.T), rcond=1e-8) / scale[:, None] / scale
