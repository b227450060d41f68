"""Trees of scikit-learn's as ours."""

from __future__ import annotations

import numpy as np

from suffice.trees.nodes.tree import TYPES, Tree


def as_tree(theirs) -> Tree:
    """The nodes of a `tree_` of scikit-learn's."""
    names = [name for name in TYPES if not name.startswith("category")]
    return Tree(
        theirs.n_features, *(getattr(theirs, name) for name in names), np.empty(0), np.empty(0)
    ).typed()


def assert_same_nodes(tree: Tree, theirs) -> None:
    """Every array is equal, and bit for bit; of a leaf's tests scikit-learn says nothing."""
    for name in TYPES:
        if not name.startswith("category") and name != "missing_go_to_left":
            np.testing.assert_array_equal(getattr(tree, name), getattr(theirs, name), name)
    inner = ~tree.is_leaf
    np.testing.assert_array_equal(tree.missing_go_to_left[inner], theirs.missing_go_to_left[inner])
