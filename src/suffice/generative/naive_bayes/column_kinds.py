"""Which distribution a column is given: by its type, or as a user says.

Categories are categorical, numbers Gaussian.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from suffice.fitting.column_kinds import place_of
from suffice.sources import Columns, Source

KINDS = ("gaussian", "categorical", "bernoulli", "multinomial", "poisson")


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
            found[place_of("kinds", column, names, len(found))] = _checked(kind, column)
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
