"""Lasso and elastic net from columns of data (`suffice.linear.lasso_solvers.columns`).

Most correlations xⱼ·r of columns with the residual are far below the penalty, and remain so: with
what is known of an earlier residual s, and a the share of it in r,

    |xⱼ·r| ≤ |a| |xⱼ·s| + ‖xⱼ‖ ‖r − a s‖,       a = r·s / ‖s‖²,

so that only the columns for which this exceeds the penalty are looked at.

Reference: Ghaoui, Viallon and Rabbani, "Safe feature elimination" (2012).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import linalg

from suffice.engines.gather import Rows
from suffice.linear.lasso_solvers.columns import CentredColumns, columns_of
from suffice.linear.lasso_solvers.coordinate_descent import (
    MOST_COEFFICIENTS,
    Indices,
    PathPoint,
    TooManyColumnsError,
    WorkingSet,
    nothing_yet,
    solve_penalised,
)
from suffice.linear.lasso_solvers.duality_gap import Penalty, duality_gap
from suffice.linear.lasso_solvers.on_the_residual import solve_on_residual
from suffice.linear.lasso_solvers.sparse_solution import SparseSolution, Strength, strongest
from suffice.numerics.double_double import UNIT, Array

LEAST_PRODUCTS = 2048
"""Columns whose products are formed however few the rows are."""

FEW = 0.25
"""Share of the columns up to which those that must be looked at are taken out."""


def gamma(k: int) -> float:
    """γₖ = k u / (1 − k u): the relative error of k roundings at most."""
    return k * UNIT / (1 - k * UNIT)


class ColumnsQuadratic:
    """The squared error of one target, from columns of data."""

    def __init__(self, columns: CentredColumns, y: Array) -> None:
        self.columns, self.y = columns, y
        self.squares, self.total = columns.squares, float(y @ y)
        self.linear = columns.dots(None, y)
        self.norms = np.sqrt(self.squares)
        # With fewer rows, a step on the residual costs less than one on the products.
        self.most_products = max(LEAST_PRODUCTS, 4 * len(y))
        self.known, self.known_for = self.linear, y

    def gram(self, rows: Indices, columns: Indices) -> Array:
        return self.columns.gram(rows, columns)

    def residual(self, support: Indices, values: Array) -> Array:
        """y − Xθ."""
        return self.y - self.columns.combined(support, values) if len(support) else self.y

    def slope(self, support: Indices, values: Array, penalty: Penalty) -> Array:
        return self.slope_of(self.residual(support, values), support, penalty)

    def slope_of(self, r: Array, support: Indices, penalty: Penalty) -> Array:
        """xⱼ·r, or a number that is near it where both are far below the penalty."""
        square = float(self.known_for @ self.known_for)
        share = float(r @ self.known_for) / square if square > 0 else 0.0
        far = float(np.linalg.norm(r - share * self.known_for)) * (1 + 1e-12)
        guess = share * self.known
        # Both products are rounded, the earlier and the one that is not formed.
        size = abs(share) * np.sqrt(square) + float(np.linalg.norm(r))
        reach = self.norms * far + 2 * gamma(len(r) + 8) * self.columns.sizes * size
        asked = np.abs(guess) + reach >= penalty.l1 * (1 - 1e-10)
        asked[support] = True
        if np.count_nonzero(asked) > FEW * len(asked):
            self.known, self.known_for = self.columns.dots(None, r), r
            return self.known.copy()
        some = np.flatnonzero(asked)
        guess[some] = self.columns.dots(some, r)
        return guess


class OneTargetOfColumns:
    """The problem of one target, for many penalties one after the other."""

    def __init__(self, columns: CentredColumns, number: int) -> None:
        self.columns, self.number = columns, number
        self.problem = ColumnsQuadratic(columns, np.ascontiguousarray(columns.Y[:, number]))
        self.working = WorkingSet(self.problem)
        self.last: PathPoint = nothing_yet(self.problem)
        self.way = "a working set of columns"

    def strongest(self, strength: Strength) -> float:
        """The smallest alpha for which all coefficients are zero (with an l1 penalty alone)."""
        unit = strength._replace(alpha=1.0).penalty(self.columns.weight, self.columns.deviation)
        return strongest(self.problem.linear, unit)

    def begin(self) -> None:
        """Start the next path at θ = 0."""
        self.last = nothing_yet(self.problem)

    def solve(self, strength: Strength) -> SparseSolution:
        """The solution for one penalty, from that for the last one."""
        penalty = strength.penalty(self.columns.weight, self.columns.deviation)
        try:
            self.last = solve_penalised(
                self.problem, penalty, self.last, self.working, strength.most_sweeps
            )
        except TooManyColumnsError as stopped:
            self.way = "all columns and the residual"
            self.last = solve_on_residual(
                self.problem, penalty, stopped.reached, self.working, strength.most_sweeps
            )
        support = self.last.support
        theta = self._refined(penalty, support, self.last.theta[support])
        return self._certified(penalty, support, theta)

    def solve_in_turn(self, strengths: Sequence[Strength]) -> list[SparseSolution]:
        """The solutions for some penalties, one after the other."""
        return [self.solve(strength) for strength in strengths]

    def _refined(self, penalty: Penalty, support: Indices, theta: Array) -> Array:
        """θ with the residual of the rows, not that of their products, at its optimum."""
        if not 0 < len(support) <= MOST_COEFFICIENTS:
            return theta
        few = penalty.of(support)
        G = self.working.gram(support)
        G[np.diag_indices(len(support))] += few.l2
        try:
            factor = linalg.cho_factor(G, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            return theta
        signs = np.sign(theta)
        for _ in range(2):
            slope = self.columns.dots(support, self.problem.residual(support, theta))
            step = linalg.cho_solve(
                factor, slope - few.l2 * theta - few.l1 * signs, check_finite=False
            )
            if not (np.sign(theta + step) == signs).all():
                break
            theta = theta + step
            if np.abs(step).max() <= UNIT * np.abs(theta).max():
                break
        return theta

    def _rounding(self, r: Array, support: Indices, theta: Array) -> tuple[Array, float]:
        """Bounds on the errors of xⱼ·r, and of r.

        In whatever order k products are added up, the error is γₖ = k u / (1 − k u) of their
        absolute sum at most.  With sⱼ the size of a column, the residual is off by no more than
        γₚ (Σ sₖ |θₖ| + ‖y‖) for p columns in the support, and a product with it by sⱼ times that,
        and γₙ sⱼ ‖r‖ for n rows.  An error in x̄ⱼ, no more than γₙ sⱼ / √W, moves xⱼ along √w and
        costs the same once more.  A few roundings per entry are in the 8.
        """
        sizes, n = self.columns.sizes, len(r)
        terms = float(np.abs(theta) @ sizes[support]) + np.sqrt(self.problem.total)
        away = gamma(len(support) + 8) * terms
        error = sizes * (2 * gamma(n + 8) * float(np.linalg.norm(r)) + away)
        # The norms are rounded themselves.
        return error * (1 + 4 * gamma(n + 8)), float(away * (1 + 4 * gamma(n + 8)))

    def _certified(self, penalty: Penalty, support: Indices, theta: Array) -> SparseSolution:
        columns, problem = self.columns, self.problem
        coef = np.zeros(len(problem.linear))
        coef[support] = theta
        r = problem.residual(support, theta)
        slope = problem.slope_of(r, support, penalty)
        error, away = self._rounding(r, support, theta)
        squares = (float(np.linalg.norm(r)) + away) ** 2
        usable = problem.squares > 0
        gap = duality_gap(coef[usable], slope[usable], squares, penalty.of(usable), error[usable])
        cost = float((penalty.l1 * np.abs(coef) + penalty.l2 * np.square(coef) / 2).sum())
        outside = usable & (coef == 0)
        margin = -penalty.excess(slope) - error
        intercept = columns.y_mean[self.number] - columns.x_mean @ coef
        return SparseSolution(
            coef=coef,
            intercept=float(intercept),
            objective=(float(r @ r) / 2 + cost) / columns.weight,
            gap=gap.gap / columns.weight,
            scale=problem.total / columns.weight,
            violation=gap.violation,
            digits=np.nan,
            condition=np.nan,
            sweeps=self.last.sweeps,
            rests=self.last.done,
            certain=bool((margin[outside] > 0).all()),
            least_squares=not penalty.l1.any(),
            proved=True,
        )


def targets_of_rows(
    rows: Rows, n_targets: int, centred: bool, n_jobs: int | None
) -> list[OneTargetOfColumns]:
    """The problems of all targets, of rows that were gathered."""
    columns = columns_of(rows, centred, n_jobs)
    return [OneTargetOfColumns(columns, number) for number in range(n_targets)]
