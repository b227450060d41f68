"""Least squares by conjugate gradients: many rows and many columns, nothing squared.

    (Sxx + Λ) θ = Sxy      with      Sxx v = Σ wᵢ (xᵢ − x̄) ((xᵢ − x̄)·v)

Each step is one pass that multiplies Sxx by a direction; the matrix itself is never formed,
and centring never touches the zeros of a sparse row.  Where a penalty makes the solution
unique, directions are scaled by the matrix's diagonal (Jacobi).  Without one they are not,
so that the steps lead from θ = 0 to the solution of smallest norm.

Reference: Hestenes and Stiefel (1952); Björck, "Numerical Methods for Least Squares
Problems" (1996), chapter 7.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from suffice.fitting.regression import as_columns
from suffice.fitting.requests import Pass, StopAsked, needed
from suffice.linear.least_squares.solve import LeastSquaresSolution
from suffice.numerics.double_double import Array, DoubleDouble
from suffice.sources import Block
from suffice.statistics.moments.full import NOTHING
from suffice.statistics.moments.products import TOO_LARGE
from suffice.statistics.sums import Sums


@dataclass(frozen=True)
class Centres:
    """What the first pass finds: the weight, the means, and where to put the origin."""

    weight: float
    mean: Array
    x: Array
    y: Array


def conjugate_gradients(
    n_columns: int,
    penalties: Callable[[Callable[[], Array], int], Array],
    n_targets: int,
    fit_intercept: bool,
    tolerance: float,
    max_iter: int | None,
) -> Generator[Pass, Any, LeastSquaresSolution]:
    """Solve penalised least squares without forming any matrix of columns by columns."""
    sums = yield from needed(Pass(None, _sums))
    centres = _centres(sums, n_columns, n_targets, fit_intercept)
    sides = yield from needed(Pass(None, partial(_right_side, centres=centres)))
    B, total, squares = sides.values
    penalty = penalties(lambda: squares / centres.weight, n_targets).T
    unique = (penalty > 0).all()
    diagonal = squares + centres.weight * np.square(centres.mean - centres.x)
    diagonal = diagonal[:, None] + penalty
    scale = 1 / np.where(unique & (diagonal > 0), diagonal, 1.0)
    theta, residual, steps = np.zeros_like(B), B, 0
    direction = scaled = scale * residual
    size = (residual * scaled).sum(axis=0)
    goal = tolerance**2 * size

    def objective(product: Sums) -> float:
        """½ RSS + penalty after the step; it falls by ½ θ·(B + residual)."""
        after, step = _stepped(product.values[0])
        left = residual - step * (product.values[0] + penalty * direction)
        return float((total.sum() - (after * (B + left)).sum()) / 2)

    def _stepped(product: Array) -> tuple[Array, Array]:
        curvature = (direction * (product + penalty * direction)).sum(axis=0)
        up = curvature > 0
        step = np.where((size > goal) & up, size, 0.0) / np.where(up, curvature, 1.0)
        return theta + step * direction, step

    try:
        while steps < (max_iter or max(10 * n_columns, 1000)) and (size > goal).any():
            summarize = partial(_product, V=direction, centres=centres)
            found = yield Pass("conjugate gradient", summarize, objective)
            product = found.values[0]
            theta, step = _stepped(product)
            residual = residual - step * (product + penalty * direction)
            scaled = scale * residual
            previous, size = size, (residual * scaled).sum(axis=0)
            ratio = np.where(previous > 0, size / np.where(previous > 0, previous, 1), 0.0)
            direction = scaled + ratio * direction
            steps += 1
            if not step.any():
                break
    except StopAsked:
        pass  # the gradient at the end tells how far it came
    last = yield from needed(Pass(None, partial(_product, V=theta, centres=centres)))
    gradient = B - last.values[0] - penalty * theta
    left = np.sqrt((scale * gradient**2).sum(axis=0))
    start = np.sqrt((scale * B**2).sum(axis=0))
    stationarity = float((left / np.where(start > 0, start, 1.0)).max())
    rss = total - (theta * (B + gradient - penalty * theta)).sum(axis=0)
    intercept = centres.y - centres.x @ theta
    return LeastSquaresSolution(
        coef=DoubleDouble.of(theta),
        coef_bound=np.full(theta.shape, np.nan),
        intercept=DoubleDouble.of(intercept),
        residual=DoubleDouble.of(np.maximum(rss, 0.0)),
        objective=DoubleDouble.of((np.maximum(rss, 0.0) + (penalty * theta**2).sum(axis=0)) / 2),
        stationarity=stationarity,
        method=f"conjugate gradients, {steps} steps",
        proved=stationarity <= 10 * tolerance,
    )


def _weights(block: Block) -> Array:
    return np.ones(block.n_rows) if block.weight is None else block.weight


def _sums(block: Block) -> Sums:
    """Σ w, Σ w x and Σ w y."""
    w, X, Y = _weights(block), block.X, as_columns(block.y)
    with np.errstate(over="ignore", invalid="ignore"):
        squares = X.multiply(X) if sparse.issparse(X) else np.square(X, dtype=np.float64)
        finite = np.isfinite(squares.sum()) and np.isfinite(np.square(Y).sum())
    if not finite:
        raise FloatingPointError(TOO_LARGE)
    return Sums((np.array([w.sum()]), w @ X, w @ Y))


def _centres(sums: Sums, n_columns: int, n_targets: int, fit_intercept: bool) -> Centres:
    weight, x, y = sums.values
    if not weight[0] > 0:
        raise ValueError(NOTHING)
    mean, y_mean = x / weight, y / weight
    if not fit_intercept:
        return Centres(float(weight[0]), mean, np.zeros(n_columns), np.zeros(n_targets))
    return Centres(float(weight[0]), mean, mean, y_mean)


def _right_side(block: Block, centres: Centres) -> Sums:
    """Sxy, Syy, and the diagonal of Sxx (about the means in either case)."""
    Y, w = as_columns(block.y) - centres.y, _weights(block)
    weighed = w[:, None] * Y
    squares = centred_squares(block.X, w, centres.mean)
    return Sums((_back(block.X, weighed, centres), (weighed * Y).sum(axis=0), squares))


def centred_squares(X: Any, weight: Array, mean: Array) -> Array:
    """Σ wᵢ (xᵢ − x̄)² of every column, without cancellation and without filling in zeros."""
    if not sparse.issparse(X):
        return np.asarray(weight @ np.square(X - mean))
    w = np.repeat(weight, np.diff(X.indptr))
    away = w * np.square(X.data - mean[X.indices])
    stored = np.bincount(X.indices, w, X.shape[1])
    zeros = np.maximum(weight.sum() - stored, 0.0)
    return np.asarray(np.bincount(X.indices, away, X.shape[1]) + zeros * np.square(mean))


def _product(block: Block, V: Array, centres: Centres) -> Sums:
    """Sxx V."""
    scores = block.X @ V - centres.x @ V
    return Sums((_back(block.X, _weights(block)[:, None] * scores, centres),))


def _back(X: Any, weighed: Array, centres: Centres) -> Array:
    """Σ (xᵢ − x̄) weighedᵢ."""
    return np.asarray(X.T @ weighed) - np.outer(centres.x, weighed.sum(axis=0))
