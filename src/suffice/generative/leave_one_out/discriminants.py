"""Discriminants without one row, for every row.

A row x of weight w that leaves class c, of weight W_c and mean m_c, takes from the scatter a
matrix of rank one: with a = x − m_c and f = w W_c / (W_c − w),

    S' = S − f a aᵀ,      S'⁻¹ = S⁻¹ + f S⁻¹ a aᵀ S⁻¹ / (1 − f aᵀ S⁻¹ a),
    |S'| = |S| (1 − f aᵀ S⁻¹ a),      m_c' = m_c − a w / (W_c − w)

(Sherman and Morrison), so distances without a row follow from those with it.  Where
1 − f aᵀ S⁻¹ a nearly vanishes the row alone spans a direction, and where the covariance is shrunk
or singular more changes than that: there the model is solved again from the statistic without
the row.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.generative.discriminant.axes import principal_axes
from suffice.generative.discriminant.base import class_means
from suffice.generative.discriminant.covariance import covariance
from suffice.generative.leave_one_out.rows import LeftOut, left_out, log_priors_without
from suffice.numerics.double_double import Array
from suffice.sources import Block

RISK = 1e-4
"""What may remain of 1 − f aᵀ S⁻¹ a without a second look."""


def linear_without(model: Any, statistic: Any, block: Block) -> Array:
    """log p(x, y = k) up to a common term, under the linear model without each row.

    Parameters
    ----------
    model : LinearDiscriminantAnalysis
        Fitted.
    statistic : PooledMoments or LabelledMoments
        Of rows among which are those of the block.
    block : Block

    Returns
    -------
    array of shape (rows, classes)
    """
    left = left_out(statistic, block)
    out = _log_priors(model, statistic, left)
    axes = principal_axes(covariance(statistic.within), model.tol**2)
    near = max(axes.dropped.max(initial=0.0), 0.0) > model.tol**2 / 4
    near |= bool(axes.rank) and bool(axes.values[-1] < 4 * model.tol**2)
    if model._rule().shrinks or model._weighs_by_priors() or near or not axes.rank:
        return _one_by_one(model, statistic, left, out, np.arange(len(out)))
    whole = float(statistic.weight.sum().hi)
    B = axes.whitening / np.sqrt(whole)  # S⁻¹ = B Bᵀ
    rows = np.asarray(left.X, dtype=np.float64)
    mean, beyond, _ = class_means(statistic)
    centres = mean.round()
    shifts = ((mean - centres) + beyond).round() @ B
    factor, stretch = _factors(statistic, left)
    own = (rows - centres[left.codes]) @ B - shifts[left.codes]
    square = np.einsum("ij,ij->i", own, own)
    rest = 1 - factor * square
    safe = rest > RISK
    share = np.divide(factor, rest, out=np.zeros_like(rest), where=safe)
    for k, (centre, shift) in enumerate(zip(centres, shifts, strict=True)):
        mine = left.codes == k
        away = np.where(mine[:, None], own * stretch[:, None], (rows - centre) @ B - shift)
        cross = np.einsum("ij,ij->i", away, own)
        squares = np.einsum("ij,ij->i", away, away) + share * np.square(cross)
        out[:, k] -= 0.5 * (whole - left.weight) * squares
    return _one_by_one(model, statistic, left, out, np.flatnonzero(~safe))


def quadratic_without(model: Any, statistic: Any, block: Block) -> Array:
    """The same under the quadratic model without each row."""
    left = left_out(statistic, block)
    out = _log_priors(model, statistic, left)
    shrinks = model._rule().shrinks or model.reg_param > 0
    d = model.n_features_in_
    if shrinks or not all(axes == d for axes in model._ranks) or not d:
        return _one_by_one(model, statistic, left, out, np.arange(len(out)))
    rows = np.asarray(left.X, dtype=np.float64)
    factor, stretch = _factors(statistic, left)
    doubtful = np.zeros(len(rows), np.bool_)
    for k, constant in enumerate(model._log_determinants):
        half = model._standardised(rows, k)
        squares = np.einsum("ij,ij->i", half, half)
        mine = np.flatnonzero(left.codes == k)
        heavy = float(statistic.weight.hi[k])
        f, s, w = factor[mine], stretch[mine], left.weight[mine]
        rest = 1 - f * squares[mine] / heavy
        safe = rest > RISK
        doubtful[mine] = ~safe
        rest = np.where(safe, rest, 1.0)
        logs = np.full(len(rows), constant)
        # Over the weight that stays, the determinant grows with the power d.
        logs[mine] += d * np.log(s) + np.log(rest)
        squares[mine] *= s**2 / rest * (heavy - w) / heavy
        out[:, k] -= 0.5 * (squares + logs)
    return _one_by_one(model, statistic, left, out, np.flatnonzero(doubtful))


def _log_priors(model: Any, statistic: Any, left: LeftOut) -> Array:
    given = None if model.priors is None else model.priors_
    return log_priors_without(statistic, left, given, 0.0)


def _factors(statistic: Any, left: LeftOut) -> tuple[Array, Array]:
    """f = w W_c / (W_c − w), and W_c / (W_c − w); 0 and 1 where no row stays."""
    heavy = statistic.weight.hi[left.codes]
    stays = (statistic.rows[left.codes] > 1) & (heavy > left.weight)
    remaining = np.where(stays, heavy - left.weight, 1.0)
    stretch = np.where(stays, heavy / remaining, 1.0)
    return np.where(stays, left.weight * stretch, 0.0), stretch


def _one_by_one(
    model: Any, statistic: Any, left: LeftOut, out: Array, index: NDArray[np.intp]
) -> Array:
    """Replace the answers for some rows by those of models solved without them."""
    again = copy.copy(model)
    for i in index:
        row = np.asarray(left.X[i : i + 1], dtype=np.float64)
        rest = statistic
        if left.weight[i] > 0:
            label = statistic.labels[left.codes[i : i + 1]]
            block = Block(row, label, left.weight[i : i + 1], 0)
            rest = statistic.subtract(model._summarize(block, statistic.precision))
        if not rest.count or (rest.rows == 1).all():
            continue  # no spread is left to tell the classes apart by
        again._solve(rest, final=True)
        out[i] = -np.inf
        out[i, np.searchsorted(statistic.labels, rest.labels)] = again._joint(row)[0]
    return out
