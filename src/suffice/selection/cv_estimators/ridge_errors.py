"""Ridge's leave-one-out errors, for all rows and all penalties at once: from moments.

A row is left out with all of its weight: a row of weight k is k repetitions that go together.
With r its residual under the model of all rows, its error under the model of the others is

    rᵢ / (1 − wᵢ hᵢ),      hᵢ = 1/W + (xᵢ − x̄)ᵀ (Sxx + αI)⁻¹ (xᵢ − x̄).

With Sxx = V diag(s) Vᵀ, hᵢ = 1/W + Σₖ (vₖ·(xᵢ − x̄))² / (sₖ + α).  Where 1 − w h
is nearly 0, the row alone decides a direction, and the quotient has lost its digits.  Such rows are
few, since the w h add up to no more than the number of coefficients.  The moments of all others
are collected in one more pass; with those of the few, except one at a time, they give each model
without one row, and nothing is subtracted.

Reference: Golub, Heath and Wahba, "Generalized cross-validation" (1979), for the identity.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from suffice.fitting.regression import as_columns
from suffice.linear.least_squares.leave_one_out import TOO_CLOSE
from suffice.linear.least_squares.normal_equations import NormalEquations
from suffice.linear.least_squares.spread import spread
from suffice.linear.ridge import Ridge
from suffice.numerics.double_double import Array, DoubleDouble
from suffice.selection.cv_estimators.ridge_rows import (
    ACCURATE,
    MOST_ROWS,
    ROUNDING,
    errors_on_rows,
    whole,
)
from suffice.sources import Block, Source
from suffice.sources.derived.subset import SubsetSource, rows_of
from suffice.statistics.moments.full import Moments


class MomentsErrors:
    """Errors of a fitted model's rows, block by block, from its moments.

    Parameters
    ----------
    model : Ridge
        With a statistic.
    alphas : array of shape (alphas,)
    """

    def __init__(self, model: Ridge, alphas: Array) -> None:
        self.model, self.alphas = model, alphas
        equations = model._equations(model.statistics_)
        path = model.path(alphas)
        k, d = model._n_targets(), model.n_features_in_
        coefs = path.coefs.reshape(len(alphas), k, d).transpose(2, 1, 0)
        self.shape = (k, len(alphas))
        self.coefs = coefs.reshape(d, -1)
        self.centre, self.middle = equations.x_mean.hi, equations.y_mean.hi[:, None]
        self.constant = 1 / equations.weight if model._fitted_intercept else 0.0
        self.leverages = _leverages(equations, bool(model._fitted_intercept), alphas)

    def __call__(self, block: Block) -> Array:
        """Errors of shape (rows, targets, alphas); NaN where a row decides a direction alone."""
        if sparse.issparse(block.X):
            away: Any = block.X
            shift = self.centre
        else:
            away, shift = block.X - self.centre, np.zeros_like(self.centre)
        fitted = (away @ self.coefs - shift @ self.coefs).reshape(-1, *self.shape)
        residual = as_columns(block.y)[:, :, None] - (fitted + self.middle)
        weight = 1.0 if block.weight is None else block.weight[:, None]
        left = 1 - weight * (self.constant + self.leverages(away, shift))
        left[(left < TOO_CLOSE).any(axis=1)] = np.nan
        return np.asarray(residual / left[:, None, :])

    def of_close_rows(self, source: Source, close: NDArray[np.intp]) -> Array:
        """The errors of rows that had none, given in order, by models that have not seen them."""
        if not len(close):
            return np.empty((0, *self.shape))
        mask = np.zeros(source.count_rows(), dtype=bool)
        mask[close] = True
        n, d = len(mask), len(self.centre)
        refits = len(close) * len(self.alphas) * float(d) ** 3
        if len(close) == n or (refits > 10 * float(n) ** 3 and n <= MOST_ROWS):
            return self._on_rows(source, mask)
        summarize = partial(self.model._summarize, precision=self.model.statistics_.precision)
        rest = self.model._pass(SubsetSource(source, ~mask), summarize)
        if not rest.count:
            return self._on_rows(source, mask)
        few = whole(SubsetSource(source, mask))
        return np.stack([self._without(i, few, rest, summarize) for i in range(len(close))])

    def _on_rows(self, source: Source, mask: NDArray[np.bool_]) -> Array:
        intercept, jobs = bool(self.model._fitted_intercept), self.model._n_jobs()
        return errors_on_rows(source, self.alphas, intercept, jobs, mask)[mask]

    def _without(
        self, i: int, few: Block, rest: Moments, summarize: Callable[[Block], Moments]
    ) -> Array:
        """Errors of one of a few rows, by the models of all other rows."""
        moments = rest
        if few.n_rows > 1:
            others = rows_of(few, np.delete(np.arange(few.n_rows), i), 0)
            moments = Moments.merge([rest, summarize(others)])
        model = copy(self.model)
        model.statistics_ = moments
        path, equations = model.path(self.alphas), model._equations(moments)
        row = few.X[[i]].toarray() if sparse.issparse(few.X) else few.X[[i]]
        coefs = path.coefs.reshape(len(self.alphas), self.shape[0], -1)
        fitted = coefs @ (row[0] - equations.x_mean.hi)
        return np.asarray(as_columns(few.y)[i][:, None] - (fitted.T + equations.y_mean.hi[:, None]))


def _leverages(
    equations: NormalEquations, intercept: bool, alphas: Array
) -> Callable[[Any, Array], Array]:
    """From rows, and what is to be taken from them, to h − 1/W, of shape (rows, alphas)."""
    A: Any = equations.A
    values, vectors = np.linalg.eigh(A.hi if isinstance(A, DoubleDouble) else A)
    values = np.maximum(values, 0.0)
    if ROUNDING * values[-1] <= ACCURATE * (values[0] + alphas.min()):
        shrunk = 1 / (values[:, None] + alphas)
        return lambda X, shift: np.asarray(np.square(X @ vectors - shift @ vectors) @ shrunk)
    # Columns of very different sizes, or nearly dependent: a factor for each penalty.
    d = len(values)
    roots = [spread(equations, intercept, np.full(d, alpha)).root for alpha in alphas]

    def each(X: Any, shift: Array) -> Array:
        halves = (X @ root - shift @ root for root in roots)
        return np.stack([np.square(half).sum(axis=1) for half in halves], axis=1)

    return each
