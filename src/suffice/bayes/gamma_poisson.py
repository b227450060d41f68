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

from suffice.bayes.checks import ANY, numbers, plain, shown
from suffice.bayes.conjugate import Conjugate, Interval, shortest
from suffice.bayes.predictive import NegativeBinomial
from suffice.bayes.statistics import EventCounts, stacked_sums, summed
from suffice.families import Gamma, Poisson, SufficientSums
from suffice.families.sampling import number_of_draws
from suffice.numerics.double_double import Array
from suffice.numerics.gamma_functions import log_gamma_rise


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
        a, b = np.broadcast_arrays(*both)
        self._begin(EventCounts(a, b, np.zeros(a.shape)))

    @classmethod
    def flat(cls) -> Self:
        """The prior without a preference, under which `map` is the maximum of the likelihood."""
        return cls(1.0, 0.0)

    @property
    def shape(self) -> Any:
        return plain(self._both.total)

    @property
    def rate(self) -> Any:
        return plain(self._both.weight)

    @property
    def is_proper(self) -> NDArray[np.bool_]:
        return np.asarray((self._both.total > 0) & (self._both.weight > 0))

    def mean(self) -> Any:
        """a / b; NaN where both are 0, and ∞ where only the rate is."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return plain(self._both.total / self._both.weight)

    def map(self) -> Any:
        """(a − 1) / b, and 0 where the shape is 1 or less.

        Raises
        ------
        ValueError
            Where the rate is 0, and the density the larger the faster the events.
        """
        if not (self._both.weight > 0).all():
            raise ValueError(f"{self!r} has no mode: its rate must be positive")
        return plain(np.maximum(self._both.total - 1.0, 0.0) / self._both.weight)

    def variance(self) -> Any:
        with np.errstate(invalid="ignore", divide="ignore"):
            return plain(self.mean() / self._both.weight)

    def quantile(self, q: Any) -> Any:
        return plain(gammaincinv(self.shape, self._asked(q)) / self.rate)

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
        return self._added(EventCounts(total, weight, None))

    def summarize(self, data: Any, sample_weight: Any = None) -> EventCounts:
        return _of_sums(summed(Poisson(), data, sample_weight))

    def _is_statistic(self, data: Any) -> bool:
        return isinstance(data, SufficientSums | EventCounts)

    def _as_statistic(self, value: Any) -> EventCounts:
        if isinstance(value, EventCounts):
            return value
        if isinstance(value, SufficientSums):
            if value.total.shape != (1,) or value.total.hi[0] < 0:
                raise ValueError("these are not the sums of counts of events")
            return _of_sums(value)
        raise TypeError(
            "the statistic of GammaPoisson is the SufficientSums of suffice.families.Poisson, "
            f"got {type(value).__name__}; for sums in arrays write given(events, rows)"
        )

    def _log_evidence(self, prior: EventCounts, rows: EventCounts) -> Array:
        if rows.log_base is None:
            raise ValueError(
                "the evidence needs Σ log y! of the rows, which sums alone do not tell: pass the "
                "counts themselves, or suffice.families.Poisson().summarize(counts)"
            )
        # log Γ(a + x) bᵃ / (Γ(a) (b + n)ᵃ⁺ˣ) and −Σ log y!
        whole = prior.weight + rows.weight
        rise = log_gamma_rise(prior.total, rows.total) - rows.total * np.log(whole)
        return np.asarray(rise - prior.total * np.log1p(rows.weight / prior.weight) + rows.log_base)

    def __repr__(self) -> str:
        return f"GammaPoisson(shape={shown(self.shape)}, rate={shown(self.rate)})"


def _of_sums(sums: Any) -> EventCounts:
    total, weight, base = (stacked_sums(sums, name) for name in ("total", "weight", "log_base"))
    return EventCounts(total[..., 0].round(), weight.round(), base.round())
