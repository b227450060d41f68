"""Lasso and elastic net from moments, to as many digits as these determine.

`suffice.linear.coordinate_descent` finds the support and the signs s in float64.  The rest is a
least-squares problem on few columns,

    (A + diag l2) θ = B − l1 s,

and `suffice.linear.least_squares` solves it in the precision of the moments, with a bound on the
error.  What comes out is then checked against the optimality conditions of all columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from suffice.linear.coordinate_descent import (
    Descent,
    Indices,
    Penalty,
    WorkingSet,
    duality_gap,
    nothing_yet,
    solve_penalised,
)
from suffice.linear.grid import solve_together
from suffice.linear.least_squares import (
    NormalEquations,
    Solution,
    normal_equations,
    solve,
    solve_if_accurate,
)
from suffice.numerics.double_double import UNIT, Array, DoubleDouble
from suffice.numerics.positive_definite import product
from suffice.statistics.moments import Moments

Solver = Callable[[NormalEquations, Any], Solution | None]


class Strength(NamedTuple):
    """What a model says of its penalty, and how far to go.

    Attributes
    ----------
    alpha, l1_ratio : float
    positive, standardize : bool
    most_sweeps : int
    """

    alpha: float
    l1_ratio: float = 1.0
    positive: bool = False
    standardize: bool = False
    most_sweeps: int = 1000

    def penalty(self, weight: float, deviation: Array) -> Penalty:
        """In units of the sum of squares: a column's unit is its standard deviation or 1."""
        unit = deviation if self.standardize else np.ones_like(deviation)
        total = weight * self.alpha
        return Penalty(
            total * self.l1_ratio * unit,
            total * (1 - self.l1_ratio) * np.square(unit),
            self.positive,
        )


@dataclass(frozen=True)
class SparseSolution:
    """The minimiser for one target, and what is known about it.

    Attributes
    ----------
    coef : array of shape (columns,)
    intercept : float
    objective, gap : float
        In the units of the model's objective.
    scale : float
        Mean square of the target: what a tolerance is relative to.
    violation : float
        Of the optimality conditions, relative to their terms.
    digits, condition : float
        Of the system of the support; NaN where the signs did not decide the solution.
    sweeps : int
    rests : bool
        Whether coordinate descent came to rest.
    certain : bool
        Whether the support is the same for all data within the error of the moments.
    least_squares : bool
        Whether there was no l1 penalty.
    proved : bool
        Whether the coefficients are determined.
    rank : int, optional
        Where there is no penalty at all.
    """

    coef: Array
    intercept: float
    objective: float
    gap: float
    scale: float
    violation: float
    digits: float
    condition: float
    sweeps: int
    rests: bool
    certain: bool
    least_squares: bool
    proved: bool
    rank: int | None = None

    @property
    def support(self) -> int:
        return int(np.count_nonzero(self.coef))

    def reaches(self, tolerance: float) -> bool:
        """Whether the gap is proved to be small enough."""
        if self.least_squares and np.isnan(self.gap):
            return self.proved and self.rests
        return self.proved and self.gap <= tolerance * self.scale


class MomentsQuadratic:
    """The squared error of one target, from its normal equations."""

    def __init__(self, equations: NormalEquations) -> None:
        self.A, self.linear = _rounded(equations.A), _rounded(equations.B)[:, 0]
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
    def of(cls, solution: Solution) -> Exact:
        """From the solution of one target."""
        coef, intercept = solution.coef.round()[:, 0], float(solution.intercept.round()[0])
        return cls(coef, intercept, solution.digits, solution.condition, solution.proved)


