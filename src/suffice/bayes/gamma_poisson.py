"""Gamma and Poisson: the rate of events.

    λ ~ Gamma(shape a, rate b),      y | λ ~ Poisson(λ)

    posterior   Gamma(a + Σ y, b + rows)
    mean        a / b
    predictive  negative binomial

a is a number of events, and b the rows in which nobody saw them.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv, xlogy

from suffice.bayes.conjugate import Conjugate, Interval, shortest
from suffice.bayes.predictive_counts import NegativeBinomial, log_ways
from suffice.bayes.pseudo_statistics import Events, stacked, summed
from suffice.bayes.values import ANY, numbers, plain, shown
from suffice.families import Gamma, Poisson, SufficientSums
from suffice.families.sampling import number_of_draws
from suffice.numerics.double_double import Array, DoubleDouble, cross_difference
from suffice.numerics.gamma_functions import log_growth, stirling_remainder
from suffice.numerics.logarithm import log_quotient_pair


class GammaPoisson(Conjugate):
    """The rate of events, learned from counts of them.

    Parameters
    ----------
    shape : float or array of shape (…), default=1.0
        Pseudo-events, not negative.
    rate : float or array of shape (…), default=1.0
        Pseudo-rows in which they occurred, not negative.

    Attributes
    ----------
    shape, rate : floats or arrays of shape (…)
        The same with the rows' sums.

    Notes
    -----
    The statistic is the `SufficientSums` of `suffice.families.Poisson`; sums in arrays go to
    `given`.

    Examples
    --------
    >>> from suffice.bayes import GammaPoisson
    >>> goals = GammaPoisson(shape=2.0, rate=1.0).posterior([2, 0, 1, 3])
    >>> goals
    GammaPoisson(shape=8.0, rate=5.0)
    >>> goals.mean(), goals.map()
    (1.6, 1.4)
    >>> round(goals.predictive().log_density(0), 4)
    -1.4586
    """

    def __init__(self, shape: Any = 1.0, rate: Any = 1.0) -> None:
        both = numbers("shape", shape, 0.0), numbers("rate", rate, 0.0)
        a, b = (DoubleDouble.of(value) for value in np.broadcast_arrays(*both))
        self._begin(Events(a, b, DoubleDouble.zeros(a.shape)))

    @classmethod
    def flat(cls) -> Self:
        """The prior without a preference, under which `map` is the maximum of the likelihood."""
        return cls(1.0, 0.0)

    @property
    def shape(self) -> Any:
        return plain(self._both.total.round())

    @property
    def rate(self) -> Any:
        return plain(self._both.weight.round())

    @property
    def is_proper(self) -> NDArray[np.bool_]:
        return np.asarray((self._both.total.hi > 0) & (self._both.weight.hi > 0))

    def mean(self) -> Any:
        """a / b; NaN where both are 0, and ∞ where only the rate is."""
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            return plain((self._both.total.round()) / (self._both.weight.round()))

    def map(self) -> Any:
        """(a − 1) / b, and 0 where the shape is 1 or less.

        Raises
        ------
        ValueError
            Where the rate is 0, and the density the larger the faster the events.
        """
        if not (self._both.weight.hi > 0).all():
            raise ValueError(f"{self!r} has no mode: its rate must be positive")
        above = (self._both.total - 1.0).round()
        with np.errstate(over="ignore"):
            return plain(np.maximum(above, 0.0) / self._both.weight.round())

    def variance(self) -> Any:
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            return plain(self.mean() / self._both.weight.round())

    def quantile(self, q: Any) -> Any:
        q = self._asked(q)
        with np.errstate(over="ignore"):
            return plain(gammaincinv(self.shape, q) / self.rate)

    def _shortest(self, level: float) -> Interval:
        a, b = np.asarray(self.shape), np.asarray(self.rate)
        return shortest(self.quantile, lambda x: xlogy(a - 1.0, x) - b * x, level, a.shape)

    def log_density(self, value: Any) -> Any:
        self._require_proper("no density")
        return plain(Gamma().log_density(value, Gamma().natural(self.shape, self.rate)))

    def sample(self, n: int, random_state: Any = None) -> Array:
        self._require_proper("no draws")
        eta = Gamma().natural(self.shape, self.rate)
        return Gamma().sample(eta, (number_of_draws(n), *eta.shape[:-1]), random_state)

    def predictive(self, exposure: float = 1.0) -> NegativeBinomial:
        """The number of events in the next row, or in an `exposure` of as many rows."""
        if numbers("exposure", exposure, 0.0, open_end=True).ndim:
            raise ValueError(f"exposure is {exposure!r}; accepted is one number above 0")
        self._require_proper("no predictive distribution")
        return NegativeBinomial(np.asarray(self.shape), np.asarray(self.rate), float(exposure))

    def given(self, events: Any, rows: Any) -> Self:
        """What is known once so many events were seen in so many rows: arrays of shape (…).

        Instead of rows there may be an exposure.  Sums alone do not tell the evidence.
        """
        total = numbers("events", events, 0.0, most=ANY)
        weight = numbers("rows", rows, 0.0, most=ANY)
        return self._added(Events(DoubleDouble.of(total), DoubleDouble.of(weight), None))

    def summarize(self, data: Any, sample_weight: Any = None) -> Events:
        return _of_sums(summed(Poisson(), data, sample_weight))

    def _is_statistic(self, data: Any) -> bool:
        return isinstance(data, SufficientSums | Events)

    def _as_statistic(self, value: Any) -> Events:
        if isinstance(value, Events):
            return value
        if isinstance(value, SufficientSums):
            if value.total.shape != (1,) or value.total.hi[0] < 0:
                raise ValueError("these are not the sums of counts of events")
            return _of_sums(value)
        raise TypeError(
            "the statistic of GammaPoisson is the SufficientSums of suffice.families.Poisson, "
            f"got {type(value).__name__}; for sums in arrays write given(events, rows)"
        )

    def _log_evidence(self, prior: Events, rows: Events) -> Array:
        if rows.log_base is None:
            raise ValueError(
                "the evidence needs Σ log y! of the rows, which sums alone do not tell: pass the "
                "counts themselves, or suffice.families.Poisson().summarize(counts)"
            )
        # Two probabilities: of the total of the rows, and of how they share it.
        return _log_total(prior, rows) + _log_sharing(rows.total, rows.weight, rows.log_base)

    def __repr__(self) -> str:
        return f"GammaPoisson(shape={shown(self.shape)}, rate={shown(self.rate)})"


def _of_sums(sums: Any) -> Events:
    return Events(
        stacked(sums, "total")[..., 0], stacked(sums, "weight"), stacked(sums, "log_base")
    )


def _log_total(prior: Events, rows: Events) -> Array:
    """The logarithm of the negative binomial probability of all events together."""
    a, b, x, n = (value.hi for value in (prior.total, prior.weight, rows.total, rows.weight))
    whole = b + n
    away = cross_difference(a, n, x, b, whole)
    away = away + (n / whole * prior.total.lo - b / whole * rows.total.lo)
    away = away + (a / whole * rows.weight.lo - x / whole * prior.weight.lo)
    some = log_ways(a, np.where(x > 0, x, 1.0), b / whole, n / whole, away)
    return np.where(x > 0, some, -a * log_growth(b, n))


def _log_sharing(total: DoubleDouble, weight: DoubleDouble, log_base: DoubleDouble) -> Array:
    """log x! − x log n − Σ w log y! for x events in n rows, whose large terms cancel."""
    # In double-double, by x log x − x and the remainder of log Γ.
    none = total.hi == 0
    x, n = (value + none.astype(np.float64) for value in (total, weight))
    large = log_quotient_pair(x, n) * x - x + log_base
    small = stirling_remainder(x.hi) + np.log(x.hi)
    return np.where(none, log_base.round(), large.round() + small)
