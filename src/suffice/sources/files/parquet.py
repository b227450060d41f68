"""Parquet files, a little at a time.

Memory stays flat whatever the size of the row groups.  Groups that are small enough are
decoded whole, which is quickest; larger ones batch by batch.  Each column is read through a
small buffer, and nothing is fetched ahead.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import Any

BUFFERS = 1 << 24  # bytes of file buffers, all columns together
SMALLEST_BUFFER, LARGEST_BUFFER = 1 << 14, 1 << 16

CELLS_AT_ONCE = 1 << 23  # values of row groups that are decoded whole: 64 MB of float64


def describe(path: str) -> tuple[Any, int]:
    """Arrow schema and number of rows, from the footer."""
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path) as file:
        return file.schema_arrow, file.metadata.num_rows


def batches(path: str, columns: Sequence[str], batch_rows: int) -> Generator[Any, None, None]:
    """The columns as record batches, in the order of the file.

    A batch is a row group, or `batch_rows` rows where that would be too much.
    """
    from pyarrow.parquet import ParquetFile

    names = list(columns)
    share = BUFFERS // max(len(names), 1)
    buffer_size = min(max(share, SMALLEST_BUFFER), LARGEST_BUFFER)
    most_rows = max(CELLS_AT_ONCE // max(len(names), 1), batch_rows)
    with ParquetFile(path, buffer_size=buffer_size, pre_buffer=False, memory_map=False) as file:
        for groups, n_rows in _together(file.metadata, most_rows):
            if n_rows > most_rows:
                yield from file.iter_batches(batch_rows, row_groups=groups, columns=names)
            else:
                yield from file.read_row_groups(groups, columns=names).to_batches()


def _together(metadata: Any, most_rows: int) -> Iterator[tuple[list[int], int]]:
    """Consecutive row groups to read at once, at least one, and how many rows they have."""
    groups: list[int] = []
    total = 0
    for i in range(metadata.num_row_groups):
        n_rows = metadata.row_group(i).num_rows
        if groups and total + n_rows > most_rows:
            yield groups, total
            groups, total = [], 0
        groups.append(i)
        total += n_rows
    if groups:
        yield groups, total
