"""The inverse of a covariance, within the directions in which there is any variance.

With D the deviations of the columns, the correlation R = D⁻¹ C D⁻¹ = V diag(λ) Vᵀ does not depend
on the columns' units.  Directions of λ above a threshold span what the rows vary in; within them

    B = D⁻¹ V diag(λ)^(−½),      Bᵀ C B = I,      C⁺ = B Bᵀ.

An error |ΔCᵢⱼ| ≤ unit gᵢ gⱼ changes R by at most e = unit Σ (gⱼ/Dⱼ)² in norm, and the inverse by
e / (λᵣ − λᵣ₊₁) of itself, to first order, where λᵣ is the last value that is kept.  This is the one
measure by which discriminants are certified: so much of its length the coefficients D wₖ of a class
may err, and of itself the squared distance of a row from a class.

**Fewer rows than columns.**  With Z the rows less the means of their classes, divided by the
deviations of the columns and times √(w/W), R = Zᵀ Z; and from Z = U diag(σ) Vᵀ, R = V diag(σ²) Vᵀ.

**A class whose own covariance is singular.**  Its likelihood has no maximum: the density grows
without bound as the missing variance goes to zero.  In the directions in which a class does not
vary it is therefore given the variance that all classes together have about their means, which is
what `LinearDiscriminantAnalysis` assumes in all directions; a class with a single row is thus a
Gaussian of the common shape.  Directions in which no class varies are left out of all of them.  The
certificate tells.  With P the pooled covariance, Bᵀ P B = I, and L Lᵀ = Bᵀ Σₖ B of full column
rank, N a basis of what L does not span:

    Bᵀ Σₖ' B = L Lᵀ + N Nᵀ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from suffice.generative.discriminant.covariance import Covariance, negligible
from suffice.generative.discriminant.whitening import completing
from suffice.numerics.cached import cached_property
from suffice.numerics.double_double import DOUBLE_DOUBLE_UNIT, UNIT, Array, DoubleDouble
from suffice.numerics.positive_definite import factorize
from suffice.numerics.symmetric_eigen import decompose, leading
from suffice.statistics.moments.by_class import ClassMoments

ENTRY = 16
"""Roundings behind an entry of the rows, with some to spare."""

MANY, LOW = 128, 4
"""Columns from which on, and their number for each direction from which on, a rank is low."""


@dataclass(frozen=True)
class PrincipalAxes:
    """The directions in which a covariance has variance.

    Attributes
    ----------
    deviations : float64 array of shape (columns,)
        D, with 1 for columns without variance.
    values : float64 array of shape (rank,)
        λ, in descending order.
    vectors : float64 array of shape (columns, rank)
        V, orthonormal.
    dropped : float64 array of shape (columns − rank,)
        The values that count as zero.
    correlation : float64 array or DoubleDouble of shape (columns, columns)
        None where the axes were found from rows: there the error holds roundings of the values.
    error : float
        e, a bound on the norm of the error of the correlation.
    """

    deviations: Array
    values: Array
    vectors: Array
    dropped: Array
    correlation: Any
    error: float

    @property
    def rank(self) -> int:
        return len(self.values)

    @cached_property
    def whitening(self) -> Array:
        """B, of shape (columns, rank)."""
        return self.vectors / np.sqrt(self.values) / self.deviations[:, None]

    @property
    def log_determinant(self) -> float:
        """The logarithm of the determinant of C, within the directions that are kept."""
        used = self.deviations if self.rank == len(self.deviations) else np.ones(1)
        return float(np.log(self.values).sum() + 2 * np.log(used).sum())

    @property
    def relative_error(self) -> float:
        """A bound on the relative error of the inverse and of B, to first order."""
        if not self.rank:
            return min(self.error, 1.0)  # of a column that varies, unless its error hides that
        gap = float(self.values[-1] - max(self.dropped.max(initial=0.0), 0.0))
        exact = self.correlation is None or isinstance(self.correlation, DoubleDouble)
        departure = self.error + (0.0 if exact else self._rounding)
        return departure / gap + self.least_error if gap > 2 * departure else 1.0

    @property
    def _rounding(self) -> float:
        return 4 * len(self.deviations) * UNIT

    @property
    def least_error(self) -> float:
        """What is left of that bound however exact the covariance is.

        B has vectors that are rounded, and divides by the root of λ.  Where directions of a
        covariance are left out, its inverse is made of these vectors, and divides by λ.
        """
        if not self.rank:
            return self._rounding
        least = float(self.values[-1])
        singular = len(self.dropped) and self.correlation is not None
        return self._rounding / (min(least, np.sqrt(least)) if singular else np.sqrt(least))

    def solve(self, B: DoubleDouble) -> DoubleDouble:
        """C⁺ B, for B of shape (columns, k): refined where C has digits to spare."""
        scale = DoubleDouble.of(self.deviations[:, None])
        scaled = B / scale
        if self.rank and self.rank == len(self.deviations):
            factor = factorize(self.correlation, np.zeros(self.rank))
            return factor.solve(scaled) / scale
        inner = (self.vectors / self.values) @ (self.vectors.T @ scaled.round())
        return DoubleDouble.of(inner) / scale


def principal_axes(
    found: Covariance, threshold: float = 0.0, rank: int | None = None
) -> PrincipalAxes:
    """The directions whose variance, in columns divided by their deviations, is above a threshold.

    Parameters
    ----------
    found : Covariance
    threshold : float
        What cannot be told from zero is below it in any case.
    rank : int, optional
        What the rank can be at most: where it is low, fewer axes have to be found.
    """
    variances = found.variances
    there = variances > 0
    deviations = np.where(there, np.sqrt(variances), 1.0)
    matrix: Any = found.matrix
    if isinstance(matrix, DoubleDouble):
        scale = DoubleDouble.of(deviations)
        matrix = matrix / scale[:, None] / scale
        matrix = DoubleDouble(*(np.where(_pairs(there), w, 0.0) for w in (matrix.hi, matrix.lo)))
    else:
        matrix = np.where(_pairs(there), matrix / deviations[:, None] / deviations, 0.0)
    error = found.unit * float(np.square(found.g[there] / deviations[there]).sum())
    divisor = np.where(there, deviations, np.inf)
    error += float(np.linalg.norm(found.of_amount / divisor[:, None] / divisor))
    values, vectors, remainder = _decomposed(matrix, len(deviations) if rank is None else rank)
    error += remainder
    unit = DOUBLE_DOUBLE_UNIT if isinstance(matrix, DoubleDouble) else UNIT
    least = max(threshold, 2 * error, 4 * len(deviations) * unit)
    kept = int((values > least).sum())
    if found.is_full and kept < len(deviations):
        error = np.inf  # variance that was added is lost among roundings
    return PrincipalAxes(
        deviations=deviations,
        values=values[:kept],
        vectors=signed(np.ascontiguousarray(vectors[:, :kept])),
        dropped=values[kept:] if len(values) == len(deviations) else np.append(values[kept:], 0.0),
        correlation=matrix,
        error=error,
    )


def _decomposed(matrix: Any, rank: int) -> tuple[Array, Array, float]:
    """Values, vectors as columns, and the norm of what they leave of the matrix."""
    n = len(matrix.hi) if isinstance(matrix, DoubleDouble) else len(matrix)
    if n >= MANY and LOW * rank <= n and not isinstance(matrix, DoubleDouble):
        found = leading(matrix, rank)
        if found is not None:
            return found
    system = decompose(matrix)
    # Of float64, four roundings for each column are counted where the error is used.
    left = system.departure if isinstance(matrix, DoubleDouble) else 0.0
    return system.values.round(), system.vectors.T, left


def _pairs(there: Any) -> Any:
    return there[:, None] & there


def signed(vectors: Array) -> Array:
    """Columns with their largest entry positive; of several as large, the first."""
    if not vectors.size:
        return vectors
    sizes = np.abs(vectors)
    place = np.argmax(sizes >= sizes.max(axis=0) * (1 - 1e-9), axis=0)
    signs = np.sign(vectors[place, np.arange(vectors.shape[1])])
    return vectors * np.where(signs == 0, 1.0, signs)


# --- of fewer rows than columns -------------------------------------------------------------


class ColumnVariances(NamedTuple):
    """Variances of columns, as far as they can be told from zero.

    Attributes
    ----------
    variances : float64 array of shape (columns,)
        0 where rounding may be all that there is.
    noise : float64 array of shape (columns,)
        Bounds on their errors.
    hidden : bool
        Whether there may be a deviation after all in a column where there seems to be none.
    """

    variances: Array
    noise: Array
    hidden: bool

    @property
    def error(self) -> float:
        """A bound on the relative error of the variances that are there."""
        there = self.variances > 0
        return float((self.noise[there] / self.variances[there]).max(initial=0.0))


def column_variances(squares: Array, noise: Array, weight: float, least: Array) -> ColumnVariances:
    """From sums of squares about means, bounds on their errors, and deviations that are none."""
    there = squares > noise
    hidden = ~there & (np.sqrt(noise / weight) > least)
    return ColumnVariances(
        np.where(there, squares / weight, 0.0), noise / weight, bool(hidden.any())
    )


def variances_of_classes(classes: ClassMoments) -> tuple[list[ColumnVariances], ColumnVariances]:
    """Of the columns in each class, and in all classes about their means."""
    columns, weight = classes.columns, classes.weight.round()
    squares, noise = columns.rounded_scatter, 4 * columns.error_unit * columns.magnitude
    least = negligible(columns.mean.hi)
    own = [
        column_variances(*each, least) for each in zip(squares, noise, weight.tolist(), strict=True)
    ]
    total = float(classes.weight.sum().hi)
    return own, column_variances(squares.sum(axis=0), noise.sum(axis=0), total, least)


def axes_of(rows: Array, spread: ColumnVariances, tol: float) -> PrincipalAxes:
    """The axes of the covariance Aᵀ A of rows A.

    Parameters
    ----------
    rows : array of shape (rows, columns)
        Less the means, times the roots of their shares of the weight.
    spread : ColumnVariances
        Of the columns.
    tol : float
        Deviation up to which a direction counts as one without variance.
    """
    there = spread.variances > 0
    deviations = np.where(there, np.sqrt(spread.variances), 1.0)
    Z = np.where(there, rows / deviations, 0.0)
    lengths, V = np.linalg.svd(Z, full_matrices=False)[1:]
    V[:, ~there] = 0.0
    rank = int((lengths > max(tol, 4 * len(Z) * UNIT * lengths.max(initial=0.0))).sum())
    largest, last = (float(lengths[i]) if rank else 0.0 for i in (0, rank - 1))
    # Rounding moves a length by a few units of the largest for each row, and its square by
    # twice the length times that; an error of the deviations changes it in proportion.
    error = 2 * (len(Z) + ENTRY) * UNIT * largest * last + spread.error * last**2
    return PrincipalAxes(
        deviations=deviations,
        values=np.square(lengths[:rank]),
        vectors=signed(np.ascontiguousarray(V[:rank].T)),
        dropped=np.append(np.square(lengths[rank:]), 0.0),
        correlation=None,
        error=np.inf if spread.hidden else error,
    )


# --- of classes --------------------------------------------------------------------------


class Shape(NamedTuple):
    """The shape of one class.

    Attributes
    ----------
    covariance : array of shape (columns, columns)
    whitening : array of shape (columns, rank)
        M with Σ⁻¹ = M Mᵀ.
    log_determinant : float
    """

    covariance: Array
    whitening: Array
    log_determinant: float


def shape_of(
    found: Covariance, own: PrincipalAxes, every: Covariance, common: PrincipalAxes
) -> Shape:
    """The shape of a class, completed by that of all classes where it does not vary.

    Parameters
    ----------
    found : Covariance
        Of the class.
    own : PrincipalAxes
        Its axes.
    every, common : Covariance, PrincipalAxes
        Of all classes together.
    """
    d, r = len(own.deviations), common.rank
    if own.rank == r == d:
        return Shape(found.rounded, own.whitening, own.log_determinant)
    spread = own.vectors * np.sqrt(own.values) * own.deviations[:, None]
    L = common.whitening.T @ spread
    sizes = np.linalg.norm(np.abs(common.whitening.T) @ np.abs(spread), axis=0)
    stretch = completing(L, sizes)
    missing = stretch.without(every.rounded @ common.whitening)
    covariance = found.rounded + missing @ missing.T
    logs = common.log_determinant - 2 * stretch.log_determinant
    return Shape(covariance, common.whitening @ stretch, logs)
