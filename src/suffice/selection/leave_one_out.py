"""Leave-one-out: every row predicted by the model without it, in two passes.

A model says whether it can tell that (`_leaves_one_out`), of the rows of a block
(`_leave_one_out_of_block`) or, where it keeps them, of all (`_leave_one_out_of_all`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.metrics import (
    accuracy_score,
    mean_absolute_error,
    mean_squared_error,
    median_absolute_error,
    r2_score,
    root_mean_squared_error,
)

from suffice.engines.passes import map_rows
from suffice.fitting.regression import as_columns
from suffice.numerics.double_double import Array
from suffice.selection.candidates import Candidate
from suffice.selection.sklearn_parts import parts_of_scorer
from suffice.sources import Source
from suffice.sources.derived.subset import SubsetSource


def _absolute(y: Array, held_out: Array) -> Array:
    return np.abs(y - held_out).mean(axis=1)


def _squared(y: Array, held_out: Array) -> Array:
    return np.square(y - held_out).mean(axis=1)


OF_NUMBERS: dict[Any, Callable[[Any, Any], Any]] = {
    mean_squared_error: _squared,
    mean_absolute_error: _absolute,
    median_absolute_error: _absolute,
    root_mean_squared_error: _absolute,
    r2_score: lambda y, held_out: np.full(len(y), np.nan),
}
"""What metrics say of one row, for all rows at once; R² of one row is undefined."""

OF_LABELS: dict[Any, Callable[[Any, Any], Any]] = {
    accuracy_score: lambda y, held_out: (y == held_out)[:, 0].astype(np.float64),
}


def scores_of_rows(scorer: Any, model: Any) -> Callable[[Any, Any], Any] | None:
    """The scores of single rows from target and held-out prediction, where that is simple."""
    parts = parts_of_scorer(scorer)
    if parts is None or parts.options or parts.responses != ("predict",):
        return None
    metric = parts.metric
    if parts.is_own_score:
        metric = accuracy_score if is_classifier(model) else r2_score
    each = (OF_LABELS if is_classifier(model) else OF_NUMBERS).get(metric)
    return None if each is None else lambda y, held_out: parts.sign * each(y, held_out)


def can_leave_one_out(candidate: Candidate, source: Source) -> bool:
    """Whether this estimator tells what it would predict without each row."""
    if candidate.scalers or candidate.error is not None or source.count_rows() < 2:
        return False
    return bool(candidate.model._leaves_one_out(source))


class LeaveOneOut:
    """Held-out predictions of one estimator.

    Attributes
    ----------
    passes : int
    predictions : array of shape (rows, targets)
    y : array of shape (rows, targets)
    seconds : float
    """

    def __init__(self, candidate: Candidate, source: Source) -> None:
        began = time.perf_counter()
        model = clone(candidate.model)
        self.passes = int(source.n_rows is None)
        source.count_rows()
        model.fit(source)
        self.passes += len(model.trace_)
        of_all = model._leave_one_out_of_all()
        if of_all is None:
            of_all = self._read_again(model, source)
        self.y, self.predictions = (one.reshape(len(one), -1) for one in of_all)
        self.seconds = time.perf_counter() - began

    def _read_again(self, model: Any, source: Source) -> tuple[NDArray[Any], NDArray[Any]]:
        """Leave out every row of a second pass."""
        self.passes += 1
        joined = map_rows(source, model._leave_one_out_of_block(), model._n_jobs())
        y, predictions = np.hsplit(joined, 2)
        unknown = (predictions != predictions).any(axis=1)  # NaN alone is unequal to itself
        for row in np.flatnonzero(unknown).tolist():
            predictions[row] = self._without(clone(model), source, row)
        return y, predictions

    def _without(self, model: Any, source: Source, row: int) -> Array:
        """What a model says of a row when fitted to all others."""
        others = np.ones(source.count_rows(), dtype=bool)
        others[row] = False
        model.fit(SubsetSource(source, others))
        self.passes += len(model.trace_) + 1
        return as_columns(model.predict(SubsetSource(source, ~others)))[0]
