"""The scatter of rows that nobody saw: what priors of covariances and of coefficients add.

A Wishart prior of a precision Σ⁻¹ and a Gaussian prior of regression coefficients have one
pseudo-statistic, a matrix Ψ of squares and products that is added to the scatter of the rows and
says nothing of their mean:

    covariance     Σ = (S + Ψ) / (W + ν),    Ψ of ν rows: shrinkage, and a floor under variances
    coefficients   (Sxx + Ψ) θ = Sxy + Ψ m₀,    θ | σ² ~ N(m₀, σ² Ψ⁻¹): ridge for Ψ = α I, m₀ = 0

Ridge and Bayesian regression from moments and the discriminants add theirs by this class, and
`NormalInverseWishart` makes its Ψ by it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.numerics.double_double import Array, DoubleDouble
from suffice.numerics.positive_definite import product


@dataclass(frozen=True, eq=False)
class PseudoScatter:
    """Ψ = diag(diagonal) + rest, symmetric.

    Attributes
    ----------
    diagonal : array or DoubleDouble of shape (columns,)
    rest : array of shape (columns, columns), or None
        What there is off the diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.bayes import PseudoScatter
    >>> PseudoScatter.isotropic(0.5, 2).added_to(np.array([[4.0, 1.0], [1.0, 2.0]]))
    array([[4.5, 1. ],
           [1. , 2.5]])
    """

    diagonal: Array | DoubleDouble
    rest: Array | None = None

    @classmethod
    def isotropic(cls, square: Any, n_columns: int) -> PseudoScatter:
        """The same square in every direction.

        Parameters
        ----------
        square : number or DoubleDouble scalar
        n_columns : int
        """
        one = DoubleDouble.of(square)
        return cls(DoubleDouble(np.full(n_columns, one.hi), np.full(n_columns, one.lo)))

    @property
    def rounded(self) -> Array:
        """The diagonal in float64."""
        return self.diagonal.hi if isinstance(self.diagonal, DoubleDouble) else self.diagonal

    @property
    def matrix(self) -> Array:
        """Ψ as a matrix of float64."""
        whole = np.diag(self.rounded)
        return whole if self.rest is None else whole + self.rest

    def added_to(self, scatter: Any) -> Any:
        """S + Ψ, in the precision of S.

        Parameters
        ----------
        scatter : array or DoubleDouble of shape (columns, columns)
        """
        if scatter.shape != self.rounded.shape * 2:
            raise ValueError(
                f"a prior of {len(self.rounded)} columns cannot be added to a scatter of shape "
                f"{scatter.shape}"
            )
        whole = scatter if self.rest is None else scatter + self.rest
        if isinstance(scatter, DoubleDouble) and isinstance(self.diagonal, DoubleDouble):
            return whole + DoubleDouble(np.diag(self.diagonal.hi), np.diag(self.diagonal.lo))
        return whole + np.diag(self.rounded)

    def scaled(self, factor: float) -> PseudoScatter:
        """That of `factor` times as many rows."""
        return PseudoScatter(
            self.diagonal * factor, None if self.rest is None else self.rest * factor
        )

    def times(self, v: Array) -> DoubleDouble:
        """Ψ v for v of shape (columns,)."""
        along = DoubleDouble.of(self.diagonal) * v
        if self.rest is None:
            return along
        return along + product(DoubleDouble.of(self.rest), DoubleDouble.of(v[:, None]))[:, 0]

    def square(self, v: Array) -> float:
        """vᵀ Ψ v."""
        return float((self.times(v) * v).sum().round())

    def trace_with(self, V: Array) -> float:
        """tr(Ψ V) for a symmetric V."""
        trace = float(self.rounded @ np.diagonal(V))
        return trace if self.rest is None else trace + float(np.sum(self.rest * V))
