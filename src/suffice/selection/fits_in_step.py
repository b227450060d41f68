"""Cross-validation of iterative models: all fits over the same readings of the rows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from sklearn.base import clone

from suffice.engines.workers import one_blas_thread
from suffice.fitting.estimator import Estimator
from suffice.fitting.shared_passes import SharedColumns, in_step, on_some_rows
from suffice.selection.candidates import is_as_we_wrote_it
from suffice.selection.k_fits import KFits


class SharedPasses(KFits):
    """Estimators fitted to the training rows of all splits at once."""

    def run(self) -> list[dict[str, Any]]:
        began, n_splits = time.perf_counter(), self.folds.n_splits
        masks = [self._mask(split) for split in range(n_splits)]
        source = self._watched()
        n_jobs = self.candidates[0]._n_jobs()
        # Held from the start: a fit may solve what it asks of its own rows when it is made.
        with one_blas_thread(), closing(SharedColumns(source, n_jobs)) as columns:
            fits = [
                [on_some_rows(clone(candidate), source, mask, columns) for mask in masks]
                for candidate in self.candidates
            ]
            every = [fit for row in fits for fit in row]
            in_step(every, source)
        seconds = (time.perf_counter() - began) / len(every)
        for fit in every:
            if fit.failure is not None and self.error_score == "raise":
                raise fit.failure
            if fit.failure is None:
                fit.model._warn_unless_proved()
        found = [[{"fit_error": fit.error, "fit_time": seconds} for fit in row] for row in fits]
        fitted = [[None if fit.failure else fit.model for fit in row] for row in fits]
        return self._scored(fitted, found)


def can_share(estimators: Sequence[Any]) -> bool:
    """Whether these are iterative models whose fits can share passes.

    Values of all pairs of rows are cut in columns too, which scikit-learn's loop does.
    """
    return all(
        isinstance(estimator, Estimator)
        and estimator._shares_passes
        and is_as_we_wrote_it(estimator)
        and not estimator.__sklearn_tags__().input_tags.pairwise
        for estimator in estimators
    )
