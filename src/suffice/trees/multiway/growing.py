"""The rows that a multi-way tree grows from, and what growing and pruning do with them."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.trees.multiway.tree import LEAF, Codes, Floats, MultiwayTree


@dataclass
class MultiwayNode:
    """A node while its tree grows.

    Attributes
    ----------
    counts : array of shape (classes,)
        Weights of its rows.
    column : int
        The column that it tests; −1 at a leaf.
    threshold : float
        Where a column of numbers is cut, else NaN.
    branches : dict of int to node
        By the value that leads there.
    """

    counts: Floats
    column: int = LEAF
    threshold: float = np.nan
    branches: dict[int, MultiwayNode] = field(default_factory=dict)

    @property
    def weight(self) -> float:
        """Of its rows."""
        return float(self.counts.sum())

    @property
    def errors(self) -> float:
        """Weight of the rows that are not of its largest class."""
        return float(self.counts.sum() - self.counts.max())

    @property
    def is_pure(self) -> bool:
        """Whether all rows are of one class."""
        return bool(np.count_nonzero(self.counts) <= 1)


class ClassTables(NamedTuple):
    """Classes by values, of several columns of categories: see `suffice.trees.multiway.gain`.

    Attributes
    ----------
    columns : int array of shape (splits,)
        Those that have a value at all.
    table : array of shape (values, classes)
        Classes may be left out that no row has.
    starts : int array of shape (splits,)
    missing : array of shape (splits,)
        Weight of the rows without a value.
    """

    columns: Codes
    table: Floats
    starts: Codes
    missing: Floats

    def number(self, chosen: NDArray[np.bool_]) -> Codes:
        """How many of each column's values a mask over the values has chosen."""
        return np.add.reduceat(chosen.astype(np.int64), self.starts)


@dataclass(frozen=True)
class Cases:
    """Rows to grow a tree from.

    Attributes
    ----------
    cells : float64 array of shape (rows, columns)
        Numbers, and categories as numbers from 0; NaN where a cell is missing.
    labels : int64 array of shape (rows,)
        Numbers of the classes.
    weight : float64 array of shape (rows,)
    n_values : int64 array of shape (columns,)
        How many categories each column has; 0 for numbers.
    n_classes : int
    """

    cells: Floats
    labels: Codes
    weight: Floats
    n_values: Codes
    n_classes: int

    @property
    def all_rows(self) -> Codes:
        """The numbers of all rows."""
        return np.arange(len(self.labels))

    def node(self, rows: Codes, weight: Floats) -> MultiwayNode:
        """A leaf of some rows."""
        counts: Any = np.bincount(self.labels[rows], weight, self.n_classes)
        return MultiwayNode(counts)

    def labels_of(self, rows: Codes) -> tuple[Codes, int]:
        """The labels of some rows and how many there may be: of few rows, those that occur."""
        if self.n_classes <= len(rows):
            return self.labels[rows], self.n_classes
        occur, labels = np.unique(self.labels[rows], return_inverse=True)
        return labels, len(occur)

    def tables(self, rows: Codes, weight: Floats, columns: Codes) -> ClassTables:
        """Classes by values of columns of categories, for some rows."""
        cells = self.cells[rows[:, None], columns]
        known = ~np.isnan(cells)
        first = np.cumsum(self.n_values[columns]) - self.n_values[columns]
        value = (np.where(known, cells, 0.0).astype(np.int64) + first)[known]
        labels, n_classes = self.labels_of(rows)
        label = np.broadcast_to(labels[:, None], cells.shape)[known]
        each = np.broadcast_to(weight[:, None], cells.shape)
        # A table of all values where that is small; else of those that occur, which takes a sort.
        size = int(self.n_values[columns].sum())
        if size * n_classes <= 4 * cells.size + 1024:
            occurs = np.bincount(value, minlength=size) > 0
            occur, place = np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[value]
        else:
            occur, place = np.unique(value, return_inverse=True)
        key = place * n_classes + label
        table: Any = np.bincount(key, each[known], len(occur) * n_classes)
        owner = np.searchsorted(first, occur, side="right") - 1
        starts = np.flatnonzero(np.diff(owner, prepend=-1))
        there = owner[starts]
        missing = np.where(known, 0.0, each).sum(axis=0)[there]
        return ClassTables(columns[there], table.reshape(-1, n_classes), starts, missing)

    def branches(
        self, node: MultiwayNode, rows: Codes, weight: Floats
    ) -> Iterator[tuple[int, Codes, Floats, float]]:
        """How some rows are divided by a node's test, in the order of the values.

        Rows whose cell is missing go down every branch, in proportion to the rows that do
        not lack it.

        Yields
        ------
        value : int
        rows, weight : arrays
        share : float
            Of the weight of the rows that have the cell.
        """
        cell = self.cells[rows, node.column]
        missing = np.isnan(cell)
        numeric = not np.isnan(node.threshold)
        lost, lost_weight = rows[missing], weight[missing]
        if len(lost):
            rows, weight, cell = rows[~missing], weight[~missing], cell[~missing]
        taken = cell > node.threshold if numeric else cell
        order = np.argsort(taken, kind="stable")
        rows, weight, taken = rows[order], weight[order], taken[order]
        total = weight.sum()
        edges = (np.flatnonzero(taken[1:] != taken[:-1]) + 1).tolist()
        for start, end in zip([0, *edges], [*edges, len(taken)], strict=True):
            part, part_weight = rows[start:end], weight[start:end]
            share = float(part_weight.sum() / total)
            if len(lost):
                part = np.concatenate([part, lost])
                part_weight = np.concatenate([part_weight, lost_weight * share])
            yield int(taken[start]), part, part_weight, share


Recursion = Generator[Any, Any, Any]
"""A function that calls itself by `yield`."""


def result_of(call: Recursion) -> Any:
    """What a recursive function returns, where each `yield f(x)` in it stands for the call f(x).

    Trees may be deeper than Python's stack.
    """
    stack: list[Recursion] = [call]
    answer = None
    while stack:
        try:
            stack.append(stack[-1].send(answer))
            answer = None
        except StopIteration as returned:
            stack.pop()
            answer = returned.value
    return answer


def in_arrays(root: MultiwayNode) -> MultiwayTree:
    """A grown tree in arrays, level by level."""
    nodes, parents, values = [root], [-1], [0]
    for number, node in enumerate(nodes):  # which grows meanwhile
        for value in sorted(node.branches):
            nodes.append(node.branches[value])
            parents.append(number)
            values.append(value)
    return MultiwayTree(
        _integers([node.column for node in nodes]),
        np.array([node.threshold for node in nodes]),
        _integers(parents),
        _integers(values),
        np.array([node.counts for node in nodes]),
    )


def _integers(items: Sequence[int]) -> Codes:
    return np.array(items, dtype=np.int64)
