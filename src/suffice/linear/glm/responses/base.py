"""How a target scatters about its mean: the distributions of generalised linear models.

Each has a variance function V, and a density whose logarithm is

    log p(y; μ, φ) = −d(y, μ) / 2φ + log p(y; y, φ),      d(y, μ) = 2 ∫_μ^y (y − t) / V(t) dt

with the unit deviance d and the dispersion φ.  A fit minimises Σ w d/2, whatever φ is.  Its
derivatives are taken by log μ, or by log μ and log(1 − μ), which the link knows to the last
digits where μ itself has run into its bounds.

Reference: McCullagh and Nelder, "Generalized Linear Models" (1989), 2.2; Jørgensen, "The Theory of
Dispersion Models" (1997).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from suffice.linear.glm.links import LARGEST, SMALLEST, Jet, Link
from suffice.numerics.double_double import Array
from suffice.numerics.gamma_functions import CLOSE_BY, deviance_term_close_by
from suffice.statistics.curvature import Derivatives

SMALL_COUNTS, MANY = 256, 1024
"""Counts below this are looked up in a table, where there are so many."""


class Response(ABC):
    """The distribution of a target about its mean.

    Attributes
    ----------
    name : str
    domain : {"real", "positive", "unit"}
        Where means lie: anywhere, above 0, or between 0 and 1.
    takes : str
        What a target may hold, for messages.
    fixed_dispersion : bool
        Whether φ is 1 rather than estimated.
    """

    name: ClassVar[str]
    domain: ClassVar[str]
    takes: ClassVar[str] = "numbers"
    fixed_dispersion: ClassVar[bool] = False
    base_takes_dispersion: ClassVar[bool] = False

    @property
    @abstractmethod
    def canonical(self) -> Link | None:
        """The link under which η is the natural parameter; None if it is not offered."""

    @property
    def default_link(self) -> Link:
        """The link that is taken where the user names none."""
        assert self.canonical is not None
        return self.canonical

    def admits(self, y: Array) -> NDArray[np.bool_]:
        """Which values a target may hold."""
        return np.ones(len(y), dtype=bool)

    @abstractmethod
    def variance(self, mu: Array) -> Array:
        """V(μ)."""

    @abstractmethod
    def unit_deviance(self, y: Array, mu: Array) -> Array:
        """d(y, μ)."""

    @abstractmethod
    def derivatives(
        self, y: Array, link: Link, eta: Array, order: int, expected: bool
    ) -> Derivatives:
        """d/2, up to a term in y alone, and its derivatives by η.

        Parameters
        ----------
        y, eta : arrays of shape (rows,)
        link : Link
        order : {0, 1, 2}
        expected : bool
            Whether the second derivative is its mean over y, which is never negative.
        """

    def deviance_and_pearson(self, y: Array, link: Link, eta: Array) -> tuple[Array, Array]:
        """d(y, μ) and (y − μ)²/V(μ) of each row."""
        mu = self.clipped(link.mean(eta).value)
        return self.unit_deviance(y, mu), np.square(y - mu) / self.variance(mu)

    def clipped(self, mu: Array) -> Array:
        """Means within the domain, as far as they are numbers."""
        if self.domain == "real":
            return np.clip(mu, -LARGEST, LARGEST)
        return np.clip(mu, SMALLEST, LARGEST if self.domain == "positive" else 1.0)

    def log_base(self, y: Array, trials: Array | None, dispersion: float) -> Array:
        """log p(y; y, φ), as far as it is a sum over rows and not a matter of their number."""
        return np.zeros(len(y))

    def log_likelihood(self, deviance: float, base: float, weight: float, phi: float) -> float:
        """Of all rows, from their deviance, their sum of `log_base` and their weight; φ > 0."""
        return base - deviance / (2 * phi)


def poisson_term(x: Array, m: Array, log_m: Array | None = None) -> Array:
    """x log(x/m) + m − x, of which every deviance here is made; see `deviance_term`.

    The terms cancel only where x and m are near each other: there alone a series is summed.
    """
    log_m = np.log(m) if log_m is None else log_m
    away = m - x
    found = by_count(_x_log_x, x) - np.where(x > 0, x * log_m, 0.0)
    found += away
    return _with_series(found, x, m, away)


def poisson_term_of_one(m: Array) -> Array:
    """`poisson_term` for x = 1."""
    away = m - 1.0
    return _with_series(away - np.log(m), np.ones_like(m), m, away)


def _with_series(found: Array, x: Array, m: Array, away: Array) -> Array:
    near = np.flatnonzero(np.abs(away) < CLOSE_BY * (x + m))
    if len(near):
        found[near] = deviance_term_close_by(x[near], m[near])
    return found


def by_count(function: Callable[[Array], Array], x: Array) -> Array:
    """A function of each number; where all are small counts, it is taken once for each count."""
    if len(x) >= MANY and 0 <= x.min() and x.max() < SMALL_COUNTS:
        counts = x.astype(np.intp)
        if (counts == x).all():
            return function(np.arange(float(SMALL_COUNTS)))[counts]
    return np.asarray(function(x))


def _x_log_x(x: Array) -> Array:
    return np.asarray(xlogy(x, x))


def derivatives_of(
    order: int, value: Array, first: Callable[[], Array], second: Callable[[], Any]
) -> Derivatives:
    """A loss and as many of its derivatives by one predictor as are asked for."""
    gradient = first()[None] if order > 0 else None
    if order < 2:
        return Derivatives(value, gradient)
    hessian = second()
    hessian = hessian if np.ndim(hessian) else np.full(value.shape, hessian)
    return Derivatives(value, gradient, hessian[None, None])


def by_log_mean(
    order: int, value: Array, m: Jet, first: Array, second: Any, expected: bool
) -> Derivatives:
    """Derivatives by η, from those by m = log μ; the expected second has no term in m″."""
    if isinstance(m.first, float) and m.first == 1.0:
        return derivatives_of(order, value, lambda: first, lambda: second)
    return derivatives_of(
        order,
        value,
        lambda: first * m.first,
        lambda: second * m.first**2 + (0.0 if expected else first * m.second),
    )
