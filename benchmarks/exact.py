"""The exact least-squares solution of float64 data, as rational numbers.

The columns are cut into integers of 17 bits, so that matrix products of 2¹⁶ rows of them are
whole numbers below 2⁵³, which float64 holds; the Gram matrix is put together from those as
Python integers, and solved by elimination without fractions (Bareiss, 1968).  Nothing here is
shared with the library under test.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

BITS = 17
ROWS = 1 << 16


def exact_coefficients(
    X: NDArray[np.float64], y: NDArray[np.float64], *, intercept: bool = True, ridge: bool = False
) -> list[Fraction]:
    """Intercept, if wished, and coefficients; `ridge` adds ½‖θ‖² to the objective."""
    columns = [np.ones((len(X), 1))] * intercept + [X, y[:, None]]
    Z = np.concatenate(columns, axis=1)
    if ridge:
        # A penalty of 1 is as many further rows as columns: each a unit vector, with target 0.
        Z = np.concatenate([Z, np.eye(Z.shape[1])[int(intercept) : -1]])
    exponents = np.frexp(np.abs(Z).max(axis=0))[1]
    gram = _gram(Z, exponents)
    solution = _solve(gram[:-1, :-1].tolist(), gram[:-1, -1].tolist())
    shifts = (exponents[-1] - exponents[:-1]).tolist()
    return [x * Fraction(2) ** shift for x, shift in zip(solution, shifts, strict=True)]


def exact_answer(
    X: NDArray[np.float64], y: NDArray[np.float64], *, ridge: bool = False
) -> NDArray[np.float64]:
    """The same, rounded to float64."""
    return np.array([float(x) for x in exact_coefficients(X, y, ridge=ridge)])


def _gram(Z: NDArray[np.float64], exponents: NDArray[Any]) -> NDArray[np.object_]:
    """Zᵀ Z in integers, the columns divided by 2^exponents, all times one power of two."""
    n_columns = Z.shape[1]
    sums: dict[int, NDArray[np.int64]] = {}
    for start in range(0, len(Z), ROWS):
        slices = []
        rest = np.ldexp(Z[start : start + ROWS], BITS - exponents)
        while rest.any():
            slices.append(np.trunc(rest))
            rest = (rest - slices[-1]) * 2.0**BITS
        joined = np.concatenate(slices, axis=1)
        cut = (len(slices), n_columns, len(slices), n_columns)
        products = (joined.T @ joined).astype(np.int64).reshape(cut)
        for p in range(len(slices)):
            for q in range(len(slices)):
                sums[p + q] = sums.get(p + q, 0) + products[p, :, q]
    last = max(sums)
    total = np.zeros((n_columns, n_columns), dtype=object)
    for weight, part in sums.items():
        total = total + part.astype(object) * 2 ** (BITS * (last - weight))
    return total


def _solve(A: list[list[int]], b: list[int]) -> list[Fraction]:
    """x with A x = b for a positive definite integer matrix."""
    n = len(A)
    M = [[*row, right] for row, right in zip(A, b, strict=True)]
    pivot = 1
    for k in range(n):
        top = M[k]
        for row in M[k + 1 :]:
            factor = row[k]
            for j in range(k + 1, n + 1):
                row[j] = (row[j] * top[k] - factor * top[j]) // pivot
        pivot = top[k]
    # The last pivot is the determinant, a common denominator of the solution.
    numerators = [0] * n
    for k in range(n - 1, -1, -1):
        known = sum(M[k][j] * numerators[j] for j in range(k + 1, n))
        numerators[k] = (pivot * M[k][n] - known) // M[k][k]
    return [Fraction(numerator, pivot) for numerator in numerators]
