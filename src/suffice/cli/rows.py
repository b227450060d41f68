"""Rows of files for a command, with a bar that moves as they are read."""

from __future__ import annotations

import copy
import os
import sys
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from suffice.cli.choices import column_names
from suffice.sources import Piece, Source, scan

PATIENCE = 1.0
"""Seconds after which a bar appears."""


def training_rows(
    data: Sequence[str],
    target: Sequence[str] | None,
    weight: str | None,
    features: Sequence[str] | None,
    output: str,
) -> Source:
    """Rows to learn from, to forget or to predict; `output` may be none of their files."""
    targets = list(target or ())
    source = scan(
        list(data),
        target=targets[0] if len(targets) == 1 else targets or None,
        weight=weight,
        features=features,
    )
    if os.path.exists(output) and any(os.path.samefile(f.path, output) for f in source.files):
        raise ValueError(f"{output!r} is one of the files to be read: write to another one")
    return source


def features_of(model: Any, chosen: Sequence[str] | None = None) -> list[str] | None:
    """The columns that a model reads: those it was fitted on, unless others are named."""
    names = column_names(chosen)
    if names is None and hasattr(model, "feature_names_in_"):
        return [str(name) for name in model.feature_names_in_]
    return names


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
