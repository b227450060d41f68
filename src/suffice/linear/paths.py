"""`lasso_path` and `enet_path`: solutions for many penalties, under scikit-learn's names.

Both are without an intercept, as there: centre the columns and the target for one, or fit a
`Lasso` and ask for its `path`.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from suffice.engines.gather import gather
from suffice.engines.workers import one_blas_thread
from suffice.linear.elastic_net import ElasticNet
from suffice.linear.lasso_solvers.from_columns import targets_of_rows
from suffice.linear.lasso_solvers.from_moments import targets_of
from suffice.linear.lasso_solvers.path import alpha_grid, solve_path
from suffice.linear.least_squares.many_penalties import checked_alphas
from suffice.statistics.moments.full import Precision


def enet_path(
    X: Any,
    y: Any,
    *,
    l1_ratio: float = 0.5,
    eps: float = 1e-3,
    alphas: Any = 100,
    precompute: Any = "auto",
    Xy: Any = None,
    copy_X: bool = True,
    coef_init: Any = None,
    verbose: Any = False,
    return_n_iter: bool = False,
    positive: bool = False,
    max_iter: int = 10_000,
    tol: float = 1e-10,
) -> tuple[Any, ...]:
    """Elastic-net solutions along a path of penalties, from strong to weak.

    Parameters
    ----------
    X : array, data frame, CSR matrix or Source
    y : array of shape (rows,) or (rows, targets)
        None if `X` is a source.
    l1_ratio : float, default=0.5
        Share of the absolute penalty.
    eps : float, default=1e-3
        Weakest strength, relative to the strongest that leaves any coefficient.
    alphas : int or array of shape (alphas,), default=100
        Strengths, or how many.
    precompute, Xy, copy_X, coef_init, verbose
        Accepted for compatibility: the solutions do not depend on them.
    return_n_iter : bool, default=False
    positive : bool, default=False
        Whether coefficients may not be negative.
    max_iter : int, default=10000
        Most sweeps of coordinate descent over a working set.
    tol : float, default=1e-10
        Accepted for compatibility: the gaps say how good the solutions are.

    Returns
    -------
    alphas : array of shape (alphas,)
    coefs : array of shape (columns, alphas) or (targets, columns, alphas)
    dual_gaps : array of shape (alphas,) or (targets, alphas)
        How far each objective is from its minimum, at most.
    n_iters : list of int, if asked for

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import suffice
    >>> X, y = load_diabetes(return_X_y=True)
    >>> alphas, coefs, gaps = suffice.enet_path(X, y, l1_ratio=0.9, alphas=20)
    >>> coefs.shape, bool((gaps < 1e-8).all())
    ((10, 20), True)
    """
    model = ElasticNet(
        l1_ratio=l1_ratio, fit_intercept=False, positive=positive, max_iter=max_iter, tol=tol
    )
    model._validate_params()
    source = model._training_source(X, y, None)
    n_targets = model._n_targets()
    with one_blas_thread():
        if model._joins_folds(source):
            precision: Precision = "double-double" if model._always_exact(source) else "float64"
            moments = model._statistic_of(source, precision)
            targets: list[Any] = list(targets_of(moments, n_targets, False, True, quick=True))
        else:
            rows = gather(source, type(model).__name__, n_jobs=model._n_jobs())
            targets = list(targets_of_rows(rows, n_targets, False, model._n_jobs()))
        strengths = [model._strength(alpha) for alpha in _grid(alphas, eps, model, targets)]
        paths: list[Any] = [solve_path(target, strengths) for target in targets]
    coefs = np.array([[s.coef for s in path] for path in paths]).swapaxes(1, 2)
    gaps = np.array([[s.gap for s in path] for path in paths])
    several = bool(model._target_shape)
    found = (
        np.array([s.alpha for s in strengths]),
        coefs if several else coefs[0],
        gaps if several else gaps[0],
    )
    n_iters = [max(path[i].sweeps for path in paths) for i in range(len(strengths))]
    return (*found, n_iters) if return_n_iter else found


def lasso_path(X: Any, y: Any, **options: Any) -> tuple[Any, ...]:
    """Lasso solutions along a path of penalties: `enet_path` with `l1_ratio=1`.

    Parameters
    ----------
    X : array, data frame, CSR matrix or Source
    y : array of shape (rows,) or (rows, targets)
    **options
        Those of `enet_path`, except `l1_ratio`.

    Returns
    -------
    alphas, coefs, dual_gaps, and n_iters if asked for
        See `enet_path`.
    """
    if "l1_ratio" in options:
        raise TypeError("lasso_path has no l1_ratio: use enet_path")
    return enet_path(X, y, l1_ratio=1.0, **options)


def _grid(alphas: Any, eps: float, model: ElasticNet, targets: list[Any]) -> list[float]:
    """Strengths from strong to weak."""
    if isinstance(alphas, Integral):
        if model.l1_ratio == 0:
            raise ValueError("with l1_ratio=0 there is no strongest penalty: pass the alphas")
        top = max(target.strongest(model._strength()) for target in targets)
        return [float(alpha) for alpha in alpha_grid(top, eps, int(alphas))]
    return np.sort(checked_alphas(alphas))[::-1].tolist()
