"""Whether the parts of a loaded record or model fit each other, as its class declares:

    _shapes = "weight() mean(columns) scatter(columns, columns) inner.mean(columns)"

A word stands for one length wherever it occurs, and `...` for one shape.  Models know the words
`classes`, `scores` (as many, but one of two classes) and `columns`.  A record's fields are of the
kinds that their annotations say, and numbers not below 0; a model's parts, where it has
them, are arrays of float64.  What scikit-learn's conventions say of a column each, such as
`coef_`, is asked of every model.

Constructors do not ask, in the middle of a fit; and compiled loops would not notice.
"""

from __future__ import annotations

import dataclasses
import re
from functools import lru_cache
from numbers import Integral
from operator import attrgetter
from typing import Any

import numpy as np

OF_COLUMNS = (
    "coef_", "components_", "data_max_", "data_min_", "data_range_", "mean_", "min_", "scale_",
    "var_",
)  # fmt: skip
"""Attributes of models whose last axis is that of the columns."""

DTYPES = {
    "Array": "float64",
    "Codes": "int64",
    "Floats": "float64",
    "NDArray[np.int64]": "int64",
    "NDArray[Any]": "Any",
}
"""Annotations of arrays."""


def check_shapes(loaded: Any) -> None:
    """Raise ValueError unless what a file holds is as its class declares."""
    shapes, kinds = _declared(type(loaded))  # type: ignore[arg-type]
    lengths: dict[str, Any] = {}
    if not dataclasses.is_dataclass(loaded):
        shapes = {name: words for name, words in shapes.items() if name in vars(loaded)}
        lengths = _lengths_of_model(loaded) if shapes else {}
    for name, kind in kinds.items():
        number = getattr(loaded, name)
        if kind in ("int", "float") and (type(number).__name__ != kind or not number >= 0):
            raise ValueError(f"its {name} is {number!r}")
    for name, words in shapes.items():
        own = name.partition(".")[0]
        allowed = kinds.get(own, "Array").split(" | ")
        if not any(_is_a(getattr(loaded, own), kind) for kind in allowed):
            wanted = " or ".join(DTYPES.get(kind, kind) for kind in allowed)
            raise ValueError(f"its {own} is not of {wanted}")
        part = attrgetter(name)(loaded)
        shape = (part.shape,) if words == ("...",) else part.shape
        if len(shape) != len(words) or any(
            lengths.setdefault(word, length) != length
            for word, length in zip(words, shape, strict=True)
        ):
            known = ", ".join(f"{length} {word}" for word, length in lengths.items())
            raise ValueError(f"its {name} of shape {part.shape} does not fit {known}")
    if not dataclasses.is_dataclass(loaded):
        _check_columns(vars(loaded))


def _check_columns(parts: dict[str, Any]) -> None:
    """Raise ValueError unless the attributes of a fitted model are of its number of columns."""
    if "n_features_in_" not in parts:
        return
    width = parts["n_features_in_"]
    if type(width) is bool or not isinstance(width, Integral) or width < 0:
        raise ValueError(f"its number of columns is {width!r:.80}")
    for name in OF_COLUMNS:
        part = parts.get(name)
        if part is not None and not (_is_a(part, "Array") and part.shape[-1:] == (width,)):
            raise ValueError(f"its {name} is not of float64 and {width} columns")
    if parts.get("coef_") is not None and "intercept_" in parts:
        part, shape = parts["intercept_"], parts["coef_"].shape[:-1]
        if not (type(part) is float or _is_a(part, "Array")) or np.shape(part) != shape:
            raise ValueError(f"its intercept_ is not of float64 and shape {shape}")


@lru_cache(maxsize=512)
def _declared(cls: type) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """The words of the shapes that a class and its bases declare, and the kinds of its fields."""
    text = " ".join(vars(base).get("_shapes", "") for base in cls.__mro__)
    shapes = {
        name: tuple(words.replace(",", " ").split())
        for name, words in re.findall(r"([\w.]+)\((.*?)\)", text)
    }
    is_record = shapes and dataclasses.is_dataclass(cls)
    return shapes, {f.name: str(f.type) for f in dataclasses.fields(cls)} if is_record else {}


def _is_a(part: Any, kind: str) -> bool:
    """Whether a part is of a kind that an annotation names."""
    dtype = DTYPES.get(kind)
    if dtype is None:
        return type(part).__name__ == kind
    return isinstance(part, np.ndarray | np.generic) and dtype in ("Any", str(part.dtype))


def _lengths_of_model(model: Any) -> dict[str, Any]:
    known = {"columns": model.n_features_in_}
    if "classes_" not in vars(model):
        return known
    k = len(model.classes_)
    return {"classes": k, "scores": 1 if k == 2 else k} | known
