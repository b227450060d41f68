"""Local models of many queries at once, by matrix products.

The weight of row i at query q is wᵢ = sᵢ exp(−½ ‖(xᵢ − q)/τ‖²).  A block's queries share a centre
c, one of the rows.  With v = (x − c)/τ the logarithm of a weight is v·v_q − ½ v·v + log s, but for
a constant: a matrix product.  The weights W (queries × rows) times the products of columns (rows ×
products) is another, and makes the moments of all queries.  The weighted means x̄, ȳ, the
covariances S of the columns and C of columns and targets then give

    prediction = ȳ + (q − x̄)·β,      (S + λP) β = C,      λP the penalty over the total weight.

Weights are taken relative to the largest of the leaves nearest to the query, so that they neither
vanish nor overflow.  A leaf is not visited if each of its weights is below e⁻ᴸ times the largest.

A direction in which the neighbourhood's weighted standard deviation is at most 1e-6 units (see
`suffice.linear.local.rows`) is not followed: its slope is 0.  With one row of any weight nearby,
the prediction is that row's target.

What rounding can do to the moments is estimated for each query.  Where the prediction might be off
by more than 1e-10 of its size, it is made again from the rows, by an orthogonal factorisation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.density.exponential import exp_of_differences
from suffice.linear.local.rows import LEAF, Floats, LocalRows

SMALLEST_SPREAD = 1e-6
"""Standard deviation, in units, up to which a neighbourhood has no extent in a direction."""

ACCURATE = 1e-10
"""Error relative to the prediction, or to the targets' local deviation, that is let pass."""

ROUNDING = 16 * 2.0**-53
"""Relative rounding error of a moment about the block's centre."""

MARGIN = 300.0
"""What logarithms of weights may exceed that of the one they are taken relative to."""

NEGLIGIBLE = 150.0
"""Weights below e⁻¹⁵⁰ of the largest matter to no slope that a spread of 1e-6 determines."""

MOST_COLUMNS = 180
"""Columns up to which moments are formed."""


class LocalModel(NamedTuple):
    """What to solve around each query.

    Attributes
    ----------
    degree : {0, 1}
        A weighted mean, or a plane.
    penalties : array of shape (columns,)
        Factor of the square of each slope, in units of `LocalRows.units`.
    depth : float
        L: leaves are left out where each weight is below e⁻ᴸ times the largest.
    """

    degree: int
    penalties: Floats
    depth: float


class LocalMoments(NamedTuple):
    """Weighted moments about a row, for each query.

    Attributes
    ----------
    centre : int
        The row's number.
    sums : array of shape (queries, moments)
        Over the rows: 1, y, y², z, then z zᵀ (upper triangle) and z yᵀ; z and y in units.
    log_scale : array of shape (queries,)
        Logarithm of what the sums are to be multiplied with, but for the largest of all sᵢ.
    blur : array of shape (queries,)
        Relative error that rounding of distances may have left in a weight.
    """

    centre: int
    sums: Floats
    log_scale: Floats
    blur: Floats


def predict_block(rows: LocalRows, queries: Floats, model: LocalModel) -> Floats:
    """Predictions of some queries, best near each other, of shape (queries, targets)."""
    near = rows.within_reach(queries)
    out, trusted = np.empty((len(queries), len(rows.y))), np.zeros(len(queries), bool)
    if len(rows.X) <= MOST_COLUMNS:
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is not trusted
            out, trusted = solve(rows, queries, moments_around(rows, near, model), model)
    for i in np.flatnonzero(~trusted):
        out[i] = solve_directly(rows, queries[i], near[i], model)
    return out


def moments_around(rows: LocalRows, queries: Floats, model: LocalModel) -> LocalMoments:
    """The weighted moments around each query, leaf by leaf, nearest first."""
    bandwidths, units = rows.bandwidths[:, None], rows.units[:, None]
    from_middle = (rows.X - queries.mean(axis=0)[:, None]) / bandwidths
    centre = int(np.argmin((from_middle**2).sum(axis=0)))
    vq = (queries - rows.X[:, centre]) / rows.bandwidths
    half = 0.5 * (vq * vq).sum(axis=1)
    vq = np.column_stack([vq, np.ones(len(vq))])
    highest = rows.highest_log_weights(queries) + half[:, None]
    sums, largest = np.zeros((len(vq), 1)), np.full(len(vq), -np.inf)
    for leaf in np.argsort(-highest.max(axis=0), kind="stable"):
        if (highest[:, leaf] < largest - model.depth).all():
            continue
        here = slice(leaf * LEAF, (leaf + 1) * LEAF)
        away = rows.X[:, here] - rows.X[:, centre, None]
        y = (rows.y[:, here] - rows.y[:, centre, None]) / rows.target_unit[:, None]
        v = away / bandwidths
        weights = vq @ np.vstack([v, rows.log_weight[here] - 0.5 * (v * v).sum(axis=0)])
        if not (highest[:, leaf] < largest + MARGIN).all():
            larger = np.maximum(largest, weights.max(axis=1))
            sums, largest = sums * np.exp(largest - larger)[:, None], larger
        exp_of_differences(weights, largest)
        sums = sums + weights @ products((away / units)[: model.degree * len(away)], y).T
    range_of_logs = -float(rows.log_weight.min())
    blur = 4 * 2.0**-53 * (10 * half + 6 * np.abs(largest) + 5 * range_of_logs + 160)
    return LocalMoments(centre, sums, largest - half, blur)


def products(z: Floats, y: Floats) -> Floats:
    """The products of columns whose weighted sums are the moments, a row each."""
    squares = [z[j:] * z[j] for j in range(len(z))]
    return np.vstack([np.ones(y.shape[1]), y, y * y, z, *squares, *(z * target for target in y)])


