"""What the conjugate pairs share: a prior is a pseudo-statistic.

    p(θ | rows) ∝ p(rows | θ) p(θ),      posterior = prior + statistics

For an exponential family the likelihood depends on the rows through sums alone, and a conjugate
prior has the same form in θ: its hyper-parameters are such sums, of rows that nobody saw.  So a
pair holds two statistics, the prior's and the rows', and all it says is computed from their sum.
The evidence is the ratio of the two normalisers,

    p(rows) = ∫ p(rows | θ) p(θ) dθ = Z(prior + statistics) / Z(prior) · Π b(yᵢ).

Reference: Murphy, "Probabilistic Machine Learning: An Introduction" (2022), chapter 4.6.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from numbers import Real
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from suffice.bayes.checks import numbers, plain
from suffice.bayes.statistics import (
    OF_COLUMNS,
    NormalMoments,
    as_moments,
    given_moments,
    moments_of_rows,
)
from suffice.numerics.double_double import Array

Kind = Literal["equal-tailed", "shortest"]


class Interval(NamedTuple):
    """The ends of a credible interval, for each pair.

    Attributes
    ----------
    lower, upper : floats or arrays
    """

    lower: Any
    upper: Any


class Conjugate(ABC):
    """A distribution of parameters, and what rows have added to it.

    Attributes
    ----------
    prior : statistic
        The pseudo-statistic that the hyper-parameters are.
    statistics : statistic
        What the rows contributed so far.
    """

    prior: Any
    statistics: Any
    _both: Any
    """The two together: the hyper-parameters of the posterior."""

    # NumPy must hand `array + prior` to `__radd__`.
    __array_ufunc__ = None

    # --- prior + statistics = posterior -----------------------------------------------------

    def posterior(self, data: Any, sample_weight: Any = None) -> Self:
        """What is known once these rows were seen, too.

        Parameters
        ----------
        data : array, series, Source or statistic
            Observations, one a row; or a statistic of them, as for `prior + statistic`.
            An array always holds observations: counts and other sums in arrays go to `given`.
        sample_weight : array of shape (rows,), optional
            Weights of observations: w counts as w repetitions.
        """
        return self._added(self._statistic_of(data, sample_weight))

    @abstractmethod
    def summarize(self, data: Any, sample_weight: Any = None) -> Any:
        """The statistic of some observations; takes what `posterior` takes."""

    @classmethod
    def merge(cls, posteriors: Sequence[Self]) -> Self:
        """The posterior of the rows of all of them, from the prior that they share."""
        every = list(posteriors)
        if not every:
            raise ValueError("there is nothing to merge: give at least one posterior")
        for one in every:
            if not isinstance(one, cls):
                raise TypeError(f"accepted are posteriors of {cls.__name__}, got {one!r}")
        merged, *others = every
        for other in others:
            merged = merged + other
        return merged

    def __add__(self, other: Any) -> Self:
        if isinstance(other, int) and other == 0:
            return self
        if isinstance(other, Conjugate):
            if type(other) is not type(self) or not self._same_prior(other):
                raise ValueError(
                    f"cannot merge {self!r} and {other!r}: their priors differ, and only one "
                    "of them can be counted"
                )
            return self if other.statistics is None else self._added(other.statistics)
        return self._added(self._as_statistic(other))

    __radd__ = __add__

    def _added(self, more: Any) -> Self:
        made = copy(self)
        try:
            made.statistics = more if self.statistics is None else self.statistics + more
            made._both = self.prior + made.statistics
        except ValueError as error:  # shapes that do not broadcast
            raise ValueError(
                f"{self!r} and these rows are not of as many pairs: give a column, or an entry of "
                f"each sum, for each pair ({error})"
            ) from None
        return made

    def _begin(self, prior: Any) -> None:
        self.prior = self._both = prior
        self.statistics = None

    def _from(self, prior: Any) -> Self:
        made = copy(self)
        made._begin(prior)
        return made

    def _statistic_of(self, data: Any, sample_weight: Any) -> Any:
        if not self._is_statistic(data):
            return self.summarize(data, sample_weight)
        if sample_weight is not None:
            raise ValueError("a statistic has its weights inside: pass no sample_weight")
        return self._as_statistic(data)

    @abstractmethod
    def _is_statistic(self, data: Any) -> bool:
        """Whether this is a statistic rather than observations."""

    @abstractmethod
    def _as_statistic(self, value: Any) -> Any:
        """What `+` takes, as the statistic of this pair."""

    def _same_prior(self, other: Self) -> bool:
        return self.prior == other.prior

    # --- what is known of the parameters ----------------------------------------------------

    @property
    @abstractmethod
    def is_proper(self) -> NDArray[np.bool_]:
        """Which of the distributions integrate to 1, as a prior of no rows need not."""

    @abstractmethod
    def mean(self) -> Any:
        """The posterior mean of each parameter; NaN where there is none."""

    @abstractmethod
    def map(self) -> Any:
        """Where the posterior density is largest.

        Under the prior of `flat` this is the maximum of the likelihood.
        """

    @abstractmethod
    def variance(self) -> Any:
        """The posterior variance of each parameter; NaN or ∞ where there is none."""

    @abstractmethod
    def quantile(self, q: Any) -> Any:
        """The value below which each parameter lies with probability `q`, from 0 to 1.

        An array `q` broadcasts with what `mean` returns.
        """

    def _asked(self, q: Any) -> Array:
        """The probabilities of quantiles that exist."""
        self._require_proper("no quantiles")
        return numbers("q", q, 0.0, most=1.0)

    def interval(self, level: float = 0.95, kind: Kind = "equal-tailed") -> Any:
        """A credible interval of each parameter.

        Parameters
        ----------
        level : float, default=0.95
            Probability of the parameter to lie inside.
        kind : {"equal-tailed", "shortest"}
            Whether as much probability lies below as above, or the density outside is nowhere
            larger than inside, which makes the interval as short as can be.

        Returns
        -------
        Interval, or one of each parameter by name
        """
        if not (isinstance(level, Real) and 0 < level < 1):
            raise ValueError(f"level is {level!r}; it must lie between 0 and 1")
        if kind not in ("equal-tailed", "shortest"):
            raise ValueError(f'kind is {kind!r}; accepted are "equal-tailed" and "shortest"')
        self._require_proper("no interval")
        level = float(level)
        if kind == "shortest":
            return self._shortest(level)
        return Interval(self.quantile((1 - level) / 2), self.quantile((1 + level) / 2))

    @abstractmethod
    def _shortest(self, level: float) -> Any:
        """The intervals that are as short as can be."""

    @abstractmethod
    def log_density(self, value: Any) -> Array:
        """The logarithm of the posterior density at a value of the parameters."""

    @abstractmethod
    def sample(self, n: int, random_state: Any = None) -> Any:
        """`n` draws of the parameters, along a new first axis."""

    @abstractmethod
    def predictive(self) -> Any:
        """The distribution of the next observation, the parameters integrated out."""

    # --- evidence ---------------------------------------------------------------------------

    def log_evidence(self, data: Any = None, sample_weight: Any = None) -> Any:
        """The logarithm of the probability (density) of rows, the parameters integrated out.

        Parameters
        ----------
        data : as for `posterior`, optional
            The rows, given all that is known so far.  By default the rows seen so far, given
            the prior.
        sample_weight : array of shape (rows,), optional
        """
        if data is not None:
            prior, rows = self._both, self._statistic_of(data, sample_weight)
        elif self.statistics is not None:
            prior, rows = self.prior, self.statistics
        else:
            raise ValueError("no rows were seen: pass those whose evidence is asked for")
        self._from(prior)._require_proper("no evidence")
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            value = plain(self._log_evidence(prior, rows))
        if not np.isfinite(value).all():
            raise ValueError(
                f"the evidence under {self!r} is beyond float64's range: its numbers, or those of "
                "the rows, are too large or too small; rescale them"
            )
        return value

    @abstractmethod
    def _log_evidence(self, prior: Any, rows: Any) -> Array:
        """log p(rows) under a prior."""

    def _require_proper(self, why: str) -> None:
        proper = np.asarray(self.is_proper)
        if not proper.all():
            place = tuple(int(i) for i in np.unravel_index(np.argmin(proper), proper.shape))
            where = f" at {place}" if place else ""
            raise ValueError(
                f"{self!r} is improper{where}: it does not integrate to 1, so it has {why}; "
                "give a stronger prior, or rows"
            )


class NormalPair(Conjugate):
    """What is known of normal numbers, one column at a time: μ, as of κ rows, and perhaps σ²."""

    @property
    def mu(self) -> Any:
        return plain(self._both.mean)

    @property
    def kappa(self) -> Any:
        return plain(self._both.weight)

    def given(self, weight: Any, mean: Any, scatter: Any) -> Self:
        """What is known once rows of this weight, mean and Σ (y − mean)² were seen, too."""
        return self._added(given_moments(weight, mean, scatter))

    def summarize(self, data: Any, sample_weight: Any = None) -> NormalMoments:
        return moments_of_rows(data, sample_weight)

    def _is_statistic(self, data: Any) -> bool:
        return isinstance(data, OF_COLUMNS)

    def _as_statistic(self, value: Any) -> NormalMoments:
        return as_moments(value)


def shortest(
    quantile: Callable[[Array], Any],
    log_density: Callable[[Array], Any],
    level: float,
    shape: tuple[int, ...],
) -> Interval:
    """The shortest intervals under densities with one peak: at both ends they are the same.

    While the density at the lower end is the smaller one, an interval further up is shorter.
    """
    wide = max(level, 1e-8)  # the ends of a narrower one are told apart by rounding alone
    low, high = np.zeros(shape), np.full(shape, 1.0 - wide)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for _ in range(60):
            p = 0.5 * (low + high)
            up = log_density(quantile(p)) < log_density(quantile(p + wide))
            low, high = np.where(up, p, low), np.where(up, high, p)
        p = 0.5 * (low + high) + 0.5 * (wide - level)
        return Interval(plain(quantile(p)), plain(quantile(p + level)))
