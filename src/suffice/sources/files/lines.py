"""The lines of CSV files: where they end, how many rows they are, what an editor calls them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np

from suffice.sources.files.dialect import Dialect, open_text

CHUNK_BYTES = 1 << 20
LONGEST_LINE = 1 << 26


def whole_lines(stream: Any) -> Iterator[bytes]:
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


def is_one_line(header: bytes) -> bool:
    """Whether the first newline of a file is certain to end its header."""
    return bool(header.strip()) and header.count(b'"') % 2 == 0 and b"\r" not in header[:-2]


def count_lines(text: bytes) -> int | None:
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


def first_line_bytes(path: str, encoding: str) -> int:
    """Length of the first line, in bytes."""
    size = 0
    with open_text(path, encoding) as stream:
        while size < LONGEST_LINE and (chunk := stream.read(CHUNK_BYTES)):
            ends = [end for end in (chunk.find(b"\n"), chunk.find(b"\r")) if end >= 0]
            if ends:
                return size + min(ends)
            size += len(chunk)
    return size


def line_of(path: str, dialect: Dialect, row: int) -> int | None:
    """The line, as an editor counts, in which a row begins; None if there is no such row.

    As far as there are neither quotes nor blank lines, lines are rows.
    """
    wanted = row + dialect.header
    before = 0
    with open_text(path, dialect.encoding) as stream:
        chunks = whole_lines(stream)
        for text in chunks:
            count = count_lines(text)
            if count is None:
                break
            if before + count > wanted:
                return wanted + 1
            before += count
        else:
            return None
        lines = (
            line
            for part in chain([text], chunks)
            for line in io.StringIO(part.decode(errors="replace").lstrip("\ufeff"), newline="")
        )
        records = csv.reader(lines, delimiter=dialect.sep)
        first, n_records = before + 1, before
        try:
            for cells in records:
                if cells:
                    if n_records == wanted:
                        return first
                    n_records += 1
                first = before + records.line_num + 1
        except csv.Error:  # a cell of more than 131,072 characters
            return None
    return None
