"""Rows as users pass them: what is checked before, and while, a model sees them.

Arrays, frames and sparse matrices are checked as scikit-learn checks them; sources bring their
own target and weights.  Frames and sources stay where they are, and are read block by block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.sources import Block, Source, as_source
from suffice.sources.finite import NotFinite, describe_non_finite
from suffice.sources.memory.frames import is_frame
from suffice.sources.memory.target import library, plain_array


def summarize_finite(block: Block, summarize: Callable[[Block], Any]) -> Any:
    """What a block contributes; where its sums leave float64's range, which block it was."""
    try:
        return summarize(block)
    except FloatingPointError as reason:
        raise NotFinite(str(reason), block.start, block.n_rows) from None


def finite_rows(block: Block, source: Source, missing: bool = False) -> Block:
    """The block itself; raise if it holds a value that is not finite."""
    message = describe_non_finite(block, source, missing)
    if message:
        raise ValueError(message)
    return block


def are_plain(X: Any, y: Any, multi_output: bool) -> bool:
    """Whether rows and target are arrays of which `validate_data` would find nothing to say.

    With `multi_output` the target may have several columns.
    """
    return (
        type(X) is np.ndarray
        and type(y) is np.ndarray
        and X.dtype.kind in "fiub"
        and y.dtype.kind in "fiub"
        and X.ndim == 2
        and (y.ndim == 1 or (multi_output and y.ndim == 2))
        and len(X) == len(y)
        and min(X.size, y.size) > 0
        and (y.dtype.kind != "f" or bool(np.isfinite(y).all()))
    )


def refuse_other_columns(model: Any, source: Source) -> None:
    """Raise unless a source has the columns that a model was fitted on."""
    expected = getattr(model, "feature_names_in_", None)
    found = source.feature_names
    if expected is not None and found is not None and tuple(expected) != tuple(found):
        missing = [str(column) for column in expected if column not in found]
        extra = [str(column) for column in found if column not in set(expected)]
        detail = (
            f"missing: {missing}, unexpected: {extra}"
            if missing or extra
            else "the same names in another order"
        )
        raise ValueError(
            f"The feature names should match those that were passed during fit: {detail}"
        )
    if source.n_columns != model.n_features_in_:
        raise ValueError(
            f"X has {source.n_columns} features, but {type(model).__name__} is expecting "
            f"{model.n_features_in_} features as input"
        )


FLOAT32 = {"float32", "float", "float[pyarrow]"}
"""What libraries call it; Arrow's 64 bits are "double"."""


def is_float32(X: Any) -> bool:
    """Whether rows in memory are float32: an array, or all columns of a frame."""
    if isinstance(X, Source) or not is_frame(X):
        return bool(getattr(X, "dtype", None) == np.float32)
    types = X.schema.types if library(X) == "pyarrow" else X.dtypes
    return {str(dtype).lower() for dtype in types} <= FLOAT32


def in_dtype_of(X: Any, found: NDArray[Any]) -> NDArray[Any]:
    """Numbers about rows, in float32 where these are."""
    return found.astype(np.float32) if is_float32(X) else found


def take_names(model: Any, chosen: Any) -> None:
    """Let a model know columns and target by the names that the one it chose knows."""
    steps = getattr(chosen, "steps", None)  # of a pipeline the last one knows the target
    knows = {"feature_names_in_": chosen, "target_names_in_": steps[-1][1] if steps else chosen}
    for name, one in knows.items():
        vars(model).pop(name, None)
        if hasattr(one, name):
            setattr(model, name, getattr(one, name))


def shown(names: Sequence[str], most: int = 5) -> str:
    """Names for a message: the first of them."""
    more = ", …" if len(names) > most else ""
    return "[" + ", ".join(map(str, names[:most])) + more + "]"


def refuse_strangers(X: Any) -> None:
    """Paths and collections of a cluster, which NumPy would misread or gather here."""
    if isinstance(X, (str, bytes, PathLike)) or library(X) == "dask":
        as_source(X)
    if library(X) == "polars" and type(X).__name__ == "LazyFrame":
        raise TypeError("X is a polars LazyFrame, a plan without rows: pass X.collect()")


def without_absent(y: Any, weight: NDArray[np.float64] | None) -> Any:
    """The target with a number in rows of weight 0: they do not exist, whatever they hold."""
    if y is None or weight is None or weight.all():
        return y
    values = plain_array(y)[0]
    absent = weight == 0
    kind = values.dtype.kind
    if len(values) != len(weight) or kind not in "fO" or (kind == "O" and absent.all()):
        return y
    if kind == "f" and np.isfinite(values[absent]).all():
        return y
    values = values.copy()
    values[absent] = values[~absent][0] if kind == "O" else 0.0
    return values
