"""Cross-validation that reads the rows once where a model's statistic allows it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from sklearn import model_selection
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import check_scoring
from sklearn.utils import indexable

from suffice.selection.candidates import Candidate, prepared
from suffice.selection.folds import Folds
from suffice.selection.folds_in_one_pass import ScikitLearns
from suffice.selection.leave_one_out import LeaveOneOut, can_leave_one_out, scores_of_rows
from suffice.selection.sklearn_parts import (
    aggregate_score_dicts,
    insert_error_scores,
    is_multimetric,
    normalize_score_results,
    routing_enabled,
    scorers_by_name,
    warn_or_raise_about_fit_failures,
)
from suffice.selection.strategy import only_weight, plan, readable_again
from suffice.sources import Source


class CrossValidation(dict[str, Any]):
    """scikit-learn's dictionary of results.

    Attributes
    ----------
    passes_ : int or None
        How often the rows were read; None where scikit-learn's own loop did it.
    """

    passes_: int | None = None


def cross_validate(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    scoring: Any = None,
    cv: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    params: dict[str, Any] | None = None,
    pre_dispatch: int | str = "2*n_jobs",
    return_train_score: bool = False,
    return_estimator: bool = False,
    return_indices: bool = False,
    error_score: Any = np.nan,
) -> CrossValidation:
    """Evaluate an estimator by cross-validation.

    Takes what scikit-learn's function of this name takes, and sources too.  A model that
    keeps its statistic (or a `StandardScaler` and such a model in a pipeline) is fitted for
    all folds from one pass over the rows, and scored from the same pass where the score is a
    function of moments (R², squared errors, explained variance), else from a second one.
    Leave-one-out takes two passes, and one of a model of neighbours.  Other estimators are
    fitted once for each fold.

    Parameters
    ----------
    estimator : estimator
    X : array, data frame, CSR matrix or Source
    y : array of shape (rows,) or (rows, targets)
        None if `X` is a source.
    groups : array of shape (rows,), optional
        For splitters that keep groups of rows together.
    scoring : str, callable, list, tuple or dict, optional
        By default the estimator's own score.
    cv : int, splitter or iterable, optional
        By default five folds, stratified for classifiers.
    n_jobs, pre_dispatch : optional
        For estimators that must be fitted for each fold.
    verbose : int, default=0
    params : dict, optional
        Arguments of `fit`, `sample_weight` for one.  As in scikit-learn's function, weights do
        not enter the scores; those that a source brings along do.
    return_train_score, return_estimator, return_indices : bool, default=False
    error_score : "raise" or number, default=nan
        The score of a split whose fit fails.

    Returns
    -------
    CrossValidation
        A dictionary with scikit-learn's keys; its attribute `passes_` says how often the rows
        were read.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import suffice
    >>> X, y = load_diabetes(return_X_y=True)
    >>> found = suffice.cross_validate(suffice.Ridge(alpha=0.1), X, y, cv=10)
    >>> round(float(found["test_score"].mean()), 3), found.passes_
    (0.463, 1)
    """
    options = {
        "groups": groups,
        "scoring": scoring,
        "n_jobs": n_jobs,
        "verbose": verbose,
        "params": params,
        "pre_dispatch": pre_dispatch,
        "return_train_score": return_train_score,
        "return_estimator": return_estimator,
        "return_indices": return_indices,
        "error_score": error_score,
    }
    in_memory = not isinstance(X, Source)
    if in_memory:
        X, y = indexable(X, y)
    elif y is not None:
        raise ValueError("a source brings its own target: name it in scan(…, target=…), pass no y")
    cv = readable_again(cv)
    weight, nothing_else = only_weight(X, params)
    found = None
    if nothing_else and not (routing_enabled() and in_memory):
        scorer = check_scoring(estimator, scoring=scoring, raise_exc=error_score == "raise")
        with suppress(ScikitLearns):
            found = _from_statistics(estimator, X, y, weight, scorer, cv, options)
    if found is None:
        theirs = model_selection.cross_validate(estimator, X, y, cv=cv, **options)
        return CrossValidation(theirs)
    return found


def _from_statistics(
    estimator: Any, X: Any, y: Any, weight: Any, scorer: Any, cv: Any, options: dict[str, Any]
) -> CrossValidation | None:
    """What statistics, or fits over a source, tell; None if scikit-learn's own loop must do it."""
    train_scores, estimators = options["return_train_score"], options["return_estimator"]
    known = prepared([clone(estimator)], X, y, weight)
    more = train_scores or estimators or options["return_indices"]
    if isinstance(cv, model_selection.LeaveOneOut) and not more:
        alone = known or prepared([clone(estimator)], X, y, weight, folds=False)
        found = None if alone is None else _leave_one_out(alone[0][0], alone[1], scorer)
        if found is not None:
            return found
    search = plan(
        [estimator], known, X, y, options["groups"], cv, scorer,
        weight=weight,
        error_score=options["error_score"], train_scores=train_scores, keep=estimators,
    )  # fmt: skip
    if search is None:
        return None
    out = search.run()
    warn_or_raise_about_fit_failures(out, options["error_score"])
    if callable(options["scoring"]):
        insert_error_scores(out, options["error_score"])
    indices = _indices(search.folds) if options["return_indices"] else None
    found = _as_scikit_learn(out, train_scores, estimators, indices)
    found.passes_ = search.passes
    return found


def _as_scikit_learn(
    out: Sequence[dict[str, Any]], train_scores: bool, estimators: bool, indices: Any
) -> CrossValidation:
    together = aggregate_score_dicts(out)
    found = CrossValidation(fit_time=together["fit_time"], score_time=together["score_time"])
    if estimators:
        found["estimator"] = together["estimator"]
    if indices is not None:
        found["indices"] = indices
    tests = normalize_score_results(together["test_scores"])
    trains = normalize_score_results(together["train_scores"]) if train_scores else {}
    for name in tests:
        found[f"test_{name}"] = tests[name]
        if train_scores:
            found[f"train_{name}"] = trains[name]
    return found


def _indices(folds: Folds) -> dict[str, tuple[Any, ...]]:
    listed = folds.listed or [(folds.train(s), folds.test(s)) for s in range(folds.n_splits)]
    train, test = zip(*listed, strict=True)
    return {"train": train, "test": test}


def _leave_one_out(candidate: Candidate, source: Source, scorer: Any) -> CrossValidation | None:
    """The scores of each row by itself; None where they must be found row by row."""
    scorers = scorers_by_name(scorer)
    metrics = {name: scores_of_rows(s, candidate.model) for name, s in scorers.items()}
    if None in metrics.values() or not can_leave_one_out(candidate, source):
        return None
    try:
        held_out = LeaveOneOut(candidate, source)
    except (ValueError, TypeError):
        return None  # the loop over the rows tells which fits fail
    each = np.full(len(held_out.y), held_out.seconds / len(held_out.y))
    found = CrossValidation(fit_time=each, score_time=np.zeros_like(each))
    for name, metric in metrics.items():
        assert metric is not None
        scores = np.asarray(metric(held_out.y, held_out.predictions), dtype=np.float64)
        if np.isnan(scores).all():
            warnings.warn(
                "R^2 score is not well-defined with less than two samples.",
                UndefinedMetricWarning,
                stacklevel=5,
            )
        found[f"test_{name}" if is_multimetric(scorer) else "test_score"] = scores
    found.passes_ = held_out.passes
    return found
