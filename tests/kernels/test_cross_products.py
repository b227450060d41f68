"""Residuals of a line and their products with the columns, against exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from suffice.kernels.sums.cross_products import (
    add_cross_products,
    add_sparse_cross_products,
    subtract_line,
)

U = Fraction(1, 2**53)


def rows(n: int, d: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-8, 9, (n, d))
    values[rng.random((n, d)) < 0.3] = 0.0
    return values


@pytest.mark.parametrize("stored", ["dense", "sparse"])
@pytest.mark.parametrize(("n", "d", "k"), [(40, 5, 2), (7, 1, 1), (0, 3, 1)])
def test_products_lose_no_digit(stored: str, n: int, d: int, k: int) -> None:
    X, V = rows(n, d, 1), rows(n, k, 2)
    hi, lo = np.full((k, d), 0.25), np.full((k, d), 1e-20)
    if stored == "dense":
        add_cross_products(X, V, hi, lo)
    else:
        C = sparse.csr_array(X)
        indices, indptr = C.indices.astype(np.int64), C.indptr.astype(np.int64)
        add_sparse_cross_products(C.data, indices, indptr, V, hi, lo)
    for t in range(k):
        for j in range(d):
            terms = [Fraction(x) * Fraction(v) for x, v in zip(X[:, j], V[:, t], strict=True)]
            terms += [Fraction(0.25), Fraction(1e-20)]
            error = Fraction(hi[t, j]) + Fraction(lo[t, j]) - sum(terms)
            assert abs(error) <= ((n + 2) * U) ** 2 * sum(map(abs, terms))


def test_residuals_are_rounded_as_bounded() -> None:
    X, theta = rows(30, 6, 3), rows(2, 6, 4)
    centre = X.mean(axis=0)
    out = rows(30, 2, 5)
    before = out.copy()
    subtract_line(X, centre, theta, out)
    for i in range(30):
        for t in range(2):
            away = [Fraction(x) - Fraction(c) for x, c in zip(X[i], centre, strict=True)]
            terms = [a * Fraction(v) for a, v in zip(away, theta[t], strict=True)]
            exact = Fraction(before[i, t]) - sum(terms)
            allowed = (len(terms) + 3) * U * sum(map(abs, terms)) + U * abs(exact)
            assert abs(Fraction(out[i, t]) - exact) <= allowed
