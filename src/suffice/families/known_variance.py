"""The Gaussian distribution whose variance is known: only its mean is a parameter.

    p(y; η) = b(y) exp(η y − a(η))

    η = μ/σ²,   T(y) = y,   b(y) = exp(−y²/(2σ²)) / √(2πσ²),   a(η) = σ²η²/2

Here T(y) = y, so ∇a and ∇²a are the mean and the variance of y itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.families.base import Family
from suffice.families.checks import digits_of, plain, positive
from suffice.families.gaussian import LOG_2PI, normal_log_density
from suffice.families.maximum_likelihood import MaximumLikelihood
from suffice.families.sampling import generator, shape_of
from suffice.numerics.double_double import Array, DoubleDouble, two_product
from suffice.statistics.exponential_family import SufficientSums


@dataclass(frozen=True)
class GaussianKnownVariance(Family):
    """Real numbers around an unknown `mu`.

    Parameters
    ----------
    variance : float
        The variance that is known.

    Examples
    --------
    >>> from suffice.families import GaussianKnownVariance
    >>> GaussianKnownVariance(variance=4.0).fit([1.0, 2.0, 6.0])
    GaussianKnownVariance(variance=4.0).at(mu=3.0)
    """

    variance: float

    support = "finite numbers"
    domain = "finite numbers"

    def __post_init__(self) -> None:
        positive("variance", self.variance)
        object.__setattr__(self, "variance", float(self.variance))

    @property
    def dimension(self) -> int:
        return 1

    def natural(self, mu: Any) -> Array:
        """η = μ/σ²."""
        values = np.asarray(mu, dtype=np.float64)
        if not np.isfinite(values).all():
            raise ValueError(f"mu is {mu!r}; it must be finite")
        return np.asarray(values / self.variance)[..., None]

    def parameters(self, eta: Any) -> dict[str, Any]:
        return {"mu": plain(self.mean(eta)[..., 0])}

    def sufficient_statistic(self, y: Any) -> Array:
        return self._observations(y)[..., None]

    def log_base_measure(self, y: Any) -> Array:
        return normal_log_density(self._observations(y), np.zeros(()), np.asarray(self.variance))

    def log_partition(self, eta: Any) -> Array:
        eta = self._etas(eta)[..., 0]
        return np.asarray(0.5 * self.variance * eta * eta)

    def mean(self, eta: Any) -> Array:
        return np.asarray(self.variance * self._etas(eta))

    def covariance(self, eta: Any) -> Array:
        return np.full((*self._etas(eta).shape, 1), self.variance)

    def log_density(self, y: Any, eta: Any) -> Array:
        mu = self.mean(eta)[..., 0]
        return normal_log_density(self._observations(y), mu, np.asarray(self.variance))

    def sample(self, eta: Any, size: Any = None, random_state: Any = None) -> Array:
        eta = self._etas(eta)
        draws = generator(random_state).standard_normal(shape_of(size, eta))
        return np.asarray(self.mean(eta)[..., 0] + np.sqrt(self.variance) * draws)

    def _maximum(self, sums: SufficientSums) -> MaximumLikelihood:
        mu = float(sums.mean.round()[0])
        return MaximumLikelihood(self.natural(mu), {"mu": mu})

    def _summands(self, values: Array) -> tuple[Array, DoubleDouble]:
        square = DoubleDouble(*two_product(values, values))
        log_base = square / (-2.0 * self.variance) - 0.5 * (LOG_2PI + np.log(self.variance))
        return values[..., None], log_base

    def _mean_log_likelihood(self, sums: SufficientSums, eta: Array) -> float:
        # Σ y² / 2σ², η Σ y and a(η) nearly cancel where values are far from 0.
        mean = sums.mean[0]
        partition = DoubleDouble(*two_product(eta[0], eta[0])) * (0.5 * self.variance)
        return float((mean * eta[0] - partition + sums.log_base / sums.weight).round())

    def _digits(self, sums: SufficientSums, eta: Array) -> float:
        # A mean near 0 is as good as any: the error counts in standard deviations.
        error = float(sums.mean_error(self.statistic_error)[0])
        return digits_of(error / max(abs(float(sums.mean.hi[0])), float(np.sqrt(self.variance))))

    def _in_support(self, values: Array) -> NDArray[np.bool_]:
        return np.isfinite(values)
