"""Least squares with a penalty on absolute values, by coordinate descent.

From the moments of all columns (`suffice.linear.lasso_solvers.from_moments`), or, where there are
more columns than rows or more than a matrix of columns by columns can hold, on a working set of
columns with all rows in memory (`suffice.linear.lasso_solvers.from_columns`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from suffice.fitting.certificate import Certificate, rounded_down, with_penalty
from suffice.fitting.one_pass import Solved
from suffice.fitting.regression import Line
from suffice.fitting.requests import Found, Gather, Passes
from suffice.linear.lasso_solvers.from_columns import targets_of_rows
from suffice.linear.lasso_solvers.from_moments import targets_of
from suffice.linear.lasso_solvers.path import solve_path
from suffice.linear.lasso_solvers.sparse_solution import SparseSolution, Strength
from suffice.linear.least_squares.base import MOST_COLUMNS
from suffice.sources import Source
from suffice.statistics.moments.full import Moments


class CoordinateDescentMinimiser:
    """The lasso and the elastic net; see `suffice.linear.least_squares.base.Minimiser`.

    A model says its `_strength`.
    """

    refines = False

    def wants_moments(self, model: Any, source: Source) -> bool | None:
        if model.solver == "moments" and source.n_columns > MOST_COLUMNS:
            raise ValueError(
                f"solver='moments' would need a matrix of {source.n_columns} by "
                f"{source.n_columns} numbers: use solver='auto', or {MOST_COLUMNS} columns at most"
            )
        return None if model.solver == "auto" else model.solver == "moments"

    def from_moments(self, model: Any, moments: Moments, final: bool) -> Solved | None:
        targets = targets_of(moments, model._n_targets(), model.fit_intercept, final)
        solutions = [target.solve(model._strength()) for target in targets]
        known = [solution for solution in solutions if solution is not None]
        return _adopted(model, known, "moments") if len(known) == len(solutions) else None

    def without_moments(self, model: Any, source: Source, few_rows: bool) -> Passes:
        rows = yield Gather("working set", learned=model._fitted_attributes)
        model._fitted_intercept = model.fit_intercept
        targets = targets_of_rows(rows, model._n_targets(), model.fit_intercept, model._n_jobs())
        solutions = [target.solve(model._strength()) for target in targets]
        # Where the targets differ, the way that was needed for the hardest.
        way = max((target.way for target in targets), key=lambda way: "residual" in way)
        return Found({}, *_adopted(model, solutions, way)[:2])

    def lines(self, models: Sequence[Any], moments: Moments) -> list[Line] | None:
        groups: dict[tuple[Any, ...], list[int]] = {}
        for i, model in enumerate(models):
            strength = model._strength()
            key = (bool(model.fit_intercept), *strength[1:], model.tol)
            groups.setdefault(key, []).append(i)
        lines: dict[int, Line] = {}
        anyway = moments.precision == "double-double"
        for key, members in groups.items():
            targets = targets_of(moments, models[0]._n_targets(), key[0], anyway, quick=True)
            strengths = [models[i]._strength() for i in members]
            paths = [solve_path(target, strengths) for target in targets]
            if any(path is None for path in paths):
                return None
            for place, i in enumerate(members):
                solutions = [path[place] for path in paths if path is not None]
                lines[i] = Line(
                    np.stack([s.coef for s in solutions], axis=1),
                    np.array([s.intercept for s in solutions]),
                    all(s.reaches(models[i].tol) for s in solutions),
                )
        return [lines[i] for i in range(len(models))]

    def n_iter(self, model: Any) -> Any:
        return model._sweeps if model._target_shape else model._sweeps[0]


def dual_gap(model: Any) -> Any:
    """How far the objective is from its minimum, at most."""
    check_is_fitted(model)
    return model._shaped(model._gaps)


def sparse_coef(model: Any) -> Any:
    """The coefficients as a sparse matrix with a row for each target."""
    check_is_fitted(model)
    return sparse.csr_matrix(np.atleast_2d(model.coef_))


def strength(model: Any, alpha: float | None = None) -> Strength:
    """What a model penalises, or would with another `alpha`."""
    return Strength(
        float(model.alpha if alpha is None else alpha),
        float(getattr(model, "l1_ratio", 1.0)),
        bool(model.positive),
        bool(model.standardize),
        int(model.max_iter or 10_000),
    )


def _adopted(model: Any, solutions: Sequence[SparseSolution], way: str) -> Solved:
    """Set what a model learns from the solutions of its targets."""
    model._set_line(
        np.stack([s.coef for s in solutions]), np.array([s.intercept for s in solutions])
    )
    model._sweeps = [max(s.sweeps, 1) for s in solutions]
    model._gaps = np.array([s.gap for s in solutions])
    proof = _certificate(solutions, float(model.tol), way, _minimised(model))
    return Solved(proof, sum(s.objective for s in solutions))


def _minimised(model: Any) -> str:
    """What a model minimises, in words."""
    found = with_penalty("the squared error", "α", model.alpha)
    ratio = getattr(model, "l1_ratio", 1.0)
    found += f", l1_ratio = {ratio:g}" if model.alpha and ratio != 1 else ""
    return found + (" over coefficients that are not negative" if model.positive else "")


def _certificate(
    solutions: Sequence[SparseSolution], tol: float, way: str, minimised: str
) -> Certificate:
    """What the solutions of all targets prove."""
    holds = all(s.reaches(tol) for s in solutions)
    gap = max(s.gap for s in solutions)
    measures = {
        "gap": gap,
        "relative_gap": max(s.gap / s.scale if s.scale > 0 else s.gap for s in solutions),
        "kkt": max(s.violation for s in solutions),
        "support": float(sum(s.support for s in solutions)),
        "sweeps": float(max(s.sweeps for s in solutions)),
    }
    digits = min(s.digits for s in solutions)
    if np.isfinite(digits):
        measures["digits"] = digits
        measures["condition"] = max(s.condition for s in solutions)
    notes = []
    if all(s.least_squares for s in solutions):
        notes.append("there is no absolute penalty: this is least squares, or a ridge")
    if any(s.rank is not None and s.rank < len(s.coef) for s in solutions):
        notes.append("the columns depend on each other: the solution of smallest norm was taken")
    elif not all(s.certain for s in solutions):
        notes.append(
            "a column is on the brink of joining or leaving the support: which ones are in it is "
            "not certain, or not unique"
        )
    if not holds:
        if not all(s.rests for s in solutions):
            notes.append("the coordinates were still moving: raise max_iter")
        notes.append("raise tol, or alpha, or bring the columns to comparable units")
    if np.isfinite(gap):
        claim = f"{minimised} is at most {gap:.1e} above its minimum"
    else:
        claim = f"the minimiser of {minimised}"
        claim += f", to {rounded_down(digits)} digits or more" if np.isfinite(digits) else ""
    path = f"coordinate descent on {way}, then the linear system of the support"
    return Certificate(holds, claim, path, measures, tuple(notes))
