"""Links: there and back, derivatives against differences, and tails that lose nothing."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy.special import log_ndtr

from suffice.linear.glm.links import LINKS, Link, Power, named_link

ALL = {**LINKS, "power(0.3)": Power(0.3), "power(-1.5)": Power(-1.5)}
PROBABILITIES = ("logit", "probit", "cloglog", "loglog")
each = pytest.mark.parametrize("link", ALL.values(), ids=ALL)


def means(link: Link) -> np.ndarray:
    """Means that a link takes."""
    if link in [LINKS[name] for name in PROBABILITIES]:
        return np.array([1e-9, 1e-3, 0.2, 0.5, 0.77, 0.99, 1 - 1e-6])
    return np.array([1e-6, 0.01, 0.5, 1.0, 3.0, 250.0])


def differences(function, eta: np.ndarray) -> np.ndarray:
    """Derivatives by a five-point rule."""
    h = 3e-4 * np.where(eta > 0, np.abs(eta), np.maximum(np.abs(eta), 1.0))
    f = [function(eta + k * h) for k in (-2, -1, 1, 2)]
    return (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h)


@each
def test_there_and_back(link):
    mu = means(link)
    np.testing.assert_allclose(link.mean(link(mu)).value, mu, rtol=1e-9)


@each
@pytest.mark.parametrize("function", ["mean", "log_mean", "log_rest"])
def test_derivatives(link, function):
    mu = means(link)
    if function == "log_rest":
        mu = mu[(mu > 1e-4) & (mu < 0.995)]
    eta = link(mu)
    if np.isclose(eta, 0).any():
        eta = eta[~np.isclose(eta, 0)]
    jet = getattr(link, function)
    at = jet(eta)
    close = {"rtol": 1e-8, "atol": 1e-11}
    np.testing.assert_allclose(
        np.broadcast_to(at.first, eta.shape), differences(lambda e: jet(e).value, eta), **close
    )
    second = differences(lambda e: np.broadcast_to(jet(e).first, e.shape), eta)
    np.testing.assert_allclose(np.broadcast_to(at.second, eta.shape), second, **close)


@each
def test_logarithms_are_those_of_the_mean(link):
    eta = link(means(link)[means(link) < 0.99])
    mu = link.mean(eta).value
    np.testing.assert_allclose(np.exp(link.log_mean(eta).value), mu, rtol=1e-12)
    np.testing.assert_allclose(np.exp(link.log_rest(eta).value), 1 - mu, rtol=1e-12)


def test_both_outcomes_are_certain_together():
    eta = np.linspace(-30, 3, 67)
    for name in PROBABILITIES:
        link = LINKS[name]
        total = np.exp(link.log_mean(eta).value) + np.exp(link.log_rest(eta).value)
        np.testing.assert_allclose(total, 1.0, rtol=1e-14)


@pytest.mark.parametrize("name", PROBABILITIES)
def test_far_tails_stay_finite(name):
    eta = np.array([-1e3, -740.0, -40.0, 40.0, 740.0, 1e3])
    mu = LINKS[name].mean(eta)
    assert np.isfinite(mu.value).all()
    assert ((mu.value >= 0) & (mu.value <= 1)).all()
    assert np.isfinite(mu.first).all()
    assert np.isfinite(mu.second).all()


@pytest.mark.parametrize("name", ["logit", "probit"])
def test_far_tails_of_the_logarithms(name):
    eta = np.array([-1e3, -100.0, -10.0, 10.0, 100.0, 1e3])
    for jet in (LINKS[name].log_mean(eta), LINKS[name].log_rest(eta)):
        assert all(np.isfinite(part).all() for part in jet)
    assert LINKS[name].log_mean(eta).value[0] == pytest.approx(
        -1e3 if name == "logit" else log_ndtr(-1e3), rel=1e-15
    )


def test_the_probit_slope_in_its_tail():
    """φ/Φ at −x is x + 1/x − 2/x³ + 10/x⁵ − 74/x⁷ + …"""
    x = np.array([50.0, 1e3])
    slope = LINKS["probit"].log_mean(-x).first
    np.testing.assert_allclose(slope, x + 1 / x - 2 / x**3 + 10 / x**5 - 74 / x**7, rtol=1e-14)


@pytest.mark.parametrize("eta", [-800.0, -30.0, -21.0, -12.0, -4.7, -4.5, 0.0, 1.0, 3.0])
def test_complementary_log_log_to_the_last_digit(eta):
    """log(1 − exp(−e^η)) and t/(eᵗ − 1) in forty digits."""
    at = LINKS["cloglog"].log_mean(np.array([eta]))
    with localcontext() as context:
        context.prec = 400
        t = Decimal(eta).exp()
        value, first = (1 - (-t).exp()).ln(), t / (t.exp() - 1)
        second = first * (1 - t - first)
    assert at.value[0] == pytest.approx(float(value), rel=2e-15, abs=1e-300)
    assert at.first[0] == pytest.approx(float(first), rel=4e-15)
    assert at.second[0] == pytest.approx(float(second), rel=1e-11)


def test_complementary_log_log_is_the_mirror_of_log_log():
    eta = np.linspace(-6, 6, 25)
    one, other = LINKS["cloglog"], LINKS["loglog"]
    np.testing.assert_allclose(one.mean(eta).value, 1 - other.mean(-eta).value, rtol=1e-10)


def test_log_mean_of_the_log_link_never_underflows():
    at = LINKS["log"].log_mean(np.array([-1e4]))
    assert (at.value[0], at.first, at.second) == (-1e4, 1.0, 0.0)


@each
def test_where_means_are_in_the_domain(link):
    for domain, inside in (("positive", (1e-3, 0.4, 7.0)), ("unit", (1e-3, 0.4, 0.99))):
        low, high = link.interval(domain)
        mu = np.array(inside)
        if link in [LINKS[name] for name in PROBABILITIES]:
            mu = mu[mu < 1]
        eta = link(mu)
        assert ((eta > low) & (eta < high)).all()


def test_intervals_end_where_domains_do():
    assert LINKS["log"].interval("unit") == (-math.inf, 0)
    assert LINKS["identity"].interval("unit") == (0, 1)
    assert LINKS["identity"].interval("real") == (-math.inf, math.inf)
    assert LINKS["inverse"].interval("unit") == (1, math.inf)


def test_names():
    assert named_link("sqrt").label == "sqrt"
    assert Power(0.3).label == "power(0.3)"
    with pytest.raises(ValueError, match=r"link='logarithm' is not known; there are 'identity'"):
        named_link("logarithm")
