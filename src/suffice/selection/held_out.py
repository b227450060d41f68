"""What is searched and how: fits, and their scores on the rows that their split held out."""

from __future__ import annotations

import copy
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from inspect import signature
from traceback import format_exception
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.metrics import accuracy_score, r2_score

from suffice.engines.passes import in_order
from suffice.selection.candidates import NeedsMoreDigits
from suffice.selection.folds import Folds
from suffice.selection.sklearn_parts import (
    is_multimetric,
    parts_of_scorer,
    rows_at,
    score_rows,
    scorers_by_name,
)
from suffice.sources import Block, Source
from suffice.sources.derived.subset import rows_of

Results = list[list[dict[str, Any]]]
"""For each candidate and split, what scikit-learn's `_fit_and_score` would return."""

RESPONSES = ("predict", "predict_proba", "predict_log_proba", "decision_function")

MOST_BYTES = 1 << 28
"""What the answers of one pass may take; beyond, there are more passes."""


@dataclass
class Search:
    """Candidates, rows and folds: what every way of searching is given.

    Attributes
    ----------
    candidates : sequence of estimators, or of `Candidate`
    source : Source
        The rows, with the weights of the fit.
    folds : Folds
    scorer : callable
        scikit-learn's scorer, of one metric or several.
    X, y : as the user passed them
    error_score : float or "raise"
    train_scores : bool
        Whether the training rows are scored as well.
    keep : bool
        Whether the fitted estimators are kept with the results.
    score_weight : array of shape (rows,), optional
        Weights of the rows in scores, the same as in the fit.
    passes : int
        How often the rows were read.
    """

    candidates: Sequence[Any]
    source: Source
    folds: Folds
    scorer: Any
    X: Any
    y: Any
    error_score: Any = np.nan
    train_scores: bool = False
    keep: bool = False
    score_weight: Any = None
    passes: int = 0

    @abstractmethod
    def run(self) -> list[dict[str, Any]]:
        """One result a candidate and split, in the form of scikit-learn's `_fit_and_score`."""

    @abstractmethod
    def best(self, candidate: Any) -> Any:
        """A candidate fitted to all rows."""

    def unfitted(self, number: int) -> Any:
        """What stands for a candidate whose fit failed."""
        return clone(self.candidates[number])

    def _fitted_one_by_one(
        self, fit: Callable[[Any, int], Any], seconds: float = 0.0
    ) -> list[dict[str, Any]]:
        """The results of a fit for each candidate and split; `seconds` were spent on each before.

        A fit that fails has its exception as a result, unless errors are to be raised.
        """
        fitted: list[list[Any]] = [[] for _ in self.candidates]
        found: Results = [[] for _ in self.candidates]
        for c, candidate in enumerate(self.candidates):
            for split in range(self.folds.n_splits):
                began, model, failed = time.perf_counter(), None, None
                try:
                    model = fit(candidate, split)
                except NeedsMoreDigits:
                    raise
                except Exception as error:
                    if self.error_score == "raise":
                        raise
                    failed = told(error)
                spent = seconds + time.perf_counter() - began
                fitted[c].append(model)
                found[c].append({"fit_error": failed, "fit_time": spent})
        return self._scored(fitted, found)

    def _scored(self, fitted: list[list[Any]], found: Results) -> list[dict[str, Any]]:
        """The results with their scores; candidate after candidate, each with all splits."""
        splits = range(self.folds.n_splits)
        sets = {"test_scores": [self.folds.test(split) for split in splits]}
        if self.train_scores:
            sets["train_scores"] = [self.folds.train(split) for split in splits]
        if isinstance(self.X, Source):
            for kind, chosen in sets.items():
                _score_source(self, fitted, found, kind, chosen)
        else:
            self.passes += 1
            for split in splits:
                for kind, chosen in sets.items():
                    _score_in_memory(self, fitted, found, kind, split, chosen[split])
        for c, (models, results) in enumerate(zip(fitted, found, strict=True)):
            for split, (model, result) in enumerate(zip(models, results, strict=True)):
                result["n_test_samples"] = len(sets["test_scores"][split])
                if self.keep:
                    result["estimator"] = self.unfitted(c) if model is None else model
        return [result for results in found for result in results]


def told(error: BaseException | None) -> str | None:
    """An exception as scikit-learn keeps it."""
    return None if error is None else "".join(format_exception(error))


def _score_in_memory(
    search: Search, fitted: list[list[Any]], found: Results, kind: str, split: int, rows: Any
) -> None:
    """Score on arrays and frames: a split's rows are taken out once, for all candidates."""
    X = rows_at(search.X, rows)
    y = None if search.y is None else rows_at(search.y, rows)
    options = {}
    if search.score_weight is not None:
        options["sample_weight"] = rows_at(search.score_weight, rows)
    for models, results in zip(fitted, found, strict=True):
        began, model, result = time.perf_counter(), models[split], results[split]
        result[kind] = (
            _failed(search)
            if model is None
            else score_rows(model, X, y, search.scorer, options, search.error_score)
        )
        result.setdefault("score_time", time.perf_counter() - began)  # of the tested rows


def _failed(search: Search) -> Any:
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


def _score_source(
    search: Search,
    fitted: list[list[Any]],
    found: Results,
    kind: str,
    chosen: list[NDArray[np.intp]],
) -> None:
    """Score on a source: a pass predicts the rows by as many candidates as memory holds."""
    responses = _responses(search, fitted)
    for some in _affordable(fitted, sum(map(len, chosen)), responses):
        began = time.perf_counter()
        answers = _answers(search.source, chosen, [fitted[c] for c in some], responses)
        search.passes += 1
        for place, c in enumerate(some):
            for split, result in enumerate(found[c]):
                result[kind] = _score(search, fitted[c][split], answers, place, split)
        seconds = (time.perf_counter() - began) / (len(some) * search.folds.n_splits)
        for result in (result for c in some for result in found[c]):
            result.setdefault("score_time", seconds)  # of the tested rows


def _responses(search: Search, fitted: list[list[Any]]) -> dict[str, int]:
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


def _score(search: Search, model: Any, answers: dict[Any, Any], c: int, split: int) -> Any:
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
            one = BlockAtHand(some, source)
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


class BlockAtHand(Source):
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
