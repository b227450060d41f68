"""Ridge with its penalty chosen by cross-validation; by leave-one-out, unless said otherwise.

All n fits for all α take one pass for the moments and one for the rows' errors, which
`suffice.selection.cv_estimators.ridge_errors` derives from the model of all rows.  With more
columns than rows, `suffice.selection.cv_estimators.ridge_rows` does the same from the products of
the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.utils._param_validation import Interval, StrOptions

from suffice.engines.passes import map_rows
from suffice.engines.workers import one_blas_thread
from suffice.fitting.all_or_nothing import all_or_nothing
from suffice.fitting.regression import as_columns
from suffice.linear.ridge import Ridge
from suffice.numerics.double_double import Array
from suffice.selection.cv_estimators.chosen import ChosenModel
from suffice.selection.cv_estimators.ridge_errors import MomentsErrors
from suffice.selection.cv_estimators.ridge_rows import MOST_ROWS, errors_on_rows, row_weights
from suffice.selection.grid_search import GridSearchCV
from suffice.sources import Block, Source


class RidgeCV(MultiOutputMixin, ChosenModel):
    """Ridge regression with its penalty chosen by cross-validation.

    Parameters
    ----------
    alphas : array of shape (alphas,), default=(0.1, 1.0, 10.0)
        Strengths to try, above 0 (with `cv`, not below it).
    fit_intercept : bool, default=True
    scoring : str or callable, optional
        What the held-out predictions are judged by; by default their squared error with
        leave-one-out, and R² with `cv`.
    cv : int, splitter, iterable or None, default=None
        None is leave-one-out.  A row is left out with all of its weight, as if its repetitions
        were one fold, and its squared error counts as often as its weight says.
    gcv_mode : {"auto", "svd", "eigen"}, optional
        Accepted for compatibility: the errors do not depend on it.
    store_cv_results : bool, default=False
        Keep every row's error (with `scoring`, prediction) for every strength, in `cv_results_`.
    alpha_per_target : bool, default=False
        Choose a strength for each target.

    Attributes
    ----------
    alpha_ : float or array of shape (targets,)
    best_score_ : float or array of shape (targets,)
    cv_results_ : array of shape (rows, alphas) or (rows, targets, alphas)
        Only if asked for.
    coef_ : array of shape (columns,) or (targets, columns)
    intercept_ : float or array of shape (targets,)
    best_estimator_ : Ridge
        Fitted to all rows; it updates, forgets and refits.
    certificate_ : Certificate
        Of the last fit.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from suffice import RidgeCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RidgeCV(alphas=[1e-3, 1e-2, 1e-1, 1]).fit(X, y)
    >>> model.alpha_, round(model.score(X, y), 4)
    (0.01, 0.5166)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alphas": ["array-like", Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "cv": ["cv_object"],
        "gcv_mode": [StrOptions({"auto", "svd", "eigen"}), None],
        "store_cv_results": ["boolean"],
        "alpha_per_target": ["boolean"],
    }

    alpha_: Any
    best_score_: Any

    def __init__(
        self,
        alphas: ArrayLike = (0.1, 1.0, 10.0),
        *,
        fit_intercept: bool = True,
        scoring: Any = None,
        cv: Any = None,
        gcv_mode: str | None = None,
        store_cv_results: bool = False,
        alpha_per_target: bool = False,
    ) -> None:
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.scoring = scoring
        self.cv = cv
        self.gcv_mode = gcv_mode
        self.store_cv_results = store_cv_results
        self.alpha_per_target = alpha_per_target

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the penalty, and fit with it to all rows.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source
        y : array of shape (rows,) or (rows, targets)
            None if `X` is a source.
        sample_weight : array of shape (rows,), optional

        Returns
        -------
        self
        """
        self._validate_params()
        alphas = self._checked_alphas()
        self.__dict__.pop("cv_results_", None)
        if self.cv is None:
            self._leave_one_out(alphas, X, y, sample_weight)
        else:
            self._search(alphas, X, y, sample_weight)
        self._take_over(self.best_estimator_)
        return self

    def _checked_alphas(self) -> Array:
        alphas = np.atleast_1d(np.asarray(self.alphas, dtype=np.float64))
        least = "above 0" if self.cv is None else "not below 0"
        enough = alphas > 0 if self.cv is None else alphas >= 0
        if alphas.ndim != 1 or not len(alphas) or not (np.isfinite(alphas) & enough).all():
            raise ValueError(f"alphas must be finite and {least}, got {self.alphas!r}")
        return alphas

    def _search(self, alphas: Array, X: Any, y: Any, weight: Any) -> None:
        for name in ("store_cv_results", "alpha_per_target"):
            if getattr(self, name):
                raise ValueError(f"cv!=None and {name}=True are incompatible")
        search = GridSearchCV(
            Ridge(fit_intercept=self.fit_intercept),
            {"alpha": alphas.tolist()},
            cv=self.cv,
            scoring=self.scoring,
        )
        options = {} if weight is None else {"sample_weight": weight}
        search.fit(X, y, **options)
        self.best_estimator_, self.best_score_ = search.best_estimator_, search.best_score_
        self.alpha_ = search.best_params_["alpha"]

    # --- leave-one-out ----------------------------------------------------------------------

    def _leave_one_out(self, alphas: Array, X: Any, y: Any, weight: Any) -> None:
        model = Ridge(float(alphas[0]), fit_intercept=self.fit_intercept)
        source = model._training_source(X, y, weight)
        if model._joins_folds(source):
            model.fit(X, y, weight)
            self._check_rows(model.statistics_.count)
            with one_blas_thread():
                scores = self._scores_from_moments(model, source, alphas)
            self._choose(scores, alphas)
            self.best_estimator_ = model.refit(alpha=self.alpha_)
        else:
            with one_blas_thread():
                scores = self._scores_on_rows(model, source, alphas)
            self._choose(scores, alphas)
            self.best_estimator_ = model.set_params(alpha=self.alpha_).fit(X, y, weight)

    def _check_rows(self, count: int) -> None:
        if count < 2 and self.fit_intercept:
            raise ValueError(
                f"leave-one-out needs 2 rows of weight above 0, and there is {count} sample: "
                "without it nothing is left to fit"
            )

    def _scores_from_moments(self, model: Ridge, source: Source, alphas: Array) -> Array:
        """Scores of shape (targets, alphas), or one row of them for all targets."""
        errors_of = MomentsErrors(model, alphas)
        if self.scoring is None and not self.store_cv_results:
            found = model._pass(source, lambda block: SquaredErrors.of(errors_of(block), block))
            squares, close = found.squares, np.array(sorted(found.close), dtype=np.intp)
            if len(close):
                errors = errors_of.of_close_rows(source, close)
                weight = row_weights(source)[close]
                squares = squares + np.einsum("i,ika->ka", weight, np.square(errors))
            return np.asarray(-squares / source.count_rows())
        table = map_rows(source, lambda block: _with_target(errors_of(block), block))
        table = table.reshape(len(table), model._n_targets(), -1)
        close = np.flatnonzero(np.isnan(table[:, 0, 2]))
        table[close, :, 2:] = errors_of.of_close_rows(source, close)
        return self._scores(table, model._target_shape)

    def _scores_on_rows(self, model: Ridge, source: Source, alphas: Array) -> Array:
        """The same with fewer rows than columns."""
        n = source.count_rows()
        if n > MOST_ROWS:
            raise ValueError(
                f"leave-one-out of {source.n_columns} columns would need a matrix of {n} by {n} "
                f"numbers: use cv=5, or {MOST_ROWS} rows at most"
            )
        weight = row_weights(source)
        self._check_rows(int(np.count_nonzero(weight)))
        errors = errors_on_rows(source, alphas, self.fit_intercept, model._n_jobs())
        y = map_rows(source, lambda block: as_columns(block.y))[:, :, None]
        table = np.concatenate([np.broadcast_to(weight[:, None, None], y.shape), y, errors], axis=2)
        return self._scores(table, model._target_shape)

    def _scores(self, table: Array, target_shape: tuple[int, ...]) -> Array:
        """Scores of shape (targets, alphas), from each row's weight, target and errors."""
        weight, y, errors = table[:, :, 0], table[:, :, 1], table[:, :, 2:]
        predictions = y[:, :, None] - errors
        kept = weight[:, :, None] * np.square(errors) if self.scoring is None else predictions
        if self.store_cv_results:
            self.cv_results_ = kept if target_shape else kept[:, 0]
        if self.scoring is None:
            return -kept.mean(axis=0)
        scorer = check_scoring(_Said(), self.scoring)
        weighted = {} if (weight == 1).all() else {"sample_weight": weight[:, 0]}
        targets = range(y.shape[1])
        if not (self.alpha_per_target and len(targets) > 1):
            every = (predictions, y) if len(targets) > 1 else (predictions[:, 0], y[:, 0])
            said = np.moveaxis(every[0], -1, 0)
            return np.array([[scorer(_Said(), p, every[1], **weighted) for p in said]])
        return np.array(
            [
                [scorer(_Said(), p, y[:, t], **weighted) for p in predictions[:, t].T]
                for t in targets
            ]
        )

    def _choose(self, scores: Array, alphas: Array) -> None:
        """Take the best strength, of all targets together or of each."""
        if self.alpha_per_target and len(scores) > 1:
            best = np.argmax(scores, axis=1)
            self.alpha_, self.best_score_ = alphas[best], scores.max(axis=1)
        else:
            mean = scores.mean(axis=0)
            self.alpha_ = float(alphas[np.argmax(mean)])
            self.best_score_ = float(mean.max())


