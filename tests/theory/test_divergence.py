"""The Kullback–Leibler divergence: decimal numbers, closed forms against quadrature."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
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
from suffice.theory import Density, MultivariateGaussian, kl_divergence
from tests.families import exact


@exact.precise
def discrete(p, q):
    p, q = exact.decimals(p), exact.decimals(q)
    terms = [a * (a / b).ln() for a, b in zip(p, q, strict=True) if a > 0]
    return float(sum(terms))


@pytest.mark.parametrize(
    ("p", "q"),
    [
        ([0.5, 0.5], [0.9, 0.1]),
        ([1.0, 0.0, 0.0], [0.2, 0.3, 0.5]),
        ([0.25, 0.25, 0.5], [0.25, 0.25, 0.5]),
        ([1e-9, 1 - 1e-9], [0.5, 0.5]),
    ],
)
def test_probabilities(p, q):
    assert kl_divergence(p, q) == pytest.approx(discrete(p, q), rel=1e-13, abs=1e-300)
    assert kl_divergence(np.array(p), tuple(q)) == kl_divergence(p, q)


def test_nearly_the_same():
    """The divergence is about Σ δ²/(2p), far below the rounding of its terms."""
    p, step = np.array([0.25, 0.25, 0.5]), 2.0**-20
    q = p + step * np.array([1.0, -1.0, 0.0])
    expected = discrete(p, q)
    assert expected == pytest.approx(4 * step**2, rel=1e-5)
    assert kl_divergence(p, q) == pytest.approx(expected, rel=1e-12)
    a, b = Gaussian().at(0.0, 1.0), Gaussian().at(0.0, 1.0 + step)
    assert kl_divergence(a, b) == pytest.approx(step**2 / 4, rel=1e-5)
    a, b = Poisson().at(3.0), Poisson().at(3.0 + step)
    assert kl_divergence(a, b) == pytest.approx(step**2 / 6, rel=1e-5)


def test_what_q_excludes():
    assert kl_divergence([0.5, 0.5], [1.0, 0.0]) == np.inf
    assert kl_divergence([1.0, 0.0], [1.0, 0.0]) == 0.0
    assert kl_divergence(Bernoulli().at(0.5), Bernoulli().at(0.0)) == np.inf
    assert kl_divergence(Poisson().at(1.0), Poisson().at(0.0)) == np.inf
    assert kl_divergence(Poisson().at(0.0), Poisson().at(0.0)) == 0.0
    assert kl_divergence(Poisson().at(0.0), Poisson().at(2.0)) == pytest.approx(2.0, rel=1e-14)
    assert kl_divergence(stats.uniform(0, 2), stats.uniform(0, 1)) == np.inf
    assert kl_divergence(stats.uniform(0, 1), stats.uniform(0, 2)) == pytest.approx(np.log(2))


FAMILIES = [
    (Bernoulli().at(0.3), Bernoulli().at(0.6)),
    (Categorical(3).at([0.2, 0.3, 0.5]), Categorical(3).at([0.4, 0.4, 0.2])),
    (Poisson().at(3.0), Poisson().at(4.5)),
    (Exponential().at(0.5), Exponential().at(2.0)),
    (Gaussian().at(1.0, 2.0), Gaussian().at(-1.0, 5.0)),
    (GaussianKnownVariance(3.0).at(1.0), GaussianKnownVariance(3.0).at(2.5)),
    (Gamma().at(2.0, 1.0), Gamma().at(3.0, 2.0)),
    (Beta().at(2.0, 3.0), Beta().at(4.0, 2.5)),
]


@pytest.mark.parametrize(("p", "q"), FAMILIES, ids=lambda d: repr(d.family))
def test_closed_forms_are_the_integrals(p, q):
    value = kl_divergence(p, q, "closed-form")
    assert value == kl_divergence(p, q)
    assert value == pytest.approx(kl_divergence(p, q, "quadrature"), rel=1e-9)
    assert kl_divergence(p, p) == pytest.approx(0.0, abs=1e-14)


def digamma(x):
    step = x * exact.STEP
    return (exact.log_gamma(x + step) - exact.log_gamma(x - step)) / (2 * step)


@exact.precise
def gammas(k, rate, k_q, rate_q):
    k, rate, k_q, rate_q = exact.decimals([k, rate, k_q, rate_q])
    shapes = (k - k_q) * digamma(k) - exact.log_gamma(k) + exact.log_gamma(k_q)
    return float(shapes + k_q * (rate / rate_q).ln() + k * (rate_q - rate) / rate)


@exact.precise
def dirichlets(a, b):
    a, b = exact.decimals(a), exact.decimals(b)
    mean = [digamma(x) - digamma(sum(a)) for x in a]
    inner = sum((x - y) * m for x, y, m in zip(a, b, mean, strict=True))
    return float(exact.dirichlet(b) - exact.dirichlet(a) + inner)


def test_gammas():
    for parameters in ((2.0, 1.0, 3.0, 2.0), (47.0, 0.01, 48.0, 0.02), (0.3, 2.0, 0.5, 2.0),
                       (1e4, 10.0, 1.1e4, 12.0), (0.01, 1.0, 1e3, 1e4)):  # fmt: skip
        k, rate, k_q, rate_q = parameters
        found = kl_divergence(Gamma().at(k, rate), Gamma().at(k_q, rate_q))
        assert found == pytest.approx(gammas(*parameters), rel=1e-10, abs=0)


def test_betas_and_dirichlets():
    rng = np.random.default_rng(0)
    for columns in (2, 2, 2, 3, 5):
        a, b = 10.0 ** rng.uniform(-2, 3, (2, columns))
        expected = dirichlets(a, b)
        found = kl_divergence(Dirichlet(columns).at(a), Dirichlet(columns).at(b))
        assert found == pytest.approx(expected, rel=1e-10, abs=0)
        if columns == 2:
            beta = kl_divergence(Beta().at(*a), Beta().at(*b))
            assert beta == pytest.approx(expected, rel=1e-10, abs=0)
        # Nearly the same: never negative.
        near = kl_divergence(Dirichlet(columns).at(a), Dirichlet(columns).at(a * (1 + 1e-9)))
        assert 0.0 <= near < 1e-10


def test_gaussians_of_several_columns():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(2, 4, 6))
    p, q = (
        MultivariateGaussian(rng.normal(size=4), A @ A.T),
        MultivariateGaussian(np.ones(4), B @ B.T),
    )
    inverse, away = np.linalg.inv(q.covariance), p.mean - q.mean
    expected = np.trace(inverse @ p.covariance) - 4 + away @ inverse @ away
    expected += np.linalg.slogdet(q.covariance)[1] - np.linalg.slogdet(p.covariance)[1]
    assert kl_divergence(p, q) == pytest.approx(expected / 2, rel=1e-12)
    p, q = (
        MultivariateGaussian([0.0, 0.0], 1.0),
        MultivariateGaussian([1.0, 0.0], [[2.0, 0.5], [0.5, 1.0]]),
    )
    assert kl_divergence(p, q, "quadrature") == pytest.approx(kl_divergence(p, q), rel=1e-6)
    one = kl_divergence(MultivariateGaussian([1.0], 2.0), MultivariateGaussian([-1.0], 5.0))
    assert one == pytest.approx(kl_divergence(*FAMILIES[4]), rel=1e-14)


def test_other_densities():
    a, b = stats.norm(0, 1), stats.norm(30, 1)
    assert kl_divergence(a, b) == pytest.approx(450.0, rel=1e-10)
    laplace = kl_divergence(stats.laplace(0), stats.laplace(1))
    assert laplace == pytest.approx(np.exp(-1.0), rel=1e-9)  # |m| + e^−|m| − 1
    triangle = Density(lambda x: np.log(2 * x), support=(0.0, 1.0))
    assert kl_divergence(triangle, stats.uniform()) == pytest.approx(np.log(2) - 0.5, rel=1e-9)
    k = np.arange(60)
    log_p, log_q = stats.poisson(3).logpmf(k), stats.geom(0.3, loc=-1).logpmf(k)
    expected = np.exp(log_p) @ (log_p - log_q)
    found = kl_divergence(Poisson().at(3.0), stats.geom(0.3, loc=-1))
    assert found == pytest.approx(expected, rel=1e-10)


def test_sums_end_where_p_does():
    """q may lie elsewhere altogether, and is known to add up to 1."""
    method = "quadrature"
    expected = 3.0 * np.log(3.0 / 1e5) + 1e5 - 3.0
    for p in (stats.poisson(3), Poisson().at(3.0)):
        for q in (stats.poisson(1e5), Poisson().at(1e5)):
            assert kl_divergence(p, q, method) == pytest.approx(expected, rel=1e-13)
    shares = np.array([1, 5, 10, 10, 5, 1]) / 32
    entropy = -shares @ np.log(shares)
    found = kl_divergence(stats.binom(5, 0.5), stats.randint(0, 10**6), method)
    assert found == pytest.approx(np.log(1e6) - entropy, rel=1e-13)
    found = kl_divergence(stats.binom(5, 0.5), stats.randint(0, 10**12), method)
    assert found == pytest.approx(np.log(1e12) - entropy, rel=1e-13)
    assert kl_divergence(stats.poisson(3), stats.randint(10, 10**6), method) == np.inf
    # For what a function says nobody vouches: it is added up.
    far = Density(stats.poisson(1e5).logpmf, discrete=True, support=(0, np.inf))
    assert kl_divergence(stats.poisson(3), far, method) == pytest.approx(expected, rel=1e-13)
    for log_mass in (np.log(2.0), -np.log(2.0)):
        wrong = Density(
            lambda k, m=log_mass: m - np.log(1e5) + 0 * k, None, 1, True, (0, 10**5 - 1)
        )
        with pytest.raises(ValueError, match="not to 1"):
            kl_divergence(stats.poisson(3), wrong, method)


def test_maximum_likelihood_is_the_least_divergence():
    y = np.array([2, 0, 1, 3, 1, 1, 0, 4])
    k = np.arange(5)
    shares = np.bincount(y) / len(y)

    def divergence(rate):
        logs = Poisson().at(rate).log_density(k)
        return float(shares[shares > 0] @ (np.log(shares[shares > 0]) - logs[shares > 0]))

    best = Poisson().fit(y).rate
    assert all(divergence(best) < divergence(best + step) for step in (-0.1, -1e-3, 1e-3, 0.1))


def test_what_is_refused():
    for p in ([0.5, 0.6], [-0.5, 1.5], [[0.5, 0.5]]):
        with pytest.raises(ValueError, match="probabilities that add up to 1"):
            kl_divergence(p, [0.5, 0.5])
    with pytest.raises(ValueError, match="3 categories"):
        kl_divergence([0.2, 0.3, 0.5], [0.5, 0.5])
    with pytest.raises(ValueError, match="no closed form"):
        kl_divergence(stats.norm(), stats.norm(1), "closed-form")
    with pytest.raises(ValueError, match="method is"):
        kl_divergence(stats.norm(), stats.norm(1), "guess")
    with pytest.raises(ValueError, match="same dimension"):
        kl_divergence(stats.norm(), Poisson().at(1.0))
    with pytest.raises(ValueError, match="one or two dimensions"):
        kl_divergence(*[stats.multivariate_normal(np.zeros(3))] * 2)
    with pytest.raises(ValueError, match="2 columns, and q has 3"):
        kl_divergence(MultivariateGaussian([0, 0], 1.0), MultivariateGaussian([0, 0, 0], 1.0))
    with pytest.raises(ValueError, match="not to 1"):
        kl_divergence(Density(lambda x: 0 * x, support=(0, 3)), stats.uniform(0, 3))
    with pytest.raises(ValueError, match="one distribution each"):
        kl_divergence(Gaussian().at(np.zeros(2), np.ones(2)), Gaussian().at(0.0, 1.0))
    with pytest.raises(TypeError, match="is no density"):
        kl_divergence("p", "q")


def test_densities_that_are_infinite_at_their_ends():
    with pytest.warns(ConvergenceWarning, match="bounded by") as caught:
        found = kl_divergence(stats.beta(0.5, 0.5), stats.uniform())
    bound = float(str(caught[0].message).split("bounded by ")[1].split()[0])
    assert abs(found + np.log(np.pi / 4)) < bound < 1e-6


def test_tails_too_heavy_for_a_finite_divergence():
    with pytest.warns(ConvergenceWarning):
        assert kl_divergence(stats.cauchy(), stats.norm()) > 1e6
    with pytest.raises(ValueError, match="tolerance"):
        kl_divergence(stats.cauchy(), stats.norm(), tolerance=np.nan)
