"""Kernels of tables whose cells are categories: counts by class and column, and places of values.

A table has whole numbers, or floats among which NaN is a missing cell.  Counters lie side by
side: those of column j from `first[j]` on, one for each number from the column's lowest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel
from suffice.kernels.sums.double_double import two_sum

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@kernel("const float64[:, ::1], float64[::1], float64[::1], bool[::1]")
def ranges(X: Floats, low: Floats, high: Floats, whole: Flags) -> None:
    """Find the least and the largest number of each column, and whether all are whole.

    Parameters
    ----------
    X : (rows, columns)
    low, high : (columns,), lowered and raised
    whole : (columns,), made False where a number is not
    """
    for i in range(X.shape[0]):
        x = X[i]
        for j in range(len(x)):
            low[j] = x[j] if x[j] < low[j] else low[j]
            high[j] = x[j] if x[j] > high[j] else high[j]
            whole[j] &= (np.floor(x[j]) == x[j]) | (x[j] != x[j])


@kernel(
    "const int64[:, ::1], const int64[::1], const int64[::1], const int64[::1], const int64[::1], "
    "int64[:, ::1]",
    "const float64[:, ::1], const int64[::1], const int64[::1], const int64[::1], const int64[::1],"
    "int64[:, ::1]",
)
def count_cells(
    X: NDArray[Any],
    codes: Integers,
    columns: Integers,
    low: Integers,
    first: Integers,
    count: Integers,
) -> None:
    """Count the cells of each class and number.

    Parameters
    ----------
    X : (rows, all columns)
        Whole in the columns that are counted.
    codes : (rows,)
        Each row's class.
    columns : (columns,)
        Which are counted.
    low, first : (columns,)
        The least number of each column, and the place of its counter.
    count : (classes, counters), added to
    """
    for i in range(X.shape[0]):
        x, n = X[i], count[codes[i]]
        for c in range(len(columns)):
            value = x[columns[c]]
            if value == value:
                n[first[c] + int(value) - low[c]] += 1


@kernel(
    "const int64[:, ::1], const int64[::1], const float64[::1], const int64[::1], "
    "const int64[::1], const int64[::1], int64[:, ::1], float64[:, ::1], float64[:, ::1]",
    "const float64[:, ::1], const int64[::1], const float64[::1], const int64[::1], "
    "const int64[::1], const int64[::1], int64[:, ::1], float64[:, ::1], float64[:, ::1]",
)
def weigh_cells(
    X: NDArray[Any],
    codes: Integers,
    weight: Floats,
    columns: Integers,
    low: Integers,
    first: Integers,
    count: Integers,
    heft: Floats,
    heft_rest: Floats,
) -> None:
    """Count the cells, and add up their weights: heft + heft_rest.

    Parameters
    ----------
    X, codes, columns, low, first, count
        As for `count_cells`.
    weight : (rows,)
    heft, heft_rest : (classes, counters), added to
    """
    for i in range(X.shape[0]):
        k, w, x = codes[i], weight[i], X[i]
        n, h, r = count[k], heft[k], heft_rest[k]
        for c in range(len(columns)):
            value = x[columns[c]]
            if value == value:
                at = first[c] + int(value) - low[c]
                n[at] += 1
                h[at], e = two_sum(h[at], w)
                r[at] += e


@kernel(
    "const int64[:, ::1], const int64[::1], const int64[::1], int64[:, ::1]",
    "const float64[:, ::1], const float64[::1], const int64[::1], int64[:, ::1]",
)
def place_cells(X: NDArray[Any], values: NDArray[Any], first: Integers, out: Integers) -> None:
    """Find each cell's value among the known ones of its column.

    Parameters
    ----------
    X : (rows, columns)
    values : (all values,)
        Known values of the columns, one column after the other, ascending in each.
    first : (columns + 1,)
        Where the values of each column begin, and the end of the last.
    out : (rows, columns), written
        The place among `values`; −1 for a cell that is missing, and for a value that is not
        known in column j, the number of all values plus j.
    """
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            value = X[i, j]
            begin, end = first[j], first[j + 1]
            out[i, j] = len(values) + j
            if value != value:
                out[i, j] = -1
            elif begin < end and values[begin] <= value <= values[end - 1]:
                # Codes without a gap are found at once; else by halving.
                # The difference of far integers has no int64: it is taken of near ones alone.
                at = begin
                if float(value) - float(values[begin]) < end - begin:
                    at = min(begin + int(value - values[begin]), end - 1)
                if values[at] != value:
                    at, beyond = begin, end
                    while beyond - at > 1:
                        middle = (at + beyond) // 2
                        if values[middle] <= value:
                            at = middle
                        else:
                            beyond = middle
                if values[at] == value:
                    out[i, j] = at


@kernel("const int64[:, ::1], const float64[:, ::1], float64[:, ::1]")
def add_entries(places: Integers, table: Floats, out: Floats) -> None:
    """Add the entries of a table for every cell of a row; a negative place adds nothing.

    Parameters
    ----------
    places : (rows, columns)
    table : (entries, classes)
    out : (rows, classes), added to
    """
    for i in range(places.shape[0]):
        for j in range(places.shape[1]):
            at = places[i, j]
            if at >= 0:
                for k in range(table.shape[1]):
                    out[i, k] += table[at, k]
