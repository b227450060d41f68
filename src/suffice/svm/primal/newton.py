"""Newton's method on a smooth loss of slacks: a masked Gram matrix a step.

    (I + C c Σ over curved rows of s x xᵀ) δ = −∇,      c the loss's curvature

Second derivatives are constant until a row changes side, so the minimum of squared hinges is
reached in finitely many steps, in practice six to ten.  From step to step the Gram matrix is
updated by the rows that have changed side.  Where columns are too many for a matrix, conjugate
gradients solve the system to a share of its right-hand side, one pass a product.

A step that does not lead down is cut by a search along it: one pass tells the slopes at many
lengths, and the minimum lies where they change sign.

Reference: Keerthi and DeCoste, "A modified finite Newton method for fast solution of large scale
linear SVMs" (2005).
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from scipy import linalg

from suffice.fitting.requests import Pass
from suffice.numerics.double_double import UNIT, Array
from suffice.statistics.sums import Sums
from suffice.svm.primal.duality_gap import Bounds, dual_value
from suffice.svm.primal.losses import MarginLoss
from suffice.svm.primal.problem import KeptMasks, PrimalProblem

MOST_COLUMNS = 2000
"""Columns up to which second derivatives are a matrix."""

LENGTHS = np.sort(np.concatenate([[0.0], 2.0 ** -np.arange(25.0), [0.375, 0.625, 0.75, 0.875]]))
"""Lengths of a step at which a search along it looks."""

MOST_PRODUCTS, INEXACT = 250, 0.1
"""Products of one solution by conjugate gradients, and the share of the gradient that it leaves."""

SUFFICIENT = 1e-4
"""Share of the decrease that the slope promises with which a step is content."""

Steps = Generator[Pass, Any, bool]


@dataclass(eq=False)
class PrimalPoint:
    """A point, and what is known there.

    Attributes
    ----------
    point : array of shape (parameters,)
    value : float
        Of what Newton's method minimises.
    gradient : array of shape (parameters,)
    second : array
        Of curvature 1, without the penalty.
    renewal : float
        What the multipliers have changed, as the value counts it.
    """

    point: Array
    value: float
    gradient: Array
    second: Array
    renewal: float


@dataclass(eq=False)
class PrimalSearch:
    """The way to the minimum of one problem.

    Attributes
    ----------
    problem : PrimalProblem
    tol : float
        The relative duality gap that is enough.
    left : int
        Points that may still be looked at.
    steps : int
        Points that were looked at.
    best : array of shape (parameters,)
        The point of the least objective so far.
    bounds : Bounds
        That objective, and the greatest lower bound so far.
    """

    problem: PrimalProblem
    tol: float
    left: int
    best: Array
    bounds: Bounds = field(default=Bounds(np.inf, -np.inf))
    steps: int = 0

    @property
    def proved(self) -> bool:
        return self.bounds.relative <= self.tol

    @property
    def ended(self) -> bool:
        return self.proved or self.left <= 0

    @property
    def order(self) -> int:
        """Second derivatives as a matrix (2), or their diagonal alone (1)."""
        return 2 if len(self.problem.units.scale) <= MOST_COLUMNS else 1

    def look(
        self, loss: MarginLoss, point: Array, known: PrimalPoint | None = None
    ) -> Generator[Pass, Any, PrimalPoint]:
        """One pass at a point; second derivatives from those of a known one if there is one."""
        problem = self.problem
        since = None if known is None else known.point
        work = partial(problem.evaluate, loss=loss, point=point, known=since, order=self.order)
        self.left -= 1
        self.steps += 1
        at: Sums = yield Pass("Newton", work, partial(primal_value, problem, point=point))
        totals, gradient, second = at.values
        primal = primal_value(problem, at, point)
        # Of points that rounding cannot tell apart, the later one is closer.
        if primal <= self.bounds.primal * (1 + 8 * UNIT):
            self.best, self.bounds = point, self.bounds._replace(primal=primal)
        dual = dual_value(problem, at, loss.bounded)
        self.bounds = self.bounds._replace(dual=max(dual, self.bounds.dual))
        units, C = problem.units, problem.C
        slope = (gradient[0] - gradient[1])[: units.n_parameters] / units.divisor
        second = second if known is None else known.second + second
        value = problem.penalty(point) + C * float(totals[0])
        slope = units.penalty * point - C * slope
        return PrimalPoint(point, value, slope, second, C * float(totals[2]))


def primal_value(problem: PrimalProblem, at: Sums, point: Array) -> float:
    """P at the point at which sums were taken."""
    return problem.penalty(point) + problem.C * float(at.values[0][1])


def newton(
    search: PrimalSearch,
    loss: MarginLoss,
    start: Array,
    enough: tuple[float, float] = (0.0, 0.0),
    *,
    updates: bool = False,
    patience: float = np.inf,
) -> Generator[Pass, Any, PrimalPoint]:
    """Go to the minimum of a smooth loss.

    Parameters
    ----------
    search : PrimalSearch
    loss : MarginLoss
    start : array of shape (parameters,)
    enough : tuple of float
        What the decrement may be at the end, in units of the value, and of what the multipliers
        have changed: renewing them then brings about as much as at the minimum itself
        (Rockafellar, 1976).
    updates : bool
        Whether second derivatives are updated by the rows that change side; it pays where most
        rows have one.
    patience : float
        Searches along a step after which the problem is given up.
    """
    now = yield from search.look(loss, start)
    while not search.ended:
        step = yield from newton_step(search, loss, now)
        decrement = -float(now.gradient @ step)
        small = min(enough[0] * abs(now.value), enough[1] * now.renewal)
        if not decrement > max(small, 4 * UNIT * abs(now.value)):
            break
        known = now if updates else None
        then = yield from search.look(loss, now.point + step, known)
        if not then.value <= now.value - SUFFICIENT * decrement:
            patience -= 1
            if patience < 0 or search.left <= 0:
                break
            short, length = yield from best_length(search.problem, loss, now, step)
            then = yield from search.look(loss, now.point + length * step, known)
            if not then.value < now.value and short > 0:
                then = yield from search.look(loss, now.point + short * step, known)
            if not then.value < now.value:
                break  # what rounding leaves
        now = then
    return now


def newton_step(
    search: PrimalSearch, loss: MarginLoss, now: PrimalPoint
) -> Generator[Pass, Any, Array]:
    """H δ = −∇ solved, by a factor of H or by conjugate gradients."""
    problem = search.problem
    penalty, curvature = problem.units.penalty, problem.C * loss.curvature
    if now.second.ndim == 2:
        hessian = curvature * now.second
        hessian[np.diag_indices(len(penalty))] += penalty
        return -solved(hessian, now.gradient, anchor(problem, loss))
    diagonal = curvature * np.maximum(now.second, 0.0) + penalty
    diagonal[diagonal <= 0] = anchor(problem, loss)
    step, residual, kept = np.zeros_like(penalty), -now.gradient, KeptMasks()
    scaled = residual / diagonal
    along, size = scaled, float(residual @ scaled)
    first = size
    for _ in range(min(len(penalty) + 1, MOST_PRODUCTS)):
        if not size > INEXACT**2 * first:
            break
        work = partial(problem.product, loss=loss, point=now.point, along=along, kept=kept)
        found: Sums = yield Pass("product with the Hessian", work)
        image = curvature * found.values[0] + penalty * along
        curved = float(along @ image)
        if not curved > UNIT * float(along @ (diagonal * along)):
            if not step.any():
                step = along
            break
        length = size / curved
        step, residual = step + length * along, residual - length * image
        scaled = residual / diagonal
        before, size = size, float(residual @ scaled)
        along = scaled + (size / before) * along
    return step


def anchor(problem: PrimalProblem, loss: MarginLoss) -> float:
    """What stands in for the second derivative by the intercept where no row has any."""
    return 1e-6 * problem.C * loss.curvature


def solved(hessian: Array, gradient: Array, floor: float) -> Array:
    """H⁻¹ ∇ by Cholesky; what rounding makes of H is lifted until it is positive definite."""
    diagonal = np.diagonal(hessian)
    scale = np.sqrt(np.where(diagonal > floor, diagonal, floor))
    matrix = hessian / scale / scale[:, None]
    # Only the intercept's second derivative can be missing.
    matrix[np.diag_indices(len(matrix))] = 1.0
    lift = 0.0
    while True:
        try:
            matrix[np.diag_indices(len(matrix))] = 1.0 + lift
            factor = linalg.cho_factor(matrix, lower=True, check_finite=False)
            return np.asarray(linalg.cho_solve(factor, gradient / scale) / scale)
        except linalg.LinAlgError:
            lift = max(10 * lift, len(matrix) * UNIT)


def best_length(
    problem: PrimalProblem, loss: MarginLoss, now: PrimalPoint, step: Array
) -> Generator[Pass, Any, tuple[float, float]]:
    """A length that leads down for sure, and about where the slope along a step vanishes."""
    work = partial(problem.along, loss=loss, point=now.point, step=step, lengths=LENGTHS)
    found: Sums = yield Pass("line search", work)
    penalty = problem.units.penalty
    pulls = float(penalty * now.point @ step) + LENGTHS * float(penalty * step @ step)
    slopes = problem.C * found.values[0] + pulls
    upper = int(np.argmax(slopes >= 0)) if (slopes >= 0).any() else len(LENGTHS) - 1
    upper = max(upper, 1)
    (low, high), (short, long) = slopes[upper - 1 : upper + 1], LENGTHS[upper - 1 : upper + 1]
    share = -low / (high - low) if high > 0 > low else 1.0
    return float(short), float(short + share * (long - short))
