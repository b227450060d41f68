"""Classifiers of which some rows have no label: which rows these are, and what follows for a model.

They are learned from by EM (`suffice.fitting.em`), which goes over all
rows again and again: a model fitted that way keeps the statistic of guessed labels, which cannot
be updated, merged or refitted.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import column_or_1d

from suffice.fitting.categories import is_missing
from suffice.fitting.em import EM_STEP, NO_LABELS, Climb
from suffice.fitting.requests import Passes
from suffice.generative.base import GenerativeClassifier
from suffice.sources import Block, Source
from suffice.sources.memory.target import plain_array
from suffice.statistics.moments.full import Precision

EM_CONSTRAINTS: dict[str, Any] = {
    "unlabelled": "no_validation",
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left")],
}
"""Parameters that the models share."""


class SemiSupervised(GenerativeClassifier):
    """A classifier that learns from unlabelled rows too, where `unlabelled` marks them.

    Attributes
    ----------
    n_iter_ : int
        Steps of EM; 1 where every row is labelled.
    """

    unlabelled: Any = None
    max_iter: int = 100
    tol: float = 1e-6

    _maximises_likelihood: ClassVar[bool] = True
    """Whether a fit is the maximum of a likelihood, and so EM climbs."""

    def _log_prior_density(self) -> float:
        """log p(θ) of what is learned about the columns, up to a constant: of its pseudo-counts."""
        return 0.0

    def _noise_of_cells(self, rows: Any) -> Any:
        """What is added to log p(x | y = k) so that a fit is the maximum of the likelihood."""
        return 0.0

    # --- which rows are labelled ------------------------------------------------------------

    def _is_unlabelled(self, y: NDArray[Any]) -> NDArray[np.bool_]:
        """Where the labels are the marker; NaN marks what is missing, None as well."""
        marker = self.unlabelled
        if marker is None:
            return np.zeros(len(y), np.bool_)
        if _is_missing(marker):
            if y.dtype.kind == "O":
                return np.fromiter(map(_is_missing, y), bool, len(y))
            return np.isnan(y) if y.dtype.kind == "f" else np.zeros(len(y), np.bool_)
        if np.ndim(marker):
            raise ValueError(f"unlabelled={marker!r} is not supported: give one label")
        if y.dtype.kind == "O":
            return np.fromiter((_same_label(v, marker) for v in y), bool, len(y))
        if (y.dtype.kind == "b") != _is_boolean(marker):
            return np.zeros(len(y), np.bool_)
        return np.broadcast_to(np.asarray(y == marker, dtype=np.bool_), y.shape[:1])

    def _training_source(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> Source:
        if y is None or self.unlabelled is None or isinstance(X, Source):
            return super()._training_source(X, y, sample_weight, reset)
        labels = plain_array(y)[0]
        if labels.ndim == 2 and labels.shape[1] == 1:
            labels = column_or_1d(labels, warn=True)
        if labels.ndim != 1 or not (marked := self._is_unlabelled(labels)).any():
            return super()._training_source(X, y, sample_weight, reset)
        if marked.all():
            raise ValueError(NO_LABELS)
        filled = labels.copy()
        filled[marked] = labels[~marked][0]
        source: Any = super()._training_source(X, filled, sample_weight, reset)
        source.y = labels
        return source

    def _labels(self, block: Block) -> NDArray[Any]:
        labels = super()._labels(block)
        if self._is_unlabelled(labels).any():
            raise ValueError(
                "unlabelled rows can be learned from in a fit alone: it has to go over all rows "
                "again and again"
            )
        return labels

    # --- what a statistic of guessed labels cannot do -----------------------------------------

    def _joins_folds(self, source: Source) -> bool:
        return self.unlabelled is None

    def _kept(self) -> Any:
        if EM_STEP in self.trace_.step:
            raise ValueError(
                f"{type(self).__name__} was fitted to unlabelled rows too, whose classes it "
                "guessed from all rows: it cannot be updated, merged or refitted, nor forget; fit "
                "it again"
            )
        return super()._kept()

    # --- fitting ----------------------------------------------------------------------------

    def _passes(self, source: Source) -> Passes:
        self.n_iter_ = 1
        if self.unlabelled is None:
            return (yield from super()._passes(source))
        self.__dict__.pop("statistics_", None)
        precisions: tuple[Precision, ...] = ("float64", "double-double")
        for precision in precisions[self._always_exact(source) :]:
            found = yield from Climb(self, precision).run()
            if found is not None:
                return found
        raise RuntimeError(f"{type(self).__name__} was not solved, not even in double-double")


def _is_missing(label: object) -> bool:
    """Whether it stands for no label: None, or NaN of whatever precision."""
    return is_missing(label) or (isinstance(label, np.floating) and bool(label != label))


def _is_boolean(label: object) -> bool:
    return isinstance(label, bool | np.bool_)


def _same_label(label: object, marker: object) -> bool:
    # To Python True is 1, but booleans and numbers are labels of different kinds.
    same_kind = _is_boolean(label) == _is_boolean(marker)
    return same_kind and not _is_missing(label) and bool(label == marker)
