"""Local models of a block of queries, from weighted moments (`suffice.linear.local.moments`).

For each query q, with weights wᵢ = sᵢ exp(−½ ‖(xᵢ − q)/τ‖²), the weighted means x̄, ȳ, the
covariances S of the columns and C of columns and targets give

    prediction = ȳ + (q − x̄)·β,      (S + λP) β = C,      λP the penalty over the total weight.

**Rows left out.**  A leaf is not visited if each of its weights is below e⁻ᴸ times the
largest.  Let ρ ≤ n e⁻ᴸ be their sum over the sum of the weights kept, G the Gram matrix of the rows
kept, and φᵢ = (1, xᵢ − q).  The full sum changes the parameters by (G + G_out)⁻¹ Σ_out wᵢ φᵢ rᵢ,
where rᵢ is the residual of row i under the model without it.  Since G + G_out ⪰ G, Cauchy–Schwarz
bounds the change of the prediction by

    ρ · √(1 + (q − x̄)ᵀS⁻¹(q − x̄)) · √(1 + Γ²/λ_min) · (Y + ‖β‖ Γ),

λ_min the least eigenvalue of S, Γ the distance from x̄ to the farthest corner of the data's box
and Y the target's range.  For a weighted mean (degree 0) it is ρ Y.

**Errors.**  What rounding can do to the moments is estimated for each query.  Queries whose
prediction might be off by more than 1e-10 of its size, and those for which the bound above
exceeds the tolerance, are solved again, by an orthogonal factorisation of all rows that any
solution could need (`solve_directly`).

**Too few rows.**  A direction in which the neighbourhood's weighted standard deviation is at most
1e-6 units (see `suffice.linear.local.rows`) is not followed: its slope is 0.  With one row of any
weight nearby, the prediction is that row's target.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.density.exponential import LOWEST
from suffice.linear.local.moments import LocalModel, Neighbourhoods, n_moments, neighbourhoods
from suffice.linear.local.rows import LEAF, Floats, LocalRows

SMALLEST_SPREAD = 1e-6
"""Standard deviation, in units, up to which a neighbourhood has no extent in a direction."""

ACCURATE = 1e-10
"""Error relative to the prediction, or to the targets' local deviation, that is let pass."""

ROUNDING = 16 * 2.0**-53
"""Relative rounding error of a moment about the block's centre."""

MOST_MOMENTS = 16384
"""Moments of a query up to which they are formed."""


def predict_block(rows: LocalRows, queries: Floats, rule: LocalModel) -> Floats:
    """Predictions of some queries, best near each other.

    Parameters
    ----------
    rows : LocalRows
    queries : array of shape (queries, columns)
        The columns of `rows`, float64.
    rule : LocalModel

    Returns
    -------
    array of shape (queries, targets)
    """
    near = rows.within_reach(queries)
    d, k = len(rows.X), len(rows.y)
    few = rule.degree and rows.n_rows <= 4 * d
    if few or n_moments(d, k, rule.degree) > MOST_MOMENTS:
        out, trusted = np.empty((len(queries), k)), np.zeros(len(queries), bool)
    else:
        centre = _centre(rows, near)
        found = neighbourhoods(rows, near, centre, rule)
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is not trusted
            out, trusted = solve(rows, queries, centre, found, rule)
    for i in np.flatnonzero(~trusted):
        out[i] = solve_directly(rows, queries[i], near[i], rule)
    return out


def _centre(rows: LocalRows, queries: Floats) -> int:
    """The number of a row amid the queries, or next to them."""
    middle = queries.mean(axis=0)
    leaf = int(np.argmax(rows.highest_log_weights(middle[None])[0] - rows.leaves.log_weight))
    inside = rows.X[:, leaf * LEAF : (leaf + 1) * LEAF]
    away = (inside - middle[:, None]) / rows.bandwidths[:, None]
    return leaf * LEAF + int(np.argmin((away * away).sum(axis=0)))


def solve(
    rows: LocalRows, queries: Floats, centre: int, found: Neighbourhoods, rule: LocalModel
) -> tuple[Floats, NDArray[np.bool_]]:
    """Predictions from moments, and whether each can be trusted.

    Returns
    -------
    predictions : array of shape (queries, targets)
    trusted : bool array of shape (queries,)
        Whether neither rounding nor rows left out matter.
    """
    k = len(rows.y)
    means = found.sums[:, 1:] / found.sums[:, :1]
    y_mean, y_square = means[:, :k], means[:, k : 2 * k]
    y_deviation = np.sqrt(np.maximum(y_square - y_mean**2, 0.0))
    if rule.degree and len(rows.X):
        plane = _planes(rows, queries, centre, found, rule)
    else:
        none = np.zeros(len(queries))
        plane = Planes(0 * y_mean, 0 * y_mean, none, none + 2.0, none == 0)
    error = plane.error + ROUNDING * np.sqrt(y_square)
    error += (found.blur * np.sqrt(1 + plane.leverage))[:, None] * y_deviation
    predictions = rows.y[:, centre] + (y_mean + plane.rise) * rows.target_unit
    size = np.maximum(np.abs(predictions) / rows.target_unit, y_deviation)
    share = rows.n_rows * np.exp(-rule.depth(rows)) if found.skipped else 0.0
    accurate = plane.sure & (error <= ACCURATE * size).all(axis=1)
    # Half the target's range is the unit.
    return predictions, accurate & (share * plane.amplified <= 2 * rule.tolerance)


