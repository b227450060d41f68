"""CSV files: cut into lines by one thread, turned into numbers by many.

Reading cuts the text into chunks of whole lines and only counts them; a chunk is
parsed where its numbers are needed.  Where lines cannot be told by their ends
alone (quotes, blank lines), the rest of the file is parsed while it is read.

The type of a column is never guessed from the first lines alone: features and
weights are numbers (or true and false) by definition, and a target whose first
lines are numbers is numbers.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from threading import Lock
from typing import Any, NoReturn

import numpy as np

CHUNK_BYTES = 1 << 20
LINES_PER_CHUNK = 16  # at least: the reader cannot parse a line longer than its chunk
LONGEST_LINE = 1 << 26

_BAD_VALUE = re.compile(r"In CSV column #(\d+):(?: Row #(\d+):)? .*invalid value '(.*)'", re.S)
_BAD_LINE = re.compile(r"CSV parse error:(?: Row #(\d+):)? Expected (\d+) columns, got (\d+)")


def describe(path: str, delimiter: str) -> tuple[Any, bool]:
    """Arrow schema as the first lines suggest it, and whether there is any row."""
    import pyarrow as pa

    layout = Layout(path, delimiter, [], {})
    with pa.input_stream(path, compression="detect") as stream:
        header = next(_whole_lines(stream), b"")
    if header and not header.endswith(b"\n") and b"\r" not in header:
        return layout.parse_header(header), False
    with closing(layout.read(0)) as rest:
        schema = next(rest)
        return schema, next(rest, None) is not None


def batches(
    path: str, delimiter: str, types: Mapping[str, Any]
) -> Generator[tuple[int, Any], None, None]:
    """The columns in `types`, read as these Arrow types: `Lines`, then record batches.

    Each comes after the number of its first row.
    """
    import pyarrow as pa

    layout = Layout(path, delimiter, [], types)
    n_rows = 0
    with pa.input_stream(path, compression="detect") as stream:
        chunks = _whole_lines(stream)
        header = next(chunks, b"")
        if _is_one_line(header):
            layout.names = layout.parse_header(header).names
            for text in chunks:
                count = _count_lines(text)
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

    def __init__(
        self, path: str, delimiter: str, names: list[str], types: Mapping[str, Any]
    ) -> None:
        self.path, self.delimiter, self.names, self.types = path, delimiter, names, types

    def options(self, **read_options: Any) -> dict[str, Any]:
        from pyarrow import csv

        return {
            # The streaming reader gains nothing from threads; without them its errors tell the row.
            "read_options": csv.ReadOptions(use_threads=False, **read_options),
            "parse_options": csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            "convert_options": csv.ConvertOptions(
                column_types=dict(self.types), include_columns=list(self.types)
            ),
        }

    def parse_header(self, header: bytes) -> Any:
        """Arrow schema of the first line: names without types."""
        import pyarrow as pa
        from pyarrow import csv

        line = header.rstrip(b"\r\n") + b"\n"
        plain = Layout(self.path, self.delimiter, [], {}).options(block_size=len(line) + 1)
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
            self.explain(error, first_row + 1)
        return self.without_blanks(table.combine_chunks().to_batches()[0])

    def read(self, skip_rows: int) -> Generator[Any, None, None]:
        """The Arrow schema, then the file from row `skip_rows` on, parsed while it is read."""
        from pyarrow import csv

        block_size = max(CHUNK_BYTES, LINES_PER_CHUNK * _first_line_bytes(self.path))
        options = self.options(block_size=block_size, skip_rows_after_names=skip_rows)
        with closing(Stream(self.path)) as stream:
            try:
                reader = csv.open_csv(stream, **options)
                self.names = self.names or reader.schema.names
                yield reader.schema
                for batch in reader:
                    yield self.without_blanks(batch)
            except ValueError as error:
                self.explain(error)

    def without_blanks(self, batch: Any) -> Any:
        """Labels of no character become missing values."""
        import pyarrow as pa
        from pyarrow import compute

        for i, field in enumerate(batch.schema):
            if pa.types.is_string(field.type):
                column = batch.column(i)
                nothing = pa.scalar(None, field.type)
                column = compute.if_else(compute.equal(column, ""), nothing, column)
                batch = batch.set_column(i, field, column)
        return batch

    def explain(self, error: Exception, rows_before: int = 0) -> NoReturn:
        """Raise what the CSV parser found, in words that name file, column and row."""

        def place(row: str | None) -> str:
            return f" in row {rows_before + int(row)} (the header is row 1)" if row else ""

        text = str(error)
        if bad := _BAD_VALUE.search(text):
            column = int(bad[1])
            name = repr(self.names[column]) if self.names else f"number {column + 1}"
            message = (
                f"Column {name} of {self.path!r} holds {bad[3]!r}{place(bad[2])}, which is not a "
                "number; accepted are numbers, and nothing, NA or NaN where a value is missing."
            )
        elif bad := _BAD_LINE.search(text):
            message = (
                f"{self.path!r} has {bad[3]} values{place(bad[1])}, but {bad[2]} columns in its "
                "header; every row needs one value a column."
            )
        else:
            message = f"{self.path!r} cannot be read as CSV: {text.splitlines()[0]}."
        raise ValueError(message) from error


class Stream:
    """The bytes of a file, decompressed; safe to close while another thread reads ahead."""

    def __init__(self, path: str) -> None:
        import pyarrow as pa

        self._stream = pa.input_stream(path, compression="detect")
        self._lock = Lock()
        self.closed = False

    def read(self, size: int) -> bytes:
        with self._lock:
            return b"" if self.closed else self._stream.read(size)

    def close(self) -> None:
        with self._lock:
            self._stream.close()
            self.closed = True


def _whole_lines(stream: Any) -> Iterator[bytes]:
    """The first line, then the rest in chunks that end where a line ends."""
    text, is_header = b"", True
    while chunk := stream.read(CHUNK_BYTES):
        end = (chunk.find(b"\n") if is_header else chunk.rfind(b"\n")) + 1
        if end:
            yield b"".join((text, memoryview(chunk)[:end]))
            text, is_header = chunk[end:], False
        elif len(text) > LONGEST_LINE:
            yield b""  # no newlines here: lines must end in another way
        else:
            text += chunk
    if text:
        yield text


def _is_one_line(header: bytes) -> bool:
    """Whether the first newline of a file is certain to end its header."""
    return bool(header.strip()) and header.count(b'"') % 2 == 0 and b"\r" not in header[:-2]


def _count_lines(text: bytes) -> int | None:
    """Number of rows in whole lines, or None if newlines do not tell it."""
    if b'"' in text:
        return None
    characters = np.frombuffer(text, dtype=np.uint8)
    ends = np.flatnonzero(characters == ord("\n"))
    blank = 1  # bytes of a line that holds nothing
    if b"\r" in text:
        blank = 2
        if np.count_nonzero(characters == ord("\r")) != np.count_nonzero(
            characters[ends[ends > 0] - 1] == ord("\r")
        ):
            return None
    if not text or (np.diff(ends, prepend=-1) <= blank).any():
        return None
    return len(ends) + (not text.endswith(b"\n"))


def _first_line_bytes(path: str) -> int:
    """Length of the first line, in bytes."""
    import pyarrow as pa

    size = 0
    with pa.input_stream(path, compression="detect") as stream:
        while size < LONGEST_LINE and (chunk := stream.read(CHUNK_BYTES)):
            ends = [end for end in (chunk.find(b"\n"), chunk.find(b"\r")) if end >= 0]
            if ends:
                return size + min(ends)
            size += len(chunk)
    return size
