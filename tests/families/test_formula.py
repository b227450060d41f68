"""p(y; η) = b(y) exp(η·T(y) − a(η)): moments, densities and samples of every family."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate

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

every_family = pytest.mark.parametrize("case", CASES, ids=str)


def grid(kind="all"):
    picked = {"all": lambda c: c.ordinary + c.extreme, "ordinary": lambda c: c.ordinary}[kind]
    return pytest.mark.parametrize(
        ("case", "eta"), [(c, e) for c in CASES for e in picked(c)], ids=str
    )


# --- the log-partition and its derivatives -------------------------------------------------


@grid()
def test_log_partition(case, eta):
    expected = float(exact.precise(case.log_partition)(exact.decimals(eta)))
    assert case.family.log_partition(eta) == pytest.approx(expected, rel=4e-15, abs=1e-15)


@grid()
def test_mean_and_covariance_are_derivatives_of_the_log_partition(case, eta):
    gradient, hessian = exact.derivatives(case.log_partition, eta)
    np.testing.assert_allclose(case.family.mean(eta), gradient, rtol=2e-14, atol=1e-80)
    np.testing.assert_allclose(case.family.covariance(eta), hessian, rtol=2e-14, atol=1e-80)


@every_family
def test_many_parameters_at_once(case):
    family, etas = case.family, np.array(case.ordinary)
    n, p = etas.shape
    assert p == family.dimension
    assert family.log_partition(etas).shape == (n,)
    assert family.mean(etas).shape == (n, p)
    assert family.covariance(etas).shape == (n, p, p)
    for name in ("log_partition", "mean", "covariance"):
        one_by_one = [getattr(family, name)(eta) for eta in etas]
        assert np.array_equal(getattr(family, name)(etas), one_by_one)
    y = case.values[0]
    rows = family.log_density([y] * n, etas)
    assert np.array_equal(rows, [family.log_density(y, eta) for eta in etas])


@grid("ordinary")
def test_natural_and_usual_parameters_are_the_same(case, eta):
    usual = case.family.parameters(eta)
    again = case.family.natural(**usual)
    if isinstance(case.family, Categorical):  # η is determined up to a constant
        again, eta = again - again[0], np.subtract(eta, eta[0])
    np.testing.assert_allclose(again, eta, rtol=1e-14, atol=1e-15)
    at = case.family.at(**usual)
    assert np.array_equal(at.mean(), case.family.mean(at.eta))
    assert np.array_equal(at.covariance(), case.family.covariance(at.eta))
    assert np.array_equal(at.log_density(case.values), case.family.log_density(case.values, at.eta))
    for name, value in at.parameters.items():
        assert np.array_equal(getattr(at, name), value)


# --- densities -----------------------------------------------------------------------------


@grid("ordinary")
def test_log_density_is_scipys(case, eta):
    found = case.family.log_density(case.values, eta)
    np.testing.assert_allclose(
        found, case.log_density_of_twin(case.values, eta), rtol=1e-11, atol=1e-13
    )


@grid()
def test_log_density_is_the_formula(case, eta):
    for y in [*case.values, *case.far]:
        expected = exact.density(case.log_partition, case.T, case.log_base, y, eta)
        with np.errstate(over="ignore"):
            assert case.family.log_density(y, eta) == pytest.approx(expected, rel=4e-14, abs=2e-15)


@every_family
def test_the_parts_make_the_density(case):
    family, y = case.family, case.values
    for eta in case.ordinary:
        inner = family.sufficient_statistic(y) @ np.array(eta)
        whole = family.log_base_measure(y) + inner - family.log_partition(eta)
        np.testing.assert_allclose(family.log_density(y, eta), whole, rtol=1e-11, atol=1e-13)
    T = family.sufficient_statistic(y)
    assert T.shape == (len(y), family.dimension)
    for row, value in zip(T, y, strict=True):
        expected = [float(t) for t in exact.precise(case.T)(exact.decimals(value))]
        np.testing.assert_allclose(row, expected, rtol=4e-16)
        assert np.array_equal(family.sufficient_statistic(value), row)


@pytest.mark.parametrize(
    ("family", "eta", "low", "high"),
    [
        (Exponential(), [-0.7], 0, np.inf),
        (Gaussian(), [3.0, -2.0], -np.inf, np.inf),
        (GaussianKnownVariance(2.5), [-1.2], -np.inf, np.inf),
        (Gamma(), [2.5, -0.4], 0, np.inf),
        (Beta(), [2.0, 7.0], 0, 1),
    ],
    ids=str,
)
def test_densities_integrate_to_one(family, eta, low, high):
    def density(y):
        return float(np.exp(family.log_density(y, eta))) if low < y < high else 0.0

    total, _ = integrate.quad(density, low, high, epsabs=1e-11, epsrel=1e-11)
    assert total == pytest.approx(1.0, abs=1e-9)


def test_the_dirichlet_density_integrates_to_one():
    family, eta = Dirichlet(3), [1.5, 2.0, 4.0]

    # Gauss's nodes on the square of (y₁, y₂ / (1 − y₁)).
    nodes, weights = np.polynomial.legendre.leggauss(200)
    first, part = np.meshgrid((nodes + 1) / 2, (nodes + 1) / 2)
    second = (1 - first) * part
    density = np.exp(family.log_density(np.stack([first, second, 1 - first - second], -1), eta))
    total = weights @ (density * (1 - first)) @ weights / 4
    assert total == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    ("family", "values"),
    [(Bernoulli(), [0, 1]), (Categorical(3), [0, 1, 2]), (Poisson(), np.arange(400))],
    ids=str,
)
def test_probabilities_add_up_to_one(family, values):
    case = next(c for c in CASES if c.family == family)
    for eta in case.ordinary:
        assert np.exp(family.log_density(values, eta)).sum() == pytest.approx(1.0, abs=1e-13)


def test_boundaries():
    assert Bernoulli().at(0.0).eta == -np.inf
    assert np.array_equal(Bernoulli().at(0.0).log_density([0, 1]), [0.0, -np.inf])
    assert np.array_equal(Bernoulli().at(1.0).log_density([0, 1]), [-np.inf, 0.0])
    assert np.array_equal(Poisson().at(0.0).log_density([0, 3]), [0.0, -np.inf])
    die = Categorical(3).at([0.5, 0.5, 0.0])
    np.testing.assert_allclose(die.log_density([0, 1, 2]), [np.log(0.5), np.log(0.5), -np.inf])
    assert np.array_equal(die.mean(), [0.5, 0.5, 0.0])
    assert np.array_equal(Bernoulli().at(0.0).covariance(), [[0.0]])


def test_nearly_certain_outcomes_keep_their_digits():
    assert Bernoulli().log_density(1, 40.0) == pytest.approx(-np.exp(-40.0), rel=1e-15)
    sure = Categorical(3).log_density(0, [50.0, 0.0, -1.0])
    assert sure == pytest.approx(-np.exp(-50.0) - np.exp(-51.0), rel=1e-14)


# --- samples -------------------------------------------------------------------------------


@grid("ordinary")
def test_samples_have_the_moments_of_the_family(case, eta):
    n = 20_000
    T = case.family.sufficient_statistic(case.family.sample(eta, size=n, random_state=17))
    mean, covariance = case.family.mean(eta), case.family.covariance(eta)
    assert (np.abs(T.mean(axis=0) - mean) <= 5 * np.sqrt(np.diag(covariance) / n)).all()
    # The spread too: the squared distances have a mean, and their own standard error.
    away = np.square(T - mean)
    error = away.std(axis=0) / np.sqrt(n)
    assert (np.abs(away.mean(axis=0) - np.diag(covariance)) <= 5 * error + 1e-12).all()


@every_family
def test_shapes_and_seeds_of_samples(case):
    family, eta = case.family, np.array(case.ordinary[0])
    one = (3,) if isinstance(family, Dirichlet) else ()
    assert np.shape(family.sample(eta, random_state=0)) == one
    assert family.sample(eta, 5, 0).shape == (5, *one)
    assert family.sample(eta, (2, 4), 0).shape == (2, 4, *one)
    etas = np.array(case.ordinary)
    assert family.sample(etas, random_state=0).shape == (len(etas), *one)
    assert family.sample(etas, (7, len(etas)), 0).shape == (7, len(etas), *one)
    assert np.array_equal(family.sample(eta, 9, 3), family.sample(eta, 9, 3))
    generator = np.random.default_rng(3)
    assert np.array_equal(family.sample(eta, 9, generator), family.sample(eta, 9, 3))
    assert np.array_equal(family.at(**family.parameters(eta)).sample(0).shape, (0, *one))
    with pytest.raises(ValueError, match="random_state is 'seed'"):
        family.sample(eta, 9, "seed")
    for size in (1.5, 3.0, -1, True, "many", (2, 1.5)):
        with pytest.raises(ValueError, match=r"size is .*; accepted are whole numbers"):
            family.sample(eta, size)
    assert family.sample(eta, np.int8(2), 0).shape == (2, *one)
    assert family.sample(eta, np.array([2, 3]), 0).shape == (2, 3, *one)


@pytest.mark.parametrize(
    ("family", "eta"),
    [
        (Gamma(), [1e-4, -1.0]),
        (Gamma(), [1e-4, -1e-300]),
        (Beta(), [1e-4, 1e-4]),
        (Dirichlet(3), [1e-4] * 3),
    ],
    ids=str,
)
def test_samples_stay_inside_an_open_support(family, eta):
    draws = family.sample(eta, 2000, 0)
    assert np.isfinite(family.sufficient_statistic(draws)).all()


def test_samples_of_labels():
    draws = Categorical(["blue", "red"]).at([0.25, 0.75]).sample(4000, 1)
    assert set(draws) == {"blue", "red"}
    assert np.mean(draws == "red") == pytest.approx(0.75, abs=0.035)


# --- bad input -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "parameters", "message"),
    [
        (Bernoulli(), {"probability": 1.5}, "probability is 1.5; it must be between 0 and 1"),
        (Bernoulli(), {"probability": np.nan}, "between 0 and 1"),
        (Poisson(), {"rate": -1.0}, "rate is -1.0; it must be finite and not negative"),
        (Exponential(), {"rate": 0.0}, "rate is 0.0; it must be positive and finite"),
        (Gaussian(), {"mu": 0.0, "variance": 0.0}, "variance is 0.0; it must be positive"),
        (Gaussian(), {"mu": np.inf, "variance": 1.0}, "mu is .*inf.*; it must be finite"),
        (Gamma(), {"shape": -1.0, "rate": 1.0}, "shape is -1.0; it must be positive"),
        (Gamma(), {"shape": 1.0, "rate": np.nan}, "rate is nan; it must be positive"),
        (Beta(), {"alpha": 1.0, "beta": np.inf}, "beta is inf; it must be positive and finite"),
        (Dirichlet(3), {"alpha": [1.0, 0.0, 2.0]}, "alpha is .*; it must be positive"),
        (Dirichlet(3), {"alpha": [1.0, 2.0]}, "needs 3 along the last axis"),
        (Categorical(2), {"probabilities": [0.5, 0.6]}, "must add up to 1"),
        (Categorical(2), {"probabilities": [0.5, 0.25, 0.25]}, "needs 2 along the last axis"),
    ],
)
def test_impossible_parameters_are_refused(family, parameters, message):
    with pytest.raises(ValueError, match=message):
        family.natural(**parameters)
    with pytest.raises(ValueError, match=message):
        family.at(**parameters)


@pytest.mark.parametrize(
    ("family", "eta"),
    [
        (Bernoulli(), [np.nan]),
        (Poisson(), [np.inf]),
        (Exponential(), [0.0]),
        (Exponential(), [-np.inf]),
        (Gaussian(), [1.0, 0.0]),
        (Gaussian(), [np.nan, -1.0]),
        (GaussianKnownVariance(1.0), [np.inf]),
        (Gamma(), [0.0, -1.0]),
        (Gamma(), [1.0, 1.0]),
        (Beta(), [1.0, -1.0]),
        (Dirichlet(2), [1.0, np.inf]),
        (Categorical(2), [-np.inf, -np.inf]),
        (Categorical(2), [np.nan, 0.0]),
    ],
    ids=str,
)
def test_impossible_natural_parameters_are_refused(family, eta):
    message = "which is no natural parameter of .*: accepted are"
    for method in (family.log_partition, family.mean, family.covariance, family.parameters):
        with pytest.raises(ValueError, match=message):
            method(eta)
    with pytest.raises(ValueError, match=message):
        family.sample([eta])


def test_shapes_of_natural_parameters():
    assert Poisson().mean(0.0) == 1.0
    with pytest.raises(ValueError, match=r"shape \(2,\); Poisson needs 1 .*eta\[:, None\]"):
        Poisson().mean([0.0, 1.0])
    with pytest.raises(ValueError, match=r"shape \(\); Gaussian needs 2"):
        Gaussian().mean(0.0)


@pytest.mark.parametrize(
    ("family", "y", "message"),
    [
        (Bernoulli(), [0, 1, 0.5], "Bernoulli models 0 and 1 .*; found 0.5 in row 2"),
        (Poisson(), [0, -3], "Poisson models counts 0, 1, 2, …; found -3 in row 1"),
        (Poisson(), [0.0, 2.5], "found 2.5 in row 1"),
        (Poisson(), [np.inf], "found inf in row 0"),
        (Exponential(), [-1e-300], "found -1e-300 in row 0"),
        (Gaussian(), [0.0, np.nan], "Gaussian models finite numbers; found nan in row 1"),
        (Gamma(), [1.0, 0.0], "Gamma models positive, finite numbers; found 0.0 in row 1"),
        (Beta(), [0.5, 0.0], "strictly between 0 and 1; found 0.0 in row 1"),
        (Beta(), [1.0], "strictly between 0 and 1; found 1.0 in row 0"),
        (Dirichlet(2), [[0.5, 0.5], [0.5, 0.6]], r"found \[0.5, 0.6\] in row 1"),
        (Dirichlet(2), [[1.0, 0.0]], r"2 positive shares .*; found \[1.0, 0.0\] in row 0"),
        (Dirichlet(2), [[0.2, 0.3, 0.5]], r"y has shape \(1, 3\)"),
        (Categorical(2), [0, 2], "models categories 0 to 1; found 2 in row 1"),
        (Categorical(["a", "b"]), ["b", "c"], "the categories 'a', 'b'; found 'c' in row 1"),
        (Gaussian(), ["high"], "Gaussian models finite numbers; the values are of dtype"),
        (Poisson(), [None, 1], "found None in row 0"),
        (Gaussian(), [1 + 2j], "the values are of dtype complex128"),
    ],
)
def test_impossible_values_are_refused_and_named(family, y, message):
    case = next(c for c in CASES if type(c.family) is type(family))
    eta = np.array(case.ordinary[0])[: family.dimension]
    for method in (family.sufficient_statistic, family.log_base_measure, family.fit):
        with pytest.raises(ValueError, match=message):
            method(y)
    with pytest.raises(ValueError, match=message):
        family.log_density(y, eta)


def test_one_value_is_named_without_a_row():
    with pytest.raises(ValueError, match=r"found 0.5$"):
        Bernoulli().log_density(0.5, 0.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Dirichlet(1), "columns is 1; a Dirichlet has at least 2"),
        (lambda: Categorical(0), "categories is 0"),
        (lambda: Categorical(["a", "a"]), "labels that differ"),
        (lambda: Categorical("abc"), "categories is 'abc'"),
        (lambda: Categorical([]), r"categories is \[\]"),
        (lambda: GaussianKnownVariance(-1.0), "variance is -1.0; it must be positive"),
    ],
)
def test_impossible_families_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_families_are_values():
    assert Poisson() == Poisson()
    assert Categorical(["a", "b"]) == Categorical(("a", "b"))
    assert hash(Dirichlet(3)) == hash(Dirichlet(3))
    assert Dirichlet(3) != Dirichlet(4)
    with pytest.raises(AttributeError, match="no attribute 'shape'"):
        _ = Poisson().at(1.0).shape
