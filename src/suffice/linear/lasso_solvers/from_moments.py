"""Lasso and elastic net from moments, to as many digits as these determine.

`suffice.linear.lasso_solvers.coordinate_descent` finds the support and the signs s in float64.  The
rest is a least-squares problem on few columns,

    (A + diag l2) θ = B − l1 s,

and `suffice.linear.least_squares.solve` solves it in the precision of the moments, with a
bound on the error.  What comes out is then checked against the optimality conditions of all
columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.fitting.certificate import digits_within
from suffice.linear.lasso_solvers.coordinate_descent import (
    Indices,
    PathPoint,
    WorkingSet,
    nothing_yet,
    solve_penalised,
)
from suffice.linear.lasso_solvers.duality_gap import Penalty, duality_gaps
from suffice.linear.lasso_solvers.sparse_solution import SparseSolution, Strength, strongest
from suffice.linear.least_squares.many_penalties import solve_together
from suffice.linear.least_squares.normal_equations import (
    NormalEquations,
    normal_equations,
    rounded,
)
from suffice.linear.least_squares.solve import (
    PROVED_ERROR,
    LeastSquaresSolution,
    solve,
    solve_if_accurate,
)
from suffice.numerics.double_double import UNIT, Array, DoubleDouble
from suffice.numerics.positive_definite import product
from suffice.statistics.moments.full import Moments

Solver = Callable[[NormalEquations, Any], LeastSquaresSolution | None]


class MomentsQuadratic:
    """The squared error of one target, from its normal equations."""

    def __init__(self, equations: NormalEquations) -> None:
        self.A, self.linear = rounded(equations.A), rounded(equations.B)[:, 0]
        self.squares = np.diagonal(self.A)
        self.total = float(equations.total.hi[0])
        self.most_products = len(self.A)

    def gram(self, rows: Indices, columns: Indices) -> Array:
        return self.A[np.ix_(rows, columns)]

    def slope(self, support: Indices, values: Array, penalty: Penalty | None = None) -> Array:
        return self.linear - values @ self.A[support]


class Exact(NamedTuple):
    """The solution of the linear system of a support: coefficients, and how good they are."""

    coef: Array
    intercept: float
    digits: float
    condition: float
    proved: bool

    @classmethod
    def of(cls, solution: LeastSquaresSolution) -> Exact:
        """From the solution of one target."""
        coef, intercept = solution.coef.round()[:, 0], float(solution.intercept.round()[0])
        return cls(coef, intercept, solution.digits, solution.condition, solution.proved)


class ActiveSet(NamedTuple):
    """Where the descent for one penalty ended."""

    penalty: Penalty
    strength: Strength
    last: PathPoint
    support: Indices


class OneTarget:
    """The problem of one target, for many penalties one after the other.

    Parameters
    ----------
    equations : NormalEquations
    solver : function
        For the systems of the supports.
    quick : bool
        Whether six digits are enough where float64 is proved to give them.
    """

    def __init__(self, equations: NormalEquations, solver: Solver, quick: bool = False) -> None:
        self.equations, self.solver, self.quick = equations, solver, quick
        self.problem: Any = MomentsQuadratic(equations)
        self.working = WorkingSet(self.problem)
        self.last: PathPoint = nothing_yet(self.problem)
        variance = np.maximum(rounded(equations.x_variance()), 0.0)
        self.deviation = np.sqrt(variance)

    @property
    def weight(self) -> float:
        return self.equations.weight

    def strongest(self, strength: Strength) -> float:
        """The smallest alpha for which all coefficients are zero (with an l1 penalty alone)."""
        penalty = strength._replace(alpha=1.0).penalty(self.weight, self.deviation)
        return strongest(self.problem.linear, penalty)

    def begin(self) -> None:
        """Start the next path at θ = 0."""
        self.last = nothing_yet(self.problem)

    def solve(self, strength: Strength) -> SparseSolution | None:
        """The solution; None where float64 moments do not suffice for it."""
        found = self.solve_in_turn([strength])
        return None if found is None else found[0]

    def solve_in_turn(self, strengths: Sequence[Strength]) -> list[SparseSolution] | None:
        """The solutions of penalties, each descent from where the one before it ended.

        Only the descents wait for each other: what comes after them is done for all together.
        All strengths are alike in `positive` and `standardize`.
        """
        found: dict[int, SparseSolution | None] = {}
        steps: dict[int, ActiveSet] = {}
        for i, strength in enumerate(strengths):
            penalty = strength.penalty(self.weight, self.deviation)
            if not strength.positive and not penalty.l1.any():
                found[i] = self._least_squares(penalty, strength)
                continue
            self.last = solve_penalised(
                self.problem, penalty, self.last, self.working, strength.most_sweeps
            )
            steps[i] = ActiveSet(penalty, strength, self.last, self.last.support)
        if steps:
            found.update(zip(steps, self._with_the_signs(list(steps.values())), strict=True))
        solutions = [found[i] for i in range(len(strengths))]
        known = [solution for solution in solutions if solution is not None]
        return known if len(known) == len(solutions) else None

    def _with_the_signs(self, steps: list[ActiveSet]) -> Sequence[SparseSolution | None]:
        """The solutions with the signs that the descents found."""
        quickly = self._quickly(steps) if self.quick else {}
        exacts: list[Exact] = []
        for i, step in enumerate(steps):
            exact = quickly.get(i) or self._with_signs(step)
            if exact is None:
                return [None] * len(steps)
            exacts.append(exact)
        return self._certified(steps, exacts, self._loose)

    def _loose(self, step: ActiveSet, exact: Exact) -> Exact:
        """Not unique, or not found: what coordinate descent says."""
        theta = step.last.theta[step.support]
        mean = self.equations.x_mean[step.support]
        intercept = float((self.equations.y_mean - (mean * theta).sum()).round()[0])
        return exact._replace(coef=theta, intercept=intercept, digits=0.0, proved=True)

    def _least_squares(self, penalty: Penalty, strength: Strength) -> SparseSolution | None:
        l2: Any = penalty.l2
        if strength.standardize and l2.any():
            l2 = self.equations.x_variance() * (self.weight * strength.alpha)
        solution = self.solver(self.equations, l2)
        if solution is None:
            return None
        every = np.arange(len(self.deviation))
        self.last = PathPoint(solution.coef.round()[:, 0], self.problem.linear, 0, True)
        step = ActiveSet(penalty, strength, self.last, every)
        found = self._certified([step], [Exact.of(solution)], None)[0]
        return replace(found, rank=None if l2.any() else solution.rank)

    def _with_signs(self, step: ActiveSet) -> Exact | None:
        """The least-squares problem of the support, with its signs."""
        strength, support, few = step.strength, step.support, step.penalty.of(step.support)
        l2: Any = few.l2
        if strength.standardize and len(support) and l2.any():
            factor = self.weight * strength.alpha * (1 - strength.l1_ratio)
            l2 = self.equations.x_variance()[support] * factor
        solution = self.solver(self._restricted([step]), l2)
        return None if solution is None else Exact.of(solution)

    def _quickly(self, steps: list[ActiveSet]) -> dict[int, Exact]:
        """The same to six digits, for those steps for which float64 is proved to give them.

        Steps of the same support have the same system, if l2 is the same too: its sides then
        take the place of targets.
        """
        groups: dict[tuple[bytes, bytes], list[int]] = {}
        for i, step in enumerate(steps):
            if len(step.support):
                key = step.support.tobytes(), step.penalty.l2.tobytes()
                groups.setdefault(key, []).append(i)
        found: dict[int, Exact] = {}
        waiting = list(groups.values())
        while waiting:
            members = waiting.pop()
            some = [steps[i] for i in members]
            l2 = some[0].penalty.l2[some[0].support]
            (line,), (error,) = solve_together(self._restricted(some), l2[None])
            if line is not None and error <= PROVED_ERROR:
                known = digits_within(error)
                for i, coef, intercept in zip(members, line.coef.T, line.intercept, strict=True):
                    found[i] = Exact(coef, float(intercept), known, np.nan, True)
            elif len(members) > 1:
                # One of them may have spoilt it for the others.
                waiting += [[i] for i in members]
        return found

    def _restricted(self, steps: list[ActiveSet]) -> NormalEquations:
        """The equations of steps of the same support: a target for each."""
        e, support = self.equations, steps[0].support
        l1 = np.stack([step.penalty.l1[support] for step in steps], axis=1)
        signs = np.stack([np.sign(step.last.theta[support]) for step in steps], axis=1)
        B = DoubleDouble.of(e.B)[support] - l1 * signs
        y_magnitude = e.y_magnitude
        if steps[0].strength.standardize and len(support):
            # A penalty made from the moments shares their error.
            scatter = rounded(e.x_scatter)[support]
            share = l1 * (np.sqrt(e.x_magnitude[support]) / scatter)[:, None] / 2
            y_magnitude = np.square(np.sqrt(y_magnitude) + share.max(axis=0))
        sides = B if isinstance(e.A, DoubleDouble) else B.round()
        return replace(e.of_columns(support), B=sides, y_magnitude=y_magnitude)

    def _slopes(self, coefs: Array, sizes: Array) -> tuple[Array, Array]:
        """xⱼ·(y − Xθ) of each θ, and a bound on its error, that of the moments included.

        Parameters
        ----------
        coefs : array of shape (points, columns)
        sizes : array of shape (points,)
            How many entries of each are in its support.
        """
        e, terms = self.equations, sizes[:, None]
        used = np.flatnonzero(coefs.any(axis=0))
        few, A = coefs[:, used], self.problem.A[used]
        size = np.abs(few) @ np.abs(A) + np.abs(self.problem.linear)
        if isinstance(e.A, DoubleDouble) and not self.quick:
            fitted = product(e.A, DoubleDouble.of(np.ascontiguousarray(coefs.T)))
            slopes = (DoubleDouble.of(e.B) - fitted).round().T
            error = UNIT * np.abs(slopes) + (terms + 4) * UNIT**2 * 8 * size
        else:
            slopes = self.problem.linear - few @ A
            error = (terms + 2) * UNIT * size
        root = np.sqrt(e.x_magnitude)
        pull = np.abs(coefs) @ root + np.sqrt(e.y_magnitude[0])
        return slopes, error + e.error_unit * root * pull[:, None]

    def _certified(
        self,
        steps: list[ActiveSet],
        exacts: list[Exact],
        loose: Callable[[ActiveSet, Exact], Exact] | None,
    ) -> list[SparseSolution]:
        """What the systems of the supports gave, with what is known about it.

        Where that is not optimal, what `loose` gives instead; None if there is no question.
        """
        signs = np.sign([step.last.theta for step in steps])
        penalty = Penalty(
            np.stack([step.penalty.l1 for step in steps]),
            np.stack([step.penalty.l2 for step in steps]),
            steps[0].penalty.positive,
        )
        sizes = np.array([len(step.support) for step in steps])
        coefs = self._placed(steps, exacts)
        slopes, errors = self._slopes(coefs, sizes)
        unique = np.ones(len(steps), dtype=bool)
        if loose is not None:
            # Whether the signs are as they were, and no other column wants to join.
            stays = (signs != 0) | (penalty.excess(slopes) <= 1e-11 * penalty.l1 + errors)
            unique = (stays & (np.sign(coefs) == signs)).all(axis=1)
            if not unique.all():
                pairs = zip(steps, exacts, unique, strict=True)
                exacts = [e if good else loose(step, e) for step, e, good in pairs]
                coefs = self._placed(steps, exacts)
                slopes, errors = self._slopes(coefs, sizes)
        return self._described(steps, exacts, coefs, slopes, errors, penalty, unique)

    def _placed(self, steps: list[ActiveSet], exacts: list[Exact]) -> Array:
        coefs = np.zeros((len(steps), len(self.deviation)))
        for row, step, exact in zip(coefs, steps, exacts, strict=True):
            row[step.support] = exact.coef
        return coefs

    def _described(
        self,
        steps: list[ActiveSet],
        exacts: list[Exact],
        coefs: Array,
        slopes: Array,
        errors: Array,
        penalty: Penalty,
        unique: NDArray[np.bool_],
    ) -> list[SparseSolution]:
        """Objectives, gaps and the like, of all steps together."""
        total, W, usable = self.problem.total, self.weight, self.problem.squares > 0
        squares = np.maximum(total - (coefs * (self.problem.linear + slopes)).sum(axis=1), 0.0)
        inside = Penalty(penalty.l1[:, usable], penalty.l2[:, usable], penalty.positive)
        gaps, violations = duality_gaps(
            coefs[:, usable], slopes[:, usable], squares, inside, errors[:, usable]
        )
        costs = (penalty.l1 * np.abs(coefs) + penalty.l2 * np.square(coefs) / 2).sum(axis=1)
        margin = -penalty.excess(slopes) - errors
        certain = ((margin > 0) | ~usable | (coefs != 0)).all(axis=1)
        least_squares = (penalty.l1 == 0).all(axis=1)
        return [
            SparseSolution(
                coef=coefs[i].copy(),
                intercept=exact.intercept,
                objective=float(squares[i] / 2 + costs[i]) / W,
                gap=float(gaps[i]) / W,
                scale=total / W,
                violation=float(violations[i]),
                digits=exact.digits if unique[i] else 0.0,
                condition=exact.condition,
                sweeps=step.last.sweeps,
                rests=step.last.done,
                certain=bool(unique[i] and (least_squares[i] or certain[i])),
                least_squares=bool(least_squares[i]),
                proved=exact.proved,
            )
            for i, (step, exact) in enumerate(zip(steps, exacts, strict=True))
        ]


def targets_of(
    moments: Moments, n_targets: int, fit_intercept: bool, anyway: bool, quick: bool = False
) -> list[OneTarget]:
    """The problems of all targets.

    Parameters
    ----------
    moments : Moments
        Of the columns, then the targets.
    n_targets : int
    fit_intercept : bool
    anyway : bool
        Whether to solve as well as the moments allow, however good that is.
    quick : bool
        Whether six digits are enough where float64 is proved to give them.
    """
    equations = normal_equations(moments, n_targets, fit_intercept)
    solver: Solver = solve if anyway else solve_if_accurate
    if n_targets == 1:
        return [OneTarget(equations, solver, quick)]
    return [OneTarget(equations.for_target(t), solver, quick) for t in range(n_targets)]
