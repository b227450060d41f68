"""The exponential distribution: waiting times without memory.

    p(y; η) = exp(η y + log(−η)),      y ≥ 0,  η < 0

    η = −rate,   T(y) = y,   b(y) = 1,   a(η) = −log(−η)

E[T] = −1/η = 1 / rate, Var[T] = 1 / rate².
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.families.base import Family
from suffice.families.checks import plain, positive
from suffice.families.maximum_likelihood import NO_MAXIMUM, MaximumLikelihood
from suffice.families.sampling import generator, shape_of
from suffice.numerics.double_double import Array
from suffice.statistics.exponential_family import SufficientSums


@dataclass(frozen=True)
class Exponential(Family):
    """Positive numbers, with the usual parameter `rate`, one over their mean.

    Examples
    --------
    >>> from suffice.families import Exponential
    >>> Exponential().fit([0.5, 1.0, 4.5]).rate
    0.5
    """

    support = "finite numbers that are not negative"
    domain = "negative numbers"

    @property
    def dimension(self) -> int:
        return 1

    def natural(self, rate: Any) -> Array:
        """η = −rate."""
        return -positive("rate", rate)[..., None]

    def parameters(self, eta: Any) -> dict[str, Any]:
        return {"rate": plain(-self._etas(eta)[..., 0])}

    def sufficient_statistic(self, y: Any) -> Array:
        return self._observations(y)[..., None]

    def log_partition(self, eta: Any) -> Array:
        return -np.log(-self._etas(eta)[..., 0])

    def mean(self, eta: Any) -> Array:
        return -1.0 / self._etas(eta)

    def covariance(self, eta: Any) -> Array:
        return np.square(self.mean(eta))[..., None]

    def sample(self, eta: Any, size: Any = None, random_state: Any = None) -> Array:
        eta = self._etas(eta)
        draws = generator(random_state).standard_exponential(shape_of(size, eta))
        return np.asarray(draws / -eta[..., 0])

    def _maximum(self, sums: SufficientSums) -> MaximumLikelihood:
        mean = float(sums.mean.round()[0])
        if mean == 0:
            why = NO_MAXIMUM + "every value is 0, and it grows with the rate"
            return MaximumLikelihood(
                np.array([-np.inf]), {"rate": np.inf}, exists=False, notes=(why,)
            )
        return MaximumLikelihood(np.array([-1.0 / mean]), {"rate": 1.0 / mean})

    def _in_support(self, values: Array) -> NDArray[np.bool_]:
        return np.asarray((values >= 0) & (values < np.inf))

    def _in_domain(self, eta: Array) -> NDArray[np.bool_]:
        return np.asarray((eta[..., 0] < 0) & (eta[..., 0] > -np.inf))
