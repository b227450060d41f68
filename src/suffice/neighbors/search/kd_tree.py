"""Neighbours by a kd-tree: rows that lie together are looked at or left out together.

Rows are split at the median of the column that spreads most, again and again, until no leaf has
more than `leaf_size`.  A query starts in the leaf into whose cell it falls and then looks at the
nodes that its way to the root passes by, each only if its box is nearer than the k-th best
so far.  Which boxes are left out is decided without any rounding error (see
`suffice.kernels.neighbors.tree`), so the rows found are those of a search through all.

Reference: Friedman, Bentley and Finkel, "An algorithm for finding best matches in logarithmic
expected time" (1977).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.engines.engine import Stopped
from suffice.engines.passes import each
from suffice.engines.settings import resolve_threads
from suffice.kernels.neighbors.building import grow, turn_leaves
from suffice.kernels.neighbors.distances import NOBODY, STEP
from suffice.kernels.neighbors.tree import leaves_of, nearest_in_tree, within_in_tree
from suffice.neighbors.search.brute_force import RowsWithin, as_floats, counted_then_listed
from suffice.neighbors.search.metrics import Metric
from suffice.numerics.cached import cached_property

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

SMALLEST_LEAF = 8
"""Rows below which a leaf is not split, whatever its size should be."""

LARGE = 1 << 14
"""Rows from which threads share the work of building."""


@dataclass(frozen=True, eq=False)
class KdTree:
    """Rows in the order of a kd-tree, and the boxes of its nodes.

    Node 0 is the root, the children of node i are 2i + 1 and 2i + 2, and the leaves are the last
    ``2 ** levels`` nodes.

    Attributes
    ----------
    rows : array of shape (rows, columns)
        In the tree's order: the rows of a node lie together.
    order : int array of shape (rows,)
        Their numbers.
    levels : int
        Levels of inner nodes.
    columns, splits : arrays of shape (nodes,)
        Where inner nodes are split.
    low, high : arrays of shape (nodes, columns)
        Corners of the box around a node's rows.
    """

    rows: Floats
    order: Integers
    levels: int
    columns: Integers
    splits: Floats
    low: Floats
    high: Floats

    @classmethod
    def build(cls, X: Floats, leaf_size: int = 30, n_jobs: int | None = None) -> KdTree:
        """Make the tree of some rows.

        Parameters
        ----------
        X : array of shape (rows, columns)
            At least one row of finite numbers.
        leaf_size : int
            Most rows of a leaf; below 8 it counts as 8.
        n_jobs : int, optional
            Threads; the tree is the same at any number of them.
        """
        n, d = X.shape
        size = max(leaf_size, SMALLEST_LEAF)
        levels = max(-(-n // size) - 1, 0).bit_length()
        nodes = (2 << levels) - 1
        tree = cls(
            rows=np.array(X, dtype=np.float64, order="C"),
            order=np.arange(n),
            levels=levels,
            columns=np.zeros(nodes, np.int64),
            splits=np.zeros(nodes),
            low=np.empty((nodes, d)),
            high=np.empty((nodes, d)),
        )
        tree._grow(n_jobs)
        return tree

    def _grow(self, n_jobs: int | None) -> None:
        """Split the top by itself, level by level, then every tree below it."""
        threads = 1 if len(self.rows) < LARGE else resolve_threads(n_jobs)
        top = min((threads - 1).bit_length(), self.levels)

        def split(node: int, stopped: Stopped, depth: int, until: int) -> None:
            grow(
                self.rows, self.order, self.levels, node, depth, until, self.columns, self.splits,
                self.low, self.high,
            )  # fmt: skip

        for depth in (*range(top), top):
            until = depth + 1 if depth < top else self.levels
            nodes = range((1 << depth) - 1, (2 << depth) - 1)
            each(nodes, partial(split, depth=depth, until=until), n_jobs)
        self._join_boxes()

    def _join_boxes(self) -> None:
        """Find the boxes of inner nodes from those of the leaves."""
        for level in range(self.levels - 1, -1, -1):
            here = slice((1 << level) - 1, (2 << level) - 1)
            left, right = (slice(here.stop + i, (4 << level) - 1, 2) for i in (0, 1))
            np.minimum(self.low[left], self.low[right], out=self.low[here])
            np.maximum(self.high[left], self.high[right], out=self.high[here])

    @cached_property
    def tiles(self) -> tuple[Floats, Integers]:
        """The rows of each leaf, column by column, filled up with infinity, and their numbers."""
        leaves, d = 1 << self.levels, self.rows.shape[1]
        most = -(-len(self.rows) // leaves)
        room = -(-most // STEP) * STEP
        tiles, numbers = np.full((leaves, d, room), np.inf), np.full((leaves, room), NOBODY)
        turn_leaves(self.rows, self.order, self.levels, tiles, numbers)
        return tiles, numbers


class TreeSearch:
    """A search through a kd-tree.

    Parameters
    ----------
    X : array of shape (rows, columns)
    metric : Metric
    leaf_size : int
    n_jobs : int, optional
        Threads for building.
    """

    together = 4096

    def __init__(
        self, X: Floats, metric: Metric, leaf_size: int = 30, n_jobs: int | None = None
    ) -> None:
        self.metric = metric
        self.n_columns = X.shape[1]
        self.tree = KdTree.build(self._widened(metric.prepared(X)), leaf_size, n_jobs)
        self._tiles = self.tree.tiles
        w = metric.weights
        # Columns of zeros, which only widen the rows, weigh nothing.
        self._w = np.append(w, np.zeros(self.tree.rows.shape[1] - len(w))) if len(w) else w

    @property
    def path(self) -> str:
        """How queries are answered, for people."""
        return f"kd-tree of {1 << self.tree.levels} leaves"

    def prepared(self, queries: Any) -> Floats:
        """Queries, dense or sparse, in the form in which they are compared."""
        return self.metric.prepared(as_floats(queries), queries=True)

    def _widened(self, X: Floats) -> Floats:
        """Rows of at least three columns: the kernels are quickest there, and zeros add nothing."""
        missing = 3 - self.n_columns
        return X if missing <= 0 else np.hstack([X, np.zeros((len(X), missing))])

    @property
    def _margin(self) -> float:
        """What a rank of powers is multiplied with, for their rounding."""
        return 1 - (self.tree.rows.shape[1] + 4) * 2.0**-50

    def nearest(self, queries: Floats, k: int) -> tuple[Floats, Integers]:
        """Ranks and numbers of the k nearest rows, the nearest first.

        Parameters
        ----------
        queries : array of shape (queries, columns)
        k : int
            At most as many as there are rows.

        Returns
        -------
        ranks, rows : arrays of shape (queries, k)
        """
        tree, queries = self.tree, self._widened(queries)
        own = np.empty(len(queries), np.int64)
        leaves_of(queries, tree.levels, tree.columns, tree.splits, own)
        # Queries of one leaf follow each other: what they need is still in the cache.
        turns = np.argsort(own, kind="stable")
        ranks = np.empty((len(queries), k))
        rows = np.empty((len(queries), k), np.int64)
        nearest_in_tree(
            queries, turns, own, tree.levels, tree.low, tree.high, *self._tiles,
            self.metric.kind, self.metric.p, self._w, self._margin, ranks, rows,
        )  # fmt: skip
        return ranks, rows

    def within(self, queries: Floats, most: float) -> RowsWithin:
        """All rows of a rank up to `most`, for each query in rising order of their numbers."""
        tree, queries = self.tree, self._widened(queries)

        def look(starts: Integers, counts: Integers, ranks: Floats, rows: Integers) -> None:
            within_in_tree(
                queries, tree.levels, tree.low, tree.high, *self._tiles, self.metric.kind,
                self.metric.p, self._w, self._margin, most, starts, counts, ranks, rows,
            )  # fmt: skip

        found = counted_then_listed(len(queries), look)
        of = np.repeat(np.arange(len(queries)), np.diff(found.starts))
        sorted_ = np.lexsort((found.rows, of))
        return RowsWithin(found.starts, found.ranks[sorted_], found.rows[sorted_])