class Planes(NamedTuple):
    """What the slopes around each query do.

    Attributes
    ----------
    rise : array of shape (queries, targets)
        From the neighbourhood's mean to the query.
    error : array of shape (queries, targets)
        What rounding may have done to it.
    leverage : array of shape (queries,)
        (q − x̄)ᵀ S⁻¹ (q − x̄).
    amplified : array of shape (queries,)
        The factor of ρ in the bound on rows left out.
    sure : bool array of shape (queries,)
        Whether rounding leaves no doubt which directions have a slope.
    """

    rise: Floats
    error: Floats
    leverage: Floats
    amplified: Floats
    sure: NDArray[np.bool_]


def _planes(
    rows: LocalRows, queries: Floats, centre: int, found: Neighbourhoods, rule: LocalModel
) -> Planes:
    d, k = len(rows.X), len(rows.y)
    total = found.sums[:, 0]
    means = found.sums[:, 1:] / total[:, None]
    z_mean, S, C = _covariances(means, d, k)
    raw = np.trace(S, axis1=1, axis2=2) + (z_mean**2).sum(axis=1)
    relative = _relative_penalty(rows, found.log_scale + np.log(total), rule)
    S[:, np.arange(d), np.arange(d)] += relative[:, None] * rule.penalties
    eigenvalues, vectors = np.linalg.eigh(S)
    blurred = ROUNDING * (raw + eigenvalues[:, -1])
    followed = eigenvalues > SMALLEST_SPREAD**2
    inverse = np.where(followed, 1 / np.where(followed, eigenvalues, 1.0), 0.0)
    steepest = inverse.max(axis=1)
    away = (queries - rows.X[:, centre]) / rows.units - z_mean
    along = np.einsum("qij,qi->qj", vectors, away)
    pull = np.einsum("qij,qj->qi", vectors, inverse * along)
    slopes = vectors @ (inverse[:, :, None] * (vectors.transpose(0, 2, 1) @ C))
    steepness = np.linalg.norm(slopes, axis=1)
    leverage = (inverse * along**2).sum(axis=1)
    # Where a direction is dropped, an error also turns it towards those that are not.
    turned = np.where(followed.all(axis=1), 0.0, np.linalg.norm(away, axis=1) * steepest)
    reach = np.linalg.norm(pull, axis=1) + turned
    in_target = ROUNDING * np.sqrt(raw[:, None] * means[:, k : 2 * k])
    extent = _extent(rows, centre, z_mean)
    return Planes(
        rise=np.einsum("qi,qit->qt", pull, C),
        error=reach[:, None] * (in_target + blurred[:, None] * steepness)
        + ROUNDING * np.sqrt(raw)[:, None] * steepness,
        leverage=leverage,
        amplified=np.sqrt((1 + leverage) * (1 + extent**2 * steepest))
        * (2 + steepness.max(axis=1) * extent),
        sure=(np.abs(eigenvalues - SMALLEST_SPREAD**2) > blurred[:, None]).all(axis=1),
    )