def solve(
    rows: LocalRows, queries: Floats, found: LocalMoments, model: LocalModel
) -> tuple[Floats, NDArray[np.bool_]]:
    """Predictions from moments, and whether rounding leaves each of them accurate."""
    d, k = model.degree * len(rows.X), len(rows.y)
    first, second = np.triu_indices(d)
    means = found.sums[:, 1:] / found.sums[:, :1]
    y_mean, y_square, z_mean, z_square, with_y = np.split(
        means, np.cumsum([k, k, d, len(first)]), axis=1
    )
    S = np.zeros((len(means), d, d))
    S[:, second, first] = z_square - z_mean[:, first] * z_mean[:, second]  # eigh reads no more
    S[:, range(d), range(d)] += _ridge(rows, found.log_scale + np.log(found.sums[:, 0]), model)
    C = with_y.reshape(len(means), k, d) - y_mean[:, :, None] * z_mean[:, None]  # transposed
    eigenvalues, vectors = np.linalg.eigh(S)
    followed = eigenvalues > SMALLEST_SPREAD**2
    eigenvalues_followed = np.where(followed, eigenvalues, np.inf)
    away = ((queries - rows.X[:, found.centre]) / rows.units)[:, :d] - z_mean
    slopes = (C @ vectors) / eigenvalues_followed[:, None] @ vectors.transpose(0, 2, 1)
    y = y_mean + np.einsum("qti,qi->qt", slopes, away)
    predictions = rows.y[:, found.centre] + y * rows.target_unit

    # Errors of C − Sβ reach the prediction by S⁻¹(q − x̄), those of weights by its leverage.
    size = np.trace(S, axis1=1, axis2=2)[:, None] + (z_mean**2).sum(axis=1, keepdims=True)
    least = eigenvalues_followed.min(axis=1, initial=np.inf, keepdims=True)
    farness = np.linalg.norm(away, axis=1, keepdims=True) / np.sqrt(least)
    y_deviation = np.sqrt(np.maximum(y_square - y_mean**2, 0.0))
    terms = np.sqrt(y_square) + np.sqrt(size) * np.linalg.norm(slopes, axis=2)
    error = ROUNDING * (1 + farness * np.sqrt(size / least)) * terms
    error += found.blur[:, None] * (1 + farness) * y_deviation
    scale = np.maximum(np.abs(predictions) / rows.target_unit, y_deviation)
    accurate = (error <= ACCURATE * scale).all(axis=1)
    doubtful = np.abs(eigenvalues - SMALLEST_SPREAD**2) <= ROUNDING * size
    return predictions, accurate & ~doubtful.any(axis=1)


def _ridge(rows: LocalRows, log_total: Floats, model: LocalModel) -> Floats:
    """The penalties over each query's total weight, of shape (queries, columns)."""
    penalties = model.penalties[: model.degree * len(rows.X)]
    relative = np.exp(np.minimum(-log_total - np.log(rows.weight.max()), 200.0))
    return relative[:, None] * penalties


def solve_directly(rows: LocalRows, query: Floats, near: Floats, model: LocalModel) -> Floats:
    """The prediction of one query from its rows, by an orthogonal factorisation.

    Weights are formed from differences to the nearest row, which are accurate however far the
    query is.

    Parameters
    ----------
    rows : LocalRows
    query : array of shape (columns,)
    near : array of shape (columns,)
        The query, within reach.
    model : LocalModel

    Returns
    -------
    array of shape (targets,)
    """
    d, depth = model.degree * len(rows.X), max(model.depth, NEGLIGIBLE)
    numbers = rows.nearby(near, depth)
    X, log_weight = rows.X[:, numbers], rows.log_weight[numbers]
    v = (X - near[:, None]) / rows.bandwidths[:, None]
    first = int(np.argmax(log_weight - 0.5 * (v * v).sum(axis=0)))
    log_first = -0.5 * (v[:, first] ** 2).sum()
    apart = X - X[:, first, None]
    v += v[:, first, None]
    exponents = log_weight - 0.5 * (apart / rows.bandwidths[:, None] * v).sum(axis=0)
    largest = exponents.max()
    kept = np.flatnonzero(exponents >= largest - depth)
    # Rows of falling norms: a factorisation then keeps the digits of the small ones.
    kept = kept[np.argsort(-exponents[kept], kind="stable")]
    weight = np.exp(exponents[kept] - largest)
    share = weight / weight.sum()
    root = np.sqrt(share)[:, None]
    origin = rows.y[:, numbers[first]]
    y = (rows.y[:, numbers[kept]].T - origin) / rows.target_unit
    z = (apart[:d, kept] / rows.units[:d, None]).T
    y_mean, z_mean = share @ y, share @ z
    ridge = _ridge(rows, np.array([log_first + largest + np.log(weight.sum())]), model)
    slopes = _least_norm(root * (z - z_mean), root * (y - y_mean), np.sqrt(ridge[0]))
    away = ((query - X[:, first]) / rows.units)[:d] - z_mean
    return origin + (y_mean + away @ slopes) * rows.target_unit


def _least_norm(A: Floats, b: Floats, ridge: Floats) -> Floats:
    """Of all minimisers of ‖Aβ − b‖² + ‖ridge·β‖² the shortest, tiny singular values taken as 0."""
    d = A.shape[1]
    penalised = np.hstack([np.diag(ridge), np.zeros((d, b.shape[1]))])
    triangle = np.asarray(np.linalg.qr(np.vstack([np.hstack([A, b]), penalised]), mode="r"))
    left, values, right = np.linalg.svd(triangle[:, :d], full_matrices=False)
    inverse = 1 / np.where(values > SMALLEST_SPREAD, values, np.inf)
    return right.T @ (inverse[:, None] * (left.T @ triangle[:, d:]))
