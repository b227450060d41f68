"""Gram matrices without rounding error.

Each column of a block is cut into *slices* of few bits: integers kₚ with

    z = k₀ 2^(e−β) + k₁ 2^(e−2β) + k₂ 2^(e−3β) + …,      |kₚ| ≤ 2^(β−1),

one exponent e for the whole column.  With β small enough for the number of rows,
every dot product of two slices is an integer below 2⁵³, so an ordinary float64
matrix product of slices is **exact**, in whatever order BLAS adds it up.  A handful
of such products, added in double-double, are the Gram matrix to about 2⁻¹⁰⁴ of the
columns' norms; and a matrix product is the fastest thing a processor does.

Reference: Ozaki, Ogita, Oishi and Rump, "Error-free transformations of matrix
multiplication by using fast routines of matrix multiplication" (2012).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.sums.exact import split_slices
from suffice.numerics.double_double import Array, DoubleDouble, quick_two_sum, two_sum

MOST_SLICES = 6
"""Six slices hold 114 bits or more below a column's largest entry."""

COMPILED_FROM = 1 << 14
"""Cells from which a block is cut by a compiled kernel; below, by NumPy."""


def slice_bits(n_rows: int) -> int:
    """Bits β of a slice for which all sums over `n_rows` rows stay exact.

    A product of two slices is at most 2^(2β−2); up to eight products of slice pairs
    of equal weight are added before anything is rounded: 2β − 2 + log₂ rows + 3 ≤ 53.
    """
    return (52 - max(n_rows - 1, 1).bit_length()) // 2


def column_exponents(hi: Array) -> NDArray[np.int64]:
    """Exponents e with |z| < 2^(e−1) in each column (0 for a column of zeros)."""
    largest = np.abs(hi).max(axis=0, initial=0.0)
    return np.where(largest > 0, np.frexp(largest)[1] + 1, 0)


