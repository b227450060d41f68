"""Solutions of the lasso and the elastic net for many penalties, from strong to weak."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from suffice.linear.lasso_solvers.from_moments import targets_of
from suffice.linear.lasso_solvers.sparse_solution import SparseSolution, Strength
from suffice.linear.least_squares.many_penalties import checked_alphas
from suffice.numerics.double_double import Array


class PenaltyPath(NamedTuple):
    """Solutions along a list of penalties.

    Attributes
    ----------
    alphas : array of shape (alphas,)
    coefs : array of shape (alphas, columns) or (alphas, targets, columns)
    intercepts : array of shape (alphas,) or (alphas, targets)
    gaps : array of shape (alphas,)
        How far each is from the optimum of its objective, at most.
    """

    alphas: Array
    coefs: Array
    intercepts: Array
    gaps: Array


def penalty_path(model: Any, alphas: ArrayLike | None, eps: float, n_alphas: int) -> PenaltyPath:
    """The path of a fitted model, from its statistic alone.

    Parameters
    ----------
    model : ElasticNet or Lasso
    alphas : array of shape (alphas,), optional
    eps : float
    n_alphas : int
    """
    check_is_fitted(model)
    targets = targets_of(
        model._kept(), model._n_targets(), model._fitted_intercept, True, quick=True
    )
    if alphas is None:
        top = max(target.strongest(model._strength()) for target in targets)
        alphas = alpha_grid(top, eps, n_alphas)
    alphas = checked_alphas(alphas)
    strengths = [model._strength(alpha) for alpha in alphas.tolist()]
    paths: list[Any] = [solve_path(target, strengths) for target in targets]
    shape = (len(alphas), *model._target_shape)
    coefs = np.array([[s.coef for s in path] for path in paths]).swapaxes(0, 1)
    intercepts = np.array([[s.intercept for s in path] for path in paths]).T
    gaps = np.array([[s.gap for s in path] for path in paths]).max(axis=0)
    return PenaltyPath(alphas, coefs.reshape(*shape, -1), intercepts.reshape(shape), gaps)


def alpha_grid(top: float, eps: float, n_alphas: int) -> Array:
    """`n_alphas` strengths from the top down to `eps` times it, in geometric progression."""
    if not 0 < eps < 1:
        raise ValueError(f"eps must be between 0 and 1, got {eps!r}")
    if not isinstance(n_alphas, Integral) or n_alphas < 1:
        raise ValueError(f"n_alphas must be a whole number above 0, got {n_alphas!r}")
    tiny = float(np.finfo(np.float64).resolution)
    if top <= tiny:
        return np.full(int(n_alphas), tiny)
    return np.geomspace(top, top * eps, num=int(n_alphas))


def solve_path(target: Any, strengths: Sequence[Strength]) -> list[SparseSolution] | None:
    """Solutions for many penalties, each from the next stronger one; in the order asked for."""
    order = sorted(range(len(strengths)), key=lambda i: -strengths[i].alpha)
    solutions: list[SparseSolution] | None = target.solve_in_turn([strengths[i] for i in order])
    if solutions is None:
        return None
    found = dict(zip(order, solutions, strict=True))
    return [found[i] for i in range(len(strengths))]
