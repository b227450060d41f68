"""Labels as the losses of classes take them: numbers of classes, and weights that these have."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.fitting.class_weights import class_factors
from suffice.fitting.classification import labels_of
from suffice.linear.solvers.losses import Logistic, Softmax
from suffice.linear.solvers.objective import Target
from suffice.linear.solvers.sample import FirstLook
from suffice.numerics.double_double import Array
from suffice.sources import Block


def class_codes(block: Block, classes: NDArray[Any]) -> NDArray[np.int64]:
    """The number of each row's class."""
    return encode(labels_of(block), classes)


def class_target(block: Block, classes: NDArray[Any], factors: Array | None) -> Target:
    """A block's labels by their numbers, and its weights times the factors of the classes."""
    codes, weight = class_codes(block, classes), block.weight
    if factors is not None:
        weight = factors[codes] if weight is None else factors[codes] * weight
    return Target(codes.astype(np.float64), weight)


def encode(y: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int64]:
    """The place of each label among the sorted classes."""
    if classes.dtype == object:
        place = {label: code for code, label in enumerate(classes.tolist())}
        return np.fromiter(map(place.__getitem__, y.tolist()), np.int64, len(y))
    if len(classes) == 2:
        return (y == classes[1]).astype(np.int64)
    return np.searchsorted(classes, y).astype(np.int64)


def class_weights(class_weight: Any, first_look: FirstLook) -> Array:
    """The factor of each class."""
    labels = first_look.labels
    factors = class_factors(class_weight, labels, np.asarray(first_look.label_weights))
    if factors is None:
        return np.ones(len(labels))
    if not (factors > 0).sum() > 1:
        raise ValueError(
            "class_weight must be finite and not negative, and positive for at least two classes, "
            f"got {class_weight!r}"
        )
    return factors


def log_odds(loss: Logistic | Softmax, weights: Array) -> Array:
    """The intercepts of a model that has nothing else, from the weight of each class."""
    logs = np.log(np.maximum(weights, 1e-300))
    if isinstance(loss, Logistic):
        return logs[1:] - logs[0]
    if loss.reference is None:
        return np.asarray(logs - logs.mean())
    return np.delete(logs - logs[loss.reference], loss.reference)
