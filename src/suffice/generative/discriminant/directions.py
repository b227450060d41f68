"""Directions that tell classes apart.

They maximise vᵀ B v / vᵀ Σ v, with B the covariance between classes and Σ that within them.  With
Σ⁻¹ = M Mᵀ they are M times the principal axes of Mᵀ B M; and with B = Σ πₖ (μₖ − x̄)(μₖ − x̄)ᵀ these
are the principal directions of the means (μₖ − x̄) M.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from suffice.generative.discriminant.axes import PrincipalAxes, signed
from suffice.numerics.double_double import Array


class Directions(NamedTuple):
    """Directions that tell classes apart, and their shares of the variance between classes."""

    scalings: Array
    ratios: Array


def solve_directions(away: Array, priors: Array, axes: Any, tol: float, noise: float) -> Directions:
    """From the means of the classes less their common mean.

    Parameters
    ----------
    away : array of shape (classes, columns)
    priors : array of shape (classes,)
    axes : PrincipalAxes or Solution
        Of the covariance within classes.
    tol : float
        Share of the longest that a direction must exceed.
    noise : float
        How long a direction may be by the errors of the means alone.  Where all are no longer, the
        means cannot be told apart: there is no direction, and no variance to have a share of.
    """
    whitened = (np.sqrt(priors)[:, None] * away) @ axes.whitening
    _, lengths, turned = np.linalg.svd(whitened, full_matrices=False)
    longest = lengths.max(initial=0.0)
    rank = int((lengths > max(tol * longest, noise)).sum())
    squares = np.square(lengths / longest) if rank else np.zeros(len(lengths))
    ratios = squares / squares.sum() if rank else squares
    return Directions(signed(axes.whitening @ turned[:rank].T), ratios)


def directions_of(between: Array, axes: PrincipalAxes) -> Directions:
    """From a covariance between classes."""
    values, turned = np.linalg.eigh(axes.whitening.T @ between @ axes.whitening)
    turned = axes.whitening @ turned[:, ::-1]
    return Directions(signed(turned), shares_of(values[::-1], float(values.sum())))


def shares_of(values: Array, total: float) -> Array:
    """Of a total, in descending order.

    Shrunk by different amounts, the difference of two covariances may be negative.
    """
    return np.sort(values / total)[::-1] if total != 0 else np.zeros(len(values))
