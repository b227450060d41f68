"""What missing cells are filled with, from what is kept of the rows.

For the mean that is the moments of each column; for the median and the most frequent value, how
often each distinct value occurs; for a constant, only whether a column holds text; and for a
function of the user's, nothing less than all values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from suffice.fitting.categories import is_missing
from suffice.numerics.double_double import Array
from suffice.sources.memory.mixed import TEXT
from suffice.statistics.counts.values import ValueCounts
from suffice.statistics.moments.full import Precision

KEPT = {
    "mean": "the moments of each column",
    "median": "the distinct values",
    "most_frequent": "the distinct values",
    "constant": "the kind of each column",
}
"""What is kept of the rows for each strategy."""


@dataclass(frozen=True, eq=False)
class Gathered:
    """The values of each column themselves: for a function that must see all of them."""

    columns: tuple[Array, ...]

    @classmethod
    def summarize(cls, X: Any) -> Gathered:
        """The values of a block of rows that are there; zeros of a CSR array are not."""
        if issparse(X):
            by_column = X.tocsc()
            by_column.eliminate_zeros()
            columns = np.split(by_column.data, by_column.indptr[1:-1])
        else:
            columns = list(np.asarray(X).T)
        if any(np.isinf(column).any() for column in columns):
            raise FloatingPointError("infinity or a value too large")
        return cls(tuple(column[~np.isnan(column)] for column in columns))

    @classmethod
    def merge(cls, parts: Sequence[Gathered]) -> Gathered:
        """The values of all parts, in their order."""
        together = zip(*(part.columns for part in parts), strict=True)
        return cls(tuple(np.concatenate(column) for column in together))

    @property
    def precision(self) -> Precision:
        """Nothing is computed."""
        return "float64"


def kinds_only(kinds: Sequence[str]) -> ValueCounts:
    """Counts of nothing that tell the columns of text from those of numbers."""
    values = tuple(np.empty(0, object if kind == TEXT else np.float64) for kind in kinds)
    nothing = tuple(np.zeros(0) for _ in kinds)
    return ValueCounts(0, values, tuple(n.astype(np.int64) for n in nothing), nothing)


def check_kept(values: Any, strategy: Any) -> None:
    """Raise if a strategy needs what is not kept of the rows."""
    if isinstance(values, Gathered):
        return
    kept = KEPT["mean"]
    if isinstance(values, ValueCounts):
        kept = KEPT["median" if values.count else "constant"]
    if callable(strategy) or KEPT[strategy] != kept:
        needed = "all rows" if callable(strategy) else KEPT[strategy]
        raise ValueError(
            f"strategy={strategy!r} needs {needed}, but what was kept is {kept}: fit "
            "again on the rows"
        )


def median(values: Array, weights: Array) -> float:
    """The middle of values in ascending order, each as often as its weight says."""
    reached = np.cumsum(weights)
    half = reached[-1] / 2
    i = int(np.searchsorted(reached, half, side="left"))
    if reached[i] == half and i + 1 < len(values):
        return float(values[i] + (values[i + 1] - values[i]) / 2)
    return float(values[i])


def typical(counts: ValueCounts, j: int, strategy: str) -> Any:
    """The median or the most frequent value of column `j`; NaN where it has none."""
    values, weights = counts.values[j], counts.weights[j]
    is_text = values.dtype == object
    there = np.array([not is_missing(value) for value in values.tolist()], dtype=bool)
    values, weights = values[there], weights[there]
    if not len(values):
        return np.nan
    if strategy == "median":
        if is_text:
            raise ValueError(f"column {j} holds text, which has no median")
        return median(values, weights)
    best = values[int(np.argmax(weights))]  # the first, and smallest, of equals
    return best if is_text else float(best)


def constant(value: Any, is_text: bool) -> Any:
    """The constant of a column of text or of numbers."""
    if value is None:
        return "missing_value" if is_text else 0
    if isinstance(value, str) != is_text:
        kind = "text" if is_text else "dtype('float64')"
        raise ValueError(
            f"fill_value={value!r} (of type {type(value)!r}) cannot be cast to the input data "
            f"that is {kind}. Make sure that both are text or both are numbers."
        )
    return value
