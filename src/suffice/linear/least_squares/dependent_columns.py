"""Least squares where float64 moments cannot tell whether columns depend on others.

A full one-hot code, totals beside their parts, a column twice: nothing is left of such a column,
and float64 moments know nothing of what is left.  So the columns that seem to depend on the
others are taken out, and one pass over residuals (`suffice.linear.least_squares.refinement`) tells
two things at once, of the target and of these columns as if they were targets too:

    y ≈ θ·x_I + b,        x_D ≈ Γᵀ x_I + c.

If no more is left of x_D than its own rounding, then adding multiples of N = (−Γ, 1) to θ changes
no prediction, and of all these solutions

    θ − N (NᵀN)⁻¹ Nᵀ θ

is the one of smallest norm.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.linalg import lapack

from suffice.fitting.requests import Request
from suffice.linear.least_squares.normal_equations import (
    NormalEquations,
    ScaledEquations,
    rounded,
)
from suffice.linear.least_squares.refinement import remainder_of
from suffice.linear.least_squares.solve import (
    PROVED_ERROR,
    LeastSquaresSolution,
    digits_of_each,
    intercept_bound,
    relative_error,
    solve_if_accurate,
)
from suffice.numerics.double_double import UNIT, DoubleDouble

SEEMS_DEPENDENT = 1e-11
"""What is left of a column, relative to its squares, below which it is put to the test."""

ROUNDINGS_LEFT = 64
"""What may be left of a dependent column, in roundings of its values: theirs, and those of the
residuals, which add up at random."""

Indices = NDArray[np.intp]


def without_dependent(
    equations: NormalEquations, sparse: bool, learned: Callable[[], Any]
) -> Generator[Request, Any, LeastSquaresSolution | None]:
    """The unpenalised solution of smallest norm; None where no column is proved to depend."""
    free, dependent = _told_apart(equations)
    k, few = equations.B.shape[1], len(free) + len(dependent)
    if not len(dependent) or k + len(dependent) > few / 2:
        return None
    reduced = _columns_as_targets(equations, free, dependent)
    nothing = np.zeros(len(free))
    first = solve_if_accurate(reduced, nothing, accepted=np.inf)
    if first is None or not np.isfinite(first.error):
        return None
    start = first.coef.round()
    rest = yield from remainder_of(reduced, start, sparse, learned, (free, dependent))
    reduced = replace(reduced, remainder=rest)
    found = solve_if_accurate(reduced, nothing)
    if found is None:
        return None
    own = UNIT * np.sqrt(equations.x_square[dependent])
    if not (np.sqrt(found.residual.hi[k:]) <= ROUNDINGS_LEFT * own).all():
        return None
    smallest = _smallest(equations, found, free, dependent)
    return smallest if smallest.error <= PROVED_ERROR else None


def _told_apart(equations: NormalEquations) -> tuple[Indices, Indices]:
    """Columns that are surely independent, and those that do not seem to be."""
    scaled = ScaledEquations(equations, np.zeros(equations.x_mean.shape))
    A = rounded(scaled.A)
    varies = np.flatnonzero(np.diagonal(A) > scaled.tolerance)
    order, rank = np.zeros(0, dtype=np.intp), 0
    if len(varies):
        _, order, rank, _ = lapack.dpstrf(A[np.ix_(varies, varies)], tol=SEEMS_DEPENDENT, lower=1)
    free = np.sort(scaled.active[varies[order[:rank] - 1]])
    return free, np.setdiff1d(scaled.active, free)


def _columns_as_targets(e: NormalEquations, free: Indices, dependent: Indices) -> NormalEquations:
    """The equations of some columns, with others behind the targets."""
    A = rounded(e.A)

    def beside(of_targets: Any, of_columns: Any) -> DoubleDouble:
        first, second = DoubleDouble.of(of_targets), DoubleDouble.of(of_columns)
        return DoubleDouble(
            np.concatenate([first.hi, second.hi], axis=-1),
            np.concatenate([first.lo, second.lo], axis=-1),
        )

    return replace(
        e.of_columns(free),
        B=np.hstack([rounded(e.B)[free], A[np.ix_(free, dependent)]]),
        total=beside(e.total, np.diagonal(A)[dependent]),
        y_mean=beside(e.y_mean, e.x_mean[dependent]),
        y_magnitude=np.concatenate([e.y_magnitude, e.x_magnitude[dependent]]),
    )


def _smallest(
    equations: NormalEquations,
    found: LeastSquaresSolution,
    free: Indices,
    dependent: Indices,
) -> LeastSquaresSolution:
    """Of all solutions the one of smallest norm, and what the errors of θ and Γ make of it."""
    d, k = equations.x_mean.shape[0], equations.B.shape[1]
    theta, error, N, N_error = (np.zeros((d, n)) for n in (k, k, len(dependent), len(dependent)))
    bound = found.coef_bound
    theta[free], error[free] = found.coef.round()[:, :k], bound[:, :k]
    N[free], N_error[free] = -found.coef.round()[:, k:], bound[:, k:]
    N[dependent, np.arange(len(dependent))] = 1.0
    squares = linalg.inv(N.T @ N, check_finite=False)
    along = squares @ (N.T @ theta)
    smallest = theta - N @ along
    smallest -= N @ (squares @ (N.T @ smallest))
    # To first order, component by component; then the rounding of these few lines.
    moved = error + N_error @ np.abs(along)
    turned = np.abs(N).T @ moved + N_error.T @ np.abs(smallest)
    sizes = np.abs(theta) + np.abs(N) @ (np.abs(squares) @ (np.abs(N).T @ np.abs(theta)))
    error = moved + np.abs(N) @ (np.abs(squares) @ turned) + 16 * d * UNIT * sizes
    coef = DoubleDouble.of(smallest)
    intercept = equations.y_mean - (equations.x_mean[:, None] * coef).sum()
    shift = np.abs(equations.x_mean.hi) @ error
    intercept_error = intercept_bound(equations, coef, shift)
    deviations = equations.x_deviation, equations.y_deviation
    wrong = relative_error(smallest, error, intercept.hi, intercept_error, *deviations)
    each = min(digits_of_each(coef, error, False), digits_of_each(intercept, intercept_error))
    return replace(
        found,
        coef=coef,
        coef_bound=error,
        intercept=intercept,
        residual=found.residual[:k],
        objective=found.objective[:k],
        rank=len(free),
        error=wrong,
        coefficient_digits=each,
    )
