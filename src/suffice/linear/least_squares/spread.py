"""How noise in the targets spreads to the coefficients: the root of (Sxx + diag λ)⁻¹."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from suffice.linear.least_squares.normal_equations import (
    NormalEquations,
    Penalty,
    ScaledEquations,
)
from suffice.numerics.double_double import Array, DoubleDouble


@dataclass(frozen=True)
class CoefficientSpread:
    """The covariance of the coefficients for a noise variance of 1: C = R Rᵀ.

    Attributes
    ----------
    root : array of shape (columns, rank)
        R, in the user's units.
    null_space : array of shape (columns, columns − rank)
        Orthonormal directions along which the data say nothing about the coefficients.
    intercept : float
        The variance of the intercept, 1/W + x̄ᵀ C x̄ (0 without an intercept).
    centre : array of shape (rank,)
        Rᵀ x̄ (0 without an intercept).
    """

    root: Array
    null_space: Array
    intercept: float
    centre: Array

    def leverages(self, rows: Any, x_mean: Array) -> tuple[Array, NDArray[np.bool_]]:
        """‖Rᵀ(x − x̄)‖² of each row; and whether it has a part along which the data say nothing."""
        found = np.square(rows @ self.root - x_mean @ self.root).sum(axis=1)
        away = np.abs(rows @ self.null_space - x_mean @ self.null_space).sum(axis=1)
        squares = (
            rows.multiply(rows) if sparse.issparse(rows) else np.square(rows, dtype=np.float64)
        )
        sizes = np.sqrt(np.asarray(squares.sum(axis=1)).ravel())
        return found, away > 1e-9 * (sizes + np.linalg.norm(x_mean))


def spread(
    equations: NormalEquations, fit_intercept: bool, penalty: Penalty | None = None
) -> CoefficientSpread:
    """How noise in the targets spreads to the coefficients: the inverse of A + diag λ."""
    d = equations.x_mean.shape[0]
    scaled = ScaledEquations(equations, np.zeros(d) if penalty is None else penalty)
    factor = scaled.factor()
    unscale = 1 / scaled.scale[:, None]
    root = np.zeros((d, factor.rank))
    root[scaled.active] = (
        factor.half_solve(DoubleDouble.of(np.eye(len(scaled.active)))).round().T * unscale
    )
    null_space = np.zeros((d, d - factor.rank))
    constant_columns = np.setdiff1d(np.arange(d), scaled.active)
    null_space[constant_columns, np.arange(len(constant_columns))] = 1.0
    if factor.rank < len(scaled.active):
        basis, _ = np.linalg.qr(factor.null_space() * unscale)
        null_space[scaled.active, len(constant_columns) :] = basis
        root[scaled.active] -= basis @ (basis.T @ root[scaled.active])
        centre = root.T @ equations.x_mean.round()
    else:
        x_mean = equations.x_mean[scaled.active][:, None].scaled(unscale)
        centre = factor.half_solve(x_mean).round()[:, 0]
    constant = 1 / equations.weight + float(np.square(centre).sum())
    return CoefficientSpread(root, null_space, constant if fit_intercept else 0.0, centre)
