"""The likelihood of factor analysis as a function of the noise alone.

Of columns with the correlations R, let u be the noise variances, and

    U⁻½ R U⁻½ = Ω diag(θ) Ωᵀ,      θ descending.

For this noise the best k loadings are known (Lawley, 1940): L = U½ Ω₁ (Θ₁ − I)½, of the first k
values that exceed 1.  What is left of the likelihood, −2/W times its logarithm up to a constant, is

    F(u) = Σⱼ log uⱼ + Σ₁ (log θₘ + 1) + Σ₂ θₘ,

with Σ₁ over the values that loadings were found for and Σ₂ over all others.  With x = log u

    ∂F/∂xⱼ     = Σ₂ (1 − θₘ) ωⱼₘ²
    ∂²F/∂xⱼ∂xₗ = Aⱼₗ Bⱼₗ + Σ₁ₙ Σ₂ₘ (1 − θₘ) (θₙ + θₘ)/(θₙ − θₘ) ωⱼₘ ωₗₘ ωⱼₙ ωₗₙ

where A = Ω₂ Ω₂ᵀ and B = Ω₂ Θ₂ Ω₂ᵀ.  No division by R: dependent columns have a likelihood too.

References: Jöreskog, "Some contributions to maximum likelihood factor analysis" (1967); Clarke, "A
rapidly convergent method for maximum-likelihood factor analysis" (1970).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from suffice.numerics.double_double import Array


@dataclass(frozen=True, eq=False)
class NoiseLikelihood:
    """The likelihood at some noise variances, with the loadings that are best for them.

    Attributes
    ----------
    log_noise : array of shape (columns,)
        x = log u, for columns of variance 1.
    values, vectors : arrays of shape (columns,) and (columns, columns)
        θ, and Ω in columns.
    used : int
        Factors with loadings: those of the first k values that exceed 1.
    n_factors : int
        k.
    """

    log_noise: Array
    values: Array
    vectors: Array
    used: int
    n_factors: int

    @classmethod
    def at(cls, log_noise: Array, correlation: Array, n_factors: int) -> NoiseLikelihood:
        """The likelihood of correlations for one choice of the noise."""
        root = np.exp(-log_noise / 2)
        values, vectors = np.linalg.eigh(correlation * root[:, None] * root)
        values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
        used = int((values[:n_factors] > 1).sum())
        return cls(log_noise, values, vectors, used, n_factors)

    @cached_property
    def objective(self) -> float:
        """F: smaller is more likely."""
        first, others = self.values[: self.used], self.values[self.used :]
        return float(self.log_noise.sum() + np.log(first).sum() + self.used + others.sum())

    @cached_property
    def gradient(self) -> Array:
        """∂F/∂x."""
        return np.square(self.vectors[:, self.used :]) @ (1 - self.values[self.used :])

    def hessian(self) -> Array:
        """∂²F/∂x∂xᵀ."""
        k = self.used
        theta, others = self.values[k:], self.vectors[:, k:]
        result = (others @ others.T) * ((others * theta) @ others.T)
        for value, vector in zip(self.values[:k], self.vectors[:, :k].T, strict=True):
            # Equal values on both sides of the cut: the likelihood has a kink there, not a slope.
            apart = np.maximum(value - theta, 1e-12 * value)
            bend = (1 - theta) * (value + theta) / apart
            result += ((others * bend) @ others.T) * np.outer(vector, vector)
        return result

    def loadings(self) -> Array:
        """L, of shape (columns, factors); factors that nothing is left for have zeros."""
        length = np.zeros(self.n_factors)
        length[: self.used] = np.sqrt(self.values[: self.used] - 1)
        root = np.exp(self.log_noise / 2)
        return root[:, None] * self.vectors[:, : self.n_factors] * length

    def discrepancy(self) -> float:
        """F less its least value for any covariance at all: Σ₂ (θₘ − log θₘ − 1)."""
        others = self.values[self.used :]
        with np.errstate(divide="ignore"):
            return float((others - np.log(others) - 1).sum())
