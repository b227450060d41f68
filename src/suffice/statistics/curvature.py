"""Loss, gradient and Hessian of a sum over rows, at one point.

For rows aᵢ, predictors ηᵢ = Θ aᵢ (one row of Θ for each predictor) and a loss ℓ(yᵢ, ηᵢ):

    f = Σ wᵢ ℓᵢ,      ∇f = Σ wᵢ ℓ′ᵢ aᵢᵀ,      ∇²f = Σ wᵢ ℓ″ᵢ ⊗ aᵢ aᵢᵀ

All three are sums, so every Newton, IRLS or gradient step is one pass that merges them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from suffice.kernels.sums.sparse import sparse_gram
from suffice.numerics.double_double import Array


class Derivatives(NamedTuple):
    """A loss and its derivatives by the predictors; the rows are the last axis.

    Attributes
    ----------
    value : array of shape (rows,)
    gradient : array of shape (predictors, rows), or None
    hessian : array of shape (predictors, predictors, rows), or None
    """

    value: Array
    gradient: Array | None = None
    hessian: Array | None = None


class Loss(Protocol):
    """ℓ(y, η): what is lost when the target is y and the predictors are η."""

    @property
    def n_predictors(self) -> int: ...

    def __call__(self, y: NDArray[Any], eta: Array, order: int) -> Derivatives:
        """The loss of each row, and its derivatives up to `order` (0, 1 or 2).

        Parameters
        ----------
        y : array, one entry or row of it a row
        eta : array of shape (predictors, rows)
        order : {0, 1, 2}
        """
        ...


@dataclass(frozen=True, eq=False)
class Curvature:
    """Loss, gradient and Hessian of some rows at one point, mergeable and subtractable.

    Attributes
    ----------
    weight : float
        Sum of the rows' weights.
    loss : float
    gradient : array of shape (predictors, parameters)
        Of shape (predictors, 0) where only the loss was asked for.
    hessian : array of shape (predictors, parameters, predictors, parameters)
        Without entries (two axes of length 0) where it was not asked for.

    Examples
    --------
    >>> import numpy as np
    >>> def square(y, eta, order):
    ...     return Derivatives((eta[0] - y) ** 2 / 2, eta - y, np.ones((1, 1, len(y))))
    >>> rows, y = np.array([[1.0], [2.0]]), np.array([3.0, 4.0])
    >>> at = Curvature.summarize(rows, y, None, square, np.zeros((1, 1)))
    >>> at.loss, at.gradient, at.hessian.ravel()
    (12.5, array([[-11.]]), array([5.]))
    """

    weight: float
    loss: float
    gradient: Array
    hessian: Array

    @classmethod
    def zero(cls, n_predictors: int, n_parameters: int, order: int = 2) -> Curvature:
        """The curvature of no rows."""
        k, p = n_predictors, n_parameters
        first, second = p if order > 0 else 0, p if order > 1 else 0
        return cls(0.0, 0.0, np.zeros((k, first)), np.zeros((k, second, k, second)))

    @classmethod
    def summarize(
        cls,
        X: Any,
        y: NDArray[Any],
        weight: Array | None,
        loss: Loss | Callable[[NDArray[Any], Array, int], Derivatives],
        parameters: Array,
        order: int = 2,
    ) -> Curvature:
        """The curvature of some rows.

        Parameters
        ----------
        X : array or CSR matrix of shape (rows, columns)
        y : array, one entry or row of it a row
        weight : array of shape (rows,), optional
        loss : Loss
        parameters : array of shape (predictors, columns) or (predictors, columns + 1)
            Θ, the point; a last column beyond those of X belongs to a column of ones.
        order : {0, 1, 2}
            The loss alone, its gradient too, the Hessian too.
        """
        if weight is not None and not weight.all():
            # What rows of weight 0 hold does not matter, not even if it is not a number.
            there = np.flatnonzero(weight)
            X, y, weight = X[there], y[there], weight[there]
        d = X.shape[1]
        intercept = parameters.shape[1] > d
        found = weighted(loss(y, predictors(X, parameters), order), weight)
        zero = cls.zero(len(parameters), parameters.shape[1], order)
        gradient, hessian = zero.gradient, zero.hessian
        if found.gradient is not None:
            gradient[:, :d] = (X.T @ found.gradient.T).T
            gradient[:, d:] = found.gradient.sum(axis=1, keepdims=True)
        if found.hessian is not None:
            fill_hessian(hessian, found.hessian, partial(weighted_gram, X, intercept))
        total = float(len(y)) if weight is None else float(weight.sum())
        return cls(total, float(found.value.sum()), gradient, hessian)

    @classmethod
    def merge(cls, parts: Sequence[Curvature]) -> Curvature:
        """The curvature of all rows of the parts together, at the same point."""
        return cls(
            sum(part.weight for part in parts),
            sum(part.loss for part in parts),
            np.sum([part.gradient for part in parts], axis=0),
            np.sum([part.hessian for part in parts], axis=0),
        )

    def subtract(self, part: Curvature) -> Curvature:
        """The curvature of the rows that stay when those of `part` are taken away."""
        return Curvature(
            self.weight - part.weight,
            self.loss - part.loss,
            self.gradient - part.gradient,
            self.hessian - part.hessian,
        )

    def rescaled(self, divisor: Array) -> Curvature:
        """The derivatives by parameters that are `divisor` times as large."""
        gradient = self.gradient / divisor if self.gradient.size else self.gradient
        hessian = self.hessian
        if hessian.size:
            hessian = hessian / divisor[:, None, None] / divisor
        return Curvature(self.weight, self.loss, gradient, hessian)

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays take."""
        return int(self.gradient.nbytes + self.hessian.nbytes)


