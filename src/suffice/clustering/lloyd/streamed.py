"""Lloyd's passes over rows that are read anew each time: files beyond memory, and CSR."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from suffice.clustering.lloyd.centres import CentreTable, Floats, Labels, as_rows, squares_to
from suffice.clustering.lloyd.farthest import FarthestRows
from suffice.clustering.lloyd.held import ALWAYS, Motion
from suffice.fitting.requests import Pass
from suffice.kernels.clustering.cluster_sums import regroup
from suffice.sources import Block
from suffice.statistics.sums import Sums


def summed(X: Any, labels: Labels, weight: Floats | None, k: int) -> Sums:
    """Sums over k clusters of rows, weights and ones, in two parts, and how many rows there are."""
    n, d = X.shape
    high, low = np.zeros((k, d + 2)), np.zeros((k, d + 2))
    if issparse(X):
        each = np.ones(n) if weight is None else weight
        there = np.flatnonzero(each > 0)  # what is not there may hold anything, and 0 · NaN is NaN
        member = csr_array((each[there], (labels[there], there)), shape=(k, n))
        high[:, :d] = (member @ X).toarray()
        high[:, d] = np.bincount(labels, each, k)
        high[:, d + 1] = np.bincount(labels, each > 0, k)
    else:
        each = ALWAYS if weight is None else weight
        nowhere = np.full(n, -1, np.int32)
        regroup(X, each, np.arange(n), labels, nowhere, high, low)
    return Sums((high, low, np.array(float(n))))


def assigned(block: Block, table: CentreTable, unit: bool) -> Sums:
    """Each row to its nearest centre; the sums over clusters."""
    X = as_rows(block.X, unit)
    return summed(X, table.nearest(X), block.weight, len(table.centres))


@dataclass(frozen=True, eq=False)
class LastSums:
    """What a last pass tells: sums, the inertia among them, and the labels of the rows.

    Attributes
    ----------
    sums : Sums
    labels : tuple of int32 arrays
    """

    sums: Sums
    labels: tuple[Labels, ...]

    @classmethod
    def merge(cls, parts: Sequence[LastSums]) -> LastSums:
        """Of all rows of the parts, in their order."""
        labels = tuple(one for part in parts for one in part.labels)
        return cls(Sums.merge([part.sums for part in parts]), labels)

    @property
    def values(self) -> tuple[Floats, ...]:
        """The sums."""
        return self.sums.values


def finished(block: Block, table: CentreTable, unit: bool) -> LastSums:
    """A last assignment, with the squared distances that are left."""
    X = as_rows(block.X, unit)
    labels = table.nearest(X)
    sums = summed(X, labels, block.weight, len(table.centres))
    squares = squares_to(X, table.centres, labels)
    weight = block.weight
    inertia = squares.sum() if weight is None else weight @ np.where(weight > 0, squares, 0.0)
    return LastSums(Sums((*sums.values, np.asarray(inertia))), (labels,))


def farthest(block: Block, centres: Floats, table: CentreTable, unit: bool, most: int) -> Any:
    """The rows farthest from the centres that they belong to."""
    X = as_rows(block.X, unit)
    return FarthestRows.of(X, block.weight, table.nearest(X), centres, block.start, most)


@dataclass
class StreamedRows:
    """Rows that are read anew in each pass: what Lloyd's algorithm asks of them, as requests.

    Attributes
    ----------
    unit : bool
        Whether rows are brought to length 1.
    """

    unit: bool

    def assign(
        self, table: CentreTable, motion: Motion | None, objective: Callable[[Sums], float]
    ) -> Pass:
        """Sums over clusters, their low parts, and how many rows there are."""
        self._table = table
        return Pass("assign", partial(assigned, table=table, unit=self.unit), objective)

    def finish(self, table: CentreTable, motion: Motion | None) -> Pass:
        """The same, the inertia by the definition, and the labels."""
        function = partial(finished, table=table, unit=self.unit)
        return Pass("labels", function, lambda last: float(last.values[3]))

    def farthest(self, centres: Floats, most: int) -> Pass:
        """`FarthestRows` of the assignment before."""
        function = partial(farthest, centres=centres, table=self._table, unit=self.unit, most=most)
        return Pass(None, function)

    def labels(self, last: LastSums) -> Labels:
        """Of all rows, after `finish`."""
        return np.concatenate(last.labels)
