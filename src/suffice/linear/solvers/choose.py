"""Which method minimises an objective, and why.

    newton          F, ∇F and the Hessian in each pass: few passes, each dear in many columns
    quasi-newton    ∇F in each pass, from the curvature of a sample of the rows
    newton-cg       as newton, its system solved by passes: for very many parameters
    proximal-newton as newton, each step a lasso problem: for penalties on absolute values
    gradient        plain gradient descent, as in the textbooks

Each says what it needs of a pass, and `chosen` picks by the cost of that.  All but the last
start from the solution for a sample of the rows, where there is one.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from suffice.fitting.requests import Pass, needed
from suffice.linear.solvers.lbfgs import Precondition, QuasiNewton
from suffice.linear.solvers.line_search import Method, Minimising, minimise_by, relative_norm
from suffice.linear.solvers.newton import Newton, NewtonSystem
from suffice.linear.solvers.newton_cg import NewtonCG
from suffice.linear.solvers.objective import Objective
from suffice.linear.solvers.proximal_newton import ProximalNewton, working_sets
from suffice.linear.solvers.sample import ROWS_PER_PARAMETER
from suffice.numerics.double_double import Array
from suffice.sources import Source, as_source
from suffice.statistics.curvature import Curvature
from suffice.statistics.sums import Sums

SOLVER_METHODS = {
    "auto": "auto",
    "newton": "newton",
    "newton-cholesky": "newton",
    "newton-cg": "newton-cg",
    "lbfgs": "quasi-newton",
    "gd": "gd",
    "sgd": "sgd",
}
"""Names of solvers as in scikit-learn, and the method that each stands for."""

CHEAP_HESSIAN = 2e9
"""Operations up to which a Hessian and its system cost next to nothing."""

CHEAP_COLUMNS = 400
"""(predictors + 1) × parameters up to which a Hessian pays even of many rows."""

MOST_HESSIAN = 4096
"""Parameters of one predictor up to which their Hessian is formed."""

FEW_ROWS = 5
"""Rows for each parameter below which gradients alone are slow: F is almost flat along many
directions, and what L-BFGS remembers does not tell them apart."""

MOST_BLOCKS = 1 << 23
"""Entries of Hessians of single predictors that serve as a first curvature."""

MANY_PREDICTORS = 50
"""Predictors whose pairs are too many for a Hessian."""

THINNED = 8
"""A sample begins with one in so many of its rows."""

COARSE = 4
"""One in so many rows of a sample tells the curvature at its start well enough."""

ROUGHLY = 0.1, 0.03
"""How small, in norms, the last step is for a sample's own problem, which is not the one that is
asked for: of Newton's method, whose last step squares the distance, and of others."""

EARLY_STEPS = 15, 40
"""Most passes over a sample, of Newton's method and of others."""


@dataclass(frozen=True)
class Chosen:
    """A method, and the reason for it."""

    method: str
    why: str

    def __str__(self) -> str:
        return f"{self.method} ({self.why})"


def chosen(solver: str, shape: tuple[int, int], n_rows: int, l1: bool) -> Chosen:
    """The method for a problem of this shape.

    Parameters
    ----------
    solver : str
        "auto", or what the user insists on.
    shape : predictors and parameters of each
    n_rows : int
    l1 : bool
        Whether absolute values are penalised.
    """
    predictors, parameters = shape
    if l1:
        return Chosen("proximal-newton", "absolute values are penalised")
    if solver != "auto":
        return Chosen(solver, "as asked for")
    operations = n_rows * predictors * (predictors + 1) * parameters**2
    operations += (predictors * parameters) ** 3 // 3  # to solve its system
    if predictors * parameters > MOST_HESSIAN:
        return Chosen("newton-cg", "too many parameters for their Hessian")
    cheap = operations <= CHEAP_HESSIAN or (predictors + 1) * parameters <= CHEAP_COLUMNS
    if cheap and predictors <= MANY_PREDICTORS:
        return Chosen("newton", "few parameters")
    if parameters > MOST_HESSIAN // 2 or n_rows < FEW_ROWS * predictors * parameters:
        return Chosen("newton-cg", "too few rows for a method of gradients")
    return Chosen("quasi-newton", "a Hessian costs more than many gradients")


