"""CSV files: cut into lines by one thread, turned into numbers by many.

Reading cuts the text into chunks of whole lines and only counts them; a chunk is
parsed where its numbers are needed.  Where lines cannot be told by their ends
alone (quotes, blank lines), the rest of the file is parsed while it is read.

A column is what its first lines are: numbers, dates, true and false, or text.  Where a later
cell is something else, an error names its line as an editor counts them.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from contextlib import closing
from itertools import chain
from threading import Lock
from typing import Any, NoReturn

from suffice.sources.files import lines
from suffice.sources.files.dialect import Dialect, open_text
from suffice.sources.files.written_numbers import without_marks

LINES_PER_CHUNK = 16  # at least: the reader cannot parse a line longer than its chunk

_BAD_VALUE = re.compile(
    r"In CSV column #(\d+):(?: Row #(\d+):)? .*? to (\w+).*?: (?:.*? in |invalid value )'(.*)'",
    re.S,
)
_BAD_LINE = re.compile(r"CSV parse error:(?: Row #(\d+):)? Expected (\d+) columns, got (\d+)")
_BAD_TEXT = re.compile(r"(?: Row #(\d+):)?[^:]*: invalid UTF8 data|codec can't decode")
_EXPECTED = {
    "double": "a number; accepted are numbers",
    "bool": "true or false; accepted are these",
    "timestamp": "a date; accepted are dates such as 2024-05-01 and 2024-05-01 12:30:00",
}


def describe(path: str, dialect: Dialect) -> tuple[Any, Any]:
    """Arrow schema as the first lines suggest it, and the first rows, or None if there is none."""
    layout = Layout(path, dialect, {})
    with open_text(path, dialect.encoding) as stream:
        header = next(lines.whole_lines(stream), b"")
    if dialect.header and header and not header.endswith(b"\n") and b"\r" not in header:
        return layout.parse_header(header), None
    with closing(layout.read(0)) as rest:
        schema = next(rest)
        return schema, next(rest, None)


def batches(
    path: str, dialect: Dialect, types: Mapping[str, Any]
) -> Generator[tuple[int, Any], None, None]:
    """The columns in `types`, read as these Arrow types: `Lines`, then record batches.

    Each comes after the number of its first row.
    """
    layout = Layout(path, dialect, types)
    n_rows = 0
    with open_text(path, dialect.encoding) as stream:
        chunks = lines.whole_lines(stream)
        header = next(chunks, b"")
        if lines.is_one_line(header):
            if not layout.names:
                layout.names = layout.parse_header(header).names
            for text in chunks if dialect.header else chain([header], chunks):
                count = lines.count_lines(text)
                if count is None:
                    break
                yield n_rows, Lines(layout, text, n_rows, count)
                n_rows += count
            else:
                return
    with closing(layout.read(n_rows)) as rest:
        next(rest)
        for batch in rest:
            yield n_rows, batch
            n_rows += batch.num_rows


class Lines:
    """Whole lines of a CSV file, parsed when first asked for.

    Two pieces can share a chunk, on two threads: the second waits for the first.
    """

    __slots__ = ("layout", "text", "first_row", "num_rows", "_batch", "_lock")

    def __init__(self, layout: Layout, text: bytes, first_row: int, num_rows: int) -> None:
        self.layout, self.text = layout, text
        self.first_row, self.num_rows = first_row, num_rows
        self._batch: Any = None
        self._lock = Lock()

    def read(self) -> Any:
        """The lines as one record batch."""
        with self._lock:
            if self._batch is None:
                batch = self.layout.parse(self.text, self.first_row)
                if batch.num_rows != self.num_rows:
                    raise ValueError(
                        f"{self.layout.path!r} cannot be cut into rows by its newlines; quote "
                        "values that contain any."
                    )
                self._batch, self.text = batch, b""
            return self._batch


class Layout:
    """How the lines of one CSV file are written, and what is wanted from them."""

    def __init__(self, path: str, dialect: Dialect, types: Mapping[str, Any]) -> None:
        self.path, self.dialect, self.types = path, dialect, types
        self.names = list(dialect.names)

    def options(self, **read_options: Any) -> dict[str, Any]:
        from pyarrow import csv

        dialect = self.dialect
        return {
            # The streaming reader gains nothing from threads; without them its errors tell the row.
            "read_options": csv.ReadOptions(use_threads=False, **read_options),
            "parse_options": csv.ParseOptions(delimiter=dialect.sep, newlines_in_values=True),
            "convert_options": csv.ConvertOptions(
                column_types=dict(self.types),
                include_columns=list(self.types),
                decimal_point=dialect.decimal,
                null_values=dialect.all_missing,
            ),
        }

    def parse_header(self, header: bytes) -> Any:
        """Arrow schema of the first line: names without types."""
        import pyarrow as pa
        from pyarrow import csv

        line = header.rstrip(b"\r\n") + b"\n"
        plain = Layout(self.path, self.dialect, {}).options(block_size=len(line) + 1)
        try:
            return csv.read_csv(pa.BufferReader(line), **plain).schema
        except ValueError as error:
            self.explain(error)

    def parse(self, text: bytes, first_row: int) -> Any:
        """Lines without a header as one record batch."""
        import pyarrow as pa
        from pyarrow import csv

        options = self.options(column_names=self.names, block_size=len(text) + 1)
        try:
            table = csv.read_csv(pa.BufferReader(text), **options)
        except ValueError as error:
            self.explain(error, first_row)
        return self.finished(table.combine_chunks().to_batches()[0], first_row)

    def read(self, skip_rows: int) -> Generator[Any, None, None]:
        """The Arrow schema, then the file from row `skip_rows` on, parsed while it is read."""
        from pyarrow import csv

        encoding = self.dialect.encoding
        longest = LINES_PER_CHUNK * lines.first_line_bytes(self.path, encoding)
        block_size = max(lines.CHUNK_BYTES, longest)
        options = self.options(
            block_size=block_size,
            skip_rows_after_names=skip_rows,
            column_names=list(self.dialect.names),
        )
        row = skip_rows
        with closing(Stream(self.path, encoding)) as stream:
            try:
                reader = csv.open_csv(stream, **options)
                self.names = self.names or reader.schema.names
                yield reader.schema
                for batch in reader:
                    yield self.finished(batch, row)
                    row += batch.num_rows
            except ValueError as error:
                self.explain(error, 0 if not self.dialect.header else -1)

    def finished(self, batch: Any, first_row: int) -> Any:
        """Text that means nothing becomes missing, and 1,234,567 a number."""
        import pyarrow as pa
        from pyarrow import compute

        missing = self.dialect.missing
        for i, field in enumerate(batch.schema):
            if not pa.types.is_string(field.type):
                continue
            column, mark = batch.column(i), self.dialect.thousands.get(field.name)
            if mark is None or field.name not in self.types:
                nothing = pa.scalar(None, field.type)
                empty = compute.equal(column, "")
                if missing:
                    empty = compute.or_(empty, compute.is_in(column, value_set=pa.array(missing)))
                batch = batch.set_column(i, field, compute.if_else(empty, nothing, column))
            else:
                values, bad = without_marks(
                    column, mark, self.dialect.decimal, self.dialect.all_missing
                )
                if bad is not None:
                    cell = column[bad].as_py()
                    raise BadCell(self.bad_value(field.name, cell, first_row + bad, "double"))
                batch = batch.set_column(i, field.name, values)
        return batch

    def explain(self, error: Exception, first_row: int = 0) -> NoReturn:
        """Raise what the CSV parser found, in words that name file, column and line.

        The parser counts from 1; `first_row` is the number of the first row that it saw, -1 if
        that was the header.
        """
        if isinstance(error, BadCell):
            raise error

        def row(number: str | None) -> int | None:
            return None if number is None else first_row + int(number) - 1

        text = str(error)
        if bad := _BAD_VALUE.search(text):
            column = int(bad[1])
            name = self.names[column] if self.names else column + 1
            message = self.bad_value(name, bad[4], row(bad[2]), bad[3])
        elif bad := _BAD_LINE.search(text):
            one_more = int(bad[3]) == int(bad[2]) + 1
            message = (
                f"{self.path!r} has {bad[3]} values{self.place(row(bad[1]))}, but {bad[2]} columns "
                "in its first line; every row needs one value a column"
                + (", and no separator after the last." if one_more else ".")
                + " Values that contain the separator or line ends must be in double quotes."
            )
        elif bad := _BAD_TEXT.search(text):
            message = (
                f"{self.path!r} holds bytes that are not {self.dialect.encoding}"
                f"{self.place(row(bad[1]))}; give the encoding it is written in, such as "
                "encoding='cp1252'."
            )
        elif "Empty CSV" in text:
            message = f"There are no rows in {self.path!r}."
        else:
            message = f"{self.path!r} cannot be read as CSV: {text.splitlines()[0]}."
        raise ValueError(message) from error

    def bad_value(self, name: object, cell: str, row: int | None, kind: str) -> str:
        """What to say of a cell that is not what its column is."""
        expected = _EXPECTED.get(kind, _EXPECTED["double"])
        hint = (
            f"Correct it, say missing=[{cell!r}] if it means that the value is not there, or leave "
            "the column out of features."
        )
        if kind == "double" and re.fullmatch(r"[+-]?[\d.,' ]+", cell):
            hint = "Give decimal=',' or thousands=',' (or another mark) if it is written so."
        return (
            f"Column {name!r} of {self.path!r} holds {cell!r}{self.place(row)}, which is not "
            f"{expected}, and nothing, NA, NaN, ? or - where a value is missing. {hint}"
        )

    def place(self, row: int | None) -> str:
        """Where a row is, in words, as far as it is known."""
        if row is None:
            return ""
        line = lines.line_of(self.path, self.dialect, row)
        return f" in record {row + 1}" if line is None else f" in line {line}"


class BadCell(ValueError):
    """A cell that is not what its column is, described."""


class Stream:
    """The bytes of a file, decompressed; safe to close while another thread reads ahead."""

    def __init__(self, path: str, encoding: str) -> None:
        self._stream = open_text(path, encoding)
        self._lock = Lock()
        self.closed = False

    def read(self, size: int) -> bytes:
        with self._lock:
            return b"" if self.closed else self._stream.read(size)

    def close(self) -> None:
        with self._lock:
            self._stream.close()
            self.closed = True
