"""The responses of generalised linear models by name, and those that are no power of the mean.

    Gaussian             V(μ) = 1
    binomial             V(μ) = μ (1 − μ)
    negative binomial    V(μ) = μ + κ μ²

See `suffice.linear.glm.responses.base` for what a response is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from suffice.fitting.files.registry import storable
from suffice.linear.glm.links import LINKS, Link, sigmoid
from suffice.linear.glm.responses.base import Response, by_log_mean, derivatives_of, poisson_term
from suffice.linear.glm.responses.power_variance import (
    ExponentialResponse,
    GammaResponse,
    InverseGaussianResponse,
    PoissonResponse,
    TweedieResponse,
)
from suffice.linear.solvers.losses import Logistic
from suffice.numerics.double_double import Array
from suffice.statistics.curvature import Derivatives

__all__ = [
    "RESPONSES",
    "BinomialResponse",
    "ExponentialResponse",
    "GammaResponse",
    "GaussianResponse",
    "InverseGaussianResponse",
    "NegativeBinomialResponse",
    "PoissonResponse",
    "TweedieResponse",
]


@storable("Gaussian")
@dataclass(frozen=True)
class GaussianResponse(Response):
    """Real numbers of one variance: V(μ) = 1."""

    name = "gaussian"
    domain = "real"

    @property
    def canonical(self) -> Link:
        return LINKS["identity"]

    def variance(self, mu: Array) -> Array:
        return np.ones_like(mu)

    def unit_deviance(self, y: Array, mu: Array) -> Array:
        return np.square(y - mu)

    def derivatives(
        self, y: Array, link: Link, eta: Array, order: int, expected: bool
    ) -> Derivatives:
        mu = link.mean(eta)
        away = mu.value - y
        slope = mu.first * mu.first
        return derivatives_of(
            order,
            0.5 * np.square(away),
            lambda: away * mu.first,
            lambda: slope if expected else slope + away * mu.second,
        )

    def log_likelihood(self, deviance: float, base: float, weight: float, phi: float) -> float:
        return float(base - 0.5 * (deviance / phi + weight * np.log(2 * np.pi * phi)))


@storable("NegativeBinomial")
@dataclass(frozen=True)
class NegativeBinomialResponse(Response):
    """Counts that scatter more than Poisson's: V(μ) = μ + overdispersion μ².

    Attributes
    ----------
    overdispersion : float
        Given, not estimated; statsmodels calls it alpha.
    """

    overdispersion: float = 1.0
    name = "negative_binomial"
    domain = "positive"
    takes = "numbers that are not negative"
    fixed_dispersion = True

    def __post_init__(self) -> None:
        if not 0 < self.overdispersion < np.inf:
            raise ValueError(f"overdispersion must be positive, got {self.overdispersion!r}")

    @property
    def canonical(self) -> None:
        return None

    @property
    def default_link(self) -> Link:
        return LINKS["log"]

    def admits(self, y: Array) -> NDArray[np.bool_]:
        return np.asarray(y >= 0)

    def variance(self, mu: Array) -> Array:
        return np.asarray(mu * (1.0 + self.overdispersion * mu))

    def unit_deviance(self, y: Array, mu: Array) -> Array:
        k = self.overdispersion
        return np.asarray(2 * (poisson_term(y, mu) - poisson_term(1 + k * y, 1 + k * mu) / k))

    def derivatives(
        self, y: Array, link: Link, eta: Array, order: int, expected: bool
    ) -> Derivatives:
        k, m = self.overdispersion, link.log_mean(eta)
        odds = m.value + np.log(k)
        share, total = sigmoid(odds), y + 1 / k
        value = total * (np.maximum(odds, 0.0) + np.log1p(np.exp(-np.abs(odds)))) - y * m.value
        first = share / k - y * sigmoid(-odds)
        second = share / k if expected else total * share * sigmoid(-odds)
        return by_log_mean(order, value, m, first, second, expected)

    def log_base(self, y: Array, trials: Array | None, dispersion: float) -> Array:
        k = self.overdispersion
        spread = gammaln(y + 1 / k) - gammaln(y + 1) - gammaln(1 / k)
        return np.asarray(spread + xlogy(y, k * y) - (y + 1 / k) * np.log1p(k * y))


@storable("Binomial")
@dataclass(frozen=True)
class BinomialResponse(Response):
    """Shares of successes: V(μ) = μ (1 − μ), for a number of trials that weighs a row."""

    name = "binomial"
    domain = "unit"
    takes = "numbers from 0 to 1, or two columns that count successes and failures"
    fixed_dispersion = True

    @property
    def canonical(self) -> Link:
        return LINKS["logit"]

    def admits(self, y: Array) -> NDArray[np.bool_]:
        return np.asarray((y >= 0) & (y <= 1))

    def variance(self, mu: Array) -> Array:
        return np.asarray(mu * (1.0 - mu))

    def unit_deviance(self, y: Array, mu: Array) -> Array:
        return 2 * (poisson_term(y, mu) + poisson_term(1.0 - y, 1.0 - mu))

    def deviance_and_pearson(self, y: Array, link: Link, eta: Array) -> tuple[Array, Array]:
        log_one, log_zero = link.log_mean(eta).value, link.log_rest(eta).value
        one, zero = np.exp(log_one), np.exp(log_zero)
        deviance = poisson_term(y, one, log_one) + poisson_term(1.0 - y, zero, log_zero)
        odds = np.exp(np.minimum(log_one - log_zero, 700.0))
        # (y − μ)² / V without the difference: y counts for (1 − μ)/μ, 1 − y for μ/(1 − μ).
        chi = np.square(y * zero - (1.0 - y) * one)
        whole = np.where(y == 0, odds, np.where(y == 1, 1 / odds, chi / (one * zero)))
        return 2 * deviance, whole

    def derivatives(
        self, y: Array, link: Link, eta: Array, order: int, expected: bool
    ) -> Derivatives:
        if link == LINKS["logit"]:
            return Logistic()(y, eta[None], order)
        one, zero = link.log_mean(eta), link.log_rest(eta)

        def mixed(a: Array, b: Array) -> Array:
            # A share of 0 takes no part, not even where its logarithm is infinite.
            return -np.where(y > 0, y * a, 0.0) - np.where(y < 1, (1.0 - y) * b, 0.0)

        def information() -> Array:
            # Where one slope has vanished the other may be infinite: the product vanishes too.
            gone = (one.first == 0) | (zero.first == 0)
            return np.where(gone, 0.0, -one.first * zero.first)

        return derivatives_of(
            order,
            mixed(one.value, zero.value),
            lambda: mixed(one.first, zero.first),
            information if expected else lambda: mixed(one.second, zero.second),
        )

    def log_base(self, y: Array, trials: Array | None, dispersion: float) -> Array:
        base = xlogy(y, y) + xlogy(1.0 - y, 1.0 - y)
        if trials is None:
            return np.asarray(base)
        successes = y * trials
        ways = gammaln(trials + 1) - gammaln(successes + 1) - gammaln(trials - successes + 1)
        return np.asarray(trials * base + ways)


RESPONSES: dict[str, type[Response]] = {
    kind.name: kind
    for kind in (
        GaussianResponse,
        BinomialResponse,
        PoissonResponse,
        GammaResponse,
        ExponentialResponse,
        InverseGaussianResponse,
        TweedieResponse,
        NegativeBinomialResponse,
    )
}
