"""The gamma distribution: positive numbers, sums of waiting times.

    p(y; η) = (1/y) exp(η₁ log y + η₂ y − a(η)),      y > 0,  η₁ > 0 > η₂

    η = (shape k, −rate β),   T(y) = (log y, y),   b(y) = 1/y,   a(η) = log Γ(k) − k log β

(With b = 1 the first natural parameter would be k − 1, and a small shape would lose its digits.)

E[T] = (ψ(k) − log β, k/β).  Setting both equal to the sample's leaves one equation for the shape,

    log k − ψ(k) = s,      s = log(mean of y) − mean of log y,

whose left side falls from ∞ to 0 and lies between 1/(2k) and 1/k: so k is between 1/(2s) and 1/s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.families.base import Family
from suffice.families.checks import digits_of, plain, positive
from suffice.families.maximum_likelihood import NO_MAXIMUM, MaximumLikelihood
from suffice.families.sampling import SMALLEST, generator, log_gamma_variates, shape_of
from suffice.numerics.double_double import UNIT, Array, DoubleDouble
from suffice.numerics.gamma_functions import (
    deviance_term,
    log_gamma_kernel,
    log_minus_digamma,
    stirling_remainder,
    trigamma,
    trigamma_excess,
)
from suffice.numerics.logarithm import LOG_UNIT, log_pair
from suffice.statistics.exponential_family import SufficientSums


@dataclass(frozen=True)
class Gamma(Family):
    """Positive numbers, with the usual parameters `shape` and `rate`; their mean is shape/rate.

    Examples
    --------
    >>> from suffice.families import Gamma
    >>> rain = Gamma().fit([1.2, 0.4, 3.1, 0.9, 2.2])
    >>> round(rain.shape, 6), round(rain.rate, 6)
    (2.340549, 1.500352)
    >>> rain.certificate.gradient < 1e-14
    True
    """

    support = "positive, finite numbers"
    domain = "pairs of finite numbers, the first positive and the second negative"
    statistic_error = LOG_UNIT

    @property
    def dimension(self) -> int:
        return 2

    def natural(self, shape: Any, rate: Any) -> Array:
        """η = (shape, −rate)."""
        both = positive("shape", shape), -positive("rate", rate)
        return np.stack(np.broadcast_arrays(*both), axis=-1)

    def parameters(self, eta: Any) -> dict[str, Any]:
        k, rate = self._usual(eta)
        return {"shape": plain(k), "rate": plain(rate)}

    def sufficient_statistic(self, y: Any) -> Array:
        y = self._observations(y)
        return np.stack([np.log(y), y], axis=-1)

    def log_base_measure(self, y: Any) -> Array:
        return -np.log(self._observations(y))

    def log_partition(self, eta: Any) -> Array:
        k, rate = self._usual(eta)
        return np.asarray(stirling_remainder(k) + k * (np.log(k) - np.log(rate) - 1.0))

    def mean(self, eta: Any) -> Array:
        k, rate = self._usual(eta)
        with np.errstate(over="ignore"):
            return np.stack([np.log(k) - np.log(rate) - log_minus_digamma(k), k / rate], axis=-1)

    def covariance(self, eta: Any) -> Array:
        k, rate = self._usual(eta)
        with np.errstate(over="ignore"):
            first = np.stack([trigamma(k), 1 / rate], axis=-1)
            second = np.stack([1 / rate, k / rate / rate], axis=-1)
        return np.stack([first, second], axis=-2)

    def log_density(self, y: Any, eta: Any) -> Array:
        y = self._observations(y)
        k, rate = self._usual(eta)
        return log_gamma_kernel(y, np.log(y), k, rate) - stirling_remainder(k)

    def sample(self, eta: Any, size: Any = None, random_state: Any = None) -> Array:
        eta = self._etas(eta)
        k, rate = self._usual(eta)
        logs = log_gamma_variates(k, shape_of(size, eta), generator(random_state))
        with np.errstate(under="ignore", over="ignore"):
            return np.clip(np.exp(logs - np.log(rate)), SMALLEST, np.finfo(np.float64).max)

    def _maximum(self, sums: SufficientSums) -> MaximumLikelihood:
        mean = float(sums.mean.round()[1])
        gap, error = _gap(sums)
        if gap <= error:
            why = NO_MAXIMUM + (
                f"as far as rounding tells, every value is {mean!r}, and it grows with the shape"
            )
            limit = {"shape": np.inf, "rate": np.inf}
            return MaximumLikelihood(np.array([np.inf, -np.inf]), limit, exists=False, notes=(why,))
        k, steps = solve_shape(gap)
        path = f"Newton's method for the shape, {steps} steps"
        return MaximumLikelihood(np.array([k, -k / mean]), {"shape": k, "rate": k / mean}, path)

    def _usual(self, eta: Any) -> tuple[Array, Array]:
        """Shape and rate."""
        eta = self._etas(eta)
        return eta[..., 0], -eta[..., 1]

    def _summands(self, values: Array) -> tuple[DoubleDouble, DoubleDouble]:
        logs = log_pair(values)
        T = DoubleDouble(
            np.stack([logs.hi, values], axis=-1),
            np.stack([logs.lo, np.zeros_like(values)], axis=-1),
        )
        return T, -logs

    def _mean_log_likelihood(self, sums: SufficientSums, eta: Array) -> float:
        k, rate = self._usual(eta)
        mean_log, mean = sums.mean.round()
        rest = deviance_term(k, rate * mean) + stirling_remainder(k) + mean_log
        return float(-k * _gap(sums)[0] - rest)

    def _digits(self, sums: SufficientSums, eta: Array) -> float:
        k = float(eta[0])
        return digits_of(_gap(sums)[1] / (k * float(trigamma_excess(k))))

    def _in_support(self, values: Array) -> NDArray[np.bool_]:
        return np.asarray((values > 0) & (values < np.inf))

    def _in_domain(self, eta: Array) -> NDArray[np.bool_]:
        return np.asarray(np.isfinite(eta).all(axis=-1) & (eta[..., 0] > 0) & (eta[..., 1] < 0))


def solve_shape(gap: float) -> tuple[float, int]:
    """The k with log k − ψ(k) = gap > 0, and how many steps it took.

    Newton's method on log(log k − ψ(k)) as a function of log k, which is nearly a straight line;
    a step that leaves the bracket is replaced by its middle.
    """
    low, high = -np.log(2 * gap), -np.log(gap)
    u, previous = 0.5 * (low + high), np.inf
    for steps in range(1, 100):  # noqa: B007
        k = np.exp(u)
        value = float(log_minus_digamma(k))
        if value > gap:
            low = u
        else:
            high = u
        change = (np.log(value) - np.log(gap)) * value / (k * float(trigamma_excess(k)))
        following = u + change
        if not low <= following <= high:
            following = 0.5 * (low + high)
        # Steps shrink by far more than a half until they are rounding.
        if abs(change) <= UNIT or previous / 2 < abs(change) < 1e-10:
            break
        u, previous = following, abs(change)
    return float(k * (1.0 + change)), steps


def _gap(sums: SufficientSums) -> tuple[float, float]:
    """log(mean of y) − mean of log y, and a bound on its error."""
    mean_log, mean = sums.mean[0], sums.mean[1]
    log_mean = log_pair(mean)
    errors = sums.mean_error(LOG_UNIT)
    error = errors[0] + errors[1] / mean.hi + LOG_UNIT * abs(log_mean.hi)
    return float((log_mean - mean_log).round()), float(error)