def minimise(
    objective: Objective,
    start: Array,
    sample: Source | None,
    *,
    n_rows: int,
    method: str,
    tol: float,
    max_iter: int,
    needs_hessian: bool = True,
    warm: bool = False,
) -> Minimising:
    """Minimise an objective by one of the methods.

    Parameters
    ----------
    objective : Objective
    start : array of shape (predictors, parameters)
    sample : Source, optional
        Some of the rows, to begin with.
    n_rows : int
        All rows.
    method : {"newton", "quasi-newton", "newton-cg", "proximal-newton"}
    tol : float
    max_iter : int
        Most passes over all rows.
    needs_hessian : bool
        Whether a method that takes Hessians is to take one close to the minimum.
    warm : bool
        Whether the start is closer to the minimum than that of a sample would be.
    """
    if method == "proximal-newton" and objective.l1.size > MOST_HESSIAN:
        return (yield from working_sets(objective, start, tol=tol, max_iter=max_iter))
    curvature: Array | None = None
    for rows in [] if warm else _samples(sample, objective.shape[1]):
        part = objective.scaled((rows.n_rows or 1) / n_rows)
        some = _thinned(rows, COARSE) if method == "quasi-newton" else rows
        way = yield from _method(method, part, start, some, (some.n_rows or 1) / (rows.n_rows or 1))
        early = yield from minimise_by(
            way,
            start,
            tol=ROUGHLY[method != "newton"],
            max_iter=EARLY_STEPS[method != "newton"],
            source=rows,
            step="sample",
            measure=relative_norm,
        )
        # A sample whose problem has no solution must not lead astray.
        if early.converged:
            start, curvature = early.parameters, early.hessian
    share = 1.0 if sample is None else (sample.n_rows or 1) / n_rows
    if method == "newton" and curvature is not None:
        way = Newton(objective, curvature / share, needs_hessian)
    else:
        way = yield from _method(method, objective, start, sample, share)
    return (yield from minimise_by(way, start, tol=tol, max_iter=max_iter, step=method))


def _samples(sample: Any, n_parameters: int) -> list[Source]:
    """A sample, before it a part of it where that is large enough to begin with."""
    if sample is None:
        return []
    part = _thinned(sample, THINNED)
    enough = (part.n_rows or 0) >= ROWS_PER_PARAMETER // 4 * n_parameters
    return [part, sample] if enough else [sample]


def _thinned(sample: Any, every: int) -> Source:
    """One in so many of the rows of a sample."""
    weight = None if sample.weight is None else sample.weight[::every]
    return as_source(sample.X[::every], sample.y[::every], weight)


def _method(
    name: str, objective: Objective, start: Array, rows: Source | None, share: float
) -> Generator[Pass, Any, Method]:
    if name == "newton":
        return Newton(objective)
    if name == "proximal-newton":
        return ProximalNewton(objective)
    precondition = yield from _curvature(objective, start, rows, share)
    if name == "newton-cg":
        return NewtonCG(objective, precondition, None if share < 1 else rows)
    return QuasiNewton(objective, precondition)


def _curvature(
    objective: Objective, at: Array, rows: Source | None, share: float
) -> Generator[Pass, Any, Precondition]:
    """An approximate inverse Hessian, from some rows: a block for each predictor.

    Of very many parameters only the diagonal is taken.
    """
    predictors, parameters = objective.shape
    if predictors * parameters**2 > MOST_BLOCKS:
        summarize = partial(objective.diagonal, parameters=at)
        found: Curvature = yield from needed(Pass("curvature", summarize, source=rows))
        diagonal = found.gradient / share + objective.l2
        diagonal = np.where(diagonal > 0, diagonal, 1.0)
        return lambda g: objective.balanced(objective.balanced(g) / diagonal)
    look = Pass("curvature", partial(objective.blocks, parameters=at), source=rows)
    sums: Sums = yield from needed(look)
    blocks = [
        NewtonSystem(block / share + np.diag(l2))
        for block, l2 in zip(sums.values[0], objective.l2, strict=True)
    ]

    def solve(g: Array) -> Array:
        g = objective.balanced(g)
        solved = np.stack([block(row) for block, row in zip(blocks, g, strict=True)])
        return objective.balanced(solved)

    return solve
