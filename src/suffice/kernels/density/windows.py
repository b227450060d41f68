"""Kernel density estimates by kernels that have an end: windows around the rows.

A leaf whose box lies beyond the end has no part in a sum; see `suffice.kernels.density.smooth`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel
from suffice.kernels.density.smooth import (
    COSINE,
    CUBE,
    EPANECHNIKOV,
    LEAF,
    TILE,
    TOPHAT,
    distances,
    distances_to_boxes,
    hide,
    total,
)
from suffice.kernels.sums.double_double import two_sum

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@kernel
def quarter_sine(v: float) -> float:
    """Return sin(π v / 2) for v from 0 to 1, by its series up to v²¹."""
    s = v * v
    p = 2.571422892860472e-16
    p = p * s - 4.377065467313739e-14
    p = p * s + 6.066935731106192e-12
    p = p * s - 6.688035109811464e-10
    p = p * s + 5.692172921967924e-08
    p = p * s - 3.598843235212084e-06
    p = p * s + 0.00016044118478735975
    p = p * s - 0.004681754135318687
    p = p * s + 0.07969262624616703
    p = p * s - 0.6459640975062462
    p = p * s + 1.5707963267948966
    return v * p


@kernel
def window_terms(away: Floats, mass: Floats, width: float, shape: int, out: Floats) -> None:
    """Write the terms wᵢ K(dᵢ / h) of a leaf, for shapes that have an end.

    With v = 1 − d/h not below 0: v for the linear kernel, v (2 − v) = 1 − (d/h)² for
    Epanechnikov's, sin(π v / 2) = cos(π d / 2h) for the cosine.
    """
    if shape == CUBE:
        half = 0.5 * width
        for j in range(LEAF):
            out[j] = mass[j] if away[j] <= half else 0.0
        return
    for j in range(LEAF):
        rest = 1.0 - away[j] / width
        out[j] = rest if rest > 0.0 else 0.0
    if shape == TOPHAT:
        for j in range(LEAF):
            out[j] = 1.0 if out[j] > 0.0 else 0.0
    elif shape == EPANECHNIKOV:
        for j in range(LEAF):
            out[j] *= 2.0 - out[j]
    elif shape == COSINE:
        for j in range(LEAF):
            out[j] = quarter_sine(out[j])
    for j in range(LEAF):
        out[j] *= mass[j]


@kernel(
    "const float64[:, :, ::1], const float64[:, ::1], const int64[:, ::1], const float64[:, ::1], "
    "const float64[:, ::1], const float64[:, ::1], const int64[::1], const float64[::1], int64, "
    "float64[:, ::1]"
)
def log_window_sums(
    X: Floats,
    mass: Floats,
    groups: Integers,
    low: Floats,
    high: Floats,
    queries: Floats,
    left_out: Integers,
    widths: Floats,
    shape: int,
    out: Floats,
) -> None:
    """Write log Σᵢ wᵢ K(‖q − xᵢ‖ / h) for each query and bandwidth; −∞ where the sum is 0.

    Parameters
    ----------
    X, groups, low, high, queries, left_out, shape
        As for `suffice.kernels.density.smooth.log_sums`.
    mass : (leaves, LEAF)
        wᵢ, and 0 after the last row.
    widths : (bandwidths,)
        h.
    out : (queries, bandwidths), written
    """
    every = len(widths)
    boxes, errors = np.empty((TILE, X.shape[0])), np.empty((TILE, every))
    away, terms = np.empty(LEAF), np.empty(LEAF)
    for start in range(0, queries.shape[0], TILE):
        tile = min(TILE, queries.shape[0] - start)
        for k in range(tile):
            distances_to_boxes(low, high, queries[start + k], shape, boxes[k])
            for g in range(every):
                out[start + k, g], errors[k, g] = 0.0, 0.0
        for leaf in range(X.shape[0]):
            for k in range(tile):
                i, unseen = start + k, True
                for g in range(every):
                    # Rows at the end itself are inside of a cube and outside of a ball.
                    end = 0.5 * widths[g] if shape == CUBE else widths[g]
                    if boxes[k, leaf] > end or (boxes[k, leaf] == end and shape != CUBE):
                        continue
                    if unseen:
                        distances(X[leaf], queries[i], shape, away)
                        hide(groups[leaf], left_out[i], away)
                        unseen = False
                    window_terms(away, mass[leaf], widths[g], shape, terms)
                    out[i, g], error = two_sum(out[i, g], total(terms))
                    errors[k, g] += error
        for k in range(tile):
            for g in range(every):
                found = out[start + k, g] + errors[k, g]
                out[start + k, g] = math.log(found) if found > 0.0 else -np.inf
