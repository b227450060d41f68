"""Exhaustive search over parameters, from one pass where a model's statistic allows it."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any, Self

from sklearn import model_selection
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils import indexable

from suffice.fitting.all_or_nothing import all_or_nothing
from suffice.fitting.inputs import take_names
from suffice.selection.candidates import prepared
from suffice.selection.folds_in_one_pass import ScikitLearns
from suffice.selection.sklearn_parts import (
    insert_error_scores,
    is_multimetric,
    routing_enabled,
    scorers_by_name,
    warn_or_raise_about_fit_failures,
)
from suffice.selection.strategy import only_weight, plan, readable_again
from suffice.sources import Source


class GridSearchCV(model_selection.GridSearchCV):
    """Search over a grid of parameters by cross-validation.

    scikit-learn's class, with its parameters, attributes and results.  What is new: a source
    may take the place of `X` and `y`; and a model that keeps its statistic (or a
    `StandardScaler` and such a model in a pipeline) is fitted for all folds and all
    parameters from one pass over the rows.  Other estimators are fitted once for each fold
    and parameter.

    Attributes
    ----------
    passes_ : int or None
        How often the rows were read, the last fit included; None where scikit-learn's own
        loop did it.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import suffice
    >>> X, y = load_diabetes(return_X_y=True)
    >>> search = suffice.GridSearchCV(suffice.Ridge(), {"alpha": [0.01, 0.1, 1.0]}).fit(X, y)
    >>> search.best_params_, search.passes_
    ({'alpha': 0.1}, 1)
    """

    cv: Any
    passes_: int | None

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Fit with all sets of parameters, and with the best of them to all rows.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source
        y : array of shape (rows,) or (rows, targets)
            None if `X` is a source.
        **params
            Arguments of the estimator's `fit`, and `groups` for the splitter.

        Returns
        -------
        self
        """
        self._validate_params()
        if isinstance(X, Source) and y is not None:
            raise ValueError(
                "a source brings its own target: name it in scan(…, target=…), pass no y"
            )
        cv = self.cv
        self.cv = readable_again(cv)
        try:
            if not self._is_scikit_learns(X):
                with suppress(ScikitLearns):
                    if self._search(X, y, dict(params)):
                        return self
            self.passes_ = None
            return super().fit(X, y, **params)
        finally:
            self.cv = cv

    def _is_scikit_learns(self, X: Any) -> bool:
        """Whether callbacks or metadata make this scikit-learn's business."""
        watched = hasattr(self, "_skl_callbacks") or hasattr(self, "_parent_callback_ctx")
        return not isinstance(X, Source) and (watched or routing_enabled())

    def _search(self, X: Any, y: Any, params: dict[str, Any]) -> bool:
        """Search by statistics, or over a source; False if it is neither."""
        groups = params.pop("groups", None)
        weight, nothing_else = only_weight(X, params)
        if not nothing_else:
            return False
        if not isinstance(X, Source):
            X, y = indexable(X, y)
        scorer, refit_metric = self._get_scorers()
        grid = list(ParameterGrid(self.param_grid))
        estimators = [clone(self.estimator).set_params(**clone(p, safe=False)) for p in grid]
        search = plan(
            estimators, prepared(estimators, X, y, weight), X, y, groups, self.cv, scorer,
            weight=weight,
            error_score=self.error_score, train_scores=self.return_train_score,
        )  # fmt: skip
        if search is None:
            return False
        if weight is not None and self._check_scorers_accept_sample_weight():
            search.score_weight = weight
        if self.verbose > 0:
            self._announce(search.folds.n_splits, len(grid))
        self._adopt(search, grid, scorer, refit_metric)
        self.passes_ = search.passes
        return True

    def _announce(self, n_splits: int, n_candidates: int) -> None:
        print(  # noqa: T201
            f"Fitting {n_splits} folds for each of {n_candidates} candidates, "
            f"totalling {n_splits * n_candidates} fits"
        )

    def _adopt(self, search: Any, grid: list[Any], scorer: Any, refit_metric: Any) -> None:
        """Run a search and set what scikit-learn's class sets."""
        out = search.run()
        warn_or_raise_about_fit_failures(out, self.error_score)
        if callable(self.scoring):
            insert_error_scores(out, self.error_score)
        self.n_splits_ = search.folds.n_splits
        results = self._format_results(grid, self.n_splits_, out)
        first = out[0]["test_scores"]
        self.multimetric_ = isinstance(first, dict)
        if callable(self.scoring) and self.multimetric_:
            self._check_refit_for_multimetric(first)
            refit_metric = self.refit
        if self.refit or not self.multimetric_:
            self.best_index_ = self._select_best_index(self.refit, refit_metric, results)
            if not callable(self.refit):
                self.best_score_ = results[f"mean_test_{refit_metric}"][self.best_index_]
            self.best_params_ = results["params"][self.best_index_]
        if self.refit:
            began = time.time()
            self.best_estimator_ = search.best(search.candidates[self.best_index_])
            self.refit_time_ = time.time() - began
            take_names(self, self.best_estimator_)
        self.scorer_ = scorers_by_name(scorer) if is_multimetric(scorer) else scorer
        self.cv_results_ = results
