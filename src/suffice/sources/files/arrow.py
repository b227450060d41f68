"""Arrow IPC files and streams (also known as Feather), read in place.

A large file is mapped into memory, so that a record batch of any size costs only
the pages in use; these are given back to the system after each batch of rows.
A compressed record batch is decompressed whole, in the columns asked for.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Generator, Iterator, Sequence
from typing import Any

_FILE_MAGIC = b"ARROW1"
_MAPPED_FROM = 1 << 24  # bytes; a map keeps its file open, and there may be thousands of files

# Positions of fields in the metadata tables of the IPC format (File.fbs, Message.fbs).
_FOOTER_BATCHES = 3
_MESSAGE_HEADER = 2
_BATCH_LENGTH, _BATCH_COMPRESSION = 0, 3
_BLOCK_BYTES = 24  # where a record batch lies in the file


def describe(path: str) -> tuple[Any, int]:
    """Arrow schema and number of rows, from the metadata alone."""
    content = Content(path)
    return content.open().schema, sum(length for length, _ in content.batch_headers())


def batches(
    path: str, columns: Sequence[str], batch_rows: int
) -> Generator[tuple[int, Any], None, None]:
    """The columns as record batches of at most `batch_rows` rows, after their first rows."""
    content, row = Content(path), 0
    reader = content.open()
    if any(is_compressed for _, is_compressed in content.batch_headers()):
        # Only now: choosing columns while reading copies what could be used in place.
        reader = content.open(columns)
    for batch in _record_batches(reader):
        wanted = batch.select(list(columns))
        wanted.validate(full=True)
        for start in range(0, wanted.num_rows, batch_rows):
            yield row + start, wanted.slice(start, batch_rows)
            content.forget_pages()
        row += wanted.num_rows


class Content:
    """The bytes of a file: read if they are few, else mapped into memory."""

    def __init__(self, path: str) -> None:
        import pyarrow as pa

        self.mapping: mmap.mmap | None = None
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size < _MAPPED_FROM:
                self.buffer = pa.py_buffer(file.read())
            else:
                self.mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                self.buffer = pa.py_buffer(self.mapping)
        self.is_stream = self.buffer[: len(_FILE_MAGIC)].to_pybytes() != _FILE_MAGIC

    def open(self, columns: Sequence[str] | None = None) -> Any:
        """A reader of the named columns, or of all."""
        from pyarrow import ipc

        opener = ipc.open_stream if self.is_stream else ipc.open_file
        if columns is None:
            return opener(self.buffer)
        schema = opener(self.buffer).schema
        fields = sorted(schema.names.index(name) for name in columns if name in schema.names)
        return opener(self.buffer, options=ipc.IpcReadOptions(included_fields=fields))

    def batch_headers(self) -> Iterator[tuple[int, bool]]:
        """Number of rows of each record batch, and whether it is compressed."""
        from pyarrow import ipc

        if self.is_stream:
            messages = ipc.MessageReader.open_stream(self.buffer)
        else:
            messages = (ipc.read_message(self.buffer.slice(start)) for start in self._blocks())
        for message in messages:
            if message.type == "record batch":
                batch = FlatTable(message.metadata.to_pybytes()).table(_MESSAGE_HEADER)
                yield batch.integer(_BATCH_LENGTH), batch.has(_BATCH_COMPRESSION)

    def _blocks(self) -> list[int]:
        """Where the record batches begin, as the footer of a file tells."""
        tail = len(_FILE_MAGIC) + 4  # the file ends with the footer, its length and the magic
        end = self.buffer.size - tail
        length = struct.unpack("<i", self.buffer[end : end + 4].to_pybytes())[0]
        footer = FlatTable(self.buffer[end - length : end].to_pybytes())
        return footer.first_integers(_FOOTER_BATCHES, _BLOCK_BYTES)

    def forget_pages(self) -> None:
        """Drop the pages read so far from this process; who still needs one maps it again."""
        if self.mapping is not None and hasattr(self.mapping, "madvise"):
            self.mapping.madvise(mmap.MADV_DONTNEED)


def _record_batches(reader: Any) -> Iterator[Any]:
    count = getattr(reader, "num_record_batches", None)
    if count is None:
        yield from reader
    else:
        for i in range(count):
            yield reader.get_batch(i)


class FlatTable:
    """A table of a flatbuffer: fields by number, each of which may be absent."""

    def __init__(self, data: bytes, position: int | None = None) -> None:
        self.data = data
        self.position = self._number("<I", 0) if position is None else position

    def _number(self, layout: str, position: int) -> int:
        return int(struct.unpack_from(layout, self.data, position)[0])

    def _field(self, index: int) -> int:
        """Position of a field, 0 if it is absent."""
        fields = self.position - self._number("<i", self.position)
        slot = 4 + 2 * index
        offset = self._number("<H", fields + slot) if slot < self._number("<H", fields) else 0
        return self.position + offset if offset else 0

    def has(self, index: int) -> bool:
        return self._field(index) > 0

    def integer(self, index: int) -> int:
        """A 64-bit field, 0 if it is absent."""
        position = self._field(index)
        return self._number("<q", position) if position else 0

    def table(self, index: int) -> FlatTable:
        position = self._field(index)
        return FlatTable(self.data, position + self._number("<I", position))

    def first_integers(self, index: int, stride: int) -> list[int]:
        """First 64 bits of each structure in a vector of structures of `stride` bytes."""
        position = self._field(index)
        if not position:
            return []
        vector = position + self._number("<I", position)
        count = self._number("<I", vector)
        return [self._number("<q", vector + 4 + i * stride) for i in range(count)]
