"""A piece of rows from files, and how it becomes a block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.sources.base import Block
from suffice.sources.files import csv
from suffice.sources.files.columns import labels, numbers, texts, write_columns
from suffice.sources.files.reading import DataFile, batches
from suffice.sources.files.schema import Selection
from suffice.sources.memory.mixed import TEXT, Columns, rows_of
from suffice.sources.memory.target import first_bad_weight


class BatchSlice(NamedTuple):
    """Rows of an Arrow record batch, or of lines of CSV, and where in their file they begin."""

    batch: Any
    offset: int
    length: int
    file: DataFile
    row: int


@dataclass(eq=False, slots=True)
class FilePiece:
    """Rows that lie in slices of one or more record batches.

    Attributes
    ----------
    selection : Selection
    row_label : function
        How a message should name a row of the source.
    start, n_rows : int
    slices : list of BatchSlice
    """

    selection: Selection
    row_label: Callable[[int], str]
    start: int
    n_rows: int
    slices: list[BatchSlice]

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process gets no data: it reads the rows from their files."""
        places: list[Place] = []
        # By identity: a file may be read twice.
        for _, same in groupby(self.slices, key=lambda part: id(part.file)):
            parts = list(same)
            length = sum(part.length for part in parts)
            places.append(Place(parts[0].file, parts[0].row, length))
        return DistantPiece, (self.selection, self.start, self.n_rows, places)

    def load(self) -> Block:
        """The rows as numbers, and as text where a column holds that.

        Raises
        ------
        ValueError
            If a weight is negative, NaN or infinite, or text stands where a
            number should.
        """
        selection, names = self.selection, self.selection.names
        n_features = len(selection.features)
        X = rows_of(selection.kinds, self.n_rows, n_features)
        weight = np.empty(self.n_rows) if selection.weight is not None else None
        targets: list[list[NDArray[Any]]] = [[] for _ in selection.target]
        row = 0
        for batch, offset, length, *_ in self.slices:
            whole = batch.read() if isinstance(batch, csv.Lines) else batch
            columns = whole.slice(offset, length).columns
            rows = slice(row, row + length)
            if isinstance(X, Columns):
                for kind, column, array in zip(X.kinds, X.columns, columns, strict=False):
                    column[rows] = texts(array) if kind == TEXT else numbers(array)
            else:
                write_columns(X[rows], [numbers(array) for array in columns[:n_features]])
            for parts, name in zip(targets, selection.target, strict=True):
                parts.append(labels(columns[names.index(name)], selection.target_kind))
            if weight is not None:
                weight[rows] = numbers(columns[names.index(selection.weight)])
            row += length
        if weight is not None:
            self._check_weight(weight)
        return Block(X, self._target(targets), weight, self.start)

    def _target(self, targets: list[list[NDArray[Any]]]) -> NDArray[Any] | None:
        if not targets:
            return None
        # A copy even of a single part: a view would keep its whole batch in memory.
        columns = [np.concatenate(parts) for parts in targets]
        return columns[0] if self.selection.flat_target else np.stack(columns, axis=1)

    def _check_weight(self, weight: NDArray[np.float64]) -> None:
        bad = first_bad_weight(weight)
        if bad is not None:
            raise ValueError(
                f"Weight column {self.selection.weight!r} holds {weight[bad]} in "
                f"{self.row_label(self.start + bad)}; weights must be finite and not negative."
            )


class Place(NamedTuple):
    """Consecutive rows of a file."""

    file: DataFile
    row: int
    length: int

    def slices(self, selection: Selection) -> Iterator[BatchSlice]:
        """These rows, read from the file."""
        file, row, length = self
        stop = row + length
        with closing(batches(file, selection, selection.names, row, stop)) as found:
            for first, batch in found:
                here = min(first + batch.num_rows, stop) - row
                if here > 0:
                    yield BatchSlice(batch, row - first, here, file, row)
                    row += here
        if row < stop:
            raise file.changed(f"rows {row} to {stop - 1} are gone")


@dataclass(eq=False, slots=True)
class DistantPiece:
    """A piece in another process: where its rows are, to be read when they are wanted."""

    selection: Selection
    start: int
    n_rows: int
    places: list[Place]

    def load(self) -> Block:
        """The rows as `FilePiece.load` gives them."""
        slices = [part for place in self.places for part in place.slices(self.selection)]
        return FilePiece(self.selection, self._row_label, self.start, self.n_rows, slices).load()

    def _row_label(self, row: int) -> str:
        before, (place, *more) = self.start, self.places
        while row >= before + place.length:
            before += place.length
            place, *more = more
        return in_file(row, place.row + row - before, place.file)


def in_file(row: int, row_of_file: int, file: DataFile) -> str:
    """How a message should name a row of files."""
    place = file.place(row_of_file)
    return place if file.dialect else f"row {row} (counted from 0), which is {place}"
