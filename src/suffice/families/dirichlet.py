"""The Dirichlet distribution: random probabilities, shares that add up to 1.

    p(y; η) = Π (1/yⱼ) exp(Σ ηⱼ log yⱼ − a(η)),      yⱼ > 0,  Σ yⱼ = 1,  ηⱼ > 0

    η = α,   T(y) = (log y₁, …, log yₖ),   a(α) = Σ log Γ(αⱼ) − log Γ(α₀),   α₀ = Σ αⱼ

E[Tⱼ] = ψ(αⱼ) − ψ(α₀) and Cov[T] = diag(ψ′(αⱼ)) − ψ′(α₀) 11ᵀ: a diagonal matrix and one of rank 1,
which Sherman and Morrison's formula inverts, so that a Newton step costs k operations.

Reference: Minka, "Estimating a Dirichlet distribution" (2000).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from suffice.families.base import Family
from suffice.families.checks import digits_of, positive
from suffice.families.maximum_likelihood import NO_MAXIMUM, MaximumLikelihood
from suffice.families.sampling import SMALLEST, generator, log_gamma_variates, shape_of
from suffice.numerics.double_double import Array, DoubleDouble
from suffice.numerics.gamma_functions import (
    log_gamma_kernel,
    log_minus_digamma,
    polygamma_rise,
    stirling_remainder,
    trigamma,
)
from suffice.numerics.logarithm import LOG_UNIT, log_pair
from suffice.numerics.newton_dirichlet import (
    covariance_solve,
    log_shares,
    log_shares_pair,
    solve_concentrations,
    sum_of_others,
)
from suffice.statistics.exponential_family import SufficientSums

SUM_TOLERANCE = 1e-6
"""How far from 1 shares may add up: those read from float32 or from print do not better."""


@dataclass(frozen=True)
class OfShares(Family):
    """Shares of a whole, of which the logarithms are the statistic: a beta or a Dirichlet."""

    statistic_error = LOG_UNIT

    def log_base_measure(self, y: Any) -> Array:
        return -self.sufficient_statistic(y).sum(axis=-1)

    def log_partition(self, eta: Any) -> Array:
        return log_partition(self._etas(eta))

    def mean(self, eta: Any) -> Array:
        """ψ(αⱼ) − ψ(α₀)."""
        alpha = self._etas(eta)
        total, others = alpha.sum(axis=-1, keepdims=True), sum_of_others(alpha)
        plain = log_shares(alpha) - (log_minus_digamma(alpha) - log_minus_digamma(total))
        near = others < 0.01 * alpha
        return np.where(near, -polygamma_rise(0, alpha, np.where(near, others, 0.0)), plain)

    def covariance(self, eta: Any) -> Array:
        """diag(ψ′(αⱼ)) − ψ′(α₀)."""
        alpha = self._etas(eta)
        total, others = trigamma(alpha.sum(axis=-1, keepdims=True)), sum_of_others(alpha)
        near = others < 0.01 * alpha
        rise = polygamma_rise(1, alpha, np.where(near, others, 0.0))
        diagonal = np.where(near, -rise, trigamma(alpha) - total)
        same = np.eye(alpha.shape[-1], dtype=bool)
        return np.where(same, diagonal[..., None], -total[..., None])

    def _maximum(self, sums: SufficientSums) -> MaximumLikelihood:
        """The α whose mean logarithms are those of the rows."""
        means, errors = sums.mean.round(), sums.mean_error(LOG_UNIT)
        # Jensen: geometric means add up to less than 1, unless all rows are equal.
        gap = -float(logsumexp(means))
        if gap <= float(np.exp(means) @ errors) + len(means) * 2.0**-52:
            shown = [float(f"{share:.6g}") for share in np.exp(means + gap)]
            why = f"as far as rounding tells, every row is {shown}, and it grows with α"
            nowhere = np.full(len(means), np.inf)
            return MaximumLikelihood(
                nowhere, self._named(nowhere), exists=False, notes=(NO_MAXIMUM + why,)
            )
        alpha, steps = solve_concentrations(sums.mean, gap)
        return MaximumLikelihood(alpha, self._named(alpha), f"Newton's method, {steps} steps")

    @abstractmethod
    def _named(self, alpha: Array) -> dict[str, Any]:
        """The usual parameters, or their limits."""

    def _mean_log_likelihood(self, sums: SufficientSums, eta: Array) -> float:
        """From the distances of the mean logarithms to those of α/α₀."""
        rest = stirling_remainder(eta).sum() - stirling_remainder(eta.sum())
        away = (sums.mean - log_shares_pair(eta)).round()
        return float(eta @ away - rest + (sums.log_base / sums.weight).round())

    def _digits(self, sums: SufficientSums, eta: Array) -> float:
        """Those that the mean logarithms determine: the covariance's inverse is positive."""
        change = covariance_solve(eta, sums.mean_error(LOG_UNIT))
        return digits_of(float(np.abs(change / eta).max()))

    def _in_domain(self, eta: Array) -> NDArray[np.bool_]:
        return np.asarray(((eta > 0) & (eta < np.inf)).all(axis=-1))


