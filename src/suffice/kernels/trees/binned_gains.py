"""What cuts between bins gain, many at a time, for the Gini index and the squared error.

The sums of all places where a column can be cut are written side by side, so that a loop without
branches divides several at a time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel
from suffice.kernels.trees.binned_layout import (
    ADDED,
    LABELS,
    LEFT_SIDE,
    LOWER,
    SHIFT,
    TOTAL,
    WEIGHTS,
    Cut,
    Floats,
    Integers,
    Keys,
    Numbers,
    U,
)


@kernel
def places(room: Floats) -> tuple[np.uint64, np.uint64, np.uint64]:
    """Where the lines of weights, sums and sums of the right side begin; gains are the first.

    Slices would be counted by numba's runtime, which took a third of the time.
    """
    n = U(len(room)) >> U(2)
    return n, n + n, n + n + n


@kernel
def unpacked(pair: int) -> tuple[float, float]:
    """The weight, and that of the second class, of a pair; see `grow_from_bins`."""
    return np.float64(np.int32(pair >> 32)), np.float64(np.int32(pair & 0x7FFFFFFF))


@kernel
def unpack_sums(first: int, last: int, room: Floats, bits: NDArray[np.int64]) -> None:
    """The weights and sums of places first, …, last − 1, from pairs in the line behind."""
    to_weight, to_sum, to_pair = places(room)
    for i in range(U(first), U(last)):
        room[to_weight + i], room[to_sum + i] = unpacked(bits[to_pair + i])


@kernel
def gains_of_two(first: int, last: int, weight: float, total: float, room: Floats) -> None:
    """What cuts after places first, …, last − 1 gain, from the sums of two classes or of targets.

    With W and S of a side its weight and its sum of targets, or its weight of the second class,
    both impurities fall by a multiple of (S_L W − S W_L)² / (W_L W_R).  Each sum has its own line:
    eight are divided at a time (34 ns for 255 bins), while a table whose width is unknown to the
    compiler is gone through one by one (230 ns).
    """
    to_weight, to_sum = places(room)[:2]
    for i in range(U(first), U(last)):
        w = room[to_weight + i]
        d = room[to_sum + i] * weight - total * w
        room[i] = d * d / (w * (weight - w)) if w < weight else -1.0


@kernel
def gains_of_squares(first: int, last: int, weight: float, room: Floats) -> None:
    """`gains_of_two` from Σ c² of both sides: Σ c²/W of the one and of the other."""
    to_weight, to_sum, to_right = places(room)
    for i in range(U(first), U(last)):
        w = room[to_weight + i]
        gain = room[to_sum + i] / w + room[to_right + i] / (weight - w)
        room[i] = gain if w < weight else -1.0


@kernel
def largest(first: int, last: int, bits: NDArray[np.int64]) -> int:
    """The place of the largest gain, or −1 if none is from 0 on.

    The bits of such numbers have their order, and a maximum of integers is found several at a time.
    """
    most = np.int64(-1)
    for i in range(U(first), U(last)):
        most = max(most, bits[i])
    if most < 0:
        return -1
    place = U(first)
    while bits[place] != most:
        place += U(1)
    return np.int64(place)


@kernel
def heavy_enough(
    first: int, last: int, weight: float, lightest: float, room: Floats
) -> tuple[int, int]:
    """Those of the places first, …, last − 1 that leave both sides as much weight as is asked."""
    to_weight = np.int64(places(room)[0])
    while first < last and room[to_weight + first] < lightest:
        first += 1
    while first < last and weight - room[to_weight + last - 1] < lightest:
        last -= 1
    return first, last


@kernel
def cost_of_two(classes: bool, weight: float, total: float, gain: float) -> float:
    """The cost of both sides, of a gain from `gains_of_two`."""
    factor = 2.0 if classes else 1.0
    base = factor * (total - total * total / weight) if classes else -total * total / weight
    return base - factor * gain / weight


@kernel
def add_sums_of_bins(lo: int, hi: int, classes: bool, table: Floats, room: Floats) -> None:
    """The weights and sums up to each of the bins lo, …, hi, whose own become 0."""
    to_weight, to_sum = places(room)[:2]
    w_left, left = 0.0, 0.0
    for b in range(U(lo), U(hi) + U(1)):
        one, other = table[b, U(0)], table[b, U(1)]
        w_left += one + other if classes else one
        left += other
        room[to_weight + b], room[to_sum + b] = w_left, left
        table[b, U(0)], table[b, U(1)] = 0.0, 0.0


@kernel
def add_pairs_of_bins(
    lo: int, hi: int, lists: Integers, room: Floats, bits: NDArray[np.int64]
) -> None:
    """`add_sums_of_bins` of pairs: one addition a bin, that takes one cycle and not four."""
    to_pair, pair = places(room)[2], np.int64(0)
    for b in range(U(lo), U(hi) + U(1)):
        pair += lists[1, b]
        bits[to_pair + b] = pair
        lists[1, b] = 0
    unpack_sums(lo, hi + 1, room, bits)


@kernel
def cut_of_two_sums(
    lo: int, hi: int, least: int, lightest: float, weight: float, total: float, classes: bool,
    packed: int, table: Floats, lists: Integers, room: Floats, bits: NDArray[np.int64],
) -> Cut:  # fmt: skip
    """`cut_of_table` for the squared error, or the Gini index of two classes; nothing is missing.

    There are no branches: empty bins gain what the bin before them does.  What both sides must have
    shortens the range of the cuts.

    Parameters
    ----------
    total : float
        The sum of the node.
    room, bits : float64 and int64 arrays of shape (4 · lines,)
        The same array; its lines are those of gains, weights, sums, and sums of the right side.
    """
    first, last = lo, hi
    if least > 1:
        n_left, n_right = lists[0, lo], lists[0, hi]
        while n_left < least and first < last:
            first += 1
            n_left += lists[0, first]
        while n_right < least and last > first:
            last -= 1
            n_right += lists[0, last]
        for b in range(lo, hi + 1):
            lists[0, b] = 0
    if packed:
        add_pairs_of_bins(lo, hi, lists, room, bits)
    else:
        add_sums_of_bins(lo, hi, classes, table, room)
    first, last = heavy_enough(first, last, weight, lightest, room)
    gains_of_two(first, last, weight, total, room)
    low = largest(first, last, bits)
    if low < 0:
        return np.inf, -1, -1, False
    high, begin = low + 1, np.int64(places(room)[0])
    while high < hi and room[begin + high] == room[begin + low]:
        high += 1
    return cost_of_two(classes, weight, total, room[low]), low, high, False


@kernel
def add_in_order(
    two: bool, classes: bool, start: int, n: int, rest: float, keys: Keys, whole: Numbers,
    reals: Floats, sums: Floats, room: Floats,
) -> None:  # fmt: skip
    """Add up rows in the order of their bins: weights and sums of two, or Σ c² of both sides."""
    to_weight, to_sum, to_right = places(room)
    w_left, left, right = 0.0, 0.0, rest
    if not two:
        for k in range(sums.shape[1]):
            sums[LEFT_SIDE, k] = 0.0
    for i in range(U(n)):
        row = U(start) + (keys[i] & LOWER)
        w = reals[WEIGHTS, row]
        w_left += w
        if not two:
            k = whole[LABELS, row]
            c = sums[LEFT_SIDE, k]
            left += w * (2.0 * c + w)
            right -= w * (2.0 * (sums[TOTAL, k] - c) - w)
            sums[LEFT_SIDE, k] = c + w
            room[to_right + i] = right
        elif classes:
            left += w * np.float64(whole[LABELS, row])
        else:
            left += reals[ADDED, row]
        room[to_weight + i], room[to_sum + i] = w_left, left


@kernel
def add_pairs_in_order(
    start: int, n: int, keys: Keys, pairs: Integers, room: Floats, bits: NDArray[np.int64]
) -> None:
    """`add_in_order` of pairs."""
    to_pair, pair = places(room)[2], np.int64(0)
    for i in range(U(n)):
        pair += pairs[WEIGHTS, U(start) + (keys[i] & LOWER)]
        bits[to_pair + i] = pair
    unpack_sums(0, n, room, bits)


@kernel
def cut_of_sums_in_order(
    two: bool, classes: bool, packed: int, start: int, n: int, least: int, lightest: float,
    rest: float, weight: float, keys: Keys, whole: Numbers, reals: Floats, pairs: Integers,
    sums: Floats, room: Floats, bits: NDArray[np.int64],
) -> Cut:  # fmt: skip
    """`cut_of_order` for the Gini index and the squared error, if nothing is missing."""
    if packed:
        add_pairs_in_order(start, n, keys, pairs, room, bits)
    else:
        add_in_order(two, classes, start, n, rest, keys, whole, reals, sums, room)
    first, last = heavy_enough(least - 1, n - least, weight, lightest, room)
    if two:
        gains_of_two(first, last, weight, sums[TOTAL, 1], room)
    else:
        gains_of_squares(first, last, weight, room)
    for i in range(U(first), U(last)):  # there is no cut between rows of one bin
        room[i] = room[i] if (keys[i] ^ keys[i + U(1)]) > LOWER else -1.0
    place = largest(first, last, bits)
    if place < 0:
        return np.inf, -1, -1, False
    best = room[place]
    found = cost_of_two(classes, weight, sums[TOTAL, 1], best) if two else weight - best
    return found, np.int64(keys[place] >> SHIFT), np.int64(keys[place + 1] >> SHIFT), False
