"""Which columns hold categories: by their type, or because a user says so.

Text, categories and booleans are categories, numbers are not.  Frames and files know the types of
their columns; a source that hands out nothing but numbers does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from suffice.fitting.categories import is_missing
from suffice.sources import ArraySource, ColumnsSource, FileSource, FrameSource, Source
from suffice.sources.derived.relabelled import RelabelledSource
from suffice.sources.derived.subset import SubsetSource
from suffice.sources.files.schema import read_header
from suffice.sources.memory.frames import is_frame, reader_of

_TYPES = ("bool", "categor", "enum", "dictionary", "extension<arrow.bool8", "object (bool")
"""How the names of types begin whose columns are categorical, besides those of text."""


def categorical_columns(source: Source, X: Any = None) -> tuple[bool, ...]:
    """Whether each column of a source holds categories, by its type.

    Parameters
    ----------
    source : Source
    X : array, frame or list, optional
        What the user passed, if that was no source.
    """
    if is_frame(X):
        reader = reader_of(X)
        return _by_type([reader.type_name(j) for j in range(source.n_columns)], reader.kinds)
    while isinstance(source, SubsetSource | RelabelledSource):
        source = source.source
    if hasattr(source, "categorical"):
        return tuple(source.categorical)
    if isinstance(source, ColumnsSource):
        return tuple(
            column.dtype.kind in "bO" or _of_booleans(X, j)
            for j, column in enumerate(source.columns.columns)
        )
    if isinstance(source, ArraySource):
        return (source.X.dtype == np.bool_,) * source.n_columns
    if isinstance(source, FrameSource):
        names = [source._type_name(j) for j in range(source.n_columns)]
        return _by_type(names, source.kinds)
    if isinstance(source, FileSource):
        return _by_type(_types_of_files(source), source.kinds)
    return tuple(kind == "text" for kind in source.kinds or ("number",) * source.n_columns)


def _of_booleans(X: Any, j: int) -> bool:
    """Whether a column of objects holds booleans, and no other values."""
    if X is None or isinstance(X, Source):
        return False
    there = [row[j] for row in X if not is_missing(row[j])]
    return bool(there) and all(isinstance(value, (bool, np.bool_)) for value in there)


def _types_of_files(source: FileSource) -> list[str]:
    """The types of the columns in the first file; pandas notes which were categories."""
    schema = read_header(source.files[0].path, source.files[0].dialect).schema
    noted = (schema.pandas_metadata or {}).get("columns", ())
    of_pandas = {one.get("name"): one.get("pandas_type") for one in noted}
    return [
        "category" if of_pandas.get(name) == "categorical" else str(schema.field(name).type)
        for name in source.feature_names or ()
    ]


def _by_type(names: Sequence[str], kinds: Sequence[str] | None) -> tuple[bool, ...]:
    kinds = kinds or ("number",) * len(names)
    return tuple(
        kind == "text" or name.lower().startswith(_TYPES)
        for name, kind in zip(names, kinds, strict=True)
    )


def with_named(
    categorical: Sequence[bool], named: Any, names: Sequence[str] | None
) -> tuple[bool, ...]:
    """Whether each column holds categories: by its type, or because a user says so.

    Parameters
    ----------
    categorical : sequence of bool
        Whether each column holds categories, by its type.
    named : sequence or None
        Names or numbers of further columns; or a boolean for each column.
    names : sequence of str, optional
        Names of the columns.
    """
    n, listed = len(categorical), [] if named is None else list(named)
    if listed and all(isinstance(one, (bool, np.bool_)) for one in listed):
        if len(listed) != n:
            raise ValueError(
                f"categorical holds {len(listed)} booleans; accepted are names or numbers of "
                f"columns, or one boolean for each of the {n} columns"
            )
        places = set(np.flatnonzero(listed).tolist())
    else:
        places = {place_of("categorical", column, names, n) for column in listed}
    return tuple(by_type or j in places for j, by_type in enumerate(categorical))


def place_of(parameter: str, column: Any, names: Sequence[str] | None, n_columns: int) -> int:
    """The number of a column that a parameter names."""
    if isinstance(column, str):
        if names is None or column not in names:
            there = "the columns have no names" if names is None else f"columns are {list(names)}"
            raise ValueError(f"{parameter} names a column {column!r} that is not there: {there}")
        return list(names).index(column)
    if isinstance(column, (int, np.integer)) and 0 <= column < n_columns:
        return int(column)
    raise ValueError(
        f"{parameter} names a column {column!r}; columns are numbered 0 to {n_columns - 1}"
    )
