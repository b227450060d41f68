"""The gamma function, its derivatives, logarithms and Dirichlet equations, against decimals."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from suffice.numerics.double_double import DoubleDouble
from suffice.numerics.gamma_functions import (
    deviance_term,
    inverse_digamma,
    log_gamma_kernel,
    log_gamma_rise,
    log_minus_digamma,
    log_ratio,
    polygamma_rise,
    stirling_remainder,
    trigamma_excess,
)
from suffice.numerics.logarithm import LOG_UNIT, log_pair
from suffice.numerics.newton_dirichlet import (
    covariance_solve,
    gradient,
    log_shares,
    solve_concentrations,
)
from tests.families import exact

ARGUMENTS = [1e-100, 1e-8, 0.3, 1.0, 2.5, 9.999, 10.0, 47.0, 1e5, 1e15, 1e100]


def log_gamma_derivatives(x):
    """ψ and ψ′ as decimals."""
    h = x * exact.STEP
    up, at, down = (exact.log_gamma(x + k * h) for k in (1, 0, -1))
    return (up - down) / (2 * h), (up - 2 * at + down) / (h * h)


@pytest.mark.parametrize("x", ARGUMENTS)
def test_remainders(x):
    with localcontext() as context:
        context.prec = exact.DIGITS
        d = Decimal(x)
        first, second = log_gamma_derivatives(d)
        expected = [exact.log_gamma(d) - d * d.ln() + d, d.ln() - first, second - 1 / d]
    remainder, digamma, trigamma = map(float, expected)
    assert stirling_remainder(x) == pytest.approx(remainder, rel=1e-15, abs=4e-15)
    assert log_minus_digamma(x) == pytest.approx(digamma, rel=3e-15)
    assert trigamma_excess(x) == pytest.approx(trigamma, rel=3e-15)


@pytest.mark.parametrize("x", [1e-300, 1e-5, 0.4, 1.46, 3.0, 700.0, 1e200])
def test_inverse_digamma(x):
    assert inverse_digamma(special.psi(x)) == pytest.approx(x, rel=1e-12)


@pytest.mark.parametrize(
    ("x", "m"),
    [(1e6, 1e6 + 1), (3.0, 3.0), (0.0, 2.0), (5.0, 1e-300), (1e100, 2e100), (1e15, 1e15 + 7e7)],
)
def test_deviance_term(x, m):
    with localcontext() as context:
        context.prec = 250
        a, b = Decimal(x), Decimal(m)
        expected = float((a * (a / b).ln() if a else Decimal(0)) + b - a)
    assert deviance_term(x, m) == pytest.approx(expected, rel=2e-15, abs=0)
    assert deviance_term(x, m, np.log(m)) == pytest.approx(expected, rel=2e-14, abs=0)


def test_a_deviance_whose_mean_underflows():
    assert deviance_term(2.0, 0.0, -1e5) == pytest.approx(2 * (np.log(2) + 1e5) - 2, rel=1e-15)


def test_ratios_out_of_range():
    assert log_ratio(1e200, 1e-200) == pytest.approx(400 * np.log(10), rel=1e-15)
    assert log_ratio(1e-200, 1e200) == pytest.approx(-400 * np.log(10), rel=1e-15)
    assert log_ratio(3.0, 3.0) == 0


def test_the_kernel_of_shape_one_has_no_logarithm():
    assert log_gamma_kernel(1e-300, np.log(1e-300), 1.0, 1.0) == 1.0


@pytest.mark.parametrize(("x", "h"), [(1e-100, 1e-103), (0.5, 1e-9), (5.0, 0.05), (1e12, 2.0)])
def test_rises(x, h):
    with localcontext() as context:
        context.prec = exact.DIGITS
        low = log_gamma_derivatives(Decimal(x))
        high = log_gamma_derivatives(Decimal(x) + Decimal(h))
        expected = [float(b - a) for a, b in zip(low, high, strict=True)]
    found = [polygamma_rise(n, x, h) for n in (0, 1)]
    np.testing.assert_allclose(found, expected, rtol=4e-15)


def assert_twenty_digits(y):
    found = log_pair(y)
    with localcontext() as context:
        context.prec = 60
        expected = Decimal(y).ln()
        error = abs(Decimal(float(found.hi)) + Decimal(float(found.lo)) - expected)
        assert error <= Decimal(LOG_UNIT) * abs(expected)


@given(st.floats(5e-324, 1.7e308))
def test_logarithms_have_twenty_digits(y):
    assert_twenty_digits(y)


@pytest.mark.parametrize("step", [-64, -5, -1, 1, 2, 33])
def test_logarithms_near_one(step):
    assert_twenty_digits(1.0 + step * 2.0**-53)


def test_logarithms_of_double_doubles():
    third = DoubleDouble.of(1.0) / DoubleDouble.of(3.0)
    assert abs(float((log_pair(third) + log_pair(3.0)).round())) < LOG_UNIT


@pytest.mark.parametrize(
    "alpha", [[2e-3, 5e-3], [0.2, 0.3], [3.0, 1.0, 8.0], [1e6, 3e7, 2.0], [1e3] * 50]
)
def test_concentrations_solve_their_equations(alpha):
    alpha = np.array(alpha)
    with localcontext() as context:
        context.prec = exact.DIGITS
        psi = [log_gamma_derivatives(Decimal(a))[0] for a in [*alpha, sum(map(Decimal, alpha))]]
        t = [p - psi[-1] for p in psi[:-1]]
        hi = np.array([float(v) for v in t])
        lo = np.array([float(v - Decimal(h)) for v, h in zip(t, hi, strict=True)])
        gap = -float(sum(v.exp() for v in t).ln())
    found, steps = solve_concentrations(DoubleDouble(hi, lo), gap)
    np.testing.assert_allclose(found, alpha, rtol=1e-11)
    assert steps < 15
    assert np.abs(gradient(alpha, DoubleDouble(hi, lo))).max() <= 1e-14 * np.abs(hi).max()


@pytest.mark.parametrize("alpha", [[0.1, 0.05], [2.0, 3.0, 1.0], [50.0, 70.0]])
def test_covariances_are_inverted(alpha):
    alpha, v = np.array(alpha), np.arange(1.0, len(alpha) + 1)
    covariance = np.diag(special.polygamma(1, alpha)) - special.polygamma(1, alpha.sum())
    np.testing.assert_allclose(covariance_solve(alpha, v), np.linalg.solve(covariance, v), 1e-11)


def test_shares_near_one_keep_their_digits():
    assert log_shares(np.array([1e20, 1.0]))[0] == pytest.approx(-1e-20, rel=1e-15)


def test_rises_of_the_gamma_function():
    a, k = np.meshgrid([1e-3, 0.3, 9.5, 47.0, 1e6], [0.5, 1.0, 16.0, 1e5])
    expected = np.vectorize(gamma_rise)(a, k)
    np.testing.assert_allclose(log_gamma_rise(a, k), expected, rtol=1e-14)


@exact.precise
def gamma_rise(a, k):
    a, k = Decimal(float(a)), Decimal(float(k))
    return float(exact.log_gamma(a + k) - exact.log_gamma(a))
