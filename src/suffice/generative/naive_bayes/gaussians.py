"""Gaussians of each class and column: from moments, and the log-densities of rows under them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.gaussian.densities import FARTHEST, add_log_densities
from suffice.numerics.double_double import UNIT, Array
from suffice.statistics.moments.columns import ColumnMoments

COMPILED_FROM = 1 << 15
"""Rows times columns times classes from which densities are computed by a kernel."""

SMALLEST_VARIANCE = 1e-250
"""Stands for a variance of zero where a density is asked for: almost a point mass."""


FAR = 1e3
"""Deviations from zero beyond which what rounding takes from a mean would show."""


class Gaussians(NamedTuple):
    """Means and variances of each class and column, and the smoothing in them.

    What rounding took from a mean is its `rest`: it counts where a class is narrow and far from 0.
    """

    theta: Array
    rest: Array
    var: Array
    epsilon: Array


def gaussians(
    columns: ColumnMoments, total: ColumnMoments, var_smoothing: float, tied: bool
) -> Gaussians:
    """The Gaussians of moments of shape (…, classes, columns), and those over all classes.

    NaN in columns without any value.
    """
    weight, scatter = columns.weight.hi, np.maximum(columns.rounded_scatter, 0.0)
    weight_of_all = total.weight.hi
    with np.errstate(invalid="ignore", divide="ignore"):
        mean_of_all = np.where(weight_of_all > 0, total.mean.round(), np.nan)
        var_of_all = np.maximum(total.rounded_scatter, 0.0) / weight_of_all
        if tied:
            pooled = scatter.sum(axis=-2) / weight.sum(axis=-2)
            var = np.broadcast_to(pooled[..., None, :], scatter.shape)
        else:
            var = np.where(weight > 0, scatter / weight, var_of_all[..., None, :])
    theta = np.where(weight > 0, columns.mean.round(), mean_of_all[..., None, :])
    rest = np.where(weight > 0, columns.mean.lo, total.mean.lo[..., None, :])
    rest = np.where(np.isnan(theta), 0.0, rest)
    largest = np.max(np.where(weight_of_all > 0, var_of_all, 0.0), axis=-1, initial=0.0)
    epsilon = np.asarray(var_smoothing * largest)
    return Gaussians(theta, rest, var + epsilon[..., None, None], epsilon)


def far_from_zero(theta: Array, var: Array) -> tuple[Array, NDArray[np.bool_]]:
    """A point near all means of a column, 0 where there is none; and where one was needed.

    Rows near the means are no more than twice as far from zero: less this point they are exact.
    """
    with np.errstate(invalid="ignore"):
        far = np.abs(theta) > FAR * np.sqrt(var)
        together = np.ptp(theta, axis=0) <= np.abs(theta).min(axis=0) / 2
    near = far.all(axis=0) & together
    return np.where(near, theta[0], 0.0), far.any(axis=0) & ~near


def guaranteed_error(
    columns: ColumnMoments, total: ColumnMoments, found: Gaussians, var_smoothing: float, tied: bool
) -> float:
    """The largest relative error of a variance, or of a mean relative to its deviation.

    From |Δs| ≤ unit · magnitude and |Δm| ≤ unit · √(magnitude / W).
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        magnitude = columns.magnitude / columns.weight.hi
        of_all = total.magnitude / total.weight.hi
        if tied:
            pooled = columns.magnitude.sum(axis=0) / columns.weight.hi.sum(axis=0)
            spread = np.broadcast_to(pooled, magnitude.shape)
        else:
            spread = magnitude
        spread = np.where(columns.count > 0, spread, of_all)
        magnitude = np.where(columns.count > 0, magnitude, of_all)
        unit = columns.error_unit
        slack = var_smoothing * total.error_unit * np.nanmax(of_all, initial=0.0)
        off = unit * spread + np.where(spread > 0, slack, 0.0)
        variance = np.where(off > 0, off / found.var, 0.0)
        size = np.maximum(np.abs(found.theta), np.sqrt(found.var))
        mean = np.where(magnitude > 0, unit * np.sqrt(magnitude) / size, 0.0)
    return float(max(np.nanmax(variance, initial=0.0), np.nanmax(mean, initial=0.0))) + 4 * UNIT


def log_densities(rows: Any, theta: Array, rest: Array, var: Array) -> Array:
    """Σⱼ log N(xⱼ; θₖⱼ, vₖⱼ) over the cells that are there: shape (rows, classes).

    `theta`, `rest` and `var` are of shape (classes, columns), or (rows, classes, columns).
    """
    known = ~np.isnan(theta)
    var = np.where(known, np.maximum(var, SMALLEST_VARIANCE), 1.0)
    theta = np.where(known, theta, 0.0)
    scale = np.where(known, 1 / np.sqrt(var), 0.0)
    peak = np.where(known, -0.5 * np.log(2 * np.pi * var), 0.0)
    rows = np.ascontiguousarray(rows, dtype=np.float64)
    if theta.ndim == 2 and rows.size * len(theta) >= COMPILED_FROM:
        out = np.zeros((len(rows), len(theta)))
        add_log_densities(rows, theta, np.ascontiguousarray(rest), scale, peak, out)
        return out
    return _few_log_densities(rows, theta, rest, scale, peak)


def _few_log_densities(rows: Array, theta: Array, rest: Array, scale: Array, peak: Array) -> Array:
    missing = np.isnan(rows)[:, None, :]
    away = np.where(missing, 0.0, ((rows[:, None, :] - theta) - rest) * scale)
    half = np.minimum(0.5 * np.einsum("ikj,ikj->ik", away, away), FARTHEST)
    return np.asarray(np.where(missing, 0.0, peak).sum(axis=2) - half)
