"""A Gaussian prior of regression coefficients as a pseudo-statistic.

    θ | σ² ~ N(m₀, σ² P⁻¹)

It adds to the moments of columns and target what rows would add that lie on y = m₀·x: the scatter
P of the columns, P m₀ of columns and target, m₀ᵀ P m₀ of the target.  Ridge is P = α I, m₀ = 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg

from suffice.bayes.priors.scatter import PseudoScatter
from suffice.numerics.double_double import UNIT, Array
from suffice.statistics.moments.products import LARGEST_SQUARE


@dataclass(frozen=True, eq=False)
class CoefficientPrior:
    """θ | σ² ~ N(mean, σ² P⁻¹).

    Attributes
    ----------
    mean : array of shape (columns,)
    precision : PseudoScatter
        P; along directions in which it is zero the prior is flat.
    rank : int
        Rank of P.
    log_det : float
        Logarithm of the product of the eigenvalues of P that are not zero.
    """

    mean: Array
    precision: PseudoScatter
    rank: int
    log_det: float

    @classmethod
    def of(cls, precision: Any, mean: Any, n_columns: int) -> CoefficientPrior:
        """The prior that a user describes, checked.

        Parameters
        ----------
        precision : number, array of shape (columns,) or (columns, columns)
        mean : number or array of shape (columns,)
        n_columns : int
        """
        m = _numbers("prior_mean", mean)
        if m.ndim > 1 or (m.ndim == 1 and len(m) != n_columns):
            raise ValueError(
                f"prior_mean must be one number or one for each of the {n_columns} columns, got an "
                f"array of shape {m.shape}"
            )
        m = np.broadcast_to(m, n_columns).astype(np.float64)
        P = _numbers("prior_precision", precision)
        if P.ndim > 2 or any(size != n_columns for size in P.shape):
            raise ValueError(
                f"prior_precision must be one number, one for each of the {n_columns} columns, or "
                f"a matrix of shape ({n_columns}, {n_columns}), got an array of shape {P.shape}"
            )
        made = cls._checked(P, m)
        with np.errstate(over="ignore", invalid="ignore"):
            if not made.precision.square(m) <= LARGEST_SQUARE:
                raise ValueError(
                    "prior_mean is too large: its square, times prior_precision, overflows"
                )
        return made

    @classmethod
    def _checked(cls, P: Array, m: Array) -> CoefficientPrior:
        if P.ndim == 2 and np.count_nonzero(P - np.diag(np.diagonal(P))):
            return _of_matrix(P, m)
        diagonal = np.diagonal(P) if P.ndim == 2 else P
        diagonal = np.broadcast_to(diagonal, m.shape).astype(np.float64)
        if (diagonal < 0).any():
            raise ValueError(f"prior_precision must not be negative, got {diagonal.min():g}")
        proper = diagonal[diagonal > 0]
        return cls(m, PseudoScatter(diagonal), len(proper), float(np.log(proper).sum()))

    @property
    def diagonal(self) -> Array:
        """The diagonal of P."""
        return self.precision.rounded

    def scaled(self, factor: float) -> CoefficientPrior:
        """The prior of a precision `factor` times as large."""
        log_det = self.log_det + self.rank * float(np.log(factor))
        return replace(self, precision=self.precision.scaled(factor), log_det=log_det)


def _numbers(name: str, value: Any) -> Array:
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must hold numbers, got {value!r}") from None
    if not np.isfinite(numbers).all():
        raise ValueError(f"{name} must be finite, but it holds NaN or infinity")
    return numbers


def _of_matrix(P: Array, mean: Array) -> CoefficientPrior:
    """Checked in units in which the diagonal is 1: a column's scale must not hide its rank."""
    diagonal = np.diagonal(P).copy()
    root = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = P / root[:, None] / root
    if not np.allclose(scaled, scaled.T, rtol=0, atol=1e-12):
        raise ValueError("prior_precision must be symmetric, and this matrix is not")
    P = (P + P.T) / 2
    values = linalg.eigvalsh((scaled + scaled.T) / 2)
    noise = 8 * len(P) * UNIT * max(float(np.abs(values).max()), 1.0)
    if values.min() < -noise or (diagonal < 0).any():
        raise ValueError(
            "prior_precision must be positive semi-definite; scaled to a diagonal of ones, this "
            f"matrix has the eigenvalue {values.min():.3g}"
        )
    proper = values[values > noise]
    if len(proper) == len(P):
        log_det = float(np.log(values).sum() + np.log(diagonal).sum())
    else:
        own = linalg.eigvalsh(P)[len(P) - len(proper) :]
        log_det = float(np.log(own).sum())
    added = PseudoScatter(diagonal, P - np.diag(diagonal))
    return CoefficientPrior(mean, added, len(proper), log_det)
