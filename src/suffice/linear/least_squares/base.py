"""What linear models of numbers share that are computed from moments.

How the squared error and a penalty are minimised is a `Minimiser`: by the normal equations
(`suffice.linear.least_squares.fit`), or by coordinate descent where coefficients are to be zero
(`suffice.linear.lasso_solvers.fit`).  Whether the moments of all columns are formed is decided by
shape: they are the usual case, of one pass (two where float64 does not suffice), unless there are
many columns and fewer rows, or too many columns for a matrix of columns by columns.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Any, ClassVar, Protocol, Self, TypeVar

import numpy as np
from sklearn.base import MultiOutputMixin
from sklearn.utils.validation import check_is_fitted

from suffice.fitting.certificate import with_penalty
from suffice.fitting.one_pass import LARGEST_KEPT_STATISTIC, OnePass, Solved
from suffice.fitting.regression import Line, Regressor, as_columns
from suffice.fitting.requests import Passes, Request
from suffice.linear.least_squares.dependent_columns import without_dependent
from suffice.linear.least_squares.fit import LeastSquaresMinimiser, adopted
from suffice.linear.least_squares.leave_one_out import leave_one_out
from suffice.linear.least_squares.many_penalties import solve_grid
from suffice.linear.least_squares.normal_equations import (
    NormalEquations,
    normal_equations,
)
from suffice.linear.least_squares.refinement import about_its_solution
from suffice.linear.least_squares.solve import (
    LeastSquaresSolution,
    joined,
    solve_if_accurate,
)
from suffice.numerics.double_double import Array
from suffice.sources import Block, Source
from suffice.statistics.moments.full import NOTHING, Moments, Precision

S = TypeVar("S", bound=LeastSquaresSolution | None)

MOST_COLUMNS = int(np.sqrt(LARGEST_KEPT_STATISTIC / 8))
"""Columns up to which their moments are formed."""

FEW_COLUMNS = 128
"""Columns up to which moments are formed even of fewer rows."""

BEYOND_FLOAT64 = (
    "the coefficients are beyond float64's range: a column is too small, or the target "
    "or the weights are too large; rescale them"
)


class Minimiser(Protocol):
    """How the squared error and the penalty of a model are minimised.

    Attributes
    ----------
    refines : bool
        Whether a pass over the residuals of its solution leads to a better one.
    """

    refines: bool

    def wants_moments(self, model: Any, source: Source) -> bool | None:
        """Whether the user asks for the moments of all columns; None leaves it to the shape."""

    def from_moments(self, model: Any, moments: Moments, final: bool) -> Solved | None:
        """Set the parameters; None where float64 moments do not suffice, unless it is `final`."""

    def without_moments(self, model: Any, source: Source, few_rows: bool) -> Passes:
        """A fit that forms no matrix of columns by columns."""

    def lines(self, models: Sequence[Any], moments: Moments) -> list[Line] | None:
        """What models of many penalties predict; None where float64 moments do not suffice."""

    def n_iter(self, model: Any) -> Any:
        """What `n_iter_` counts."""


class LeastSquaresModel(MultiOutputMixin, Regressor, OnePass):
    """Linear predictions from penalised least squares.

    A model says its penalty on each coefficient; everything else is here.
    """

    fit_intercept: bool
    positive: bool
    tol: float

    coef_: Array
    intercept_: Any

    _saved_private: ClassVar[tuple[str, ...]] = ("_fitted_intercept", "_target_shape")
    _fitted_intercept: bool
    """Whether there is an intercept in the fit; `fit_intercept` may be set anew after it."""

    _follows_scaling = True
    _solve_grid: ClassVar[Any] = staticmethod(solve_grid)

    _cheap_exact = (1 << 20, 1 << 10)

    _has_leverages: ClassVar[bool] = True
    """Whether a prediction without a row follows from the one with it: linear in the target."""

    _minimiser: ClassVar[Minimiser] = LeastSquaresMinimiser()

    def _alphas(self, n_targets: int) -> Array:
        """Strength of the penalty for each target."""
        return np.zeros(n_targets)

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

    def _passes(self, source: Source) -> Passes:
        if self._joins_folds(source):
            return self._from_statistic(source, partial(self._refined, sparse=source.sparse))
        # The statistic of an earlier fit must not outlive it.
        self.__dict__.pop("statistics_", None)
        few_rows = source.count_rows() < MOST_COLUMNS
        return self._minimiser.without_moments(self, source, few_rows)

    def _refined(
        self, moments: Moments, learned: Callable[[], Any], sparse: bool
    ) -> Generator[Request, Any, Solved | None]:
        """A solution from float64 moments and a pass over its residuals, where that suffices."""
        if self.positive or self._wants_more_digits(moments) or not self._minimiser.refines:
            return None
        equations = self._equations(moments)
        about = yield from about_its_solution(self._solve_each, equations, sparse, learned)
        if about is not None:
            return self._from_equations(about, solve_if_accurate)
        if self._alphas(self._n_targets()).any():
            return None
        solution = yield from without_dependent(equations, sparse, learned)
        if solution is None:
            return None
        return self._from_equations(equations, lambda *_: solution)

    def _joins_folds(self, source: Source) -> bool:
        wanted = self._minimiser.wants_moments(self, source)
        if wanted is not None:
            return wanted
        columns = source.n_columns
        enough = columns <= FEW_COLUMNS or source.count_rows() >= columns
        return enough and columns <= MOST_COLUMNS

    def _statistic_size(self, n_columns: int) -> int:
        return (n_columns + 1) ** 2

    def _leaves_one_out(self, source: Source) -> bool:
        penalised_alike = not getattr(self, "standardize", False)
        linear = self._has_leverages and penalised_alike and not (source.sparse or self.positive)
        return linear and self._joins_folds(source)

    def _leave_one_out_of_block(self) -> Callable[[Block], Array]:
        return leave_one_out(self)

    def _summarize(self, block: Block, precision: Precision) -> Moments:
        return Moments.summarize(block.X, as_columns(block.y), block.weight, precision)

    def _solve(self, moments: Moments, final: bool) -> Solved | None:
        if not moments.count:
            raise ValueError(NOTHING)
        self._fitted_intercept = self.fit_intercept
        if not final and self._wants_more_digits(moments):
            return None
        return self._minimiser.from_moments(self, moments, final)

    def _minimised(self) -> str:
        """What is minimised, in words."""
        return with_penalty("the squared error", "α", self._alphas(self._n_targets()))

    def _from_equations(self, equations: NormalEquations, solver: Any) -> Solved | None:
        """Set the parameters by the normal equations; None where the solver gives none."""
        solutions = self._solve_each(equations, solver)
        if any(solution is None for solution in solutions):
            return None
        return adopted(self, joined(solutions))

    def _equations(self, moments: Moments) -> NormalEquations:
        return normal_equations(moments, self._n_targets(), self._fitted_intercept)

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

    def _set_line(self, coef: Array, intercept: Array) -> None:
        """Set the coefficients, of shape (targets, columns), and the intercepts."""
        if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
            raise ValueError(BEYOND_FLOAT64)
        self.__dict__.update(self._line(coef, intercept))

    def _line(self, coef: Array, intercept: Array) -> dict[str, Any]:
        """The attributes that predictions are made of, by their names."""
        return {
            "coef_": coef.reshape(*self._target_shape, coef.shape[1]),
            "intercept_": self._shaped(intercept) if self.fit_intercept else 0.0,
        }

    @property
    def n_iter_(self) -> Any:
        """Number of passes over the data, or of sweeps of coordinate descent."""
        check_is_fitted(self)
        return self._minimiser.n_iter(self)

    # --- the target -----------------------------------------------------------------------

    def _shape_of_target(self, source: Source) -> tuple[int, ...]:
        # One column counts as one target, as in scikit-learn.
        return () if source.target_shape == (1,) else source.target_shape

    def _take_target(self, source: Source, reset: bool) -> None:
        shape = self._shape_of_target(source)
        if not reset:
            self._check_target_shape(shape)
        self._target_shape = shape

    def _join(self, models: Sequence[Self]) -> None:
        for other in models[1:]:
            models[0]._check_target_shape(other._target_shape)

    def _check_target_shape(self, shape: tuple[int, ...]) -> None:
        if shape != self._target_shape:
            found, fitted = (
                str(("rows", *s)).replace("'", "") for s in (shape, self._target_shape)
            )
            raise ValueError(f"the target has shape {found}, but in the fit it had {fitted}")

    def _n_targets(self) -> int:
        return int(np.prod(self._target_shape))

    def _shaped(self, values: Array) -> Any:
        return values if self._target_shape else float(values[0])

    # --- predicting -----------------------------------------------------------------------

    def _predicted(self, rows: Any) -> Array:
        return np.asarray(rows @ self.coef_.T + self.intercept_)
