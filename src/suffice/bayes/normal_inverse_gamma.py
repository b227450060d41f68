"""Normal and inverse gamma: the mean and the variance of numbers.

    σ² ~ InvGamma(α, β),      μ | σ² ~ N(m, σ²/κ),      y | μ, σ² ~ N(μ, σ²)

With n rows of mean ȳ and S = Σ (y − ȳ)²:

    κ' = κ + n,    m' = (κ m + n ȳ) / κ',    α' = α + n/2,    2β' = 2β + S + (κ n / κ') (ȳ − m)²

The prior is the statistic (κ, m, 2β) of rows that nobody saw, 2α of them behind the squares 2β:
the rule for 2β' is Chan's for merging squares about a mean.  Given the rows, μ has Student's t
distribution, and so does the next row.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainccinv

from suffice.bayes.checks import mean_of, numbers, plain, shown, two
from suffice.bayes.conjugate import Interval, Kind, NormalPair, shortest
from suffice.bayes.predictive import StudentT, student_quantile
from suffice.bayes.statistics import NormalMoments
from suffice.families import Gamma
from suffice.families.gaussian import LOG_2PI, normal_log_density
from suffice.families.sampling import generator, log_gamma_variates, number_of_draws
from suffice.numerics.double_double import Array
from suffice.numerics.gamma_functions import log_gamma_rise


class MeanAndVariance(NamedTuple):
    """Something about the two parameters of a Gaussian.

    Attributes
    ----------
    mu, variance : floats, arrays or Intervals
    """

    mu: Any
    variance: Any


class NormalInverseGamma(NormalPair):
    """The mean and the variance of numbers.

    Parameters
    ----------
    mu : float or array of shape (…), default=0.0
        The prior's mean.
    kappa : float or array of shape (…), default=1.0
        How many rows the prior's mean counts for.
    alpha, beta : floats or arrays of shape (…), default=1.0
        The prior's variance counts for 2α rows, with squares that add up to 2β.  α may be
        negative down to −3/2, which is `flat`.

    Attributes
    ----------
    mu, kappa, alpha, beta : floats or arrays of shape (…)
        The same with the rows in them.

    Notes
    -----
    The statistic is `ColumnMoments`, `Moments`, of which the diagonal counts, or the
    `SufficientSums` of `suffice.families.Gaussian`; sums in arrays go to `given`.

    Examples
    --------
    >>> from suffice.bayes import NormalInverseGamma
    >>> prior = NormalInverseGamma(mu=0.0, kappa=1.0, alpha=2.0, beta=2.0)
    >>> known = prior.posterior([1.0, 2.0, 3.0])
    >>> known
    NormalInverseGamma(mu=1.5, kappa=4.0, alpha=3.5, beta=4.5)
    >>> known.mean()
    MeanAndVariance(mu=1.5, variance=1.8)
    >>> NormalInverseGamma.flat().posterior([1.0, 2.0, 6.0]).map()  # the most likely
    MeanAndVariance(mu=3.0, variance=4.666666666666667)
    """

    def __init__(self, mu: Any = 0.0, kappa: Any = 1.0, alpha: Any = 1.0, beta: Any = 1.0) -> None:
        m, k, a, b = np.broadcast_arrays(
            mean_of("mu", mu),
            numbers("kappa", kappa, 0.0),
            numbers("alpha", alpha, -1.5),
            numbers("beta", beta, 0.0),
        )
        self._begin(NormalMoments(k, m, 2.0 * b, 2.0 * a))

    @classmethod
    def flat(cls) -> Self:
        """A density that is 1 everywhere, under which `map` is the maximum of the likelihood."""
        return cls(0.0, 0.0, -1.5, 0.0)

    @property
    def alpha(self) -> Any:
        return plain(0.5 * self._both.degrees)

    @property
    def beta(self) -> Any:
        return plain(0.5 * self._both.scatter)

    @property
    def is_proper(self) -> NDArray[np.bool_]:
        both = self._both
        return np.asarray((both.weight > 0) & (np.asarray(self.alpha) > 0) & (both.scatter > 0))

    def mean(self) -> MeanAndVariance:
        """m for α > ½, and β/(α − 1) for α > 1, else ∞; NaN where there is no mean."""
        a, b = np.asarray(self.alpha), np.asarray(self.beta)
        with np.errstate(invalid="ignore", divide="ignore"):
            variance = np.where(a > 1, b / (a - 1.0), np.where((a > 0) & (b > 0), np.inf, np.nan))
        has_mean = (a > 0.5) & (self._both.weight > 0)
        return MeanAndVariance(plain(np.where(has_mean, self._both.mean, np.nan)), plain(variance))

    def map(self) -> MeanAndVariance:
        """(m, β / (α + 3/2)), where the joint density of both is largest.

        The variance is 0 where β is: the density grows without end towards it.

        Raises
        ------
        ValueError
            Where prior and rows leave the mean or the variance open.
        """
        a = np.asarray(self.alpha)
        if not ((a > -1.5) & (self._both.weight > 0)).all():
            raise ValueError(
                f"{self!r} has no mode: kappa must be positive, and alpha above -3/2; give a "
                "stronger prior, or rows"
            )
        return MeanAndVariance(self.mu, plain(np.asarray(self.beta) / (a + 1.5)))

    def variance(self) -> MeanAndVariance:
        """β / (κ (α − 1)) and β² / ((α − 1)² (α − 2)); ∞ where they diverge."""
        a, b = np.asarray(self.alpha), np.asarray(self.beta)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = b / (a - 1.0)
            of_mean = np.where(a > 1, mean / self._both.weight, np.inf)
            of_variance = np.where(a > 2, mean * mean / (a - 2.0), np.inf)
        return MeanAndVariance(plain(of_mean), plain(of_variance))

    def quantile(self, q: Any) -> MeanAndVariance:
        q, a, b = self._asked(q), np.asarray(self.alpha), np.asarray(self.beta)
        with np.errstate(divide="ignore"):
            mu = self.mu + np.sqrt(b / a / self._both.weight) * student_quantile(2.0 * a, q)
            return MeanAndVariance(plain(mu), plain(b / gammainccinv(a, q)))

    def interval(self, level: float = 0.95, kind: Kind = "equal-tailed") -> MeanAndVariance:
        """A credible interval of each of the two by itself; see `Conjugate.interval`."""
        ends = super().interval(level, kind)
        if isinstance(ends, MeanAndVariance):
            return ends
        return MeanAndVariance(*(Interval(*both) for both in zip(*ends, strict=True)))

    def _shortest(self, level: float) -> MeanAndVariance:
        a, b = np.asarray(self.alpha), np.asarray(self.beta)
        return MeanAndVariance(self.interval(level).mu, shortest_variances(a, b, level))

    def log_density(self, value: Any) -> Any:
        """log p(μ, σ²) at a pair (mu, variance)."""
        self._require_proper("no density")
        first, second = two(("mu", "variance"), value)
        mu, variance = numbers("mu", first), numbers("variance", second, 0.0, open_end=True)
        # 1/σ² is gamma distributed, and |d(1/σ²)/dσ²| = 1/σ⁴.
        of_precision = Gamma().log_density(1.0 / variance, Gamma().natural(self.alpha, self.beta))
        given = normal_log_density(mu, np.asarray(self.mu), variance / self._both.weight)
        return plain(of_precision - 2.0 * np.log(variance) + given)

    def sample(self, n: int, random_state: Any = None) -> MeanAndVariance:
        self._require_proper("no draws")
        rng = generator(random_state)
        a, b, m = (np.asarray(one) for one in (self.alpha, self.beta, self.mu))
        shape = (number_of_draws(n), *np.broadcast_shapes(a.shape, b.shape, m.shape))
        with np.errstate(over="ignore"):
            variance = b * np.exp(-log_gamma_variates(a, shape, rng))
            sd = np.sqrt(variance / self._both.weight)
        return MeanAndVariance(np.asarray(m + sd * rng.standard_normal(shape)), variance)

    def predictive(self) -> StudentT:
        """The next row: a t of 2α degrees of freedom, of squared scale β (κ + 1) / (α κ)."""
        self._require_proper("no predictive distribution")
        a = np.asarray(self.alpha)
        scale = np.asarray(self.beta) / a * (1.0 + 1.0 / self._both.weight)
        return StudentT(2.0 * a, self._both.mean, np.asarray(scale))

    def _log_evidence(self, prior: NormalMoments, rows: NormalMoments) -> Array:
        a, b = 0.5 * prior.degrees, 0.5 * prior.scatter
        more, added = 0.5 * rows.weight, 0.5 * prior.added_by(rows)
        # log Γ(α') βᵅ / (Γ(α) β'ᵅ') √(κ/κ') (2π)^(−n/2)
        value = log_gamma_rise(a, more) - a * np.log1p(added / b)
        value = value - more * (np.log(b + added) + LOG_2PI)
        return np.asarray(value - 0.5 * np.log1p(rows.weight / prior.weight))

    def __repr__(self) -> str:
        names = ("mu", "kappa", "alpha", "beta")
        inside = ", ".join(f"{name}={shown(getattr(self, name))}" for name in names)
        return f"NormalInverseGamma({inside})"


def shortest_variances(a: Array, b: Array, level: float) -> Interval:
    """The shortest intervals of inverse gamma distributions."""
    return shortest(
        lambda q: b / gammainccinv(a, q),
        lambda v: -(a + 1.0) * np.log(v) - b / v,
        level,
        np.broadcast_shapes(a.shape, b.shape),
    )
