"""What counts come next: predictive distributions of coins, dice and events.

Integrating the parameter out of its posterior gives

    coins    k of n heads                    beta-binomial
    dice     the posterior mean's shares     categorical
    events   y in an exposure of t           negative binomial with p = rate / (rate + t)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.bayes.rises import log_shares_evidence
from suffice.bayes.values import ReadOnly, numbers, plain
from suffice.families.categorical import Categorical
from suffice.families.dirichlet import log_shares_sample
from suffice.families.sampling import generator, log_gamma_variates, number_of_draws
from suffice.numerics.double_double import Array, cross_difference
from suffice.numerics.gamma_functions import deviance_term, log_growth, stirling_remainder

MOST_EVENTS = 9e18
"""Expected events up to which their number can be drawn."""


@dataclass(frozen=True, eq=False)
class BetaBinomial(ReadOnly):
    """How many of `trials` coins show heads, when the probability is Beta(alpha, beta).

    Attributes
    ----------
    alpha, beta : arrays of shape (…)
    trials : int
        1 makes it a Bernoulli distribution.
    """

    alpha: Array
    beta: Array
    trials: int = 1

    @property
    def _both(self) -> Array:
        return np.stack(np.broadcast_arrays(self.alpha, self.beta), axis=-1)

    def log_density(self, y: Any) -> Any:
        """log P(y); −∞ for what is no count of heads.

        Heads and tails are what two negative binomials give whose sum is known; p is taken where
        that sum is most probable.
        """
        y, n = numbers("y", y), float(self.trials)
        possible = (y >= 0) & (y <= n) & (np.trunc(y) == y)
        k = np.where(possible, y, 0.0)
        m, a, b = n - k, self.alpha, self.beta
        alike = (k == 0) | (m == 0)  # one way to get it: the evidence of such rows
        evidence = log_shares_evidence(self._both, np.stack([k, m], axis=-1))
        x, z, total = np.where(alike, 1.0, k), np.where(alike, 1.0, m), a + b
        p, q, away = total / (total + n), n / (total + n), cross_difference(a, z, x, b, total + n)
        mixed = log_ways(a, x, p, q, away) + log_ways(b, z, p, q, -away)
        mixed = mixed - log_ways(total, n, p, q, 0.0)
        return plain(np.where(possible, np.where(alike, evidence, mixed), -np.inf))

    def mean(self) -> Any:
        """The expected number of heads, of shape (…)."""
        return plain(self.trials * (self.alpha / (self.alpha + self.beta)))

    def variance(self) -> Any:
        """The variance of that number, of shape (…)."""
        total = self.alpha + self.beta
        spread = self.alpha / total * (self.beta / total)
        return plain(self.trials * spread * ((total + self.trials) / (total + 1.0)))

    def sample(self, n: int, random_state: Any = None) -> NDArray[np.int64]:
        """Random numbers of heads, of shape (n, …)."""
        rng = generator(random_state)
        shares = self._both
        shape = (number_of_draws(n), *shares.shape)
        p = np.exp(log_shares_sample(shares, shape, rng)[..., 0])
        return np.asarray(rng.binomial(self.trials, p))


@dataclass(frozen=True, eq=False)
class CategoricalShares(ReadOnly):
    """The next throw of a die with these shares.

    Attributes
    ----------
    family : Categorical
        What the categories are called.
    shares, log_shares : arrays of shape (…, categories)
    """

    family: Categorical
    shares: Array
    log_shares: Array

    def log_density(self, y: Any) -> Any:
        """log P(y) of categories `y`, of the shape to which `y` and the pairs broadcast."""
        return plain(self.family.log_density(y, self.log_shares))

    def mean(self) -> Array:
        """The probability of each category."""
        return self.shares

    def variance(self) -> Array:
        """The variance of each category's indicator."""
        return self.shares * -np.expm1(self.log_shares)

    def sample(self, n: int, random_state: Any = None) -> NDArray[Any]:
        """Random categories, of shape (n, …)."""
        shape = (number_of_draws(n), *self.shares.shape[:-1])
        return self.family.sample(self.log_shares, shape, random_state)


@dataclass(frozen=True, eq=False)
class NegativeBinomial(ReadOnly):
    """How many events occur in `exposure`, when their rate is Gamma(shape, rate).

    Attributes
    ----------
    shape, rate : arrays of shape (…)
    exposure : float
    """

    shape: Array
    rate: Array
    exposure: float = 1.0

    def log_density(self, y: Any) -> Any:
        """log P(y); −∞ for what is no count.

        With n = shape + y and p = rate / (rate + exposure), by Loader's small terms.
        """
        y, a = numbers("y", y), self.shape
        possible = (y >= 0) & (np.trunc(y) == y)
        k = np.where(possible & (y > 0), y, 1.0)
        total = self.rate + self.exposure
        p, q = self.rate / total, self.exposure / total
        away = cross_difference(a, self.exposure, k, self.rate, total)
        none = -a * log_growth(self.rate, self.exposure)
        value = np.where(y > 0, log_ways(a, k, p, q, away), none)
        return plain(np.where(possible, value, -np.inf))

    def mean(self) -> Any:
        """The expected number of events, of shape (…)."""
        with np.errstate(over="ignore"):
            return plain(self.shape / self.rate * self.exposure)

    def variance(self) -> Any:
        """The variance of that number, of shape (…)."""
        with np.errstate(over="ignore"):
            ratio = self.exposure / self.rate
            return plain(self.shape * ratio * (1.0 + ratio))

    def sample(self, n: int, random_state: Any = None) -> NDArray[np.int64]:
        """Random numbers of events, of shape (n, …)."""
        rng = generator(random_state)
        shape, rate = np.broadcast_arrays(self.shape, self.rate)
        logs = log_gamma_variates(shape, (number_of_draws(n), *shape.shape), rng) - np.log(rate)
        expected = np.exp(np.minimum(logs + np.log(self.exposure), 700.0))
        if expected.max(initial=0.0) > MOST_EVENTS:
            raise ValueError(
                f"{float(expected.max()):.3g} events are expected, and draws are int64: accepted "
                f"are up to {MOST_EVENTS:g}; take a shorter exposure"
            )
        return np.asarray(rng.poisson(expected))


def log_ways(a: Array, k: Any, p: Any, q: Any, away: Any) -> Array:
    """log of Γ(a + k) / (Γ(a) k!) pᵃ qᵏ with p + q = 1, by Loader's small terms.

    `away` is a − (a + k) p, and (a + k) q − k, which are the same number.
    """
    n = a + k
    rest = stirling_remainder(n) - stirling_remainder(a) - stirling_remainder(k) - np.log(k)
    return np.asarray(
        rest - deviance_term(a, n * p, away=away) - deviance_term(k, n * q, away=-away)
    )
