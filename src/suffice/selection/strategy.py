"""Which way a cross-validation goes: from statistics, by fits over a source, or scikit-learn's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from suffice.selection.candidates import Prepared
from suffice.selection.fits_in_step import SharedPasses, can_share
from suffice.selection.folds import Folds
from suffice.selection.folds_in_one_pass import OnePassSearch
from suffice.selection.held_out import check_scorer
from suffice.selection.k_fits import KFits
from suffice.selection.splitting import survey
from suffice.sources import Source

MOST_STATISTICS = 1 << 30
"""Bytes that the statistics of all folds may take."""


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
        `error_score`, `train_scores` and `keep` of `Search`.
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
    options |= {"X": X, "y": y, "passes": passes}
    if shared is not None:
        return SharedPasses(estimators, shared, folds, scorer, **options)
    if found is not None and holds_statistics([c.model for c in found.candidates], folds):
        return OnePassSearch(found.candidates, found.source, folds, scorer, **options)
    return None if in_memory else KFits(estimators, X, folds, scorer, **options)


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


def holds_statistics(models: Sequence[Any], folds: Folds) -> bool:
    """Whether memory holds the statistics of all groups of rows, and those merged from them."""
    numbers = max(model._statistic_size(model.n_features_in_) for model in models)
    return 4 * 8 * sum(folds.sizes) * numbers <= MOST_STATISTICS
