"""How good a model is: on rows of a file, or on rows that were held out of its fits."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_outlier_detector, is_regressor
from sklearn.model_selection import KFold, StratifiedKFold

from suffice.cli.rows import OnePiece
from suffice.cli.saved import Saved
from suffice.engines.passes import reduce
from suffice.fitting.one_pass import OnePass
from suffice.sources import Block, Source
from suffice.statistics.sums import Sums

MOST_ROWS = 100_000
"""Rows up to which a fit is also cross-validated, where that takes more than a pass."""

MOST_KEPT_ROWS = 5_000
"""The same for models whose every prediction looks at all rows of the fit."""

SMALLEST_PROBABILITY = 2.0**-52


def metric_of(model: Any) -> str:
    """What the model's own score is called."""
    if type(model).__name__ == "GeneralizedLinearModel":
        return "d2"
    if is_regressor(model):
        return "r2"
    return "accuracy" if is_classifier(model) else "log_likelihood"


def is_cheap(saved: Saved, n_rows: int) -> bool:
    """Whether folds cost little more than the fit."""
    if saved.preparation is None and getattr(saved.model, "_solve_grid", None) is not None:
        return isinstance(saved.model, OnePass)
    module, name = type(saved.model).__module__, type(saved.model).__name__
    keeps_rows = module.startswith("suffice.neighbors") or name == "LocallyWeightedRegression"
    return n_rows <= (MOST_KEPT_ROWS if keeps_rows else MOST_ROWS)


def cross_validated(saved: Saved, rows: Source, folds: int) -> dict[str, Any]:
    """Scores on each of some parts of the rows of models fitted to the other parts.

    The rows are dealt out at random, always in the same way.  What prepares the columns is learned
    from the rows of each fit alone.
    """
    from suffice.selection.cross_validation import cross_validate

    too_few = ValueError(f"the rows are too few for {folds} folds")
    if rows.count_rows() < folds:
        raise too_few
    if is_classifier(saved.model):
        splitter: Any = StratifiedKFold(folds, shuffle=True, random_state=0)
    else:
        splitter = KFold(folds, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of folds; the fit to all rows has its own
        found = cross_validate(clone(saved.whole), rows, cv=splitter, error_score="raise")
    scores = found["test_score"]
    if not np.isfinite(scores).all():
        raise too_few
    return {
        "metric": metric_of(saved.model),
        "folds": folds,
        "mean": float(scores.mean()),
        "std": float(scores.std(ddof=1)),
        "scores": scores.tolist(),
    }


def scores_of(saved: Saved, source: Source) -> dict[str, float]:
    """The model's own score on rows, and others that people ask for."""
    model, rows = saved.model, saved.prepared(source)
    if is_outlier_detector(model):
        weight, flagged = reduce(rows, _flagged(model, rows)).values
        return {"flagged": float(flagged / weight)}
    if not hasattr(model, "score"):
        raise ValueError(
            f"{type(model).__name__} has no score: `suffice transform` applies it to rows"
        )
    scores = {metric_of(model): float(model.score(rows))}
    if is_regressor(model):
        weight, squares, sizes = reduce(rows, _errors(model, rows)).values
        scores["rmse"] = float(np.sqrt(squares / weight).mean())
        scores["mae"] = float((sizes / weight).mean())
    elif is_classifier(model) and hasattr(model, "predict_proba"):
        weight, loss = reduce(rows, _log_loss(model, rows)).values
        scores["log_loss"] = float(loss / weight)
    return scores


def _weights(block: Block) -> Any:
    return np.ones(block.n_rows) if block.weight is None else block.weight


def _flagged(model: Any, rows: Source) -> Any:
    def summarize(block: Block) -> Sums:
        weight, found = _weights(block), model.predict(OnePiece(rows, block))
        return Sums((np.array(weight.sum()), np.array(weight @ (found == -1))))

    return summarize


def _errors(model: Any, rows: Source) -> Any:
    def summarize(block: Block) -> Sums:
        weight = _weights(block)
        error = np.asarray(block.y, float) - model.predict(OnePiece(rows, block))
        return Sums((np.array(weight.sum()), weight @ error**2, weight @ np.abs(error)))

    return summarize


def _log_loss(model: Any, rows: Source) -> Any:
    labels = np.asarray(model.classes_)

    def summarize(block: Block) -> Sums:
        weight, proba = _weights(block), model.predict_proba(OnePiece(rows, block))
        is_class = np.asarray(block.y)[:, None] == labels
        likelihood = np.maximum((proba * is_class).sum(axis=1), SMALLEST_PROBABILITY)
        return Sums((np.array(weight.sum()), np.array(-(weight @ np.log(likelihood)))))

    return summarize
