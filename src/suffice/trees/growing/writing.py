"""Nodes of a tree that grows, and the tree that they become."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.trees.criteria import SQUARED_ERROR
from suffice.kernels.trees.layout import TURN
from suffice.numerics.double_double import Array
from suffice.trees.growing.shards import Histograms, Scheme
from suffice.trees.nodes.tree import LEAF, UNDEFINED, Tree


class FoundSplit(NamedTuple):
    """The best split of a node.

    Attributes
    ----------
    column : int
    threshold : float
        NaN for categories.
    missing_left : bool
    goes_left : uint8 array of shape (bins + 1,)
        1 for bins that go to the left, the last of which is that of missing cells.
    improvement : float
        What the split takes from the impurity of the tree.
    """

    column: int
    threshold: float
    missing_left: bool
    goes_left: NDArray[np.uint8]
    improvement: float


@dataclass(eq=False)
class GrowingNode:
    """A node whose rows are known.

    Attributes
    ----------
    parent : GrowingNode, or None
    place : int
        Its number among the nodes of those who hold its rows.
    depth : int
    path : int
        A number that the way from the root makes, whatever else was split before.
    rows : int
    sums : float64 array of shape (sums,)
    weight, impurity : float
    found : FoundSplit, or None
        None if it must not, or cannot, be split.
    children : tuple of GrowingNode
        Empty as long as it is a leaf.
    table : Histograms, or None
        Of its rows, until its children have theirs.
    """

    parent: GrowingNode | None
    place: int
    depth: int
    path: int
    rows: int
    sums: Array
    weight: float
    impurity: float
    found: FoundSplit | None = None
    children: tuple[GrowingNode, ...] = ()
    table: Histograms | None = None

    @property
    def gain(self) -> float:
        """What its split takes from the impurity of the tree."""
        return -np.inf if self.found is None else self.found.improvement

    def path_of(self, side: int) -> int:
        """The path of a child."""
        return ((self.path + side + 1) * TURN) % (1 << 64)


def tree_of(nodes: list[GrowingNode], scheme: Scheme, preorder: bool) -> Tree:
    """The tree of nodes.

    Parameters
    ----------
    nodes : list of GrowingNode
        The root first.
    scheme : Scheme
        Of its rows.
    preorder : bool
        Whether they are numbered depth first, left before right; else as they are listed.
    """
    if preorder:
        waiting, nodes = [nodes[0]], []
        while waiting:
            node = waiting.pop()
            nodes.append(node)
            waiting += node.children[::-1]
    number = {id(node): i for i, node in enumerate(nodes)}
    splits = [node.found if node.children else None for node in nodes]

    def of_splits(value: Any, leaf: Any) -> list[Any]:
        return [leaf if one is None else value(one) for one in splits]

    bins, starts, words = scheme.coding.bins, [], 0
    bits: list[NDArray[np.uint32]] = []
    for one in splits:
        categories = None if one is None else bins[one.column].categories
        starts.append(LEAF)
        if one is not None and categories is not None:
            starts[-1] = words
            members = np.zeros(-(-len(categories) // 32) * 32, np.uint8)
            members[: len(categories)] = one.goes_left[:-1]
            bits.append(np.packbits(members, bitorder="little").view(np.uint32))
            words += len(bits[-1])
    has_categories = any(one.categories is not None for one in bins)
    sums, weight = np.array([node.sums for node in nodes]), [node.weight for node in nodes]
    value = sums / np.array(weight)[:, None]
    if scheme.criterion >= SQUARED_ERROR:
        value = value[:, 1:] + scheme.coding.centre
    children = [[number[id(child)] for child in node.children] or [LEAF] * 2 for node in nodes]
    left, right = np.array(children).T
    return Tree(
        n_features=len(bins),
        children_left=left,
        children_right=right,
        feature=np.array(of_splits(lambda one: one.column, UNDEFINED)),
        threshold=np.array(of_splits(lambda one: one.threshold, float(UNDEFINED))),
        missing_go_to_left=np.array(of_splits(lambda one: one.missing_left, False)),
        impurity=np.array([node.impurity for node in nodes]),
        n_node_samples=np.array([node.rows for node in nodes]),
        weighted_n_node_samples=np.array(weight),
        value=value[:, None],
        category_start=np.array(starts if has_categories else []),
        category_bits=np.concatenate(bits) if bits else np.empty(0, np.uint32),
    ).typed()
