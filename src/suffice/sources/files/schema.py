"""Which columns of the files are features, target and weight, and whether all files agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

from suffice.numerics.cached import cached_property
from suffice.sources.files import arrow, csv, parquet
from suffice.sources.files.columns import ACCEPTED, NUMBERS, kind_of
from suffice.sources.files.dialect import Dialect, looks_like_data
from suffice.sources.files.paths import format_of
from suffice.sources.files.written_numbers import thousands_mark

NAMES_SHOWN = 20


@dataclass(frozen=True)
class FileHeader:
    """What a file says about itself before its rows are read.

    Attributes
    ----------
    path, format : str
    schema : pyarrow Schema
    n_rows : int or None
    has_rows : bool
    dialect : Dialect or None
        How it is written, if it is CSV.
    thousands : dict
        Text columns of a CSV file that may be numbers such as 1,234,567: the mark between
        groups of digits, and whether a cell proves it.
    """

    path: str
    format: str
    schema: Any
    n_rows: int | None
    has_rows: bool
    dialect: Dialect | None = None
    thousands: dict[str, tuple[str, bool]] = field(default_factory=dict)

    @property
    def is_text(self) -> bool:
        """Whether the types in `schema` are only what the first lines suggest."""
        return self.dialect is not None

    def kind(self, name: str) -> str:
        return kind_of(self.schema.field(name).type)

    def with_numbers(self, names: Iterable[str]) -> FileHeader:
        """The same with some text columns as numbers, as far as their cells fit."""
        import pyarrow as pa

        schema = self.schema
        for name in names:
            if name in self.thousands:
                schema = schema.set(schema.names.index(name), pa.field(name, pa.float64()))
        return replace(self, schema=schema)


@dataclass(frozen=True)
class Selection:
    """The columns that a source reads.

    Attributes
    ----------
    features, target : tuple of str
    weight : str or None
    flat_target : bool
        Whether the one target column is wanted as a 1-D array.
    target_kind : str
        The kind that holds the target of all files (see `columns`).
    column_kinds : tuple of str
        "number", "bool", "date" or "text" for each feature.
    """

    features: tuple[str, ...]
    target: tuple[str, ...] = ()
    weight: str | None = None
    flat_target: bool = True
    target_kind: str = "float"
    column_kinds: tuple[str, ...] = ()

    @cached_property
    def kinds(self) -> tuple[str, ...] | None:
        """What blocks hold of each feature, "number" or "text"; None where all are numbers."""
        kinds = tuple("text" if kind == "text" else "number" for kind in self.column_kinds)
        return kinds if "text" in kinds else None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Every column to read, each once: features first, then target and weight."""
        weight = () if self.weight is None else (self.weight,)
        return tuple(dict.fromkeys((*self.features, *self.target, *weight)))

    @cached_property
    def texts(self) -> frozenset[str]:
        """Columns that are read as text."""
        names = self.target if self.target_kind == "text" else ()
        kinds = zip(self.features, self.kinds or (), strict=self.kinds is not None)
        return frozenset((*names, *(name for name, kind in kinds if kind == "text")))


def read_header(
    path: str, dialect: Dialect | None = None, thousands: str | None = None
) -> FileHeader:
    """Columns and number of rows of a file, without reading its rows.

    Parameters
    ----------
    path : str
    dialect : Dialect or None
        How it is written, if it is CSV.
    thousands : str, optional
        The mark between groups of digits, if the user says it.

    Raises
    ------
    ValueError
        If the file is empty, cannot be read, is cut short or damaged, or has no header.
    """
    import pyarrow as pa

    file_format = format_of(path)
    try:
        if dialect is not None:
            return _csv_header(path, file_format, dialect, thousands)
        reader = parquet if file_format == "parquet" else arrow
        schema, n_rows = reader.describe(path)
        return FileHeader(path, file_format, schema, n_rows, n_rows > 0)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise unreadable(path, file_format, error) from error


