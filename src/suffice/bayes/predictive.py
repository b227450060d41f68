"""What comes next: the distribution of an observation, the parameters integrated out.

    coins          k of n heads                    beta-binomial
    dice           the posterior mean's shares     categorical
    events         y in an exposure of t           negative binomial with p = rate / (rate + t)
    measurements   of one column or several        Student's t;  Gaussian for df = ∞

Student's t of d columns is  p(x) ∝ (1 + δ²/ν)^−(ν + d)/2  with  δ² = (x − m)ᵀ Σ⁻¹ (x − m).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, stdtrit, xlogy

from suffice.bayes.checks import ReadOnly, numbers, plain
from suffice.families.categorical import Categorical
from suffice.families.dirichlet import log_shares_sample
from suffice.families.gaussian import LOG_2PI
from suffice.families.sampling import generator, log_gamma_variates, number_of_draws
from suffice.numerics.double_double import Array
from suffice.numerics.gamma_functions import log_gamma_rise

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

    def log_density(self, y: Any) -> Any:
        """log P(y) = log C(n, y) + log B(α + y, β + n − y) − log B(α, β); −∞ for no count."""
        y, n = numbers("y", y), float(self.trials)
        possible = (y >= 0) & (y <= n) & (np.trunc(y) == y)
        k = np.where(possible, y, 0.0)
        ways = -betaln(k + 1.0, n - k + 1.0) - np.log(n + 1.0)
        value = ways + betaln(self.alpha + k, self.beta + n - k) - betaln(self.alpha, self.beta)
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
        both = np.stack(np.broadcast_arrays(self.alpha, self.beta), axis=-1)
        shape = (number_of_draws(n), *both.shape)
        p = np.exp(log_shares_sample(both, shape, rng)[..., 0])
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
        """log P(y) = log Γ(a + y) / (Γ(a) y!) pᵃ (1 − p)ʸ; −∞ for what is no count."""
        y, a = numbers("y", y), self.shape
        possible = (y >= 0) & (np.trunc(y) == y)
        k = np.where(possible, y, 0.0)
        # 1 / ((a + k) B(a, k + 1)) ways
        ways = -np.log(a + k) - betaln(a, k + 1.0)
        none = -a * np.log1p(self.exposure / self.rate)
        value = ways + none + xlogy(k, self.exposure / (self.rate + self.exposure))
        return plain(np.where(possible, value, -np.inf))

    def mean(self) -> Any:
        """The expected number of events, of shape (…)."""
        return plain(self.shape / self.rate * self.exposure)

    def variance(self) -> Any:
        """The variance of that number, of shape (…)."""
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


@dataclass(frozen=True, eq=False)
class StudentT(ReadOnly):
    """A number whose variance is known only roughly.

    Attributes
    ----------
    df : array of shape (…)
        Degrees of freedom; ∞ makes it Gaussian.
    centre : array of shape (…)
    scale : array of shape (…)
        The square of the unit in which distances count; the variance of a Gaussian.
    """

    df: Array
    centre: Array
    scale: Array

    def log_density(self, y: Any) -> Any:
        """log p(y), of the shape to which `y` and the pairs broadcast."""
        distance = (numbers("y", y) - self.centre) / np.sqrt(self.scale)
        return plain(_log_t(self.df, distance, 1, np.log(self.scale)))

    def mean(self) -> Any:
        """The centre; NaN for df ≤ 1, which has no mean."""
        return plain(np.where(self.df > 1, self.centre, np.nan))

    def variance(self) -> Any:
        """The variance: ∞ for df ≤ 2, and NaN for df ≤ 1."""
        return plain(_inflation(self.df) * self.scale)

    def sample(self, n: int, random_state: Any = None) -> Array:
        """Random numbers, of shape (n, …)."""
        rng = generator(random_state)
        pairs = np.broadcast_shapes(self.df.shape, self.centre.shape, self.scale.shape)
        shape = (number_of_draws(n), *pairs)
        stretch = _stretch(self.df, shape, rng)
        return np.asarray(self.centre + np.sqrt(self.scale) * stretch * rng.standard_normal(shape))


@dataclass(frozen=True, eq=False)
class MultivariateT(ReadOnly):
    """A row of numbers whose covariance is known only roughly.

    Attributes
    ----------
    df : array of shape (…)
        Degrees of freedom.
    centre : array of shape (…, columns)
    scale : array of shape (…, columns, columns)
    """

    df: Array
    centre: Array
    scale: Array

    def log_density(self, y: Any) -> Any:
        """log p(y) of rows `y` of shape (…, columns); leading axes broadcast."""
        d = self.centre.shape[-1]
        rows = numbers("y", y)
        if rows.ndim == 0 or rows.shape[-1] != d:
            raise ValueError(f"y has shape {rows.shape}; accepted is (…, {d})")
        root = np.linalg.cholesky(self.scale)
        away = np.linalg.inv(root) @ (rows - self.centre)[..., None]
        distance = np.linalg.norm(away[..., 0], axis=-1)
        return plain(_log_t(self.df, distance, d, log_det(root)))

    def mean(self) -> Array:
        """The centre; NaN for df ≤ 1, which has no mean."""
        return np.where(self.df[..., None] > 1, self.centre, np.nan)

    def variance(self) -> Array:
        """The covariance matrix; NaN for df ≤ 1, and infinite on its diagonal for df ≤ 2."""
        with np.errstate(invalid="ignore"):
            return np.asarray(_inflation(self.df)[..., None, None] * self.scale)

    def sample(self, n: int, random_state: Any = None) -> Array:
        """Random rows, of shape (n, …, columns)."""
        rng = generator(random_state)
        shape = (number_of_draws(n), *self.centre.shape)
        normal = np.linalg.cholesky(self.scale) @ rng.standard_normal(shape)[..., None]
        stretch = _stretch(self.df, shape[:-1], rng)
        return np.asarray(self.centre + stretch[..., None] * normal[..., 0])


def log_det(root: NDArray[Any]) -> Array:
    """log |L Lᵀ| of Cholesky factors L."""
    return np.asarray(2.0 * np.log(np.diagonal(root, axis1=-2, axis2=-1)).sum(axis=-1))


def student_quantile(df: Array, q: Array) -> Array:
    """Quantiles of Student's t; −∞ for q = 0, of which SciPy makes +∞."""
    return np.where(q > 0, stdtrit(df, q), -np.inf)


def _log_t(df: Array, distance: Array, d: int, volume: Any) -> Array:
    """The log density of d columns at a distance, `volume` the logarithm of |Σ|."""
    nu = np.where(np.isfinite(df), df, 1.0)
    square = np.square(distance)
    student = log_gamma_rise(0.5 * nu, 0.5 * d) - 0.5 * d * np.log(0.5 * nu)
    student = student - 0.5 * (nu + d) * np.log1p(square / nu)
    return np.asarray(
        np.where(np.isfinite(df), student, -0.5 * square) - 0.5 * (d * LOG_2PI + volume)
    )


def _inflation(df: Array) -> Array:
    """Variance over scale: ν / (ν − 2)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        usual = np.where(np.isfinite(df), df / (df - 2.0), 1.0)
    return np.where(df > 2, usual, np.where(df > 1, np.inf, np.nan))


def _stretch(df: Array, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """√(ν / χ²): what a Gaussian is multiplied with."""
    finite = np.where(np.isfinite(df), df, 1.0)
    with np.errstate(over="ignore", divide="ignore"):
        drawn = np.sqrt(finite / rng.chisquare(finite, shape))
    return np.where(np.isfinite(df), drawn, 1.0)
