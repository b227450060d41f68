"""The exponential function of many numbers at once.

exp(x) = 2ᵏ · exp(r) with k the integer nearest to x / log 2 and |r| ≤ ½ log 2, where a
polynomial of degree 11 (interpolating at Chebyshev's points) is exact to rounding.  No step has a
branch or calls the C library, so the compiler turns a loop over numbers into vector instructions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel

Floats = NDArray[np.float64]

LOG2_E = 1.4426950408889634
LOG_2_HIGH, LOG_2_LOW = 0.6931471803691238, 1.9082149292705877e-10  # the first has 33 bits
NEAREST = 6755399441055744.0
"""1.5 · 2⁵²: adding it rounds to an integer, which then stands in the lowest bits."""

LOWEST = -600.0
"""Exponents below count as this one: products of the result do not become subnormal."""


@kernel("float64[:, ::1], const float64[::1]")
def exp_of_differences(values: Floats, rows: Floats) -> None:
    """exp(valuesᵢⱼ − rowsᵢ), written over the values.

    A difference may be up to 700, and counts as −600 where it is less.  The relative error is
    below 4e-16, besides that of the difference.

    Parameters
    ----------
    values : (rows, columns), overwritten
    rows : (rows,)
    """
    rounded, power = np.empty(values.shape[1]), np.empty(values.shape[1])
    for i in range(values.shape[0]):
        x = values[i]
        for j in range(len(x)):
            x[j] = max(x[j] - rows[i], LOWEST)
        exp_in_place(x, rounded, power)


@kernel
def exp_of(x: float) -> float:
    """exp of a number between −600 and 700."""
    rounded = np.float64(x * LOG2_E + NEAREST)
    power = np.int64((rounded.view(np.int64) + 1023) << 52).view(np.float64)
    return exp_by_parts(x, rounded, power)


@kernel
def exp_by_parts(x: float, rounded: float, power: float) -> float:
    """exp of a number, given k + NEAREST and 2ᵏ."""
    k = rounded - NEAREST
    r = (x - k * LOG_2_HIGH) - k * LOG_2_LOW
    # In pairs and not one after the other: four products can be under way at once.
    r2 = r * r
    r4 = r2 * r2
    a = 0.5000000000000019 + r * 0.1666666666666668
    b = 0.0416666666664881 + r * 0.008333333333319601
    c = 0.0013888888952314775 + r * 0.00019841269890047113
    d = 2.4801485482328494e-05 + r * 2.755724091857897e-06
    e = 2.763263963904103e-07 + r * 2.5110037605963777e-08
    return power * (1.0 + (r + r2 * ((a + r2 * b) + r4 * ((c + r2 * d) + r4 * e))))


@kernel
def exp_in_place(x: Floats, rounded: Floats, power: Floats) -> None:
    """exp of each number between −600 and 700; the other two arrays are room to work in."""
    n = len(x)
    bits, power_bits = rounded.view(np.int64), power.view(np.int64)
    for j in range(n):
        rounded[j] = x[j] * LOG2_E + NEAREST
    for j in range(n):
        power_bits[j] = (bits[j] + 1023) << 52
    for j in range(n):
        x[j] = exp_by_parts(x[j], rounded[j], power[j])
