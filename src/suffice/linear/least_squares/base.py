"""What linear regression and ridge share: moments in, a certified line out.

The way is chosen by shape alone:

* the moments of all columns, the usual case: one pass (two where float64 does not suffice);
* fewer rows than columns, and many columns: the rows' side
  (`suffice.linear.least_squares.more_columns_than_rows`);
* too many columns for their moments and too many rows for the rows' side: conjugate
  gradients (`suffice.linear.least_squares.conjugate_gradients`).

Or by the user: `solver="gd"` and `"sgd"` descend along gradients, for those who want to see it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from sklearn.base import MultiOutputMixin
from sklearn.utils.validation import check_is_fitted

from suffice.fitting.certificate import Certificate, rounded_down
from suffice.fitting.one_pass import LARGEST_KEPT_STATISTIC, OnePass, Solved
from suffice.fitting.regression import Regressor, as_columns
from suffice.fitting.requests import Found, Gather, Passes
from suffice.linear.least_squares.by_gradient_descent import squared_descent
from suffice.linear.least_squares.conjugate_gradients import conjugate_gradients
from suffice.linear.least_squares.least_squares import (
    NormalEquations,
    Solution,
    is_small,
    joined,
    normal_equations,
    solve,
    solve_if_accurate,
    wants_more_digits,
)
from suffice.linear.least_squares.more_columns_than_rows import solve_on_rows
from suffice.linear.solvers import gradient_descent
from suffice.numerics.double_double import UNIT, Array
from suffice.sources import Block, Source
from suffice.statistics.moments.full import NOTHING, Moments, Precision

S = TypeVar("S", bound=Solution | None)

MOST_COLUMNS = int(np.sqrt(LARGEST_KEPT_STATISTIC / 8))
"""Columns up to which their moments are formed."""

FEW_COLUMNS = 128
"""Columns up to which moments are formed even of fewer rows."""


class LeastSquaresModel(MultiOutputMixin, Regressor, OnePass):
    """Linear predictions from penalised least squares.

    A model says its penalty on each coefficient; everything else is here.
    """

    fit_intercept: bool
    positive: bool
    tol: float

    _saved_private = ("_fitted_intercept", "_target_shape")
    _fitted_intercept: bool
    """Whether there is an intercept in the fit; `fit_intercept` may be set anew after it."""

    _has_leverages: ClassVar[bool] = True
    """Whether a prediction without a row follows from the one with it: linear in the target."""

    @abstractmethod
    def _alphas(self, n_targets: int) -> Array:
        """Strength of the penalty for each target."""

    def _penalty_scale(self, variance: Callable[[], Any]) -> Any:
        """What the strength is multiplied with for each column; may ask for the variances."""
        return np.ones(self.n_features_in_)

    def _penalties(self, variance: Callable[[], Array], n_targets: int) -> Array:
        """λ of shape (targets, columns), in float64."""
        return self._alphas(n_targets)[:, None] * self._penalty_scale(variance)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # --- fitting --------------------------------------------------------------------------

    def _validate_params(self) -> None:
        super()._validate_params()
        if self.positive:
            raise ValueError(
                f"{type(self).__name__} has no solver for positive=True; use positive=False, or "
                "scipy.optimize.nnls for coefficients that must not be negative"
            )

    def _passes(self, source: Source) -> Passes:
        if self._joins_folds(source):
            return super()._passes(source)
        # The statistic of an earlier fit must not outlive it.
        self.__dict__.pop("statistics_", None)
        if self._descends():
            return self._by_descent(source)
        few = source.count_rows() < MOST_COLUMNS
        return self._on_rows(source) if few else self._by_conjugate_gradients(source)

    def _joins_folds(self, source: Source) -> bool:
        columns = source.n_columns
        enough = columns <= FEW_COLUMNS or source.count_rows() >= columns
        return enough and columns <= MOST_COLUMNS and not self._descends()

    def _descends(self) -> bool:
        """Whether the user asks for gradient descent."""
        return getattr(self, "solver", "auto") in gradient_descent.SOLVERS

    @property
    def n_iter_(self) -> int:
        """Number of passes over the data."""
        check_is_fitted(self)
        return len(self.trace_)

    def _shape_of_target(self, source: Source) -> tuple[int, ...]:
        return source.target_shape

    def _is_small(self, source: Source) -> bool:
        columns = source.n_columns + self._n_targets()
        return source.n_rows is not None and is_small(source.n_rows, columns)

    def _summarize(self, block: Block, precision: Precision) -> Moments:
        return Moments.summarize(block.X, as_columns(block.y), block.weight, precision)

    def _solve(self, moments: Moments, final: bool) -> Solved | None:
        if not moments.count:
            raise ValueError(NOTHING)
        self._fitted_intercept = self.fit_intercept
        if not final and wants_more_digits(moments):
            return None
        solver = solve if final else solve_if_accurate
        solutions = self._solve_each(self._equations(moments), solver)
        if any(solution is None for solution in solutions):
            return None
        return self._set(joined([s for s in solutions if s is not None]))

    def _take_target(self, source: Source, reset: bool) -> None:
        shape = self._shape_of_target(source)
        if not reset:
            self._check_target_shape(shape)
        self._target_shape = shape

    def _check_alike(self, other: Self) -> None:
        self._check_target_shape(other._target_shape)

    def _check_target_shape(self, shape: tuple[int, ...]) -> None:
        if shape != self._target_shape:
            found, fitted = (
                str(("rows", *s)).replace("'", "") for s in (shape, self._target_shape)
            )
            raise ValueError(f"the target has shape {found}, but in the fit it had {fitted}")

    def _equations(self, moments: Moments) -> NormalEquations:
        return normal_equations(moments, self._n_targets(), self._fitted_intercept)

    def _n_targets(self) -> int:
        return int(np.prod(self._target_shape))

    def _solve_each(
        self, equations: NormalEquations, solver: Callable[[NormalEquations, Any], S]
    ) -> list[S]:
        """The solutions for each distinct penalty, in the targets' order."""
        alphas = self._alphas(self._n_targets())
        if not alphas.any():
            return [solver(equations, np.zeros(self.n_features_in_))]
        scale = self._penalty_scale(equations.x_variance)
        if (alphas == alphas[0]).all():
            return [solver(equations, scale * alphas[0])]
        return [solver(equations.for_target(t), scale * alpha) for t, alpha in enumerate(alphas)]

    def _set(self, solution: Solution) -> Solved:
        coef = solution.coef.round().T
        intercept = solution.intercept.round()
        if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
            raise ValueError(
                "the coefficients are beyond float64's range: a column is too small, or the target "
                "or the weights are too large; rescale them"
            )
        self.coef_ = coef.reshape(*self._target_shape, coef.shape[1])
        self.intercept_ = self._shaped(intercept) if self.fit_intercept else 0.0
        self.__dict__.pop("rank_", None)
        if solution.rank is not None:
            self.rank_ = solution.rank
        return Solved(
            certificate(solution, coef.shape[1]), float(np.sum(solution.objective.round()))
        )

    def _shaped(self, values: Array) -> Any:
        return values if self._target_shape else float(values[0])

    def _on_rows(self, source: Source) -> Passes:
        rows = yield Gather("rows' side", learned=self._fitted_attributes)
        solution = solve_on_rows(
            rows, self._penalties, self._n_targets(), self.fit_intercept, self._n_jobs()
        )
        return Found({}, *self._set(solution)[:2])

    def _by_conjugate_gradients(self, source: Source) -> Passes:
        solution = yield from conjugate_gradients(
            source.n_columns,
            self._penalties,
            self._n_targets(),
            self.fit_intercept,
            tolerance=self.tol,
            max_iter=getattr(self, "max_iter", None),
        )
        return Found({}, self._set(solution).certificate)

    def _by_descent(self, source: Source) -> Passes:
        descent = gradient_descent.Descent.of(self)
        coef, intercept, found = yield from squared_descent(
            source, as_columns, self._penalties, self._n_targets(), self.fit_intercept, descent
        )
        self._fitted_intercept = self.fit_intercept
        self.__dict__.pop("rank_", None)
        learned = {
            "coef_": coef.reshape(*self._target_shape, coef.shape[1]),
            "intercept_": self._shaped(intercept) if self.fit_intercept else 0.0,
        }
        return Found(learned, gradient_descent.certificate(found, descent))

    # --- predicting -----------------------------------------------------------------------

    def _predicted(self, rows: Any) -> Array:
        return np.asarray(rows @ self.coef_.T + self.intercept_)


def certificate(solution: Solution, n_columns: int) -> Certificate:
    """What a solution proves."""
    notes: list[str] = []
    if solution.rank is not None and solution.rank < n_columns and np.isfinite(solution.error):
        notes.append(
            f"only {solution.rank} of {n_columns} columns are independent: of all "
            "least-squares solutions this is the one of smallest norm"
        )
    measures = {
        "digits": solution.digits,
        "error": solution.error + UNIT,
        "condition": solution.condition,
        "rank": float(solution.rank or 0),
        "stationarity": solution.stationarity,
    }
    claim = "the minimiser of the squared error"
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