class OneTarget:
    """The problem of one target, for many penalties one after the other.

    Parameters
    ----------
    equations : NormalEquations
    solver : function
        For the systems of the supports.
    quick : bool
        Whether ten digits are enough where float64 is proved to give them.
    """

    def __init__(self, equations: NormalEquations, solver: Solver, quick: bool = False) -> None:
        self.equations, self.solver, self.quick = equations, solver, quick
        self.problem: Any = MomentsQuadratic(equations)
        self.working = WorkingSet(self.problem)
        self.last: Descent = nothing_yet(self.problem)
        variance = np.maximum(_rounded(equations.x_variance()), 0.0)
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
        penalty = strength.penalty(self.weight, self.deviation)
        if not strength.positive and not penalty.l1.any():
            return self._least_squares(penalty, strength)
        self.last = solve_penalised(
            self.problem, penalty, self.last, self.working, strength.most_sweeps
        )
        support = self.last.support
        exact = self._with_signs(penalty, strength, support)
        if exact is None:
            return None
        slope = self._slope(support, exact.coef)
        if self._is_optimal(exact, slope, penalty, support):
            return self._certified(exact, slope, penalty, support, True)
        # Not unique, or not found: what coordinate descent says, and its gap.
        theta = self.last.theta[support]
        mean = self.equations.x_mean[support]
        intercept = float((self.equations.y_mean - (mean * theta).sum()).round()[0])
        loose = exact._replace(coef=theta, intercept=intercept, digits=0.0, proved=True)
        return self._certified(loose, self._slope(support, theta), penalty, support, False)

    def _least_squares(self, penalty: Penalty, strength: Strength) -> SparseSolution | None:
        l2: Any = penalty.l2
        if strength.standardize and l2.any():
            l2 = self.equations.x_variance() * (self.weight * strength.alpha)
        solution = self.solver(self.equations, l2)
        if solution is None:
            return None
        every = np.arange(len(self.deviation))
        self.last = Descent(solution.coef.round()[:, 0], self.problem.linear, 0, True)
        exact = Exact.of(solution)
        found = self._certified(exact, self._slope(every, exact.coef), penalty, every, True)
        return replace(found, rank=None if l2.any() else solution.rank)

    def _with_signs(self, penalty: Penalty, strength: Strength, support: Indices) -> Exact | None:
        """The least-squares problem of the support, with its signs."""
        e = self.equations
        signs = np.sign(self.last.theta[support])
        few = penalty.of(support)
        B = DoubleDouble.of(e.B)[support] - (few.l1 * signs)[:, None]
        y_magnitude = e.y_magnitude
        l2: Any = few.l2
        if strength.standardize and len(support):
            # A penalty made from the moments shares their error.
            scatter = _rounded(e.x_scatter)[support]
            share = few.l1 * np.sqrt(e.x_magnitude[support]) / scatter / 2
            y_magnitude = np.square(np.sqrt(y_magnitude) + share.max())
            if l2.any():
                factor = self.weight * strength.alpha * (1 - strength.l1_ratio)
                l2 = e.x_variance()[support] * factor
        restricted = replace(
            e,
            A=e.A[np.ix_(support, support)],
            B=B if isinstance(e.A, DoubleDouble) else B.round(),
            x_mean=e.x_mean[support],
            x_magnitude=e.x_magnitude[support],
            x_square=e.x_square[support],
            x_scatter=e.x_scatter[support],
            y_magnitude=y_magnitude,
        )
        if self.quick and len(support):
            line = solve_together(restricted, few.l2[None])[0]
            if line is not None:
                return Exact(line.coef[:, 0], float(line.intercept[0]), 10.0, np.nan, True)
        solution = self.solver(restricted, l2)
        return None if solution is None else Exact.of(solution)

    def _is_optimal(
        self, exact: Exact, slope_and_error: tuple[Array, Array], penalty: Penalty, support: Indices
    ) -> bool:
        """Whether the signs are as they were, and no other column wants to join."""
        if not np.array_equal(np.sign(exact.coef), np.sign(self.last.theta[support])):
            return False
        slope, error = slope_and_error
        excess = penalty.excess(slope)
        excess[support] = -np.inf
        return bool((excess <= 1e-11 * penalty.l1 + error).all())

    def _slope(self, support: Indices, theta: Array) -> tuple[Array, Array]:
        """xⱼ·(y − Xθ), and a bound on its error, that of the moments included."""
        e = self.equations
        size = np.abs(_rounded(e.A)[support]).T @ np.abs(theta) + np.abs(self.problem.linear)
        if isinstance(e.A, DoubleDouble) and not self.quick:
            coef = np.zeros((len(size), 1))
            coef[support, 0] = theta
            fitted = product(e.A, DoubleDouble.of(coef))
            slope = (DoubleDouble.of(e.B) - fitted).round()[:, 0]
            error = UNIT * np.abs(slope) + (len(support) + 4) * UNIT**2 * 8 * size
        else:
            slope = self.problem.slope(support, theta)
            error = (len(support) + 2) * UNIT * size
        root = np.sqrt(e.x_magnitude)
        pull = root[support] @ np.abs(theta) + np.sqrt(e.y_magnitude[0])
        return slope, error + e.error_unit * root * pull

    def _certified(
        self,
        solution: Exact,
        slope_and_error: tuple[Array, Array],
        penalty: Penalty,
        support: Indices,
        unique: bool,
    ) -> SparseSolution:
        coef = np.zeros(len(self.deviation))
        coef[support] = solution.coef
        slope, error = slope_and_error
        total, W = self.problem.total, self.weight
        squares = max(total - float(coef @ (self.problem.linear + slope)), 0.0)
        usable = self.problem.squares > 0
        gap = duality_gap(coef[usable], slope[usable], squares, penalty.of(usable), error[usable])
        cost = float((penalty.l1 * np.abs(coef) + penalty.l2 * np.square(coef) / 2).sum())
        outside = usable & (coef == 0)
        margin = -penalty.excess(slope) - error
        least_squares = not penalty.l1.any()
        return SparseSolution(
            coef=coef,
            intercept=solution.intercept,
            objective=(squares / 2 + cost) / W,
            gap=gap.gap / W,
            scale=total / W,
            violation=gap.violation,
            digits=solution.digits if unique else 0.0,
            condition=solution.condition,
            sweeps=self.last.sweeps,
            rests=self.last.done,
            certain=unique and (least_squares or bool((margin[outside] > 0).all())),
            least_squares=least_squares,
            proved=solution.proved,
        )


def strongest(linear: Array, unit: Penalty) -> float:
    """The smallest alpha that leaves no coefficient, `unit` being the penalty for alpha = 1."""
    some = unit.l1 > 0
    pull = unit.excess(linear)[some] + unit.l1[some]
    # A little more: its product with the weight is rounded.
    return float((pull / unit.l1[some]).max(initial=0.0)) * (1 + 4 * UNIT)


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
        Whether ten digits are enough where float64 is proved to give them.
    """
    equations = normal_equations(moments, n_targets, fit_intercept)
    solver: Solver = solve if anyway else solve_if_accurate
    if n_targets == 1:
        return [OneTarget(equations, solver, quick)]
    return [OneTarget(equations.for_target(t), solver, quick) for t in range(n_targets)]


def solve_path(target: OneTarget, strengths: Sequence[Strength]) -> list[SparseSolution] | None:
    """Solutions for many penalties, each from the next stronger one; in the order asked for."""
    found: dict[int, SparseSolution] = {}
    for i in sorted(range(len(strengths)), key=lambda i: -strengths[i].alpha):
        solution = target.solve(strengths[i])
        if solution is None:
            return None
        found[i] = solution
    return [found[i] for i in range(len(strengths))]


def _rounded(value: Any) -> Array:
    return value.hi if isinstance(value, DoubleDouble) else value
