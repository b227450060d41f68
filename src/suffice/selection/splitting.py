"""What model selection asks of the rows before it reads them: how many, and their labels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import model_selection
from sklearn.base import is_classifier
from sklearn.model_selection import check_cv

from suffice.engines.passes import map_rows
from suffice.selection.folds import Folds, folds_of
from suffice.sources import Source

NO_LABELS_NEEDED = (
    model_selection.GroupKFold,
    model_selection.GroupShuffleSplit,
    model_selection.KFold,
    model_selection.LeaveOneGroupOut,
    model_selection.LeaveOneOut,
    model_selection.LeavePGroupsOut,
    model_selection.LeavePOut,
    model_selection.PredefinedSplit,
    model_selection.RepeatedKFold,
    model_selection.ShuffleSplit,
    model_selection.TimeSeriesSplit,
)
"""Splitters that do not look at the target."""


class Survey(NamedTuple):
    """How the rows are split.

    Attributes
    ----------
    folds : Folds or None
        None where rows are repeated, or a split has none.
    passes : int
        How often a source had to be read for it.
    """

    folds: Folds | None
    passes: int


def survey(cv: Any, estimator: Any, X: Any, y: Any, groups: Any) -> Survey:
    """Ask a splitter what it does with the rows.

    Parameters
    ----------
    cv : int, splitter, iterable or None
    estimator : estimator
        Whether it classifies decides what a number of folds means.
    X, y, groups : as the user passed them
    """
    classifies = is_classifier(estimator)
    if not isinstance(X, Source):
        n_rows = int(X.shape[0]) if hasattr(X, "shape") else len(X)
        splitter = check_cv(cv, y, classifier=classifies)
        return Survey(folds_of(splitter, X, y, groups, n_rows), 0)
    labels = None
    if _looks_at_labels(cv, classifies):
        labels = labels_of(X)
        passes, n_rows = 1, len(labels)
    else:
        passes, n_rows = int(X.n_rows is None), X.count_rows()
    if not n_rows:
        raise ValueError(f"there are no rows in {X!r}; at least one is needed")
    splitter = check_cv(cv, labels, classifier=classifies)
    return Survey(folds_of(splitter, np.empty((n_rows, 0)), labels, groups, n_rows), passes)


def _looks_at_labels(cv: Any, classifies: bool) -> bool:
    if cv is None or isinstance(cv, (int, np.integer)):
        return classifies
    return hasattr(cv, "split") and not isinstance(cv, NO_LABELS_NEEDED)


def labels_of(source: Source) -> NDArray[Any]:
    """The target of all rows: a pass."""
    if not source.has_target:
        raise ValueError("this splitter needs a target: name it in scan(…, target=…)")
    return map_rows(source, lambda block: np.asarray(block.y))
