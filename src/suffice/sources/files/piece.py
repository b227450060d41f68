"""A piece of rows from files, and how it becomes a block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from suffice.sources.base import Block
from suffice.sources.files import csv
from suffice.sources.files.columns import labels, numbers, texts, write_columns
from suffice.sources.memory.mixed import TEXT, Columns, rows_of
from suffice.sources.memory.target import first_bad_weight

if TYPE_CHECKING:
    from suffice.sources.scan import FileSource


class FilePiece:
    """Rows that lie in slices of one or more Arrow record batches."""

    __slots__ = ("source", "start", "n_rows", "slices")

    def __init__(
        self, source: FileSource, start: int, n_rows: int, slices: list[tuple[Any, int, int]]
    ) -> None:
        self.source, self.start, self.n_rows, self.slices = source, start, n_rows, slices

    def load(self) -> Block:
        """The rows as numbers, and as text where a column holds that.

        Raises
        ------
        ValueError
            If a weight is negative, NaN or infinite, or text stands where a
            number should.
        """
        selection, names = self.source.selection, self.source.selection.names
        n_features = len(selection.features)
        X = rows_of(selection.kinds, self.n_rows, n_features)
        weight = np.empty(self.n_rows) if selection.weight is not None else None
        targets: list[list[NDArray[Any]]] = [[] for _ in selection.target]
        row = 0
        for batch, offset, length in self.slices:
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
        return columns[0] if self.source.selection.flat_target else np.stack(columns, axis=1)

    def _check_weight(self, weight: NDArray[np.float64]) -> None:
        bad = first_bad_weight(weight)
        if bad is not None:
            raise ValueError(
                f"Weight column {self.source.selection.weight!r} holds {weight[bad]} in "
                f"{self.source.row_label(self.start + bad)}; weights must be finite and not "
                "negative."
            )
