"""Beta and Bernoulli: the probability of a coin.

    p ~ Beta(α, β),      y | p ~ Bernoulli(p)

    posterior   Beta(α + ones, β + zeros)
    mean        α / (α + β)
    predictive  the next of n coins: beta-binomial

α and β are ones and zeros that nobody saw.  Beta(1, 1), the uniform distribution, adds one of each
to the counts: Laplace's rule of succession, (ones + 1) / (rows + 2).
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, xlog1py, xlogy

from suffice.bayes.checks import ANY, numbers, plain, shown
from suffice.bayes.conjugate import Conjugate, Interval, shortest
from suffice.bayes.predictive import BetaBinomial
from suffice.bayes.priors.shares import smoothed_share
from suffice.bayes.statistics import CategoryCounts, stacked_sums, summed
from suffice.families import Bernoulli, Beta, SufficientSums
from suffice.families.dirichlet import log_partition
from suffice.families.sampling import number_of_draws
from suffice.numerics.double_double import Array


class BetaBernoulli(Conjugate):
    """The probability of a 1, learned from zeros and ones.

    Parameters
    ----------
    alpha, beta : floats or arrays of shape (…), default=1.0
        Pseudo-counts of ones and zeros, not negative; an array is a pair for each entry.

    Attributes
    ----------
    alpha, beta : floats or arrays of shape (…)
        The same with the rows' counts.

    Notes
    -----
    The statistic is the `SufficientSums` of `suffice.families.Bernoulli`; counts in arrays go to
    `given`.

    Examples
    --------
    >>> from suffice.bayes import BetaBernoulli
    >>> coin = BetaBernoulli(1, 1).posterior([1, 0, 1, 1])
    >>> coin
    BetaBernoulli(alpha=4.0, beta=2.0)
    >>> round(coin.mean(), 4), coin.map()
    (0.6667, 0.75)
    >>> BetaBernoulli(1, 1).given(ones=[3, 0], zeros=[1, 4]).mean().round(4)
    array([0.6667, 0.1667])
    """

    def __init__(self, alpha: Any = 1.0, beta: Any = 1.0) -> None:
        both = numbers("alpha", alpha, 0.0), numbers("beta", beta, 0.0)
        self._begin(CategoryCounts(np.stack(np.broadcast_arrays(*both), axis=-1)))

    @classmethod
    def flat(cls) -> Self:
        """The uniform prior, under which `map` is the maximum of the likelihood."""
        return cls(1.0, 1.0)

    @property
    def alpha(self) -> Any:
        return plain(self._both.counts[..., 0])

    @property
    def beta(self) -> Any:
        return plain(self._both.counts[..., 1])

    @property
    def is_proper(self) -> NDArray[np.bool_]:
        return np.asarray((self._both.counts > 0).all(axis=-1))

    def mean(self) -> Any:
        """α / (α + β); NaN where both are 0."""
        counts = self._both.counts
        return plain(smoothed_share(0.0, 0.0, counts[..., 0], counts.sum(axis=-1)))

    def map(self) -> Any:
        """(α − 1) / (α + β − 2), or the end of [0, 1] where the density is largest.

        Raises
        ------
        ValueError
            Where there is no single mode: for α, β < 1, whose density is infinite at both
            ends, and for α = β = 1, whose density is the same everywhere.
        """
        return plain(modes(self._both.counts, self)[..., 0])

    def variance(self) -> Any:
        counts = self._both.counts
        total = counts.sum(axis=-1)
        with np.errstate(invalid="ignore"):
            return plain(counts[..., 0] / total * (counts[..., 1] / total) / (total + 1.0))

    def quantile(self, q: Any) -> Any:
        return plain(betaincinv(self.alpha, self.beta, self._asked(q)))

    def _shortest(self, level: float) -> Interval:
        return shortest_shares(self, np.asarray(self.alpha), np.asarray(self.beta), level)

    def log_density(self, value: Any) -> Any:
        self._require_proper("no density")
        return plain(Beta().log_density(value, self._both.counts))

    def sample(self, n: int, random_state: Any = None) -> Array:
        self._require_proper("no draws")
        counts = self._both.counts
        shape = (number_of_draws(n), *counts.shape[:-1])
        return np.asarray(Beta().sample(counts, shape, random_state))

    def predictive(self, trials: int = 1) -> BetaBinomial:
        """The number of ones among the next `trials` rows."""
        if not (isinstance(trials, Integral) and 1 <= trials < 2**53):
            raise ValueError(f"trials is {trials!r}; it must be an integer from 1 to below 2^53")
        self._require_proper("no predictive distribution")
        return BetaBinomial(np.asarray(self.alpha), np.asarray(self.beta), int(trials))

    def given(self, ones: Any, zeros: Any) -> Self:
        """What is known once so many ones and zeros were seen, too: arrays of shape (…)."""
        both = numbers("ones", ones, 0.0, most=ANY), numbers("zeros", zeros, 0.0, most=ANY)
        return self._added(CategoryCounts(np.stack(np.broadcast_arrays(*both), axis=-1)))

    def summarize(self, data: Any, sample_weight: Any = None) -> CategoryCounts:
        return _of_sums(summed(Bernoulli(), data, sample_weight))

    def _is_statistic(self, data: Any) -> bool:
        return isinstance(data, SufficientSums | CategoryCounts)

    def _as_statistic(self, value: Any) -> CategoryCounts:
        if isinstance(value, CategoryCounts):
            return value
        if isinstance(value, SufficientSums):
            if value.total.shape != (1,) or not 0 <= value.total.hi[0] <= value.weight.hi:
                raise ValueError("these are not the sums of zeros and ones")
            return _of_sums(value)
        raise TypeError(
            "the statistic of BetaBernoulli is the SufficientSums of suffice.families.Bernoulli, "
            f"got {type(value).__name__}; for counts in arrays write given(ones, zeros)"
        )

    def _log_evidence(self, prior: CategoryCounts, rows: CategoryCounts) -> Array:
        return log_shares_evidence(prior.counts, rows.counts)

    def __repr__(self) -> str:
        return f"BetaBernoulli(alpha={shown(self.alpha)}, beta={shown(self.beta)})"


def modes(alpha: Array, asked: Any) -> Array:
    """Where Dirichlet densities are largest, along the last axis.

    With an αⱼ < 1 the density is infinite all over the face where share j is 0; only among two
    shares is that face a point.
    """
    above = alpha - 1.0
    with np.errstate(invalid="ignore", divide="ignore"):
        inside = above / above.sum(axis=-1, keepdims=True)
    exists = np.asarray((alpha >= 1).all(axis=-1) & (alpha > 1).any(axis=-1))
    if alpha.shape[-1] == 2:
        low = alpha < 1
        corner = np.asarray(low.any(axis=-1) & ~low.all(axis=-1))
        inside = np.where(corner[..., None], np.where(low, 0.0, 1.0), inside)
        exists = exists | corner
    if not exists.all():
        place = tuple(int(i) for i in np.unravel_index(np.argmin(exists), exists.shape))
        where = f" at {place}" if place else ""
        raise ValueError(
            f"{asked!r} has no single mode{where}: its parameters there are "
            f"{alpha[place].tolist()}, and a density has one where all are at least 1 and not "
            "all are 1; take mean(), or a stronger prior"
        )
    return np.asarray(inside)


def shortest_shares(asked: Any, a: Array, b: Array, level: float) -> Interval:
    """The shortest intervals of beta distributions."""
    if ((a < 1) & (b < 1)).any():
        raise ValueError(
            f"{asked!r} has a peak at either end where both parameters are below 1: no single "
            'interval is the shortest; take kind="equal-tailed"'
        )
    return shortest(
        lambda q: betaincinv(a, b, q),
        lambda x: xlogy(a - 1.0, x) + xlog1py(b - 1.0, -x),
        level,
        np.broadcast_shapes(a.shape, b.shape),
    )


def _of_sums(sums: Any) -> CategoryCounts:
    ones = stacked_sums(sums, "total")[..., 0]
    zeros = stacked_sums(sums, "weight") - ones
    return CategoryCounts(np.stack([ones.round(), zeros.round()], axis=-1))


def log_shares_evidence(alpha: Array, counts: Array) -> Array:
    """log B(α + n) − log B(α) along the last axis, B the beta function of several arguments."""
    return log_partition(alpha + counts) - log_partition(alpha)
