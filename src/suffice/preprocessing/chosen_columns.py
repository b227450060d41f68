"""Which columns of a source a user means: by name, position, mask, slice or a function."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from suffice.sources import Columns, Source
from suffice.sources.memory.mixed import TEXT


def as_cells(X: Any) -> Any:
    """A block as an array: of numbers, or of objects where some columns hold text."""
    if isinstance(X, Columns):
        return X.to_objects()
    return X.toarray() if issparse(X) else np.asarray(X, np.float64)


def as_frame(X: Any, source: Source) -> Any:
    """A block as a data frame, for functions that choose its columns by name and type."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError(
            "a function that chooses columns of a source by name and type looks at a frame of "
            "pandas: install suffice[frames], or name the columns"
        ) from None

    names = list(source.feature_names or range(source.n_columns))
    if not isinstance(X, Columns):
        return pd.DataFrame(as_cells(X), columns=names)
    series = [
        pd.Series(column, dtype=str if kind == TEXT else np.float64)
        for column, kind in zip(X.columns, X.kinds, strict=True)
    ]
    frame = pd.concat(series, axis=1)
    frame.columns = pd.Index(names)
    return frame


def positions(columns: Any, source: Source, rows: Any) -> list[int]:
    """Positions of the columns that a user means, in a source; `rows` are some of it."""
    if callable(columns):
        columns = columns(as_frame(rows, source))
    names = list(source.feature_names or range(source.n_columns))
    numbered = np.arange(source.n_columns)
    if isinstance(columns, (str, int, np.integer)):
        columns = [columns]
    if isinstance(columns, slice):
        ends = (columns.start, columns.stop)
        if any(isinstance(end, str) for end in ends):
            first, last = (None if e is None else place(e, names) for e in ends)
            return numbered[slice(first, None if last is None else last + 1)].tolist()
        return numbered[columns].tolist()
    listed = list(columns)
    if listed and all(isinstance(c, (bool, np.bool_)) for c in listed):
        return numbered[np.asarray(listed)].tolist()
    if any(isinstance(c, str) for c in listed):
        return [place(c, names) for c in listed]
    return [int(numbered[c]) for c in listed]


def place(name: Any, names: list[Any]) -> int:
    """Position of a column by its name."""
    if name not in names:
        raise ValueError(
            f"A given column is not a column of the data: {[name]}; its columns are {names}"
        )
    return names.index(name)
