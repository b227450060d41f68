"""Symmetric matrices along the last two axes: their factors, and what they must be."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from suffice.numerics.double_double import Array


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


def check_semi_definite(name: str, scatter: Array) -> None:
    """Raise ValueError unless matrices are symmetric and, up to rounding, semi-definite."""
    size = np.abs(scatter).max(axis=(-2, -1), initial=0.0)
    odd = np.abs(scatter - np.swapaxes(scatter, -1, -2)).max(axis=(-2, -1), initial=0.0)
    if (odd > 1e-12 * size).any():
        raise ValueError(f"{name} must be symmetric, and this matrix is not")
    least = np.linalg.eigvalsh(scatter).min(axis=-1)
    if (least < -1e-12 * size * scatter.shape[-1]).any():
        raise ValueError(
            f"{name} must be positive semi-definite; it has the eigenvalue {least.min():.3g}"
        )


def positive_definite(scatter: Array) -> NDArray[np.bool_]:
    """Which matrices have a Cholesky factor, in units in which their diagonal is 1."""
    diagonal = np.diagonal(scatter, axis1=-2, axis2=-1)
    root = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    values = np.linalg.eigvalsh(scatter / root[..., :, None] / root[..., None, :])
    return np.asarray(values.min(axis=-1) > 4 * scatter.shape[-1] * 2.0**-53)


def log_det(root: Array) -> Array:
    """log |L Lᵀ|."""
    return np.asarray(2.0 * np.log(np.diagonal(root, axis1=-2, axis2=-1)).sum(axis=-1))
