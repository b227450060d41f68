"""What of scikit-learn files may hold: what is made of models, and what chooses columns or rows.

A file calls these classes ``sklearn.Pipeline`` and so on; the tables here say where they are, and
nothing is imported that they do not name.  The classes know nothing of files, so it also is said
here which of their private attributes are stored, what is put otherwise, and what must hold of
them when they are loaded.  Subclasses in this library, such as our `ColumnTransformer`, are
treated like them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from numbers import Integral
from typing import Any

import numpy as np

PREFIX = "sklearn."

MODELS = {
    "Pipeline": "sklearn.pipeline",
    "FeatureUnion": "sklearn.pipeline",
    "ColumnTransformer": "sklearn.compose",
    "FunctionTransformer": "sklearn.preprocessing",  # what "passthrough" becomes in a fit
    "GridSearchCV": "sklearn.model_selection",
    "RandomizedSearchCV": "sklearn.model_selection",
}
"""Classes with parameters and fitted attributes."""

VALUES = {"make_column_selector": "sklearn.compose"} | dict.fromkeys(
    (
        "GroupKFold", "GroupShuffleSplit", "KFold", "LeaveOneGroupOut", "LeaveOneOut",
        "LeavePGroupsOut", "LeavePOut", "PredefinedSplit", "RepeatedKFold",
        "RepeatedStratifiedKFold", "ShuffleSplit", "StratifiedGroupKFold", "StratifiedKFold",
        "StratifiedShuffleSplit", "TimeSeriesSplit",
    ),
    "sklearn.model_selection",
)  # fmt: skip
"""Classes whose instances are what their constructors were told."""

PRIVATE: dict[str, tuple[str, ...]] = {
    "ColumnTransformer": ("_transformer_to_input_indices",),
    "_SetOutputMixin": ("_sklearn_output_config",),
}
"""Private attributes that are stored, by the class of scikit-learn that sets them."""

DERIVED: dict[str, tuple[str, ...]] = {"BaseSearchCV": ("scorer_",)}
"""Attributes that are not stored: `restore` makes them from the parameters."""


OURS = {
    "BayesianRidge": "BayesianLinearRegression",
    "CountVectorizer": "BagOfWords",
    "OneVsRestClassifier": "OneVsRest",
} | dict.fromkeys(
    ("GammaRegressor", "PoissonRegressor", "TweedieRegressor"), "GeneralizedLinearModel"
)
"""Models of this library that do what others do under another name."""


def is_scikit_learns(cls: type) -> bool:
    """Whether a class is defined there."""
    return cls.__module__.startswith(PREFIX)


def find(name: str, table: dict[str, str]) -> Any:
    """The class that files call by this name; None if the table has none."""
    own = name.removeprefix(PREFIX)
    if own == name or own not in table:
        return None
    return getattr(importlib.import_module(table[own]), own)


def listed(cls: type, table: dict[str, tuple[str, ...]]) -> frozenset[str]:
    """The names in a table for those bases of a class that are scikit-learn's."""
    bases = [base for base in cls.__mro__ if is_scikit_learns(base)]
    return frozenset(name for base in bases for name in table.get(base.__name__, ()))


# --- saving -----------------------------------------------------------------------------------


def arguments(record: Any, names: Iterable[str]) -> dict[str, Any]:
    """What the constructor of a record was told."""
    # A repeated splitter keeps the arguments of the one that it repeats.
    rest = getattr(record, "cvargs", {})
    return {name: rest[name] if name in rest else getattr(record, name) for name in names}


def as_stored(model: Any, name: str, value: Any) -> Any:
    """A parameter or attribute of a model as files hold it.

    Raises
    ------
    TypeError
        If no file should hold it.
    """
    if name in ("transformers", "transformers_") and _is(model, "ColumnTransformer"):
        return [(*part[:2], *map(_plain_columns, part[2:])) for part in value]
    if name == "scoring" and callable(value):
        raise TypeError(
            "a file holds no code; name the metric, as scoring='r2' does, or save best_estimator_"
        )
    return value


def _plain_columns(columns: Any) -> Any:
    """Columns as they were chosen; those in an Index or a Series as a list."""
    index = hasattr(columns, "__iter__") and not isinstance(
        columns, str | list | tuple | np.ndarray | np.generic
    )
    return list(columns) if index else columns


# --- loading ----------------------------------------------------------------------------------


def restore(model: Any) -> None:
    """Set the attributes that follow from others."""
    if _is(model, "BaseSearchCV") and "cv_results_" in vars(model):
        scorer = model._get_scorers()[0]
        model.scorer_ = getattr(scorer, "_scorers", scorer)


def check(model: Any) -> None:
    """Raise ValueError unless this could be a model of its class."""
    if "n_features_in_" in vars(model) and hasattr(model, "_validate_params"):
        model._validate_params()
    for name, problem in CHECKS.items():
        if _is(model, name) and (found := problem(vars(model))):
            raise ValueError(found)


def _is(model: Any, name: str) -> bool:
    """Whether a class of scikit-learn is among those of a model."""
    return any(c.__name__ == name and is_scikit_learns(c) for c in type(model).__mro__)


def _pipeline_problem(parts: dict[str, Any]) -> str:
    if parts["memory"] is not None:  # its pickles would run in the next fit
        return (
            "its memory is a folder of pickles on one machine; set_params(memory=None) leaves "
            "it out and changes no prediction"
        )
    if not parts["steps"]:
        return "it has no steps"
    return _parts_problem(parts["steps"], 2, ("passthrough", None))


