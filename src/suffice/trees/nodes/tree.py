"""A binary tree of tests, its nodes in arrays that have scikit-learn's names.

A row goes to the left at node t if

    x_j ≤ θ            for a column of numbers,
    x_j ∈ S            for one of categories, which rows hold as the numbers 0, 1, 2, …

with j = feature[t] and θ = threshold[t].  A cell that is missing (NaN), or of a category that the
node did not see, goes to the left where `missing_go_to_left` says so.  S is a set of bits,
`category_bits` from `category_start[t]` on, 32 categories to a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.fitting.files.registry import register
from suffice.numerics.cached import cached_property

LEAF = -1
"""A child that is not there."""

UNDEFINED = -2
"""The column and the threshold of a leaf."""

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
    def depth(self) -> NDArray[np.int32]:
        """Steps from the root to each node."""
        depth = np.zeros(self.node_count, np.int32)
        level, steps = np.array([0]), 0
        while len(level):
            depth[level] = steps
            inner = level[~self.is_leaf[level]]
            level = np.concatenate([self.children_left[inner], self.children_right[inner]])
            steps += 1
        return depth

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
        found = np.bincount(self.feature[inner], decrease, self.n_features)
        found /= self.weighted_n_node_samples[0]
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
        """
        from suffice.kernels.trees.prediction import find_leaves

        X = np.ascontiguousarray(X, np.float64)
        leaves = np.empty(len(X), np.int64)
        find_leaves(
            X, self.children_left, self.children_right, self.feature, self.threshold,
            self.missing_go_to_left, self.category_start, self.category_bits, leaves,
        )  # fmt: skip
        return leaves

    def predict(self, X: Any) -> Floats:
        """The value of the leaf of each row, of shape (rows, classes) or (rows, 1)."""
        found: Floats = self.value[self.apply(X), 0]
        return found

    # --- other trees -------------------------------------------------------------------------

    def cut_back(self, leaves: NDArray[np.bool_]) -> Tree:
        """The tree whose nodes that a mask chooses are leaves, and what is below them is gone.

        Nodes keep their order.
        """
        stays = np.zeros(self.node_count, np.bool_)
        level = np.array([0])
        while len(level):
            stays[level] = True
            inner = level[~(self.is_leaf | leaves)[level]]
            level = np.concatenate([self.children_left[inner], self.children_right[inner]])
        number = np.append(np.cumsum(stays) - 1, LEAF)  # the last one is that of no child
        ends = leaves | self.is_leaf
        columns = {one.name: getattr(self, one.name) for one in fields(self)}
        columns["children_left"] = number[np.where(ends, LEAF, self.children_left)]
        columns["children_right"] = number[np.where(ends, LEAF, self.children_right)]
        columns["feature"] = np.where(ends, UNDEFINED, self.feature)
        columns["threshold"] = np.where(ends, float(UNDEFINED), self.threshold)
        columns["missing_go_to_left"] = np.where(ends, 0, self.missing_go_to_left)
        if len(self.category_start):
            columns["category_start"] = np.where(ends, LEAF, self.category_start)
        return Tree(**{name: _among(old, stays) for name, old in columns.items()}).typed()

    def reordered(self, order: NDArray[np.int64]) -> Tree:
        """The same tree with its nodes in another order."""
        number = np.empty(self.node_count + 1, np.int64)
        number[order], number[LEAF] = np.arange(self.node_count), LEAF
        columns = {one.name: getattr(self, one.name) for one in fields(self)}
        for name in ("children_left", "children_right"):
            columns[name] = number[columns[name]]
        mixed = np.zeros(self.node_count, np.bool_)
        return Tree(
            **{
                n: old[order] if np.shape(old)[:1] == mixed.shape and n != "category_bits" else old
                for n, old in columns.items()
            }
        )

    def typed(self) -> Tree:
        """The same nodes in arrays of the types that kernels and files expect."""
        return Tree(
            self.n_features, *(np.ascontiguousarray(getattr(self, n), t) for n, t in TYPES.items())
        )

    def _check_loaded(self) -> None:
        """Raise ValueError unless what a file holds could be a tree."""
        n = self.node_count
        lengths = {len(getattr(self, name)) for name in TYPES if not name.startswith("category")}
        children: Sequence[Any] = self.children_left, self.children_right
        if lengths != {n} or n == 0 or self.value.ndim != 3:
            raise ValueError("its nodes are not of one number")
        inner = ~self.is_leaf
        # Every child comes after its parent: so a row's way ends.
        number = np.arange(n)
        for child in children:
            if (child[inner] <= number[inner]).any() or (child[inner] >= n).any():
                raise ValueError("its nodes are not a tree")
            if (child[~inner] != LEAF).any():
                raise ValueError("its leaves have children")
        if (self.feature[inner] < 0).any() or (self.feature[inner] >= self.n_features).any():
            raise ValueError(f"its nodes test columns beyond the {self.n_features} there are")
        if len(self.category_start) not in (0, n):
            raise ValueError("its sets of categories do not fit its nodes")


def _among(column: Any, stays: NDArray[np.bool_]) -> Any:
    return column[stays] if np.shape(column)[:1] == stays.shape else column


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

register(Tree)
