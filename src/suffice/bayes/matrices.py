"""Symmetric matrices along the last two axes: their factors, and what they must be.

In double-double, A = U diag(p) Uᵀ with ones on the diagonal of the lower triangular U: the pivots p
of a matrix that is added to only grow, and their logarithms add up to that of its determinant.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from suffice.numerics.double_double import Array, DoubleDouble


class Factors(NamedTuple):
    """U and p of U diag(p) Uᵀ.

    Attributes
    ----------
    unit : DoubleDouble of shape (…, n, n)
    pivots : DoubleDouble of shape (…, n)
        Positive for positive definite matrices.
    """

    unit: DoubleDouble
    pivots: DoubleDouble

    @property
    def log_det(self) -> Array:
        """log |A|."""
        return np.asarray(np.log(self.pivots.hi).sum(axis=-1))

    @property
    def root(self) -> Array:
        """The Cholesky factor, rounded."""
        return np.asarray(self.unit.round() * np.sqrt(self.pivots.round())[..., None, :])

    def halved(self, side: DoubleDouble) -> Array:
        """L⁻¹ B of the Cholesky factor L, with B of shape (…, n, columns): rounded at the end."""
        lead = np.broadcast_shapes(self.unit.shape[:-2], side.shape[:-2])
        shape = (*lead, *side.shape[-2:])
        z = DoubleDouble(np.broadcast_to(side.hi, shape), np.broadcast_to(side.lo, shape))
        done = []
        for j in range(shape[-2]):
            first, z = z[..., :1, :], z[..., 1:, :]
            done.append(first.round())
            z = z - self.unit[..., j + 1 :, j, None] * first
        return np.concatenate(done, axis=-2) / np.sqrt(self.pivots.round())[..., :, None]


def factored(matrix: Array | DoubleDouble) -> Factors:
    """The factors of symmetric matrices; NaN behind a pivot of 0."""
    rest = DoubleDouble.of(matrix)
    # In units, powers of two, in which the diagonal is near 1.
    exponent = np.frexp(np.diagonal(rest.hi, axis1=-2, axis2=-1))[1] // 2
    unit = np.ldexp(1.0, -exponent)
    rest = rest.scaled(unit[..., :, None]).scaled(unit[..., None, :])
    lower = DoubleDouble(np.zeros(rest.shape), np.zeros(rest.shape))
    pivots = DoubleDouble(np.zeros(unit.shape), np.zeros(unit.shape))
    with np.errstate(divide="ignore", invalid="ignore"):
        for j in range(unit.shape[-1]):
            pivot, column = rest[..., 0, 0], rest[..., 1:, 0]
            below = column / pivot[..., None]
            pivots.hi[..., j], pivots.lo[..., j] = pivot.hi, pivot.lo
            lower.hi[..., j, j] = 1.0
            lower.hi[..., j + 1 :, j], lower.lo[..., j + 1 :, j] = below.hi, below.lo
            rest = rest[..., 1:, 1:] - below[..., :, None] * column[..., None, :]
    back = np.ldexp(1.0, exponent)
    lower = lower.scaled(back[..., :, None]).scaled(unit[..., None, :])
    return Factors(lower, pivots.scaled(back).scaled(back))


def cholesky(matrix: Array) -> Array:
    """L of L Lᵀ = A, along the last two axes."""
    return np.asarray(np.linalg.cholesky(matrix), dtype=np.float64)


def solved(root: Array, side: Array) -> Array:
    """L⁻¹ B for lower triangular matrices along the last two axes."""
    if root.ndim == 2 and side.ndim == 2:
        return np.asarray(solve_triangular(root, side, lower=True, check_finite=False))
    lead = np.broadcast_shapes(root.shape[:-2], side.shape[:-2])
    if root.ndim == 2:
        # One matrix, many sides: as columns of one.
        flat = np.moveaxis(side, -2, 0).reshape(root.shape[0], -1)
        found = solve_triangular(root, flat, lower=True, check_finite=False)
        return np.moveaxis(found.reshape(root.shape[0], *lead, side.shape[-1]), 0, -2)
    return np.asarray(np.linalg.solve(root, np.broadcast_to(side, (*lead, *side.shape[-2:]))))


def symmetric(matrix: Array) -> NDArray[np.bool_]:
    """Which matrices are symmetric up to rounding, relative to their largest entry."""
    size = np.abs(matrix).max(axis=(-2, -1), initial=0.0)
    odd = np.abs(matrix - np.swapaxes(matrix, -1, -2)).max(axis=(-2, -1), initial=0.0)
    return np.asarray(odd <= 1e-12 * size)


def check_semi_definite(name: str, scatter: Array) -> None:
    """Raise ValueError unless matrices are symmetric and, up to rounding, semi-definite."""
    if not symmetric(scatter).all():
        raise ValueError(f"{name} must be symmetric, and this matrix is not")
    size = np.abs(scatter).max(axis=(-2, -1), initial=0.0)
    least = np.linalg.eigvalsh(scatter).min(axis=-1)
    if (least < -1e-12 * size * scatter.shape[-1]).any():
        raise ValueError(
            f"{name} must be positive semi-definite; it has the eigenvalue {least.min():.3g}"
        )


def positive_definite(scatter: Array, least: float | None = None) -> NDArray[np.bool_]:
    """Which matrices have eigenvalues above `least`, in units in which their diagonal is 1.

    By default above what rounding may make of 0.
    """
    least = 4 * scatter.shape[-1] * 2.0**-53 if least is None else least
    diagonal = np.diagonal(scatter, axis1=-2, axis2=-1)
    root = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    values = np.linalg.eigvalsh(scatter / root[..., :, None] / root[..., None, :])
    return np.asarray(values.min(axis=-1) > least)


def log_det(root: Array) -> Array:
    """log |L Lᵀ|."""
    return np.asarray(2.0 * np.log(np.diagonal(root, axis1=-2, axis2=-1)).sum(axis=-1))
