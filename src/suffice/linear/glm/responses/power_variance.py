"""Responses whose variance is a power of the mean: Poisson, Gamma, inverse Gaussian, Tweedie.

With V(μ) = μ^p and m = log μ, q = y μ^(1−p), s = μ^(2−p), half the unit deviance is

    d/2 = s/(2 − p) − q/(1 − p) + …,      ∂/∂m = s − q,      ∂²/∂m² = (2 − p) s − (1 − p) q

where log μ stands for μ^0/0.

Reference: Jørgensen, "The Theory of Dispersion Models" (1997), chapter 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, log_wright_bessel, xlogy

from suffice.fitting.files.registry import storable
from suffice.linear.glm.links import LINKS, Link, Power
from suffice.linear.glm.responses.base import (
    Response,
    by_count,
    by_log_mean,
    poisson_term,
    poisson_term_of_one,
)
from suffice.numerics.double_double import Array
from suffice.numerics.gamma_functions import stirling_remainder
from suffice.statistics.curvature import Derivatives


@dataclass(frozen=True)
class PowerVariance(Response):
    """Positive means with V(μ) = μ^p; by m = log μ, with q = y μ^(1−p) and s = μ^(2−p):

    d/2 = s/(2 − p) − q/(1 − p) + …,     ∂ = s − q,     ∂² = (2 − p) s − (1 − p) q
    """

    domain = "positive"

    p: ClassVar[float]

    @property
    def canonical(self) -> Link:
        return Power(1.0 - self.p)

    def variance(self, mu: Array) -> Array:
        return np.asarray(mu**self.p)

    def unit_deviance(self, y: Array, mu: Array) -> Array:
        p = self.p
        if p == 1:
            return 2 * poisson_term(y, mu)
        if p == 2:
            return 2 * poisson_term_of_one(y / mu)
        if p == 3:
            return np.asarray(np.square((y - mu) / mu) / y)
        saturated = np.maximum(y, 0.0) ** (2 - p) / ((1 - p) * (2 - p))
        rest = mu ** (2 - p) / (2 - p) - y * mu ** (1 - p) / (1 - p)
        return np.maximum(2 * (saturated + rest), 0.0)

    def derivatives(
        self, y: Array, link: Link, eta: Array, order: int, expected: bool
    ) -> Derivatives:
        p, m = self.p, link.log_mean(eta)
        q = y if p == 1 else y * np.exp((1 - p) * m.value)
        s = 1.0 if p == 2 else np.exp((2 - p) * m.value)
        value = (m.value if p == 2 else s / (2 - p)) - (y * m.value if p == 1 else q / (1 - p))
        second = s if expected else (2 - p) * s - (1 - p) * q
        return by_log_mean(order, value, m, s - q, second, expected)


@storable("Poisson")
@dataclass(frozen=True)
class PoissonResponse(PowerVariance):
    """Counts: V(μ) = μ."""

    name = "poisson"
    takes = "numbers that are not negative"
    fixed_dispersion = True
    p = 1.0

    def admits(self, y: Array) -> NDArray[np.bool_]:
        return np.asarray(y >= 0)

    def log_base(self, y: Array, trials: Array | None, dispersion: float) -> Array:
        return by_count(lambda k: xlogy(k, k) - k - gammaln(k + 1), y)


@storable("Gamma")
@dataclass(frozen=True)
class GammaResponse(PowerVariance):
    """Positive amounts with a constant coefficient of variation: V(μ) = μ²."""

    name = "gamma"
    takes = "positive numbers"
    p = 2.0

    @property
    def canonical(self) -> Link:
        return LINKS["inverse"]

    @property
    def default_link(self) -> Link:
        return LINKS["log"]

    def admits(self, y: Array) -> NDArray[np.bool_]:
        return np.asarray(y > 0)

    def log_base(self, y: Array, trials: Array | None, dispersion: float) -> Array:
        return -np.log(y)

    def log_likelihood(self, deviance: float, base: float, weight: float, phi: float) -> float:
        return float(base - deviance / (2 * phi) - weight * stirling_remainder(1 / phi))


@storable("Exponential")
@dataclass(frozen=True)
class ExponentialResponse(GammaResponse):
    """Waiting times: a Gamma distribution whose dispersion is 1."""

    name = "exponential"
    fixed_dispersion = True


@storable("InverseGaussian")
@dataclass(frozen=True)
class InverseGaussianResponse(PowerVariance):
    """Positive amounts with a long tail: V(μ) = μ³."""

    name = "inverse_gaussian"
    takes = "positive numbers"
    p = 3.0

    def admits(self, y: Array) -> NDArray[np.bool_]:
        return np.asarray(y > 0)

    def log_base(self, y: Array, trials: Array | None, dispersion: float) -> Array:
        return -1.5 * np.log(y)

    def log_likelihood(self, deviance: float, base: float, weight: float, phi: float) -> float:
        spread = 0.5 * weight * np.log(2 * np.pi * phi)
        return float(super().log_likelihood(deviance, base, weight, phi) - spread)


@storable("Tweedie")
@dataclass(frozen=True)
class TweedieResponse(PowerVariance):
    """V(μ) = μ^power: between 1 and 2 sums of Gamma amounts in Poisson number, 0 among them.

    The log likelihood is known for powers between 1 and 2; for others it is NaN.

    Attributes
    ----------
    power : float
        At most 0, or at least 1.
    """

    power: float = 1.5
    name = "tweedie"

    def __post_init__(self) -> None:
        if not (self.power <= 0 or self.power >= 1):
            raise ValueError(
                f"power={self.power!r}: there is no Tweedie distribution for powers between 0 "
                "and 1, nor for NaN"
            )

    @property
    def takes(self) -> str:  # type: ignore[override]
        """What a target may hold."""
        if self.power <= 0:
            return "numbers"
        return "positive numbers" if self.power >= 2 else "numbers that are not negative"

    @property
    def base_takes_dispersion(self) -> bool:  # type: ignore[override]
        """Whether `log_base` is another one for each dispersion."""
        return 1 < self.power < 2

    @property
    def p(self) -> float:  # type: ignore[override]
        """The power, by the name that all of these know it by."""
        return float(self.power)

    @property
    def default_link(self) -> Link:
        return LINKS["log"]

    def admits(self, y: Array) -> NDArray[np.bool_]:
        if self.power <= 0:
            return super().admits(y)
        return np.asarray(y > 0 if self.power >= 2 else y >= 0)

    def log_base(self, y: Array, trials: Array | None, dispersion: float) -> Array:
        if not self.base_takes_dispersion:
            return np.full(len(y), np.nan)
        p, phi, some = self.power, dispersion, y > 0
        a, x = (2 - p) / (p - 1), np.where(some, y, 1.0)
        # Dunn and Smyth, "Series evaluation of Tweedie exponential dispersion models" (2005).
        log_z = a * (np.log(x / (p - 1)) - np.log(phi)) - np.log((2 - p) * phi)
        series = log_wright_bessel(a, 0.0, np.exp(log_z)) - np.log(x)
        return np.where(some, series + x ** (2 - p) / ((1 - p) * (2 - p) * phi), 0.0)
