"""Random numbers that are computed from a counter (SplitMix64), and the rows that a tree draws.

The draws of a tree depend on its key alone, which is mixed from the seed and the tree's number: so
a forest is the same in whatever order, and on however many threads, its trees grow.

Reference: Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
HALF = np.uint64(32)
UNIT = 2.0**-53


@kernel
def mixed(counter: np.uint64) -> np.uint64:
    """64 random bits from a counter."""
    z = counter
    z = (z ^ (z >> np.uint64(30))) * FIRST
    z = (z ^ (z >> np.uint64(27))) * SECOND
    return z ^ (z >> np.uint64(31))


@kernel
def next_bits(state: NDArray[np.uint64]) -> np.uint64:
    """64 random bits; the state goes on."""
    state[0] += GOLDEN
    return mixed(state[0])


@kernel
def next_below(state: NDArray[np.uint64], n: int) -> int:
    """A whole number from 0 to n − 1, with n below 2³²."""
    return np.int64(((next_bits(state) >> HALF) * np.uint64(n)) >> HALF)


@kernel
def next_uniform(state: NDArray[np.uint64]) -> float:
    """A number from 0 to 1, 1 left out."""
    return np.float64(next_bits(state) >> np.uint64(11)) * UNIT


@kernel("uint64, int64, const float64[::1], int32[::1]")
def draw_rows(
    key: int | np.uint64, n_draws: int, cumulative: NDArray[np.float64], counts: NDArray[np.int32]
) -> None:
    """Draw rows with replacement, and count how often each was drawn.

    Parameters
    ----------
    key : uint64
        Of the tree.
    n_draws : int
    cumulative : float64 array of shape (rows,), or (0,)
        Sums of the rows' weights, in whose proportion they are drawn; all alike if empty.
    counts : int32 array of shape (rows,)
        Takes the multiplicities.
    """
    n = len(counts)
    counts[:] = 0
    for i in range(n_draws):
        bits = mixed(key + np.uint64(i + 1) * GOLDEN)
        if len(cumulative) == 0:
            counts[((bits >> HALF) * np.uint64(n)) >> HALF] += 1
            continue
        place = np.float64(bits >> np.uint64(11)) * UNIT * cumulative[n - 1]
        low, high = 0, n - 1
        while low < high:  # the first row whose sum is larger
            middle = (low + high) // 2
            if cumulative[middle] > place:
                high = middle
            else:
                low = middle + 1
        counts[low] += 1
