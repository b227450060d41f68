"""Lasso and elastic net where too many columns compete for their products to be formed.

Coordinate descent goes over all columns with the residual of the rows at hand; now and then the
linear system of the support is solved,

    (G + diag l2) θ = q − l1 s,       G = XₛᵀXₛ,

as `suffice.linear.lasso_solvers.coordinate_descent` does on a working set: the support of a lasso
has no more columns than there are rows, though many more may compete.  With l2 > 0 a support may be
larger than that; then the system is solved on the side of the rows,

    θ = L⁻¹ (b − Xₛᵀ z),      (I + Xₛ L⁻¹ Xₛᵀ) z = Xₛ L⁻¹ b,        L = diag l2,  b = q − l1 s.

The search ends when no coordinate moves, or when the duality gap says that it may.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from suffice.kernels.linear.residual_descent import descend_on_residual
from suffice.linear.lasso_solvers.coordinate_descent import (
    AT_REST,
    FEWEST_SWEEPS,
    MOST_COEFFICIENTS,
    Indices,
    PathPoint,
    WorkingSet,
    towards_signs,
)
from suffice.linear.lasso_solvers.duality_gap import Penalty, duality_gap
from suffice.numerics.double_double import Array

SMALL_GAP = 1e-13
"""Duality gap, relative to ‖y‖²/2, at which the search ends."""


MOST_HALVINGS = 5
"""How often a step to the solution with the present signs is halved before it is given up."""


def solve_on_residual(
    problem: Any, penalty: Penalty, start: PathPoint, working: WorkingSet, most_sweeps: int
) -> PathPoint:
    """Minimise the penalised quadratic of columns.

    Parameters
    ----------
    problem : ColumnsQuadratic
    penalty : Penalty
    start : PathPoint
    working : WorkingSet
        Of the same problem.
    most_sweeps : int
    """
    stored = problem.columns.stored()
    l1, l2 = np.ascontiguousarray(penalty.l1), np.ascontiguousarray(penalty.l2)
    theta, sweeps, batch, best = start.theta.copy(), 0, FEWEST_SWEEPS, np.inf
    while True:
        support = np.flatnonzero(theta)
        r = problem.residual(support, theta[support])
        slope = problem.columns.dots(None, r)
        gap = _gap(problem, theta, slope, r, penalty)
        if gap <= SMALL_GAP * problem.total / 2 or sweeps >= most_sweeps:
            return PathPoint(theta, slope, start.sweeps + sweeps, sweeps < most_sweeps)
        # The kernel's residual is without the means of the columns, and weighted.
        v = r.copy()
        if stored.root is not None:
            v = stored.root * (r - stored.root * float(stored.mean @ theta))
        batch = min(FEWEST_SWEEPS if gap < best / 2 else 2 * batch, most_sweeps - sweeps)
        best = min(best, gap)
        count = descend_on_residual(
            stored.data, stored.weighed, stored.indices, stored.indptr, problem.squares,
            stored.mean, stored.total, l1, l2, penalty.positive, theta, v, batch, AT_REST,
        )  # fmt: skip
        sweeps += abs(count)
        if count > 0:
            support = np.flatnonzero(theta)
            slope = problem.columns.dots(None, problem.residual(support, theta[support]))
            return PathPoint(theta, slope, start.sweeps + sweeps, True)
        theta = _towards_signs(problem, penalty, theta, working)


def _gap(problem: Any, theta: Array, slope: Array, r: Array, penalty: Penalty) -> float:
    some = problem.squares > 0
    return duality_gap(theta[some], slope[some], float(r @ r), penalty.of(some)).gap


def _towards_signs(problem: Any, penalty: Penalty, theta: Array, working: WorkingSet) -> Array:
    """From θ towards the solution with its signs, as far as these stay."""
    support = np.flatnonzero(theta)
    few = penalty.of(support)
    found = theta.copy()
    if len(support) <= min(MOST_COEFFICIENTS, problem.most_products):
        G, q = working.gram(support), problem.linear[support]
        found[support] = towards_signs(G, q, few, theta[support])
    elif (few.l2 > 0).all() and len(problem.y) <= MOST_COEFFICIENTS:
        found[support] = _on_the_rows(problem, few, support, theta[support])
    return found


def _on_the_rows(problem: Any, few: Penalty, support: Indices, start: Array) -> Array:
    """The same where the support has more columns than there are rows."""
    columns, n = problem.columns, len(problem.y)
    # A step from where we are, so that what cancels is small.
    slope = columns.dots(support, problem.residual(support, start))
    side = slope - few.l2 * start - few.l1 * np.sign(start)
    kernel = columns.products_of_rows(support, 1 / few.l2)
    kernel[np.diag_indices(n)] += 1.0
    z = linalg.solve(kernel, columns.combined(support, side / few.l2), assume_a="pos")
    step = (side - columns.dots(support, z)) / few.l2
    least = _objective(problem, few, support, start)
    for halvings in range(MOST_HALVINGS):
        found = start + 0.5**halvings * step
        found[found * start < 0] = 0.0  # the signs were those of the start
        if _objective(problem, few, support, found) < least:
            return np.asarray(found)
    return start


def _objective(problem: Any, few: Penalty, support: Indices, values: Array) -> float:
    r = problem.residual(support, values)
    cost = few.l1 * np.abs(values) + few.l2 * np.square(values) / 2
    return float(r @ r / 2 + cost.sum())