def _union_problem(parts: dict[str, Any]) -> str:
    return _parts_problem(parts["transformer_list"], 2, ("passthrough", "drop"))


def _columns_problem(parts: dict[str, Any]) -> str:
    words = ("passthrough", "drop")
    if problem := _parts_problem(parts["transformers"], 3, words):
        return problem
    if not _is_part(parts["remainder"], words):
        return "its remainder is neither a model nor a word for one"
    if "transformers_" not in parts:
        return ""
    fitted, width = parts["transformers_"], parts.get("n_features_in_")
    if problem := _parts_problem(fitted, 3, words):
        return problem
    if not isinstance(width, Integral) or type(parts.get("sparse_output_")) is not bool:
        return "its number of columns or its kind of output is missing"
    taken, names = parts.get("_transformer_to_input_indices"), parts.get("feature_names_in_", ())
    for name, model, columns in fitted:
        chosen = positions(columns, list(names), int(width))
        stored = taken.get(name) if type(taken) is dict else None
        if chosen is None or stored != chosen or bool in map(type, stored):  # True equals 1
            return f"the columns of {name[:80]!r} are damaged"
        if chosen and getattr(model, "n_features_in_", len(chosen)) != len(chosen):
            return f"{name[:80]!r} is not a model of {len(chosen)} columns"
    places = parts.get("output_indices_")
    if type(places) is not dict or not all(_is_span(place) for place in places.values()):
        return "the places of its output are damaged"
    return ""


def positions(columns: Any, names: list[str], width: int) -> list[int] | None:
    """Where chosen columns are, as scikit-learn understands the choice; None if it does not."""
    try:
        if isinstance(columns, slice):
            ends = [columns.start, columns.stop]
            if any(isinstance(end, str) for end in ends):  # both ends are among what is taken
                first, last = (None if end is None else names.index(end) for end in ends)
                columns = slice(first, None if last is None else last + 1, columns.step)
            return list(range(width))[columns]
        listed: list[Any] = [columns] if isinstance(columns, str | Integral) else list(columns)
        if listed and all(isinstance(c, bool | np.bool_) for c in listed):
            return np.flatnonzero(listed).tolist() if len(listed) == width else None
        found = [names.index(c) if isinstance(c, str) else range(width)[c] for c in listed]
    except (TypeError, ValueError, IndexError):
        return None
    return found


def _function_problem(parts: dict[str, Any]) -> str:
    functions = ("func", "inverse_func", "kw_args", "inv_kw_args")
    told = any(parts[name] is not None for name in functions)
    return "it calls a function, and a file holds no code" if told else ""


def _search_problem(parts: dict[str, Any]) -> str:
    if not _is_part(parts["estimator"], ()):
        return "what it searches over is no model"
    if "cv_results_" not in parts:
        return ""
    kinds = {"cv_results_": dict, "n_splits_": int, "multimetric_": bool, "best_params_": dict}
    for name, kind in kinds.items():
        if name in parts and type(parts[name]) is not kind:
            return f"its {name} is not of type {kind.__name__}"
    if parts["refit"] and not _is_part(parts.get("best_estimator_"), ()):
        return "its best model is missing"
    return ""


def _model_problem(parts: dict[str, Any]) -> str:
    best = parts.get("best_estimator_")
    for name in ("coef_", "intercept_", "classes_") if best is not None else ():
        if name in parts and _form(parts[name]) != _form(getattr(best, name, None)):
            return f"its {name} is not of the form that the model has which it chose"
    names = parts.get("feature_names_in_")
    if names is None:
        return ""
    if not isinstance(names, np.ndarray) or not all(isinstance(n, str) for n in names.tolist()):
        return "its feature_names_in_ is no array of names"
    fits = len(names) == parts.get("n_features_in_", len(names))
    return "" if fits else f"its {len(names)} names do not fit its columns"


def _output_problem(parts: dict[str, Any]) -> str:
    told = parts.get("_sklearn_output_config", {})
    known = type(told) is dict and set(told) <= {"transform"} and set(told.values()) <= CONTAINERS
    return "" if known else "its kind of output is unknown"


CONTAINERS = {None, "default", "pandas", "polars"}

CHECKS: dict[str, Callable[[dict[str, Any]], str]] = {
    "Pipeline": _pipeline_problem,
    "FeatureUnion": _union_problem,
    "ColumnTransformer": _columns_problem,
    "FunctionTransformer": _function_problem,
    "BaseSearchCV": _search_problem,
    "BaseEstimator": _model_problem,
    "_SetOutputMixin": _output_problem,
}
"""For a class of scikit-learn, what is wrong with the attributes of an instance; "" if nothing."""


def _parts_problem(parts: Any, length: int, words: tuple[str | None, ...]) -> str:
    """What is wrong with a list of (name, model or word, …)."""
    if type(parts) is not list or not all(
        type(part) is tuple and len(part) == length and type(part[0]) is str for part in parts
    ):
        return f"its parts are not tuples of {length}, each with a name"
    if len({name for name, *_ in parts}) < len(parts):
        return "two of its parts have the same name"
    for name, part, *_ in parts:
        if not _is_part(part, words):
            return f"{name[:80]!r} is neither a model nor a word for one"
    return ""


def _is_part(part: Any, words: tuple[str | None, ...]) -> bool:
    return hasattr(part, "get_params") or ((part is None or type(part) is str) and part in words)


def _form(value: Any) -> Any:
    return (value.dtype, value.shape) if hasattr(value, "dtype") else type(value)


def _is_span(place: Any) -> bool:
    return type(place) is slice and type(place.start) is int and type(place.stop) is int