def _csv_header(path: str, file_format: str, dialect: Dialect, thousands: str | None) -> FileHeader:
    import pyarrow as pa

    schema, rows = csv.describe(path, dialect)
    is_number = [kind_of(field.type) in {"int", "float"} for field in schema]
    if "header" not in dialect.given and looks_like_data(schema.names, is_number):
        raise ValueError(
            f"The first line of {path!r} looks like data, not like names of columns: it has "
            f"{_shown(schema.names)}. If it is data, say header=False, and the columns are "
            "column_1, column_2 and so on; if these are names, say header=True."
        )
    marks: dict[str, tuple[str, bool]] = {}
    for i, column in enumerate(() if rows is None else rows.columns):
        if pa.types.is_string(column.type):
            mark = thousands_mark(column, dialect.decimal, dialect.all_missing, thousands)
            marks |= {} if mark is None else {schema.names[i]: mark}
        elif thousands is not None and is_number[i]:
            marks[schema.names[i]] = (thousands, True)
    unnamed = tuple(i + 1 for i, name in enumerate(schema.names) if not name.strip())
    dialect = replace(dialect, unnamed=unnamed)
    return FileHeader(path, file_format, schema, None, rows is not None, dialect, marks)


def unreadable(path: str, file_format: str, error: Exception) -> ValueError:
    """The error for a file that its own reader gives up on."""
    if isinstance(error, PermissionError):
        return ValueError(f"{path!r} cannot be read: Permission denied.")
    if isinstance(error, FileNotFoundError):
        return ValueError(f"{path!r} is gone; it was there when it was scanned.")
    if isinstance(error, UnicodeDecodeError):
        return ValueError(
            f"{path!r} holds bytes that are not {error.encoding}; give the encoding that it is "
            "written in, such as encoding='latin-1'."
        )
    kind = {"parquet": "a Parquet file", "arrow": "an Arrow IPC file"}.get(file_format, "CSV")
    detail = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
    return ValueError(f"{path!r} is cut short, damaged or not {kind}: {detail}.")


def select_columns(
    header: FileHeader,
    target: str | Sequence[str] | None,
    weight: str | None,
    features: Sequence[str] | None,
) -> Selection:
    """The columns asked for, as the first file names them."""
    targets = _names("target", target)
    if weight is not None and not isinstance(weight, str):
        raise TypeError(f"weight is {weight!r}; give the name of one column, or None.")
    if isinstance(features, str):
        raise TypeError(f"features is the text {features!r}; give a list of column names.")
    if features is None:
        chosen = default_features(header, {*targets, weight})
    else:
        chosen = _names("features", features)
    for name in targets:
        if name in chosen:
            raise ValueError(f"Column {name!r} is the target and a feature; it can be one only.")
        if name == weight:
            raise ValueError(f"Column {name!r} is the target and the weight; it can be one only.")
    selection = Selection(chosen, targets, weight, isinstance(target, str))
    check_present(header, selection)
    if not chosen:
        raise ValueError(
            f"No feature column is left in {header.path!r} beside the target and the weight."
        )
    return selection


def default_features(header: FileHeader, reserved: Container[str | None]) -> tuple[str, ...]:
    """Every column but the reserved ones, a pandas index, and columns of CSV without a name."""
    return tuple(
        name
        for name in header.schema.names
        if name not in reserved
        and name not in _index_columns(header.schema)
        and not (header.is_text and not name.strip())
    )


def _names(parameter: str, value: str | Sequence[str] | None) -> tuple[str, ...]:
    """`value` as a tuple of distinct names."""
    if value is None:
        return ()
    if not isinstance(value, (str, Sequence)):
        raise TypeError(f"{parameter} is {value!r}; give names of columns as text.")
    names = (value,) if isinstance(value, str) else tuple(value)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{parameter} holds {name!r}; give names of columns as text.")
        if names.count(name) > 1:
            raise ValueError(f"{parameter} names column {name!r} more than once.")
    if not names:
        raise ValueError(f"{parameter} is an empty list; give at least one name, or None.")
    return names


def _index_columns(schema: Any) -> set[str]:
    """Columns that pandas wrote as the index of a frame: row labels, no features."""
    levels = (schema.pandas_metadata or {}).get("index_columns", ())
    return {level for level in levels if isinstance(level, str)}


