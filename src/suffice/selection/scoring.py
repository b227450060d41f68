"""Scores of linear predictions from moments alone.

With the residual r = y − θ·x − b, the moments of (x, y) on the tested rows give

    Σ w r² = vᵀ S v + W (ȳ − θ·x̄ − b)²,       v = (−θ, 1),

hence the squared error, R² and the explained variance, without a look at the rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_regressor
from sklearn.metrics import (
    explained_variance_score,
    mean_squared_error,
    r2_score,
    root_mean_squared_error,
)

from suffice.fitting.regression import Line, explained
from suffice.numerics.double_double import Array, DoubleDouble
from suffice.numerics.positive_definite import product
from suffice.selection.sklearn_parts import parts_of_scorer
from suffice.statistics.moments.full import Moments

ACCEPTED_ERROR = 1e-10
"""Bound on the relative error of a sum of squares up to which it stands for the rows."""

LEAST_LEFT = 1e-4
"""Share of the squares below which what a line leaves tells more about its own rounding."""


class Residuals(NamedTuple):
    """Sums over the tested rows, one a prediction and target.

    Attributes
    ----------
    squares : array
        Σ w r².
    about_mean : array
        Σ w (r − r̄)².
    total : array
        Σ w (y − ȳ)².
    weight : float
    accurate : bool
        Whether the relative error of the squares is bounded by `ACCEPTED_ERROR`.
    varies : bool
        Whether rounding cannot be all that makes the target vary.
    """

    squares: Array
    about_mean: Array
    total: Array
    weight: float
    accurate: bool
    varies: bool


def residuals(lines: list[Line], moments: Moments) -> Residuals:
    """What each line leaves of the rows behind some moments; shapes (lines, targets)."""
    d, k = lines[0].coef.shape
    n_lines = len(lines)
    v = np.zeros((d + k, n_lines, k))
    v[:d] = -np.stack([line.coef for line in lines], axis=1)
    v[d:] = np.eye(k)[:, None, :]
    v = v.reshape(d + k, -1)
    intercept = np.concatenate([line.intercept for line in lines])
    scatter = moments.scatter
    if isinstance(scatter, DoubleDouble):
        spread = (product(scatter, DoubleDouble.of(v)) * v).sum().round()
    else:
        spread = np.einsum("ij,ij->j", scatter @ v, v)
    mean = ((moments.mean[:, None] * v).sum() - intercept).round()
    about_mean = np.maximum(spread, 0.0)
    weight = float(moments.weight.hi)
    squares = about_mean + weight * np.square(mean)
    # |Δ vᵀSv| ≤ ε (√magnitude · |v|)², and as much from the product in float64.
    largest = np.square(np.sqrt(moments.magnitude) @ np.abs(v))
    accurate = moments.error_unit * largest <= ACCEPTED_ERROR * squares
    accurate &= squares >= LEAST_LEFT * largest
    total = np.diagonal(moments.rounded_scatter)[d:]
    shape = (n_lines, k)
    return Residuals(
        squares.reshape(shape),
        about_mean.reshape(shape),
        np.broadcast_to(total, shape),
        weight,
        bool(accurate.all()),
        bool((total > moments.error_unit / ACCEPTED_ERROR * moments.magnitude[d:]).all()),
    )


def _r2(r: Residuals) -> Array:
    return explained(r.squares, r.total).mean(axis=1)


def _explained_variance(r: Residuals) -> Array:
    return explained(r.about_mean, r.total).mean(axis=1)


def _squared_error(r: Residuals) -> Array:
    return (r.squares / r.weight).mean(axis=1)


def _root_squared_error(r: Residuals) -> Array:
    return np.sqrt(r.squares / r.weight).mean(axis=1)


CLOSED_FORMS = {
    r2_score: _r2,
    explained_variance_score: _explained_variance,
    mean_squared_error: _squared_error,
    root_mean_squared_error: _root_squared_error,
}
"""Metrics that are functions of the sums in `Residuals`."""

NEEDS_SQUARES = {mean_squared_error, root_mean_squared_error}
"""Those that are relative to the residuals themselves, and so need accurate ones."""


class ClosedForm(NamedTuple):
    """A scorer that needs no rows: sign times a metric."""

    metric: Any
    sign: float

    def scores(self, r: Residuals) -> Array | None:
        """One score a prediction; None where the rows would say more."""
        if not (r.accurate if self.metric in NEEDS_SQUARES else r.varies):
            return None
        return self.sign * CLOSED_FORMS[self.metric](r)


def closed_form(scorer: Any, estimator: Any) -> ClosedForm | None:
    """The closed form of a scorer for a linear model, where there is one."""
    parts = parts_of_scorer(scorer)
    if parts is None:
        return None
    if parts.is_own_score:
        return ClosedForm(r2_score, 1.0) if is_regressor(estimator) else None
    if parts.metric in CLOSED_FORMS and not parts.options and parts.responses == ("predict",):
        return ClosedForm(parts.metric, parts.sign)
    return None
