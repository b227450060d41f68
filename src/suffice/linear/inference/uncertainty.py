"""The covariance of estimates, as a root: V = R Rᵀ.

A root keeps the digits that a product would lose: contrasts are taken of R, and what columns
of very different units, or nearly dependent ones, do to V they do not do to R.  Directions along
which the rows say nothing are kept apart; parameters that move along them are open.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from suffice.numerics.double_double import UNIT, Array

NOISE = 1e-9
"""A sum is zero if no more than this share of its terms is left."""


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """The covariance of estimates, V = R Rᵀ, for each equation.

    Attributes
    ----------
    root : array of shape (equations, parameters, directions)
        R.
    null_space : array of shape (parameters, open directions)
    df : float
        Degrees of freedom of the t and F distributions; infinite for the normal and χ².
    kind : str
        One of `KINDS`.
    note : str
        How it came about, for people.
    reference : array of shape (parameters, directions), optional
        All directions in which the estimates can move, where V may have fewer.
    """

    root: Array
    null_space: Array
    df: float
    kind: str = "nonrobust"
    note: str = ""
    reference: Array | None = None

    @property
    def is_open(self) -> NDArray[np.bool_]:
        """Which parameters the rows leave open."""
        return np.asarray(self.null_space.any(axis=1))

    def variances(self) -> Array:
        """Of shape (equations, parameters); NaN for what is open."""
        found = np.square(self.root).sum(axis=2)
        found[:, self.is_open] = np.nan
        return found

    def covariance(self) -> Array:
        """Of shape (equations, parameters, parameters); NaN for what is open."""
        found = self.root @ self.root.transpose(0, 2, 1)
        found[:, self.is_open] = np.nan
        found[:, :, self.is_open] = np.nan
        return found


def root_of(meat: Array) -> Array:
    """R with R Rᵀ = M, for a positive semi-definite M."""
    values, vectors = linalg.eigh(meat)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def inverse_root(information: Array) -> tuple[Array, Array]:
    """T with T Tᵀ = H⁻¹ on the directions that H determines, and a basis of the others.

    Parameters
    ----------
    information : array of shape (parameters, parameters)
        H, symmetric, positive semi-definite.

    Returns
    -------
    root : array of shape (parameters, rank)
    null_space : array of shape (parameters, parameters − rank)
    """
    diagonal = np.diagonal(information)
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    values, vectors = linalg.eigh(information / scale / scale[:, None])
    kept = values > 64 * len(values) * UNIT * max(float(values[-1]), 1.0)
    null_space = without_noise(vectors[:, ~kept], 1.0)
    unscale = 1 / scale[:, None]
    return vectors[:, kept] / np.sqrt(values[kept]) * unscale, null_space * unscale


def without_noise(values: Array, size: Array | float) -> Array:
    """Sums of terms of a given size, with 0 for what is rounding only."""
    return np.where(np.abs(values) > NOISE * size, values, 0.0)
