"""Eigenvalues and eigenvectors of symmetric matrices, in float64 and in double-double.

    A = V diag(λ) Vᵀ,      λ₁ ≥ λ₂ ≥ …

A double-double matrix is first decomposed in float64; the result is then refined as Ogita and
Aishima showed (2018).  With X the approximate vectors, G = XᵀX and T = XᵀAX in double-double,

    λᵢ = tᵢᵢ / gᵢᵢ,      eᵢⱼ = (tᵢⱼ − λⱼ gᵢⱼ) / (λⱼ − λᵢ),      X ← X + X E,

which squares the error of vectors whose values are apart.  Where values are so close that a
step would not be small, the vectors of the cluster are first turned by the eigenvectors of
their own block of T, from which the common value has been taken away.  The symmetric part of E is
(I − G)/2 whatever the values are, and is taken from there: close values divide rounding by little,
and that may turn the vectors within their cluster, but must not bend them towards each other.

What is returned carries its own proof: the residuals A v − λ v and XᵀX − I, computed from the
result, bound how far the values and vectors can be from the true ones.

Reference: Ogita and Aishima, "Iterative refinement for symmetric eigenvalue decomposition"
(2018); Parlett, "The Symmetric Eigenvalue Problem" (1998), chapter 11.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpstrf

from suffice.numerics.double_double import DOUBLE_DOUBLE_UNIT, UNIT, Array, DoubleDouble
from suffice.numerics.exact_gram import exact_gram

MOST_STEPS = 12
"""Steps of refinement; two or three do unless values are very close."""

TARGET = 2.0**-70
"""Correction of a vector below which it counts as found: far below float64's resolution."""

NOISE = 2.0**-96
"""Differences below this share of the matrix's norm are rounding: they separate nothing."""

HARMLESS = 2.0**-30
"""A turn whose square is beyond float64's resolution."""


@dataclass(frozen=True)
class EigenSystem:
    """The eigenvalues of a symmetric matrix in descending order, and their vectors.

    Attributes
    ----------
    values : DoubleDouble of shape (n,)
    vectors : float64 array of shape (n, n)
        One unit vector a row, rounded.
    residuals : float64 array of shape (n,)
        Bounds on ‖A v − λ v‖ before the vectors were rounded.
    departure : float
        Bound on the distance of every value from the true one of its rank.
    method : str
        How it was done, for people.

    Examples
    --------
    >>> import numpy as np
    >>> system = decompose(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> system.values.round()
    array([3., 1.])
    """

    values: DoubleDouble
    vectors: Array
    residuals: Array
    departure: float
    method: str


def decompose(A: Array | DoubleDouble) -> EigenSystem:
    """Decompose a symmetric matrix whose entries are neither huge nor tiny.

    Parameters
    ----------
    A : float64 array or DoubleDouble of shape (n, n)
        Scaled so that its norm is not far from 1.

    Returns
    -------
    EigenSystem
    """
    rounded = A.hi if isinstance(A, DoubleDouble) else A
    if not len(rounded):
        return EigenSystem(DoubleDouble.zeros(0), np.zeros((0, 0)), np.zeros(0), 0.0, "none")
    values, V = np.linalg.eigh(rounded)
    values, V = values[::-1], np.ascontiguousarray(V[:, ::-1])
    if isinstance(A, DoubleDouble):
        return _refined(A, V)
    n = len(A)
    residual = A @ V - V * values
    # Rounding of the products just made: n terms in each sum.
    gamma = (n + 2) * UNIT / (1 - (n + 2) * UNIT)
    size = float(np.linalg.norm(A))
    skew = float(np.linalg.norm(V.T @ V - np.eye(n))) + gamma * n
    return _proved(
        DoubleDouble.of(values),
        V,
        np.linalg.norm(residual, axis=0),
        gamma * 2 * size,
        skew,
        "eigenvectors in float64",
    )


def leading(A: Array, rank: int) -> tuple[Array, Array, float] | None:
    """The values of a positive semi-definite matrix of low rank, their vectors, and a remainder.

    Cholesky's factor with pivots, A ≈ L Lᵀ, stops where nothing but rounding is left.  From
    L = V diag(σ) Uᵀ come the vectors V, and the values σ² up to the norm of A − V diag(σ²) Vᵀ.

    Parameters
    ----------
    A : float64 array of shape (n, n)
        Of entries not far from 1.
    rank : int
        What its rank should be, or somewhat more.

    Returns
    -------
    values, in descending order, vectors as columns, and the norm of what they leave of A; or
    None if the rank is higher.
    """
    n = len(A)
    factor, pivots, found, _ = dpstrf(A, tol=4 * n * UNIT, lower=1)
    if found > rank + rank // 4 + 4:
        return None
    L = np.empty((n, found))
    L[pivots - 1] = np.tril(factor[:, :found])
    vectors, lengths, _ = np.linalg.svd(L, full_matrices=False)
    values = np.square(lengths)
    return values, vectors, float(np.linalg.norm(A - (vectors * values) @ vectors.T))


