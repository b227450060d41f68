"""The inverse of a covariance, within the directions in which there is any variance.

With D the deviations of the columns, the correlation R = D⁻¹ C D⁻¹ = V diag(λ) Vᵀ does not depend
on the columns' units.  Directions of λ above a threshold span what the rows vary in; within them

    B = D⁻¹ V diag(λ)^(−½),      Bᵀ C B = I,      C⁺ = B Bᵀ.

An error |ΔCᵢⱼ| ≤ unit gᵢ gⱼ changes R by at most e = unit Σ (gⱼ/Dⱼ)² in norm, and the inverse by
e / (λᵣ − λᵣ₊₁) of itself, to first order, where λᵣ is the last value that is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.generative.discriminant.shrinkage import Covariance
from suffice.numerics.cached import cached_property
from suffice.numerics.double_double import DOUBLE_DOUBLE_UNIT, UNIT, Array, DoubleDouble
from suffice.numerics.positive_definite import factorize
from suffice.numerics.symmetric_eigen import decompose, leading

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
        """A bound on the relative error of the inverse and of B, to first order.

        B has vectors that are rounded, and divides by the root of λ.
        """
        if not self.rank:
            return min(self.error, 1.0)  # of a column that varies, unless its error hides that
        rounding = 4 * len(self.deviations) * UNIT
        gap = float(self.values[-1] - max(self.dropped.max(initial=0.0), 0.0))
        exact = isinstance(self.correlation, DoubleDouble) and not len(self.dropped)
        exact |= self.correlation is None
        departure = self.error + (0.0 if exact else rounding)
        return departure / gap + rounding / np.sqrt(gap) if gap > 2 * departure else 1.0

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
    return system.values.round(), system.vectors.T, 0.0


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
