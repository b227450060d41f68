"""A tree whose nodes have any number of branches, in arrays.

Nodes are numbered level by level, so that the branches of a node follow one another, in the order
of their values.  A row goes on from node t by its cell of column[t]:

    numbers      to the branch of value 0 if the cell is at most threshold[t], else to that of 1;
    categories   to the branch whose value is the number of the cell's category.

A row whose cell is missing (NaN) goes down all branches, in parts that are as large as the
branches' weights.  Where no branch has the cell's value, the row stays at the node.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from suffice.fitting.files.registry import register
from suffice.numerics.cached import cached_property

LEAF = -1
"""The column of a node that tests none."""

TOGETHER = 1 << 22
"""Most parts of rows that are on their way at a time: a row that lacks cells may be everywhere."""

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class MultiwayTree:
    """The nodes of a tree; node 0 is the root.

    Attributes
    ----------
    column : int64 array of shape (nodes,)
        The column that is tested; −1 at a leaf.
    threshold : float64 array of shape (nodes,)
        Where a column of numbers is cut; NaN at all other nodes.
    parent : int64 array of shape (nodes,)
        The node above; −1 at the root.
    value : int64 array of shape (nodes,)
        Which of its branches this is: the number of a category, or 0 for cells up to the threshold
        and 1 for those above; 0 at the root.
    counts : float64 array of shape (nodes, classes)
        Weight of the rows of the fit that came by.
    """

    column: Codes
    threshold: Floats
    parent: Codes
    value: Codes
    counts: Floats

    _shapes = "column(nodes) threshold(nodes) parent(nodes) value(nodes) counts(nodes, classes)"

    @property
    def node_count(self) -> int:
        """Nodes, leaves among them."""
        return len(self.column)

    @property
    def n_leaves(self) -> int:
        """Nodes that test nothing."""
        return int(np.count_nonzero(self.is_leaf))

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        """Whether each node is a leaf."""
        return self.column == LEAF

    @cached_property
    def weight(self) -> Floats:
        """Weight of the rows of the fit that came by each node."""
        return np.asarray(self.counts.sum(axis=1))

    @cached_property
    def depth(self) -> Codes:
        """Steps from the root to each node."""
        depth = np.zeros(self.node_count, np.int64)
        level = np.array([0])
        while len(level):
            level, above = self._below(level)
            depth[level] = depth[above] + 1
        return depth

    def branches(self, node: int) -> range:
        """The nodes below a node."""
        return range(int(self._first[node]), int(self._first[node] + self._number[node]))

    # --- rows --------------------------------------------------------------------------------

    def shares(self) -> Floats:
        """The shares of the classes among the rows of each node."""
        return np.asarray(self.counts / self.weight[:, None])

    def ends(self, cells: Floats) -> Iterator[tuple[slice, Any]]:
        """At which nodes rows end, and with which part of theirs.

        Parameters
        ----------
        cells : float64 array of shape (rows, columns)
            Categories as numbers; NaN where a cell is missing.

        Yields
        ------
        which : slice
            Some of the rows.
        parts : csr_array of shape (those rows, nodes)
            Each row's parts add up to 1.
        """
        step = min(max(TOGETHER // self.node_count, 16), 1 << 13)
        for start in range(0, len(cells), step):
            which = slice(start, min(start + step, len(cells)))
            yield which, self._ends(cells[which])

    def _ends(self, cells: Floats) -> Any:
        rows, nodes = np.arange(len(cells)), np.zeros(len(cells), np.int64)
        parts = np.ones(len(cells))
        ended: list[tuple[Any, Any, Any]] = []
        while len(rows):
            tested = self.column[nodes]
            cell = cells[rows, tested]  # of a leaf any: it is not looked at
            below = self._branch(nodes, cell)
            stays = (tested == LEAF) | ((below < 0) & ~np.isnan(cell))
            everywhere = ~stays & np.isnan(cell)
            goes = ~stays & ~everywhere
            ended.append((rows[stays], nodes[stays], parts[stays]))
            down, above = self._below(nodes[everywhere])
            number = self._number[nodes[everywhere]]
            part = np.repeat(parts[everywhere], number) * self.weight[down] / self.weight[above]
            rows = np.concatenate([rows[goes], np.repeat(rows[everywhere], number)])
            nodes = np.concatenate([below[goes], down])
            parts = np.concatenate([parts[goes], part])
        row, node, part = (np.concatenate(one) for one in zip(*ended, strict=True))
        return csr_array((part, (row, node)), shape=(len(cells), self.node_count))

    def _branch(self, nodes: Codes, cell: Floats) -> Codes:
        """The branch that each cell takes at a node; −1 where there is none."""
        threshold = self.threshold[nodes]
        wide = self.value.max() + 1
        taken = np.where(np.isnan(threshold), cell, cell > threshold)
        taken = np.where((taken >= 0) & (taken < wide), taken, -1).astype(np.int64)
        key = nodes * wide + taken
        place = np.minimum(np.searchsorted(self._keys, key), len(self._keys) - 1)
        return np.where((taken >= 0) & (self._keys[place] == key), place, -1)

    @cached_property
    def _keys(self) -> Codes:
        """For each node the node above it and its value, as one number: ascending."""
        return np.asarray(self.parent * (self.value.max() + 1) + self.value)

    @cached_property
    def _first(self) -> Codes:
        return np.searchsorted(self.parent, np.arange(self.node_count))

    @cached_property
    def _number(self) -> Codes:
        """How many branches each node has."""
        return np.bincount(self.parent[1:], minlength=self.node_count)

    def _below(self, nodes: Codes) -> tuple[Codes, Codes]:
        """All branches of some nodes, and the node above each."""
        number = self._number[nodes]
        above = np.repeat(nodes, number)
        place = np.arange(len(above)) - np.repeat(np.cumsum(number) - number, number)
        return self._first[above] + place, above

    def _check_loaded(self) -> None:
        """Raise ValueError unless what a file holds could be a tree."""
        if self.node_count == 0 or self.parent[0] != -1 or (self.value < 0).any():
            raise ValueError("it has no root")
        # Every node comes after the one above it, so that a row's way ends.
        if (self.parent[1:] < 0).any() or (self.parent >= np.arange(self.node_count)).any():
            raise ValueError("its nodes are not a tree")
        if (np.diff(self._keys) <= 0).any():
            raise ValueError("its branches are not in order")
        if (self.column < LEAF).any() or ((self._number == 0) != self.is_leaf).any():
            raise ValueError("its leaves have branches, or others have none")
        if not (np.isfinite(self.counts).all() and (self.counts >= 0).all()):
            raise ValueError("its counts are none")
        if not (self.weight > 0).all():
            raise ValueError("no row came by some of its nodes")


register(MultiwayTree)