def check_present(
    header: FileHeader, selection: Selection, first: FileHeader | None = None
) -> None:
    """Raise if a column of `selection` is missing from a file, or is there twice."""
    counts = Counter(header.schema.names)
    for name in selection.names:
        if counts[name] == 1:
            continue
        if counts[name] > 1:
            raise ValueError(
                f"{header.path!r} has {counts[name]} columns named {name!r}; names must differ."
            )
        role = _role(name, selection)
        near = get_close_matches(name, counts, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        beside = "" if first is None else f", which {first.path!r} has"
        raise ValueError(
            f"{header.path!r} has no column {name!r} ({role}){beside}.{hint} "
            f"Its columns are {_shown(header.schema.names)}."
        )


def _role(name: str, selection: Selection) -> str:
    if name in selection.target:
        return "target"
    return "weight" if name == selection.weight else "feature"


def _shown(names: Sequence[str]) -> str:
    more = len(names) - NAMES_SHOWN
    listed = ", ".join(repr(name) for name in names[:NAMES_SHOWN])
    return f"{listed} and {more} more" if more > 0 else listed


def check_weight_column(header: FileHeader, selection: Selection) -> None:
    """Raise if the weight holds anything but numbers."""
    name = selection.weight
    if name is None or header.kind(name) in NUMBERS:
        return
    if header.is_text:
        raise_bad_value(header.path, header.dialect, name)
    raise ValueError(
        f"Column {name!r} (weight) of {header.path!r} has type {header.schema.field(name).type}; "
        f"accepted are {ACCEPTED}."
    )


def raise_bad_value(path: str, dialect: Dialect | None, name: str) -> None:
    """Read a CSV column as numbers as far as its first value that is none: that raises."""
    import pyarrow as pa

    for _, batch in csv.batches(path, dialect or Dialect(), {name: pa.float64()}):
        if isinstance(batch, csv.Lines):
            batch.read()


@dataclass(frozen=True)
class FoundColumn:
    """A column of one file: its kind, and how a message should show its type."""

    path: str
    name: str
    kind: str
    type_name: str
    role: str
    dialect: Dialect | None

    @property
    def is_guess(self) -> bool:
        """Whether the kind is only what the first lines suggest."""
        return self.dialect is not None


def found_columns(
    header: FileHeader, selection: Selection, names: Sequence[str]
) -> list[FoundColumn]:
    """Some features or targets as a file holds them.

    Raises
    ------
    ValueError
        If one is neither numbers nor text.
    """
    found = []
    for name in names:
        kind, type_name = header.kind(name), str(header.schema.field(name).type)
        role = _role(name, selection)
        if kind == "date" and role == "target":
            kind = "other"
        if kind == "other" and header.is_text:
            kind = "text"
        if kind == "other":
            purpose = "as labels" if role == "target" else "to be encoded"
            raise ValueError(
                f"Column {name!r} ({role}) of {header.path!r} has type {type_name}; accepted are "
                f"{ACCEPTED}, and text {purpose}."
            )
        found.append(FoundColumn(header.path, name, kind, type_name, role, header.dialect))
    return found


def common_kind(columns: Sequence[FoundColumn]) -> str:
    """The one kind that holds a feature, or the target columns, of all files.

    Numbers and dates in a CSV file may be labels that look like them; those of any other file
    are what they are, and disagree with text.
    """
    kinds = {column.kind for column in columns} - {"null"}
    for words, kind in (("text", "text"), ("dates", "date")):
        if kind not in kinds:
            continue
        one = next(column for column in columns if column.kind == kind)
        for column in columns:
            if column.kind in {kind, "null"} or (kind == "text" and column.is_guess):
                continue
            raise ValueError(
                f"Column {column.name!r} ({column.role}) holds {column.type_name} in "
                f"{column.path!r}, but column {one.name!r} holds {words} in {one.path!r}; "
                f"a {column.role} is all numbers or all {words}."
            )
        return kind
    return next((kind for kind in ("float", "int", "bool") if kind in kinds), "float")
