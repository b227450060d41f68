"""Weighted moments around many queries at once, by matrix products.

The weight of row i at query q is sᵢ exp(−½ ‖(xᵢ − q)/τ‖²).  A block's queries share a centre c,
one of the rows.  With v = (x − c)/τ the logarithm of a weight is v·v_q − ½ v·v + log s, but for a
constant: a matrix product.  The weights W (queries × rows) times the products of columns (rows ×
products) is another, and makes the moments of all queries.  Weights are taken relative to the
largest of the leaves nearest to the query, so that they neither vanish nor overflow.

A leaf is not visited if each of its weights is below e⁻ᴸ times the largest: all that are left out
make up at most n e⁻ᴸ of the sum of weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from suffice.kernels.density.exponential import exp_of_differences
from suffice.linear.local.rows import LEAF, Floats, LocalRows

MARGIN = 300.0
"""What logarithms of weights may exceed that of the one they are taken relative to."""

HEADROOM = 1e5
"""How much less than the extent of the data alone requires is left out, for the bound to hold."""


@dataclass(frozen=True)
class LocalModel:
    """What to solve around each query.

    Attributes
    ----------
    degree : {0, 1}
        A weighted mean, or a plane.
    penalties : array of shape (columns,)
        Factor of the square of each slope, in units of `LocalRows.units`.
    tolerance : float
        What rows left out may change, relative to the target's range.
    """

    degree: int
    penalties: Floats
    tolerance: float

    def depth(self, rows: LocalRows) -> float:
        """L: rows are left out where their weight is below e⁻ᴸ times the largest."""
        if not self.tolerance:
            return np.inf
        grows = 2 * np.log1p(rows.extent) if self.degree else 0.0
        return float(np.log(rows.n_rows * HEADROOM / self.tolerance) + grows)


class Neighbourhoods(NamedTuple):
    """Weighted moments about a centre, a row for each query.

    Attributes
    ----------
    sums : array of shape (queries, moments)
        Over the rows: 1, y, y², z, then z zᵀ (upper triangle) and z yᵀ; z and y in units.
    log_scale : array of shape (queries,)
        Logarithm of what the sums are to be multiplied with, without the common largest weight.
    blur : array of shape (queries,)
        Relative error that rounding of distances may have left in a weight.
    skipped : bool
        Whether any row was left out.
    """

    sums: Floats
    log_scale: Floats
    blur: Floats
    skipped: bool


def n_moments(d: int, k: int, degree: int) -> int:
    """Number of moments of d columns and k targets."""
    return 1 + 2 * k + degree * (d + d * (d + 1) // 2 + d * k)


def neighbourhoods(
    rows: LocalRows, queries: Floats, centre: int, rule: LocalModel
) -> Neighbourhoods:
    """The weighted moments around each query, leaf by leaf, nearest first."""
    d, k = len(rows.X), len(rows.y)
    size, depth = n_moments(d, k, rule.degree), rule.depth(rows)
    highest = rows.highest_log_weights(queries)
    vq = np.ones((len(queries), d + 1))
    vq[:, :d] = (queries - rows.X[:, centre]) / rows.bandwidths
    half = 0.5 * (vq[:, :d] ** 2).sum(axis=1)
    sums, largest, skipped = np.zeros((len(vq), size)), np.full(len(vq), -np.inf), False
    # Fresh memory for every leaf would cost more than the products.
    room_w, room_p = np.empty(len(vq) * LEAF), np.empty(size * LEAF)
    for leaf in np.argsort(-highest.max(axis=0), kind="stable"):
        if (highest[:, leaf] < largest - half - depth).all():
            skipped = True
            continue
        here = slice(leaf * LEAF, (leaf + 1) * LEAF)
        away = rows.X[:, here] - rows.X[:, centre, None]
        v = np.empty((d + 1, away.shape[1]))
        np.divide(away, rows.bandwidths[:, None], out=v[:d])
        v[d] = rows.log_weight[here] - 0.5 * (v[:d] ** 2).sum(axis=0)
        weights = np.matmul(vq, v, out=_shaped(room_w, len(vq), v.shape[1]))
        if not (highest[:, leaf] + half < largest + MARGIN).all():
            larger = np.maximum(largest, weights.max(axis=1))
            sums *= np.exp(largest - larger)[:, None]
            largest = larger
        exp_of_differences(weights, largest)
        away /= rows.units[:, None]
        y = (rows.y[:, here] - rows.y[:, centre, None]) / rows.target_unit[:, None]
        table = _shaped(room_p, size, v.shape[1])
        fill_products(away if rule.degree else away[:0], y, table)
        sums += weights @ table.T
    return Neighbourhoods(sums, largest - half, _blur(rows, half, largest), skipped)


def _shaped(room: Floats, rows: int, columns: int) -> Floats:
    return room[: rows * columns].reshape(rows, columns)


def fill_products(z: Floats, y: Floats, out: Floats) -> None:
    """The products of columns whose weighted sums are the moments, a row each.

    Parameters
    ----------
    z : array of shape (columns, rows)
    y : array of shape (targets, rows)
    out : array of shape (moments, rows), written
    """
    d, k = len(z), len(y)
    out[0] = 1.0
    out[1 : 1 + k] = y
    np.multiply(y, y, out=out[1 + k : 1 + 2 * k])
    at = 1 + 2 * k
    out[at : at + d] = z
    at += d
    for j in range(d):
        np.multiply(z[j:], z[j], out=out[at : at + d - j])
        at += d - j
    for target in y if d else ():
        np.multiply(z, target, out=out[at : at + d])
        at += d


def _blur(rows: LocalRows, half: Floats, largest: Floats) -> Floats:
    """Relative error of the weights that matter, from the size of the terms of their exponents."""
    vq = np.sqrt(2 * half)
    range_of_logs = -float(rows.log_weight.min())
    nearest = np.maximum(2 * (half - largest), 0.0)
    vx = vq + np.sqrt(nearest + 80 + 2 * range_of_logs)
    return 4 * 2.0**-53 * (vx * vq + 0.5 * vx * vx + range_of_logs + np.abs(largest))
