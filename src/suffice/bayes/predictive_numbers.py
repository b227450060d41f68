"""What measurement comes next: Student's t, of one column or several; Gaussian for df = ∞.

p(x) ∝ (1 + δ²/ν)^−(ν + d)/2,      δ² = (x − m)ᵀ Σ⁻¹ (x − m)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from suffice.bayes.matrices import (
    cholesky,
    factored,
    log_det,
    positive_definite,
    solved,
)
from suffice.bayes.rises import log_gamma_rise
from suffice.bayes.values import ReadOnly, numbers, plain
from suffice.families.gaussian import LOG_2PI
from suffice.families.sampling import generator, number_of_draws
from suffice.numerics.double_double import Array, DoubleDouble, two_sum

WELL_CONDITIONED = 1e-3
"""Least eigenvalue, in units in which the diagonal is 1, that leaves float64 its digits."""


@dataclass(frozen=True, eq=False)
class StudentT(ReadOnly):
    """A number whose variance is known only roughly.

    Attributes
    ----------
    df : array of shape (…)
        Degrees of freedom; ∞ makes it Gaussian.
    centre : array of shape (…)
    scale : array of shape (…)
        The square of the unit in which distances count; the variance of a Gaussian.
    centre_low : array of shape (…)
        What rounding took off the centre.
    log_scale : array of shape (…), optional
        The logarithm of the scale, which may be beyond float64's range itself.
    """

    df: Array
    centre: Array
    scale: Array
    centre_low: Any = 0.0
    log_scale: Any = None

    def log_density(self, y: Any) -> Any:
        """log p(y), of the shape to which `y` and the pairs broadcast."""
        away = np.abs((numbers("y", y) - self.centre) - self.centre_low)
        usual = (self.scale > 0) & (self.scale < np.inf)
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            logarithm = np.log(self.scale)
            if self.log_scale is not None:
                logarithm = np.where(usual, logarithm, self.log_scale)
            root = np.where(usual, np.sqrt(self.scale), np.exp(0.5 * logarithm))
            distance = away / root
        return plain(_log_t(self.df, distance, 1, logarithm))

    def mean(self) -> Any:
        """The centre; NaN for df ≤ 1, which has no mean."""
        return plain(np.where(self.df > 1, self.centre, np.nan))

    def variance(self) -> Any:
        """The variance: ∞ for df ≤ 2, and NaN for df ≤ 1."""
        return plain(_inflation(self.df) * self.scale)

    def sample(self, n: int, random_state: Any = None) -> Array:
        """Random numbers, of shape (n, …)."""
        rng = generator(random_state)
        pairs = np.broadcast_shapes(self.df.shape, self.centre.shape, self.scale.shape)
        shape = (number_of_draws(n), *pairs)
        stretch = _stretch(self.df, shape, rng)
        return np.asarray(self.centre + np.sqrt(self.scale) * stretch * rng.standard_normal(shape))


@dataclass(frozen=True, eq=False)
class MultivariateT(ReadOnly):
    """A row of numbers whose covariance is known only roughly.

    Attributes
    ----------
    df : array of shape (…)
        Degrees of freedom.
    centre : array of shape (…, columns)
    scale : array of shape (…, columns, columns)
    centre_low : array of shape (…, columns)
        What rounding took off the centre.
    matrix : DoubleDouble of shape (…, columns, columns), optional
    log_factor : array of shape (…)
        The scale as a matrix and a factor: it may be beyond float64's digits, or its range.
    """

    df: Array
    centre: Array
    scale: Array
    centre_low: Any = 0.0
    matrix: DoubleDouble | None = None
    log_factor: Any = 0.0

    def log_density(self, y: Any) -> Any:
        """log p(y) of rows `y` of shape (…, columns); leading axes broadcast."""
        d = self.centre.shape[-1]
        rows = numbers("y", y)
        if rows.ndim == 0 or rows.shape[-1] != d:
            raise ValueError(f"y has shape {rows.shape}; accepted is (…, {d})")
        matrix = self._matrix
        if positive_definite(matrix.hi, WELL_CONDITIONED).all():
            root = cholesky(matrix.hi)
            side = (rows - self.centre) - self.centre_low
            away, volume = solved(root, side[..., None]), log_det(root)
        else:
            factors = factored(matrix)
            exact = DoubleDouble(*two_sum(rows, -self.centre)) - self.centre_low
            away, volume = factors.halved(exact[..., None]), factors.log_det
        with np.errstate(over="ignore", under="ignore"):
            distance = np.linalg.norm(away[..., 0], axis=-1) * np.exp(-0.5 * self.log_factor)
        return plain(_log_t(self.df, distance, d, volume + d * self.log_factor))

    @property
    def _matrix(self) -> DoubleDouble:
        return DoubleDouble.of(self.scale) if self.matrix is None else self.matrix

    def mean(self) -> Array:
        """The centre; NaN for df ≤ 1, which has no mean."""
        return np.where(self.df[..., None] > 1, self.centre, np.nan)

    def variance(self) -> Array:
        """The covariance matrix; NaN for df ≤ 1, and infinite on its diagonal for df ≤ 2."""
        with np.errstate(invalid="ignore"):
            return np.asarray(_inflation(self.df)[..., None, None] * self.scale)

    def sample(self, n: int, random_state: Any = None) -> Array:
        """Random rows, of shape (n, …, columns)."""
        rng = generator(random_state)
        shape = (number_of_draws(n), *self.centre.shape)
        normal = factored(self._matrix).root @ rng.standard_normal(shape)[..., None]
        stretch = _stretch(self.df, shape[:-1], rng) * np.exp(0.5 * self.log_factor)
        return np.asarray(self.centre + stretch[..., None] * normal[..., 0])


def student_quantile(df: Array, q: Array) -> Array:
    """Quantiles of Student's t; −∞ for q = 0, of which SciPy makes +∞."""
    return np.where(q > 0, stdtrit(df, q), -np.inf)


def _log_t(df: Array, distance: Array, d: int, volume: Any) -> Array:
    """The log density of d columns at a distance, `volume` the logarithm of |Σ|."""
    finite = np.isfinite(df)
    nu = np.where(finite, df, 1.0)
    ratio = distance / np.sqrt(nu)
    with np.errstate(over="ignore", divide="ignore"):
        far = 2.0 * np.log(ratio)
        growth = np.where(ratio > 1e8, far, np.log1p(np.square(np.minimum(ratio, 1e8))))
        gaussian = -0.5 * np.square(distance)
    student = log_gamma_rise(0.5 * nu, np.asarray(0.5 * d)) - 0.5 * (nu + d) * growth
    return np.asarray(np.where(finite, student, gaussian) - 0.5 * (d * LOG_2PI + volume))


def _inflation(df: Array) -> Array:
    """Variance over scale: ν / (ν − 2)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        usual = np.where(np.isfinite(df), df / (df - 2.0), 1.0)
    return np.where(df > 2, usual, np.where(df > 1, np.inf, np.nan))


def _stretch(df: Array, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """√(ν / χ²): what a Gaussian is multiplied with."""
    finite = np.where(np.isfinite(df), df, 1.0)
    with np.errstate(over="ignore", divide="ignore"):
        drawn = np.sqrt(finite / rng.chisquare(finite, shape))
    return np.where(np.isfinite(df), drawn, 1.0)
