"""The shape of a class, where its own covariance may be singular.

The likelihood of a class with a singular covariance has no maximum: the density grows without bound
as the missing variance goes to zero.  In the directions in which a class does not vary it is
therefore given the variance that all classes together have about their means, which is what
`LinearDiscriminantAnalysis` assumes in all directions; a class with a single row is thus a Gaussian
of the common shape.  Directions in which no class varies are left out of all of them.  The
certificate tells.  With P the pooled covariance, Bᵀ P B = I, and L Lᵀ = Bᵀ Σₖ B of full column
rank, N a basis of what L does not span:

    Bᵀ Σₖ' B = L Lᵀ + N Nᵀ.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from suffice.generative.discriminant.axes import PrincipalAxes
from suffice.generative.discriminant.shrinkage import Covariance
from suffice.generative.discriminant.whitening import completing
from suffice.numerics.double_double import Array


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
