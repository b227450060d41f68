"""Least squares as a problem for gradient descent.

    F = ½ Σ wᵢ ‖Θ aᵢ − yᵢ‖² + ½ Σ λⱼ θⱼ²,      aᵢ = ((xᵢ − x̄)/s, 1)

A first look at some rows says about where the columns lie, and a pass about there, without
cancellation, their means and deviations.  Nothing is kept that further rows could be added to.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from suffice.fitting.regression import as_columns
from suffice.fitting.requests import Fold, Pass, needed
from suffice.linear.least_squares.conjugate_gradients import centred_squares
from suffice.linear.solvers.gradient_descent import DescentOptions, descend
from suffice.linear.solvers.line_search import Minimum
from suffice.linear.solvers.losses import Squared
from suffice.linear.solvers.objective import Objective, ScaledColumns, Target, present
from suffice.linear.solvers.sample import FirstLook, centre_and_scale, first_look_pass, stride_of
from suffice.numerics.double_double import Array
from suffice.sources import Block, Source
from suffice.statistics.moments.full import NOTHING
from suffice.statistics.moments.products import TOO_LARGE
from suffice.statistics.sums import Sums


class Descended(NamedTuple):
    """Coefficients of shape (targets, columns), intercepts, and where the descent ended."""

    coef: Array
    intercept: Array
    found: Minimum


def squared_descent(
    source: Source,
    penalties: Callable[[Callable[[], Array], int], Array],
    n_targets: int,
    fit_intercept: bool,
    descent: DescentOptions,
    attributes: Callable[[Array, Array], dict[str, Any]] | None = None,
) -> Generator[Pass | Fold, Any, Descended]:
    """Fit least squares by gradient steps.

    Parameters
    ----------
    source : Source
    penalties : function of a function that gives the columns' variances, and of `n_targets`
        λ of shape (targets, columns).
    n_targets : int
    fit_intercept : bool
    descent : DescentOptions
    attributes : function of coefficients and intercepts, optional
        What callbacks see.
    """
    stride = stride_of(source.count_rows(), source.n_columns + 1)
    first_look: FirstLook = yield from needed(first_look_pass(stride, check=_check_target))
    if not first_look.count:
        raise ValueError(NOTHING)
    some: Any = first_look.sample
    about, _ = centre_and_scale(some.X, some.weight, not source.sparse)
    look = Pass("columns", partial(_deviations, about=about))
    sums: Sums = yield from needed(look)
    moved, squares, y = (value / sums.values[0] for value in sums.values[1:])
    variance = np.maximum(squares - np.square(moved), 0.0)
    mean, centred = about + moved, fit_intercept and not source.sparse
    spread = variance if centred else variance + np.square(mean)
    # What varies by less than the rounding of its mean does not vary.
    still = np.sqrt(spread) <= 1e-14 * np.abs(mean)
    scale = np.sqrt(np.where(still | (spread == 0), 1.0, spread))
    centre = mean if centred else np.zeros_like(mean)
    columns = ScaledColumns(centre, scale, fit_intercept, None, source.n_columns)
    constant = np.zeros((n_targets, columns.n_parameters))
    l1, l2 = np.zeros((2, *constant.shape))
    l2[:, : len(scale)] = penalties(lambda: variance, n_targets) / np.square(scale)
    if fit_intercept:
        constant[:, -1] = y
    objective = Objective(
        loss=Squared(n_targets), columns=columns, l2=l2, l1=l1,
        target=_target, attributes=attributes,
    )  # fmt: skip
    sample = some if stride > 1 else None
    found = yield from descend(objective, constant, constant, sample, descent, first_look.count)
    return Descended(*columns.to_user(found.parameters), found)


def _check_target(block: Block) -> None:
    as_columns(block.y)


def _target(block: Block) -> Target:
    return Target(as_columns(block.y), block.weight)


def _deviations(block: Block, about: Array) -> Sums:
    """Σ w, Σ w (x − c), Σ w (x − c)² and Σ w y."""
    block = present(block)
    X, y = block.X, as_columns(block.y)
    weight = np.ones(block.n_rows) if block.weight is None else block.weight
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.array([weight.sum()])
        moved = np.asarray(weight @ X) if not about.any() else weight @ (X - about)
        squares = centred_squares(X, weight, about)
        found = Sums((total, moved, squares, weight @ y))
        finite = np.isfinite(squares).all() and np.isfinite(np.square(y).sum())
    if not finite:
        raise FloatingPointError(TOO_LARGE)
    return found
