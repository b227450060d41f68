"""Maximum likelihood of every family: exact gradients, SciPy's fits, and where there is none."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from scipy import optimize, special, stats
from sklearn.exceptions import ConvergenceWarning

from suffice.families import (
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Exponential,
    Gamma,
    Gaussian,
    GaussianKnownVariance,
    Poisson,
)
from tests.families import exact
from tests.families.cases import CASES

RNG = np.random.default_rng(20)


def samples():
    """Rows of every family, with shapes from tiny to huge."""
    for case in CASES:
        for eta in case.ordinary:
            yield case, case.family.sample(eta, 60, 5)
    of = {str(case): case for case in CASES}
    yield of["Gamma"], RNG.gamma(1e-2, 1e5, 40).clip(1e-280)
    yield of["Gamma"], RNG.gamma(1e8, 1e-3, 40)
    yield of["Beta"], RNG.beta(2e-2, 5e-2, 40).clip(1e-280, 1 - 2.0**-53)
    yield of["Beta"], RNG.beta(3e8, 1e5, 40)
    yield of["Dirichlet"], RNG.dirichlet([0.03, 2.0, 50.0], 40).clip(1e-280)
    yield of["Dirichlet"], RNG.dirichlet([1e7, 2e9, 3e8], 40)
    yield of["Gaussian"], RNG.normal(1e8, 1e-1, 40)
    yield of["Gaussian"], RNG.normal(-1e-3, 1e50, 40)
    yield of["Poisson"], RNG.poisson(1e12, 40)


@pytest.mark.parametrize(("case", "y"), list(samples()), ids=lambda v: str(v)[:60])
def test_the_gradient_vanishes_exactly(case, y):
    """The Newton step that remains, from sums and derivatives in decimals, is rounding."""
    weight = np.arange(len(y)) % 4.0
    fitted = case.family.fit(y, weight)
    mean = exact.mean_statistic(case.T, y, weight)
    left = exact.gradient_at(case.log_partition, fitted.eta, mean)
    scale = np.sqrt(np.diag(fitted.covariance()))
    assert (np.abs(left) <= 4e-15 * (np.abs(fitted.mean()) + scale)).all()
    if not isinstance(
        case.family, Gaussian | Categorical
    ):  # closed forms; nearly singular, singular
        step = np.linalg.solve(fitted.covariance(), left)
        assert (np.abs(step / fitted.eta) <= 1e-13 + 10.0**-fitted.certificate.digits).all()
    assert fitted.certificate.holds
    assert fitted.certificate.gradient < 1e-14
    assert fitted.certificate.digits > 8


@pytest.mark.parametrize(("case", "y"), list(samples()), ids=lambda v: str(v)[:60])
def test_the_log_likelihood_is_the_sum_of_log_densities(case, y):
    weight = np.arange(len(y)) % 4.0
    fitted = case.family.fit(y, weight)
    each = weight * fitted.log_density(y)
    assert fitted.log_likelihood == pytest.approx(each.sum(), abs=1e-12 * np.abs(each).sum())


def test_gaussian_against_exact_moments():
    y = 1e8 + np.arange(1, 12) / 8  # mean and variance are exact in binary
    fitted = Gaussian().fit(y)
    assert fitted.mu == 1e8 + 0.75
    assert fitted.variance == pytest.approx(10 / 64, rel=1e-13)
    assert fitted.variance == pytest.approx(np.var(y - 1e8), rel=1e-13)


def test_closed_forms():
    y, w = [3, 0, 1, 1, 7], [1.0, 2.0, 0.0, 3.0, 0.5]
    assert Poisson().fit(y, w).rate == pytest.approx(np.average(y, weights=w), rel=1e-15)
    assert Exponential().fit(y, w).rate == pytest.approx(1 / np.average(y, weights=w), rel=1e-15)
    assert Bernoulli().fit([1, 0, 0, 1, 1], w).probability == pytest.approx(4.5 / 6.5, rel=1e-15)
    assert GaussianKnownVariance(3.0).fit(y, w).mu == pytest.approx(np.average(y, weights=w))
    die = Categorical(3).fit([0, 2, 1, 2, 0], w)
    np.testing.assert_allclose(die.probabilities, [1.5 / 6.5, 0, 5 / 6.5], rtol=1e-15)


@pytest.mark.parametrize("shape", [0.05, 0.9, 4.0, 3e3])
def test_gamma_against_scipy(shape):
    y = np.random.default_rng(1).gamma(shape, 3.0, 300).clip(1e-250)
    expected, _, scale = stats.gamma.fit(y, floc=0)
    fitted = Gamma().fit(y)
    assert fitted.shape == pytest.approx(expected, rel=1e-8)
    assert fitted.rate == pytest.approx(1 / scale, rel=1e-8)


@pytest.mark.parametrize(("a", "b"), [(0.5, 0.5), (2.0, 5.0), (60.0, 3.0)])
def test_beta_against_scipy(a, b):
    y = np.random.default_rng(2).beta(a, b, 300)
    alpha, beta, _, _ = stats.beta.fit(y, floc=0, fscale=1)
    fitted = Beta().fit(y)
    np.testing.assert_allclose([fitted.alpha, fitted.beta], [alpha, beta], rtol=1e-8)


@pytest.mark.parametrize("alpha", [[0.4, 0.2, 0.9], [3.0, 1.0, 7.0, 2.0], [40.0, 90.0]])
def test_dirichlet_against_an_optimiser(alpha):
    y = np.random.default_rng(3).dirichlet(alpha, 200).clip(1e-200)
    mean = np.log(y).mean(axis=0)

    def equations(u):
        a = np.exp(u)
        return special.psi(a) - special.psi(a.sum()) - mean

    root = optimize.root(equations, np.log(alpha), tol=1e-14)
    np.testing.assert_allclose(Dirichlet(len(alpha)).fit(y).alpha, np.exp(root.x), rtol=1e-8)


def test_a_beta_is_a_dirichlet_of_two_shares():
    y = np.random.default_rng(4).beta(2.0, 3.0, 100)
    beta, dirichlet = Beta().fit(y), Dirichlet(2).fit(np.stack([y, 1 - y], axis=1))
    np.testing.assert_allclose(beta.eta, dirichlet.eta, rtol=1e-12)
    shares = np.stack([y, 1 - y], axis=1)
    np.testing.assert_allclose(beta.log_density(y), dirichlet.log_density(shares), atol=1e-12)


def test_an_exponential_is_a_gamma_of_shape_one():
    y = np.array([0.1, 2.0, 9.0])
    gamma, exponential = Gamma().at(shape=1.0, rate=0.3), Exponential().at(rate=0.3)
    np.testing.assert_allclose(gamma.log_density(y), exponential.log_density(y), rtol=1e-15)


def test_estimates_scale_with_the_unit():
    y = np.random.default_rng(5).gamma(2.0, 1.0, 100)
    ours, scaled = Gamma().fit(y), Gamma().fit(y * 1e200)
    assert scaled.shape == pytest.approx(ours.shape, rel=1e-12)
    assert scaled.rate == pytest.approx(ours.rate * 1e-200, rel=1e-12)


def test_few_steps_are_needed():
    for y in (RNG.gamma(2.0, 1.0, 50), RNG.gamma(1e-3, 1.0, 50).clip(1e-280)):
        assert int(Gamma().fit(y).certificate.path.split()[-2]) <= 8
    for k in (2, 30, 1000):
        y = RNG.dirichlet(np.full(k, 0.5), 50).clip(1e-280)
        y /= y.sum(axis=1, keepdims=True)
        assert int(Dirichlet(k).fit(y).certificate.path.split()[-2]) <= 12


# --- boundaries, and no maximum ------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "y", "parameters", "eta", "note"),
    [
        (Bernoulli(), [0, 0], {"probability": 0.0}, [-np.inf], "every value is 0, so η is −∞"),
        (Bernoulli(), [True], {"probability": 1.0}, [np.inf], "every value is 1, so η is ∞"),
        (Poisson(), [0, 0, 0], {"rate": 0.0}, [-np.inf], "every count is 0, so η is −∞"),
    ],
)
def test_a_maximum_on_the_boundary(family, y, parameters, eta, note):
    fitted = family.fit(y)
    assert fitted.certificate.holds
    assert fitted.parameters == parameters
    assert np.array_equal(fitted.eta, eta)
    assert fitted.certificate.notes == (f"on the boundary: {note}",)
    assert fitted.log_likelihood == 0.0
    assert np.array_equal(fitted.log_density(y), np.zeros(len(y)))
    assert np.array_equal(fitted.sample(3, 0), [y[0]] * 3)


def test_a_category_that_never_occurs():
    fitted = Categorical(["a", "b", "c"]).fit(["a", "c", "c"])
    assert fitted.certificate.holds
    assert "no row is in 'b'" in fitted.certificate.notes[0]
    np.testing.assert_allclose(fitted.probabilities, [1 / 3, 0, 2 / 3])
    assert fitted.log_likelihood == pytest.approx(np.log(1 / 3) + 2 * np.log(2 / 3))


@pytest.mark.parametrize(
    ("family", "y", "limits"),
    [
        (Gaussian(), [0.1, 0.1, 0.1], {"mu": 0.1, "variance": 0.0}),
        (Gaussian(), [5.0], {"mu": 5.0, "variance": 0.0}),
        (Gaussian(), [0.0, 0.0], {"mu": 0.0, "variance": 0.0}),
        (Gamma(), [0.7], {"shape": np.inf, "rate": np.inf}),
        (Gamma(), [1e-3] * 7, {"shape": np.inf, "rate": np.inf}),
        (Exponential(), [0.0, 0.0], {"rate": np.inf}),
        (Beta(), [0.3] * 4, {"alpha": np.inf, "beta": np.inf}),
        (Beta(), [0.9], {"alpha": np.inf, "beta": np.inf}),
        (Dirichlet(3), [[0.2, 0.3, 0.5]] * 3, {"alpha": np.full(3, np.inf)}),
    ],
    ids=str,
)
def test_no_maximum_is_said(family, y, limits):
    with pytest.warns(ConvergenceWarning, match="the likelihood has no maximum: ") as caught:
        fitted = family.fit(y)
    assert caught[0].filename == __file__
    assert not fitted.certificate.holds
    assert fitted.certificate.digits == 0
    assert fitted.log_likelihood == np.inf
    for name, value in limits.items():
        assert np.array_equal(fitted.parameters[name], value)
    assert np.isinf(fitted.eta).any()
    with pytest.raises(ValueError, match="no natural parameter"):
        fitted.log_density(y)


def test_nearly_equal_values_are_said_to_determine_little():
    y = 1.0 + 1e-12 * np.arange(5)
    with pytest.warns(ConvergenceWarning, match="the likelihood"):
        fitted = Gamma().fit(1e6 * y)
    assert not fitted.certificate.holds


def test_one_row_is_enough_where_the_maximum_exists():
    assert Poisson().fit([4]).rate == 4.0
    assert Exponential().fit([4.0]).rate == 0.25
    assert GaussianKnownVariance(1.0).fit([4.0]).mu == 4.0
    assert Categorical(1).fit([0]).certificate.holds


# --- fitted distributions are values -------------------------------------------------------


def test_a_fit_travels():
    fitted = Gamma().fit([1.0, 2.0, 5.0])
    for again in (copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted))):
        assert repr(again) == repr(fitted)
        assert np.array_equal(again.eta, fitted.eta)
        assert again.certificate == fitted.certificate
        assert again.log_likelihood == fitted.log_likelihood
    with pytest.raises(AttributeError):
        fitted.eta = np.zeros(2)
