"""The Bernoulli distribution: a coin.

    p(y; η) = exp(η y − log(1 + e^η)),      y ∈ {0, 1}

    η = log(p / (1 − p)),   T(y) = y,   b(y) = 1,   a(η) = log(1 + e^η)

E[T] = 1 / (1 + e^−η) = p: the logistic function is where the log-partition's slope leads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from suffice.families.base import Family
from suffice.families.checks import plain
from suffice.families.maximum_likelihood import MaximumLikelihood
from suffice.families.sampling import generator, shape_of
from suffice.numerics.double_double import Array
from suffice.statistics.exponential_family import SufficientSums


@dataclass(frozen=True)
class Bernoulli(Family):
    """0 or 1, with the usual parameter `probability` of a 1.

    Examples
    --------
    >>> from suffice.families import Bernoulli
    >>> coin = Bernoulli().fit([1, 0, 1, 1])
    >>> coin.probability, coin.eta
    (0.75, array([1.09861229]))
    >>> Bernoulli().log_density([0, 1], eta=1e100)
    array([-1.e+100, -0.e+000])
    """

    support = "0 and 1 (or booleans)"
    domain = "all numbers, and ±∞ for probability 0 or 1"

    @property
    def dimension(self) -> int:
        return 1

    def natural(self, probability: Any) -> Array:
        """η = log(p / (1 − p)); −∞ and ∞ for p = 0 and 1."""
        p = np.asarray(probability, dtype=np.float64)
        if not ((p >= 0) & (p <= 1)).all():
            raise ValueError(f"probability is {probability!r}; it must be between 0 and 1")
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(p) - np.log1p(-p))[..., None]

    def parameters(self, eta: Any) -> dict[str, Any]:
        return {"probability": plain(self.mean(eta)[..., 0])}

    def sufficient_statistic(self, y: Any) -> Array:
        return self._observations(y)[..., None]

    def log_partition(self, eta: Any) -> Array:
        return np.asarray(np.logaddexp(0.0, self._etas(eta)[..., 0]))

    def mean(self, eta: Any) -> Array:
        return np.asarray(expit(self._etas(eta)))

    def covariance(self, eta: Any) -> Array:
        eta = self._etas(eta)[..., None]
        return np.asarray(expit(eta) * expit(-eta))

    def log_density(self, y: Any, eta: Any) -> Array:
        # log p of the value that has probability 1 / (1 + e^−s), s = ±η: nothing cancels.
        sign = 1.0 - 2.0 * self._observations(y)
        return -np.logaddexp(0.0, sign * self._etas(eta)[..., 0])

    def sample(self, eta: Any, size: Any = None, random_state: Any = None) -> NDArray[np.int64]:
        eta = self._etas(eta)
        uniform = generator(random_state).random(shape_of(size, eta))
        return np.asarray(uniform < expit(eta[..., 0])).astype(np.int64)

    def _maximum(self, sums: SufficientSums) -> MaximumLikelihood:
        ones, zeros = sums.total[0], sums.weight - sums.total[0]
        probability = float(sums.mean.round()[0])
        notes: tuple[str, ...] = ()
        if not (ones.hi > 0 and zeros.hi > 0):
            only = 1 if ones.hi > 0 else 0
            notes = (f"on the boundary: every value is {only}, so η is {'∞' if only else '−∞'}",)
        with np.errstate(divide="ignore"):
            eta = np.log(np.maximum(ones.round(), 0.0)) - np.log(np.maximum(zeros.round(), 0.0))
        return MaximumLikelihood(np.atleast_1d(eta), {"probability": probability}, notes=notes)

    def _mean_log_likelihood(self, sums: SufficientSums, eta: Array) -> float:
        ones = sums.mean[0]
        shares = {1.0: float(ones.round()), 0.0: float((1.0 - ones).round())}
        logs = {y: float(self.log_density(y, eta)) for y in shares}
        return sum(share * logs[y] for y, share in shares.items() if share > 0)

    def _in_support(self, values: Array) -> NDArray[np.bool_]:
        return np.asarray((values == 0) | (values == 1))

    def _in_domain(self, eta: Array) -> NDArray[np.bool_]:
        return ~np.isnan(eta[..., 0])