def _proved(
    values: DoubleDouble, V: Array, residuals: Array, rounding: float, skew: float, method: str
) -> EigenSystem:
    """With the bounds that residuals and departure from orthogonality give."""
    if not skew < 0.5:
        raise RuntimeError("the eigenvectors found are not orthogonal: are there NaN or infinity?")
    shortest = np.sqrt(1 - skew)
    residuals = (residuals + rounding) / shortest
    return EigenSystem(
        values=values,
        vectors=np.ascontiguousarray(V.T),
        residuals=residuals,
        departure=float(np.linalg.norm(residuals)) / shortest,
        method=method,
    )


# --- refinement in double-double -----------------------------------------------------------


def _refined(A: DoubleDouble, V: Array) -> EigenSystem:
    n = len(V)
    size = float(np.linalg.norm(A.hi))
    X = DoubleDouble.of(V)
    for step in range(MOST_STEPS + 1):
        Y = exact_gram(A, X)
        both = exact_gram(X, _beside(X, Y))
        G, T = both[:, :n], both[:, n:]
        values = _diagonal(T) / _diagonal(G)
        left, apart = (T - G * values[None, :]).hi, (values[None, :] - values[:, None]).hi
        np.fill_diagonal(left, 0.0)
        skew = (DoubleDouble.of(np.eye(n)) - G).hi
        close = np.abs(left) > 1e-3 * np.abs(apart)
        heard = np.abs(left) > NOISE * size
        clusters = _clusters(close & heard)
        # The diagonal takes what it lacks of length 1; so do pairs that nothing tells apart.
        close |= (apart == 0) | (~heard & (np.abs(left) > HARMLESS * np.abs(apart)))
        turn = np.where(close | close.T, 0.0, left / np.where(close, 1.0, apart))
        E = (turn - turn.T + skew) / 2
        if step == MOST_STEPS or (not clusters and np.abs(E).max() <= TARGET):
            break
        for cluster in clusters:
            _turn(X, T, G, values, cluster)
        if not clusters:
            X = X + _times(X, E)
    order = np.lexsort((-values.lo, -values.hi))
    values, X, Y = values[order], X[:, order], Y[:, order]
    residuals = np.linalg.norm((Y - X * values[None, :]).hi, axis=0)
    # The exact product leaves out n 2⁻¹⁰⁴ of the largest entries; twice that covers the rest.
    rounding = 2 * n * DOUBLE_DOUBLE_UNIT * size
    defect = float(np.linalg.norm(skew)) + n * n * DOUBLE_DOUBLE_UNIT
    method = "eigenvectors in float64, refined in double-double"
    return _proved(values, X.round(), residuals, rounding, defect, method)


def _clusters(close: NDArray[np.bool_]) -> list[slice]:
    """Runs of neighbouring values, of which some are too close for a step."""
    n = len(close)
    pairs = close | close.T
    # reach[i]: the last index that i or one before it is tied to.
    last = np.where(pairs.any(axis=1), n - 1 - np.argmax(pairs[:, ::-1], axis=1), np.arange(n))
    reach = np.maximum.accumulate(np.maximum(last, np.arange(n)))
    starts = np.flatnonzero(np.append(True, reach[:-1] < np.arange(1, n)))
    ends = np.append(starts[1:], n)
    return [slice(int(a), int(b)) for a, b in zip(starts, ends, strict=True) if b - a > 1]


def _turn(
    X: DoubleDouble, T: DoubleDouble, G: DoubleDouble, values: DoubleDouble, cluster: slice
) -> None:
    """Turn the vectors of a cluster, in place, to the eigenvectors of their block."""
    block = (T[cluster, cluster] - G[cluster, cluster] * values[cluster.start]).hi
    _, Q = np.linalg.eigh((block + block.T) / 2)
    turned = exact_gram(X[:, cluster].T, DoubleDouble.of(np.ascontiguousarray(Q[:, ::-1])))
    X.hi[:, cluster], X.lo[:, cluster] = turned.hi, turned.lo


def _times(X: DoubleDouble, E: Array) -> Array | DoubleDouble:
    """X E: in float64 where E is so small that this loses nothing."""
    if np.abs(E).max() < 2.0**-30:
        return X.hi @ E
    return exact_gram(X.T, DoubleDouble.of(E))


def _beside(a: DoubleDouble, b: DoubleDouble) -> DoubleDouble:
    return DoubleDouble(np.hstack([a.hi, b.hi]), np.hstack([a.lo, b.lo]))


def _diagonal(A: DoubleDouble) -> DoubleDouble:
    return DoubleDouble(np.diagonal(A.hi).copy(), np.diagonal(A.lo).copy())
