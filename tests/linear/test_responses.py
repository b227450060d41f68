"""Responses: densities of SciPy, derivatives against differences, domains."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from suffice.linear.glm.links import LINKS, Power
from suffice.linear.glm.loss import GeneralizedLoss, chosen_link, chosen_response
from suffice.linear.glm.responses.base import by_count
from suffice.linear.glm.responses.named import (
    RESPONSES,
    BinomialResponse,
    GaussianResponse,
    NegativeBinomialResponse,
)
from suffice.linear.glm.responses.power_variance import (
    ExponentialResponse,
    GammaResponse,
    InverseGaussianResponse,
    PoissonResponse,
    TweedieResponse,
)

TARGETS = {
    GaussianResponse(): [-2.0, 0.0, 0.5, 3.0],
    BinomialResponse(): [0.0, 0.25, 0.7, 1.0],
    PoissonResponse(): [0.0, 1.0, 2.5, 30.0],
    GammaResponse(): [0.01, 0.5, 2.0, 30.0],
    ExponentialResponse(): [0.01, 0.5, 2.0, 30.0],
    InverseGaussianResponse(): [0.05, 0.5, 2.0, 9.0],
    TweedieResponse(1.5): [0.0, 0.5, 2.0, 9.0],
    TweedieResponse(2.6): [0.05, 0.5, 2.0, 9.0],
    TweedieResponse(-1.0): [-3.0, 0.5, 2.0, 9.0],
    NegativeBinomialResponse(0.4): [0.0, 1.0, 4.0, 30.0],
}
UNIT = ("logit", "probit", "cloglog", "loglog")
MEANS = {"real": [0.2, 1.0, 4.0], "positive": [0.05, 0.8, 6.0], "unit": [0.02, 0.4, 0.95]}


def pairs():
    for response, y in TARGETS.items():
        for name, link in {**LINKS, "power(0.3)": Power(0.3)}.items():
            if name in UNIT and response.domain != "unit":
                continue
            yield pytest.param(response, link, np.array(y), id=f"{response}-{name}")


each_pair = pytest.mark.parametrize(("response", "link", "y"), list(pairs()))
each = pytest.mark.parametrize(("response", "y"), TARGETS.items(), ids=str)


def grid(response, link, y):
    """Every target with every mean."""
    mu = np.array(MEANS[response.domain])
    return np.repeat(y, len(mu)), link(np.tile(mu, len(y)))


def differences(function, eta):
    h = 2e-4 * np.maximum(np.abs(eta), 1e-2)
    f = [function(eta + k * h) for k in (-2, -1, 1, 2)]
    return (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h)


@each_pair
def test_gradient_and_hessian(response, link, y):
    y, eta = grid(response, link, y)
    loss = GeneralizedLoss(response, link)
    at = loss(y, eta[None], 2)
    for found, lower in ((at.gradient[0], 0), (at.hessian[0, 0], 1)):
        expected = differences(lambda e, lower=lower: np.ravel(loss(y, e[None], lower)[lower]), eta)
        scale = np.abs(expected).max()
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8 * scale)


@each_pair
def test_the_loss_is_half_the_deviance(response, link, y):
    """But for a term in y alone."""
    y, eta = grid(response, link, y)
    loss = GeneralizedLoss(response, link)
    value = loss(y, eta[None], 0).value
    rest = value - 0.5 * response.unit_deviance(y, link.mean(eta).value)
    rest = rest.reshape(-1, 3)
    np.testing.assert_allclose(rest, rest[:, :1] * np.ones(3), rtol=1e-9, atol=1e-9)


@each_pair
def test_expected_second_derivative(response, link, y):
    """μ′²/V, which is the observed one where y is the mean, and everywhere under the canonical."""
    mu = np.array(MEANS[response.domain])
    eta = link(mu)
    expected = GeneralizedLoss(response, link, expected=True)(mu, eta[None], 2).hessian[0, 0]
    slope = link.mean(eta).first
    np.testing.assert_allclose(expected, slope**2 / response.variance(mu), rtol=1e-10)
    observed = GeneralizedLoss(response, link)(mu, eta[None], 2).hessian[0, 0]
    np.testing.assert_allclose(observed, expected, rtol=1e-9)
    if link == response.canonical:
        y, eta = grid(response, link, y)
        one, other = (
            GeneralizedLoss(response, link, flag)(y, eta[None], 2).hessian for flag in (False, True)
        )
        np.testing.assert_allclose(one, other, rtol=1e-9)
        assert GeneralizedLoss.of(response, link).expected


@each_pair
def test_rows_of_the_last_pass(response, link, y):
    y, eta = grid(response, link, y)
    mu = link.mean(eta).value
    deviance, chi = response.deviance_and_pearson(y, link, eta)
    np.testing.assert_allclose(deviance, response.unit_deviance(y, mu), rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(chi, (y - mu) ** 2 / response.variance(mu), rtol=1e-10, atol=1e-13)


# --- densities of SciPy --------------------------------------------------------------------

PHI = 0.37


def scipy_log_density(response, y, mu, phi):
    match response:
        case GaussianResponse():
            return stats.norm.logpdf(y, mu, np.sqrt(phi))
        case PoissonResponse():
            return stats.poisson.logpmf(y, mu)
        case ExponentialResponse():
            return stats.expon.logpdf(y, scale=mu)
        case GammaResponse():
            return stats.gamma.logpdf(y, 1 / phi, scale=mu * phi)
        case InverseGaussianResponse():
            return stats.invgauss.logpdf(y, mu * phi, scale=1 / phi)
        case NegativeBinomialResponse(k):
            return stats.nbinom.logpmf(y, 1 / k, 1 / (1 + k * mu))
    raise NotImplementedError


@pytest.mark.parametrize(
    "response",
    [
        GaussianResponse(),
        PoissonResponse(),
        ExponentialResponse(),
        GammaResponse(),
        InverseGaussianResponse(),
        NegativeBinomialResponse(0.4),
    ],
    ids=str,
)
def test_log_likelihood_of_scipy(response):
    rng = np.random.default_rng(0)
    mu = rng.uniform(0.5, 6, size=50)
    y = rng.poisson(mu).astype(float) + (0.5 if response.takes == "positive numbers" else 0)
    phi = 1.0 if response.fixed_dispersion else PHI
    weight = rng.integers(1, 4, size=50)
    expected = weight @ scipy_log_density(response, y, mu, phi)
    deviance = weight @ response.unit_deviance(y, mu)
    base = weight @ response.log_base(y, None, phi)
    found = response.log_likelihood(deviance, base, float(weight.sum()), phi)
    assert found == pytest.approx(expected, rel=1e-12)


def test_log_likelihood_of_counts():
    rng = np.random.default_rng(0)
    trials = rng.integers(1, 20, size=40).astype(float)
    mu = rng.uniform(0.1, 0.9, size=40)
    y = rng.binomial(trials.astype(int), mu) / trials
    response = BinomialResponse()
    deviance = trials @ response.unit_deviance(y, mu)
    base = response.log_base(y, trials, 1.0).sum()
    expected = stats.binom.logpmf(np.rint(y * trials), trials, mu).sum()
    assert response.log_likelihood(deviance, base, 40.0, 1.0) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("power", [1.1, 1.5, 1.9])
def test_tweedie_densities_add_up_to_one(power):
    """The weight of 0 and the integral of the density over all amounts."""
    from scipy.integrate import quad

    response, mu, phi = TweedieResponse(power), np.array([1.3]), 0.8

    def density(y: float) -> float:
        amount = np.array([y])
        base = response.log_base(amount, None, phi)[0]
        return float(np.exp(base - response.unit_deviance(amount, mu)[0] / (2 * phi)))

    rest = quad(density, 1e-12, 5, limit=500)[0] + quad(density, 5, 60, limit=500)[0]
    assert density(0.0) + rest == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("power", [1, 2, 3])
def test_tweedie_has_the_deviances_of_its_special_cases(power):
    special = {1: PoissonResponse(), 2: GammaResponse(), 3: InverseGaussianResponse()}[power]
    y, mu = np.array([0.3, 2.0, 7.0]), np.array([0.5, 1.0, 6.0])
    for p in (power, power + 1e-6):
        np.testing.assert_allclose(
            TweedieResponse(p).unit_deviance(y, mu), special.unit_deviance(y, mu), rtol=1e-4
        )


def test_deviances_near_zero_keep_their_digits():
    """d ≈ (y − μ)²/V(μ), where the terms of the formula cancel to nothing."""
    mu = np.array([0.3])
    y = mu * (1 + 1e-7)
    for response in (
        PoissonResponse(),
        GammaResponse(),
        BinomialResponse(),
        NegativeBinomialResponse(0.4),
    ):
        near = (y - mu) ** 2 / response.variance(mu)
        np.testing.assert_allclose(response.unit_deviance(y, mu), near, rtol=1e-5)


# --- tails and bad input -------------------------------------------------------------------


@each
@pytest.mark.parametrize("name", LINKS)
def test_means_stay_in_the_domain(response, y, name):
    if name in UNIT and response.domain != "unit":
        pytest.skip("no link for this response")
    eta = np.array([-1e3, -50.0, -1.0, 0.0, 1.0, 50.0, 1e3])
    mu = GeneralizedLoss(response, LINKS[name]).mean(eta)
    assert np.isfinite(mu).all()
    if response.domain != "real":
        assert (mu > 0).all()
    if response.domain == "unit":
        assert (mu <= 1).all()


def test_certain_rows_cost_nothing_and_surprises_are_finite():
    eta = np.array([[800.0, -800.0]])
    for name in ("logit", "probit"):
        loss = GeneralizedLoss(BinomialResponse(), LINKS[name], expected=True)
        right, wrong = loss(np.array([1.0, 0.0]), eta, 2), loss(np.array([0.0, 1.0]), eta, 2)
        np.testing.assert_allclose(right.value, 0, atol=1e-300)
        assert np.isfinite(wrong.value).all()
        assert np.isfinite(wrong.gradient).all()
        assert np.isfinite(wrong.hessian).all()


def test_points_out_of_bounds_are_infinitely_bad():
    loss = GeneralizedLoss(PoissonResponse(), LINKS["identity"])
    assert loss(np.array([1.0, 1.0]), np.array([[-0.5, 2.0]]), 0).value.tolist() == [
        np.inf,
        2 - np.log(2),
    ]


@pytest.mark.parametrize(
    ("response", "refused"),
    [
        (PoissonResponse(), [-1.0]),
        (NegativeBinomialResponse(), [-1.0]),
        (GammaResponse(), [0.0, -1.0]),
        (ExponentialResponse(), [0.0]),
        (InverseGaussianResponse(), [0.0]),
        (BinomialResponse(), [-0.1, 1.1]),
        (TweedieResponse(1.5), [-0.1]),
        (TweedieResponse(2.5), [0.0]),
    ],
    ids=str,
)
def test_domains(response, refused):
    assert not response.admits(np.array(refused)).any()
    assert response.admits(np.array(TARGETS.get(response, [0.5]))).all()


def test_names_and_defaults():
    assert {chosen_response(name, 1.5, 1.0).name for name in RESPONSES} == set(RESPONSES)
    assert chosen_response("tweedie", 0, 1.0) == GaussianResponse()
    assert chosen_response("tweedie", 1.2, 1.0) == TweedieResponse(1.2)
    assert chosen_response("negative_binomial", 1.5, 0.3) == NegativeBinomialResponse(0.3)
    labels = {r.name: chosen_link("default", r).label for r in TARGETS}
    assert labels == {
        "gaussian": "identity",
        "binomial": "logit",
        "poisson": "log",
        "gamma": "log",
        "exponential": "log",
        "inverse_gaussian": "inverse_squared",
        "tweedie": "log",
        "negative_binomial": "log",
    }
    assert chosen_link("canonical", GammaResponse()).label == "inverse"
    assert chosen_link(Power(0.3), GammaResponse()) == Power(0.3)


def test_bad_names():
    with pytest.raises(ValueError, match="family='normal' is not known; there are 'gaussian'"):
        chosen_response("normal", 1.5, 1.0)
    with pytest.raises(ValueError, match="link='logit' is for means between 0 and 1"):
        chosen_link("logit", PoissonResponse())
    with pytest.raises(ValueError, match="link='canonical' is not offered"):
        chosen_link("canonical", NegativeBinomialResponse())
    with pytest.raises(ValueError, match="no Tweedie distribution for powers between 0"):
        TweedieResponse(0.5)
    with pytest.raises(ValueError, match="overdispersion must be positive"):
        NegativeBinomialResponse(0)


def test_small_counts_are_looked_up():
    """A table and the function itself give the same numbers."""
    rng = np.random.default_rng(0)
    for y in (
        rng.poisson(3.0, 5000).astype(float),
        rng.gamma(2.0, size=5000),
        np.full(2000, 300.0),
    ):
        calls = []

        def root(x, calls=calls):
            calls.append(len(x))
            return np.sqrt(x)

        np.testing.assert_array_equal(by_count(root, y), np.sqrt(y))
        counts = (y == np.rint(y)).all() and y.max() < 256
        assert calls == [256 if counts else len(y)]
