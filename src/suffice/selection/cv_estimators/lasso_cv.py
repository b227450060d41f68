"""`LassoCV` and `ElasticNetCV`: see `suffice.selection.cv_estimators.penalised_cv`."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from suffice.linear.elastic_net import ElasticNet
from suffice.linear.lasso import Lasso
from suffice.selection.cv_estimators.penalised_cv import PenalisedCV

COMMON: dict[str, list[Any]] = {
    "eps": [Interval(Real, 0, 1, closed="neither")],
    "alphas": [Interval(Integral, 1, None, closed="left"), "array-like"],
    "fit_intercept": ["boolean"],
    "precompute": ["boolean", "array-like", StrOptions({"auto"})],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left")],
    "copy_X": ["boolean"],
    "cv": ["cv_object"],
    "verbose": ["verbose"],
    "n_jobs": [Integral, None],
    "positive": ["boolean"],
    "random_state": ["random_state"],
    "selection": [StrOptions({"cyclic", "random"})],
}


def _shared(search: Any) -> dict[str, Any]:
    """Parameters that a search hands on to its models."""
    names = ("fit_intercept", "max_iter", "tol", "positive")
    return {name: getattr(search, name) for name in names}


class LassoCV(PenalisedCV):
    """Lasso with its penalty chosen by cross-validation, from one pass over the rows.

    Parameters
    ----------
    eps : float, default=1e-3
        Weakest strength that is tried, relative to the strongest.
    alphas : int or array of shape (alphas,), default=100
        Strengths to try, or how many of them between the strongest that leaves any coefficient
        and `eps` times that.
    fit_intercept : bool, default=True
    precompute : bool or "auto", default="auto"
        Accepted for compatibility.
    max_iter : int, default=10000
        Most sweeps of coordinate descent over a working set.
    tol : float, default=1e-8
        Duality gap, relative to the target's mean square, up to which the certificate holds.
    copy_X : bool, default=True
        Accepted for compatibility: the input is never overwritten.
    cv : int, splitter, iterable or None, default=None
        Five consecutive folds by default.
    verbose : bool or int, default=False
        Accepted for compatibility.
    n_jobs : int, optional
        Accepted for compatibility: `suffice.config(threads=…)` decides.
    positive : bool, default=False
        Whether coefficients may not be negative.
    random_state : int, optional
        Accepted for compatibility: nothing here is random.
    selection : {"cyclic", "random"}, default="cyclic"
        Accepted for compatibility.

    Attributes
    ----------
    alpha_ : float
        The strength that was chosen.
    alphas_ : array of shape (alphas,)
    mse_path_ : array of shape (alphas, folds)
        Mean squared error of each fold.
    coef_ : array of shape (columns,)
    intercept_ : float
    best_estimator_ : Lasso
        Fitted to all rows; from moments, it updates, forgets and refits.
    certificate_ : Certificate
        Of the last fit.
    dual_gap_, n_iter_ : float and int
    passes_ : int
        How often the rows were read.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from suffice import LassoCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LassoCV().fit(X, y)
    >>> round(model.alpha_, 4), model.mse_path_.shape, model.passes_
    (0.0038, (100, 5), 1)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = COMMON

    def __init__(
        self,
        *,
        eps: float = 1e-3,
        alphas: Any = 100,
        fit_intercept: bool = True,
        precompute: Any = "auto",
        max_iter: int = 10_000,
        tol: float = 1e-8,
        copy_X: bool = True,
        cv: Any = None,
        verbose: Any = False,
        n_jobs: int | None = None,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
    ) -> None:
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.tol = tol
        self.copy_X = copy_X
        self.cv = cv
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.positive = positive
        self.random_state = random_state
        self.selection = selection

    def _model(self, alpha: float = 1.0, l1_ratio: float = 1.0) -> ElasticNet:
        return Lasso(alpha, **_shared(self))

    def _l1_ratios(self) -> list[float]:
        return [1.0]


class ElasticNetCV(PenalisedCV):
    """Elastic net with its penalty chosen by cross-validation, from one pass over the rows.

    Parameters
    ----------
    l1_ratio : float or list of float, default=0.5
        Share of the absolute penalty, or shares to choose from.
    eps, alphas, fit_intercept, precompute, max_iter, tol, cv, copy_X, verbose, n_jobs, positive, \
random_state, selection
        As in `LassoCV`.

    Attributes
    ----------
    alpha_, l1_ratio_ : float
        What was chosen.
    alphas_ : array of shape (alphas,) or (shares, alphas)
    mse_path_ : array of shape (alphas, folds) or (shares, alphas, folds)
        Mean squared error of each fold.
    coef_ : array of shape (columns,)
    intercept_ : float
    best_estimator_ : ElasticNet
        Fitted to all rows; from moments, it updates, forgets and refits.
    certificate_ : Certificate
        Of the last fit.
    dual_gap_, n_iter_ : float and int
    passes_ : int
        How often the rows were read.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from suffice import ElasticNetCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ElasticNetCV(l1_ratio=[0.5, 0.9, 1.0]).fit(X, y)
    >>> model.l1_ratio_, model.mse_path_.shape
    (1.0, (3, 100, 5))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "l1_ratio": [Interval(Real, 0, 1, closed="both"), "array-like"],
        **COMMON,
    }
    l1_ratio_: float

    def __init__(
        self,
        *,
        l1_ratio: Any = 0.5,
        eps: float = 1e-3,
        alphas: Any = 100,
        fit_intercept: bool = True,
        precompute: Any = "auto",
        max_iter: int = 10_000,
        tol: float = 1e-8,
        cv: Any = None,
        copy_X: bool = True,
        verbose: Any = 0,
        n_jobs: int | None = None,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
    ) -> None:
        self.l1_ratio = l1_ratio
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.tol = tol
        self.cv = cv
        self.copy_X = copy_X
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.positive = positive
        self.random_state = random_state
        self.selection = selection

    def _model(self, alpha: float = 1.0, l1_ratio: float = 1.0) -> ElasticNet:
        return ElasticNet(alpha, l1_ratio=l1_ratio, **_shared(self))

    def _l1_ratios(self) -> list[float]:
        shares = np.atleast_1d(np.asarray(self.l1_ratio, dtype=np.float64))
        if not len(shares) or not ((shares >= 0) & (shares <= 1)).all():
            raise ValueError(f"l1_ratio must be from 0 to 1, got {self.l1_ratio!r}")
        return [float(share) for share in shares]

    def _adopt_share(self, l1_ratio: float) -> None:
        self.l1_ratio_ = l1_ratio
