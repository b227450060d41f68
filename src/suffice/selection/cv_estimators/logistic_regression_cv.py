"""Logistic regression with its penalty chosen by cross-validation.

    C, ρ = argmax (1/k) Σ over folds f of  score of the model of all other rows, on f

The fits of all folds, strengths and shares go over the same readings of the rows
(`suffice.fitting.in_step`), so a search costs about as many passes as the slowest fit, and two
more.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from suffice.fitting.all_or_nothing import all_or_nothing
from suffice.fitting.certificate import Certificate
from suffice.fitting.inputs import take_names
from suffice.linear.logistic_regression import METHODS, LogisticRegression
from suffice.numerics.double_double import Array
from suffice.selection.strategy import plan, readable_again
from suffice.sources import Source
from suffice.sources.memory.frames import is_frame
from suffice.statistics.counts.labels import coded

PASSED_ON = (
    "penalty",
    "dual",
    "tol",
    "fit_intercept",
    "intercept_scaling",
    "class_weight",
    "random_state",
    "solver",
    "max_iter",
    "verbose",
    "n_jobs",
)
"""Parameters that the search hands on to its models."""


class LogisticRegressionCV(ClassifierMixin, BaseEstimator):
    """Logistic regression with its penalty chosen by cross-validation.

    Parameters
    ----------
    Cs : int or array of shape (strengths,), default=10
        Inverse strengths to try, or how many of them between 1e-4 and 1e4.
    l1_ratios : array of shape (shares,), optional
        Shares of the penalty on absolute values to try; by default squares alone.
    fit_intercept : bool, default=True
    cv : int, splitter, iterable or None, default=None
        Five stratified folds by default.
    dual, penalty, solver, tol, max_iter, class_weight, n_jobs, verbose, intercept_scaling, \
