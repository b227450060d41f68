"""Rows without a label: which these are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from suffice.fitting.categories import is_missing
from suffice.sources.memory.target import plain_array

NO_LABELS = "every row is unlabelled: at least one row with a label is needed, of each class"


def are_unlabelled(labels: NDArray[Any], marker: Any) -> NDArray[np.bool_]:
    """Where labels are the marker; NaN marks what is missing, None as well."""
    none, kind = np.zeros(len(labels), np.bool_), labels.dtype.kind
    if marker is None:
        return none
    if np.ndim(marker):
        raise ValueError(f"unlabelled={marker!r} is not supported: give one label")
    missing = _is_missing(marker)
    if kind == "O":
        marks = (_is_missing(v) if missing else _same_label(v, marker) for v in labels)
        return np.fromiter(marks, bool, len(labels))
    if missing:
        return np.isnan(labels) if kind == "f" else none
    if (kind == "b") != _is_boolean(marker):
        return none
    return np.broadcast_to(np.asarray(labels == marker, dtype=np.bool_), labels.shape[:1])


def with_filled(y: Any, marker: Any) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """Labels in which another stands for the marker, so that they can be checked; and those given.

    None where no row is unlabelled.
    """
    if y is None or marker is None:
        return None
    labels = plain_array(y)[0]
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = column_or_1d(labels, warn=True)
    if labels.ndim != 1 or not (marked := are_unlabelled(labels, marker)).any():
        return None
    if marked.all():
        raise ValueError(NO_LABELS)
    filled = labels.copy()
    filled[marked] = labels[~marked][0]
    return filled, labels


def _is_missing(label: object) -> bool:
    """Whether it stands for no label: None, or NaN of whatever precision."""
    return is_missing(label) or (isinstance(label, np.floating) and bool(label != label))


def _is_boolean(label: object) -> bool:
    return isinstance(label, bool | np.bool_)


def _same_label(label: object, marker: object) -> bool:
    # To Python True is 1, but booleans and numbers are labels of different kinds.
    same_kind = _is_boolean(label) == _is_boolean(marker)
    return same_kind and not _is_missing(label) and bool(label == marker)
