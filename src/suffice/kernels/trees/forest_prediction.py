"""Kernels that take rows down many trees.

A cell is asked for by many nodes, so it is compared with all thresholds of its column once: its
code is how many of them it exceeds.  Then x ≤ θ holds if the code is at most the rank of θ, and the
codes of a row lie close together.  Of a category the code is its number.  What is missing has the
largest code that there is.

All that a test needs is one record of 16 bytes, and a node's children are neighbours:

    rank of θ, or where its set of categories begins
    4 j + 2 [it tests categories] + [missing cells go to the left]
    the left child's record; its own at a leaf
    the node's number

Many rows go down a tree together, one level at a time, so that the processor waits for the nodes of
all of them at once; rows that have come to a leaf drop out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel
from suffice.kernels.trees.prediction import LARGEST

Floats = NDArray[np.float64]
Nodes = NDArray[np.int32]
Integers = NDArray[np.int64]
Numbers = NDArray[np.uint32]

CUT, TEST, CHILD, NUMBER = range(4)
ROWS = 512
"""Rows that go down together."""

U = np.uint64
CODES = ("uint16", "uint32")


@kernel(
    *(
        f"const {cell}[:, ::1], const float64[::1], const int64[::1], const uint8[::1], uint32, "
        f"{code}[:, ::1]"
        for cell in ("float64", "float32")
        for code in CODES
    )
)
def rank_rows(
    X: Floats, thresholds: Floats, places: Integers, categorical: NDArray[np.uint8], missing: int,
    codes: Any,
) -> bool:  # fmt: skip
    """Write the codes of all cells.

    Parameters
    ----------
    X : float array of shape (rows, columns)
        Categories as numbers; NaN where a cell is missing.
    thresholds : float64 array
        Sorted, those of column j from places[j] to places[j + 1].
    places : int64 array of shape (columns + 1,)
    categorical : uint8 array of shape (columns,)
    missing : int
        The code of a missing cell.
    codes : uint16 or uint32 array of shape (rows, columns)

    Returns
    -------
    bool
        Whether a cell is beyond `LARGEST`, or infinite.
    """
    beyond = 0
    cells, low = np.empty(ROWS), np.empty(ROWS, np.uint32)
    for start in range(0, len(X), ROWS):
        n = min(ROWS, len(X) - start)
        for j in range(X.shape[1]):
            for i in range(U(n)):
                x = np.float64(X[U(start) + i, U(j)])
                cells[i], low[i] = x, 0
                beyond += abs(x) > LARGEST
            if categorical[j]:
                for i in range(U(n)):
                    x = cells[i]
                    codes[U(start) + i, U(j)] = np.uint32(x) if x >= 0 else missing
                continue
            first, length = U(places[j]), U(places[j + 1] - places[j])
            while length > U(0):  # a search by halves, a step of many rows at a time
                half = (length + U(1)) >> U(1)
                middle, step = first + half - U(1), np.uint32(half)
                for i in range(U(n)):
                    low[i] += step * np.uint32(thresholds[middle + U(low[i])] < cells[i])
                length -= half
            for i in range(U(n)):
                known = cells[i] == cells[i]
                codes[U(start) + i, U(j)] = low[i] if known else np.uint32(missing)
    return beyond > 0


@kernel(
    "const int32[::1], const int32[::1], const int32[::1], const uint32[::1], const uint8[::1], "
    "const int64[::1], const int64[::1], uint32, uint32[:, ::1]"
)
def make_forest_records(
    left: Nodes, right: Nodes, feature: Nodes, rank: Numbers, missing_left: NDArray[np.uint8],
    category_start: Integers, starts: Integers, missing: int, records: Numbers,
) -> None:  # fmt: skip
    """Write the records of all nodes, those of a tree breadth first.

    Parameters
    ----------
    left, right, feature, rank, missing_left : arrays of shape (nodes,)
        Children are counted from their tree's root.
    category_start : int64 array of shape (nodes,), or (0,)
    starts : int64 array of shape (trees + 1,)
    missing : int
        The code of a missing cell.
    records : uint32 array of shape (nodes, 4)
    """
    for tree in range(len(starts) - 1):
        first = starts[tree]
        records[first, NUMBER], end = first, first + 1
        for k in range(first, starts[tree + 1]):
            t = np.int64(records[k, NUMBER])
            if left[t] < 0:
                records[k, CUT], records[k, TEST], records[k, CHILD] = missing, 0, k
                continue
            is_set = len(category_start) > 0 and category_start[t] >= 0
            records[k, CUT] = category_start[t] if is_set else rank[t]
            records[k, TEST] = 4 * feature[t] + 2 * is_set + missing_left[t]
            records[k, CHILD] = end
            records[end, NUMBER] = first + left[t]
            records[end + 1, NUMBER] = first + right[t]
            end += 2


@kernel
def descend(
    tree: int, start: int, n: int, missing: int, codes: Any, records: Numbers, starts: Integers,
    bits: Numbers, node: Numbers, active: Numbers,
) -> None:  # fmt: skip
    """Take n rows from `start` on down a tree: write the records of their leaves to `node`."""
    has_sets = len(bits) > 0
    for i in range(U(n)):
        node[i], active[i] = starts[tree], i
    on_the_way = U(n)
    while on_the_way > 0:
        stay = U(0)
        for place in range(on_the_way):
            i = U(active[place])
            k = U(node[i])
            test = U(records[k, U(TEST)])
            cut = U(records[k, U(CUT)])
            code = U(codes[U(start) + i, test >> U(2)])
            goes_right = U(code > cut) & ~(test & U(code == U(missing)))
            if has_sets and test & U(2) > U(0):
                goes_right = ~test & U(1)
                if code != U(missing):
                    goes_right = ~U(bits[cut + (code >> U(5))] >> np.uint32(code & U(31))) & U(1)
            child = U(records[k, U(CHILD)]) + goes_right
            node[i], active[stay] = child, i
            stay += U(child != k)
        on_the_way = stay


@kernel("const uint32[:, ::1], const int64[::1], const int64[::1], uint64[::1], int64[::1]")
def pack_records(
    records: Numbers, starts: Integers, samples: Integers, packed: NDArray[np.uint64],
    levels: Integers,
) -> None:  # fmt: skip
    """Write records that test numbers into 8 bytes each: the child, the rank, the column.

    Parameters
    ----------
    records : uint32 array of shape (nodes, 4)
        Of at most 2¹⁶ ranks and 2¹⁵ columns, and no categories.
    starts : int64 array of shape (trees + 1,)
    samples : int64 array of shape (nodes,)
        Rows that a node was grown from, in the order of the trees' own numbers.
    packed : uint64 array of shape (nodes,)
    levels : int64 array of shape (trees,)
        Takes a quarter more than the steps that a row has to go on average.
    """
    for k in range(len(packed)):
        test, cut = U(records[k, TEST]), U(records[k, CUT]) & U(0xFFFF)
        low = (test >> U(2)) << U(1) | (test & U(1))
        packed[k] = U(records[k, CHILD]) << U(32) | cut << U(16) | low
    for tree in range(len(starts) - 1):
        # Breadth first, a level's rows are those of all its nodes: their sum is the steps.
        first, steps = starts[tree], 0
        for k in range(first + 1, starts[tree + 1]):
            steps += samples[records[k, NUMBER]]
        levels[tree] = 5 * steps // (4 * max(samples[first], 1))


@kernel(
    "const uint16[:, ::1], const uint64[::1], const uint32[:, ::1], const int64[::1], "
    "const int64[::1], const float64[:, ::1], float64[:, ::1]"
)
def add_number_leaves(
    codes: Any, packed: NDArray[np.uint64], records: Numbers, starts: Integers, levels: Integers,
    values: Floats, out: Floats,
) -> None:  # fmt: skip
    """`add_leaves` for packed records.

    Rows go down together as many levels as most have to go, and one at a leaf stays there: a loop
    without a branch takes several at a time (26 ns for 15 levels, one by one 100).
    """
    most = min(ROWS, len(codes))
    node, active = np.empty(most, np.uint32), np.empty(most, np.uint32)
    for start in range(0, len(codes), ROWS):
        n = min(ROWS, len(codes) - start)
        for tree in range(len(starts) - 1):
            for i in range(U(n)):
                node[i] = starts[tree]
            for _ in range(levels[tree]):
                for i in range(U(n)):
                    node[i] = step_down(U(node[i]), U(start) + i, codes, packed)
            on_the_way = U(n)
            for i in range(U(n)):
                active[i] = i
            while on_the_way > 0:
                stay = U(0)
                for place in range(on_the_way):
                    i = U(active[place])
                    before = node[i]
                    node[i], active[stay] = step_down(U(before), U(start) + i, codes, packed), i
                    stay += U(node[i] != before)
                on_the_way = stay
            for i in range(n):
                t = U(records[U(node[i]), U(NUMBER)])
                for v in range(values.shape[1]):
                    out[start + i, v] += values[t, v]


@kernel
def step_down(k: np.uint64, row: np.uint64, codes: Any, packed: NDArray[np.uint64]) -> np.uint32:
    """The child of a node to which a row goes; itself if it is a leaf."""
    record = packed[k]
    code = U(codes[row, (record >> U(1)) & U(0x7FFF)])
    goes_right = U(code > (record >> U(16)) & U(0xFFFF)) & ~(record & U(code == U(0xFFFF)))
    return np.uint32((record >> U(32)) + goes_right)


@kernel(
    *(
        f"uint32, const {code}[:, ::1], const uint32[:, ::1], const int64[::1], "
        "const uint32[::1], const float64[:, ::1], float64[:, ::1]"
        for code in CODES
    )
)
def add_leaves(
    missing: int, codes: Any, records: Numbers, starts: Integers, bits: Numbers, values: Floats,
    out: Floats,
) -> None:  # fmt: skip
    """Add the values of the leaves that rows come to in all trees, one tree after the other.

    Parameters
    ----------
    missing : int
        The code of a missing cell.
    codes : uint16 or uint32 array of shape (rows, columns)
    records : uint32 array of shape (nodes, 4)
    starts : int64 array of shape (trees + 1,)
    bits : uint32 array
        Sets of categories.
    values : float64 array of shape (nodes, values)
    out : float64 array of shape (rows, values)
    """
    most = min(ROWS, len(codes))
    node, active = np.empty(most, np.uint32), np.empty(most, np.uint32)
    for start in range(0, len(codes), ROWS):
        n = min(ROWS, len(codes) - start)
        for tree in range(len(starts) - 1):
            descend(tree, start, n, missing, codes, records, starts, bits, node, active)
            for i in range(n):
                t = U(records[U(node[i]), U(NUMBER)])
                for k in range(values.shape[1]):
                    out[start + i, k] += values[t, k]


@kernel(
    *(
        f"int64, int64, uint32, const {code}[:, ::1], const uint32[:, ::1], const int64[::1], "
        "const uint32[::1], int32[:, ::1]"
        for code in CODES
    )
)
def find_forest_leaves(
    first: int, last: int, missing: int, codes: Any, records: Numbers, starts: Integers,
    bits: Numbers, out: Nodes,
) -> None:  # fmt: skip
    """Write the leaf of each row in trees first, …, last − 1, counted from the tree's root.

    Parameters as of `add_leaves`, and

    Parameters
    ----------
    first, last : int
    out : int32 array of shape (rows, trees)
    """
    most = min(ROWS, len(codes))
    node, active = np.empty(most, np.uint32), np.empty(most, np.uint32)
    for start in range(0, len(codes), ROWS):
        n = min(ROWS, len(codes) - start)
        for tree in range(first, last):
            descend(tree, start, n, missing, codes, records, starts, bits, node, active)
            for i in range(n):
                out[start + i, tree - first] = records[node[i], NUMBER] - starts[tree]
