"""Scores of fitted candidates on the rows that their split held out."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.metrics import accuracy_score, r2_score

from suffice.engines.passes import in_order
from suffice.selection.sklearn_parts import (
    is_multimetric,
    parts_of_scorer,
    rows_at,
    score_rows,
    scorers_by_name,
)
from suffice.sources import Block, Source
from suffice.sources.derived.subset import rows_of

if TYPE_CHECKING:
    from suffice.selection.search import OnePassSearch

Results = list[list[dict[str, Any]]]
"""For each candidate and split, what scikit-learn's `_fit_and_score` would return."""

RESPONSES = ("predict", "predict_proba", "predict_log_proba", "decision_function")

MOST_BYTES = 1 << 28
"""What the answers of one pass may take; beyond, there are more passes."""


def score_in_memory(search: OnePassSearch, fitted: list[list[Any]], found: Results) -> None:
    """Score on arrays and frames: each split's rows are taken out once, for all candidates."""
    search.passes += 1
    for split in range(search.folds.n_splits):
        sets = {"test_scores": search.folds.test(split)}
        if search.train_scores:
            sets["train_scores"] = search.folds.train(split)
        for kind, rows in sets.items():
            X = rows_at(search.X, rows)
            y = None if search.y is None else rows_at(search.y, rows)
            options = {}
            if search.score_weight is not None:
                options["sample_weight"] = rows_at(search.score_weight, rows)
            for c, (models, results) in enumerate(zip(fitted, found, strict=True)):
                began = time.perf_counter()
                model, result = models[split], results[split]
                result[kind] = (
                    _failed(search)
                    if model is None
                    else score_rows(model, X, y, search.scorer, options, search.error_score)
                )
                if kind == "test_scores":
                    result["score_time"] = time.perf_counter() - began
                    result["n_test_samples"] = len(rows)
                    if search.keep:
                        result["estimator"] = model or search.unfitted(c)


def _failed(search: OnePassSearch) -> Any:
    if is_multimetric(search.scorer):
        return dict.fromkeys(scorers_by_name(search.scorer), search.error_score)
    return search.error_score


# --- rows that are read again ---------------------------------------------------------------


def check_scorer(scorer: Any, weighted: bool) -> None:
    """Raise if a scorer cannot be used on rows that are read block by block."""
    for one in scorers_by_name(scorer).values():
        parts = parts_of_scorer(one)
        if parts is None:
            raise ValueError(
                "with a source, scoring must be a scorer's name or made by make_scorer: "
                f"{one!r} would need the rows in memory"
            )
        if weighted and parts.metric and "sample_weight" not in signature(parts.metric).parameters:
            raise ValueError(
                f"{parts.metric.__name__} takes no weights, and the source has some: use another "
                "scoring, or scan(…) without weight="
            )


def score_source(search: Any, fitted: list[list[Any]], found: Results) -> None:
    """Score on a source: a pass predicts the tested rows by as many candidates as memory holds."""
    folds = search.folds
    sets = {"test_scores": folds.test}
    if search.train_scores:
        sets["train_scores"] = folds.train
    for kind, rows_of_split in sets.items():
        chosen = [rows_of_split(split) for split in range(folds.n_splits)]
        for some in _affordable(fitted, sum(map(len, chosen)), _responses(search, fitted)):
            began = time.perf_counter()
            models = [fitted[c] for c in some]
            answers = _answers(search.source, chosen, models, _responses(search, fitted))
            search.passes += 1
            for c, number in enumerate(some):
                for split, result in enumerate(found[number]):
                    result[kind] = _score(search, fitted[number][split], answers, c, split)
            seconds = (time.perf_counter() - began) / (len(some) * folds.n_splits)
            if kind == "test_scores":
                for c in some:
                    for split, (model, result) in enumerate(zip(fitted[c], found[c], strict=True)):
                        result["score_time"] = seconds
                        result["n_test_samples"] = len(chosen[split])
                        if search.keep:
                            result["estimator"] = model or search.unfitted(c)


