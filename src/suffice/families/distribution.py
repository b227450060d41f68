"""One member of a family: a family with its natural parameter, given or fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from suffice.families.base import Family
from suffice.families.maximum_likelihood import MaximumLikelihood
from suffice.fitting.certificate import Certificate
from suffice.numerics.double_double import Array
from suffice.statistics.exponential_family import SufficientSums


@dataclass(frozen=True, eq=False, repr=False)
class Distribution:
    """A distribution of an exponential family.

    Attributes
    ----------
    family : Family
    eta : array of shape (…, p)
        The natural parameter.

    The usual parameters are `parameters`, by name, and can be read as attributes too.

    Examples
    --------
    >>> from suffice.families import Poisson
    >>> calls = Poisson().at(rate=3.0)
    >>> calls
    Poisson().at(rate=3.0)
    >>> calls.eta, calls.rate
    (array([1.09861229]), 3.0)
    >>> calls.mean(), calls.covariance()
    (array([3.]), array([[3.]]))
    """

    family: Family
    eta: Array

    @property
    def parameters(self) -> dict[str, Any]:
        """The usual parameters by name."""
        return self.family.parameters(self.eta)

    def mean(self) -> Array:
        """E[T(y)], of shape (…, p)."""
        return self.family.mean(self.eta)

    def covariance(self) -> Array:
        """Cov[T(y)], of shape (…, p, p)."""
        return self.family.covariance(self.eta)

    def log_density(self, y: Any) -> Array:
        """log p(y; η) of each row."""
        return self.family.log_density(y, self.eta)

    def sample(self, size: Any = None, random_state: Any = None) -> NDArray[Any]:
        """Random observations (see `Family.sample`)."""
        return self.family.sample(self.eta, size, random_state)

    def __getattr__(self, name: str) -> Any:
        made = "eta" in vars(self)  # while a copy is being made, nothing is there yet
        if made and name in self.parameters:
            return self.parameters[name]
        raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")

    def __repr__(self) -> str:
        shown = {n: v.tolist() if hasattr(v, "tolist") else v for n, v in self.parameters.items()}
        return f"{self.family!r}.at({', '.join(f'{n}={v!r}' for n, v in shown.items())})"


@dataclass(frozen=True, eq=False, repr=False)
class Fitted(Distribution):
    """The most likely distribution of some rows.

    Attributes
    ----------
    statistics : SufficientSums
        All that the rows said about it.
    solution : MaximumLikelihood
        How it was found.
    certificate : Certificate
        `gradient`: how far the mean of T over the rows is from E[T], relative to its size;
        `digits`: decimal digits of the usual parameters that the sums determine.

    Examples
    --------
    >>> from suffice.families import Poisson
    >>> goals = Poisson().fit([2, 0, 1, 3, 1])
    >>> goals.rate, round(goals.log_likelihood, 3)
    (1.4, -7.13)
    >>> (goals + Poisson().fit([4])).rate == Poisson().fit([2, 0, 1, 3, 1, 4]).rate
    True
    """

    statistics: SufficientSums
    certificate: Certificate
    solution: MaximumLikelihood

    @property
    def parameters(self) -> dict[str, Any]:
        """The usual parameters by name; their limits where the likelihood has no maximum."""
        return self.solution.parameters

    @property
    def log_likelihood(self) -> float:
        """Σ w log p(y; η) over the rows: ∞ where the likelihood has no maximum."""
        if not self.solution.exists:
            return float("inf")
        mean = self.family._mean_log_likelihood(self.statistics, self.eta)
        return mean * float(self.statistics.weight.round())

    def update(self, y: Any, sample_weight: Any = None) -> Fitted:
        """The distribution fitted to these rows as well."""
        more = self.family.summarize(y, sample_weight)
        return self.family.fit_from(SufficientSums.merge([self.statistics, more]))

    def forget(self, y: Any, sample_weight: Any = None) -> Fitted:
        """The distribution fitted to all rows but these."""
        gone = self.family.summarize(y, sample_weight)
        return self.family.fit_from(self.statistics.subtract(gone))

    def __add__(self, other: Any) -> Fitted:
        if not isinstance(other, Fitted):
            return NotImplemented
        if self.family != other.family:
            raise ValueError(f"cannot merge fits of {self.family!r} and {other.family!r}")
        merged = SufficientSums.merge([self.statistics, other.statistics])
        return self.family.fit_from(merged)

    def __radd__(self, other: Any) -> Fitted:
        return self if isinstance(other, int) and other == 0 else NotImplemented
