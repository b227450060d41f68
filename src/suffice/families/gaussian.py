"""The Gaussian distribution, with unknown mean and variance.

    p(y; η) = (2π)^−½ exp(η₁ y + η₂ y² − a(η)),      η₂ < 0

    η = (μ/σ², −1/(2σ²)),   T(y) = (y, y²),   a(η) = −η₁² / (4η₂) − ½ log(−2η₂)

E[T] = (μ, μ² + σ²), so the moments that are matched are the first two.  y² is kept exactly, in
double-double: the variance is what is left of its mean when μ² is taken away.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.families.base import Family
from suffice.families.checks import digits_of, plain, positive
from suffice.families.maximum_likelihood import NO_MAXIMUM, MaximumLikelihood
from suffice.families.sampling import generator, shape_of
from suffice.numerics.double_double import Array, DoubleDouble, two_product
from suffice.statistics.exponential_family import SufficientSums

LOG_2PI = float(np.log(2 * np.pi))


@dataclass(frozen=True)
class Gaussian(Family):
    """Real numbers, with the usual parameters `mu` and `variance`.

    Examples
    --------
    >>> from suffice.families import Gaussian
    >>> heights = Gaussian().fit([1e8 + 1, 1e8 + 2, 1e8 + 3])
    >>> heights.mu, round(heights.variance, 12)
    (100000002.0, 0.666666666667)
    """

    support = "finite numbers"
    domain = "pairs of finite numbers, the second of them negative"

    @property
    def dimension(self) -> int:
        return 2

    def natural(self, mu: Any, variance: Any) -> Array:
        """η = (μ/σ², −1/(2σ²))."""
        variance = positive("variance", variance)
        mu = np.asarray(mu, dtype=np.float64)
        if not np.isfinite(mu).all():
            raise ValueError(f"mu is {mu!r}; it must be finite")
        return np.stack(np.broadcast_arrays(mu / variance, -0.5 / variance), axis=-1)

    def parameters(self, eta: Any) -> dict[str, Any]:
        mu, variance = self._usual(self._etas(eta))
        return {"mu": plain(mu), "variance": plain(variance)}

    def sufficient_statistic(self, y: Any) -> Array:
        y = self._observations(y)
        with np.errstate(over="ignore"):
            return np.stack([y, y * y], axis=-1)

    def log_base_measure(self, y: Any) -> Array:
        return super().log_base_measure(y) - 0.5 * LOG_2PI

    def log_partition(self, eta: Any) -> Array:
        first, second = np.moveaxis(self._etas(eta), -1, 0)
        return np.asarray(-0.25 * first * (first / second) - 0.5 * np.log(-2.0 * second))

    def mean(self, eta: Any) -> Array:
        mu, variance = self._usual(self._etas(eta))
        return np.stack([mu, mu * mu + variance], axis=-1)

    def covariance(self, eta: Any) -> Array:
        mu, variance = self._usual(self._etas(eta))
        cross = 2 * mu * variance
        square = 2 * (variance * variance + mu * cross)
        return np.stack([np.stack([variance, cross], -1), np.stack([cross, square], -1)], -2)

    def log_density(self, y: Any, eta: Any) -> Array:
        y, eta = self._observations(y), self._etas(eta)
        return normal_log_density(y, *self._usual(eta))

    def sample(self, eta: Any, size: Any = None, random_state: Any = None) -> Array:
        eta = self._etas(eta)
        mu, variance = self._usual(eta)
        draws = generator(random_state).standard_normal(shape_of(size, eta))
        return np.asarray(mu + np.sqrt(variance) * draws)

    def _maximum(self, sums: SufficientSums) -> MaximumLikelihood:
        mu, variance = float(sums.mean.round()[0]), float(_variance(sums).round())
        if variance <= 2 * _variance_error(sums):
            why = NO_MAXIMUM + (
                f"as far as rounding tells, every value is {mu!r}, and it grows as the variance "
                "tends to 0"
            )
            eta = np.array([np.copysign(np.inf, mu) if mu else 0.0, -np.inf])
            return MaximumLikelihood(eta, {"mu": mu, "variance": 0.0}, exists=False, notes=(why,))
        return MaximumLikelihood(self.natural(mu, variance), {"mu": mu, "variance": variance})

    @staticmethod
    def _usual(eta: Array) -> tuple[Array, Array]:
        """μ and σ²."""
        variance = -0.5 / eta[..., 1]
        return np.asarray(-0.5 * (eta[..., 0] / eta[..., 1])), np.asarray(variance)

    def _summands(self, values: Array) -> tuple[DoubleDouble, Array]:
        square, error = two_product(values, values)
        T = DoubleDouble(
            np.stack([values, square], axis=-1), np.stack([np.zeros_like(values), error], axis=-1)
        )
        return T, self.log_base_measure(values)

    def _mean_log_likelihood(self, sums: SufficientSums, eta: Array) -> float:
        mu, variance = self._usual(eta)
        squares = _variance(sums).hi + np.square((sums.mean[0] - mu).round())
        return float(-0.5 * (LOG_2PI + np.log(variance) + squares / variance))

    def _digits(self, sums: SufficientSums, eta: Array) -> float:
        # Relative for the variance; of the mean, the error counts in standard deviations.
        variance = float(_variance(sums).round())
        of_mean = sums.mean_error(self.statistic_error)[0] / np.sqrt(variance)
        return digits_of(max(_variance_error(sums) / variance, float(of_mean)))

    def _in_support(self, values: Array) -> NDArray[np.bool_]:
        return np.isfinite(values)

    def _in_domain(self, eta: Array) -> NDArray[np.bool_]:
        return np.asarray(np.isfinite(eta).all(axis=-1) & (eta[..., 1] < 0))


def normal_log_density(y: Array, mu: Array, variance: Array) -> Array:
    """−(y − μ)²/(2σ²) − ½ log(2πσ²), for distances whose square would overflow too."""
    with np.errstate(over="ignore"):
        distance = (y - mu) / np.sqrt(variance)
        return np.asarray(-0.5 * (distance * distance + LOG_2PI + np.log(variance)))


def _variance(sums: SufficientSums) -> DoubleDouble:
    mean = sums.mean
    return mean[1] - mean[0] * mean[0]


def _variance_error(sums: SufficientSums) -> float:
    first, second = sums.mean_error(Gaussian.statistic_error)
    # Squares below this have lost bits to underflow.
    return float(second + 2 * abs(sums.mean.hi[0]) * first + np.finfo(np.float64).tiny)
