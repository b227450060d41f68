"""Kernel functions k(x, z), and the matrices of their values.

    linear      x·z
    poly        (γ x·z + c₀)^p
    rbf         exp(−γ ‖x − z‖²),   γ = 1/2σ²
    sigmoid     tanh(γ x·z + c₀)
    logistic    1 / (1 + exp(−(γ x·z + c₀)))

A kernel is the product φ(x)·φ(z) of features if, and only if, all its matrices are positive
semi-definite (Mercer).  The first three are, for γ, c₀ ≥ 0 and a whole p; the last two need not be,
nor a function or a matrix that a user gives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import expit

Floats = NDArray[np.float64]

NAMES = ("linear", "poly", "rbf", "sigmoid", "logistic")


@dataclass(frozen=True)
class KernelFunction:
    """One of the kernel functions, with its parameters.

    Attributes
    ----------
    name : {"linear", "poly", "rbf", "sigmoid", "logistic", "precomputed", "callable"}
    gamma, coef0 : float
        γ and c₀.
    degree : float
        p.
    function : callable, optional
        From two arrays of rows, and `parameters`, to the matrix of their values.
    parameters : dict
        Further arguments of the function.
    """

    name: str
    gamma: float = 1.0
    degree: float = 3
    coef0: float = 0.0
    function: Callable[..., Any] | None = None
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def is_semi_definite(self) -> bool:
        """Whether all its matrices are known to be positive semi-definite."""
        if self.name == "poly":
            whole = float(self.degree).is_integer()
            return whole and self.degree >= 0 and self.gamma >= 0 and self.coef0 >= 0
        return self.name == "linear" or (self.name == "rbf" and self.gamma >= 0)

    def __call__(self, X: Any, Z: Any) -> Floats:
        """The values of all pairs of rows.

        Parameters
        ----------
        X, Z : float64 arrays or CSR matrices of shapes (rows, columns) and (others, columns)

        Returns
        -------
        float64 array of shape (rows, others)
        """
        if self.name == "callable":
            assert self.function is not None
            return given_matrix(self.function(X, Z, **self.parameters), X.shape[0], Z.shape[0])
        if self.name == "rbf":
            return np.exp(-self.gamma * squared_distances(X, Z))
        return self.of_products(products(X, Z))

    def of_products(self, values: Floats) -> Floats:
        """k as a function of x·z, for all but the Gaussian."""
        if self.name == "linear":
            return values
        values = self.gamma * values + self.coef0
        if self.name == "poly":
            return np.power(values, self.degree)
        return np.tanh(values) if self.name == "sigmoid" else expit(values)

    def diagonal(self, X: Any) -> Floats:
        """k(x, x) of each row."""
        if self.name == "callable":
            return np.array([self(X[[i]], X[[i]])[0, 0] for i in range(X.shape[0])])
        if self.name == "rbf":
            return np.ones(X.shape[0])
        return self.of_products(squared_lengths(X))


def gamma_of(gamma: float | str, X: Any) -> float:
    """γ: a number, "scale" for 1 / (columns · variance of all cells), "auto" for 1 / columns."""
    if not isinstance(gamma, str):
        return float(gamma)
    if gamma == "auto":
        return 1.0 / X.shape[1]
    if issparse(X):
        variance = float(X.multiply(X).mean() - X.mean() ** 2)
    else:
        variance = float(np.var(X))
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


def products(X: Any, Z: Any) -> Floats:
    """x·z of all pairs."""
    found = X @ Z.T
    return np.asarray(found.toarray() if issparse(found) else found, np.float64)


def squared_lengths(X: Any) -> Floats:
    """x·x of each row."""
    if issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), np.float64).ravel()
    return np.einsum("ij,ij->i", X, X)


MOST_LOST = 1e-6
"""What the exponent of a Gaussian may lose to rounding."""


def check_lengths(X: Any, gamma: float) -> None:
    """Raise ValueError where sparse rows are so far from 0 that Gaussian values mean nothing.

    Of arrays the mean is subtracted first, which would fill a sparse matrix.
    """
    if issparse(X) and X.shape[0]:
        longest = float(squared_lengths(X).max())
        if gamma * longest * float(np.finfo(np.float64).eps) > MOST_LOST:
            raise ValueError(
                f"sparse rows as long as {np.sqrt(longest):.3g} leave a Gaussian with gamma="
                f"{gamma:.3g} no digits of their distances: scale the columns, or pass an array"
            )


def squared_distances(X: Any, Z: Any) -> Floats:
    """‖x − z‖² of all pairs; rows of arrays are first taken from the mean, for digits' sake."""
    if not issparse(X) and not issparse(Z):
        middle = Z.mean(axis=0)
        X, Z = X - middle, Z - middle
    found = products(X, Z)
    found *= -2.0
    found += squared_lengths(X)[:, None]
    found += squared_lengths(Z)
    return np.maximum(found, 0.0, out=found)


def given_matrix(values: Any, rows: int, others: int) -> Floats:
    """A matrix that a user's function made, or raise ValueError."""
    found = np.asarray(values.toarray() if issparse(values) else values, np.float64)
    if found.shape != (rows, others):
        raise ValueError(
            f"the kernel gave an array of shape {found.shape}; for {rows} and {others} rows it "
            f"should be ({rows}, {others})"
        )
    if not np.isfinite(found).all():
        raise ValueError("the kernel gave values that are not finite")
    return found
