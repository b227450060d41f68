"""Do so many factors suffice?  The likelihood ratio against any covariance at all.

Minus twice the logarithm of the ratio, with Bartlett's correction,

    (W − 1 − (2d + 5)/6 − 2k/3) · [log det Σ − log det S + tr(Σ⁻¹ S) − d],

is about χ² with ((d − k)² − d − k)/2 degrees of freedom if k factors suffice.

Reference: Bartlett, "A note on the multiplying factors for various χ² approximations" (1954).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import gammaincc

from suffice.decomposition.factors.likelihood import NoiseLikelihood
from suffice.numerics.double_double import Array


class FactorTest(NamedTuple):
    """Whether so many factors suffice, against any covariance at all.

    Attributes
    ----------
    statistic : float
        The likelihood ratio with Bartlett's correction; χ² if the factors suffice.
    dof : int
        Degrees of freedom.
    p_value : float
    """

    statistic: float
    dof: int
    p_value: float


def degrees_of_freedom(d: int, k: int) -> int:
    """Covariances less parameters."""
    return ((d - k) ** 2 - d - k) // 2


def bartlett_test(correlation: Array, noise: Array, k: int, n_samples: float) -> FactorTest:
    """The test of k factors with this noise, for columns of variance 1."""
    d = len(noise)
    dof = degrees_of_freedom(d, k)
    if dof <= 0:
        raise ValueError(
            f"{k} factors of {d} columns leave {dof} degrees of freedom: nothing to test"
        )
    if np.linalg.matrix_rank(correlation, hermitian=True) < d:
        raise ValueError(
            "the covariance is singular (dependent columns, or fewer rows than columns): there is "
            "no likelihood of any covariance at all to compare with"
        )
    discrepancy = NoiseLikelihood.at(np.log(noise), correlation, k).discrepancy()
    statistic = (n_samples - 1 - (2 * d + 5) / 6 - 2 * k / 3) * discrepancy
    return FactorTest(float(statistic), dof, float(gammaincc(dof / 2, max(statistic, 0.0) / 2)))
