"""Predictions to a file: block by block, in the rows' order, whole or not at all."""

from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.engines.passes import in_order
from suffice.fitting.files.storage import check_writable, written_whole
from suffice.sources import Piece, Source

ROWS_WRITTEN_AT_ONCE = 1 << 17

FORMATS = {
    ".csv": "csv", ".parquet": "parquet", ".pq": "parquet",
    ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow",
}  # fmt: skip


def output_format(path: str) -> str:
    """How a file of this name is to be written; checks that it can be."""
    if path == "-":
        return "csv"
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in FORMATS:
        raise ValueError(
            f"cannot tell from {path!r} how to write the predictions; the name may end in "
            f"{', '.join(FORMATS)}, or be - for CSV on standard output"
        )
    check_writable(path)
    return FORMATS[suffix]


def write_predictions(model: Any, source: Source, path: str, proba: bool) -> int:
    """Predict every row and write the results; return how many there were.

    Parameters
    ----------
    model : fitted model
    source : Source
    path : str
        A file, or "-" for standard output.
    proba : bool
        Whether probabilities of the classes are wanted instead of predictions.
    """
    predict = _predictor(model, proba)

    def predict_run(run: list[Piece]) -> NDArray[Any]:
        return np.concatenate([predict(_OnePiece(source, piece)) for piece in run])

    rows = 0
    with closing(in_order(source, predict_run)) as runs, _opened(path) as file:
        writer: Any = None
        for part in _joined(runs):
            table = _table(part, model, proba)
            if writer is None:
                writer = _writer(file, output_format(path), table.schema)
            writer.write(table)
            rows += len(part)
        writer.close()
    return rows


def _predictor(model: Any, proba: bool) -> Callable[[Source], NDArray[Any]]:
    name = "predict_proba" if proba else "predict"
    if not hasattr(model, name):
        what = "no probabilities: leave out --proba" if proba else "nothing"
        raise ValueError(f"{type(model).__name__} predicts {what}")
    return getattr(model, name)


class _OnePiece(Source):
    """One piece of a source as a source of its own; its rows keep their numbers and names."""

    def __init__(self, source: Source, piece: Piece) -> None:
        self.source, self.piece = source, piece
        self.n_columns, self.n_rows = source.n_columns, piece.n_rows
        self.feature_names = source.feature_names

    def pieces(self) -> Iterator[Piece]:
        yield self.piece

    def row_label(self, row: int) -> str:
        return self.source.row_label(row)


def _joined(parts: Iterator[NDArray[Any]]) -> Iterator[NDArray[Any]]:
    """Parts of some length: Parquet keeps what is written at once together."""
    waiting: list[NDArray[Any]] = []
    for part in parts:
        waiting.append(part)
        if sum(map(len, waiting)) >= ROWS_WRITTEN_AT_ONCE:
            yield np.concatenate(waiting)
            waiting = []
    if waiting:
        yield np.concatenate(waiting)


def _table(values: NDArray[Any], model: Any, proba: bool) -> Any:
    import pyarrow as pa

    if proba:
        names = [f"probability_{label}" for label in model.classes_]
    elif values.ndim == 2:
        names = [f"prediction_{i}" for i in range(values.shape[1])]
    else:
        names = ["prediction"]
    columns = values.reshape(len(values), -1).T
    return pa.Table.from_arrays([pa.array(np.ascontiguousarray(c)) for c in columns], names)


def _writer(file: Any, file_format: str, schema: Any) -> Any:
    import pyarrow as pa

    sink = pa.PythonFile(_Sink(file), mode="w")
    if file_format == "csv":
        from pyarrow.csv import CSVWriter, WriteOptions

        header = io.StringIO()  # Arrow would put every name in quotes
        csv.writer(header, lineterminator="\n").writerow(schema.names)
        sink.write(header.getvalue().encode())
        return CSVWriter(sink, schema, write_options=WriteOptions(include_header=False))
    if file_format == "parquet":
        from pyarrow import parquet

        return parquet.ParquetWriter(sink, schema)
    return pa.ipc.new_file(sink, schema)


class _Sink:
    """A file that Arrow can write to, and not close."""

    closed = False

    def __init__(self, file: Any) -> None:
        self.file, self.position = file, 0

    def write(self, content: Any) -> int:
        self.file.write(content)
        self.position += len(content)
        return len(content)

    def tell(self) -> int:
        return self.position

    def flush(self) -> None:
        self.file.flush()

    def close(self) -> None: ...


@contextmanager
def _opened(path: str) -> Iterator[Any]:
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    else:
        with written_whole(path) as file:
            yield file
