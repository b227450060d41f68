"""The exponential families once more, in decimal numbers of 250 digits.

Log-partitions straight from their definitions; their derivatives by central differences, whose
steps can be so small that the result is as good as exact.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache, lru_cache, wraps

import numpy as np

DIGITS = 250
STEP = Decimal(10) ** -60


def precise(function):
    """Run with enough digits."""

    @wraps(function)
    def wrapped(*args):
        with localcontext() as context:
            context.prec = DIGITS
            return function(*args)

    return wrapped


def decimals(values):
    return [Decimal(float(v)) for v in np.ravel(values)]


@cache
def stirling_coefficients(most=120):
    """B₂ₖ / (2k (2k − 1)) for k = 1, …, by the recurrence of the Bernoulli numbers."""
    numbers = [Fraction(1), Fraction(-1, 2)]
    for m in range(2, 2 * most + 1):
        terms = (math.comb(m + 1, k) * numbers[k] for k in range(m) if numbers[k])
        numbers.append(-sum(terms) / (m + 1) if m % 2 == 0 else Fraction(0))
    with localcontext() as context:
        context.prec = DIGITS
        return [
            Decimal(numbers[2 * k].numerator) / numbers[2 * k].denominator / (2 * k * (2 * k - 1))
            for k in range(1, most + 1)
        ]


@lru_cache(maxsize=1000)
@precise
def log_gamma(x):
    """Stirling's series where it has all digits; below, by Γ(x) = Γ(x + n) / (x (x+1) …)."""
    product = Decimal(1)
    while x < 150:
        product *= x
        x += 1
    total = (x - Decimal("0.5")) * x.ln() - x + (2 * pi()).ln() / 2
    inverse, square = 1 / x, 1 / (x * x)
    for coefficient in stirling_coefficients():
        total += coefficient * inverse
        inverse *= square
    return total - product.ln()


@cache
def pi():
    """Machin's formula."""
    with localcontext() as context:
        context.prec = DIGITS + 5

        def arctan_of_inverse(n):
            total, term, k = Decimal(0), Decimal(1) / n, 1
            while abs(term) > Decimal(10) ** -(DIGITS + 5):
                total += term / k if k % 4 == 1 else -term / k
                term, k = term / (n * n), k + 2
            return total

        return 4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239))


# --- log-partitions ------------------------------------------------------------------------


def bernoulli(eta):
    return max(eta[0], Decimal(0)) + (1 + (-abs(eta[0])).exp()).ln()


def poisson(eta):
    return eta[0].exp()


def exponential(eta):
    return -(-eta[0]).ln()


def gaussian(eta):
    return -(eta[0] ** 2) / (4 * eta[1]) - (-2 * eta[1]).ln() / 2


def known_variance(variance):
    return lambda eta: Decimal(variance) * eta[0] ** 2 / 2


def gamma(eta):
    return log_gamma(eta[0]) - eta[0] * (-eta[1]).ln()


def dirichlet(eta):
    return sum(map(log_gamma, eta)) - log_gamma(sum(eta))


def categorical(eta):
    top = max(eta)
    return top + sum((e - top).exp() for e in eta).ln()


# --- derivatives ---------------------------------------------------------------------------


def _moved(eta, *moves):
    eta = list(eta)
    for j, by in moves:
        eta[j] += by
    return eta


def _steps(log_partition, eta):
    anywhere = log_partition in (bernoulli, poisson, categorical)
    return [(max(abs(e), 1) if anywhere else abs(e) or 1) * STEP for e in eta]


@precise
def derivatives(log_partition, eta):
    """∇a and ∇²a at a float64 η, rounded to float64."""
    eta = decimals(eta)
    h, p = _steps(log_partition, eta), len(eta)

    def a(*moves):
        return log_partition(_moved(eta, *moves))

    first = [(a((j, h[j])) - a((j, -h[j]))) / (2 * h[j]) for j in range(p)]
    second = np.empty((p, p))
    for i in range(p):
        for j in range(i + 1):
            mixed = (
                a((i, h[i]), (j, h[j]))
                - a((i, h[i]), (j, -h[j]))
                - a((i, -h[i]), (j, h[j]))
                + a((i, -h[i]), (j, -h[j]))
            )
            second[i, j] = second[j, i] = float(mixed / (4 * h[i] * h[j]))
    return np.array([float(f) for f in first]), second


@precise
def gradient_at(log_partition, eta, mean):
    """mean − ∇a(η) for a decimal mean: what is left at a maximum of the likelihood."""
    eta = decimals(eta)
    h = _steps(log_partition, eta)
    slopes = [
        (log_partition(_moved(eta, (j, h[j]))) - log_partition(_moved(eta, (j, -h[j]))))
        / (2 * h[j])
        for j in range(len(eta))
    ]
    return np.array([float(m - s) for m, s in zip(mean, slopes, strict=True)])


@precise
def density(log_partition, T, log_base, y, eta):
    """log p(y; η) from the formula."""
    eta = decimals(eta)
    y = decimals(y)
    inner = sum(e * t for e, t in zip(eta, T(y), strict=True))
    return float(log_base(y) + inner - log_partition(eta))


@precise
def mean_statistic(T, rows, weight=None):
    """Weighted mean of T(y) over the rows, without rounding to speak of."""
    weight = decimals(np.ones(len(rows)) if weight is None else weight)
    terms = [[w * t for t in T(decimals(row))] for row, w in zip(rows, weight, strict=True)]
    return [sum(column) / sum(weight) for column in zip(*terms, strict=True)]
