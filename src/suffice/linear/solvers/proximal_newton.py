"""Newton's method where absolute values are penalised: each step solves a lasso problem.

    δ = argmin  ∇f(Θ)·δ + ½ δᵀHδ + Σ μⱼ |θⱼ + δⱼ|,      Θ ← Θ + t δ

f is the smooth part of F.  The inner problem goes to coordinate descent, which works on H
alone; a step costs one pass.  Once the zeros are found, what is left is Newton's method on the
others.

Where the columns are too many for their Hessian, working sets of them are taken: the columns of the
set are gathered, the problem is solved on these, and columns whose derivative exceeds its penalty
join, until none does.

Reference: Lee, Sun and Saunders, "Proximal Newton-type methods for minimizing composite functions"
(2014).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from suffice.fitting.requests import Pass, needed
from suffice.linear.lasso_solvers.coordinate_descent import solve_inside
from suffice.linear.lasso_solvers.duality_gap import Penalty
from suffice.linear.solvers.line_search import (
    STOPPED,
    Direction,
    Minimising,
    Minimum,
    Point,
    iterate,
    minimise_by,
    relative,
)
from suffice.linear.solvers.objective import Objective, ScaledColumns, present
from suffice.linear.solvers.sample import FirstLook
from suffice.numerics.double_double import Array
from suffice.sources import Block
from suffice.statistics.curvature import Curvature

SWEEPS = 10_000
"""Most sweeps of the inner coordinate descent."""

SOLVED = 1e-6
"""Violation of a step's own optimality conditions, relative to the largest derivative, beyond which
the step says nothing about the distance to the minimum."""

NOT_SOLVED = (
    "the coefficients are too small, or the columns too nearly dependent, for float64 to tell the "
    "minimum: rescale the columns, or use a larger C or l1_ratio"
)

NEARLY = 1e-3
"""Violation, relative to the penalty, below which a working set is solved to the end."""

FIRST_SET = 128
"""Columns of the first working set beyond those that are not zero."""


class ProximalNewton:
    """Directions from a lasso problem in the Hessian; see
    `suffice.linear.solvers.line_search.Method`."""

    order = 2
    last_step_counts = False
    doubt = ""

    def __init__(self, objective: Objective) -> None:
        self.objective, self.rank = objective, objective.l2.size
        self.hessian: Array | None = None

    def direction(self, at: Curvature, point: Point, before: Point | None) -> Direction:
        yield from ()
        self.hessian = self.objective.hessian(at)
        theta, l1 = point.parameters.ravel(), self.objective.l1.ravel()
        linear = self.hessian @ theta - point.gradient.ravel()
        penalty = Penalty(l1, np.zeros_like(l1))
        found = solve_inside(self.hessian, linear, penalty, theta, SWEEPS)
        reached = found.theta.reshape(point.parameters.shape)
        slope = (self.hessian @ found.theta - linear).reshape(reached.shape)
        pulls = max(float(l1.max()), float(np.abs(point.gradient).max()))
        left = float(self.objective.violation(slope, reached).max())
        self.doubt = NOT_SOLVED if l1.any() and left > SOLVED * pulls else ""
        return np.asarray(reached - point.parameters)

    def distance(self, step: Array, parameters: Array) -> float:
        """Of coefficients among themselves too: beside an intercept they may be tiny, yet not 0."""
        penalised = self.objective.l1 > 0
        among = relative(step[penalised], parameters[penalised])
        return max(relative(step, parameters), among)


# --- many columns ---------------------------------------------------------------------------


def working_sets(objective: Objective, start: Array, *, tol: float, max_iter: int) -> Minimising:
    """Minimise F over more columns than a Hessian can have.

    Parameters are as for `minimise_by`; `max_iter` counts passes over all columns and, for each
    working set, steps on it.
    """
    d, size, steps, rejected = len(objective.columns.scale), FIRST_SET, 0, 0
    strongest = float(objective.l1.max())
    parameters, part, closely = start, None, tol
    while True:
        at = yield from needed(iterate(objective, parameters, 1, None, "all columns"))
        steps += 1
        gradient = objective.gradient(at, parameters)
        violation = objective.violation(gradient, parameters)[:, :d].max(axis=0)
        worst = float(violation.max(initial=0.0))
        optimal = part is not None and part.converged and worst <= tol * strongest
        optimal = optimal and closely == tol
        stopped = part is not None and STOPPED in part.notes
        if optimal or stopped or steps >= max_iter:
            break
        used = np.flatnonzero(parameters[:, :d].any(axis=0))
        others = np.setdiff1d(np.flatnonzero(violation > 0), used)
        order = np.argsort(-violation[others], kind="stable")
        chosen = np.union1d(used, others[order[:size]])
        size = max(size, 2 * len(used))
        # As long as columns are missing, their problem need not be solved to the end.
        closely = tol if worst <= NEARLY * strongest else NEARLY
        part = yield from _on_columns(objective, parameters, chosen, closely, max_iter - steps)
        steps, rejected = steps + part.steps, rejected + part.rejected
        inside = _parameters_of(objective, chosen)
        parameters = np.zeros_like(parameters)
        parameters[:, inside] = part.parameters
    value = objective.value(at, parameters)
    distance = part.distance if part is not None else np.inf
    notes = (STOPPED,) if stopped else ()
    return Minimum(
        parameters, value, gradient, distance, optimal, steps, parameters.size, notes=notes,
        rejected=rejected,
    )  # fmt: skip


def _on_columns(
    objective: Objective, parameters: Array, chosen: NDArray[np.intp], tol: float, max_iter: int
) -> Minimising:
    """The problem on some of the columns, which are gathered first."""
    gather = partial(_gathered, columns=objective.columns, chosen=chosen)
    gathered: FirstLook = yield from needed(Pass("gathering columns", gather))
    columns, inside = objective.columns, _parameters_of(objective, chosen)
    part = replace(
        objective,
        columns=ScaledColumns(columns.centre[chosen], columns.scale[chosen], columns.intercept),
        l1=objective.l1[:, inside],
        l2=objective.l2[:, inside],
    )
    return (
        yield from minimise_by(
            ProximalNewton(part),
            parameters[:, inside],
            tol=tol,
            max_iter=max(max_iter, 1),
            source=gathered.sample,
            step=f"{len(chosen)} columns",
        )
    )


def _gathered(block: Block, columns: ScaledColumns, chosen: NDArray[np.intp]) -> FirstLook:
    """Some of the columns of a block."""
    block = present(block)
    X: Any = columns.chosen(block.X)[:, chosen]
    if sparse.issparse(X):
        X = sparse.csr_array(X)
        X.sort_indices()
    return FirstLook({}, (replace(block, X=X),), block.n_rows)


def _parameters_of(objective: Objective, chosen: NDArray[np.intp]) -> NDArray[np.intp]:
    columns = objective.columns
    return np.append(chosen, len(columns.scale)) if columns.intercept else chosen
