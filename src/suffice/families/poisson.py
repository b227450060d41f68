"""The Poisson distribution: counts of rare events.

    p(y; η) = (1 / y!) exp(η y − e^η),      y ∈ {0, 1, 2, …}

    η = log rate,   T(y) = y,   b(y) = 1 / y!,   a(η) = e^η

Mean and variance of T(y) = y are both e^η, the rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from suffice.families.base import Family
from suffice.families.checks import plain
from suffice.families.maximum_likelihood import MaximumLikelihood
from suffice.families.sampling import generator, shape_of
from suffice.numerics.double_double import Array, DoubleDouble
from suffice.numerics.gamma_functions import deviance_term, stirling_remainder
from suffice.numerics.logarithm import log_pair
from suffice.statistics.exponential_family import SufficientSums

SMALL_COUNTS = 1024
"""Counts below have their factorials in a table."""


@dataclass(frozen=True)
class Poisson(Family):
    """Counts, with the usual parameter `rate`, which is their mean.

    Examples
    --------
    >>> from suffice.families import Poisson
    >>> goals = Poisson().fit([2, 0, 1, 3, 1])
    >>> goals.rate
    1.4
    >>> goals.certificate.holds
    True
    """

    support = "counts 0, 1, 2, …"
    domain = "all numbers, and −∞ for rate 0"

    @property
    def dimension(self) -> int:
        return 1

    def natural(self, rate: Any) -> Array:
        """η = log rate; −∞ for rate 0."""
        values = np.asarray(rate, dtype=np.float64)
        if not ((values >= 0) & (values < np.inf)).all():
            raise ValueError(f"rate is {rate!r}; it must be finite and not negative")
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(values))[..., None]

    def parameters(self, eta: Any) -> dict[str, Any]:
        return {"rate": plain(self.mean(eta)[..., 0])}

    def sufficient_statistic(self, y: Any) -> Array:
        return self._observations(y)[..., None]

    def log_base_measure(self, y: Any) -> Array:
        return -np.asarray(gammaln(self._observations(y) + 1.0))

    def log_partition(self, eta: Any) -> Array:
        return self.mean(eta)[..., 0]

    def mean(self, eta: Any) -> Array:
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(self._etas(eta)))

    def covariance(self, eta: Any) -> Array:
        return self.mean(eta)[..., None]

    def log_density(self, y: Any, eta: Any) -> Array:
        # y log(y / rate) + rate − y is small near the mean, where its three terms are not.
        y, eta = self._observations(y), self._etas(eta)
        some = np.where(y > 0, y, 1.0)
        factorial = np.where(y > 0, stirling_remainder(some) + np.log(some), 0.0)
        return -deviance_term(y, self.log_partition(eta), eta[..., 0]) - factorial

    def sample(self, eta: Any, size: Any = None, random_state: Any = None) -> NDArray[np.int64]:
        eta = self._etas(eta)
        rate = self.log_partition(eta)
        return np.asarray(generator(random_state).poisson(rate, shape_of(size, eta)))

    def _maximum(self, sums: SufficientSums) -> MaximumLikelihood:
        rate = float(sums.mean.round()[0])
        notes = () if rate > 0 else ("on the boundary: every count is 0, so η is −∞",)
        return MaximumLikelihood(np.atleast_1d(self.natural(rate)), {"rate": rate}, notes=notes)

    def _summands(self, values: Array) -> tuple[Array, DoubleDouble]:
        # log y! in double-double: the likelihood is what its large terms leave.
        if values.max(initial=0.0) < SMALL_COUNTS:
            return values[..., None], -_log_factorials()[values.astype(np.int64)]
        some = np.where(values > 0, values, 1.0)
        small = np.where(values > 0, stirling_remainder(some) + np.log(some), 0.0)
        return values[..., None], values - log_pair(some) * values - small

    def _mean_log_likelihood(self, sums: SufficientSums, eta: Array) -> float:
        mean, log_base = sums.mean[0], sums.log_base / sums.weight
        saturated = log_base + (log_pair(mean) * mean - mean if mean.hi > 0 else 0.0)
        rate = self.log_partition(eta)
        return float(saturated.round() - deviance_term(mean.hi, rate, eta[0]))

    def _in_support(self, values: Array) -> NDArray[np.bool_]:
        return np.asarray((values >= 0) & (values < np.inf) & (np.trunc(values) == values))

    def _in_domain(self, eta: Array) -> NDArray[np.bool_]:
        return np.asarray(eta[..., 0] < np.inf)


@lru_cache(maxsize=1)
def _log_factorials() -> DoubleDouble:
    """log y! for y = 0, 1, …, by adding up logarithms."""
    logs = log_pair(np.maximum(np.arange(SMALL_COUNTS), 1.0))
    steps = list(accumulate(logs[j] for j in range(SMALL_COUNTS)))
    return DoubleDouble(np.array([s.hi for s in steps]), np.array([s.lo for s in steps]))
