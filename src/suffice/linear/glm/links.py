"""Link functions: from the mean μ of a target to the linear predictor η = g(μ), and back.

A link knows the mean, its logarithm and the logarithm of what is left to 1, each with two
derivatives by η:

    μ = g⁻¹(η),      log μ,      log(1 − μ)

Likelihoods of counts, amounts and shares are sums of such logarithms.  In them no tail is lost:
where μ = e^η underflows, log μ = η does not.

Reference: McCullagh and Nelder, "Generalized Linear Models" (1989), 2.2 and 4.3.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr, ndtri

from suffice.fitting.files.registry import register
from suffice.numerics.double_double import Array

LARGEST = float(np.finfo(np.float64).max)
SMALLEST = float(np.finfo(np.float64).tiny)

Interval = tuple[float, float]
EVERYWHERE: Interval = (-np.inf, np.inf)
POSITIVE: Interval = (0.0, np.inf)


class Jet(NamedTuple):
    """A function of η and its first two derivatives; numbers stand for constant arrays."""

    value: Any
    first: Any
    second: Any

    def log(self) -> Jet:
        """The logarithm of the function."""
        first = self.first / self.value
        return Jet(np.log(self.value), first, self.second / self.value - first * first)


class Link(ABC):
    """η = g(μ), increasing or decreasing.

    Examples
    --------
    >>> import numpy as np
    >>> link = named_link("log")
    >>> link(np.array([1.0])), link.mean(np.array([0.0])).value
    (array([0.]), array([1.]))
    """

    name: ClassVar[str]

    @property
    def label(self) -> str:
        """How tables and messages call it."""
        known = (name for name, link in LINKS.items() if link == self)
        return next(known, self.name)

    @abstractmethod
    def __call__(self, mu: Array) -> Array:
        """g(μ)."""

    @abstractmethod
    def mean(self, eta: Array) -> Jet:
        """μ and its derivatives."""

    def log_mean(self, eta: Array) -> Jet:
        """log μ and its derivatives."""
        return self.mean(eta).log()

    def log_rest(self, eta: Array) -> Jet:
        """log(1 − μ) and its derivatives."""
        mu = self.mean(eta)
        rest = Jet(1.0 - mu.value, -mu.first, -mu.second).log()
        return rest._replace(value=np.log1p(-mu.value))

    def interval(self, domain: str) -> Interval:
        """The predictors whose mean lies in a domain: "real", "positive" or "unit"."""
        return EVERYWHERE


@register
@dataclass(frozen=True)
class Power(Link):
    """η = μ^power for μ > 0; a power of 0 stands for the logarithm, 1 for μ itself.

    Other powers take positive means, and so positive predictors, only.
    """

    power: float
    name = "power"

    @property
    def label(self) -> str:
        """How tables and messages call it."""
        found = super().label
        return f"power({self.power:g})" if found == "power" else found

    def __call__(self, mu: Array) -> Array:
        if self.power == 0:
            return np.log(mu)
        return np.asarray(mu if self.power == 1 else np.power(mu, self.power))

    def mean(self, eta: Array) -> Jet:
        if self.power == 0:
            mu = np.exp(eta)
            return Jet(mu, mu, mu)
        if self.power == 1:
            return Jet(eta, 1.0, 0.0)
        p = 1 / self.power
        return Jet(eta**p, p * eta ** (p - 1), p * (p - 1) * eta ** (p - 2))

    def log_mean(self, eta: Array) -> Jet:
        if self.power == 0:
            return Jet(eta, 1.0, 0.0)
        p = 1 / self.power
        return Jet(p * np.log(eta), p / eta, -p / np.square(eta))

    def log_rest(self, eta: Array) -> Jet:
        if self.power != 0:
            return super().log_rest(eta)
        rest = -np.expm1(eta)
        odds = np.exp(eta) / rest
        return Jet(np.log(rest), -odds, -odds / rest)

    def interval(self, domain: str) -> Interval:
        if domain == "unit":
            return (-np.inf, 0.0) if self.power == 0 else (0, 1) if self.power > 0 else (1, np.inf)
        if self.power == 0 or (self.power == 1 and domain == "real"):
            return EVERYWHERE
        return POSITIVE


@register
@dataclass(frozen=True)
class Logit(Link):
    """η = log(μ / (1 − μ)), the log odds."""

    name = "logit"

    def __call__(self, mu: Array) -> Array:
        return np.asarray(np.log(mu) - np.log1p(-mu))

    def mean(self, eta: Array) -> Jet:
        one, zero = sigmoid(eta), sigmoid(-eta)
        return Jet(one, one * zero, one * zero * (zero - one))

    def log_mean(self, eta: Array) -> Jet:
        zero = sigmoid(-eta)
        return Jet(-np.logaddexp(0.0, -eta), zero, -zero * sigmoid(eta))

    def log_rest(self, eta: Array) -> Jet:
        return mirrored(self.log_mean(-eta))


@register
@dataclass(frozen=True)
class Probit(Link):
    """η = Φ⁻¹(μ), with Φ the normal distribution function."""

    name = "probit"

    def __call__(self, mu: Array) -> Array:
        return np.asarray(ndtri(mu))

    def mean(self, eta: Array) -> Jet:
        density = np.exp(-0.5 * np.square(eta)) / np.sqrt(2 * np.pi)
        return Jet(ndtr(eta), density, -eta * density)

    def log_mean(self, eta: Array) -> Jet:
        # The density over Φ; the scaled complement of erf keeps it to the end of the tail.
        with np.errstate(over="ignore"):
            ratio = np.sqrt(2 / np.pi) / erfcx(-eta / np.sqrt(2))
        return Jet(log_ndtr(eta), ratio, -ratio * (ratio + eta))

    def log_rest(self, eta: Array) -> Jet:
        return mirrored(self.log_mean(-eta))


@register
@dataclass(frozen=True)
class CLogLog(Link):
    """η = log(−log(1 − μ)): μ is small slowly and near 1 at once."""

    name = "cloglog"

    def __call__(self, mu: Array) -> Array:
        return np.log(-np.log1p(-mu))

    def mean(self, eta: Array) -> Jet:
        with np.errstate(over="ignore"):
            t = np.exp(eta)
        density = np.exp(eta - t)
        second = np.where(np.isfinite(t), 1.0 - np.minimum(t, LARGEST), 0.0)
        return Jet(-np.expm1(-t), density, second * density)

    def log_mean(self, eta: Array) -> Jet:
        with np.errstate(over="ignore"):
            t = np.exp(eta)
        # t/(eᵗ − 1) = 1 − t/2 + t²/12 − …, whose first term cancels in the second derivative.
        large, small = np.minimum(t, 700.0), np.minimum(t, 1e-2)
        ratio = np.where(t > 0, large / np.expm1(np.maximum(large, SMALLEST)), 1.0)
        ratio = np.where(t > 700.0, 0.0, ratio)
        near = -small / 2 + small**2 / 6 - small**4 / 180
        far = ratio * (1.0 - large - ratio)
        # log(1 − e⁻ᵗ), which is log t − t/2 where t is tiny, and η where it has underflowed.
        low, high = np.clip(t, 1e-9, 1.0), np.maximum(t, 1.0)
        value = np.where(t < 1e-9, eta - 0.5 * t, np.log(-np.expm1(-low)))
        value = np.where(t > 1.0, np.log1p(-np.exp(-high)), value)
        return Jet(value, ratio, np.where(t < 1e-2, near, far))

    def log_rest(self, eta: Array) -> Jet:
        with np.errstate(over="ignore"):
            t = np.exp(eta)
        return Jet(-t, -t, -t)


@register
@dataclass(frozen=True)
class LogLog(Link):
    """η = −log(−log μ): `CLogLog` with the two outcomes exchanged."""

    name = "loglog"

    def __call__(self, mu: Array) -> Array:
        return -np.log(-np.log(mu))

    def mean(self, eta: Array) -> Jet:
        other = CLogLog().mean(-eta)
        with np.errstate(over="ignore"):
            return Jet(np.exp(-np.exp(-eta)), other.first, -other.second)

    def log_mean(self, eta: Array) -> Jet:
        return mirrored(CLogLog().log_rest(-eta))

    def log_rest(self, eta: Array) -> Jet:
        return mirrored(CLogLog().log_mean(-eta))


LINKS: dict[str, Link] = {
    "identity": Power(1.0),
    "log": Power(0.0),
    "inverse": Power(-1.0),
    "inverse_squared": Power(-2.0),
    "sqrt": Power(0.5),
    "logit": Logit(),
    "probit": Probit(),
    "cloglog": CLogLog(),
    "loglog": LogLog(),
}


def named_link(name: str) -> Link:
    """A link by its name, one of `LINKS`."""
    if name not in LINKS:
        raise ValueError(
            f"link={name!r} is not known; there are {', '.join(map(repr, LINKS))}, and "
            "suffice.linear.glm.links.Power(p) for other powers"
        )
    return LINKS[name]


def mirrored(jet: Jet) -> Jet:
    """The derivatives by η of a function that was taken at −η."""
    return Jet(jet.value, -jet.first, jet.second)


def sigmoid(eta: Array) -> Array:
    """1 / (1 + e^(−η)), to its last digits in both tails."""
    small = np.exp(-np.abs(eta))
    return np.asarray(np.where(eta >= 0, 1.0, small) / (1.0 + small))
