"""Labels of classes: of one kind each, as sorted distinct labels and a code for every row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

KINDS = {"b": "booleans", "i": "integers", "f": "floats", "O": "text"}
"""What the labels of each kind of array are called in messages."""

MISSING = "a missing label"

MOST_EXACT = 2.0**53
"""Floats below are exact as integers."""


def coded(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The distinct labels in order, and the place of each row's label among them.

    Parameters
    ----------
    y : array of shape (rows,)
        At least one label: booleans, integers, floats, or strings in an array of any dtype.

    Returns
    -------
    labels : array of shape (classes,)
        Sorted: bool, int64, float64, or object for text.
    codes : int64 array of shape (rows,)

    Raises
    ------
    FloatingPointError
        If a label is missing: NaN or None.
    ValueError
        If the labels are of several kinds, or of none of these.

    Examples
    --------
    >>> import numpy as np
    >>> coded(np.array(["spam", "ham", "spam"]))
    (array(['ham', 'spam'], dtype=object), array([1, 0, 1]))
    """
    if y.dtype.kind == "O":
        y = _of_one_kind(y)
    kind = y.dtype.kind
    if kind in "OUT":
        return _coded_text(y.tolist())
    if kind == "b":
        labels, codes = _coded_integers(y.astype(np.int64))
        return labels.astype(np.bool_), codes
    if kind == "i" or (kind == "u" and y.max() < 1 << 63):
        return _coded_integers(y.astype(np.int64))
    if kind != "f":
        raise ValueError(
            f"labels of dtype {y.dtype}; accepted are booleans, integers, floats and text"
        )
    y = y.astype(np.float64)
    if np.isnan(y).any():
        raise FloatingPointError(MISSING)
    if np.abs(y).max() < MOST_EXACT and (np.trunc(y) == y).all():
        labels, codes = _coded_integers(y.astype(np.int64))
        return labels.astype(np.float64), codes
    labels, codes = np.unique(y + 0.0, return_inverse=True)
    return labels, codes.astype(np.int64)


def codes_among(y: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.int64]:
    """The place of each row's label among known ones; `KeyError` names one that is not there.

    Parameters
    ----------
    y : array of shape (rows,)
        As `coded` takes them.
    labels : array of shape (classes,)

    Examples
    --------
    >>> import numpy as np
    >>> codes_among(np.array([7, 3, 7]), np.array([3, 5, 7]))
    array([2, 0, 2])
    """
    if not len(y):
        return np.zeros(0, dtype=np.int64)
    place = {label: code for code, label in enumerate(labels.tolist())}
    found, codes = coded(y)
    return np.array([place[label] for label in found.tolist()], dtype=np.int64)[codes]


def check_known(labels: NDArray[Any], known: NDArray[Any]) -> None:
    """Raise ValueError unless rows of these labels can be taken away from rows of the known ones.

    Parameters
    ----------
    labels, known : arrays of shape (classes,)
        Sorted and distinct.
    """
    strange = ~np.isin(labels, known)
    if labels.dtype.kind != known.dtype.kind or strange.any():
        name = labels.tolist()[int(np.argmax(strange))]
        raise ValueError(f"cannot take rows of class {name!r} away: there are none")


def united(labels: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The sorted distinct labels of several sorted arrays; all must be of one kind."""
    first = labels[0]
    kinds = {one.dtype.kind for one in labels}
    if len(kinds) > 1:
        names = " and ".join(sorted(KINDS[kind] for kind in kinds))
        raise ValueError(f"labels must be of one kind, but these are {names}")
    if all(len(one) == len(first) and (one == first).all() for one in labels):
        return first.copy()
    if first.dtype.kind == "O":
        return as_objects(sorted({label for one in labels for label in one}))
    return np.unique(np.concatenate(labels))


def as_objects(values: Sequence[Any]) -> NDArray[Any]:
    """An object array of one dimension, whatever the values are."""
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def _coded_integers(y: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    low, high = int(y.min()), int(y.max())
    if high - low > 4 * len(y) + 1024:
        labels, codes = np.unique(y, return_inverse=True)
        return labels, codes.astype(np.int64)
    y = y - low
    present = np.bincount(y, minlength=high - low + 1) > 0
    return np.flatnonzero(present) + low, (np.cumsum(present) - 1)[y]


def _coded_text(y: list[str]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    labels = sorted(set(y))
    place = {label: code for code, label in enumerate(labels)}
    codes = np.fromiter(map(place.__getitem__, y), np.int64, len(y))
    return as_objects([str(label) for label in labels]), codes


def _of_one_kind(y: NDArray[Any]) -> NDArray[Any]:
    """An array of objects as what they are: text stays, numbers become an array of theirs."""
    types = set(map(type, y))
    if all(issubclass(one, str) for one in types):
        return y
    if any(one is type(None) or one.__name__ == "NAType" for one in types) or any(
        isinstance(label, float | np.floating) and label != label for label in y
    ):
        raise FloatingPointError(MISSING)
    for kinds, dtype in (
        ((bool, np.bool_), np.bool_),
        ((int, np.integer), np.int64),
        ((float, np.floating), np.float64),
    ):
        # A bool is an int to Python, but no integer label.
        if all(issubclass(one, kinds) and (one is not bool or bool in kinds) for one in types):
            return y.astype(dtype)
    names = ", ".join(sorted(one.__name__ for one in types))
    raise ValueError(
        f"labels must be of one kind (booleans, integers, floats or text), but these are {names}"
    )