class _Said(RegressorMixin, BaseEstimator):
    """A model whose predictions are given."""

    def fit(self, X: Any, y: Any) -> Self:
        return self

    def predict(self, X: Any) -> Any:
        """What is given."""
        return X


class SquaredErrors(NamedTuple):
    """Weighted squares of errors, of shape (targets, alphas), and the rows that have none."""

    squares: Array
    close: tuple[int, ...]

    @classmethod
    def of(cls, errors: Array, block: Block) -> SquaredErrors:
        """Those of a block."""
        close = block.start + np.flatnonzero(np.isnan(errors[:, 0, 0]))
        errors = np.nan_to_num(errors, nan=0.0)
        if block.weight is None:
            return cls(np.square(errors).sum(axis=0), tuple(close.tolist()))
        squares = np.einsum("i,ika->ka", block.weight, np.square(errors))
        return cls(squares, tuple(close.tolist()))

    @classmethod
    def merge(cls, parts: Sequence[SquaredErrors]) -> SquaredErrors:
        """Those of all parts."""
        close = tuple(row for part in parts for row in part.close)
        return cls(np.sum([part.squares for part in parts], axis=0), close)


def _with_target(errors: Array, block: Block) -> Array:
    """Each row's weight, target and errors side by side."""
    y = as_columns(block.y)[:, :, None]
    weight = np.ones(len(y)) if block.weight is None else block.weight
    weight = np.broadcast_to(weight[:, None, None], y.shape)
    return np.concatenate([weight, y, errors], axis=2).reshape(len(y), -1)
