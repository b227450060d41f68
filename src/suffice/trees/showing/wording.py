"""The words in which a tree is told: names of columns and classes, sets of categories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from suffice.trees.nodes.tree import Tree

SHOWN_CATEGORIES = 5
"""Members of a set that are named; the others are counted."""

SHOWN_CHARACTERS = 24
"""Letters of a category's name."""

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Wording:
    """A fitted tree and the names of what it tests and predicts.

    Attributes
    ----------
    tree : Tree
    columns : sequence of str
    classes : sequence of shape (classes,), or None in regression
    categories : sequence of shape (columns,)
        None for a column of numbers, else its categories in the order of their codes.
    missing : bool
        Whether to say where missing cells go.
    """

    tree: Tree
    columns: Sequence[str]
    classes: Sequence[Any] | None
    categories: Sequence[Any]
    missing: bool

    def answers(self, node: int, number: Callable[[float], str]) -> tuple[str, str]:
        """What is true of rows that go from a node to the left, and to the right."""
        tree, column = self.tree, int(self.tree.feature[node])
        name, threshold = self.columns[column], float(tree.threshold[node])
        missing_left = bool(tree.missing_go_to_left[node])
        if tree.tests_categories(node):
            values = self.categories[column]
            left = tree.categories_left(node, len(values))
            if left.any() and not left.all():
                chosen, others = membership(values, left), membership(values, ~left)
                return self._with_missing(f"{name} {chosen}", f"{name} {others}", missing_left)
        elif threshold < np.inf:
            shown = number(threshold)
            return self._with_missing(f"{name} <= {shown}", f"{name} >  {shown}", missing_left)
        gone, there = f"{name} is missing", f"{name} is not missing"
        return (gone, there) if missing_left else (there, gone)

    def _with_missing(self, left: str, right: str, missing_left: bool) -> tuple[str, str]:
        if not self.missing:
            return left, right
        return (left + OR_MISSING, right) if missing_left else (left, right + OR_MISSING)


OR_MISSING = " or missing"


def membership(values: Any, chosen: Mask) -> str:
    """Say which categories are meant, by those that are or those that are not: the fewer.

    Parameters
    ----------
    values : array of shape (categories,)
    chosen : bool array of shape (categories,)
    """
    few = chosen if 2 * np.count_nonzero(chosen) <= len(chosen) else ~chosen
    named = [shortened(str(values[i])) for i in np.flatnonzero(few)[:SHOWN_CATEGORIES]]
    others = np.count_nonzero(few) - len(named)
    if others:
        named.append(f"… {others} more")
    return f"{'in' if few is chosen else 'not in'} {{{', '.join(named)}}}"


def shortened(name: str) -> str:
    """A name on one line, cut where it is long."""
    name = " ".join(name.split()) or repr(name)
    return name if len(name) <= SHOWN_CHARACTERS else name[: SHOWN_CHARACTERS - 1] + "…"


def wording(
    model: Any,
    feature_names: Any,
    class_names: Any,
    missing: bool | None,
    unnamed: str = "feature_{}",
) -> Wording:
    """The tree of a fitted model with its names; ValueError where names do not fit it.

    Parameters
    ----------
    model : fitted DecisionTreeClassifier or DecisionTreeRegressor
    feature_names : sequence of str, or None for those of the fit
    class_names : sequence, or None for the classes themselves
    missing : bool, or None for `sends_missing_apart`
        Whether to say where missing cells go.
    unnamed : str
        How columns are called that have no name.
    """
    check_is_fitted(model)
    tree = getattr(model, "tree_", None)
    if not isinstance(tree, Tree):
        own = "; see its own export_text" if hasattr(model, "export_text") else ""
        raise TypeError(f"{type(model).__name__} has no binary tree to show{own}")
    if feature_names is None:
        feature_names = getattr(model, "feature_names_in_", None)
    if feature_names is None:
        feature_names = [unnamed.format(j) for j in range(tree.n_features)]
    elif len(feature_names) != tree.n_features:
        raise ValueError(
            f"feature_names must contain {tree.n_features} elements, got {len(feature_names)}"
        )
    classes = getattr(model, "classes_", None)
    if classes is not None and class_names is not None:
        if len(class_names) != len(classes):
            raise ValueError(
                "When `class_names` is an array, it should contain as many items as "
                f"`decision_tree.classes_`. Got {len(class_names)} while the tree was fitted "
                f"with {len(classes)} classes."
            )
        classes = class_names
    names = [str(name) for name in feature_names]
    if missing is None:
        missing = sends_missing_apart(tree)
    return Wording(tree, names, classes, model.categories_, missing)


def sends_missing_apart(tree: Tree) -> bool:
    """Whether some node sends missing cells elsewhere than to the side with more rows.

    There they go by themselves: another way was learned, from rows in which cells are missing.
    """
    inner = np.flatnonzero(~tree.is_leaf)
    rows = tree.n_node_samples
    larger_left = rows[tree.children_left[inner]] > rows[tree.children_right[inner]]
    apart = tree.missing_go_to_left[inner] != larger_left
    return bool((apart | (tree.threshold[inner] == np.inf)).any())


def below(tree: Tree) -> tuple[list[int], list[int]]:
    """Levels and leaves of the part of a tree that begins at each node, itself among them."""
    levels, leaves = [1] * tree.node_count, [1] * tree.node_count
    children = zip(tree.children_left.tolist(), tree.children_right.tolist(), strict=True)
    # Children come after their parents.
    for node, (left, right) in reversed(list(enumerate(children))):
        if left >= 0:
            levels[node] = 1 + max(levels[left], levels[right])
            leaves[node] = leaves[left] + leaves[right]
    return levels, leaves
