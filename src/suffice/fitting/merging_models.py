"""One model from several that learned from different rows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from suffice.fitting.files.registry import saved_private
from suffice.fitting.inputs import shown

WITHOUT_EFFECT = frozenset({"copy", "copy_X", "n_jobs", "random_state", "verbose"})
"""Parameters that may differ between models that are merged: they change no result."""


NAMES = {"feature_names_in_": "columns", "target_names_in_": "targets"}
"""What models may know by name: it must be the same wherever it is known."""


def merge(*models: Any) -> Any:
    """One model from several that learned from different rows, as if from all of them.

    Parameters
    ----------
    *models : fitted models
        Of one kind, with the same parameters and columns.  Classes may differ: the result
        knows all of them.

    Returns
    -------
    A new model.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import suffice
    >>> X, y = load_diabetes(return_X_y=True)
    >>> parts = [suffice.Ridge().fit(X[i::3], y[i::3]) for i in range(3)]
    >>> bool(abs(suffice.merge(*parts).coef_ - suffice.Ridge().fit(X, y).coef_).max() < 1e-10)
    True
    """
    if not models:
        raise ValueError("there are no models to merge: pass at least one")
    for model in models:
        if not hasattr(model, "_resolve"):
            raise TypeError(
                f"cannot merge {type(model).__name__}: it is no model that keeps its statistic"
            )
        check_is_fitted(model)
    began = time.perf_counter()
    first: Any = models[0]
    for model in models[1:]:
        _check_alike(first, model)
    merged: Any = clone(first)
    for attribute, what in NAMES.items():
        if (names := _common_names(models, attribute, what)) is not None:
            setattr(merged, attribute, names)
    for name in ("n_features_in_", *saved_private(type(first))):  # type: ignore[arg-type]
        if name in vars(first):
            setattr(merged, name, vars(first)[name])
    merged._join(models)
    statistics = [model._kept() for model in models]
    merged._resolve("merge", type(statistics[0]).merge(statistics), began)
    merged._warn_unless_proved()
    return merged


def _check_alike(first: Any, other: Any) -> None:
    """Raise unless two models can be one."""
    if type(first) is not type(other):
        raise ValueError(
            f"cannot merge {type(first).__name__} and {type(other).__name__}: "
            "only models of one kind merge"
        )
    ours, theirs = first.get_params(deep=False), other.get_params(deep=False)
    for name in sorted(set(ours) - WITHOUT_EFFECT):
        if not same_value(ours[name], theirs[name]):
            refits = name in first._refit_parameters
            raise ValueError(
                f"cannot merge models with {name}={ours[name]!r} and {name}={theirs[name]!r}: "
                + ("refit one of them with the other's first" if refits else "fit both with one")
            )
    if first.n_features_in_ != other.n_features_in_:
        raise ValueError(
            f"cannot merge models of {first.n_features_in_} and {other.n_features_in_} columns"
        )


def _common_names(models: Sequence[Any], attribute: str, what: str) -> Any:
    """The names that models know, if all of those who know them agree; None if nobody does."""
    known = [names for model in models if (names := vars(model).get(attribute)) is not None]
    for other in known[1:]:
        if list(other) != list(known[0]):
            raise ValueError(
                f"cannot merge models of different {what}: {shown(known[0])} and {shown(other)}"
            )
    return known[0] if known else None


def same_value(a: Any, b: Any) -> bool:
    """Whether two parameters are equal, also where they are arrays or lists of arrays."""
    if a is b:
        return True
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        # Entry by entry: the lists in a list may differ in length.
        return len(a) == len(b) and all(map(same_value, a, b))
    a, b = np.asarray(a), np.asarray(b)
    try:
        return bool(np.array_equal(a, b, equal_nan=a.dtype.kind == b.dtype.kind == "f"))
    except (TypeError, ValueError):
        return False
