"""Leave-one-out: every row predicted by the model without it, in two passes.

For penalised least squares with A = Sxx + diag λ, leaving out row i of weight wᵢ changes its
own residual by a factor alone (the identity of Sherman and Morrison):

    yᵢ − ŷᵢ⁽⁻ⁱ⁾ = (yᵢ − ŷᵢ) / (1 − wᵢ hᵢ),        hᵢ = 1/W + (xᵢ − x̄)ᵀ A⁻¹ (xᵢ − x̄).

Other models say by a method `_leave_one_out` what they would answer without a row of theirs; and
those that keep their rows by `_leave_each_out` what they would answer without each.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.metrics import (
    accuracy_score,
    mean_absolute_error,
    mean_squared_error,
    median_absolute_error,
    r2_score,
    root_mean_squared_error,
)

from suffice.engines.passes import map_rows
from suffice.fitting.regression import as_columns
from suffice.linear.least_squares.base import LeastSquaresModel
from suffice.linear.least_squares.normal_equations import normal_equations
from suffice.linear.least_squares.spread import spread
from suffice.numerics.double_double import Array
from suffice.selection.candidates import Candidate
from suffice.selection.sklearn_parts import parts_of_scorer
from suffice.sources import Block, Source
from suffice.sources.derived.subset import SubsetSource

TOO_CLOSE = 1e-3
"""Below this, 1 − w h says that a row alone decides a direction, and dividing by it costs digits.

The wᵢ hᵢ add up to no more than the number of coefficients, so that such rows are few: the model
is fitted without each of them.
"""

ROWS_AT_ONCE = 2048
"""Rows whose products stay in a core's own cache."""


def _absolute(y: Array, held_out: Array) -> Array:
    return np.abs(y - held_out).mean(axis=1)


def _squared(y: Array, held_out: Array) -> Array:
    return np.square(y - held_out).mean(axis=1)


OF_NUMBERS: dict[Any, Callable[[Any, Any], Any]] = {
    mean_squared_error: _squared,
    mean_absolute_error: _absolute,
    median_absolute_error: _absolute,
    root_mean_squared_error: _absolute,
    r2_score: lambda y, held_out: np.full(len(y), np.nan),
}
"""What metrics say of one row, for all rows at once; R² of one row is undefined."""

OF_LABELS: dict[Any, Callable[[Any, Any], Any]] = {
    accuracy_score: lambda y, held_out: (y == held_out)[:, 0].astype(np.float64),
}


def scores_of_rows(scorer: Any, model: Any) -> Callable[[Any, Any], Any] | None:
    """The scores of single rows from target and held-out prediction, where that is simple."""
    parts = parts_of_scorer(scorer)
    if parts is None or parts.options or parts.responses != ("predict",):
        return None
    metric = parts.metric
    if parts.is_own_score:
        metric = accuracy_score if is_classifier(model) else r2_score
    each = (OF_LABELS if is_classifier(model) else OF_NUMBERS).get(metric)
    return None if each is None else lambda y, held_out: parts.sign * each(y, held_out)


def can_leave_one_out(candidate: Candidate, source: Source) -> bool:
    """Whether there is an identity for this estimator."""
    model = candidate.model
    if candidate.scalers or candidate.error is not None or source.count_rows() < 2:
        return False
    if hasattr(model, "_leave_each_out"):
        several = is_classifier(model) and source.target_shape
        return not source.has_weight and not several
    if not model._joins_folds(source):
        return False
    if isinstance(model, LeastSquaresModel):
        penalised_alike = not getattr(model, "standardize", False)
        return model._has_leverages and penalised_alike and not source.sparse
    # Priors of classes that a row takes with it are an error of that fit; and what is guessed of
    # unlabelled rows depends on all rows.
    unfit = ("priors", "class_prior", "unlabelled")
    free = all(getattr(model, name, None) is None for name in unfit)
    return hasattr(model, "_leave_one_out") and free