def split(Z: DoubleDouble, exponents: NDArray[np.int64], bits: int) -> list[Array]:
    """The slices of a block, from the most to the least significant; zeros end it.

    Parameters
    ----------
    Z : DoubleDouble of shape (rows, columns)
    exponents : int array of shape (columns,)
        With |Z| < 2^(e−1) in each column.
    bits : int
        β, the bits of a slice.

    Returns
    -------
    list of float64 arrays of shape (rows, columns), with integer values
    """
    # In two steps: one would leave the range of float64 for columns of tiny numbers.
    shift = bits - exponents
    rest = Z.scaled(np.ldexp(1.0, shift // 2)).scaled(np.ldexp(1.0, shift - shift // 2))
    slices = []
    for _ in range(MOST_SLICES):
        integers = np.rint(rest.hi)
        slices.append(integers)
        rest = DoubleDouble(*two_sum(rest.hi - integers, rest.lo)).scaled(2.0**bits)
        if not rest.hi.any():
            break
    return slices


def exact_gram(left: DoubleDouble, right: DoubleDouble | None = None) -> DoubleDouble:
    """`leftᵀ · right` for two blocks of the same rows (`right` = `left` by default).

    Parameters
    ----------
    left, right : DoubleDouble of shape (rows, columns)
        Finite numbers; at most 2¹⁶ rows.

    Returns
    -------
    DoubleDouble of shape (columns of left, columns of right)
        Exact wherever six slices hold all bits of a column, else with an error below
        2⁻¹⁰⁴ of the product of the two columns' largest entries times the rows; below
        2⁻⁹⁷⁰ the second word of a result underflows, and 2⁻¹⁰⁷⁰ may be lost.
    """
    bits = slice_bits(left.shape[0])
    e_left = column_exponents(left.hi)
    A, n_left = _joined_slices(left, e_left, bits)
    e_right, B, n_right = e_left, A, n_left
    if right is not None:
        e_right = column_exponents(right.hi)
        B, n_right = _joined_slices(right, e_right, bits)
    product = (A.T @ B).reshape(n_left, e_left.size, n_right, e_right.size)
    terms = _antidiagonals(lambda p, q: product[p, :, q, :], n_left, n_right)
    return _weigh(terms, bits).scaled(np.ldexp(1.0, e_left)[:, None] * np.ldexp(1.0, e_right))


def _joined_slices(Z: DoubleDouble, exponents: NDArray[np.int64], bits: int) -> tuple[Array, int]:
    """The slices side by side, and how many they are."""
    rows, columns = Z.shape
    if rows * columns < COMPILED_FROM:
        parts = split(Z, exponents, bits)
        return np.concatenate(parts, axis=1), len(parts)
    joined = np.empty((rows, MOST_SLICES * columns))
    used = split_slices(
        np.ascontiguousarray(Z.hi),
        np.ascontiguousarray(Z.lo),
        exponents.astype(np.int64),
        bits,
        joined,
    )
    return joined[:, : max(used, 1) * columns], max(used, 1)


def _antidiagonals(product: Any, n_left: int, n_right: int) -> list[Array]:
    """Sums of the slice products of equal weight, p + q = s, for s = 0, 1, …: exact."""
    sums = []
    for s in range(n_left + n_right - 1):
        pairs = range(max(0, s - n_right + 1), min(s, n_left - 1) + 1)
        total = product(pairs[0], s - pairs[0])
        for p in pairs[1:]:
            total = total + product(p, s - p)
        sums.append(total)
    return sums


def _weigh(terms: list[Array], bits: int) -> DoubleDouble:
    """Σₛ terms[s] · 2^(−β(s+2)), from the smallest weight up."""
    hi = terms[-1] * 2.0 ** (-bits * (len(terms) + 1))
    lo = np.zeros_like(hi)
    for s in range(len(terms) - 2, -1, -1):
        hi, error = two_sum(terms[s] * 2.0 ** (-bits * (s + 2)), hi)
        hi, lo = quick_two_sum(hi, lo + error)
    return DoubleDouble(hi, lo)


def exact_sparse_gram(
    X: Any, data: DoubleDouble, dense: DoubleDouble, weighted_dense: DoubleDouble
) -> DoubleDouble:
    """`[X, dense]ᵀ · [X', dense']` with the sparse X never filled in.

    Parameters
    ----------
    X : csr_array of shape (rows, columns)
    data : DoubleDouble of shape (non-zeros,)
        The entries of X' where X has its own: X with each row times its weight.
    dense, weighted_dense : DoubleDouble of shape (rows, k)
        Further columns, as they are and times the weights.

    Returns
    -------
    DoubleDouble of shape (columns + k, columns + k)
    """
    bits = slice_bits(X.shape[0])
    left = _sparse_slices(X, DoubleDouble.of(X.data), bits)
    right = _sparse_slices(X, data, bits)
    left_dense = _dense_slices(dense, bits)
    right_dense = _dense_slices(weighted_dense, bits)
    cross = _product(left, right_dense, bits)
    return _blocks(
        _product(left, right, bits), cross, cross.T, _product(left_dense, right_dense, bits)
    )


Slices = tuple[list[Any], NDArray[np.int64]]
"""Integer matrices and their columns' exponents."""


def _dense_slices(Z: DoubleDouble, bits: int) -> Slices:
    exponents = column_exponents(Z.hi)
    return split(Z, exponents, bits), exponents


def _sparse_slices(X: Any, data: DoubleDouble, bits: int) -> Slices:
    largest = np.zeros(X.shape[1])
    np.maximum.at(largest, X.indices, np.abs(data.hi))
    exponents = column_exponents(largest[None, :])
    parts = split(data, exponents[X.indices], bits)
    return [type(X)((part, X.indices, X.indptr), shape=X.shape) for part in parts], exponents


def _product(left: Slices, right: Slices, bits: int) -> DoubleDouble:
    (A, e_left), (B, e_right) = left, right

    def product(p: int, q: int) -> Array:
        result = A[p].T @ B[q]
        return np.asarray(result.toarray() if hasattr(result, "toarray") else result)

    total = _weigh(_antidiagonals(product, len(A), len(B)), bits)
    return total.scaled(np.ldexp(1.0, e_left)[:, None] * np.ldexp(1.0, e_right))


def _blocks(a: DoubleDouble, b: DoubleDouble, c: DoubleDouble, d: DoubleDouble) -> DoubleDouble:
    return DoubleDouble(
        np.block([[a.hi, b.hi], [c.hi, d.hi]]), np.block([[a.lo, b.lo], [c.lo, d.lo]])
    )
