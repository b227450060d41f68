"""Cross-validation by a fit for each split, of rows that come from a source."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from traceback import format_exc
from typing import Any

import numpy as np
from sklearn.base import clone

from suffice.selection.folds import Folds
from suffice.selection.held_out import score_source
from suffice.sources import Source
from suffice.sources.base import Piece
from suffice.sources.derived.subset import SubsetSource


@dataclass
class KFits:
    """Estimators fitted to the training rows of each split, a pass or more each.

    Attributes are those of `OnePassSearch`; candidates are estimators.
    """

    candidates: Sequence[Any]
    source: Source
    folds: Folds
    scorer: Any
    error_score: Any = np.nan
    train_scores: bool = False
    keep: bool = False
    score_weight: Any = None
    passes: int = 0

    def run(self) -> list[dict[str, Any]]:
        """One result a candidate and split, in the form of scikit-learn's `_fit_and_score`."""
        found: list[list[dict[str, Any]]] = []
        source = self._watched()
        fitted: list[list[Any]] = []
        for candidate in self.candidates:
            fitted.append([])
            found.append([])
            for split in range(self.folds.n_splits):
                began, error, model = time.perf_counter(), None, clone(candidate)
                try:
                    model.fit(SubsetSource(source, self._mask(split)))
                except Exception:
                    if self.error_score == "raise":
                        raise
                    error, model = format_exc(), None
                fitted[-1].append(model)
                seconds = time.perf_counter() - began
                found[-1].append({"fit_error": error, "fit_time": seconds})
        score_source(self, fitted, found)
        return [result for results in found for result in results]

    def best(self, candidate: Any) -> Any:
        """A candidate fitted to all rows."""
        return clone(candidate).fit(self._watched())

    def unfitted(self, number: int) -> Any:
        """What stands for a candidate whose fit failed."""
        return clone(self.candidates[number])

    def _watched(self) -> Source:
        """The source, its readings counted: an estimator may read its rows any number of times."""
        watched: Any = copy.copy(self.source)

        def pieces() -> Iterator[Piece]:
            self.passes += 1
            return self.source.pieces()

        watched.pieces = pieces
        return watched

    def _mask(self, split: int) -> Any:
        mask = np.zeros(self.source.count_rows(), dtype=bool)
        mask[self.folds.train(split)] = True
        return mask
