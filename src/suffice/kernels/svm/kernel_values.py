"""The Gaussian kernel from products of rows, in float32 and in float64.

exp(x) in float32 as in `suffice.kernels.density.exponential`: 2ᵏ · exp(r), with a polynomial of
degree 7 for exp(r).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel
from suffice.kernels.density.exponential import LOWEST, exp_in_place

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

NEAREST = np.float32(12582912.0)
"""1.5 · 2²³: adding it rounds to an integer, which then stands in the lowest bits."""

LOG2_E = np.float32(1.4426950408889634)
LOG_2_HIGH, LOG_2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
SMALLEST = np.float32(-87.0)
ZERO, ONE = np.float32(0.0), np.float32(1.0)
P2, P3, P4 = np.float32(5.0000001201e-1), np.float32(1.6666665459e-1), np.float32(4.1665795894e-2)
P5, P6, P7 = np.float32(8.3334519073e-3), np.float32(1.3981999507e-3), np.float32(1.9875691500e-4)


@kernel("float32[:, ::1], const float32[::1], const float32[::1], float32")
def gaussian_singles(products: Singles, rows: Singles, others: Singles, factor: float) -> None:
    """exp(factor · x·z − rowsᵢ − othersⱼ), at most 1, written over the products.

    Parameters
    ----------
    products : (rows, others), overwritten
    rows, others : (rows,), (others,)
        γ ‖x‖² of each.
    factor : float
        2γ.
    """
    m = products.shape[1]
    rounded, power = np.empty(m, np.float32), np.empty(m, np.float32)
    bits, power_bits = rounded.view(np.int32), power.view(np.int32)
    for i in range(products.shape[0]):
        x, own = products[i], rows[i]
        for j in range(m):
            value = factor * x[j] - own - others[j]
            value = value if value < ZERO else ZERO
            value = value if value > SMALLEST else SMALLEST
            x[j] = value
            rounded[j] = value * LOG2_E + NEAREST
        for j in range(m):
            power_bits[j] = np.int32(bits[j] + np.int32(127)) << np.int32(23)
        for j in range(m):
            k = rounded[j] - NEAREST
            r = x[j] - k * LOG_2_HIGH - k * LOG_2_LOW
            p = ((((P7 * r + P6) * r + P5) * r + P4) * r + P3) * r + P2
            x[j] = (p * r * r + r + ONE) * power[j]


@kernel("float64[:, ::1], const float64[::1], const float64[::1], float64")
def gaussian_doubles(products: Floats, rows: Floats, others: Floats, factor: float) -> None:
    """The same in float64."""
    m = products.shape[1]
    rounded, power = np.empty(m), np.empty(m)
    for i in range(products.shape[0]):
        x, own = products[i], rows[i]
        for j in range(m):
            value = factor * x[j] - own - others[j]
            value = value if value < 0.0 else 0.0
            x[j] = value if value > LOWEST else LOWEST
        exp_in_place(x, rounded, power)


@kernel(
    "const float32[:, ::1], const int64[::1], float32[:, ::1]",
    "const float64[:, ::1], const int64[::1], float64[:, ::1]",
)
def take_block(K: Singles, rows: NDArray[np.int64], block: Singles) -> None:
    """Copy rows and columns of these numbers, and set the columns beyond to 0.

    Parameters
    ----------
    K : (rows, others)
    rows : (some,)
    block : (some, some or more), written
    """
    m = len(rows)
    for a in range(m):
        source, target = K[rows[a]], block[a]
        for c in range(m):
            target[c] = source[rows[c]]
        for c in range(m, block.shape[1]):
            target[c] = 0
