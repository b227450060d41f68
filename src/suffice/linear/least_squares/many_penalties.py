"""Least squares for many penalties at once, from the same moments.

The systems (Sxx + diag λ) θ = Sxy for each λ of a list are scaled to a diagonal of ones,
inverted together in float64 and refined once.  They are here for what they predict, so it is
the error of that which is bounded: with E the error of a system at its solution (see
`suffice.linear.least_squares.solve`), predictions of the fitted rows err by X A⁻¹E, whose length
is √(Eᵀ A⁻¹ E) at most.  Six digits of the target's deviation are enough; where they are not
there, a solution is sought by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from suffice.fitting.regression import Line
from suffice.linear.least_squares.normal_equations import NormalEquations, normal_equations, rounded
from suffice.linear.least_squares.solve import PROVED_ERROR, solve, solve_if_accurate
from suffice.numerics.double_double import UNIT, Array, DoubleDouble
from suffice.statistics.moments.full import Moments


def checked_alphas(alphas: ArrayLike) -> Array:
    """Strengths of a penalty, if they are."""
    found = np.asarray(alphas, dtype=np.float64)
    if found.ndim != 1 or not (np.isfinite(found) & (found >= 0)).all():
        raise ValueError("alphas must be a list of finite numbers that are not negative")
    return found


def solve_grid(models: Sequence[Any], moments: Moments) -> list[Line] | None:
    """What each of some least-squares models predicts when fitted to the same moments.

    Parameters
    ----------
    models : sequence of LeastSquaresModel
        Of the same target and columns; parameters may differ.
    moments : Moments

    Returns
    -------
    One line a model; None if float64 moments do not suffice for one of them.
    """
    found: list[Line] | None = models[0]._minimiser.lines(models, moments)
    return found


def lines_of(models: Sequence[Any], moments: Moments) -> list[Line] | None:
    """The lines of models whose penalty is on squares alone."""
    lines: dict[int, Line] = {}
    for fit_intercept in {bool(model.fit_intercept) for model in models}:
        equations = normal_equations(moments, models[0]._n_targets(), fit_intercept)
        members = [i for i, m in enumerate(models) if bool(m.fit_intercept) == fit_intercept]
        for i, line in zip(members, _solved([models[i] for i in members], equations), strict=True):
            if line is None:
                line = _solved_alone(models[i], equations)
            if line is None:
                return None
            lines[i] = line
    return [lines[i] for i in range(len(models))]


def _solved(models: Sequence[Any], equations: NormalEquations) -> list[Line | None]:
    """The lines whose penalty is the same for each target, where that is accurate enough."""
    penalties = np.array([_penalty(model, equations) for model in models])
    alike = ~np.isnan(penalties).any(axis=1)
    found: list[Line | None] = [None] * len(models)
    if alike.any():
        lines, _ = solve_together(equations, penalties[alike])
        for i, line in zip(np.flatnonzero(alike), lines, strict=True):
            found[i] = line
    return found


def _penalty(model: Any, equations: NormalEquations) -> Array:
    """λ of shape (columns,); NaN where targets have penalties of their own."""
    alphas = model._alphas(equations.y_mean.shape[0])
    scale = model._penalty_scale(equations.x_variance) if alphas.any() else 1.0
    one = alphas[0] if (alphas == alphas[0]).all() else np.nan
    return np.broadcast_to(one * rounded(scale), equations.x_mean.shape)


def _solved_alone(model: Any, equations: NormalEquations) -> Line | None:
    solver: Callable[..., Any] = solve_if_accurate
    if isinstance(equations.A, DoubleDouble):
        solver = solve
    solutions = model._solve_each(equations, solver)
    if any(solution is None for solution in solutions):
        return None
    coef = np.concatenate([s.coef.round() for s in solutions], axis=1)
    intercept = np.concatenate([s.intercept.round() for s in solutions])
    return Line(coef, intercept, all(s.proved for s in solutions))


def solve_together(equations: NormalEquations, penalties: Array) -> tuple[list[Line | None], Array]:
    """A line for each λ; None where the error bound is too large.

    Parameters
    ----------
    equations : NormalEquations
    penalties : array of shape (penalties, columns)

    Returns
    -------
    The lines, and bounds on the errors of their coefficients, in units in which columns have about
    the same deviation, relative to the largest.
    """
    A = rounded(equations.A)
    B = rounded(equations.B)
    d = len(A)
    diagonal = np.diagonal(A) + penalties
    nothing: tuple[list[Line | None], Array] = (
        [None] * len(penalties),
        np.full(len(penalties), np.inf),
    )
    if not (diagonal > 0).all():
        return nothing
    scale = 1 / np.sqrt(diagonal)
    systems = A * scale[:, :, None] * scale[:, None, :]
    systems[:, np.arange(d), np.arange(d)] = 1.0
    sides = scale[:, :, None] * B
    try:
        inverse = np.linalg.inv(systems)
    except np.linalg.LinAlgError:
        return nothing
    x = inverse @ sides
    x += inverse @ (sides - systems @ x)
    # Errors of the moments, ε g gᵀ, and of the solution, a few roundings of unit columns.
    g = np.sqrt(equations.x_magnitude) * scale
    size = np.abs(x)
    pull = np.einsum("cd,cdt->ct", g, size) + np.sqrt(equations.y_magnitude)
    error = equations.error_unit * g[:, :, None] * pull[:, None, :]
    error += 4 * d * UNIT * size.sum(axis=1, keepdims=True)
    error += np.abs(sides - systems @ x)
    amplified = np.abs(inverse)
    bound = amplified @ error
    predicted = np.sqrt((error * bound).sum(axis=1))
    accurate = (predicted <= PROVED_ERROR * np.sqrt(equations.total.hi)).all(axis=1)
    # To first order, which holds where the errors leave the system, and its inverse, as it is.
    share = np.einsum("cd,cde,ce->c", g, amplified, g) * equations.error_unit
    share += 4 * d * UNIT * amplified.sum(axis=(1, 2))
    accurate &= share <= 0.25
    theta = x * scale[:, :, None]
    intercepts = equations.y_mean.hi - np.einsum("d,cdt->ct", equations.x_mean.hi, theta)
    largest = size.max(axis=1, initial=0.0)
    relative = bound.max(axis=1, initial=0.0) / np.where(largest > 0, largest, 1.0)
    lines = [Line(theta[c], intercepts[c]) if good else None for c, good in enumerate(accurate)]
    return lines, relative.max(axis=1)
