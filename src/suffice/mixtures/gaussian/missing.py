"""Rows with missing cells, under GaussianComponents whose columns depend on each other.

A row whose cells o are there and m are not has the density N(x_o; μ_o, Σ_oo).  Of the others the
component expects, given these,

    E[x_m | x_o] = μ_m + Σ_mo Σ_oo⁻¹ (x_o − μ_o),      Cov[x_m | x_o] = Σ_mm − Σ_mo Σ_oo⁻¹ Σ_om,

so that E[x xᵀ] is the product of the filled row with itself, plus the covariance in the cells m:
the EM of Ghahramani and Jordan, "Supervised learning from incomplete data via an EM approach"
(1994).  Both are found in the component's coordinates y = L⁻¹ (x − μ), from the rows L_o of the
factor (`suffice.kernels.gaussian.missing_cells`): the covariance of y is a sum of g gᵀ over as many
directions g as cells are missing.  Rows are sorted by which cells they lack, and what such a
pattern needs of L is computed once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.gaussian.missing_cells import conditional_moments
from suffice.statistics.moments.soft import SoftMoments

if TYPE_CHECKING:
    from suffice.mixtures.gaussian.components import GaussianComponents, Summarize

Floats = NDArray[np.float64]


def with_gaps(
    gaussians: GaussianComponents, X: Floats, missing: NDArray[np.bool_]
) -> tuple[Floats, Summarize]:
    """`GaussianComponents.expected` where some cells are missing."""
    order, starts = by_pattern(missing)
    if not missing[order[0]].any():  # the pattern of no gap comes first
        whole, order, starts = order[: starts[1]], order[starts[1] :], starts[1:] - starts[1]
    else:
        whole = order[:0]
    out = np.empty((gaussians.n_components, len(X)))
    out[:, order], of_gaps = incomplete(gaussians, X[order], missing[order], starts)
    if not len(whole):
        return out, lambda shares: of_gaps(shares[:, order])
    out[:, whole], of_whole = gaussians.expected(X[whole])

    def summarize(shares: Floats) -> SoftMoments:
        complete = of_whole(np.ascontiguousarray(shares[:, whole]))
        return SoftMoments.merge([complete, of_gaps(shares[:, order])])

    return out, summarize


def by_pattern(missing: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """The rows in an order in which equal ones stand together, and where such a run begins.

    Returns
    -------
    array of shape (rows,), and one of shape (patterns + 1,) that ends with the number of rows
    """
    packed = np.packbits(missing, axis=1)
    order = np.lexsort(packed.T)
    packed = packed[order]
    changes = 1 + np.flatnonzero((packed[1:] != packed[:-1]).any(axis=1))
    return order, np.concatenate([[0], changes, [len(missing)]]).astype(np.int64)


def incomplete(
    gaussians: GaussianComponents,
    X: Floats,
    missing: NDArray[np.bool_],
    starts: NDArray[np.int64],
) -> tuple[Floats, Summarize]:
    """The same for rows that all lack cells, sorted by which."""
    k, d = gaussians.means.shape
    tied = gaussians.kind == "tied"
    means = np.ascontiguousarray(gaussians.means)
    factors = np.ascontiguousarray(gaussians.factor).reshape(-1, d, d)
    lacking = missing[starts[:-1]].sum(axis=1)
    out, Y = np.empty((k, len(X))), np.empty((k, len(X), d))
    directions = np.empty((len(factors), lacking.sum(), d))
    conditional_moments(np.ascontiguousarray(X), starts, means, factors, out, Y, directions)

    def summarize(shares: Floats) -> SoftMoments:
        scaled = shares[:, :, None] * Y
        second = gaussians.pooled(np.swapaxes(scaled, 1, 2) @ Y)
        weight = np.add.reduceat(shares, starts[:-1], axis=1)
        if tied:
            weight = weight.sum(axis=0, keepdims=True)
        weighted = np.repeat(weight, lacking, axis=1)[:, :, None] * directions
        spread = np.swapaxes(weighted, 1, 2) @ directions
        second = second + (spread[0] if tied else spread)
        return SoftMoments(shares.sum(axis=1), scaled.sum(axis=1), second)

    return out, summarize
