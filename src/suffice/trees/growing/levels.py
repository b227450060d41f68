"""A tree that grows from binned rows, level by level, by histograms.

    divide      rows go to the children of the nodes that were split
    build       what the rows of each open node add up to, bin by bin
    choose      the best split of each, from these sums alone (`suffice.kernels.trees.cuts`)

Of two children the smaller one is built, and the other is what their parent has left.  A node of
few rows is cut out of the stream: they are copied, and its subtree grows from them.

With a limit of leaves the node of largest gain is split first, one at a time, as scikit-learn does;
each takes sweeps of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.engines.sweep import Shard, Shards
from suffice.fitting.requests import Request, Sweep
from suffice.kernels.trees.criteria import cost, weight_of
from suffice.kernels.trees.histograms import best_splits
from suffice.numerics.double_double import Array
from suffice.trees.growing.settings import WITHOUT_LIMIT, Settings
from suffice.trees.growing.shards import (
    Build,
    Divide,
    Division,
    GatherNodes,
    Histograms,
    NodeTotals,
    Scheme,
)
from suffice.trees.growing.writing import FoundSplit, GrowingNode

EPSILON = float(np.finfo(np.float64).eps)
"""Impurity that counts as none, as for scikit-learn."""

CELLS_AT_ONCE = 1 << 21
"""Sums of the histograms that a sweep builds, in each shard (16 MB)."""

CELLS_KEPT = 1 << 24
"""Sums of the histograms that are kept for the children of their nodes (128 MB)."""

FEW_ROWS = 1 << 14
"""Rows from which a node is no longer worth a sweep over all shards."""

ROWS_COPIED = 1 << 20
"""Rows of such nodes that are copied at once."""


class InShards:
    """Rows that are held in shards: each function of them is a sweep."""

    def __init__(self, shards: Shards) -> None:
        self.shards, self.n_nodes = shards, 0

    def sweep(self, step: str | None, function: Callable[[Shard], Any]) -> Any:
        """Ask for a sweep; its statistic."""
        return (yield Sweep(step, self.shards, function))


class InOnePlace:
    """Rows that were copied out of shards."""

    def __init__(self, shard: Shard, n_nodes: int) -> None:
        self.shard, self.n_nodes = shard, n_nodes

    def sweep(self, step: str | None, function: Callable[[Shard], Any]) -> Any:
        """Call the function; its statistic."""
        own, found = function(self.shard)
        self.shard = replace(self.shard, own=own)
        yield from ()
        return found


Holder = InShards | InOnePlace


class Growth:
    """A tree on its way.

    Attributes
    ----------
    nodes : list of GrowingNode
        In the order of their making.
    best_first : bool
        Whether the number of leaves is limited, and the node of largest gain comes first.
    """

    def __init__(self, settings: Settings, scheme: Scheme) -> None:
        self.settings, self.scheme = settings, scheme
        self.nodes: list[GrowingNode] = []
        self.best_first = settings.max_leaf_nodes < WITHOUT_LIMIT
        bins = scheme.coding.bins
        self._categorical = np.array([one.categories is not None for one in bins], np.uint8)
        self._widest = max((one.n_bins for one in bins), default=0) + 1
        self._cells = int(scheme.coding.places[-1]) * scheme.n_sums
        self._cells_kept = 0

    def run(self, holder: Holder) -> Generator[Request, Any, None]:
        """Grow the whole tree."""
        totals = yield from holder.sweep(None, Divide(self.scheme))
        yield from self._grow(holder, self._new(holder, [None], totals))

    def _grow(self, holder: Holder, new: list[GrowingNode]) -> Generator[Request, Any, None]:
        """Split nodes, and their children in turn, until there is nothing to split."""
        waiting: list[GrowingNode] = []
        leaves = 1
        while True:
            alive = [node for node in new if self._may_split(node)]
            copied = isinstance(holder, InShards) and not self.best_first
            apart = [node for node in alive if copied and node.rows <= FEW_ROWS]
            alive = [node for node in alive if not copied or node.rows > FEW_ROWS]
            yield from self._choose(holder, alive)
            for node in new:
                self._forget(node.parent)
            for group in groups(apart, ROWS_COPIED):
                yield from self._grow_apart(holder, group)
            waiting += [node for node in alive if node.found is not None]
            if not waiting or leaves >= self.settings.max_leaf_nodes:
                return
            chosen, waiting = waiting, []
            if self.best_first:
                chosen.sort(key=lambda node: -node.gain)  # of equal ones the oldest comes first
                chosen, waiting = chosen[:1], chosen[1:]
            leaves += len(chosen)
            splits = [(node.place, node.found) for node in chosen if node.found is not None]
            divisions = tuple(Division(place, one.column, one.goes_left) for place, one in splits)
            totals = yield from holder.sweep(None, Divide(self.scheme, divisions))
            new = self._new(holder, [node for node in chosen for _ in range(2)], totals)
            for node, left, right in zip(chosen, new[::2], new[1::2], strict=True):
                node.children = left, right

    def _grow_apart(
        self, holder: Holder, group: list[GrowingNode]
    ) -> Generator[Request, Any, None]:
        """Grow the subtrees of nodes from a copy of their rows."""
        places = np.array([node.place for node in group])
        rows = yield from holder.sweep(None, GatherNodes(places))
        for place, node in enumerate(group):
            node.place = place
        yield from self._grow(InOnePlace(rows.as_shard(len(group)), len(group)), group)

    # --- nodes --------------------------------------------------------------------------------

    def _new(
        self, holder: Holder, parents: Sequence[GrowingNode | None], totals: NodeTotals
    ) -> list[GrowingNode]:
        """The nodes that rows were divided among."""
        criterion, new = self.settings.criterion, []
        for i, parent in enumerate(parents):
            sums, (spread, least, most) = totals.sums[i], totals.more[:, i]
            weight = weight_of(criterion, sums)
            whole = max(cost(criterion, sums, weight) + spread, 0.0)
            impurity = whole / weight if np.isfinite(whole) else 0.0
            alike = np.count_nonzero(sums) < 2
            if self.settings.is_regression:
                alike = -least == most
            path = self.settings.seed if parent is None else parent.path_of(i % 2)
            depth = 0 if parent is None else parent.depth + 1
            node = GrowingNode(
                parent, holder.n_nodes + i, depth, path, int(totals.rows[i]), sums, weight,
                0.0 if alike else impurity,
            )  # fmt: skip
            new.append(node)
        holder.n_nodes += len(new)
        self.nodes += new
        return new

    def _may_split(self, node: GrowingNode) -> bool:
        """Whether a node need not be a leaf, by scikit-learn's rules."""
        settings = self.settings
        return not (
            node.depth >= settings.max_depth
            or node.rows < max(settings.min_samples_split, 2 * settings.min_samples_leaf)
            or node.weight < 2 * settings.min_weight_leaf
            or node.impurity <= 0
        )

    # --- histograms ---------------------------------------------------------------------------

    def _choose(self, holder: Holder, nodes: list[GrowingNode]) -> Generator[Request, Any, None]:
        """Find the best split of nodes."""
        asked = {id(node) for node in nodes}
        families = [one for node in nodes for one in _families(node, asked)]
        size = max(CELLS_AT_ONCE // self._cells, 1)
        for start in range(0, len(families), size):
            some = families[start : start + size]
            places = np.array([one.built.place for one in some])
            step = f"depth {some[0].built.depth}"
            found: Histograms = yield from holder.sweep(step, Build(self.scheme, places))
            tables = []
            for (built, other, whole), sums, counts in zip(
                some, found.sums, found.counts, strict=True
            ):
                if id(built) in asked:
                    tables.append((built, sums, counts))
                if other is not None and whole is not None:
                    tables.append((other, whole.sums - sums, whole.counts - counts))
            self._choose_from(tables)

    def _choose_from(self, tables: list[tuple[GrowingNode, Array, NDArray[np.int64]]]) -> None:
        """The best splits of nodes with these histograms."""
        settings, nodes = self.settings, [node for node, _, _ in tables]
        sums = np.stack([one for _, one, _ in tables])
        counts = np.stack([one for _, _, one in tables])
        if self.scheme.alike:
            rows = sums[..., 0] if settings.is_regression else sums @ np.ones(sums.shape[-1])
            counts = rows.astype(np.int64)
        costs, chosen = np.empty(len(nodes)), np.empty((len(nodes), 3), np.int64)
        goes_left = np.zeros((len(nodes), self._widest), np.uint8)
        best_splits(
            settings.criterion, sums, counts, self.scheme.coding.places, self._categorical,
            np.stack([self._columns(node) for node in nodes]), settings.max_features,
            np.stack([node.sums for node in nodes]), np.array([node.rows for node in nodes]),
            settings.min_samples_leaf, settings.min_weight_leaf, costs, chosen, goes_left,
        )  # fmt: skip
        total = self.nodes[0].weight
        for i, node in enumerate(nodes):
            gain = (cost(settings.criterion, node.sums, node.weight) - costs[i]) / total
            if np.isinf(costs[i]) or gain + EPSILON < settings.min_impurity_decrease:
                continue
            column, last, missing_left = chosen[i].tolist()
            bins, place = self.scheme.coding.bins[column], self.scheme.coding.places[column]
            threshold = float("nan")
            if bins.categories is None:
                after = counts[i, place + last + 1 : place + bins.n_bins].nonzero()[0]
                following = last + 1 + int(after[0]) if len(after) else bins.n_bins
                threshold = bins.threshold(last, following)
            left = goes_left[i, : bins.n_bins + 1].copy()
            node.found = FoundSplit(column, threshold, bool(missing_left), left, gain)
            if self._cells_kept + self._cells <= CELLS_KEPT:
                self._cells_kept += self._cells
                own = slice(None) if not self.scheme.alike else slice(0)
                node.table = Histograms(sums[i], counts[i, own])

    def _columns(self, node: GrowingNode) -> NDArray[np.int64]:
        """In which order a node looks at the columns."""
        n = len(self.scheme.coding.bins)
        if self.settings.max_features >= n:
            return (np.arange(n) + (node.path >> 33)) % n  # equal splits: no column is favoured
        return np.random.Generator(np.random.Philox(key=node.path)).permutation(n)

    def _forget(self, node: GrowingNode | None) -> None:
        """Let go of the histograms of a node whose children have theirs."""
        if node is not None and node.table is not None:
            node.table = None
            self._cells_kept -= self._cells


class _Family(NamedTuple):
    """A node whose histogram is built, and a sibling that has the rest of their parent's."""

    built: GrowingNode
    other: GrowingNode | None = None
    whole: Histograms | None = None


def _families(node: GrowingNode, asked: set[int]) -> Iterator[_Family]:
    """How a node comes to its histogram; nothing if its smaller sibling brings it along."""
    if node.parent is None or node.parent.table is None:
        yield _Family(node)
        return
    small, large = sorted(node.parent.children, key=lambda child: child.rows)
    if node is small and id(large) not in asked:
        yield _Family(small)
    elif node is small or id(small) not in asked:
        yield _Family(small, large, node.parent.table)


def groups(nodes: list[GrowingNode], most: int) -> list[list[GrowingNode]]:
    """Nodes in groups of so many rows at the most."""
    ends = np.cumsum([node.rows for node in nodes])
    out: dict[int, list[GrowingNode]] = {}
    for node, end in zip(nodes, ends.tolist(), strict=True):
        out.setdefault(end // most, []).append(node)
    return list(out.values())
