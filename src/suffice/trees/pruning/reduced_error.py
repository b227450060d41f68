"""Reduced-error pruning (Quinlan, 1987).

Rows that did not grow the tree come down it.  From the leaves up, a node becomes a leaf if it errs
no more on them as a leaf than the branch below it does, which has been pruned before:

    e(t) = error of t as a leaf,    E(t) = min(e(t), E(left) + E(right)),    E(leaf) = e(leaf).

By induction E(t) is the least error that any pruning of the branch has.  Since a tie makes a
leaf, the result is the smallest of all subtrees that err least.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.trees.nodes.tree import Tree

Floats = NDArray[np.float64]
Nodes = NDArray[np.int64]

Loss = Callable[[Tree, Nodes, NDArray[Any]], Floats]
"""What each row costs at a node: of a tree, the rows' nodes and their targets."""

LOSSES: dict[str, Loss] = {
    "misclassification": lambda tree, node, y: (tree.majority[node] != y).astype(np.float64),
    "squared_error": lambda tree, node, y: np.square(tree.value[node, 0, 0] - y),
    "absolute_error": lambda tree, node, y: np.abs(tree.value[node, 0, 0] - y),
}

TIE = 1e-12
"""Sums of the same errors in another order differ by less, relative to their size."""


def pruned(tree: Tree, leaves: Nodes, y: NDArray[Any], weight: Floats | None, loss: str) -> Tree:
    """The smallest subtree that errs least on validation rows.

    Parameters
    ----------
    tree : Tree
    leaves : array of shape (rows,)
        The leaf of each validation row, from `Tree.apply`.
    y : array of shape (rows,)
        Numbers of classes, or targets.
    weight : array of shape (rows,), optional
    loss : "misclassification", "squared_error" or "absolute_error"
        What an error costs.
    """
    error = _errors(tree, leaves, y, np.ones(len(y)) if weight is None else weight, LOSSES[loss])
    least, is_leaf = error.copy(), tree.is_leaf
    for level in reversed(tree.levels()):
        inner = level[~tree.is_leaf[level]]
        below = least[tree.children_left[inner]] + least[tree.children_right[inner]]
        cut = error[inner] <= below * (1 + TIE)
        is_leaf[inner[cut]] = True
        least[inner] = np.where(cut, error[inner], below)
    return tree.cut_back(is_leaf)


def _errors(tree: Tree, node: Nodes, y: NDArray[Any], weight: Floats, loss: Loss) -> Floats:
    """What the rows that come by each node would cost if it were a leaf."""
    error = np.zeros(tree.node_count)
    while len(node):  # from the leaves up to the root
        error += np.bincount(node, weight * loss(tree, node, y), tree.node_count)
        below = node > 0
        node, y, weight = tree.parent[node[below]].astype(np.int64), y[below], weight[below]
    return error
