"""What every exponential family is.

    p(y; η) = b(y) exp(η·T(y) − a(η))

T is the sufficient statistic, η the natural parameter, b the base measure, and a the log-partition
that makes the density integrate to 1.  Its derivatives are the moments **of T**:

    E[T(y)] = ∇a(η),      Cov[T(y)] = ∇²a(η).

The mean log-likelihood of rows with mean statistic t is η·t − a(η) + const: concave, with gradient
t − ∇a(η).  Maximum likelihood therefore sets the model's mean of T equal to the sample's, and needs
no more of the rows than `SufficientSums`.

Shapes: η, T and the mean have p numbers along their last axis, the covariance p × p along its last
two; all other axes broadcast.

Reference: Wainwright and Jordan, "Graphical models, exponential families, and variational
inference" (2008), chapter 3.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from suffice.families.checks import (
    RowLabel,
    checked_eta,
    checked_observations,
    digits_of,
    numbers,
    row_of_array,
)
from suffice.families.maximum_likelihood import MaximumLikelihood, certify
from suffice.families.rows import sums_of
from suffice.fitting.estimator import callers_level
from suffice.fitting.files.registry import register
from suffice.numerics.double_double import DOUBLE_DOUBLE_UNIT, Array, DoubleDouble
from suffice.statistics.exponential_family import SufficientSums
from suffice.statistics.moments.full import NOTHING

if TYPE_CHECKING:
    from suffice.families.distribution import Distribution, Fitted

register(DoubleDouble)
register(SufficientSums)


class Family(ABC):
    """A family of distributions; it holds sizes and constants, and no parameter.

    A family says what the formula consists of: `natural` and `parameters`, `sufficient_statistic`,
    `log_base_measure`, `log_partition`, `mean`, `covariance`, `log_density`, `sample` and the
    maximum of the likelihood.  `at` and `fit` give a `Distribution`.
    """

    support: ClassVar[str]
    """What is modelled, in words for a message."""

    observed_axes: ClassVar[int] = 0
    """Axes of one observation: 0 for a number or label, 1 for a vector."""

    statistic_error: ClassVar[float] = DOUBLE_DOUBLE_UNIT
    """Relative error of T(y) as it is summed."""

    @property
    @abstractmethod
    def dimension(self) -> int:
        """How many numbers T(y) and η have: p."""

    # --- the formula ----------------------------------------------------------------------

    @abstractmethod
    def natural(self, *args: Any, **kwargs: Any) -> Array:
        """η from the usual parameters, of shape (…, p)."""

    @abstractmethod
    def parameters(self, eta: Any) -> dict[str, Any]:
        """The usual parameters from η, by name."""

    @abstractmethod
    def sufficient_statistic(self, y: Any) -> Array:
        """T(y), of shape (rows, p)."""

    def log_base_measure(self, y: Any) -> Array:
        """log b(y), of shape (rows,); 0 unless a family says otherwise."""
        values = self._observations(y)
        return np.zeros(values.shape[: values.ndim - self.observed_axes])

    @abstractmethod
    def log_partition(self, eta: Any) -> Array:
        """a(η), of shape (…)."""

    @abstractmethod
    def mean(self, eta: Any) -> Array:
        """E[T(y)] = ∇a(η), of shape (…, p)."""

    @abstractmethod
    def covariance(self, eta: Any) -> Array:
        """Cov[T(y)] = ∇²a(η), of shape (…, p, p)."""

    def log_density(self, y: Any, eta: Any) -> Array:
        """log p(y; η), of the shape to which the rows of `y` and of `eta` broadcast.

        Parameters
        ----------
        y : array of shape (rows,), or (rows, columns) for a family of vectors
            Values outside the support are refused.
        eta : array of shape (p,), or (rows, p) for a parameter of each row's own
        """
        eta = self._etas(eta)
        inner = (self.sufficient_statistic(y) * eta).sum(axis=-1)
        return np.asarray(self.log_base_measure(y) + inner - self.log_partition(eta))

    @abstractmethod
    def sample(self, eta: Any, size: Any = None, random_state: Any = None) -> NDArray[Any]:
        """Random observations.

        Parameters
        ----------
        eta : array of shape (…, p)
        size : int or tuple of int, optional
            Shape of the sample; by default one observation for each η.
        random_state : int or numpy.random.Generator, optional
            The seed; by default every call gives another sample.
        """

    # --- distributions --------------------------------------------------------------------

    def at(self, *args: Any, **kwargs: Any) -> Distribution:
        """The distribution with these parameters, which are those of `natural`."""
        from suffice.families.distribution import Distribution

        return Distribution(self, self.natural(*args, **kwargs))

    def fit(self, y: Any, sample_weight: Any = None) -> Fitted:
        """The distribution under which the observations are most likely.

        Parameters
        ----------
        y : array, series, data frame or Source
            Observations, one a row; or a source such as `suffice.scan` makes, whose target is
            what is modelled.
        sample_weight : array of shape (rows,), optional
            Weights: w counts as w repetitions.  None if `y` is a source, which brings its own.

        Returns
        -------
        Fitted
            A distribution with its statistic and its certificate.
        """
        found = self._solved(self.summarize(y, sample_weight))
        _warn_unless_proved(found)
        return found

    def fit_from(self, statistics: SufficientSums) -> Fitted:
        """The same from sums that were made by `summarize`, and perhaps merged."""
        found = self._solved(statistics)
        _warn_unless_proved(found)
        return found

    def summarize(self, y: Any, sample_weight: Any = None) -> SufficientSums:
        """Everything that the observations say about η; takes what `fit` takes."""
        return sums_of(self, y, sample_weight)

    def _solved(self, sums: SufficientSums) -> Fitted:
        from suffice.families.distribution import Fitted

        if not sums.count:
            raise ValueError(NOTHING)
        if sums.total.shape != (self.dimension,):
            raise ValueError(
                f"these are sums of {sums.total.shape[0]} numbers a row; {self!r} has "
                f"{self.dimension}"
            )
        with np.errstate(over="ignore"):
            found = self._maximum(sums)
        if found.exists and not self._in_domain(found.eta):
            raise ValueError(
                f"the most likely parameters, {found.parameters}, are beyond the range of float64: "
                "rescale the values"
            )
        return Fitted(self, found.eta, sums, certify(self, sums, found), found)

    # --- what a family may refine ---------------------------------------------------------

    @abstractmethod
    def _maximum(self, sums: SufficientSums) -> MaximumLikelihood:
        """Where the likelihood of the rows behind the sums is largest."""

    def _summands(self, values: Array) -> tuple[Array | DoubleDouble, Array | DoubleDouble]:
        """T(y) and log b(y) of checked observations as they are summed.

        In double-double where that saves digits.
        """
        return self.sufficient_statistic(values), self.log_base_measure(values)

    def _mean_log_likelihood(self, sums: SufficientSums, eta: Array) -> float:
        """Mean of log p(y; η) over the rows, each as often as its weight says."""
        mean = sums.mean
        used = mean.hi != 0  # 0 · (−∞) is 0: what never occurs costs nothing
        inner = (mean[used] * eta[used]).sum()
        rest = sums.log_base / sums.weight - self.log_partition(eta)
        return float((inner + rest).round())

    def _digits(self, sums: SufficientSums, eta: Array) -> float:
        """Decimal digits of the usual parameters that the sums determine."""
        mean, error = np.abs(sums.mean.hi), sums.mean_error(self.statistic_error)
        relative = error[mean > 0] / mean[mean > 0]
        return digits_of(float(relative.max(initial=0.0)))

    # --- checks ---------------------------------------------------------------------------

    @abstractmethod
    def _in_support(self, values: Array) -> NDArray[np.bool_]:
        """Which observations are possible."""

    def _in_domain(self, eta: Array) -> NDArray[np.bool_]:
        """Which natural parameters exist, of shape (…)."""
        return np.asarray(np.isfinite(eta).all(axis=-1))

    domain: ClassVar[str] = "finite numbers"
    """Which natural parameters exist, in words for a message."""

    def _etas(self, eta: Any) -> Array:
        """Natural parameters as a float64 array of shape (…, p), all of them in the domain."""
        return checked_eta(self, eta)

    def _observations(self, y: Any, row_label: RowLabel = row_of_array) -> Array:
        """Observations as float64, all of them in the support."""
        return checked_observations(self, y, row_label)

    def _numbers(self, y: Any) -> Array:
        """Observations as float64, possible or not."""
        return numbers(self, y)


def _warn_unless_proved(found: Fitted) -> None:
    certificate = found.certificate
    if not certificate.holds:
        message = f"{found.family!r}: not proved: {certificate.claim}. "
        message += "; ".join(certificate.notes)
        warnings.warn(message, ConvergenceWarning, stacklevel=callers_level())
