"""Cross-validation by a fit for each split, of rows that come from a source."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from suffice.selection.held_out import Search
from suffice.sources import Source
from suffice.sources.base import Piece
from suffice.sources.derived.subset import SubsetSource


class KFits(Search):
    """Estimators fitted to the training rows of each split, a pass or more each."""

    def run(self) -> list[dict[str, Any]]:
        source = self._watched()
        return self._fitted_one_by_one(
            lambda candidate, split: clone(candidate).fit(SubsetSource(source, self._mask(split)))
        )

    def best(self, candidate: Any) -> Any:
        return clone(candidate).fit(self._watched())

    def _watched(self) -> Source:
        """The source, its readings counted: an estimator may read its rows any number of times."""
        watched: Any = copy.copy(self.source)

        def pieces() -> Iterator[Piece]:
            self.passes += 1
            return self.source.pieces()

        watched.pieces = pieces
        return watched

    def _mask(self, split: int) -> NDArray[np.bool_]:
        mask = np.zeros(self.source.count_rows(), dtype=bool)
        mask[self.folds.train(split)] = True
        return mask
