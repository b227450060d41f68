"""What models say of rows, to a file: block by block, in their order, whole or not at all."""

from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import chain
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from suffice.cli.copied import CopiedColumns
from suffice.cli.preparation import Unseen
from suffice.cli.rows import OnePiece
from suffice.engines.passes import in_order
from suffice.fitting.files.storage import check_writable, written_whole
from suffice.sources import Block, Columns, Piece, Source

CELLS_WRITTEN_AT_ONCE = 1 << 17

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


class Answers(NamedTuple):
    """What a model says of rows: the columns that it gives, and their names."""

    function: Callable[[Source], Any]
    names: list[str]


def predictions(saved: Any, proba: bool) -> Answers:
    """Predictions, probabilities of the classes, or logarithms of a density."""
    model = saved.model
    if proba:
        if not hasattr(model, "predict_proba"):
            raise ValueError(f"{type(model).__name__} gives no probabilities: leave out --proba")
        return Answers(model.predict_proba, [f"probability_{label}" for label in model.classes_])
    if hasattr(model, "predict"):
        return Answers(model.predict, ["prediction"])
    if hasattr(model, "score_samples") and not hasattr(model, "transform"):
        return Answers(model.score_samples, ["log_density"])
    raise ValueError(f"{type(model).__name__} predicts nothing: `suffice transform` applies it")


def transformed(saved: Any) -> Answers:
    """The rows as a transformer changes them."""
    if not hasattr(saved.model, "transform"):
        raise ValueError(
            f"{type(saved.model).__name__} does not transform rows: `suffice predict` applies it"
        )

    def function(rows: Source) -> Any:
        parts = [piece.load().X for piece in saved.model.transform(rows).pieces()]
        if isinstance(parts[0], Columns):
            return Columns.concatenate(parts)
        return np.concatenate([_dense(part) for part in parts])

    names = saved.model.get_feature_names_out(saved.coefficient_names)
    return Answers(function, [str(name) for name in names])


def write_answers(
    saved: Any, source: Source, path: str, answers: Answers, copied: CopiedColumns
) -> tuple[int, Unseen]:
    """Write what a model says of every row; return their number, and what it had never seen.

    Parameters
    ----------
    saved : Saved
    source : Source
        The columns that the model reads.
    path : str
        A file, or "-" for standard output.
    answers : Answers
    copied : CopiedColumns
        Columns of the same rows, to be written beside the answers.
    """
    if both := [name for name in copied.names if name in answers.names]:
        raise ValueError(f"--keep {both[0]!r}: the output has another column of that name")
    unseen = Unseen(saved.preparation)

    def answer_block(block: Block) -> tuple[Any, Any]:
        strange = np.zeros(len(unseen.known), np.int64)
        if isinstance(block.X, Columns):
            strange = unseen.count(block.X)
        found = _columns(answers.function(saved.prepared(OnePiece(source, block))))
        names = answers.names
        if len(names) != len(found):
            names = [f"{names[0]}_{i}" for i in range(len(found))]
        return _table(found, names), strange

    def answer_run(run: list[Piece]) -> list[tuple[Any, Any]]:
        return [answer_block(piece.load()) for piece in run]

    n_rows, writer = 0, cast(Any, None)
    with closing(in_order(source, answer_run)) as runs, _opened(path) as file:
        for part in _joined(chain.from_iterable(runs), unseen):
            table = copied.beside(part)
            if writer is None:
                writer, schema = _writer(file, output_format(path), table.schema), table.schema
            writer.write(table.cast(schema))
            n_rows += len(table)
        writer.close()
    return n_rows, unseen


def _joined(parts: Iterator[tuple[Any, Any]], unseen: Unseen) -> Iterator[Any]:
    """Tables of some length: Parquet keeps what is written at once together."""
    import pyarrow as pa

    waiting: list[Any] = []
    for part, strange in parts:
        unseen.add(strange)
        waiting.append(part)
        if sum(map(len, waiting)) * part.num_columns >= CELLS_WRITTEN_AT_ONCE:
            yield pa.concat_tables(waiting, promote_options="permissive")
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting, promote_options="permissive")


def _columns(answers: Any) -> list[NDArray[Any]]:
    """What a model gave, column by column."""
    if isinstance(answers, Columns):
        return list(answers.columns)
    values = np.asarray(_dense(answers))
    return list(values.reshape(len(values), -1).T)


def _dense(rows: Any) -> Any:
    return rows.toarray() if issparse(rows) else rows


def _table(columns: list[NDArray[Any]], names: list[str]) -> Any:
    import pyarrow as pa

    arrays = [pa.array(np.ascontiguousarray(column), from_pandas=True) for column in columns]
    arrays = [a.cast(pa.string()) if pa.types.is_null(a.type) else a for a in arrays]
    return pa.Table.from_arrays(arrays, names)


def _writer(file: Any, file_format: str, schema: Any) -> Any:
    import pyarrow as pa

    sink = pa.PythonFile(_Sink(file), mode="w")
    if file_format == "csv":
        from pyarrow.csv import CSVWriter, WriteOptions

        header = io.StringIO()  # Arrow would put every name in quotes
        csv.writer(header, lineterminator="\n").writerow(schema.names)
        sink.write(header.getvalue().encode())
        try:
            return CSVWriter(sink, schema, write_options=WriteOptions(include_header=False))
        except pa.ArrowInvalid as error:  # a list, say, that --keep names
            raise ValueError(f"{error}; CSV cannot hold it, write a .parquet file") from error
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
