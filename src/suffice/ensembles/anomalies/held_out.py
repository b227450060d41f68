"""Densities of rows under models that have not seen them.

A row of the fit raises its own density, so what is surprising is told from rows held out.  Where a
model knows its density without each row in closed form, that is leave-one-out; else rows are put
into folds and each is judged by a model of the other folds.  Equal rows share a fold: a twin that
is left behind would give the row away, and a weight counts as so many rows.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.engines.gather import Rows
from suffice.ensembles.bagging.members import ask_member, fit_member, takes_weights
from suffice.ensembles.binary_fits import reads_sources
from suffice.fitting.callbacks import is_watched
from suffice.fitting.classification import labels_of
from suffice.fitting.driver import delegated
from suffice.fitting.estimator import Estimator
from suffice.fitting.requests import Gather, Pass, Request, needed
from suffice.fitting.shared_passes import SharedColumns, in_step, on_some_rows
from suffice.numerics.row_hashes import row_hashes
from suffice.sources import Block, Source
from suffice.sources.derived.subset import SubsetSource
from suffice.sources.finite import NotFinite, first_non_finite
from suffice.statistics.moments.full import NOTHING

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Integers = NDArray[np.int64]

NOBODY = -1
"""Number of the model that judges a row, where none does."""


@dataclass(frozen=True)
class RowsInOrder:
    """What a pass finds of every row.

    Attributes
    ----------
    parts : tuple of pairs
        The number of a block's first row, and arrays with a number for each of its rows.
    """

    parts: tuple[tuple[int, tuple[NDArray[Any], ...]], ...]

    @classmethod
    def merge(cls, every: Sequence[RowsInOrder]) -> RowsInOrder:
        """All of them."""
        return cls(tuple(part for one in every for part in one.parts))

    def joined(self) -> tuple[NDArray[Any], ...]:
        """Each of the arrays, of all rows."""
        blocks = [arrays for _, arrays in sorted(self.parts, key=lambda part: part[0])]
        return tuple(np.concatenate(arrays) for arrays in zip(*blocks, strict=True))


# --- what rows are ------------------------------------------------------------------------


def facts(block: Block, anomaly_label: Any, hashes: bool, missing: bool) -> RowsInOrder:
    """Weight, whether a row is labelled an anomaly, and its hash."""
    if first_non_finite(block, missing) is not None:
        raise NotFinite("a value out of range", block.start, block.n_rows)
    n = block.n_rows
    weight = np.ones(n) if block.weight is None else np.asarray(block.weight, np.float64)
    anomaly = np.zeros(n, bool)
    if anomaly_label is not None:
        equal = np.asarray(labels_of(block) == anomaly_label)
        anomaly = equal if equal.shape == (n,) else anomaly  # a label of another type is no row's
    hashed = row_hashes(block.X) if hashes else np.zeros(n, np.uint64)
    return RowsInOrder(((block.start, (weight, anomaly & (weight > 0), hashed)),))


def check_rows(weight: Floats, anomaly: Mask, anomaly_label: Any) -> None:
    """Raise unless there are rows to learn from, and to hold out."""
    if not weight.any():
        raise ValueError(NOTHING)
    ordinary = weight[~anomaly].sum()
    if anomaly_label is not None and not anomaly.any():
        raise ValueError(
            f"no row has the label anomaly_label={anomaly_label!r}: without one there is "
            "nothing to choose a threshold by; anomaly_label=None takes it from ordinary rows"
        )
    if not ordinary:
        raise ValueError(
            f"all rows have the label anomaly_label={anomaly_label!r}: the density is "
            "learned from rows that have another"
        )
    if ordinary <= 1:
        raise ValueError(
            "AnomalyDetector needs at least two rows to learn from, to hold out one of them; "
            f"there is only one sample, or a total weight of {ordinary:g}, where a weight "
            "counts as so many rows"
        )


def fold_of(hashes: NDArray[np.uint64], folds: int) -> Integers:
    """The fold of each row: folds of about the same size, and equal rows in one."""
    codes = np.unique(hashes, return_inverse=True)[1].reshape(-1)
    if not codes.any():
        raise ValueError(
            "all rows to learn from are equal, or there is only one sample: none can be held out"
        )
    return np.asarray(codes % folds)


# --- fitting ------------------------------------------------------------------------------


def fit_to(
    model: Any, source: Source, mask: Mask, label: str | None
) -> Generator[Request, Any, None]:
    """Fit a model to the rows of a mask, as a part of another fit.

    Parameters
    ----------
    model : estimator
        Unfitted.
    source : Source
    mask : bool array of shape (rows,)
    label : str, or None
        What is put before the names of its steps; None leaves them out of the trace.
    """
    rows = source if mask.all() else SubsetSource(source, mask)
    if not reads_sources(model):
        gathered: Rows = yield from needed(Gather(label and f"{label}rows", rows))
        _refuse_weights(model, gathered)
        fit_member(model, Rows(gathered.X, None, gathered.weight))
    elif isinstance(model, Estimator) and not is_watched(model):
        yield from delegated(model, rows, label)
    else:
        model.fit(rows)


def _refuse_weights(model: Any, rows: Rows) -> None:
    if rows.weight is not None and not takes_weights(model):
        raise ValueError(
            f"{type(model).__name__} takes no row weights: repeat the rows, or choose another model"
        )


def fit_each_fold(
    models: Sequence[Any], source: Source, masks: Sequence[Mask], n_jobs: int | None
) -> Generator[Request, Any, None]:
    """Fit each model to the rows of its mask; iterative ones of the library share their passes."""
    if not all(isinstance(m, Estimator) and m._shares_passes for m in models) or any(
        map(is_watched, models)
    ):
        for model, mask in zip(models, masks, strict=True):
            yield from fit_to(model, source, mask, None)
        return
    with closing(SharedColumns(source, n_jobs)) as columns:
        pairs = zip(models, masks, strict=True)
        fits = [on_some_rows(model, source, mask, columns) for model, mask in pairs]
        in_step(fits, source)
    for fit in fits:
        if fit.failure is not None:
            raise fit.failure


# --- judging ------------------------------------------------------------------------------


def judged(
    source: Source, models: Sequence[Any], judge: Integers, names: Sequence[str] | None
) -> Generator[Request, Any, Floats]:
    """The score of each row under a model; NaN where nobody judges it.

    Parameters
    ----------
    source : Source
    models : sequence of estimators
        Fitted.
    judge : int array of shape (rows,)
        The number of a row's model, or `NOBODY`.
    names : sequence of str, optional
        Of the columns.
    """
    score = partial(_scores, models=models, judge=judge, names=names)
    found: RowsInOrder = yield from needed(Pass("densities of rows held out", score))
    (scores,) = found.joined()
    if np.isnan(scores[judge != NOBODY]).any():
        raise ValueError(f"{type(models[0]).__name__} gives rows a score that is not a number")
    return np.asarray(scores)


def _scores(
    block: Block, models: Sequence[Any], judge: Integers, names: Sequence[str] | None
) -> RowsInOrder:
    here = judge[block.start : block.start + block.n_rows]
    scores = np.full(block.n_rows, np.nan)
    for number in np.unique(here[here != NOBODY]).tolist():
        some = np.flatnonzero(here == number)
        rows = block.X if len(some) == block.n_rows else block.X[some]
        scores[some] = ask_member(models[number], "score_samples", rows, names)
    return RowsInOrder(((block.start, (scores,)),))
