"""Which columns of the files are features, target and weight, and whether all files agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from suffice.numerics.cached import cached_property
from suffice.sources.files import arrow, csv, parquet
from suffice.sources.files.columns import ACCEPTED, NUMBERS, kind_of
from suffice.sources.files.paths import format_of

DELIMITERS = {"csv": ",", "tsv": "\t"}
NAMES_SHOWN = 20


@dataclass(frozen=True)
class FileHeader:
    """What a file says about itself before its rows are read."""

    path: str
    format: str
    schema: Any
    n_rows: int | None
    has_rows: bool

    @property
    def is_text(self) -> bool:
        """Whether the types in `schema` are only what the first lines suggest."""
        return self.format in DELIMITERS

    def kind(self, name: str) -> str:
        return kind_of(self.schema.field(name).type)


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
    kinds : tuple of str, or None
        "number" or "text" for each feature; None where all are numbers.
    """

    features: tuple[str, ...]
    target: tuple[str, ...] = ()
    weight: str | None = None
    flat_target: bool = True
    target_kind: str = "float"
    kinds: tuple[str, ...] | None = None

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


def read_header(path: str) -> FileHeader:
    """Columns and number of rows of a file, without reading its rows.

    Raises
    ------
    ValueError
        If the file is empty, cannot be read, is cut short or damaged.
    """
    import pyarrow as pa

    file_format = format_of(path)
    try:
        if file_format in DELIMITERS:
            schema, has_rows = csv.describe(path, DELIMITERS[file_format])
            return FileHeader(path, file_format, schema, None, has_rows)
        reader = parquet if file_format == "parquet" else arrow
        schema, n_rows = reader.describe(path)
        return FileHeader(path, file_format, schema, n_rows, n_rows > 0)
    except (pa.ArrowException, OSError) as error:
        raise unreadable(path, file_format, error) from error


def unreadable(path: str, file_format: str, error: Exception) -> ValueError:
    """The error for a file that its own reader gives up on."""
    if isinstance(error, PermissionError):
        return ValueError(f"{path!r} cannot be read: Permission denied.")
    if isinstance(error, FileNotFoundError):
        return ValueError(f"{path!r} is gone; it was there when it was scanned.")
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
    reserved = set(targets) | ({weight} if weight is not None else set())
    if features is None:
        chosen = tuple(
            name
            for name in header.schema.names
            if name not in reserved and name not in _index_columns(header.schema)
        )
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
        raise_bad_value(header.path, header.format, name)
    raise ValueError(
        f"Column {name!r} (weight) of {header.path!r} has type {header.schema.field(name).type}; "
        f"accepted are {ACCEPTED}."
    )


def raise_bad_value(path: str, file_format: str, name: str) -> None:
    """Read a CSV column as numbers as far as its first value that is none: that raises."""
    import pyarrow as pa

    for _, batch in csv.batches(path, DELIMITERS[file_format], {name: pa.float64()}):
        if isinstance(batch, csv.Lines):
            batch.read()


@dataclass(frozen=True)
class FoundColumn:
    """A column of one file: its kind, and how a message should show its type."""

    path: str
    name: str
    kind: str
    type_name: str
    format: str
    role: str

    @property
    def is_guess(self) -> bool:
        """Whether the kind is only what the first lines suggest."""
        return self.format in DELIMITERS


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
        if kind == "other" and header.is_text:
            kind = "text"
        if kind == "other":
            purpose = "as labels" if role == "target" else "to be encoded"
            raise ValueError(
                f"Column {name!r} ({role}) of {header.path!r} has type {type_name}; accepted are "
                f"{ACCEPTED}, and text {purpose}."
            )
        found.append(FoundColumn(header.path, name, kind, type_name, header.format, role))
    return found


def common_kind(columns: Sequence[FoundColumn]) -> str:
    """The one kind that holds a feature, or the target columns, of all files.

    Numbers in a CSV file may be labels that look like numbers; those of any
    other file are numbers, and disagree with text.
    """
    kinds = {column.kind for column in columns}
    if "text" not in kinds:
        return next((kind for kind in ("float", "int", "bool") if kind in kinds), "float")
    text = next(column for column in columns if column.kind == "text")
    for column in columns:
        if column.kind in NUMBERS - {"null"} and not column.is_guess:
            raise ValueError(
                f"Column {column.name!r} ({column.role}) holds {column.type_name} in "
                f"{column.path!r}, but column {text.name!r} holds text in {text.path!r}; "
                f"a {column.role} is all numbers or all text."
            )
    return "text"
