"""A multi-way tree in words: indented, or as one rule a leaf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.trees.multiway.tree import MultiwayTree


@dataclass(frozen=True)
class TreeInWords:
    """A tree with the names of what its numbers stand for.

    Attributes
    ----------
    tree : MultiwayTree
    names : sequence of str
        Of the columns.
    categories : sequence of arrays
        Of the columns.
    classes : array of shape (classes,)
    """

    tree: MultiwayTree
    names: Sequence[str]
    categories: Sequence[NDArray[Any]]
    classes: NDArray[Any]

    def text(self) -> str:
        """One line a branch, those to leaves first."""
        tree = self.tree
        if tree.is_leaf[0]:
            return self._class(0)
        lines, waiting = [], self._branches(0)[::-1]
        while waiting:
            node = waiting.pop()
            ends = f" {self._class(node)}" if tree.is_leaf[node] else ""
            indent = "|   " * int(tree.depth[node] - 1)
            lines.append(f"{indent}{self._test(node)}:{ends}")
            waiting += self._branches(node)[::-1]
        return "\n".join(lines)

    def rules(self) -> list[str]:
        """One rule a leaf; of bounds on the same column, the narrowest alone."""
        tree = self.tree
        found, waiting = [], [0]
        while waiting:
            node = waiting.pop()
            waiting += self._branches(node)[::-1]
            if tree.is_leaf[node]:
                tests = " and ".join(self._path(node))
                found.append(f"if {tests} then {self._class(node)}" if tests else self._class(node))
        return found

    def _branches(self, node: int) -> list[int]:
        """The branches of a node, leaves first."""
        return sorted(self.tree.branches(node), key=lambda one: not self.tree.is_leaf[one])

    def _path(self, node: int) -> list[str]:
        """The tests on the way to a node, from the root."""
        tree = self.tree
        tests: dict[tuple[int, int], str] = {}
        while node:
            above = int(tree.parent[node])
            side = -1 if np.isnan(tree.threshold[above]) else int(tree.value[node])
            tests.setdefault((int(tree.column[above]), side), self._test(node))
            node = above
        return list(tests.values())[::-1]

    def _test(self, node: int) -> str:
        """What must be true of a row that takes this branch."""
        tree, value = self.tree, int(self.tree.value[node])
        above = int(tree.parent[node])
        name, threshold = self.names[tree.column[above]], float(tree.threshold[above])
        if not np.isnan(threshold):
            return f"{name} {'>' if value else '<='} {_shown(threshold)}"
        known = self.categories[tree.column[above]]
        return f"{name} = {_shown(known[value])}" if value < len(known) else f"{name} is missing"

    def _class(self, node: int) -> str:
        """The class of a node, the weight of its rows, and of those that are not of this class."""
        counts = self.tree.counts[node]
        most, total = int(counts.argmax()), counts.sum()
        wrong = f"{total - counts[most]:.1f}"
        errors = "" if wrong == "0.0" else f"/{wrong}"
        return f"{_shown(self.classes[most])} ({total:.1f}{errors})"


def _shown(value: Any) -> str:
    """A value as a person writes it: 75, not 75.0."""
    plain = value.item() if isinstance(value, np.generic) else value
    return repr(plain).removesuffix(".0") if isinstance(plain, float) else str(plain)
