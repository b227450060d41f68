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

from suffice.bayes.rises import log_growth, log_shares_evidence
from suffice.bayes.values import ReadOnly, numbers, plain
from suffice.families.categorical import Categorical
from suffice.families.dirichlet import log_partition, log_shares_sample
from suffice.families.sampling import generator, log_gamma_variates, number_of_draws
from suffice.numerics.double_double import Array
from suffice.numerics.gamma_functions import deviance_term, stirling_remainder

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
        """log P(y); −∞ for what is no count of heads."""
        y, n = numbers("y", y), float(self.trials)
        possible = (y >= 0) & (y <= n) & (np.trunc(y) == y)
        k = np.where(possible, y, 0.0)
        heads_and_tails = np.stack([k, n - k], axis=-1)
        ways = -log_partition(heads_and_tails + 1.0) - np.log(n + 1.0)
        value = ways * (n > 1) + log_shares_evidence(self._both, heads_and_tails)
        return plain(np.where(possible, value, -np.inf))

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
        p, q = self.rate / (self.rate + self.exposure), self.exposure / (self.rate + self.exposure)
        n = a + k
        some = stirling_remainder(n) - stirling_remainder(a) - stirling_remainder(k) - np.log(k)
        some = some - deviance_term(a, n * p) - deviance_term(k, n * q)
        value = np.where(y > 0, some, -a * log_growth(self.rate, np.asarray(self.exposure)))
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
