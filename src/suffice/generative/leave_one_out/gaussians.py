"""Gaussian naive Bayes without one row, for every row.

Of the moments, a row that leaves changes those of its own class and those over all classes, by
the formula that takes a part away; the other classes notice only through ε.  A kernel does this
for many rows (`suffice.kernels.gaussian.leave_one_out`).  Where a variance or a weight nearly
vanishes with the row, digits would cancel: there, and wherever a class is left without a value in a
column, the moments are subtracted one by one, in the statistic's own precision.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.generative.leave_one_out.rows import LeftOut
from suffice.generative.naive_bayes.gaussians import (
    COMPILED_FROM,
    far_from_zero,
    gaussians,
    log_densities,
)
from suffice.kernels.gaussian.leave_one_out import (
    add_log_densities_without,
    add_tied_densities_without,
)
from suffice.numerics.double_double import Array, DoubleDouble
from suffice.statistics.moments.by_class import ClassMoments
from suffice.statistics.moments.columns import ColumnMoments

RISK = 1e-4
"""Share of a variance or weight below which what remains is computed with more digits."""

CELLS_AT_ONCE = 1 << 18
"""Rows times classes times columns that are worked on at a time, one by one."""


def log_densities_without(
    moments: ClassMoments, left: LeftOut, var_smoothing: float, tied: bool
) -> Array:
    """log p(x | y = k) of each row, under the moments without that row.

    Parameters
    ----------
    moments : ClassMoments
        Of rows among which are those left out.
    left : LeftOut
    var_smoothing : float
    tied : bool

    Returns
    -------
    array of shape (rows, classes)
    """
    left = left._replace(X=np.ascontiguousarray(left.X, dtype=np.float64))
    columns, total, options = moments.columns, moments.total, (var_smoothing, tied)
    found = gaussians(columns, total, *options)
    centre, alone = far_from_zero(found.theta, found.var)
    out = np.zeros((len(left.X), len(moments.labels)))
    doubtful = np.ones(len(out), np.bool_)
    if out.size * left.X.shape[1] >= COMPILED_FROM:
        near, near_total = (replace(one, mean=one.mean - centre) for one in (columns, total))
        out, doubtful = _compiled(near, near_total, left._replace(X=left.X - centre), *options)
        doubtful |= (~np.isnan(left.X[:, alone])).any(axis=1)
    index = np.flatnonzero(doubtful)
    step = max(CELLS_AT_ONCE // max(columns.count.size, 1), 1)
    for start in range(0, len(index), step):
        some = index[start : start + step]
        out[some] = _one_by_one(columns, total, left.at(some), *options)
    return out


def _compiled(
    columns: ColumnMoments, total: ColumnMoments, left: LeftOut, var_smoothing: float, tied: bool
) -> tuple[Array, NDArray[np.bool_]]:
    """The log-densities, and which rows they are not good enough for."""
    known = np.flatnonzero(total.count)
    found = gaussians(columns, total, var_smoothing, tied)
    with np.errstate(divide="ignore", invalid="ignore"):
        var = np.where(columns.count > 0, columns.rounded_scatter / columns.weight.hi, 0.0)
        var_of_all = np.where(total.count > 0, total.rounded_scatter / total.weight.hi, 0.0)
        inverse = np.where(columns.count > 0, 1 / columns.weight.hi, 0.0)
        inverse_of_all = np.where(total.count > 0, 1 / total.weight.hi, 0.0)
    order = known[np.argsort(-var_of_all[known], kind="stable")]
    # Where a class has no value, it goes by all rows: the kernel does not.
    borrowed = (total.count > 0) & (columns.count == 0).any(axis=0)
    doubtful = np.asarray((~np.isnan(left.X[:, borrowed])).any(axis=1))
    out = np.zeros((len(doubtful), len(columns.count)))
    run = add_tied_densities_without if tied else add_log_densities_without
    X, codes, weight = left
    run(
        X, codes, np.argsort(codes, kind="stable"), np.ascontiguousarray(weight),
        columns.mean.round(), var, inverse,
        total.mean.round(), var_of_all, inverse_of_all, order,
        var_smoothing, float(found.epsilon), RISK, out, doubtful,
    )  # fmt: skip
    return out, doubtful


def _one_by_one(
    columns: ColumnMoments, total: ColumnMoments, left: LeftOut, var_smoothing: float, tied: bool
) -> Array:
    rows, n_classes = np.arange(len(left.X)), len(columns.count)
    gone = _single_rows(left.X, left.weight, columns)
    remaining = total.at(None).at(np.zeros(len(rows), np.int64)).subtract(gone)
    every = columns.at(np.tile(np.arange(n_classes), (len(rows), 1)))
    own = _without_specks(columns.at(left.codes).subtract(gone))
    for whole, part in zip(_words(every), _words(own), strict=True):
        whole[rows, left.codes] = part
    found = gaussians(every, remaining, var_smoothing, tied)
    return log_densities(left.X, found.theta, found.rest, found.var)


def _without_specks(moments: ColumnMoments) -> ColumnMoments:
    """Moments in which squares that may be all rounding are none, as in equal cells."""
    speck = moments.rounded_scatter <= moments.error_unit * moments.magnitude
    return replace(moments, scatter=moments.scatter * np.where(speck, 0.0, 1.0))


def _single_rows(X: Array, weight: Array, like: ColumnMoments) -> ColumnMoments:
    """Each row as the moments of a part, of shape (rows, columns)."""
    there = ~np.isnan(X) & (weight > 0)[:, None]
    return replace(
        ColumnMoments.zero(X.shape, like.precision),
        count=there.astype(np.int64),
        weight=DoubleDouble.of(np.where(there, weight[:, None], 0.0)),
        mean=DoubleDouble.of(np.where(there, X, 0.0)),
    )


def _words(moments: ColumnMoments) -> list[Any]:
    """The arrays that moments are made of."""
    values: list[Any] = [moments.weight, moments.mean, moments.scatter]
    words = [w for v in values for w in ((v.hi, v.lo) if isinstance(v, DoubleDouble) else (v,))]
    return [moments.count, moments.mean_rest, moments.magnitude, *words]
