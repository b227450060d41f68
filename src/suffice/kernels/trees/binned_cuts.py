"""The best cut of a node's rows by one column of bins, and a cut at random.

The bins of a column ascend, and what is missing has the bin after the last.  While bins go over
from the right side to the left one by one, the cost of both follows from what they hold: the
weights c of the classes, of which Σ c² (or Σ c log₂ c) is kept, or the sums of a regression
(`suffice.kernels.trees.criteria`).

    many rows    are added up by their bins, and the bins are gone through
    few rows     are sorted by their bins: most bins would be empty

With bins of few rows each, or of none, a cut may lie in the gap between two bins that have rows; it
is told by both.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel
from suffice.kernels.trees.binned_gains import cut_of_sums_in_order, cut_of_two_sums
from suffice.kernels.trees.binned_layout import (
    ADDED,
    FEW,
    LABELS,
    LEFT_SIDE,
    LOWER,
    N_LINES,
    ROWS,
    SHIFT,
    TOTAL,
    WEIGHTS,
    WIDE,
    Cut,
    Floats,
    Integers,
    Keys,
    Numbers,
    U,
)
from suffice.kernels.trees.criteria import ENTROPY, GINI, SQUARED_ERROR, cost_from
from suffice.kernels.trees.random_numbers import next_bits, next_uniform
from suffice.kernels.trees.row_order import EMPTY, sort_rows

SORTED_TWO, SORTED, SHARE = 48, 64, 4
"""Rows up to which they are sorted instead of added up: of two sums, and of other ones, or bins
times sums divided by the last."""


@kernel
def with_more(criterion: int, c: float, more: float) -> float:
    """What f(c) grows by if c does, for f(c) = c² or c log₂ c."""
    if criterion != ENTROPY:
        return more * (2.0 * c + more)
    now = c + more
    grown = now * np.log2(now) if now > 0 else 0.0
    return grown - (c * np.log2(c) if c > 0 else 0.0)


@kernel
def allowed(n: int, n_left: int, w: float, w_left: float, least: int, lightest: float) -> bool:
    """Whether both sides may be leaves."""
    return min(n_left, n - n_left) >= least and min(w_left, w - w_left) >= lightest


@kernel
def reads_rows(n: int, by_row: Any) -> bool:
    """Whether the cells of a node's rows are read row by row: not where few columns are drawn of
    many, for then what one of them brings into the cache serves none of the others."""
    return n <= FEW and by_row.shape[1] <= WIDE


@kernel
def add_bins(
    criterion: int, j: int, start: int, end: int, counted: bool, codes: Any, by_row: Any,
    whole: Numbers, reals: Floats, table: Floats, lists: Integers,
) -> tuple[int, int]:  # fmt: skip
    """Add up rows by their bins; the first and the last bin that has some."""
    lo, hi, few = U(codes[j, whole[ROWS, start]]), U(0), reads_rows(end - start, by_row)
    for i in range(U(start), U(end)):
        row = whole[ROWS, i]
        b = U(by_row[row, U(j)]) if few else U(codes[U(j), row])
        lo, hi = min(lo, b), max(hi, b)
        if criterion < SQUARED_ERROR:
            table[b, U(whole[LABELS, i])] += reals[WEIGHTS, i]
        else:
            table[b, U(0)] += reals[WEIGHTS, i]
            table[b, U(1)] += reals[ADDED, i]
    if counted:
        count_bins(j, start, end, codes, whole, lists)
    return np.int64(lo), np.int64(hi)


@kernel
def count_bins(j: int, start: int, end: int, codes: Any, whole: Numbers, lists: Integers) -> None:
    """Count rows by their bins."""
    for i in range(U(start), U(end)):
        lists[0, codes[j, whole[ROWS, i]]] += 1


@kernel
def add_pairs(
    j: int, start: int, end: int, codes: Any, by_row: Any, whole: Numbers, pairs: Integers,
    lists: Integers,
) -> tuple[int, int]:  # fmt: skip
    """`add_bins` of pairs: one load and one addition a row, into the second list."""
    lo, hi, few = U(codes[j, whole[ROWS, start]]), U(0), reads_rows(end - start, by_row)
    for i in range(U(start), U(end)):
        row = whole[ROWS, i]
        b = U(by_row[row, U(j)]) if few else U(codes[U(j), row])
        lo, hi = min(lo, b), max(hi, b)
        lists[1, b] += pairs[WEIGHTS, i]
    return np.int64(lo), np.int64(hi)


@kernel
def cut_of_table(
    criterion: int, lo: int, hi: int, n_bins: int, n: int, least: int, lightest: float, rest: float,
    weight: float, table: Floats, lists: Integers, sums: Floats,
) -> Cut:  # fmt: skip
    """The best cut between bins lo, …, hi whose rows were added up; their sums become 0 again.

    Parameters
    ----------
    rest, weight : float
        Σ f(c), or the sum of the targets, of the node, and its weight.
    table : float64 array of shape (bins + 1, sums)
    lists : int64 array of shape (2, bins + 1)
        The first is the numbers of rows, if `least` is more than one.
    sums : float64 array of shape (2, sums)
        Those of the node, and room.
    """
    classes, n_sums = criterion < SQUARED_ERROR, table.shape[1]
    counted = least > 1
    best, low, high, to_left = np.inf, -1, -1, False
    n_ways = 2 if hi == n_bins and lo < n_bins else 1
    for way in range(n_ways):  # what is missing to the right, then to the left
        left, right, w_left, n_left = 0.0, rest, 0.0, 0
        for k in range(n_sums):
            sums[LEFT_SIDE, k] = 0.0
        waits, last = np.inf, -1
        first = lo - 1 if way == 1 else lo
        for place in range(first, hi + 1 - way):
            b = hi if place < lo else place
            moved = 0.0
            if classes:
                for k in range(n_sums):
                    h = table[b, k]
                    if h > 0:
                        moved += h
                        c = sums[LEFT_SIDE, k]
                        left += with_more(criterion, c, h)
                        right += with_more(criterion, sums[TOTAL, k] - c, -h)
                        sums[LEFT_SIDE, k] = c + h
            else:
                moved = table[b, 0]
                left += table[b, 1]
                right -= table[b, 1]
            if not moved > 0:
                continue
            if waits < best and place >= lo:
                best, low, high, to_left = waits, last, b, way == 1
            w_left += moved
            n_left += lists[0, b] if counted else 1
            waits, last = np.inf, b
            # Where no rows are counted bins are: there are rows on a side if there are bins.
            if place >= lo and allowed(n, n_left, weight, w_left, least, lightest):
                waits = cost_from(criterion, (w_left, left))
                waits += cost_from(criterion, (weight - w_left, right))
    for b in range(lo, hi + 1):
        for k in range(n_sums):
            table[b, k] = 0.0
        if counted:
            lists[0, b] = 0
    return best, low, high, to_left


@kernel
def cut_of_order(
    criterion: int, start: int, n: int, n_bins: int, least: int, lightest: float, rest: float,
    weight: float, keys: Keys, whole: Numbers, reals: Floats, sums: Floats,
) -> Cut:  # fmt: skip
    """The best cut of rows that are sorted by their bins; see `cut_of_table`.

    Parameters
    ----------
    keys : uint64 array
        The bin of each row, and its place among those of the node.
    whole : uint32 array of shape (4, rows)
    reals : float64 array of shape (4, rows)
    """
    classes, n_sums = criterion < SQUARED_ERROR, sums.shape[1]
    known = n
    while known > 0 and np.int64(keys[known - 1] >> SHIFT) == n_bins:
        known -= 1
    best, low, high, to_left = np.inf, -1, -1, False
    for way in range(2 if 0 < known < n else 1):
        left, right, w_left = 0.0, rest, 0.0
        for k in range(n_sums):
            sums[LEFT_SIDE, k] = 0.0
        last, moved = -1, n - known if way == 1 else 0
        for i in range(known - n if way == 1 else 0, known if way == 1 else n):
            key = keys[i] if i >= 0 else keys[n + i]
            b = np.int64(key >> SHIFT)
            between = i > 0 and b != last
            if between and allowed(n, i + moved, weight, w_left, least, lightest):
                found = cost_from(criterion, (w_left, left))
                found += cost_from(criterion, (weight - w_left, right))
                if found < best:
                    best, low, high, to_left = found, last, b, way == 1
            last = b
            row = U(start) + (key & LOWER)
            w = reals[WEIGHTS, row]
            w_left += w
            if classes:
                k = whole[LABELS, row]
                c = sums[LEFT_SIDE, k]
                left += with_more(criterion, c, w)
                right += with_more(criterion, sums[TOTAL, k] - c, -w)
                sums[LEFT_SIDE, k] = c + w
            else:
                left += reals[ADDED, row]
                right -= reals[ADDED, row]
    return best, low, high, to_left


@kernel
def best_cut(
    criterion: int, packed: int, j: int, start: int, end: int, n_bins: int, least: int,
    lightest: float, rest: float, weight: float, codes: Any, by_row: Any, whole: Numbers,
    reals: Floats, pairs: Integers, table: Floats, sums: Floats, room: Floats,
    bits: NDArray[np.int64], lists: Integers, keys: Keys, cells: Numbers,
) -> tuple[bool, Cut]:  # fmt: skip
    """Whether a column varies in a node, and its best cut: rows are sorted or added up."""
    n, classes, n_sums = end - start, criterion < SQUARED_ERROR, sums.shape[1]
    two = (criterion == GINI and n_sums == 2) or criterion == SQUARED_ERROR
    # Bins of two sums cost little; otherwise each bin costs as much as some rows for each class.
    most = SORTED_TWO if two else max(SORTED, n_bins * n_sums // SHARE)
    if n <= most or n_bins > EMPTY * n:
        sort_rows(j, start, n, n_bins, by_row, whole, keys, cells, lists)
        hi = np.int64(keys[n - 1] >> SHIFT)
        if np.int64(keys[0] >> SHIFT) == hi:
            return False, (np.inf, -1, -1, False)
        if (two or criterion == GINI) and hi < n_bins and n * N_LINES <= len(room):
            return True, cut_of_sums_in_order(
                two, classes, packed, start, n, least, lightest, rest, weight, keys, whole, reals,
                pairs, sums, room, bits,
            )  # fmt: skip
        return True, cut_of_order(
            criterion, start, n, n_bins, least, lightest, rest, weight, keys, whole, reals, sums
        )
    if packed:
        lo, hi = add_pairs(j, start, end, codes, by_row, whole, pairs, lists)
        if lo == hi:
            lists[1, lo] = 0
            return False, (np.inf, -1, -1, False)
        if least > 1:
            count_bins(j, start, end, codes, whole, lists)
    else:
        lo, hi = add_bins(
            criterion, j, start, end, least > 1, codes, by_row, whole, reals, table, lists
        )
    if two and lo < hi < n_bins:
        return True, cut_of_two_sums(
            lo, hi, least, lightest, weight, sums[TOTAL, 1], classes, packed, table, lists, room,
            bits,
        )  # fmt: skip
    return lo < hi, cut_of_table(
        criterion, lo, hi, n_bins, n, least, lightest, rest, weight, table, lists, sums
    )


@kernel
def random_cut(
    criterion: int, j: int, start: int, end: int, n_bins: int, least: int, lightest: float,
    rest: float, weight: float, codes: Any, by_row: Any, points: Floats, place: int, state: Keys,
    whole: Numbers, reals: Floats, sums: Floats,
) -> tuple[bool, float, Cut]:  # fmt: skip
    """A cut between the least and the largest value of the rows, all between alike probable.

    Parameters
    ----------
    points : float64 array
        Where the bins of all columns lie among the numbers, those of this one from `place` on.

    Returns
    -------
    varies : bool
        Whether the column is not constant in the node.
    drawn : float
        Where the cut lies; NaN if all known cells go to one side.
    cut : tuple
        As of `cut_of_table`; the cost is ∞ if a side may be no leaf.
    """
    lo, hi, n_missing, few = n_bins, -1, 0, reads_rows(end - start, by_row)
    for i in range(start, end):
        b = np.int64(by_row[whole[ROWS, i], j] if few else codes[j, whole[ROWS, i]])
        if b == n_bins:
            n_missing += 1
        else:
            lo, hi = min(lo, b), max(hi, b)
    n = end - start
    if n_missing == n or (lo == hi and n_missing == 0):
        return False, np.nan, (np.inf, -1, -1, False)
    to_left, cut, drawn = False, hi, np.nan
    if lo < hi:
        least_point, largest = points[place + lo], points[place + hi]
        drawn = least_point + (largest - least_point) * next_uniform(state)
        cut, beyond = lo, hi
        while cut + 1 < beyond:  # the last bin that does not lie beyond what was drawn
            middle = (cut + beyond) >> 1
            if points[place + middle] <= drawn:
                cut = middle
            else:
                beyond = middle
        to_left = n_missing > 0 and (next_bits(state) >> np.uint64(63)) == np.uint64(1)
    w_left, n_left, left, right, low, high = 0.0, 0, 0.0, 0.0, lo, n_bins
    for k in range(sums.shape[1]):
        sums[LEFT_SIDE, k] = 0.0
    for i in range(start, end):
        b = np.int64(by_row[whole[ROWS, i], j] if few else codes[j, whole[ROWS, i]])
        if b <= cut:
            low = max(low, b)
        else:
            high = min(high, b)
        if b <= cut or (to_left and b == n_bins):
            w_left += reals[WEIGHTS, i]
            n_left += 1
            if criterion < SQUARED_ERROR:
                sums[LEFT_SIDE, whole[LABELS, i]] += reals[WEIGHTS, i]
            else:
                left += reals[ADDED, i]
    if not allowed(n, n_left, weight, w_left, least, lightest):
        return True, np.nan, (np.inf, -1, -1, False)
    if criterion < SQUARED_ERROR:
        for k in range(sums.shape[1]):
            c = sums[LEFT_SIDE, k]
            left += with_more(criterion, 0.0, c)
            right += with_more(criterion, 0.0, sums[TOTAL, k] - c)
    else:
        right = rest - left
    found = cost_from(criterion, (w_left, left)) + cost_from(criterion, (weight - w_left, right))
    return True, drawn, (found, low, high, to_left)
