"""Which way a cross-validation goes: from statistics, by fits over a source, or scikit-learn's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from suffice.fitting.merging import same_value
from suffice.linear.least_squares.base import LeastSquaresModel
from suffice.selection.candidates import Candidate, prepare, taken_apart
from suffice.selection.held_out import check_scorer
from suffice.selection.k_fits import KFits
from suffice.selection.search import OnePassSearch
from suffice.selection.shared_passes import SharedPasses, can_share
from suffice.selection.splitting import survey
from suffice.sources import Source

MOST_STATISTICS = 1 << 30
"""Bytes that the statistics of all folds may take."""

Prepared = tuple[list[Candidate], Source]


def only_weight(X: Any, params: dict[str, Any] | None) -> tuple[Any, bool]:
    """The weights among the arguments of a fit, and whether there is nothing but such an array."""
    params = {name: value for name, value in (params or {}).items() if value is not None}
    if isinstance(X, Source) and params:
        raise ValueError(
            "a source brings its own weights: name them in scan(…, weight=…), and pass no "
            f"arguments for fit; got {', '.join(params)}"
        )
    weight = params.get("sample_weight")
    return weight, not set(params) - {"sample_weight"} and (weight is None or np.ndim(weight) == 1)


def readable_again(cv: Any) -> Any:
    """Splits that can be gone through more than once."""
    return list(cv) if isinstance(cv, Iterator) else cv


def prepared(
    estimators: Sequence[Any], X: Any, y: Any, weight: Any, folds: bool = True
) -> Prepared | None:
    """Candidates that can be fitted from statistics, and their rows; None if one cannot.

    With `folds`, from those of several folds, merged.
    """
    candidates = [taken_apart(estimator) for estimator in estimators]
    known = [candidate for candidate in candidates if candidate is not None]
    if len(known) < len(candidates) or len({type(c.model) for c in known}) != 1:
        return None
    if not _share_a_statistic([candidate.model for candidate in known]):
        return None
    # In scikit-learn a pipeline takes no weights, but each step its own.
    if weight is not None and any(isinstance(c.estimator, Pipeline) for c in known):
        return None
    try:
        return prepare(known, X, y, weight, folds)
    except (TypeError, ValueError):
        if isinstance(X, Source):
            raise
        return None  # scikit-learn's loop tells what is wrong


def _share_a_statistic(models: Sequence[Any]) -> bool:
    """Whether models of one class summarise rows alike, for all that their parameters say."""
    first = models[0]
    return all(
        same_value(getattr(first, name), getattr(model, name))
        for name in getattr(first, "_statistic_parameters", ())
        for model in models[1:]
    )


def plan(
    estimators: Sequence[Any],
    found: Prepared | None,
    X: Any,
    y: Any,
    groups: Any,
    cv: Any,
    scorer: Any,
    weight: Any = None,
    **options: Any,
) -> OnePassSearch | SharedPasses | KFits | None:
    """The search to run, or None if scikit-learn's own loop must do it.

    Parameters
    ----------
    estimators : sequence of estimators
    found : what `prepared` says of them
    X, y, groups, cv : as the user passed them
    scorer : callable
        scikit-learn's scorer, of one metric or several.
    weight : array of shape (rows,), optional
        Of the fits, for rows in memory.
    **options
        `error_score`, `train_scores` and `keep` of `OnePassSearch`.
    """
    in_memory = not isinstance(X, Source)
    shared = None if found is not None else _shared_source(estimators, X, y, weight)
    if found is None and shared is None and in_memory:
        return None
    if not estimators:
        raise ValueError("No fits were performed. Were there no candidates?")
    if not in_memory:
        check_scorer(scorer, X.has_weight)
    folds, passes = survey(cv, estimators[0], X, y, groups)
    if folds is None:
        if in_memory:
            return None
        raise ValueError(
            "a splitter that repeats rows, or leaves a split without rows to train on or to test, "
            "needs the rows in memory"
        )
    if shared is not None:
        return SharedPasses(estimators, shared, folds, scorer, passes=passes, X=X, y=y, **options)
    if found is None or _bytes(found, sum(folds.sizes)) > MOST_STATISTICS:
        if in_memory:
            return None
        return KFits(estimators, X, folds, scorer, passes=passes, **options)
    candidates, source = found
    return OnePassSearch(candidates, X, y, source, folds, scorer, passes=passes, **options)


def _shared_source(estimators: Sequence[Any], X: Any, y: Any, weight: Any) -> Source | None:
    """The rows for iterative models that can be fitted together; None if they cannot."""
    if not estimators or not can_share(estimators):
        return None
    if isinstance(X, Source):
        return X
    try:
        model = clone(estimators[0])
        model._validate_params()
        source: Source = model._training_source(X, y, weight)
    except (TypeError, ValueError):
        return None  # scikit-learn's loop tells what is wrong
    return source


def _bytes(found: Prepared, n_groups: int) -> int:
    """Memory for the statistics of all groups, and those merged from them, roughly."""
    model, columns = found[0][0].model, found[1].n_columns
    numbers = (columns + 1) ** 2 if isinstance(model, LeastSquaresModel) else 100 * columns
    if hasattr(model, "_detail"):  # matrices, for all classes together or for some ten
        numbers += (1, 10, 30)[max(c.model._detail for c in found[0])] * columns**2
    return 4 * 8 * n_groups * numbers