def _responses(search: Any, fitted: list[list[Any]]) -> dict[str, int]:
    """Methods that the scorers call, and how many numbers a row these give."""
    model: Any = next((m for models in fitted for m in models if m is not None), None)
    found = {}
    for scorer in scorers_by_name(search.scorer).values():
        parts = parts_of_scorer(scorer)
        assert parts is not None  # see check_scorer
        for response in parts.responses:
            if hasattr(model, response):
                wide = response != "predict" and hasattr(model, "classes_")
                found[response] = len(model.classes_) if wide else 1
                break
    return found


def _affordable(fitted: list[list[Any]], n_rows: int, responses: dict[str, int]) -> list[range]:
    """Candidates, so many at a time that memory holds their answers."""
    each = max(8 * n_rows * sum(responses.values()), 1)
    at_once = max(MOST_BYTES // each, 1)
    return [range(c, min(c + at_once, len(fitted))) for c in range(0, len(fitted), at_once)]


def _score(search: Any, model: Any, answers: dict[Any, Any], c: int, split: int) -> Any:
    """Call the scorer with a model that knows its answers by heart."""
    if model is None:
        return _failed(search)
    y, weight = answers["y", split], answers["weight", split]
    by_heart = copy.copy(model)
    for response in RESPONSES:
        if (response, c, split) in answers:
            setattr(by_heart, response, _recited(response, answers[response, c, split]))
    own = accuracy_score if is_classifier(model) else r2_score
    by_heart.score = lambda X, y, sample_weight=None: own(
        y, by_heart.predict(X), sample_weight=sample_weight
    )
    options = {} if weight is None else {"sample_weight": weight}
    return score_rows(
        by_heart, np.empty((len(y), 0)), y, search.scorer, options, search.error_score
    )


def _recited(name: str, answer: Any) -> Any:
    """A method of this name that always gives the same answer."""

    def method(X: Any) -> Any:
        return answer

    method.__name__ = name  # scikit-learn looks at it
    return method


def _answers(
    source: Source,
    chosen: list[NDArray[np.intp]],
    fitted: list[list[Any]],
    responses: Iterable[str],
) -> dict[Any, Any]:
    """What each model answers for the rows of its split, and what is true of these.

    Returns
    -------
    ("y", split), ("weight", split) and (method, candidate, split) to arrays, in the order of the
    split's rows.
    """

    def answer(block: Block) -> dict[tuple[Any, ...], Any]:
        found: dict[tuple[Any, ...], Any] = {}
        for split, rows in enumerate(chosen):
            low, high = np.searchsorted(rows, [block.start, block.start + block.n_rows])
            if low == high:
                continue
            some = rows_of(block, rows[low:high] - block.start, block.start)
            found["y", split] = some.y
            found["weight", split] = some.weight
            one = OneBlock(some, source)
            for c, models in enumerate(fitted):
                for response in responses if models[split] is not None else ():
                    found[response, c, split] = getattr(models[split], response)(one)
        return found

    kept: dict[tuple[Any, ...], list[Any]] = {}
    work = in_order(source, lambda run: [answer(piece.load()) for piece in run])
    with closing(work) as runs:
        for found in (found for run in runs for found in run):
            for key, values in found.items():
                kept.setdefault(key, []).append(values)
    return {key: None if parts[0] is None else np.concatenate(parts) for key, parts in kept.items()}


class OneBlock(Source):
    """A block as a source by itself, with the names of the one it comes from."""

    def __init__(self, block: Block, base: Source) -> None:
        self.block = block
        self.n_rows, self.n_columns = block.n_rows, base.n_columns
        self.feature_names, self.target_names = base.feature_names, base.target_names
        self.sparse, self.kinds = base.sparse, base.kinds

    def pieces(self) -> Iterator[Any]:
        yield _Loaded(self.block)


class _Loaded:
    """The piece of a block that is already there."""

    __slots__ = ("block", "start", "n_rows")

    def __init__(self, block: Block) -> None:
        self.block = Block(block.X, None, None, 0)
        self.start, self.n_rows = 0, block.n_rows

    def load(self) -> Block:
        return self.block