class LeaveOneOut:
    """Held-out predictions of one estimator.

    Attributes
    ----------
    passes : int
    predictions : array of shape (rows, targets)
    y : array of shape (rows, targets)
    seconds : float
    """

    def __init__(self, candidate: Candidate, source: Source) -> None:
        began = time.perf_counter()
        model = clone(candidate.model)
        self.passes = int(source.n_rows is None)
        source.count_rows()
        model.fit(source)
        self.passes += len(model.trace_)
        if hasattr(model, "_leave_each_out"):
            self.y, self.predictions = (_as_table(one) for one in model._leave_each_out())
        else:
            self.passes += 1
            self._read_again(model, source)
        self.seconds = time.perf_counter() - began

    def _read_again(self, model: Any, source: Source) -> None:
        """Leave out every row of a second pass."""
        if isinstance(model, LeastSquaresModel):
            joined = map_rows(source, _least_squares(model), model._n_jobs())
            k = joined.shape[1] // 2
            self.y, self.predictions = joined[:, :k], joined[:, k:]
            for row in np.flatnonzero(np.isnan(self.predictions).any(axis=1)).tolist():
                self.predictions[row] = self._without(clone(model), source, row)
        else:

            def answer(block: Block) -> NDArray[Any]:
                best = model._leave_one_out(block).argmax(axis=1)
                return np.stack([np.asarray(block.y), model.classes_[best]], axis=1)

            joined = map_rows(source, answer, model._n_jobs())
            self.y, self.predictions = joined[:, :1], joined[:, 1:]

    def _without(self, model: Any, source: Source, row: int) -> Array:
        """What a model says of a row when fitted to all others."""
        others = np.ones(source.count_rows(), dtype=bool)
        others[row] = False
        model.fit(SubsetSource(source, others))
        self.passes += len(model.trace_) + 1
        return as_columns(model.predict(SubsetSource(source, ~others)))[0]


def _as_table(values: NDArray[Any]) -> NDArray[Any]:
    """Targets of one or two dimensions as columns."""
    return values.reshape(len(values), -1)


def _least_squares(model: Any) -> Callable[[Block], Array]:
    """From a block to its targets and their held-out predictions, NaN if too close to tell."""
    equations = normal_equations(model.statistics_, model._n_targets(), model._fitted_intercept)
    alphas = model._alphas(model._n_targets())
    centre = equations.x_mean.hi
    constant = 1 / equations.weight if model._fitted_intercept else 0.0
    coef = model.coef_.reshape(-1, len(centre)).T
    middle = np.atleast_1d(model.intercept_) + centre @ coef
    spreads = [
        (alphas == alpha, spread(equations, model._fitted_intercept, np.full(len(coef), alpha)))
        for alpha in np.unique(alphas)
    ]
    factors = np.concatenate([coef, *(found.root for _, found in spreads)], axis=1)
    k, m = coef.shape[1], factors.shape[1]

    def answer(block: Block) -> Array:
        y = as_columns(block.y)
        joined = np.empty((len(y), 2 * k))
        joined[:, :k] = y
        away, products = np.empty((ROWS_AT_ONCE, len(centre))), np.empty((ROWS_AT_ONCE, m))
        for start in range(0, len(y), ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            n = len(y[rows])
            np.subtract(block.X[rows], centre, out=away[:n])
            np.matmul(away[:n], factors, out=products[:n])
            residual = y[rows] - (products[:n, :k] + middle)
            weight = 1.0 if block.weight is None else block.weight[rows]
            first = k
            for mine, found in spreads:
                half = products[:n, first : first + found.root.shape[1]]
                first += found.root.shape[1]
                left = 1 - weight * (constant + np.einsum("ij,ij->i", half, half))
                left[left < TOO_CLOSE] = np.nan
                joined[rows, k:][:, mine] = y[rows, mine] - residual[:, mine] / left[:, None]
        return joined

    return answer
