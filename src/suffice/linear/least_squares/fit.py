"""Least squares with a squared penalty, by whichever way suits the shape of the data.

* the moments of all columns: the normal equations (`suffice.linear.least_squares.solve`);
* fewer rows than columns, and many columns: the rows' side
  (`suffice.linear.least_squares.more_columns_than_rows`);
* too many columns for their moments and too many rows for the rows' side: conjugate
  gradients (`suffice.linear.least_squares.conjugate_gradients`);
* no negative coefficients: an active set, from the moments
  (`suffice.linear.least_squares.non_negative`).

Or by the user: `solver="gd"` and `"sgd"` descend along gradients, for those who want to see it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from suffice.fitting.certificate import Certificate, rounded_down
from suffice.fitting.one_pass import Solved
from suffice.fitting.regression import Line
from suffice.fitting.requests import Found, Gather, Passes
from suffice.linear.least_squares import non_negative
from suffice.linear.least_squares.by_gradient_descent import squared_descent
from suffice.linear.least_squares.conjugate_gradients import conjugate_gradients
from suffice.linear.least_squares.many_penalties import lines_of
from suffice.linear.least_squares.more_columns_than_rows import solve_on_rows
from suffice.linear.least_squares.solve import (
    LeastSquaresSolution,
    solve,
    solve_if_accurate,
)
from suffice.linear.solvers import gradient_descent
from suffice.numerics.double_double import UNIT
from suffice.sources import Source
from suffice.statistics.moments.full import Moments


class LeastSquaresMinimiser:
    """Least squares, perhaps with a squared penalty; see `Minimiser` in the base."""

    refines = True

    def wants_moments(self, model: Any, source: Source) -> bool | None:
        if model.positive:
            return non_negative.needs_moments(model, source)
        return False if _descends(model) else None

    def from_moments(self, model: Any, moments: Moments, final: bool) -> Solved | None:
        if model.positive:
            return non_negative.from_moments(model, moments, final)
        solved: Solved | None = model._from_equations(
            model._equations(moments), solve if final else solve_if_accurate
        )
        return solved

    def without_moments(self, model: Any, source: Source, few_rows: bool) -> Passes:
        if _descends(model):
            return _by_descent(model, source)
        return _on_rows(model) if few_rows else _by_conjugate_gradients(model, source)

    def lines(self, models: Sequence[Any], moments: Moments) -> list[Line] | None:
        free = lines_of([model for model in models if not model.positive], moments)
        bound = non_negative.lines([model for model in models if model.positive], moments)
        if free is None or bound is None:
            return None
        rest = iter(free), iter(bound)
        return [next(rest[model.positive]) for model in models]

    def n_iter(self, model: Any) -> int:
        return sum(model.trace_.accepted)


def _descends(model: Any) -> bool:
    """Whether the user asks for gradient descent."""
    return getattr(model, "solver", "auto") in gradient_descent.SOLVERS


def _on_rows(model: Any) -> Passes:
    rows = yield Gather("rows' side", learned=model._fitted_attributes)
    solution = solve_on_rows(
        rows, model._penalties, model._n_targets(), model.fit_intercept, model._n_jobs()
    )
    return Found({}, *adopted(model, solution)[:2])


def _by_conjugate_gradients(model: Any, source: Source) -> Passes:
    solution = yield from conjugate_gradients(
        source.n_columns,
        model._penalties,
        model._n_targets(),
        model.fit_intercept,
        tolerance=model.tol,
        max_iter=getattr(model, "max_iter", None),
    )
    return Found({}, adopted(model, solution).certificate)


def _by_descent(model: Any, source: Source) -> Passes:
    options = gradient_descent.DescentOptions.of(model)
    coef, intercept, found = yield from squared_descent(
        source, model._penalties, model._n_targets(), model.fit_intercept, options, model._line
    )
    model._fitted_intercept = model.fit_intercept
    model.__dict__.pop("rank_", None)
    model._set_line(coef, intercept)
    return Found({}, gradient_descent.certificate(found, options, model._minimised()))


def adopted(model: Any, solution: LeastSquaresSolution) -> Solved:
    """Set what a model learns from a solution."""
    coef = solution.coef.round().T
    model._set_line(coef, solution.intercept.round())
    model.__dict__.pop("rank_", None)
    if solution.rank is not None:
        model.rank_ = solution.rank
    objective = float(np.sum(solution.objective.round()))
    return Solved(certificate(solution, coef.shape[1], model._minimised()), objective)


def certificate(solution: LeastSquaresSolution, n_columns: int, objective: str) -> Certificate:
    """What a solution proves."""
    notes: list[str] = []
    if solution.rank is not None and solution.rank < n_columns and np.isfinite(solution.error):
        notes.append(
            f"only {solution.rank} of {n_columns} columns are independent: of all "
            "least-squares solutions this is the one of smallest norm"
        )
    measures = {
        "digits": solution.digits,
        "coefficient_digits": solution.coefficient_digits,
        "error": solution.error + UNIT,
        "condition": solution.condition,
        "rank": float(solution.rank or 0),
        "stationarity": solution.stationarity,
    }
    claim = f"the minimiser of {objective}"
    if np.isnan(solution.digits):
        measures = {"stationarity": solution.stationarity}
        claim += f", its gradient {solution.stationarity:.1e} of what it was at zero"
        if not solution.proved:
            notes.append("the gradient is still too large: raise max_iter or tol, or scale columns")
    else:
        claim += f", to {rounded_down(solution.digits)} digits or more"
        if not solution.proved:
            notes.append(
                "the columns are too nearly dependent for the coefficients to be determined: "
                "drop columns, or use Ridge with a larger alpha"
            )
    return Certificate(solution.proved, claim, solution.method, measures, tuple(notes))
