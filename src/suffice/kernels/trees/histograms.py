"""Rows of nodes: added up bin by bin, split, and divided among children.

A cell is a number, the bin of its column; what is missing has the bin after the last.  The bins of
all columns lie one after the other on one axis, those of column j from ``places[j]`` on.  A node's
rows are ``order[starts[t]:ends[t]]``.

What rows contribute is rounded to multiples of a power of two before, so coarse that no sum
of them needs more than 53 bits.  Sums are then exact: they do not depend on the order of the rows,
and the sums of a child are those of its parent less those of its sibling, to the last bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel
from suffice.kernels.trees.criteria import Floats
from suffice.kernels.trees.cuts import Bytes, Integers, best_cut, best_subset

Rows = NDArray[np.int32]
Labels = NDArray[np.uint16]

CODES = ("uint8", "uint16")
"""Types of cells: columns of more than 255 categories take the second."""


@kernel
def rounded(value: float, unit: float) -> float:
    """A number to the nearest multiple of a power of two, of which it is up to 2⁵¹."""
    shift = 6755399441055744.0 * unit  # 1.5 · 2⁵²: what is added to it loses all smaller bits
    return value + shift - shift


@kernel("const float64[::1], const float64[::1], float64, float64[::1]")
def round_products(values: Floats, weight: Floats, unit: float, out: Floats) -> None:
    """Values, times weights unless these are of length 0, to multiples of a power of two."""
    for i in range(len(values)):
        out[i] = rounded(values[i] * (weight[i] if len(weight) else 1.0), unit)


@kernel(
    "const int32[::1], const int64[::1], const int64[::1], const uint16[::1], const float64[::1], "
    "const float64[::1], const float64[::1], bool, float64, float64[:, ::1], float64[:, ::1]"
)
def add_totals(
    order: Rows, starts: Integers, ends: Integers, label: Labels, weight: Floats, target: Floats,
    moment: Floats, poisson: bool, unit: float, sums: Floats, more: Floats,
) -> None:  # fmt: skip
    """Add up the rows of each node.

    Parameters
    ----------
    order : int32 array
    starts, ends : int64 arrays of shape (nodes,)
    label : uint16 array of shape (rows,), or (0,) in regression
    weight : float64 array of shape (rows,), or (0,) where all are 1
    target : float64 array of shape (rows,), or (0,) in classification
    moment : float64 array of shape (rows,), or (0,) in classification
        The target times the weight.
    poisson : bool
    unit : float
        Of what the impurity needs beside the sums: Σ w y², or Σ w y log y for Poisson.
    sums : float64 array of shape (nodes, sums)
    more : float64 array of shape (3, nodes)
        Takes that, and of the target the least, its sign turned, and the largest.
    """
    for t in range(len(starts)):
        for i in range(starts[t], ends[t]):
            row = order[i]
            w = weight[row] if len(weight) else 1.0
            if len(label):
                sums[t, label[row]] += w
                continue
            y = target[row]
            sums[t, 0] += w
            sums[t, 1] += moment[row]
            if not poisson:
                more[0, t] += rounded(w * y * y, unit)
            elif y > 0:
                more[0, t] += rounded(w * y * np.log(y), unit)
            more[1, t] = max(more[1, t], -y)
            more[2, t] = max(more[2, t], y)


@kernel(
    *(
        f"const {cell}[:, ::1], const int64[::1], const int32[::1], const int64[::1], "
        "const int64[::1], const uint16[::1], const float64[::1], const float64[::1], "
        "float64[:, :, ::1], int64[:, ::1]"
        for cell in CODES
    )
)
def add_histograms(
    codes: Any, places: Integers, order: Rows, starts: Integers, ends: Integers, label: Labels,
    weight: Floats, moment: Floats, sums: Floats, counts: Integers,
) -> None:  # fmt: skip
    """Add up the rows of each node and bin; parameters as of `add_totals`.

    Parameters
    ----------
    codes : uint8 or uint16 array of shape (rows, columns)
    places : int64 array of shape (columns,)
    sums : float64 array of shape (nodes, bins, sums)
    counts : int64 array of shape (nodes, bins), or (nodes, 0) where the sums tell
    """
    for t in range(len(starts)):
        for i in range(starts[t], ends[t]):
            row = order[i]
            w = weight[row] if len(weight) else 1.0
            if len(label):
                k = label[row]
                for j in range(codes.shape[1]):
                    sums[t, np.uint64(places[j]) + np.uint64(codes[row, j]), k] += w
            else:
                m = moment[row]
                for j in range(codes.shape[1]):
                    place = np.uint64(places[j]) + np.uint64(codes[row, j])
                    sums[t, place, 0] += w
                    sums[t, place, 1] += m
            if counts.shape[1]:
                for j in range(codes.shape[1]):
                    counts[t, np.uint64(places[j]) + np.uint64(codes[row, j])] += 1


@kernel(
    "int64, const float64[:, :, ::1], const int64[:, ::1], const int64[::1], const uint8[::1], "
    "const int64[:, ::1], int64, const float64[:, ::1], const int64[::1], int64, float64, "
    "float64[::1], int64[:, ::1], uint8[:, ::1]"
)
def best_splits(
    criterion: int, sums: Floats, counts: Integers, places: Integers, categorical: Bytes,
    columns: Integers, max_features: int, totals: Floats, rows: Integers, min_samples_leaf: int,
    min_weight_leaf: float, costs: Floats, chosen: Integers, goes_left: Bytes,
) -> None:  # fmt: skip
    """The best split of each node.

    Parameters
    ----------
    criterion : int
    sums : float64 array of shape (nodes, bins, sums)
    counts : int64 array of shape (nodes, bins)
    places : int64 array of shape (columns + 1,)
    categorical : uint8 array of shape (columns,)
    columns : int64 array of shape (nodes, columns)
        In which order each node looks at them.
    max_features : int
        How many it looks at; at more only as long as none can be split.
    totals : float64 array of shape (nodes, sums)
    rows : int64 array of shape (nodes,)
    min_samples_leaf : int
    min_weight_leaf : float
    costs : float64 array of shape (nodes,)
        Takes the cost of both sides; ∞ if there is no split.
    chosen : int64 array of shape (nodes, 3)
        Takes the column, the last bin of the left side, and whether missing cells go there.
    goes_left : uint8 array of shape (nodes, widest column)
        Takes 1 for each bin of the left side.
    """
    widest, n_sums = goes_left.shape[1], totals.shape[1]
    order, room = np.empty(widest, np.int64), np.empty((3, n_sums))
    members = np.empty(widest, np.uint8)
    for t in range(len(sums)):
        costs[t] = np.inf
        for q in range(columns.shape[1]):
            if q >= max_features and costs[t] < np.inf:
                break
            j = columns[t, q]
            first, last = places[j], places[j + 1] - 1
            n_bins, cut = last - first, -1
            table, filled = sums[t, first:last], counts[t, first:last]
            missing, n_missing = sums[t, last], counts[t, last]
            if categorical[j]:
                found, missing_left = best_subset(
                    criterion, table, filled, totals[t], missing, n_missing, rows[t],
                    min_samples_leaf, min_weight_leaf, order, room, members[:n_bins],
                )  # fmt: skip
            else:
                found, cut, missing_left = best_cut(
                    criterion, table, filled, totals[t], missing, n_missing, rows[t],
                    min_samples_leaf, min_weight_leaf, order, room,
                )  # fmt: skip
            if found < costs[t]:
                costs[t] = found
                chosen[t, 0], chosen[t, 1], chosen[t, 2] = j, cut, missing_left
                for b in range(n_bins):
                    goes_left[t, b] = members[b] if categorical[j] else b <= cut
                goes_left[t, n_bins] = missing_left


@kernel(
    *(f"const {cell}[:, ::1], int64, int32[::1], int64, int64, const uint8[::1]" for cell in CODES)
)
def divide_rows(
    codes: Any, column: int, order: Rows, start: int, end: int, goes_left: Bytes
) -> int:
    """Move the rows of a node that go to the left before the others; where the others begin.

    Both keep their order.
    """
    right = np.empty(end - start, np.int32)
    middle, n_right = start, 0
    for i in range(start, end):
        row = order[i]
        to_left = goes_left[codes[row, column]]
        order[middle], right[n_right] = row, row
        middle += to_left
        n_right += 1 - to_left
    order[middle:end] = right[:n_right]
    return middle