@dataclass(frozen=True)
class Dirichlet(OfShares):
    """Shares of a whole, with the usual parameters `alpha`, one a column.

    Parameters
    ----------
    columns : int
        How many shares there are, at least 2.

    Examples
    --------
    >>> from suffice.families import Dirichlet
    >>> shares = [[0.2, 0.3, 0.5], [0.1, 0.5, 0.4], [0.3, 0.3, 0.4], [0.2, 0.2, 0.6]]
    >>> Dirichlet(3).fit(shares).alpha.round(4)
    array([ 5.3383,  8.5158, 12.6859])
    """

    columns: int

    domain = "positive, finite numbers"
    observed_axes = 1

    def __post_init__(self) -> None:
        if index(self.columns) < 2:
            raise ValueError(f"columns is {self.columns!r}; a Dirichlet has at least 2")

    @property
    def support(self) -> str:  # type: ignore[override]
        return f"{self.columns} positive shares that add up to 1"

    @property
    def dimension(self) -> int:
        return self.columns

    def natural(self, alpha: Any) -> Array:
        """η = α."""
        return self._etas(positive("alpha", alpha))

    def parameters(self, eta: Any) -> dict[str, Any]:
        return {"alpha": self._etas(eta)}

    def sufficient_statistic(self, y: Any) -> Array:
        return np.log(self._observations(y))

    def log_density(self, y: Any, eta: Any) -> Array:
        y = self._observations(y)
        # Shares that were rounded do not quite add up to 1, which large α notice.
        excess = (DoubleDouble.of(y).sum(axis=-1) - 1.0).round()
        return log_density(y, np.log(y), self._etas(eta), excess)

    def sample(self, eta: Any, size: Any = None, random_state: Any = None) -> Array:
        eta = self._etas(eta)
        shape = (*shape_of(size, eta), self.columns)
        return np.exp(log_shares_sample(eta, shape, random_state)).clip(SMALLEST, 1.0)

    def _named(self, alpha: Array) -> dict[str, Any]:
        return {"alpha": alpha}

    def _summands(self, values: Array) -> tuple[DoubleDouble, DoubleDouble]:
        logs = log_pair(values)
        return logs, -logs.sum(axis=1)

    def _numbers(self, y: Any) -> Array:
        values = super()._numbers(y)
        if values.ndim == 0 or values.shape[-1] != self.columns:
            raise ValueError(f"y has shape {values.shape}; {self!r} models {self.support}")
        return values

    def _in_support(self, values: Array) -> NDArray[np.bool_]:
        near = np.abs(values.sum(axis=-1) - 1.0) <= SUM_TOLERANCE
        return np.asarray((values > 0).all(axis=-1) & near)


# --- what the beta distribution shares: it is the case of two columns ----------------------


def log_partition(alpha: Array) -> Array:
    """Σ log Γ(αⱼ) − log Γ(α₀), without the terms α log α that nearly cancel."""
    rest = stirling_remainder(alpha).sum(axis=-1) - stirling_remainder(alpha.sum(axis=-1))
    return np.asarray((alpha * log_shares(alpha)).sum(axis=-1) + rest)


def log_density(y: Array, logs: Array, alpha: Array, excess: Any = 0.0) -> Array:
    """log p of shares y that add up to 1 + excess, by terms that are small near the mode."""
    total = alpha.sum(axis=-1)
    # Independent gamma variables of one rate have these shares: take the rate of mean sum 1.
    kernels = log_gamma_kernel(y, logs, alpha, total[..., None]).sum(axis=-1)
    rest = stirling_remainder(alpha).sum(axis=-1) - stirling_remainder(total)
    return np.asarray(kernels + total * excess - rest)


def log_shares_sample(alpha: Array, shape: tuple[int, ...], random_state: Any) -> Array:
    """Logarithms of random shares."""
    logs = log_gamma_variates(alpha, shape, generator(random_state))
    return np.asarray(logs - logsumexp(logs, axis=-1, keepdims=True))
