"""Least squares without one row at a time, from the model of all rows.

With A = Sxx + diag λ, leaving out row i of weight wᵢ changes its own residual by a factor alone
(the identity of Sherman and Morrison):

    yᵢ − ŷᵢ⁽⁻ⁱ⁾ = (yᵢ − ŷᵢ) / (1 − wᵢ hᵢ),        hᵢ = 1/W + (xᵢ − x̄)ᵀ A⁻¹ (xᵢ − x̄).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from suffice.fitting.regression import as_columns
from suffice.linear.least_squares.normal_equations import normal_equations
from suffice.linear.least_squares.spread import spread
from suffice.numerics.double_double import Array
from suffice.sources import Block

TOO_CLOSE = 1e-3
"""Below this, 1 − w h says that a row alone decides a direction, and dividing by it costs digits.

The wᵢ hᵢ add up to no more than the number of coefficients, so that such rows are few: the model
is fitted without each of them.
"""

ROWS_AT_ONCE = 2048
"""Rows whose products stay in a core's own cache."""


def leave_one_out(model: Any) -> Callable[[Block], Array]:
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
