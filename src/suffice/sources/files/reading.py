"""The rows of one file as Arrow record batches: all of them, or a range."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

from suffice.sources.base import block_rows
from suffice.sources.files import arrow, csv, lines, parquet
from suffice.sources.files.columns import NUMBERS, kind_of
from suffice.sources.files.dialect import Dialect
from suffice.sources.files.schema import Selection, unreadable

CELLS_PER_BATCH = 1 << 20  # values read at a time: 8 MB of float64


@dataclass(frozen=True)
class DataFile:
    """One file of a source.

    Attributes
    ----------
    path, format : str
    n_rows : int or None
        None where only reading tells.
    dialect : Dialect or None
        How it is written, if it is CSV.
    types : dict
        Arrow types of the columns of a CSV file that are neither text nor plain numbers.
    """

    path: str
    format: str
    n_rows: int | None
    dialect: Dialect | None = None
    types: dict[str, Any] = field(default_factory=dict)

    def place(self, row: int) -> str:
        """How a message should name a row: by its line as an editor shows it, in a CSV file."""
        if self.dialect is None:
            return f"row {row} of {self.path!r}"
        line = lines.line_of(self.path, self.dialect, row)
        where = f"record {row + 1}" if line is None else f"line {line}"
        return f"{where} of {self.path!r}"

    def changed(self, how: str) -> ValueError:
        """The error for a file that is not what it was."""
        return ValueError(f"{self.path!r} has changed since it was scanned: {how}.")


def read_as(guess: Any, kind: str) -> Any:
    """Arrow type that reads all of a CSV column of a kind whose first lines suggest `guess`."""
    import pyarrow as pa

    if pa.types.is_boolean(guess) or kind == "bool":
        return pa.bool_()
    # Later cells may have times, and fractions of seconds where the first have none.
    zone = getattr(guess, "tz", None)
    return pa.timestamp("ns" if getattr(guess, "unit", "") == "ns" else "us", zone)


def batches(
    file: DataFile,
    selection: Selection,
    columns: Sequence[str],
    start: int = 0,
    stop: int | None = None,
) -> Generator[tuple[int, Any], None, None]:
    """Record batches, or lines of CSV, each with the number of its first row.

    They hold rows `start` to `stop` at least.  A Parquet file is read from the row group on in
    which `start` lies, to that in which `stop` does; any other from its beginning.

    Parameters
    ----------
    file : DataFile
    selection : Selection
        What columns hold.
    columns : sequence of str
        Those to read, in this order.
    start, stop : int, optional
        Rows that are wanted; by default all.
    """
    size = block_rows(len(selection.features))
    batch_rows = CELLS_PER_BATCH // len(columns)
    batch_rows = max(batch_rows - batch_rows % size, size)
    types = {name: _text_type(file, selection, name) for name in columns if file.dialect}
    checked = False
    with closing(_read(file, columns, types, batch_rows, start, stop)) as found:
        for row, batch in found:
            if stop is not None and row >= stop:
                return
            if not checked and not isinstance(batch, csv.Lines):
                _check_kinds(file, selection, batch.schema)
                checked = True
            yield row, batch


def cells_of(file: DataFile, columns: Sequence[str]) -> Generator[Any, None, None]:
    """Record batches of columns as a file holds them: of CSV, the text of the cells."""
    import pyarrow as pa

    if file.dialect is not None:
        file = replace(file, dialect=replace(file.dialect, missing=(), thousands={}))
    types = dict.fromkeys(columns, pa.string())
    with closing(_read(file, columns, types, CELLS_PER_BATCH // len(columns))) as found:
        for _, batch in found:
            yield batch.read() if isinstance(batch, csv.Lines) else batch


def schema_of(file: DataFile) -> Any:
    """Arrow schema of a file; of CSV, as its first lines suggest it."""
    import pyarrow as pa

    try:
        if file.dialect is not None:
            return csv.describe(file.path, file.dialect)[0]
        return (parquet if file.format == "parquet" else arrow).describe(file.path)[0]
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise unreadable(file.path, file.format, error) from error


def _read(
    file: DataFile,
    columns: Sequence[str],
    types: Mapping[str, Any],
    batch_rows: int,
    start: int = 0,
    stop: int | None = None,
) -> Generator[tuple[int, Any], None, None]:
    """Record batches, or lines of CSV whose columns are read as `types`."""
    import pyarrow as pa

    found: Generator[tuple[int, Any], None, None]
    try:
        if file.dialect is not None:
            found = csv.batches(file.path, file.dialect, types)
        elif file.format == "parquet":
            found = parquet.batches(file.path, columns, batch_rows, start, stop)
        else:
            found = arrow.batches(file.path, columns, batch_rows)
        with closing(found):
            for row, batch in found:
                is_text = isinstance(batch, csv.Lines)
                yield row, batch if is_text else batch.select(list(columns))
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise unreadable(file.path, file.format, error) from error
    except KeyError as error:
        raise file.changed(error.args[0]) from error


def _check_kinds(file: DataFile, selection: Selection, schema: Any) -> None:
    """Whether columns hold numbers, dates and text as they did when the file was scanned."""
    kinds = dict(zip(selection.features, selection.column_kinds, strict=True))
    for column in schema:
        known = "text" if column.name in selection.texts else kinds.get(column.name, "number")
        fits = {"text": {"text", "null"}, "date": {"date", "null"}}.get(known, NUMBERS)
        if kind_of(column.type) not in fits:
            words = {"text": "text", "date": "dates"}.get(known, "numeric")
            raise file.changed(f"column {column.name!r} is now of type {column.type}, not {words}")


def _text_type(file: DataFile, selection: Selection, name: str) -> Any:
    """Arrow type that a CSV column is read as."""
    import pyarrow as pa

    if name in selection.texts or (file.dialect and name in file.dialect.thousands):
        return pa.string()
    return file.types.get(name, pa.float64())
