"""Which distribution a column is given: by its type, or as a user says.

Text, categories and booleans are categorical, numbers Gaussian.  Frames and files know the types of
their columns; a source that hands out nothing but numbers does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from suffice.fitting.categories import is_missing
from suffice.sources import ArraySource, Columns, ColumnsSource, FileSource, FrameSource, Source
from suffice.sources.derived.subset import SubsetSource
from suffice.sources.files.schema import read_header
from suffice.sources.memory.frames import is_frame, reader_of

KINDS = ("gaussian", "categorical", "bernoulli", "multinomial", "poisson")

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
    while isinstance(source, SubsetSource):
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


def kinds_of_columns(
    kinds: Any, categorical: Sequence[bool], names: Sequence[str] | None
) -> tuple[str, ...]:
    """The kind of each column.

    Parameters
    ----------
    kinds : mapping, sequence or None
        Kinds by name or number of a column; or one for each column, None for that of its type.
    categorical : sequence of bool
        Whether each column holds categories, by its type.
    names : sequence of str, optional
        Names of the columns.
    """
    found = ["categorical" if one else "gaussian" for one in categorical]
    if kinds is None:
        return tuple(found)
    if isinstance(kinds, Mapping):
        for column, kind in kinds.items():
            found[_place("kinds", column, names, len(found))] = _checked(kind, column)
        return tuple(found)
    if isinstance(kinds, str) or len(kinds) != len(found):
        shown = repr(kinds) if isinstance(kinds, str) else f"a list of {len(kinds)}"
        raise ValueError(
            f"kinds is {shown}; accepted are a mapping from columns to kinds, or a list of one "
            f"kind for each of the {len(found)} columns"
        )
    for j, kind in enumerate(kinds):
        if kind is not None:
            found[j] = _checked(kind, j)
    return tuple(found)


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
        places = {_place("categorical", column, names, n) for column in listed}
    return tuple(by_type or j in places for j, by_type in enumerate(categorical))


def _place(parameter: str, column: Any, names: Sequence[str] | None, n_columns: int) -> int:
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


def _checked(kind: Any, column: Any) -> str:
    if kind not in KINDS:
        raise ValueError(
            f"kinds says {kind!r} of column {column!r}; accepted are {', '.join(map(repr, KINDS))}"
        )
    return str(kind)


def refuse_text(source: Source, kinds: Sequence[str]) -> None:
    """Raise ValueError if a column of text is to be anything but categorical."""
    for j, is_text in enumerate(one == "text" for one in source.kinds or ()):
        if is_text and kinds[j] != "categorical":
            raise ValueError(f"{source.column_label(j)} holds text, and cannot be {kinds[j]!r}")


def columns_of(
    rows: Any, columns: Sequence[int], kind: str, names: Sequence[str] | None = None
) -> Any:
    """Some columns of rows, as the model of their kind takes them.

    Raises
    ------
    ValueError
        If a column of numbers holds text.
    """
    if not isinstance(rows, Columns):
        return rows if len(columns) == rows.shape[1] else rows[:, columns]
    if kind == "categorical":
        return Columns([rows.column(j) for j in columns])
    for j in columns:
        if rows.column(j).dtype == object:
            label = j if names is None else names[j]
            raise ValueError(f"column {label!r} holds text, and cannot be {kind!r}")
    return rows.take(columns)
