"""The beta distribution: numbers between 0 and 1.

    p(y; η) = 1/(y(1−y)) exp(η₁ log y + η₂ log(1−y) − a(η)),      0 < y < 1,  η > 0

    η = (α, β),   T(y) = (log y, log(1−y)),   a(η) = log Γ(α) + log Γ(β) − log Γ(α+β)

It is the Dirichlet distribution of (y, 1 − y).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.families.checks import plain, positive
from suffice.families.dirichlet import OfShares, log_density, log_shares_sample
from suffice.families.sampling import SMALLEST, shape_of
from suffice.numerics.double_double import UNIT, Array, DoubleDouble, two_sum
from suffice.numerics.logarithm import log_pair


@dataclass(frozen=True)
class Beta(OfShares):
    """Numbers strictly between 0 and 1, with the usual parameters `alpha` and `beta`.

    Examples
    --------
    >>> from suffice.families import Beta
    >>> rates = Beta().fit([0.2, 0.35, 0.3, 0.5, 0.15])
    >>> round(rates.alpha, 6), round(rates.beta, 6)
    (4.16866, 9.705852)
    """

    support = "numbers strictly between 0 and 1"
    domain = "pairs of positive, finite numbers"

    @property
    def dimension(self) -> int:
        return 2

    def natural(self, alpha: Any, beta: Any) -> Array:
        """η = (α, β)."""
        both = positive("alpha", alpha), positive("beta", beta)
        return np.stack(np.broadcast_arrays(*both), axis=-1)

    def parameters(self, eta: Any) -> dict[str, Any]:
        eta = self._etas(eta)
        return {"alpha": plain(eta[..., 0]), "beta": plain(eta[..., 1])}

    def sufficient_statistic(self, y: Any) -> Array:
        y = self._observations(y)
        return np.stack([np.log(y), np.log1p(-y)], axis=-1)

    def log_density(self, y: Any, eta: Any) -> Array:
        values = self._observations(y)
        shares = np.stack([values, 1.0 - values], axis=-1)
        return log_density(shares, self.sufficient_statistic(values), self._etas(eta))

    def sample(self, eta: Any, size: Any = None, random_state: Any = None) -> Array:
        eta = self._etas(eta)
        logs = log_shares_sample(eta, (*shape_of(size, eta), 2), random_state)
        return np.exp(logs[..., 0]).clip(SMALLEST, 1.0 - UNIT)

    def _named(self, alpha: Array) -> dict[str, Any]:
        return dict(zip(("alpha", "beta"), alpha.tolist(), strict=True))

    def _summands(self, values: Array) -> tuple[DoubleDouble, DoubleDouble]:
        of_y, of_rest = log_pair(values), log_pair(DoubleDouble(*two_sum(1.0, -values)))
        T = DoubleDouble(
            np.stack([of_y.hi, of_rest.hi], axis=-1), np.stack([of_y.lo, of_rest.lo], axis=-1)
        )
        return T, -(of_y + of_rest)

    def _in_support(self, values: Array) -> NDArray[np.bool_]:
        return np.asarray((values > 0) & (values < 1))
