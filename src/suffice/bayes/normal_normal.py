"""Normal and normal: a mean, where the variance σ² of the rows is known.

    μ ~ N(m, σ²/κ),      y | μ ~ N(μ, σ²)

    posterior   κ' = κ + rows,   m' = (κ m + Σ y) / κ'
    predictive  N(m', σ² (1 + 1/κ'))

κ is how many rows the prior is worth: a prior variance τ² is κ = σ²/τ².  The posterior mean lies
between the prior's and the rows', as near to the rows' as their number says.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from suffice.bayes.checks import mean_of, numbers, plain, read_only, shown
from suffice.bayes.conjugate import Interval, NormalPair
from suffice.bayes.predictive import StudentT
from suffice.bayes.statistics import NormalMoments
from suffice.families.gaussian import LOG_2PI, normal_log_density
from suffice.families.sampling import generator, number_of_draws
from suffice.numerics.double_double import Array


class NormalNormal(NormalPair):
    """The mean of numbers whose variance is known.

    Parameters
    ----------
    mu : float or array of shape (…), default=0.0
        The prior's mean.
    kappa : float or array of shape (…), default=1.0
        How many rows the prior counts for: `noise_variance` over the prior's variance.
    noise_variance : float or array of shape (…), default=1.0
        The variance of a row about the mean.

    Attributes
    ----------
    mu, kappa : floats or arrays of shape (…)
        The same with the rows in them.
    noise_variance : float or array of shape (…)

    Notes
    -----
    The statistic is `ColumnMoments`, `Moments`, of which the diagonal counts, or the
    `SufficientSums` of `suffice.families.Gaussian`; sums in arrays go to `given`.

    Examples
    --------
    >>> from suffice.bayes import NormalNormal
    >>> height = NormalNormal(mu=170.0, kappa=2.0, noise_variance=50.0).posterior([178.0, 184.0])
    >>> height.mean(), height.variance()
    (175.5, 12.5)
    >>> height.predictive().variance()
    62.5
    """

    def __init__(self, mu: Any = 0.0, kappa: Any = 1.0, *, noise_variance: Any = 1.0) -> None:
        m, k, self._noise = np.broadcast_arrays(
            mean_of("mu", mu),
            numbers("kappa", kappa, 0.0),
            numbers("noise_variance", noise_variance, 0.0, open_end=True),
        )
        self._begin(NormalMoments(k, m, np.zeros(k.shape), k))

    @classmethod
    def flat(cls, noise_variance: Any = 1.0) -> Self:
        """The prior of no rows, under which `map` is the rows' mean."""
        return cls(0.0, 0.0, noise_variance=noise_variance)

    @property
    def noise_variance(self) -> Any:
        return plain(read_only(self._noise))

    @property
    def is_proper(self) -> NDArray[np.bool_]:
        return np.asarray(self._both.weight > 0)

    def mean(self) -> Any:
        """m; NaN where prior and rows say nothing."""
        return plain(np.where(self.is_proper, self._both.mean, np.nan))

    def map(self) -> Any:
        """m, as the mean.

        Raises
        ------
        ValueError
            Where prior and rows say nothing.
        """
        self._require_proper("no mode")
        return self.mu

    def variance(self) -> Any:
        """σ²/κ, which is ∞ where prior and rows say nothing."""
        with np.errstate(divide="ignore"):
            return plain(self._noise / self._both.weight)

    def quantile(self, q: Any) -> Any:
        return plain(self.mu + np.sqrt(self.variance()) * ndtri(self._asked(q)))

    def _shortest(self, level: float) -> Interval:
        return self.interval(level)  # a symmetric density: nothing is shorter

    def log_density(self, value: Any) -> Any:
        self._require_proper("no density")
        variance = np.asarray(self.variance())
        return plain(normal_log_density(numbers("value", value), np.asarray(self.mu), variance))

    def sample(self, n: int, random_state: Any = None) -> Array:
        self._require_proper("no draws")
        sd = np.sqrt(self.variance())
        shape = (number_of_draws(n), *np.shape(self.mu + sd))
        draws = generator(random_state).standard_normal(shape)
        return np.asarray(self.mu + sd * draws)

    def predictive(self) -> StudentT:
        """The next row: Gaussian, a Student t of endless degrees of freedom."""
        self._require_proper("no predictive distribution")
        variance = np.asarray(self._noise * (1.0 + 1.0 / self._both.weight))
        df = np.full(np.shape(self._both.mean + variance), np.inf)
        return StudentT(df, self._both.mean, variance)

    def _same_prior(self, other: Self) -> bool:
        same_noise = np.array_equal(self._noise, other._noise)
        return super()._same_prior(other) and same_noise

    def _log_evidence(self, prior: NormalMoments, rows: NormalMoments) -> Array:
        squares = prior.added_by(rows) / self._noise
        constant = rows.weight * (LOG_2PI + np.log(self._noise))
        growth = np.log1p(rows.weight / prior.weight)
        return np.asarray(-0.5 * (constant + growth + squares))

    def __repr__(self) -> str:
        return (
            f"NormalNormal(mu={shown(self.mu)}, kappa={shown(self.kappa)}, "
            f"noise_variance={shown(self.noise_variance)})"
        )
