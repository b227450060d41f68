"""Parquet files, a few pages at a time.

Memory stays flat whatever the size of the row groups: each column is read
through a small buffer and decoded batch by batch, and nothing is fetched ahead.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

BUFFERS = 1 << 24  # bytes of file buffers, all columns together
SMALLEST_BUFFER, LARGEST_BUFFER = 1 << 14, 1 << 20


def describe(path: str) -> tuple[Any, int]:
    """Arrow schema and number of rows, from the footer."""
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path) as file:
        return file.schema_arrow, file.metadata.num_rows


def batches(path: str, columns: Sequence[str], batch_rows: int) -> Generator[Any, None, None]:
    """The columns as record batches of at most `batch_rows` rows.

    Batches run across row groups; columns come in the order of the file.
    """
    from pyarrow.parquet import ParquetFile

    share = BUFFERS // max(len(columns), 1)
    buffer_size = min(max(share, SMALLEST_BUFFER), LARGEST_BUFFER)
    with ParquetFile(path, buffer_size=buffer_size, pre_buffer=False, memory_map=False) as file:
        yield from file.iter_batches(batch_size=batch_rows, columns=list(columns), use_threads=True)
