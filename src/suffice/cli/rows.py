"""Rows of files for a command, with a bar that moves as they are read."""

from __future__ import annotations

import copy
import os
import sys
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.cli.running import note
from suffice.sources import Block, Columns, FileSource, Piece, Source
from suffice.sources.derived.subset import SubsetSource
from suffice.sources.files.dialect import Dialect, check_options
from suffice.sources.files.schema import FileHeader, default_features
from suffice.sources.scan import scan_choosing

PATIENCE = 1.0
"""Seconds after which a bar appears."""


def open_rows(
    data: Sequence[str],
    output: str,
    dialect: Mapping[str, Any],
    target: Sequence[str] | None = None,
    weight: str | None = None,
    features: Sequence[str] | None = None,
    dropped: Sequence[str] | None = None,
) -> FileSource:
    """Rows to learn from, to forget or to predict.

    Parameters
    ----------
    data : sequence of str
    output : str
        A file that will be written: it may be none of those that are read.
    dialect : dict
        How the files are written, as far as the user says: arguments of `scan`.
    target, weight, features, dropped
        Names of columns.
    """
    targets = list(target or ())

    def choose(headers: Sequence[FileHeader]) -> list[str]:
        names = features or default_features(headers[0], {*targets, weight})
        if unknown := [name for name in dropped or () if name not in names]:
            raise ValueError(
                f"--drop {unknown[0]!r}: there is no such column to learn from; there are "
                f"{', '.join(map(repr, names))}"
            )
        kept = [name for name in names if name not in (dropped or ())]
        strange = {} if features else _unsupported(headers, kept)
        for name, type_name in strange.items():
            note(f"column {name!r} is left out: values of type {type_name} are no features")
        if not len(strange) < len(kept):
            raise ValueError(f"no column of {headers[0].path!r} is left to learn from")
        return [name for name in kept if name not in strange]

    source = scan_choosing(
        data[0] if len(data) == 1 else list(data),
        check_options(**dialect),
        targets[0] if len(targets) == 1 else targets or None,
        weight,
        choose,
    )
    if os.path.exists(output) and any(os.path.samefile(f.path, output) for f in source.files):
        raise ValueError(f"{output!r} is one of the files to be read: write to another one")
    _tell(source.dialect, features is not None)
    return source


def _unsupported(headers: Sequence[FileHeader], names: Sequence[str]) -> dict[str, str]:
    """Those of some columns that are neither numbers, dates nor text in a file, and their types."""
    return {
        name: str(header.schema.field(name).type)
        for header in headers
        for name in names
        if header.schema.names.count(name) == 1
        and header.kind(name) == "other"
        and not header.is_text
    }


def _tell(dialect: Dialect | None, named: bool) -> None:
    """Say in a line what is unusual about CSV files, unless it does not matter."""
    found = {} if dialect is None else dialect.unusual()
    if named:
        found.pop("features", None)  # columns without a name were not asked for
    if dialect is not None and found:
        guessed = [f"--{name}" for name in found if name not in dialect.given]
        advice = f" (change by {', '.join(guessed)})" if guessed else ""
        note(f"the file: {', '.join(found.values())}{advice}")


def with_columns(source: FileSource, kinds: Mapping[str, str]) -> FileSource:
    """The same rows with these columns as features: text where that is what they held before."""
    found = dict(zip(source.selection.features, source.column_kinds, strict=True))
    read_as = {
        name: kind if "text" in (kind, found.get(name, kind)) else found.get(name, kind)
        for name, kind in kinds.items()
    }
    texts = {name for name, kind in read_as.items() if kind == "text"}
    files = [
        replace(file, n_rows=n, types={k: t for k, t in file.types.items() if k not in texts})
        for file, n in zip(source.files, source._counts, strict=True)
    ]
    selection = replace(
        source.selection, features=tuple(read_as), column_kinds=tuple(read_as.values())
    )
    return FileSource(files, selection, source._first_text if texts else None, source._copy)


