"""What all generative classifiers share: predictions, and checks of their labels and arrays.

    log p(y = k | x) = log p(x, y = k) − log Σⱼ p(x, y = j)

A model provides log p(x, y = k) (`_joint`).  A term that is the same for all classes changes no
prediction, and may be left out.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.fitting.classification import Classifier
from suffice.fitting.one_pass import OnePass
from suffice.numerics.double_double import Array
from suffice.numerics.log_posterior import log_posterior
from suffice.sources import Block, Source


class GenerativeClassifier(Classifier, OnePass):
    """Base of the models of p(x, y)."""

    @abstractmethod
    def _joint(self, rows: Any) -> Array:
        """log p(x, y = k), up to a term that is the same for all classes: (rows, classes)."""

    def _predicted(self, rows: Any) -> NDArray[Any]:
        return self.classes_[np.argmax(self._joint(rows), axis=1)]

    def _log_probabilities(self, rows: Any) -> Array:
        return log_posterior(self._joint(rows))

    def _leave_one_out(self, block: Block) -> Array:
        """log p(x, y = k) of each row under the model fitted without that row."""
        raise NotImplementedError

    def _leaves_one_out(self, source: Source) -> bool:
        return leaves_one_out(self, source)

    def _leave_one_out_of_block(self) -> Callable[[Block], NDArray[Any]]:
        return leave_one_out_of_block(self)


def leaves_one_out(model: Any, source: Source) -> bool:
    """Whether a fit without a row differs from that with it by the row alone."""
    # Priors of classes that a row takes with it are an error of that fit.
    given = (getattr(model, name, None) for name in ("priors", "class_prior"))
    return all(prior is None for prior in given) and model._joins_folds(source)


def leave_one_out_of_block(model: Any) -> Callable[[Block], NDArray[Any]]:
    """From a block to its labels, and what the model without each row predicts for it."""

    def answer(block: Block) -> NDArray[Any]:
        best = model._leave_one_out(block).argmax(axis=1)
        return np.stack([np.asarray(block.y), model.classes_[best]], axis=1)

    return answer


def refuse_undeclared(labels: NDArray[Any], declared: NDArray[Any]) -> None:
    """Raise ValueError if there are labels other than those that `partial_fit` was told of."""
    strange = sorted(set(labels.tolist()) - set(declared.tolist()))
    if strange:
        raise ValueError(
            f"The target label(s) {strange} in y do not exist in the initial classes "
            f"{declared.tolist()}"
        )
