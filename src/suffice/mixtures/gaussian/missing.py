"""Rows with missing cells, under GaussianComponents whose columns depend on each other.

A row whose cells o are there and m are not has the density N(x_o; μ_o, Σ_oo).  Of the others the
component expects, given these,

    E[x_m | x_o] = μ_m + Σ_mo Σ_oo⁻¹ (x_o − μ_o),      Cov[x_m | x_o] = Σ_mm − Σ_mo Σ_oo⁻¹ Σ_om,

so that E[x xᵀ] is the product of the filled row with itself, plus the covariance in the cells m:
the EM of Ghahramani and Jordan, "Supervised learning from incomplete data via an EM approach"
(1994).  Rows are grouped by which cells they lack; all that a group needs of Σ is computed once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from suffice.statistics.moments.soft import SoftMoments

if TYPE_CHECKING:
    from suffice.mixtures.gaussian.components import GaussianComponents, Summarize

Floats = NDArray[np.float64]
LOG_2PI = float(np.log(2 * np.pi))


def with_gaps(
    gaussians: GaussianComponents, X: Floats, missing: NDArray[np.bool_]
) -> tuple[Floats, Summarize]:
    """`GaussianComponents.expected` where some cells are missing."""
    gaps = missing.any(axis=1)
    out = np.empty((gaussians.n_components, len(X)))
    groups: list[tuple[NDArray[np.intp], Summarize]] = []
    whole = np.flatnonzero(~gaps)
    if len(whole):
        out[:, whole], summarize = gaussians.expected(X[whole])
        groups.append((whole, summarize))
    patterns, which = np.unique(missing[gaps], axis=0, return_inverse=True)
    rows = np.flatnonzero(gaps)
    for number, absent in enumerate(patterns):
        here = rows[which.ravel() == number]
        out[:, here], summarize = group_expected(gaussians, X[here], absent)
        groups.append((here, summarize))

    def summarize_all(shares: Floats) -> SoftMoments:
        parts = [summarize(np.ascontiguousarray(shares[:, here])) for here, summarize in groups]
        return SoftMoments.merge(parts)

    return out, summarize_all


def group_expected(
    gaussians: GaussianComponents, X: Floats, missing: NDArray[np.bool_]
) -> tuple[Floats, Summarize]:
    """The same for rows that lack the same cells."""
    k, d = gaussians.means.shape
    factors, there = gaussians.factors(), ~missing
    out, filled = np.zeros((k, len(X))), np.zeros((len(X), k, d))
    spreads = np.zeros((k, d, d))
    for c in range(k):
        inverse = gaussians.inverse if gaussians.kind == "tied" else gaussians.inverse[c]
        away = np.zeros(X.shape)
        covariance = factors[c] @ factors[c].T
        left = covariance[np.ix_(missing, missing)]
        if there.any():
            away[:, there] = X[:, there] - gaussians.means[c, there]
            root = np.linalg.cholesky(covariance[np.ix_(there, there)])
            units = solve_triangular(root, away[:, there].T, lower=True)
            half = solve_triangular(root, covariance[np.ix_(there, missing)], lower=True)
            away[:, missing] = units.T @ half
            left = left - half.T @ half
            volume = np.log(np.diagonal(root)).sum() + 0.5 * there.sum() * LOG_2PI
            out[c] = -0.5 * np.square(units).sum(axis=0) - volume
        filled[:, c] = away @ inverse.T
        spreads[c] = inverse[:, missing] @ left @ inverse[:, missing].T

    def summarize(shares: Floats) -> SoftMoments:
        found = SoftMoments.summarize(filled, shares)
        second = found.second + found.weight[:, None, None] * spreads
        return SoftMoments(found.weight, found.first, gaussians.pooled(second))

    return out, summarize
