"""One look at every row before a fit: what each column holds, and which rows have no target.

All that the preparation of the columns learns follows from it, so the rows are read once for it:

    numbers   the missing cells of each column, and the moments of the others
    text      how often each value occurs, as long as there are few, and how many are numbers
    target    the rows in which it is missing, and classes that may mean the same
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.cli.spellings import Spellings
from suffice.preprocessing import SimpleImputer
from suffice.sources import Block, Columns, Source
from suffice.sources.derived.subset import rows_of
from suffice.sources.files.dialect import MISSING
from suffice.statistics.counts.values import ValueCounts
from suffice.statistics.observed import Observed

NO_CLASSES = frozenset(MISSING) - {"-", " -"}
"""Labels that mean a missing value in columns of numbers; + and - are classes to many."""


@dataclass(frozen=True)
class ColumnNames:
    """The columns of a source, how many values of text are counted, and the decimal mark."""

    numbers: tuple[str, ...]
    texts: tuple[str, ...]
    most: float
    decimal: str

    @classmethod
    def of(cls, source: Source, most: float) -> ColumnNames:
        """Of a source whose columns have names."""
        names = source.feature_names or ()
        kinds = source.kinds or ("number",) * len(names)
        named = tuple(zip(names, kinds, strict=True))
        numbers = tuple(name for name, kind in named if kind != "text")
        texts = tuple(name for name, kind in named if kind == "text")
        dialect = getattr(source, "dialect", None)
        return cls(numbers, texts, most, "." if dialect is None else dialect.decimal)


@dataclass(frozen=True, eq=False)
class Inventory:
    """What the rows of a source hold; merges like any statistic.

    Attributes
    ----------
    names : ColumnNames
    count : int
        Rows with a target.
    absent : int array
        Numbers of the rows without one.
    numbers : Observed or None
        Of the number columns.
    texts : tuple of ValueCounts or None
        Of each text column; None where it has too many values.
    counts_from : int or None
        If the first column counts the rows: its first value.
    spellings : tuple of Spellings
        Of the cells of each text column.
    doubtful : dict
        Classes such as NA, and how many rows have them.
    """

    names: ColumnNames
    count: int
    absent: NDArray[np.intp]
    numbers: Observed | None
    texts: tuple[ValueCounts | None, ...]
    counts_from: int | None
    spellings: tuple[Spellings, ...]
    doubtful: Counter[str]

    @classmethod
    def merge(cls, parts: Sequence[Inventory]) -> Inventory:
        """Of all rows of the parts together."""
        names, numbers = parts[0].names, [part.numbers for part in parts if part.numbers]
        columns = zip(*(part.texts for part in parts), strict=True)
        return cls(
            names,
            sum(part.count for part in parts),
            np.concatenate([part.absent for part in parts]),
            Observed.merge(numbers) if numbers else None,
            tuple(_merged(column, names.most) for column in columns),
            parts[0].counts_from if len({part.counts_from for part in parts}) == 1 else None,
            tuple(map(Spellings.merge, zip(*(part.spellings for part in parts), strict=True))),
            sum((part.doubtful for part in parts), Counter()),
        )

    def missing(self) -> dict[str, int]:
        """Missing cells of each number column."""
        missing = [] if self.numbers is None else self.numbers.missing.tolist()
        return dict(zip(self.names.numbers, missing, strict=True))

    def counts(self) -> dict[str, ValueCounts | None]:
        """What is known about each text column."""
        return dict(zip(self.names.texts, self.texts, strict=True))

    def hints(self, is_csv: bool) -> dict[str, str]:
        """Text columns that are mostly numbers, and what keeps them from being all numbers."""
        found = [one.hint(self.names.decimal, is_csv) for one in self.spellings]
        return {name: hint for name, hint in zip(self.names.texts, found, strict=True) if hint}

    def of_numbers(self, names: Sequence[str]) -> Observed | None:
        """What an imputer of these columns learns from."""
        if self.numbers is None or not names:
            return None
        places = [self.names.numbers.index(name) for name in names]
        values: Any = self.numbers.values
        return Observed(self.numbers.count, self.numbers.missing[places], values.at(places))

    def of_texts(self, names: Sequence[str]) -> ValueCounts | None:
        """What an encoder of these columns learns from."""
        found = [counts for name, counts in self.counts().items() if name in names and counts]
        if not found:
            return None
        fields = [(one.values[0], one.counts[0], one.weights[0]) for one in found]
        values, counts, weights = zip(*fields, strict=True)
        return ValueCounts(found[0].count, values, counts, weights)


def take_inventory(source: Source, most: float = np.inf) -> Inventory:
    """Look at all rows, in one pass.

    Parameters
    ----------
    source : Source
    most : float
        Values of a text column beyond which they are not counted any more.
    """
    names = ColumnNames.of(source, most)
    found: Inventory = SimpleImputer()._pass(source, partial(_summarize, names=names))
    if not found.count:
        raise ValueError(f"no row has a value in the target {', '.join(source.target_names or ())}")
    return found


def absent_rows(y: NDArray[Any] | None) -> NDArray[np.intp]:
    """Numbers of the rows whose target, or one of several, is missing."""
    if y is None or y.dtype.kind not in "fO":
        return np.zeros(0, np.intp)
    missing = y == np.array(None) if y.dtype == object else np.isnan(y)
    return np.flatnonzero(missing.reshape(len(y), -1).any(axis=1))


def _summarize(block: Block, names: ColumnNames) -> Inventory:
    absent = absent_rows(block.y)
    rows = rows_of(block, np.delete(np.arange(block.n_rows), absent), block.start)
    cells = rows.X.columns if isinstance(rows.X, Columns) else tuple(rows.X.T)
    numbers, texts = None, [column for column in cells if column.dtype == object]
    if names.numbers:
        plain = np.column_stack([column for column in cells if column.dtype != object])
        of_numbers = Block(plain, None, rows.weight, rows.start)
        numbers = SimpleImputer()._summarize(of_numbers, "float64")
    counted = [ValueCounts.summarize(Columns([text]), rows.weight) for text in texts]
    first = block.X.column(0) if isinstance(block.X, Columns) else block.X[:, 0]
    return Inventory(
        names,
        rows.n_rows,
        absent + block.start,
        numbers,
        tuple(_few(counts, names.most) for counts in counted),
        _counts_from(first, block.start),
        tuple(
            Spellings.summarize(c.values[0].tolist(), c.counts[0].tolist(), names.decimal)
            for c in counted
        ),
        Counter(label for label in _labels(rows.y) if label in NO_CLASSES),
    )


def _labels(y: NDArray[Any] | None) -> Iterable[Any]:
    return y.ravel().tolist() if y is not None and y.dtype == object else ()


def _few(counts: ValueCounts, most: float) -> ValueCounts | None:
    return counts if len(counts.values[0]) <= most else None


def _merged(parts: Sequence[ValueCounts | None], most: float) -> ValueCounts | None:
    known = [part for part in parts if part is not None]
    return _few(ValueCounts.merge(known), most) if len(known) == len(parts) else None


def _counts_from(column: NDArray[Any], start: int) -> int | None:
    """The value that a column which counts the rows has in row 0; None if it counts none."""
    if column.dtype == object or not np.isfinite(column).all() or column[0] % 1:
        return None
    origin = int(column[0]) - start
    return origin if np.array_equal(column, np.arange(len(column)) + column[0]) else None
