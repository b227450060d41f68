"""A binary tree of tests, its nodes in arrays that have scikit-learn's names.

A row goes to the left at node t if

    x_j ≤ θ            for a column of numbers,
    x_j ∈ S            for one of categories, which rows hold as the numbers 0, 1, 2, …

with j = feature[t] and θ = threshold[t].  A cell that is missing (NaN), or of a category that the
node did not see, goes to the left where `missing_go_to_left` says so.  S is a set of bits,
`category_bits` from `category_start[t]` on, 32 categories to a number; it ends where the next one
begins.  Every child has a larger number than its parent.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from suffice.fitting.files.registry import register
from suffice.kernels.trees.prediction import find_leaves, find_leaves_one_by_one, make_records
from suffice.numerics.cached import cached_property
from suffice.sources.finite import NotFinite

LEAF = -1
"""A child that is not there."""

UNDEFINED = -2
"""The column and the threshold of a leaf."""

TOGETHER = 256
"""Rows that are worth a record of each node, which later ones use as well."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Tree:
    """The nodes of a tree; node 0 is the root.

    Attributes
    ----------
    n_features : int
        Columns of the rows.
    children_left, children_right : int32 arrays of shape (nodes,)
        Numbers of nodes; −1 at a leaf.
    feature : int32 array of shape (nodes,)
        The column that is tested; −2 at a leaf.
    threshold : float64 array of shape (nodes,)
        Cells up to it go to the left; −2 at a leaf, NaN where categories are tested, ∞ where what
        is missing goes to the right and all else to the left.
    missing_go_to_left : uint8 array of shape (nodes,)
    impurity : float64 array of shape (nodes,)
    n_node_samples : int64 array of shape (nodes,)
        Rows of the fit that came by.
    weighted_n_node_samples : float64 array of shape (nodes,)
        Their weight.
    value : float64 array of shape (nodes, 1, classes) or (nodes, 1, 1)
        Shares of the classes, or the prediction.
    category_start : int64 array of shape (nodes,), or (0,) where no column holds categories
        Where a node's set begins in `category_bits`; −1 for nodes that test none.
    category_bits : uint32 array
    """

    n_features: int
    children_left: NDArray[np.int32]
    children_right: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: Floats
    missing_go_to_left: NDArray[np.uint8]
    impurity: Floats
    n_node_samples: NDArray[np.int64]
    weighted_n_node_samples: Floats
    value: Floats
    category_start: NDArray[np.int64]
    category_bits: NDArray[np.uint32]

    @property
    def node_count(self) -> int:
        """Nodes, leaves among them."""
        return len(self.feature)

    @property
    def n_leaves(self) -> int:
        """Nodes that test nothing."""
        return int(np.count_nonzero(self.is_leaf))

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        """Whether each node is a leaf."""
        return self.children_left == LEAF

    @property
    def n_outputs(self) -> int:
        """Targets: one."""
        return 1

    @property
    def n_classes(self) -> NDArray[np.int64]:
        """Classes of the target; 1 in regression."""
        return np.array([self.value.shape[2]])

    @property
    def max_n_classes(self) -> int:
        """The same as a number."""
        return int(self.value.shape[2])

    @cached_property
    def parent(self) -> NDArray[np.int32]:
        """The node above each node; −1 above the root."""
        parent = np.full(self.node_count, LEAF, np.int32)
        inner = np.flatnonzero(~self.is_leaf)
        parent[self.children_left[inner]] = parent[self.children_right[inner]] = inner
        return parent

    @cached_property
    def depth(self) -> NDArray[np.int32]:
        """Steps from the root to each node."""
        depth = np.zeros(self.node_count, np.int32)
        for steps, level in enumerate(self.levels()):
            depth[level] = steps
        return depth

    @cached_property
    def majority(self) -> NDArray[np.int64]:
        """The class of most weight at each node, by number; the first of several."""
        return self.value[:, 0].argmax(axis=1)

    def levels(self, leaves: NDArray[np.bool_] | bool = False) -> list[NDArray[np.int64]]:
        """The nodes of each depth, from the root on; what is below chosen nodes is left out."""
        ends = self.is_leaf | leaves
        found, level = [], np.zeros(1, np.int64)
        while len(level):
            found.append(level)
            inner = level[~ends[level]]
            level = np.concatenate([self.children_left[inner], self.children_right[inner]])
        return found

    @property
    def max_depth(self) -> int:
        """Steps from the root to the farthest leaf."""
        return int(self.depth.max())

    @property
    def nbytes(self) -> int:
        """Memory that the nodes take."""
        return sum(getattr(self, one.name).nbytes for one in fields(self)[1:])

    def tests_categories(self, node: int) -> bool:
        """Whether a node asks for a set of categories."""
        return len(self.category_start) > 0 and bool(self.category_start[node] >= 0)

    def categories_left(self, node: int, n_categories: int) -> NDArray[np.bool_]:
        """Which categories of the tested column go to the left."""
        start, words = self.category_start[node], -(-n_categories // 32)
        bits = self.category_bits[start : start + words].view(np.uint8)
        return np.unpackbits(bits, bitorder="little")[:n_categories].astype(np.bool_)

    def compute_feature_importances(self, normalize: bool = True) -> Floats:
        """What each column's tests took from the impurity, as a share of all unless told."""
        inner = np.flatnonzero(~self.is_leaf)
        left, right = self.children_left[inner], self.children_right[inner]
        total = self.weighted_n_node_samples * self.impurity
        decrease = total[inner] - total[left] - total[right]
        total_weight = self.weighted_n_node_samples[0]
        found: Floats = np.bincount(self.feature[inner], decrease, self.n_features) / total_weight
        if normalize and found.sum() > 0:
            found /= found.sum()
        return found

    # --- rows --------------------------------------------------------------------------------

    def apply(self, X: Any) -> NDArray[np.int64]:
        """The leaf that each row comes to.

        Parameters
        ----------
        X : float array of shape (rows, columns)
            Categories as numbers; NaN, or −1 for a category, where a cell is missing.

        Raises
        ------
        NotFinite
            If a cell is infinite or beyond what models take.
        """
        X = np.asarray(X)
        X = np.ascontiguousarray(X, np.float32 if X.dtype == np.float32 else np.float64)
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(f"rows of shape {X.shape} are not of {self.n_features} columns")
        leaves = np.empty(len(X), np.int64)
        if len(self.category_start) == 0 and len(X) >= TOGETHER:
            beyond = find_leaves(X, *self._records, leaves)
        else:
            beyond = find_leaves_one_by_one(
                X.astype(np.float64, copy=False), self.children_left, self.children_right,
                self.feature, self.threshold, self.missing_go_to_left, self.category_start,
                self._category_end, self.category_bits, leaves,
            )  # fmt: skip
        if beyond:
            raise NotFinite("infinity or a value too large", 0, len(X))
        return leaves

    @cached_property
    def _records(self) -> tuple[Floats, NDArray[np.int32]]:
        records, number = np.empty((self.node_count, 2)), np.empty(self.node_count, np.int32)
        make_records(
            self.children_left, self.children_right, self.feature, self.threshold,
            self.missing_go_to_left, records, number,
        )  # fmt: skip
        return records, number

    @cached_property
    def _category_end(self) -> NDArray[np.int64]:
        """Where each node's set ends: where another begins, or all do."""
        starts = np.unique(np.append(self.category_start, len(self.category_bits)))
        return starts[np.searchsorted(starts, self.category_start, "right")]

    def decision_path(self, X: Any) -> csr_matrix:
        """The nodes that each row comes by: 1 in row i and column t where row i comes by node t.

        Parameters
        ----------
        X : float array of shape (rows, columns)
            As for `apply`.

        Returns
        -------
        csr_matrix of shape (rows, nodes)
        """
        return self.paths_to(self.apply(X))

    def paths_to(self, node: NDArray[np.int64]) -> csr_matrix:
        """The nodes on the way to some, as `decision_path` has them."""
        end = np.append(0, np.cumsum(self.depth[node] + 1, dtype=np.int64))
        nodes, place = np.empty(end[-1], np.int64), end[1:]
        while len(node):  # from the leaves up
            place = place - 1
            nodes[place] = node
            below = node > 0
            node, place = self.parent[node[below]].astype(np.int64), place[below]
        seen = np.ones(len(nodes), np.int64)
        return csr_matrix((seen, nodes, end), (len(end) - 1, self.node_count))

    def predict(self, X: Any) -> Floats:
        """The value of the leaf of each row, of shape (rows, classes) or (rows, 1)."""
        return self.value[:, 0].take(self.apply(X), axis=0)

    # --- other trees -------------------------------------------------------------------------

    def cut_back(self, leaves: NDArray[np.bool_]) -> Tree:
        """The tree whose nodes that a mask chooses are leaves, and what is below them is gone.

        Nodes are numbered anew: the root, what is on its left, what is on its right.
        """
        levels = self.levels(leaves)
        ends = self.is_leaf | leaves
        left, right = self.children_left, self.children_right
        size = np.ones(self.node_count, np.int64)
        inner = [level[~ends[level]] for level in levels]
        for t in reversed(inner):
            size[t] += size[left[t]] + size[right[t]]
        number = np.zeros(self.node_count + 1, np.int64)
        number[LEAF] = LEAF  # of no child
        for t in inner:
            number[left[t]] = number[t] + 1
            number[right[t]] = number[t] + 1 + size[left[t]]
        stays = np.concatenate(levels)
        stays = stays[np.argsort(number[stays])]
        ends = ends[stays]
        columns = {name: getattr(self, name)[stays] for name in TYPES if name not in SETS}
        for name, of_leaf in OF_LEAVES.items():
            columns[name] = np.where(ends, of_leaf, columns[name])
        for name in ("children_left", "children_right"):
            columns[name] = number[columns[name]]
        return Tree(self.n_features, **columns, **self._sets_of(stays, ends)).typed()

    def _sets_of(self, nodes: NDArray[np.int64], ends: NDArray[np.bool_]) -> dict[str, Any]:
        """The sets of categories of some nodes, those of leaves left out."""
        if len(self.category_start) == 0:
            return {name: getattr(self, name) for name in SETS}
        old = np.where(ends, LEAF, self.category_start[nodes])
        words = np.where(old >= 0, self._category_end[nodes] - old, 0)
        new = np.cumsum(words) - words
        place = np.repeat(old - new, words) + np.arange(words.sum())
        start = np.where(old >= 0, new, LEAF)
        return {"category_start": start, "category_bits": self.category_bits[place]}

    def typed(self) -> Tree:
        """The same nodes in arrays of the types that kernels and files expect."""
        return Tree(
            self.n_features, *(np.ascontiguousarray(getattr(self, n), t) for n, t in TYPES.items())
        )

    def __getstate__(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(self)}  # nothing cached

    def _check_loaded(self) -> None:
        """Raise ValueError unless what a file holds is a tree: compiled loops would not notice."""
        if type(self.n_features) is not int or self.n_features < 0:
            raise ValueError(f"its number of columns is {self.n_features!r:.80}")
        for name, dtype in TYPES.items():
            part, axes = getattr(self, name), 3 if name == "value" else 1
            if not isinstance(part, np.ndarray) or part.dtype != dtype or part.ndim != axes:
                raise ValueError(f"its {name} is not of {np.dtype(dtype)} and {axes} axes")
        n = len(self.feature)
        lengths = {len(getattr(self, name)) for name in TYPES if name not in SETS}
        if lengths != {n} or n == 0 or self.value.shape[1] != 1 or self.value.shape[2] == 0:
            raise ValueError("its nodes are not of one number")
        inner = ~self.is_leaf
        children = np.stack([self.children_left, self.children_right])
        if (children[:, ~inner] != LEAF).any():
            raise ValueError("its leaves have children")
        below = np.sort(children[:, inner], axis=None)
        # Every node but the root is one node's child, and comes after it: so a row's way ends.
        if (children[:, inner] <= np.flatnonzero(inner)).any() or (
            not np.array_equal(below, np.arange(1, n))
        ):
            raise ValueError("its nodes are not a tree")
        tested = self.feature[inner]
        if (tested < 0).any() or (tested >= self.n_features).any():
            raise ValueError(f"its nodes test columns beyond the {self.n_features} there are")
        if (self.missing_go_to_left > 1).any():
            raise ValueError("its missing_go_to_left is neither 0 nor 1")
        starts = self.category_start
        if (
            len(starts) not in (0, n)
            or ((starts < LEAF) | (starts >= len(self.category_bits))).any()
        ):
            raise ValueError("its sets of categories do not fit its nodes")


TYPES: dict[str, Any] = {
    "children_left": np.int32,
    "children_right": np.int32,
    "feature": np.int32,
    "threshold": np.float64,
    "missing_go_to_left": np.uint8,
    "impurity": np.float64,
    "n_node_samples": np.int64,
    "weighted_n_node_samples": np.float64,
    "value": np.float64,
    "category_start": np.int64,
    "category_bits": np.uint32,
}
"""The arrays of a tree and their types, in the order of its fields."""

SETS = ("category_start", "category_bits")
"""Those that a tree without categories leaves empty."""

OF_LEAVES: dict[str, Any] = {
    "children_left": LEAF,
    "children_right": LEAF,
    "feature": UNDEFINED,
    "threshold": float(UNDEFINED),
    "missing_go_to_left": 0,
}
"""What leaves have where inner nodes have a test."""

register(Tree)
