"""Cost-complexity pruning (Breiman, Friedman, Olshen and Stone, 1984, chapter 3).

Among the subtrees of a tree that have its root, the best one for α ≥ 0 is that which minimises

    R_α(T) = R(T) + α |T|,        R(T) = Σ over leaves t of  (w_t / w) · impurity(t),

with |T| leaves.  A node t costs R(t) as a leaf; the branch T_t below it costs R(T_t).  It is better
as a leaf from

    α = (R(t) − R(T_t)) / (|T_t| − 1)

on, so the node with the smallest such α is the weakest link.  Making leaves of the weakest links
one after the other gives the best subtrees for all α, each within the one before.  The steps
are taken by `suffice.kernels.trees.pruning.cut_weakest_links`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.trees.pruning import cut_weakest_links
from suffice.trees.nodes.tree import Tree

Floats = NDArray[np.float64]


class Path(NamedTuple):
    """The best subtrees for all α, from the whole tree to its root alone.

    Attributes
    ----------
    ccp_alphas : array
        The α from which on each subtree is the best one.
    impurities : array
        R(T) of each.
    """

    ccp_alphas: Floats
    impurities: Floats


def pruning_path(tree: Tree) -> Path:
    """The steps of cost-complexity pruning."""
    return _cut(tree, np.inf)[0]


def pruned(tree: Tree, alpha: float) -> Tree:
    """The best subtree for a price of α a leaf; the tree itself where leaves cost nothing."""
    return tree if alpha == 0 else tree.cut_back(_cut(tree, alpha)[1])


def _cut(tree: Tree, alpha: float) -> tuple[Path, NDArray[np.bool_]]:
    """The steps up to α, and the leaves after the last one."""
    cost = tree.weighted_n_node_samples * tree.impurity / tree.weighted_n_node_samples[0]
    leaves = tree.is_leaf.astype(np.uint8)
    most = tree.node_count - tree.n_leaves + 1
    alphas, costs = np.empty(most), np.empty(most)
    steps = cut_weakest_links(
        tree.children_left, tree.children_right, tree.parent, cost, alpha, leaves, alphas, costs
    )
    return Path(alphas[:steps], costs[:steps]), leaves.astype(np.bool_)
