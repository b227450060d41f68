"""Parquet files, a little at a time.

Memory stays flat whatever the size of the row groups.  Groups that are small enough are
decoded whole, which is quickest; larger ones batch by batch.  Each column is read through a
small buffer, and nothing is fetched ahead.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

BUFFERS = 1 << 24  # bytes of file buffers, all columns together
SMALLEST_BUFFER, LARGEST_BUFFER = 1 << 14, 1 << 16

CELLS_AT_ONCE = 1 << 23  # values of row groups that are decoded whole: 64 MB of float64


def describe(path: str) -> tuple[Any, int]:
    """Arrow schema and number of rows, from the footer."""
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path) as file:
        return file.schema_arrow, file.metadata.num_rows


def batches(
    path: str,
    columns: Sequence[str],
    batch_rows: int,
    start: int = 0,
    stop: int | None = None,
) -> Generator[tuple[int, Any], None, None]:
    """The columns as record batches, in the order of the file, after their first rows' numbers.

    A batch is a row group, or `batch_rows` rows where that would be too much.  Row groups that
    hold none of the rows `start` to `stop` are not read.
    """
    from pyarrow.parquet import ParquetFile

    names = list(columns)
    share = BUFFERS // max(len(names), 1)
    buffer_size = min(max(share, SMALLEST_BUFFER), LARGEST_BUFFER)
    most_rows = max(CELLS_AT_ONCE // max(len(names), 1), batch_rows)
    options: dict[str, Any] = {"buffer_size": buffer_size, "pre_buffer": False, "memory_map": False}
    with ParquetFile(path, metadata=_footer(path, *_version(path)), **options) as file:
        for row, groups, n_rows in _together(file.metadata, most_rows, start, stop):
            if n_rows > most_rows:
                few = file.iter_batches(batch_rows, row_groups=groups, columns=names)
                yield from _numbered(row, few)
            else:
                yield from _numbered(row, file.read_row_groups(groups, columns=names).to_batches())


def _version(path: str) -> tuple[int, int, int]:
    status = os.stat(path)
    return status.st_ino, status.st_size, status.st_mtime_ns


@lru_cache(maxsize=4)
def _footer(path: str, *version: int) -> Any:
    """Where the columns of all row groups lie: many pieces of a file are read, one by one."""
    from pyarrow.parquet import read_metadata

    return read_metadata(path)


def _numbered(row: int, batches: Iterable[Any]) -> Iterator[tuple[int, Any]]:
    for batch in batches:
        yield row, batch
        row += batch.num_rows


def _together(
    metadata: Any, most_rows: int, start: int, stop: int | None
) -> Iterator[tuple[int, list[int], int]]:
    """Consecutive row groups to read at once, at least one: their first row, and how many."""
    groups: list[int] = []
    row = total = 0
    for i in range(metadata.num_row_groups):
        if stop is not None and row >= stop:
            break
        n_rows = metadata.row_group(i).num_rows
        if groups and total + n_rows > most_rows:
            yield row - total, groups, total
            groups, total = [], 0
        if row + n_rows > start:
            groups.append(i)
            total += n_rows
        row += n_rows
    if groups:
        yield row - total, groups, total
