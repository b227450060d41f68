"""Kernels of exact accumulation: integer slices, centring, and double-double linear algebra.

**Slices.** A Gram matrix ZᵀZ is exact when Z is an integer matrix of few bits: a product of two
integers up to 2^(β−1) and a sum of 2¹³ of them stay within 2⁵³ for 2(β − 1) + 13 ≤ 53, so that
BLAS makes no rounding error whatever order it sums in. Any Z is a short sum of such matrices
(Ozaki, Ogita, Oishi, Rump, Numer. Algorithms 59, 2012), with one exponent eⱼ a column:

    Zᵢⱼ = Σₚ kₚ,ᵢⱼ 2^(eⱼ − β(p + 1)),   kₚ = what the slices before p leave, rounded to an integer

**Pairs.** Values arrive as double-doubles, hi + lo with |lo| ≤ ulp(hi)/2, and the linear algebra on
their sums keeps 106 bits. Everything is evaluated as written: float64, rounded to nearest, no fused
multiply-add, sums in the order of the loops.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel
from suffice.kernels.sums.double_double import add, fast_two_sum, multiply, two_sum

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

ROUNDER = 6755399441055744.0  # 3 · 2⁵¹
"""(x + ROUNDER) − ROUNDER is x rounded to an integer, ties to even, for |x| ≤ 2⁵¹."""

SMALLEST = 5e-324
"""The least positive float64, 2⁻¹⁰⁷⁴."""


@kernel("const float64[:, ::1], const float64[:, ::1], const int64[::1], int64, float64[:, ::1]")
def split_slices(hi: Floats, lo: Floats, exponents: Integers, beta: int, out: Floats) -> int:
    """Split a matrix of double-doubles into slices of integers.

    With r₀ = hi + lo and w = 2^(eⱼ − β(p + 1)), in exact arithmetic,

        kₚ = rₚ / w rounded to the nearest integer, ties to even;   rₚ₊₁ = rₚ − kₚ w

    so |kₚ| ≤ 2^(β−1) for every p ≥ 1, and for p = 0 too if |r₀| ≤ 2^(eⱼ − 1); from |r₀| < 2^eⱼ
    follows |k₀| ≤ 2^β only.

    Parameters
    ----------
    hi, lo : (rows, columns)
        Finite double-doubles.
    exponents : (columns,)
        eⱼ, from −1073 to 1025, with |hi + lo| < 2^eⱼ.
    beta : int
        Bits of a slice, at most 50, and at most 900 in all slices together.
    out : (rows, slices · columns), written
        ``out[i, p * columns + j]`` is kₚ of row i and column j, an integer as a float64.

    Returns
    -------
    int
        How many leading slices are needed: all from this one on are zero in every row.
    """
    rows, columns = hi.shape
    slices = out.shape[1] // columns if columns else 0
    # One step of scaling could leave the range of float64 for tiny or huge columns, two never do.
    scale = np.empty((2, columns))
    for j in range(columns):
        shift = beta - int(exponents[j])
        scale[0, j] = math.ldexp(1.0, shift // 2)
        scale[1, j] = math.ldexp(1.0, shift - shift // 2)
    next_slice = math.ldexp(1.0, beta)
    rest_hi = np.empty(columns)
    rest_lo = np.empty(columns)
    used = 0
    for i in range(rows):
        for j in range(columns):
            rest_hi[j] = hi[i, j] * scale[0, j] * scale[1, j]
            scaled = lo[i, j] * scale[0, j] * scale[1, j]
            # What underflows is too small for any slice, but its sign still decides ties.
            if scaled == 0.0 and lo[i, j] != 0.0:
                scaled = SMALLEST if lo[i, j] > 0.0 else -SMALLEST
            rest_lo[j] = scaled
        for p in range(slices):
            nonzero = 0
            for j in range(columns):
                r, e = rest_hi[j], rest_lo[j]
                k = (r + ROUNDER) - ROUNDER
                r -= k
                # A tie for hi alone, which went to the even side: lo tells the true one.
                bump = 0.0
                if r == 0.5 and e > 0.0:
                    bump = 1.0
                if r == -0.5 and e < 0.0:
                    bump = -1.0
                k += bump
                r -= bump
                nonzero |= k != 0.0
                out[i, p * columns + j] = k
                # r is a multiple of ulp(hi), and |lo| at most half of that: |r| > |lo| or r = 0.
                r, e = fast_two_sum(r, e)
                rest_hi[j] = r * next_slice
                rest_lo[j] = e * next_slice
            if nonzero and p >= used:
                used = p + 1
    return used


@kernel(
    "const float64[:, ::1], const float64[::1], const float64[::1], "
    "float64[:, ::1], float64[:, ::1]"
)
def centre_pair(
    X: Floats, centre_hi: Floats, centre_lo: Floats, out_hi: Floats, out_lo: Floats
) -> None:
    """Subtract a double-double centre from each row, as double-doubles.

        x − (c_hi + c_lo) = (out_hi + out_lo)(1 + ε),   |ε| < 2⁻¹⁰⁴,   |out_lo| ≤ ulp(out_hi)/2

    x − c_hi = s + e exactly. If x is within a factor 2 of c_hi, e = 0 and so is ε. Otherwise
    |s| ≥ |c_hi|/2, and rounding e − c_lo errs by at most u(u|s| + u|c_hi|) ≤ 3u²|s|.
    """
    rows, columns = X.shape
    for i in range(rows):
        for j in range(columns):
            s, e = two_sum(X[i, j], -centre_hi[j])
            out_hi[i, j], out_lo[i, j] = two_sum(s, e - centre_lo[j])


@kernel("float64[:, ::1], float64[:, ::1], const float64[::1], const float64[::1], int64")
def downdate(S_hi: Floats, S_lo: Floats, l_hi: Floats, l_lo: Floats, start: int) -> None:
    """Subtract l lᵀ from the lower triangle of S from row and column `start` on, in place.

        Sᵢⱼ ← Sᵢⱼ − lᵢ lⱼ   for start ≤ j ≤ i

    One column's elimination in a double-double Cholesky factorisation. The product errs by at most
    5u² of itself, the difference by 3u² of the result. Products are to stay in [2⁻⁹⁶⁹, 2¹⁰²³] or
    be zero, and |l| below 2⁹⁹⁶.
    """
    for i in range(start, S_hi.shape[0]):
        # Views that begin at `start`: indices known to be positive let the compiler vectorise.
        row_hi, row_lo = S_hi[i, start : i + 1], S_lo[i, start : i + 1]
        b_hi, b_lo = l_hi[start : i + 1], l_lo[start : i + 1]
        a_hi, a_lo = -l_hi[i], -l_lo[i]
        for j in range(b_hi.shape[0]):
            p_hi, p_lo = multiply(a_hi, a_lo, b_hi[j], b_lo[j])
            row_hi[j], row_lo[j] = add(row_hi[j], row_lo[j], p_hi, p_lo)


@kernel(
    "const float64[:, ::1], const float64[:, ::1], const float64[::1], const float64[::1], "
    "float64[::1], float64[::1]"
)
def double_double_matvec(
    S_hi: Floats, S_lo: Floats, x_hi: Floats, x_lo: Floats, out_hi: Floats, out_lo: Floats
) -> None:
    """Multiply a dense matrix with a vector, all double-double: out = S x.

    The n products of a row are summed by halving: the second half is added to the first until one
    is left. This errs by at most (5 + 3⌈log₂ n⌉)u² Σ|Sᵢⱼ xⱼ| (to first order), and each halving is
    a loop over contiguous memory.
    """
    rows, columns = S_hi.shape
    p_hi = np.empty(max(columns, 1))
    p_lo = np.empty(max(columns, 1))
    p_hi[0] = p_lo[0] = 0.0  # the sum of no products
    for i in range(rows):
        for j in range(columns):
            p_hi[j], p_lo[j] = multiply(S_hi[i, j], S_lo[i, j], x_hi[j], x_lo[j])
        width = columns
        while width > 1:
            half = (width + 1) // 2
            for j in range(width - half):
                p_hi[j], p_lo[j] = add(p_hi[j], p_lo[j], p_hi[half + j], p_lo[half + j])
            width = half
        out_hi[i] = p_hi[0]
        out_lo[i] = p_lo[0]