class WithTarget(SubsetSource):
    """The rows of files that have a target."""

    def __init__(self, source: FileSource, absent: NDArray[np.intp]) -> None:
        mask = np.ones(source.count_rows(), bool)
        mask[absent] = False
        super().__init__(source, mask)
        # Beside missing cells, whole numbers and flags were read as floats.
        kinds = {"int": np.int64, "bool": np.bool_}
        self.kind = kinds.get(source.selection.target_kind)

    def pieces(self) -> Iterator[Piece]:
        for piece in super().pieces():
            yield _Labelled(piece, self.kind)


class _Labelled:
    """A piece whose target is of one type."""

    __slots__ = ("kind", "n_rows", "piece", "start")

    def __init__(self, piece: Piece, kind: type[Any] | None) -> None:
        self.piece, self.kind = piece, kind
        self.start, self.n_rows = piece.start, piece.n_rows

    def load(self) -> Block:
        block = self.piece.load()
        if self.kind is None or block.y is None:
            return block
        whole = np.array_equal(block.y, np.trunc(block.y))
        return replace(block, y=block.y.astype(self.kind)) if whole else block


def without_absent(source: FileSource, absent: NDArray[np.intp]) -> Source:
    """The rows that have a target, and a note of how many have none."""
    if not len(absent):
        return source
    note(f"rows without a target, left out: {len(absent):,}")
    return WithTarget(source, absent)


def in_memory(source: Source) -> Source:
    """A source that reads its rows now, and keeps them."""
    kept, pieces = copy.copy(source), [OnePiece(source, p.load()) for p in source.pieces()]
    kept.pieces = lambda: iter(pieces)  # type: ignore[method-assign]
    return kept


class OnePiece(Source):
    """A block of a source as a source of its own; its rows keep their numbers and names."""

    n_rows: int

    def __init__(self, source: Source, block: Block) -> None:
        self.source, self.block = source, block
        self.n_rows, self.n_columns = block.X.shape
        names = source.feature_names
        self.feature_names = None if names is None else names[: self.n_columns]
        self.kinds = block.X.kinds if isinstance(block.X, Columns) else None
        self.sparse = source.sparse
        self.start = block.start

    def pieces(self) -> Iterator[Piece]:
        yield self

    def load(self) -> Block:
        """The block: a source of one piece is that piece."""
        return self.block

    def row_label(self, row: int) -> str:
        return self.source.row_label(row)


@contextmanager
def progress(source: Source, label: str) -> Iterator[Source]:
    """The source, with a bar on standard error for each pass over it that takes long.

    There is a bar only on a terminal, and only after a second.  Without a number of rows, as
    in CSV files before they were read once, it shows that something moves, and how far.
    """
    if not sys.stderr.isatty():
        yield source
        return
    bar = _Bar(label)
    watched = copy.copy(source)
    passes = watched.pieces

    def pieces() -> Generator[Piece, None, None]:
        rows = passes()
        bar.begin(watched.n_rows)
        try:
            for piece in rows:
                bar.advance(piece.n_rows)
                yield piece
        finally:
            getattr(rows, "close", tuple)()

    watched.pieces = pieces  # type: ignore[method-assign]
    try:
        yield watched
    finally:
        bar.stop()


class _Bar:
    """A Rich progress bar that starts late."""

    def __init__(self, label: str) -> None:
        self.label, self.passes, self.rows = label, 0, 0
        self.total: int | None = None
        self.began = time.monotonic()
        self.display: Any = None
        self.task: Any = None

    def begin(self, total: int | None) -> None:
        self.passes, self.rows, self.total = self.passes + 1, 0, total
        self._show()

    def advance(self, rows: int) -> None:
        self.rows += rows
        if self.display is None and time.monotonic() - self.began >= PATIENCE:
            self._start()
        self._show()

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self.display = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[count]} rows", markup=False),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self.task = self.display.add_task(self.label, count="0")
        self.display.start()

    def _show(self) -> None:
        if self.display is not None:
            label = self.label if self.passes == 1 else f"{self.label}, pass {self.passes}"
            self.display.update(
                self.task,
                description=label,
                completed=self.rows,
                total=self.total,
                count=f"{self.rows:,}",
            )

    def stop(self) -> None:
        if self.display is not None:
            self.display.stop()
