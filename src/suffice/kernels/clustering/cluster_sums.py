"""Kernels that add rows up by their cluster."""

from __future__ import annotations

import numpy as np

from suffice.kernels.clustering.nearest import Floats, Integers, Numbers, Singles
from suffice.kernels.compiler.compile import kernel
from suffice.kernels.sums.double_double import two_sum


@kernel
def add_row(X: Floats, i: int, weight: float, cluster: int, high: Floats, low: Floats) -> None:
    """Add a row to the sums of a cluster, and its weight and its number, 1 or −1."""
    d = X.shape[1]
    for j in range(d):
        total, rest = two_sum(high[cluster, j], weight * X[i, j])
        high[cluster, j] = total
        low[cluster, j] += rest
    total, rest = two_sum(high[cluster, d], weight)
    high[cluster, d] = total
    low[cluster, d] += rest
    high[cluster, d + 1] += 1.0 if weight > 0.0 else -1.0


@kernel(
    "const float64[:, ::1], const float64[::1], const int64[::1], const int32[::1], int32[::1], "
    "float64[:, ::1], float64[:, ::1]"
)
def regroup(
    X: Floats,
    weight: Floats,
    rows: Integers,
    nearest: Numbers,
    labels: Numbers,
    high: Floats,
    low: Floats,
) -> int:
    """Give rows their new clusters; those that change theirs change the sums.

    Sums are kept in two float64: a row that comes and goes leaves nothing behind, and an offset
    that all rows have costs no digits.

    Parameters
    ----------
    X : (rows, columns)
    weight : (rows,), or empty
    rows : (some,)
    nearest : (some,)
        Their clusters from now on.
    labels : (rows,), changed
        −1 where a row has been in none.
    high, low : (clusters, columns + 2), changed
        Sums over the rows of each cluster; the last columns are their weight and their number.

    Returns
    -------
    int
        Rows that have a weight and another cluster than before.
    """
    changed = 0
    for t in range(len(rows)):
        i, now = rows[t], nearest[t]
        before = labels[i]
        if before == now:
            continue
        labels[i] = now
        w = weight[i] if len(weight) > 0 else 1.0
        if w > 0.0:
            changed += 1
            add_row(X, i, w, now, high, low)
            if before >= 0:
                add_row(X, i, -w, before, high, low)
    return changed


@kernel(
    "const float32[:, ::1], const float32[::1], const float64[::1], float64, "
    "const float64[:, ::1], const float64[:, ::1], float64, int64, const float64[::1], "
    "const float32[::1], float32[:, ::1], float64[::1]"
)
def potentials(
    products: Singles,
    squares: Singles,
    lengths: Floats,
    slack: float,
    X: Floats,
    candidates: Floats,
    scale: float,
    start: int,
    weight: Floats,
    least: Singles,
    lesser: Singles,
    totals: Floats,
) -> None:
    """What is left of the squared distances of some rows if a candidate becomes a centre.

    Parameters
    ----------
    products : (candidates, some rows)
        Of centred and scaled rows.
    squares, lengths : (some rows,), (candidates,)
        Their squared lengths.
    slack : float
        Below this share of both lengths a square is computed by the definition.
    X, candidates : (rows, columns), (candidates, columns)
    scale : float
    start : int
        Number of the first of these rows.
    weight : (rows,), or empty
    least : (rows,)
        Scaled squared distances to the nearest centre so far.
    lesser : (candidates, rows), written
        The same with a candidate among them.
    totals : (candidates,), changed
        Their weighted sums.  Rows of weight 0 count as being at distance 0.
    """
    for c in range(len(lengths)):
        length, total = lengths[c], 0.0
        for t in range(len(squares)):
            i = start + t
            w = weight[i] if len(weight) > 0 else 1.0
            if w == 0.0:
                lesser[c, i] = np.float32(0.0)
                continue
            both = length + squares[t]
            square = both - 2.0 * products[c, t]
            if not square > slack * both:
                square = 0.0
                for j in range(X.shape[1]):
                    apart = X[i, j] - candidates[c, j]
                    square += apart * apart
                square *= scale * scale
            kept = np.float32(square)
            lesser[c, i] = kept if kept < least[i] else least[i]
            total += w * lesser[c, i]
        totals[c] += total