random_state
        As in `LogisticRegression`.
    scoring : str or callable, optional
        By default the share of right classes.
    refit : bool, default=True
        Whether the chosen model is fitted to all rows; else coefficients are the mean of those
        that were best in each fold.
    use_legacy_attributes : bool, default=False
        Not supported: True raises.

    Attributes
    ----------
    C_, l1_ratio_ : float
        What was chosen.
    Cs_, l1_ratios_ : arrays
        What was tried.
    scores_ : array of shape (folds, shares, strengths)
    coefs_paths_ : array of shape (folds, shares, strengths, predictors, columns)
        With an intercept there is one more column, the last.
    n_iter_ : array of shape (folds, shares, strengths)
    classes_, coef_, intercept_, certificate_
        Of the chosen model.
    best_estimator_ : LogisticRegression
    passes_ : int
        How often the rows were read.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from suffice import LogisticRegressionCV
    >>> X, y = load_wine(return_X_y=True)
    >>> model = LogisticRegressionCV(Cs=4, cv=3).fit(X, y)
    >>> model.scores_.shape, round(model.score(X, y), 3)
    ((3, 1, 4), 1.0)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{name: LogisticRegression._parameter_constraints[name] for name in PASSED_ON},
        "solver": [StrOptions(set(METHODS) - {"gd", "sgd"})],
        "Cs": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "l1_ratios": ["array-like", None],
        "cv": ["cv_object"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "refit": ["boolean"],
        "use_legacy_attributes": ["boolean"],
    }

    best_estimator_: LogisticRegression
    certificate_: Certificate

    def __init__(
        self,
        *,
        Cs: Any = 10,
        l1_ratios: Any = None,
        fit_intercept: bool = True,
        cv: Any = None,
        dual: bool = False,
        penalty: str | None = "deprecated",
        scoring: Any = None,
        solver: str = "auto",
        tol: float = 1e-8,
        max_iter: int = 100,
        class_weight: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        refit: bool = True,
        intercept_scaling: float = 1.0,
        random_state: Any = None,
        use_legacy_attributes: bool = False,
    ) -> None:
        self.Cs = Cs
        self.l1_ratios = l1_ratios
        self.fit_intercept = fit_intercept
        self.cv = cv
        self.dual = dual
        self.penalty = penalty
        self.scoring = scoring
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.refit = refit
        self.intercept_scaling = intercept_scaling
        self.random_state = random_state
        self.use_legacy_attributes = use_legacy_attributes

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the penalty, and fit with it to all rows.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source
        y : array of shape (rows,)
            None if `X` is a source.
        sample_weight : array of shape (rows,), optional
            Weights of the rows, in the fits and in the scores.

        Returns
        -------
        self
        """
        self._validate_params()
        if self.use_legacy_attributes:
            raise ValueError("use_legacy_attributes=True is not supported; use False")
        self.Cs_, self.l1_ratios_ = self._strengths()
        models = [self._model(C, share) for share in self.l1_ratios_ for C in self.Cs_]
        scorer = check_scoring(models[0], scoring=self.scoring)
        if not isinstance(X, Source):
            checked: Any = models[0]._training_source(X, y, sample_weight)
            sample_weight = checked.weight
            X, y = X if is_frame(X) else checked.X, checked.y
            if y.dtype == object:  # scikit-learn's metrics know no numbers among objects
                labels, codes = coded(y)
                y = labels[codes]
        search = plan(
            models, None, X, y, None, readable_again(self.cv), scorer,
            weight=sample_weight, error_score="raise", keep=True,
        )  # fmt: skip
        if search is None:
            raise ValueError(
                "cv must not repeat rows, nor leave a split without rows to train on or to test"
            )
        search.score_weight = sample_weight
        self._choose(search, search.run())
        if hasattr(models[0], "target_names_in_"):  # who saw the target as it was passed
            names = models[0].target_names_in_
            self.target_names_in_ = self.best_estimator_.target_names_in_ = names
        self.passes_ = search.passes
        return self

    def _strengths(self) -> tuple[Array, Array]:
        Cs = self.Cs
        Cs = np.logspace(-4, 4, Cs) if isinstance(Cs, Integral) else np.asarray(Cs, np.float64)
        shares = np.asarray([0.0] if self.l1_ratios is None else self.l1_ratios, np.float64)
        if Cs.ndim != 1 or not len(Cs) or not (Cs > 0).all():
            raise ValueError(f"Cs must be positive numbers, got {self.Cs!r}")
        if shares.ndim != 1 or not len(shares) or not ((shares >= 0) & (shares <= 1)).all():
            raise ValueError(f"l1_ratios must lie between 0 and 1, got {self.l1_ratios!r}")
        return Cs, shares

    def _model(self, C: Real | float, l1_ratio: float) -> LogisticRegression:
        options = {name: getattr(self, name) for name in PASSED_ON}
        return LogisticRegression(C=float(C), l1_ratio=float(l1_ratio), **options)

    def _choose(self, search: Any, results: list[dict[str, Any]]) -> None:
        """Set what the folds found, and take the best."""
        shape = (len(self.l1_ratios_), len(self.Cs_), search.folds.n_splits)
        fitted = np.empty(shape, dtype=object)
        fitted.reshape(-1)[:] = [result["estimator"] for result in results]
        scores = np.array([result["test_scores"] for result in results]).reshape(shape)
        self.scores_ = np.moveaxis(scores, 2, 0)
        stacked = [_parameters(model) for model in fitted.reshape(-1)]
        if len({part.shape for part in stacked}) > 1:
            raise ValueError(
                "a class is missing from the training rows of a fold: use stratified folds (cv=5)"
            )
        paths = np.array(stacked).reshape(*shape, *stacked[0].shape)
        self.coefs_paths_ = np.moveaxis(paths, 2, 0)
        steps = [int(model.n_iter_[0]) for model in fitted.reshape(-1)]
        self.n_iter_ = np.moveaxis(np.array(steps).reshape(shape), 2, 0)
        share, place = np.unravel_index(int(np.argmax(scores.mean(axis=2))), shape[:2])
        if self.refit:
            self.C_, self.l1_ratio_ = float(self.Cs_[place]), float(self.l1_ratios_[share])
            best = search.best(search.candidates[share * len(self.Cs_) + place])
        else:
            best = self._mean_of_best(fitted)
        self.best_estimator_, self.certificate_ = best, best.certificate_
        self.classes_, self.coef_, self.intercept_ = best.classes_, best.coef_, best.intercept_
        self.n_features_in_ = best.n_features_in_
        take_names(self, best)

    def _mean_of_best(self, fitted: NDArray[Any]) -> LogisticRegression:
        """The mean of the models that were best in each fold."""
        best = [np.unravel_index(int(np.argmax(scores)), scores.shape) for scores in self.scores_]
        models = [fitted[share, place, fold] for fold, (share, place) in enumerate(best)]
        self.C_ = float(np.mean([self.Cs_[place] for _, place in best]))
        self.l1_ratio_ = float(np.mean([self.l1_ratios_[share] for share, _ in best]))
        mean = models[0]
        mean.coef_ = np.mean([model.coef_ for model in models], axis=0)
        mean.intercept_ = np.mean([model.intercept_ for model in models], axis=0)
        notes = ("the mean of the coefficients that were best in each fold: not a minimiser",)
        claim, path = "the mean of minimisers", mean.certificate_.path
        mean.certificate_ = Certificate(True, claim, path, {}, notes)
        return mean

    # --- predicting ---------------------------------------------------------------------------

    def _best(self) -> LogisticRegression:
        check_is_fitted(self)
        return self.best_estimator_

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """As `LogisticRegression.decision_function`, by the chosen model."""
        return self._best().decision_function(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row, by the chosen model."""
        return self._best().predict(X)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of each class, by the chosen model."""
        return self._best().predict_proba(X)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """The logarithms of the probabilities, by the chosen model."""
        return self._best().predict_log_proba(X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The score by which the penalty was chosen.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source
        y : array of shape (rows,)
            None if `X` is a source, whose share of right classes is told.
        sample_weight : array of shape (rows,), optional
        """
        if isinstance(X, Source) or self.scoring is None:
            return float(self._best().score(X, y, sample_weight))
        options = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(check_scoring(self, scoring=self.scoring)(self._best(), X, y, **options))


def _parameters(model: LogisticRegression) -> Array:
    if not model.fit_intercept:
        return model.coef_
    return np.hstack([model.coef_, np.asarray(model.intercept_)[:, None]])