def predictors(X: Any, parameters: Array) -> Array:
    """Θ aᵢ of some rows, of shape (predictors, rows); see `Curvature.summarize`."""
    d = X.shape[1]
    if sparse.issparse(X):
        eta = np.ascontiguousarray((X @ parameters[:, :d].T).T)
    else:
        eta = parameters[:, :d] @ X.T
    if parameters.shape[1] > d:
        eta += parameters[:, d:]
    return eta


def weighted(found: Derivatives, weight: Array | None) -> Derivatives:
    """Derivatives times the rows' weights."""
    if weight is None:
        return found
    value, gradient, hessian = found
    return Derivatives(
        value * weight,
        None if gradient is None else gradient * weight,
        None if hessian is None else hessian * weight,
    )


def weighted_gram(X: Any, intercept: bool, h: Array) -> Array:
    """Σ hᵢ aᵢ aᵢᵀ, where aᵢ is a row of X, followed by a 1 if there is an intercept."""
    d = X.shape[1]
    out = np.empty((d + intercept, d + intercept))
    if sparse.issparse(X):
        parts = X.indices.astype(np.int64, copy=False), X.indptr.astype(np.int64, copy=False)
        inner = np.empty((d, d))
        sparse_gram(X.data.astype(np.float64, copy=False), *parts, h, inner)
        out[:d, :d] = inner
    elif h.size and h.min() == h.max():
        out[:d, :d] = h[0] * (X.T @ X)
    elif h.min(initial=0.0) >= 0:
        # A product of a matrix with itself takes half the work.
        rooted = X * np.sqrt(h)[:, None]
        out[:d, :d] = rooted.T @ rooted
    else:
        out[:d, :d] = (X * h[:, None]).T @ X
    if intercept:
        out[:d, d] = out[d, :d] = X.T @ h
        out[d, d] = h.sum()
    return out


def fill_hessian(out: Array, h: Array, gram: Callable[[Array], Array]) -> None:
    """Write the blocks of a Hessian, each a weighted Gram matrix; both triangles."""
    for k in range(len(h)):
        for j in range(k + 1):
            out[k, :, j] = gram(h[k, j]) if h[k, j].any() else 0.0
            if j < k:
                out[j, :, k] = out[k, :, j].T