def _covariances(means: Floats, d: int, k: int) -> tuple[Floats, Floats, Floats]:
    """Mean, covariances of the columns, and of columns and targets, from moments about a centre."""
    y_mean, rest = means[:, :k], means[:, 2 * k :]
    z_mean, squares, with_y = np.split(rest, [d, d + d * (d + 1) // 2], axis=1)
    S = np.empty((len(means), d, d))
    upper, right = np.triu_indices(d)
    S[:, upper, right] = squares
    S[:, right, upper] = squares
    S -= z_mean[:, :, None] * z_mean[:, None, :]
    C = with_y.reshape(-1, k, d).transpose(0, 2, 1) - z_mean[:, :, None] * y_mean[:, None, :]
    return z_mean, S, C


def _relative_penalty(rows: LocalRows, log_total: Floats, rule: LocalModel) -> Floats:
    """The reciprocal of each query's total weight, or 0 where nothing is penalised."""
    if not rule.penalties.any():
        return np.zeros(len(log_total))
    return np.exp(np.minimum(-log_total - np.log(rows.weight.max()), 200.0))


def _extent(rows: LocalRows, centre: int, z_mean: Floats) -> Floats:
    """Distance from each mean to the farthest corner of the data's box, in units."""
    low, high = (
        (corner - rows.X[:, centre]) / rows.units
        for corner in (rows.leaves.low.min(axis=1), rows.leaves.high.max(axis=1))
    )
    return np.sqrt((np.maximum(z_mean - low, high - z_mean) ** 2).sum(axis=1))


def solve_directly(rows: LocalRows, query: Floats, near: Floats, rule: LocalModel) -> Floats:
    """The prediction of one query from its rows, by an orthogonal factorisation.

    Weights are formed from differences to the nearest row, which are accurate however far the
    query is.  Rows are left out only where no solution whatever could need them.

    Parameters
    ----------
    rows : LocalRows
    query : array of shape (columns,)
    near : array of shape (columns,)
        The query, within reach.
    rule : LocalModel

    Returns
    -------
    array of shape (targets,)
    """
    depth = _certain_depth(rows, query, rule)
    X, y, log_weight = _nearby(rows, near, depth)
    v = (X - near[:, None]) / rows.bandwidths[:, None]
    first = int(np.argmax(log_weight - 0.5 * (v * v).sum(axis=0)))
    origin, log_first = X[:, first], -0.5 * (v[:, first] ** 2).sum()
    v += v[:, first, None]
    apart = X - origin[:, None]
    exponents = log_weight - 0.5 * (apart / rows.bandwidths[:, None] * v).sum(axis=0)
    largest = exponents.max()
    kept = np.flatnonzero(exponents - largest > -depth)
    kept = kept[np.argsort(-exponents[kept], kind="stable")]
    weight = np.exp(exponents[kept] - largest)
    total = weight.sum()
    share = weight / total
    targets = ((y[:, kept] - y[:, first, None]) / rows.target_unit[:, None]).T
    out = share @ targets
    if rule.degree and len(X):
        z = (apart[:, kept] / rows.units[:, None]).T
        z_mean = share @ z
        root = np.sqrt(share)[:, None]
        log_total = np.array([log_first + largest + np.log(total)])
        ridge = np.sqrt(_relative_penalty(rows, log_total, rule) * rule.penalties)
        slopes = _least_norm(root * (z - z_mean), root * (targets - out), ridge)
        out = out + ((query - origin) / rows.units - z_mean) @ slopes
    return y[:, first] + out * rows.target_unit


def _certain_depth(rows: LocalRows, query: Floats, rule: LocalModel) -> float:
    """L for which rows may be left out, whatever the solution will be.

    Slopes are followed only where the spread is above 1e-6 and so are at most 2e6, in units: the
    bound on rows left out has a bound of its own.
    """
    if not rule.tolerance:
        return -LOWEST
    low, high = rows.leaves.low.min(axis=1), rows.leaves.high.max(axis=1)
    with np.errstate(over="ignore"):
        away = float(np.linalg.norm(np.maximum(high - query, query - low) / rows.units))
    least = SMALLEST_SPREAD
    logs = np.logaddexp(0.0, np.log([away / least, rows.extent / least, rows.extent / least]))
    return float(min(logs.sum() + np.log(2 * rows.n_rows / rule.tolerance), -LOWEST))


def _nearby(rows: LocalRows, query: Floats, depth: float) -> tuple[Floats, Floats, Floats]:
    """Columns, targets and logarithms of weights of all leaves down to a depth."""
    highest = rows.highest_log_weights(query[None])[0]
    nearest = int(np.argmax(highest))
    here = slice(nearest * LEAF, (nearest + 1) * LEAF)
    v = (rows.X[:, here] - query[:, None]) / rows.bandwidths[:, None]
    reached = (rows.log_weight[here] - 0.5 * (v * v).sum(axis=0)).max()
    near = np.flatnonzero(highest >= reached - depth - 1e-12 * abs(reached))
    if len(near) == len(highest):
        return rows.X, rows.y, rows.log_weight
    numbers = (near[:, None] * LEAF + np.arange(LEAF)).ravel()
    numbers = numbers[numbers < rows.n_rows]
    return rows.X[:, numbers], rows.y[:, numbers], rows.log_weight[numbers]


def _least_norm(A: Floats, b: Floats, ridge: Floats) -> Floats:
    """Of all minimisers of ‖Aβ − b‖² + ‖ridge·β‖² the shortest, tiny singular values taken as 0."""
    d = A.shape[1]
    if ridge.any():
        A = np.vstack([A, np.diag(ridge)])
        b = np.vstack([b, np.zeros((d, b.shape[1]))])
    if len(A) > d + b.shape[1]:
        triangle = np.asarray(np.linalg.qr(np.hstack([A, b]), mode="r"))
        A, b = triangle[:, :d], triangle[:, d:]
    left, values, right = np.linalg.svd(A, full_matrices=False)
    followed = values > SMALLEST_SPREAD
    inverse = np.where(followed, 1 / np.where(followed, values, 1.0), 0.0)
    return right.T @ (inverse[:, None] * (left.T @ b))
