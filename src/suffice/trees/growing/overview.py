"""What one pass over rows tells of them, for their cells to become bins of one byte.

A column of numbers has at most `MOST_BINS` bins.  If it has no more distinct values, these are the
bins, and a tree of bins is the exact one.  Else most of their bounds are quantiles of a sample.  A
row belongs to the sample if the first bits of a number that is mixed from its own number are zeros:
as many of them as leave no more rows than there may be.  So it is the same sample in whatever parts
and order the rows come.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from suffice.fitting.classification import labels_of
from suffice.fitting.regression import as_columns
from suffice.numerics.double_double import Array
from suffice.sources import Block, Columns, block_rows
from suffice.sources.derived.subset import bits_of_rows
from suffice.sources.finite import LARGEST
from suffice.statistics.base import present
from suffice.statistics.counts.distinct import distinct, locate
from suffice.statistics.counts.labels import coded, united
from suffice.statistics.counts.values import joined_values
from suffice.trees.growing.columns import MOST_CATEGORIES
from suffice.trees.nodes.cells import categories_of

MOST_BINS = 255

SAMPLED_ROWS, SAMPLED_CELLS = 200_000, 1 << 23
"""The most rows of a sample, and cells where columns are many (64 MB)."""

GLANCE = 1024
"""Values that tell, as a rule, that a column has many."""

TOO_LARGE = "infinity or a value too large"


@dataclass(frozen=True, eq=False)
class RowSample:
    """Rows chosen by their numbers: those whose bits begin with `zeros` zeros.

    Attributes
    ----------
    most : int
        Rows that there may be.
    zeros : int
    bits : tuple of uint64 arrays
        What is mixed from each row's number, part by part.
    rows : tuple of float64 arrays of shape (rows, columns)
    """

    most: int
    zeros: int
    bits: tuple[NDArray[np.uint64], ...] = ()
    rows: tuple[Array, ...] = ()

    @classmethod
    def merge(cls, parts: Sequence[RowSample]) -> RowSample:
        """The sample of all rows of the parts together."""
        bits = tuple(one for part in parts for one in part.bits)
        rows = tuple(one for part in parts for one in part.rows)
        return cls(parts[0].most, max(part.zeros for part in parts), bits, rows)._thinned()

    def _thinned(self) -> RowSample:
        """As many zeros as leave no more rows than there may be."""
        bits, rows, zeros = self.bits, self.rows, self.zeros
        while True:
            stay = [one <= np.uint64((1 << 64 - zeros) - 1) for one in bits]
            if not all(there.all() for there in stay):
                bits = tuple(one[there] for one, there in zip(bits, stay, strict=True))
                rows = tuple(one[there] for one, there in zip(rows, stay, strict=True))
            if sum(map(len, bits)) <= self.most:
                return RowSample(self.most, zeros, bits, rows)
            zeros += 1

    @property
    def nbytes(self) -> int:
        """Bytes that the rows take."""
        return sum(one.nbytes for one in (*self.bits, *self.rows))


@dataclass(frozen=True, eq=False)
class Overview:
    """What is to be known of all rows before one of them becomes bins.

    Attributes
    ----------
    look : Look
        By which rules.
    count : int
        Rows, those of weight 0 left out.
    weight : float
        Of all of them.
    alike : bool
        Whether each has the weight 1.
    values : tuple of arrays, or None
        Distinct values of each column, the missing left out; None where they are too many.
    sample : RowSample
        Of the columns of numbers.
    labels : array of shape (classes,), or None
        Sorted; None in regression.
    class_weight : float64 array of shape (classes,)
    target : float64 array of shape (4,)
        In regression Σ w y, Σ w |y|, and of y the least, its sign turned, and the largest.
    """

    look: Look
    count: int
    weight: float
    alike: bool
    values: tuple[NDArray[Any] | None, ...]
    sample: RowSample
    labels: NDArray[Any] | None
    class_weight: Array
    target: Array

    @classmethod
    def merge(cls, parts: Sequence[Overview]) -> Overview:
        """What all rows of the parts together tell."""
        parts = [part for part in parts if part.count] or list(parts[:1])
        first = parts[0]
        if len(parts) == 1:
            return first
        labels, class_weight = None, first.class_weight
        if first.labels is not None:
            known = [part.labels for part in parts if part.labels is not None]
            labels = united(known)
            class_weight = np.zeros(len(labels))
            for one, part in zip(known, parts, strict=True):
                class_weight[locate(one, labels)] += part.class_weight
        target = np.array([part.target for part in parts])
        each = zip(*(part.values for part in parts), strict=True)
        return cls(
            first.look,
            sum(part.count for part in parts),
            sum(part.weight for part in parts),
            all(part.alike for part in parts),
            tuple(first.look.united(j, values) for j, values in enumerate(each)),
            RowSample.merge([part.sample for part in parts]),
            labels,
            class_weight,
            np.append(target[:, :2].sum(axis=0), target[:, 2:].max(axis=0)),
        )

    @property
    def nbytes(self) -> int:
        """Bytes that it takes, with 60 for a text."""
        texts = [60 * len(one) for one in self.values if one is not None and one.dtype == object]
        return (
            self.sample.nbytes
            + sum(one.nbytes for one in self.values if one is not None)
            + (sum(texts) + self.class_weight.nbytes)
        )


@dataclass(frozen=True)
class Look:
    """The summary of a block that an `Overview` is made of.

    Attributes
    ----------
    names : tuple of str
        What messages call the columns.
    categorical : tuple of bool
    classify : bool
        Whether the target is labels.
    max_bins : int
    """

    names: tuple[str, ...]
    categorical: tuple[bool, ...]
    classify: bool
    max_bins: int = MOST_BINS

    def __call__(self, block: Block) -> Overview:
        """What the rows of a block tell."""
        if issparse(block.X) and not any(self.categorical):
            return self._of(block)
        return Overview.merge([self._of(part) for part in dense_parts(block)])

    def _of(self, block: Block) -> Overview:
        bits = bits_of_rows(block.start, block.start + block.n_rows, 0)
        weight, X, y, bits = present(block.weight, block.X, block.y, bits)
        most = max(min(SAMPLED_ROWS, SAMPLED_CELLS // max(self.categorical.count(False), 1)), 1)
        values: list[Any]
        if issparse(X):
            if (np.abs(X.data) > LARGEST).any():
                raise FloatingPointError(TOO_LARGE)
            values = few_of_sparse(X, self.max_bins)
            places: Any = np.arange(len(bits))
            sample = RowSample.merge([RowSample(most, 0, (bits,), (places,))])
            sample = replace(sample, rows=(written_out(X[sample.rows[0]]),))
        else:
            values, rows = self._of_columns(X, len(bits))
            sample = RowSample.merge([RowSample(most, 0, (bits,), (rows,))])
        labels, class_weight, target = None, np.zeros(0), np.zeros(4)
        w = np.ones(len(bits)) if weight is None else weight
        if len(bits) and self.classify:
            labels, codes = coded(labels_of(Block(X, y, None, block.start)))
            class_weight = np.bincount(codes, w).astype(np.float64)
        elif len(bits):
            y = numbers_of(y)
            if not (np.abs(y) <= LARGEST).all():
                raise FloatingPointError("a target that is not finite")
            target = np.array([w @ y, w @ np.abs(y), -y.min(), y.max()])
        return Overview(
            self, len(bits), float(w.sum()), bool((w == 1).all()), tuple(values), sample, labels,
            class_weight, target,
        )  # fmt: skip

    def _of_columns(self, X: Any, n_rows: int) -> tuple[list[Any], Array]:
        """The values of columns where they are few, and all rows of the columns of numbers."""
        columns = columns_of(X)
        numbers = [j for j, one in enumerate(self.categorical) if not one]
        rows = np.empty((n_rows, len(numbers)))
        for place, j in enumerate(numbers):
            rows[:, place] = columns[j]
        if (np.abs(rows) > LARGEST).any():
            raise FloatingPointError(TOO_LARGE)
        values: list[Any] = [None] * len(columns)
        for place, j in enumerate(numbers):
            values[j] = few_numbers(rows[:, place], self.max_bins)
        for j, found in enumerate(categories_of(X, np.array(self.categorical, np.bool_))):
            if self.categorical[j]:
                values[j] = self.united(j, [found])
        return values, rows

    def united(self, column: int, parts: Sequence[NDArray[Any] | None]) -> NDArray[Any] | None:
        """The distinct values of a column in several parts; None if they are too many."""
        known = [one for one in parts if one is not None]
        if len(known) < len(parts):
            return None
        values = distinct(joined_values(known, column)).values if len(parts) > 1 else known[0]
        if self.categorical[column] and len(values) > MOST_CATEGORIES:
            raise ValueError(
                f"{self.names[column]} has more than {MOST_CATEGORIES:,} categories: leave it out, "
                "or group them"
            )
        return values if self.categorical[column] or len(values) <= self.max_bins else None


def dense_parts(block: Block) -> Iterator[Block]:
    """The rows of a block with all their cells, of a sparse one no more than a dense block has."""
    if not issparse(block.X):
        yield block
        return
    step = block_rows(block.X.shape[1])
    for first in range(0, max(block.n_rows, 1), step):
        here = slice(first, first + step)
        y, weight = (None if one is None else one[here] for one in (block.y, block.weight))
        yield Block(block.X[here].toarray(), y, weight, block.start + first)


def written_out(X: Any) -> Array:
    """All cells of sparse rows, a part after the other."""
    parts = dense_parts(Block(X, None, None, 0))
    return np.concatenate([part.X.astype(np.float64, copy=False) for part in parts])


def columns_of(X: Any) -> Sequence[NDArray[Any]]:
    """The columns of rows."""
    return X.columns if isinstance(X, Columns) else X.T


def numbers_of(y: Any) -> Array:
    """The target of a regression."""
    columns = as_columns(y)
    if np.ndim(y) != 1:
        raise ValueError(
            f"the target has {columns.shape[1]} columns; trees take one: name it as target='price'"
        )
    return columns[:, 0]


def few_numbers(column: Array, most: int) -> NDArray[Any] | None:
    """The distinct numbers of a column, NaN left out; None if they are more than `most`."""
    for some in (column[:GLANCE], column) if len(column) > GLANCE else (column,):
        found = np.unique(some[~np.isnan(some)] + 0.0)
        if len(found) > most:
            return None
    return found


def few_of_sparse(X: Any, most: int) -> list[NDArray[Any] | None]:
    """`few_numbers` of all columns of a CSR array, from the cells that it stores and one zero."""
    n_rows, n_columns = X.shape
    X = X.tocoo()
    X.sum_duplicates()
    zeros = np.flatnonzero(np.bincount(X.col, minlength=n_columns) < n_rows)
    column = np.concatenate([X.col, zeros])
    cells = np.concatenate([X.data, np.zeros(len(zeros))]) + 0.0
    column, cells = column[~np.isnan(cells)], cells[~np.isnan(cells)]
    order = np.lexsort((cells, column))
    column, cells = column[order], cells[order]
    first = np.ones(len(cells), np.bool_)
    first[1:] = (column[1:] != column[:-1]) | (cells[1:] != cells[:-1])
    column, cells = column[first], cells[first]
    ends = np.searchsorted(column, np.arange(1, n_columns))
    return [one if len(one) <= most else None for one in np.split(cells, ends)]
