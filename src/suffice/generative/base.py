"""What all generative classifiers share: predictions, and checks of their labels and arrays.

    log p(y = k | x) = log p(x, y = k) − log Σⱼ p(x, y = j)

A model provides log p(x, y = k) (`_joint`).  A term that is the same for all classes changes no
prediction, and may be left out.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.fitting.classification import Classifier
from suffice.fitting.one_pass import OnePass
from suffice.numerics.double_double import Array
from suffice.numerics.log_posterior import log_posterior


class GenerativeClassifier(Classifier, OnePass):
    """Base of the models of p(x, y)."""

    @abstractmethod
    def _joint(self, rows: Any) -> Array:
        """log p(x, y = k), up to a term that is the same for all classes: (rows, classes)."""

    def _predicted(self, rows: Any) -> NDArray[Any]:
        return self.classes_[np.argmax(self._joint(rows), axis=1)]

    def _log_probabilities(self, rows: Any) -> Array:
        return log_posterior(self._joint(rows))

    def _check_arrays(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Raise ValueError unless attributes of a loaded model are float64 of these shapes."""
        for name, shape in shapes.items():
            value = vars(self).get(name)
            if not isinstance(value, np.ndarray) or value.shape != shape or value.dtype != float:
                raise ValueError(
                    f"its {name} does not fit {len(self.classes_)} classes of "
                    f"{self.n_features_in_} columns"
                )


def refuse_undeclared(labels: NDArray[Any], declared: NDArray[Any]) -> None:
    """Raise ValueError if there are labels other than those that `partial_fit` was told of."""
    strange = sorted(set(labels.tolist()) - set(declared.tolist()))
    if strange:
        raise ValueError(
            f"The target label(s) {strange} in y do not exist in the initial classes "
            f"{declared.tolist()}"
        )
