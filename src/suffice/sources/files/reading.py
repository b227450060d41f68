"""The rows of one file as Arrow record batches: all of them, or a range."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from suffice.sources.base import block_rows
from suffice.sources.files import arrow, csv, parquet
from suffice.sources.files.columns import NUMBERS, kind_of
from suffice.sources.files.schema import DELIMITERS, Selection, unreadable

CELLS_PER_BATCH = 1 << 20  # values read at a time: 8 MB of float64


@dataclass(frozen=True)
class DataFile:
    """One file of a source.

    Attributes
    ----------
    path, format : str
    n_rows : int or None
        None where only reading tells.
    flags : frozenset of str
        Columns of a CSV file that hold true and false.
    """

    path: str
    format: str
    n_rows: int | None
    flags: frozenset[str] = frozenset()

    def changed(self, how: str) -> ValueError:
        """The error for a file that is not what it was."""
        return ValueError(f"{self.path!r} has changed since it was scanned: {how}.")


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
    import pyarrow as pa

    size = block_rows(len(selection.features))
    batch_rows = CELLS_PER_BATCH // len(columns)
    batch_rows = max(batch_rows - batch_rows % size, size)
    found: Generator[tuple[int, Any], None, None]
    try:
        if file.format in DELIMITERS:
            types = {name: _text_type(file, selection, name) for name in columns}
            found = csv.batches(file.path, DELIMITERS[file.format], types)
        elif file.format == "parquet":
            found = parquet.batches(file.path, columns, batch_rows, start, stop)
        else:
            found = arrow.batches(file.path, columns, batch_rows)
        checked = False
        with closing(found):
            for row, batch in found:
                if stop is not None and row >= stop:
                    return
                if not isinstance(batch, csv.Lines):
                    batch = batch.select(list(columns))
                    if not checked:
                        _check_kinds(file, selection, batch.schema)
                        checked = True
                yield row, batch
    except (pa.ArrowException, OSError) as error:
        raise unreadable(file.path, file.format, error) from error
    except KeyError as error:
        raise file.changed(error.args[0]) from error


def _check_kinds(file: DataFile, selection: Selection, schema: Any) -> None:
    """Whether columns hold numbers and text as they did when the file was scanned."""
    for field in schema:
        is_text = field.name in selection.texts
        if kind_of(field.type) not in ({"text", "null"} if is_text else NUMBERS):
            raise file.changed(
                f"column {field.name!r} is now of type {field.type}, "
                f"not {'text' if is_text else 'numeric'}"
            )


def _text_type(file: DataFile, selection: Selection, name: str) -> Any:
    """Arrow type that a CSV column is read as."""
    import pyarrow as pa

    if name in selection.texts:
        return pa.string()
    return pa.bool_() if name in file.flags else pa.float64()
