"""Least squares without negative coefficients, from moments.

    minimise over θ ≥ 0, b:   ½ Σ wᵢ (θ·xᵢ + b − yᵢ)² + ½ Σⱼ λⱼ θⱼ²

With A = Sxx + diag λ and B = Sxy, the conditions of Karush, Kuhn and Tucker tell a solution:

    θⱼ > 0 and (B − A θ)ⱼ = 0,      or      θⱼ = 0 and (B − A θ)ⱼ ≤ 0.

The support is found in float64 (`suffice.linear.least_squares.active_set`).  Least squares on it is
then solved in the precision of the moments, with a bound on the error, and the conditions of all
columns are checked: a slope counts relative to ‖xⱼ‖ (‖y‖ + Σₖ ‖xₖ‖ θₖ), which its terms can amount
to, and includes the error of the moments.  Float64 does where none is off by more than 10⁻⁹.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from suffice.fitting.certificate import Certificate
from suffice.fitting.one_pass import LARGEST_KEPT_STATISTIC, Solved
from suffice.fitting.regression import Line
from suffice.linear.least_squares.active_set import active_set
from suffice.linear.least_squares.normal_equations import (
    NormalEquations,
    Penalty,
    ScaledEquations,
    normal_equations,
    rounded,
)
from suffice.linear.least_squares.solve import (
    LeastSquaresSolution,
    joined,
    solve,
    solve_if_accurate,
)
from suffice.numerics.double_double import UNIT, Array, DoubleDouble
from suffice.numerics.positive_definite import product
from suffice.sources import Source
from suffice.statistics.moments.full import Moments

Solver = Callable[[NormalEquations, Any], LeastSquaresSolution | None]

ACCEPTED_VIOLATION = 1e-9
"""Violation of the conditions up to which float64 moments do."""

PROVED_VIOLATION = 1e-6
"""Violation up to which a certificate holds."""

MOST_CORRECTIONS = 20
"""How often the support is corrected by what the precision of the moments tells."""

METHOD = "active set; "


def needs_moments(model: Any, source: Source) -> bool:
    """True: there is no other way; raise where a user asks for one, or they are too large."""
    if getattr(model, "solver", "auto") in ("gd", "sgd"):
        raise ValueError(f"positive=True is not for solver={model.solver!r}: use solver='auto'")
    if 8 * source.n_columns**2 > LARGEST_KEPT_STATISTIC:
        most = int(np.sqrt(LARGEST_KEPT_STATISTIC / 8))
        raise ValueError(
            f"positive=True would need a matrix of {source.n_columns} by {source.n_columns} "
            f"numbers: {most} columns at most; Lasso(positive=True) takes more"
        )
    return True


def from_moments(model: Any, moments: Moments, final: bool) -> Solved | None:
    """Set the parameters of a model; None where float64 does not suffice, unless it is `final`."""
    solution = _of_model(model, model._equations(moments), final)
    if solution is None:
        return None
    model._set_line(solution.coef.round().T, solution.intercept.round())
    model.__dict__.pop("rank_", None)
    value = float(np.sum(solution.objective.round()))
    return Solved(_certificate(solution, model._minimised()), value)


def lines(models: Sequence[Any], moments: Moments) -> list[Line] | None:
    """What models predict, one after the other; None where float64 does not suffice for one."""
    found = []
    for model in models:
        equations = normal_equations(moments, model._n_targets(), bool(model.fit_intercept))
        solution = _of_model(model, equations, moments.precision == "double-double")
        if solution is None:
            return None
        found.append(Line(solution.coef.round(), solution.intercept.round(), solution.proved))
    return found


def _of_model(model: Any, equations: NormalEquations, anyway: bool) -> LeastSquaresSolution | None:
    solver = solve_non_negative if anyway else solve_non_negative_if_accurate
    solutions = model._solve_each(equations, solver)
    return None if any(solution is None for solution in solutions) else joined(solutions)


def solve_non_negative(equations: NormalEquations, penalty: Penalty) -> LeastSquaresSolution:
    """As `suffice.linear.least_squares.solve.solve`, without negative coefficients."""
    solution = _solved(equations, penalty, solve, np.inf)
    assert solution is not None
    return solution


def solve_non_negative_if_accurate(
    equations: NormalEquations, penalty: Penalty
) -> LeastSquaresSolution | None:
    """The same, or None where float64 moments do not suffice."""
    return _solved(equations, penalty, solve_if_accurate, ACCEPTED_VIOLATION)


def _solved(
    equations: NormalEquations, penalty: Penalty, solver: Solver, accepted: float
) -> LeastSquaresSolution | None:
    solutions = []
    for target in range(equations.B.shape[1]):
        solution = _of_one_target(equations.for_target(target), penalty, solver)
        if solution is None or not solution.stationarity <= accepted:
            return None
        solutions.append(solution)
    return joined(solutions)


def _of_one_target(
    equations: NormalEquations, penalty: Penalty, solver: Solver
) -> LeastSquaresSolution | None:
    scaled = ScaledEquations(equations, penalty)
    conditions = Conditions(scaled)
    inside = active_set(rounded(scaled.A), scaled.B.hi[:, 0], conditions.usable)
    for _ in range(MOST_CORRECTIONS):
        support = scaled.active[inside]
        solution = solver(equations.of_columns(support), penalty[support])
        if solution is None:
            return None
        found = solution
        x = np.zeros(len(inside))
        x[inside] = found.coef.round()[:, 0] * scaled.scale[inside]
        negative = inside & (x <= 0)
        x[negative] = 0.0
        violations, certain = conditions.at(x)
        outside = np.where(inside, 0.0, violations)
        if negative.any():
            inside = inside & ~negative
        elif outside.max(initial=0.0) > ACCEPTED_VIOLATION:
            inside[np.argmax(outside)] = True
        else:
            break
    coef = DoubleDouble.zeros(equations.B.shape)
    coef.hi[scaled.active, 0] = x / scaled.scale
    coef_bound = np.zeros(equations.B.shape)
    coef_bound[support] = found.coef_bound
    violation = np.inf if conditions.is_doubtful else float(violations.max(initial=0.0))
    return replace(
        found,
        coef=coef,
        coef_bound=coef_bound,
        rank=None,
        error=found.error if certain else np.inf,
        coefficient_digits=found.coefficient_digits if certain else 0.0,
        stationarity=violation,
        method=METHOD + found.method,
        proved=violation <= PROVED_VIOLATION,
    )


class Conditions:
    """How far coefficients of the scaled system are from fulfilling the conditions."""

    def __init__(self, scaled: ScaledEquations) -> None:
        self.scaled, self.A = scaled, DoubleDouble.of(scaled.A)
        squares = np.diagonal(self.A.hi)
        self.usable = squares > scaled.tolerance
        """Columns of which more is left than rounding: others are constant, and stay out."""
        self.sizes, self.y_size = np.sqrt(squares), float(np.sqrt(max(scaled.total.hi[0], 0.0)))

    @property
    def is_doubtful(self) -> bool:
        """Whether a column was left out that may be lost in noise, not constant."""
        return self.scaled.equations.may_hide(self.scaled.active[~self.usable])

    def at(self, x: Array) -> tuple[Array, bool]:
        """Violations, relative to what the terms of a slope can amount to; and whether the slopes
        of all columns at zero are below it beyond doubt, so that no other support is as good."""
        scaled = self.scaled
        slope = (scaled.B - product(self.A, DoubleDouble.of(x[:, None]))).hi[:, 0]
        off = np.where(x > 0, np.abs(slope), np.maximum(slope, 0.0))
        pull = scaled.x_error @ x + scaled.y_error[0]
        error = scaled.equations.error_unit * scaled.x_error * pull
        terms = self.sizes * (self.y_size + self.sizes @ x)
        counts = self.usable & (terms > 0)
        certain = (x > 0) | ~self.usable | (slope < -error - 4 * UNIT * terms)
        return np.where(counts, (off + error) / np.where(counts, terms, 1.0), 0.0), certain.all()


def _certificate(solution: LeastSquaresSolution, minimised: str) -> Certificate:
    violation = solution.stationarity
    claim = f"the minimiser of {minimised} without negative coefficients, "
    claim += f"every condition of it to {violation:.1e} of its terms"
    measures = {
        "kkt": violation,
        "support": float(np.count_nonzero(solution.coef.hi)),
        "digits": solution.digits,
        "coefficient_digits": solution.coefficient_digits,
        "condition": solution.condition,
    }
    notes = []
    if not solution.proved:
        notes.append("columns are lost in the rounding of the moments: centre or drop some")
    elif not solution.coefficient_digits > 0:
        notes.append("whether a coefficient is zero is not certain, or other ones fit as well")
    return Certificate(solution.proved, claim, solution.method, measures, tuple(notes))
