"""A kernel's matrix, taken from the mean of the features, and its largest eigenvalues.

Products with the matrix are made a strip of rows at a time, whose ends depend on the number of rows
only: the same bits at any number of threads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh
from sklearn.utils import check_random_state

from suffice.engines.passes import each
from suffice.numerics.kernel_functions import Floats

STRIP = 256
"""Rows of the matrix that a thread works on."""

FEW_ROWS, MANY_TIMES = 200, 10
"""Up to so many rows, or unless they are so many times the components, LAPACK is as fast."""

BASIS = 40
"""Vectors that ARPACK works with at least.  Of a flat spectrum (5,000 normal rows in 20 columns), 5
components take 76 products with the matrix, against 117 with its own choice of 20; of a steep one
41, against 35."""

LAST_PLACES = 8
"""Units in the last place of the largest value that an entry of the centred matrix may be off."""


class EigenPairs(NamedTuple):
    """Eigenvalues and vectors.

    Attributes
    ----------
    values : array of shape (pairs,)
    vectors : array of shape (rows, pairs)
    path : str
        Who found them.
    """

    values: Floats
    vectors: Floats
    path: str


def strips(n: int) -> list[slice]:
    """The rows of a matrix, cut."""
    return [slice(start, min(start + STRIP, n)) for start in range(0, n, STRIP)]


def product(K: Floats, vectors: Floats, n_jobs: int | None) -> Floats:
    """K times a vector, or several."""
    return np.concatenate(each(strips(len(K)), lambda cut, stopped: K[cut] @ vectors, n_jobs))


def centring_error(K: Floats, weight: Floats, semi_definite: bool) -> float:
    """What rounding in the values, and in taking them from their means, may change in norm."""
    # Without negative eigenvalues, no value is larger than the largest on the diagonal.
    some = K.diagonal() if semi_definite else K
    largest = max(float(some.max()), -float(some.min()))
    return float(weight.sum()) * LAST_PLACES * float(np.finfo(np.float64).eps) * largest


def centre(K: Floats, share: Floats, n_jobs: int | None) -> Floats:
    """Take the features from their mean, in place.

    Parameters
    ----------
    K : array of shape (rows, rows)
    share : array of shape (rows,)
        Of the weight.
    n_jobs : int, optional

    Returns
    -------
    array of shape (rows,)
        The mean value of each row with all.
    """
    means = product(K, share, n_jobs)
    mean = float(share @ means)

    def subtract(cut: slice, stopped: Any) -> None:
        # One sum for both: entry i, j and entry j, i have the same bits.
        K[cut] -= (means[cut, None] + means) - mean

    each(strips(len(K)), subtract, n_jobs)
    return means


def stretch(K: Floats, factor: Floats, n_jobs: int | None) -> None:
    """Multiply each row and each column by a number, in place."""

    def multiply(cut: slice, stopped: Any) -> None:
        K[cut] *= factor[cut, None] * factor

    each(strips(len(K)), multiply, n_jobs)


def largest_eigenpairs(
    K: Floats,
    n_components: int | None,
    solver: str,
    tol: float,
    max_iter: int | None,
    random_state: Any,
    n_jobs: int | None,
) -> EigenPairs:
    """The pairs that belong to the largest eigenvalues; None is all of them."""
    n = len(K)
    k = n if n_components is None else min(n_components, n)
    if solver == "auto":
        solver = "arpack" if n > FEW_ROWS and MANY_TIMES * k <= n else "dense"
    path = "LAPACK"
    if solver != "dense" and k < n:
        seed = 0 if random_state is None else random_state
        start = check_random_state(seed).uniform(-1, 1, n)
        matrix = LinearOperator((n, n), lambda v: product(K, v, n_jobs), dtype=np.float64)
        try:
            values, vectors = eigsh(
                matrix, k, which="LA", tol=tol, maxiter=max_iter, v0=start,
                ncv=min(n, max(2 * k + 1, BASIS)),
            )  # fmt: skip
        except ArpackError:
            path = "LAPACK, for ARPACK did not converge"
        else:
            return EigenPairs(values, vectors, "ARPACK")
    if k == n:
        values, vectors = eigh(K, driver="evd")
    else:
        values, vectors = eigh(K, subset_by_index=(n - k, n - 1))
    return EigenPairs(values, vectors, path)
