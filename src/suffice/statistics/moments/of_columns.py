"""From a block of rows to the moments of each group and column.

Every group and column is summed about a centre near its mean, c, with d = x − c:

    m = c + Σ w d / W,      s = Σ w d² − (Σ w d)² / W

Large blocks take compiled kernels, small ones NumPy; the shape alone decides.  There, rows are
sorted by group and added in pairs, the pairs in pairs, and so on.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.sums.group_sums import (
    centred_sums,
    double_double_sums,
    farthest,
    near_means,
    weighted_sums,
)
from suffice.numerics.double_double import Array, DoubleDouble, quick_two_sum, two_sum
from suffice.statistics.base import Precision
from suffice.statistics.moments.merging import joint, placed
from suffice.statistics.moments.products import SMALLEST_SQUARE

Codes = NDArray[np.int64]

COMPILED_FROM = 1 << 14
"""Cells from which a block is summed by compiled kernels; below, by NumPy."""

TOO_LARGE = "infinity or a value too large, whose (weighted) square overflows"

ROWS_OF_CHUNK = 256
"""Rows that are added one by one before their sums are."""


@dataclass(frozen=True)
class GroupSums:
    """Sums over the cells of each group and column, about `centre`."""

    centre: Array
    count: NDArray[np.int64]
    weight: DoubleDouble
    sums: Any
    squares: Any
    roundings: int
    farthest: Array | None


def group_sums(
    X: Any, codes: Codes, n_groups: int, weight: Array | None, precision: Precision
) -> tuple[Any, ...]:
    """Count, weight, mean, its rest, scatter, magnitude and roundings of each group and column.

    Parameters
    ----------
    X : array of shape (rows, columns)
        At least one row; NaN where a cell is missing.
    codes : array of shape (rows,)
        The group of each row.
    n_groups : int
    weight : array of shape (rows,), positive, or None
    precision : {"float64", "double-double"}

    Raises
    ------
    FloatingPointError
        If a value is infinite, or its square overflows.
    """
    rows = np.ascontiguousarray(X, dtype=np.float64)
    by_numpy = rows.size < COMPILED_FROM
    with np.errstate(over="ignore", invalid="ignore"):
        summed = (_sorted if by_numpy else _compiled)(rows, codes, n_groups, weight, precision)
        squares = summed.squares.hi if precision == "double-double" else summed.squares
        if not np.isfinite(squares).all():
            raise FloatingPointError(TOO_LARGE)
    return _moments(summed, squares + _floor(summed, squares, rows, codes))


def _moments(found: GroupSums, magnitude: Array) -> tuple[Any, ...]:
    empty = found.weight.hi == 0
    total = DoubleDouble(np.where(empty, 1.0, found.weight.hi), found.weight.lo)
    if isinstance(found.sums, DoubleDouble):
        offset = found.sums / total
        hi, first = two_sum(found.centre, offset.hi)
        lo, rest = two_sum(first, offset.lo)
        mean = DoubleDouble(*quick_two_sum(hi, lo))
        moved = found.sums * offset
        scatter, shift = found.squares - moved, moved.hi
    else:
        offset = found.sums / total.hi
        mean, rest = DoubleDouble(*two_sum(found.centre, offset)), np.zeros_like(offset)
        shift = found.sums * offset
        scatter = np.maximum(found.squares - shift, 0.0)
    return (
        found.count, found.weight, mean, rest, scatter, joint(magnitude, shift), found.roundings
    )  # fmt: skip


def _floor(found: GroupSums, squares: Array, rows: Array, codes: Codes) -> Array:
    """What underflow may hide in the squares of a column that is not constant."""
    small = squares < SMALLEST_SQUARE
    if not small.any():
        return np.zeros_like(squares)
    largest = found.farthest
    if largest is None:
        largest = np.zeros_like(squares)
        farthest(rows, codes, found.centre, largest)
    return np.where(small & (largest > 0), SMALLEST_SQUARE, 0.0)


# --- compiled ------------------------------------------------------------------------------


def _compiled(
    rows: Array, codes: Codes, n_groups: int, weight: Array | None, precision: Precision
) -> GroupSums:
    shape = (n_groups, rows.shape[1])
    w = np.empty(0) if weight is None else np.ascontiguousarray(weight, dtype=np.float64)
    first, centre = np.empty(shape), np.empty(shape)
    near_means(rows, codes, w, 8, first, centre)
    for last in (False, False, True):
        if precision == "double-double":
            found = _double_double(rows, codes, w, centre)
            sums, squares = found.sums.hi, found.squares.hi
        else:
            found = _float64(rows, codes, w, centre)
            sums, squares = found.sums, found.squares
        offset = sums / np.where(found.weight.hi > 0, found.weight.hi, 1.0)
        # Far from the mean, digits would cancel: centre again, there.
        far = sums * offset > 0.9 * squares
        if last or not far.any():
            break
        centre = np.where(far, centre + offset, centre)
    return found


def _float64(rows: Array, codes: Codes, w: Array, centre: Array) -> GroupSums:
    chunk = max(ROWS_OF_CHUNK, 8 * len(centre))
    count = np.zeros(centre.shape, np.int64)
    sums, squares = np.zeros(centre.shape), np.zeros(centre.shape)
    if len(w):
        heft, rest = np.zeros(centre.shape), np.zeros(centre.shape)
        weighted_sums(rows, codes, w, centre, chunk, count, heft, rest, sums, squares)
        weight = DoubleDouble(*quick_two_sum(heft, rest))
    else:
        centred_sums(rows, codes, centre, chunk, count, sums, squares)
        weight = DoubleDouble.of(count.astype(np.float64))
    roundings = min(int(count.max(initial=0)), chunk) + -(-len(rows) // chunk) + 8
    return GroupSums(centre, count, weight, sums, squares, roundings, None)


def _double_double(rows: Array, codes: Codes, w: Array, centre: Array) -> GroupSums:
    count = np.zeros(centre.shape, np.int64)
    heft, sums, squares = (np.zeros((2, *centre.shape)) for _ in range(3))
    w = w if len(w) else np.ones(len(rows))
    double_double_sums(rows, codes, w, centre, count, heft, sums, squares)
    return GroupSums(
        centre=centre,
        count=count,
        weight=DoubleDouble(*heft),
        sums=DoubleDouble(*sums),
        squares=DoubleDouble(*squares),
        roundings=int(count.max(initial=0)) + 8,
        farthest=None,
    )


# --- by NumPy ------------------------------------------------------------------------------


def _sorted(
    rows: Array, codes: Codes, n_groups: int, weight: Array | None, precision: Precision
) -> GroupSums:
    order = np.argsort(codes, kind="stable")
    rows, codes = rows[order], codes[order]
    w = np.ones((len(rows), 1)) if weight is None else weight[order][:, None]
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    groups, inner = codes[starts], np.repeat(np.arange(len(starts)), _lengths(starts, len(rows)))
    there = ~np.isnan(rows)
    heft = _added(DoubleDouble.of(w * there), starts)
    divisor = np.where(heft.hi > 0, heft.hi, 1.0)
    place = np.minimum.reduceat(
        np.where(there, np.arange(len(rows))[:, None], len(rows)), starts, axis=0
    )
    found = place < len(rows)
    first = np.where(found, rows[np.where(found, place, 0), np.arange(rows.shape[1])], 0.0)
    away = np.where(there, rows - first[inner], 0.0)
    centre = first + _added(w * away, starts) / divisor
    d: Any = np.where(there, rows, centre[inner]), -centre[inner]
    d = DoubleDouble(*two_sum(*d)) if precision == "double-double" else d[0] + d[1]
    distance = np.abs(d.hi if precision == "double-double" else d)

    everywhere = partial(placed, positions=groups, n=n_groups)
    return GroupSums(
        centre=everywhere(centre),
        count=everywhere(np.add.reduceat(there.astype(np.int64), starts, axis=0)),
        weight=everywhere(heft),
        sums=everywhere(_added(d * w, starts)),
        squares=everywhere(_added(d * w * d, starts)),
        roundings=int(_lengths(starts, len(rows)).max()).bit_length() + 8,
        farthest=everywhere(np.maximum.reduceat(distance, starts, axis=0)),
    )


def _lengths(starts: Any, n_rows: int) -> Any:
    return np.diff(starts, append=n_rows)


def _added(values: Any, starts: Any) -> Any:
    """Sums of consecutive rows, from each start to the next: in pairs, the pairs in pairs, …"""
    n_rows = values.shape[0]
    while n_rows > len(starts):
        lengths = _lengths(starts, n_rows)
        rank = np.arange(n_rows) - np.repeat(starts, lengths)
        even = np.flatnonzero(rank % 2 == 0)
        paired = np.flatnonzero(rank % 2 == 1)
        # The partner of a row of odd rank is the row before it.
        into = np.searchsorted(even, paired - 1)
        rest = values[even]
        both = rest[into] + values[paired]
        if isinstance(rest, DoubleDouble):
            rest.hi[into], rest.lo[into] = both.hi, both.lo
        else:
            rest[into] = both
        values = rest
        starts = np.concatenate([[0], np.cumsum((lengths + 1) // 2)[:-1]])
        n_rows = len(even)
    return values
