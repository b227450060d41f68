"""Kernels of sums over the rows of each group, about a centre for every group and column.

A cell x of row i, column j and group k = codes[i] adds, with d = x − centre[k, j] and weight w,

    1 to count,     w to weight,     w d to sums,     w d² to squares

unless it is NaN: such a cell does not exist.  Infinity comes through as infinity or NaN sums.

Sums over many rows are made in chunks, whose results are added up: fewer roundings lie
behind a sum.  Everything is evaluated as written, in float64 or as double-doubles.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel
from suffice.kernels.sums.double_double import add, multiply, two_sum

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@kernel(
    "const float64[:, ::1], const int64[::1], const float64[::1], int64, "
    "float64[:, ::1], float64[:, ::1]"
)
def near_means(
    X: Floats, codes: Integers, weight: Floats, enough: int, first: Floats, centre: Floats
) -> None:
    """Find a point near the rows of each group; where a column is constant, its very value.

    The mean of the first `enough` rows of the group and of those further rows that
    are needed to find a value in each column, about the first value.

    Parameters
    ----------
    X : (rows, columns)
    codes : (rows,)
    weight : (rows,), positive; or of length 0 where every row counts once
    enough : int
    first : (groups, columns), written
        The first value of each group that is there; 0 if none is.
    centre : (groups, columns), written
    """
    rows, columns = X.shape
    groups = first.shape[0]
    seen = np.zeros(groups, np.int64)
    missing = np.full(groups, columns)
    heft = np.zeros((groups, columns))
    centre[:] = 0.0
    first[:] = 0.0
    for i in range(rows):
        k = codes[i]
        if seen[k] >= enough and missing[k] == 0:
            continue
        seen[k] += 1
        w = weight[i] if weight.shape[0] else 1.0
        for j in range(columns):
            x = X[i, j]
            if x == x:
                if heft[k, j] == 0.0:
                    first[k, j] = x
                    missing[k] -= 1
                heft[k, j] += w
                centre[k, j] += w * (x - first[k, j])
    for k in range(groups):
        for j in range(columns):
            if heft[k, j] > 0.0:
                centre[k, j] = first[k, j] + centre[k, j] / heft[k, j]


@kernel(
    "const float64[:, ::1], const int64[::1], const float64[:, ::1], int64, "
    "int64[:, ::1], float64[:, ::1], float64[:, ::1]"
)
def centred_sums(
    X: Floats,
    codes: Integers,
    centre: Floats,
    chunk: int,
    count: Integers,
    sums: Floats,
    squares: Floats,
) -> None:
    """Add the cells' count, sum and squares about the centre, each row counting once.

    Parameters
    ----------
    X : (rows, columns)
    codes : (rows,)
    centre : (groups, columns)
    chunk : int
        Rows whose sums are made before they are added to the others.
    count, sums, squares : (groups, columns), added to
    """
    rows, columns = X.shape
    groups = centre.shape[0]
    part = np.zeros((groups, columns))
    part_squares = np.zeros((groups, columns))
    for start in range(0, rows, chunk):
        for i in range(start, min(start + chunk, rows)):
            k = codes[i]
            x, c, n = X[i], centre[k], count[k]
            s, q = part[k], part_squares[k]
            for j in range(columns):
                there = x[j] == x[j]
                d = x[j] - c[j] if there else 0.0
                n[j] += 1 if there else 0
                s[j] += d
                q[j] += d * d
        for k in range(groups):
            for j in range(columns):
                sums[k, j] += part[k, j]
                squares[k, j] += part_squares[k, j]
                part[k, j] = 0.0
                part_squares[k, j] = 0.0


@kernel(
    "const float64[:, ::1], const int64[::1], const float64[::1], const float64[:, ::1], int64, "
    "int64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1]"
)
def weighted_sums(
    X: Floats,
    codes: Integers,
    weight: Floats,
    centre: Floats,
    chunk: int,
    count: Integers,
    heft: Floats,
    heft_rest: Floats,
    sums: Floats,
    squares: Floats,
) -> None:
    """Do the same for weighted rows; the sum of the weights is heft + heft_rest.

    Parameters
    ----------
    X, codes, centre, chunk
        As for `centred_sums`.
    weight : (rows,), positive
    count, heft, heft_rest, sums, squares : (groups, columns), added to
    """
    rows, columns = X.shape
    groups = centre.shape[0]
    part = np.zeros((groups, columns))
    part_squares = np.zeros((groups, columns))
    for start in range(0, rows, chunk):
        for i in range(start, min(start + chunk, rows)):
            k, w = codes[i], weight[i]
            x, c, n = X[i], centre[k], count[k]
            h, r, s, q = heft[k], heft_rest[k], part[k], part_squares[k]
            for j in range(columns):
                there = x[j] == x[j]
                d = x[j] - c[j] if there else 0.0
                n[j] += 1 if there else 0
                h[j], e = two_sum(h[j], w if there else 0.0)
                r[j] += e
                s[j] += w * d
                q[j] += w * d * d
        for k in range(groups):
            for j in range(columns):
                sums[k, j] += part[k, j]
                squares[k, j] += part_squares[k, j]
                part[k, j] = 0.0
                part_squares[k, j] = 0.0


@kernel(
    "const float64[:, ::1], const int64[::1], const float64[::1], const float64[:, ::1], "
    "int64[:, ::1], float64[:, :, ::1], float64[:, :, ::1], float64[:, :, ::1]"
)
def double_double_sums(
    X: Floats,
    codes: Integers,
    weight: Floats,
    centre: Floats,
    count: Integers,
    heft: Floats,
    sums: Floats,
    squares: Floats,
) -> None:
    """Do the same in double-double arithmetic.

    x − centre is exact as a double-double; each product errs by 5u² of itself and each
    sum by 3u² of its result.

    Parameters
    ----------
    X, codes, centre
        As for `centred_sums`.
    weight : (rows,), positive
    count : (groups, columns), added to
    heft, sums, squares : (2, groups, columns), added to
        High words, then low words.
    """
    rows, columns = X.shape
    for i in range(rows):
        k, w = codes[i], weight[i]
        x, c, n = X[i], centre[k], count[k]
        h, h_lo = heft[0, k], heft[1, k]
        s, s_lo = sums[0, k], sums[1, k]
        q, q_lo = squares[0, k], squares[1, k]
        for j in range(columns):
            there = x[j] == x[j]
            value = x[j] if there else c[j]
            n[j] += 1 if there else 0
            h[j], h_lo[j] = add(h[j], h_lo[j], w if there else 0.0, 0.0)
            d, d_lo = two_sum(value, -c[j])
            p, p_lo = multiply(d, d_lo, w, 0.0)
            s[j], s_lo[j] = add(s[j], s_lo[j], p, p_lo)
            p, p_lo = multiply(p, p_lo, d, d_lo)
            q[j], q_lo[j] = add(q[j], q_lo[j], p, p_lo)


@kernel("const float64[:, ::1], const int64[::1], const float64[:, ::1], float64[:, ::1]")
def farthest(X: Floats, codes: Integers, centre: Floats, out: Floats) -> None:
    """Find the largest distance of a cell from the centre, in each group and column.

    Parameters
    ----------
    X, codes, centre
        As for `centred_sums`.
    out : (groups, columns), raised to it
    """
    rows, columns = X.shape
    for i in range(rows):
        k = codes[i]
        x, c, o = X[i], centre[k], out[k]
        for j in range(columns):
            d = abs(x[j] - c[j])
            o[j] = d if d > o[j] else o[j]
