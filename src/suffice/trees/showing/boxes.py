"""What the boxes of a drawn tree say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.trees.showing.wording import Wording, below, shortened

SHOWN_CLASSES = 10
"""Classes whose weights stand in a box; of more, the heaviest three do."""


@dataclass
class Box:
    """A node that is drawn, or what stands for all that is below one."""

    node: int
    depth: int
    parent: int
    """Its place among the boxes; −1 for the root."""
    leaves: int
    """How many it stands for; 0 for a node itself."""


def boxes_of(words: Wording, max_depth: int | None) -> list[Box]:
    """The root, and after each box what is to its left, and then to its right."""
    tree, (_, leaves) = words.tree, below(words.tree)
    boxes: list[Box] = []
    waiting = [Box(0, 0, -1, 0)]
    while waiting:
        box = waiting.pop()
        boxes.append(box)
        here, left = len(boxes) - 1, int(tree.children_left[box.node])
        if box.leaves or left < 0:
            continue
        if box.depth == max_depth:
            waiting.append(Box(box.node, box.depth + 1, here, leaves[box.node]))
        else:
            sides = int(tree.children_right[box.node]), left
            waiting.extend(Box(child, box.depth + 1, here, 0) for child in sides)
    return boxes


# --- what a box says -------------------------------------------------------------------------


@dataclass(frozen=True)
class BoxText:
    """What is written in boxes: `plot_tree` tells of each choice."""

    words: Wording
    criterion: str
    label: str
    impurity: bool
    node_ids: bool
    proportion: bool
    precision: int
    names_class: bool

    def of(self, box: Box) -> str:
        """All lines of a box."""
        if box.leaves:
            return f"… {box.leaves:,} more leaves"
        node, tree, lines = box.node, self.words.tree, []
        labelled = self.label == "all" or (self.label == "root" and node == 0)

        def tell(label: str, value: str) -> None:
            lines.append(f"{label} = {value}" if labelled else value)

        if self.node_ids:
            lines.append(f"node #{node}" if labelled else f"#{node}")
        if tree.children_left[node] >= 0:
            lines.append(self.words.answers(node, self._number)[0])
        if self.impurity:
            tell(self.criterion, self._number(tree.impurity[node]))
        rows = int(tree.n_node_samples[node])
        tell("samples", f"{rows / tree.n_node_samples[0]:.1%}" if self.proportion else str(rows))
        tell("value", self._value(node))
        if self.names_class and self.words.classes is not None:
            best = int(np.argmax(tree.value[node, 0]))
            tell("class", str(self.words.classes[best]))
        return "\n".join(lines)

    def _number(self, value: float) -> str:
        return str(round(float(value), self.precision))

    def _value(self, node: int) -> str:
        """The prediction, or the weights or shares of the classes."""
        tree, classes = self.words.tree, self.words.classes
        values = tree.value[node, 0]
        if classes is None:
            return self._number(values[0])
        if not self.proportion:
            values = values * tree.weighted_n_node_samples[node]
            # Shares of whole numbers give whole numbers back but for their last digits.
            values = np.where(np.abs(values - np.rint(values)) < 1e-9, np.rint(values), values)
        whole = not self.proportion and (values == np.rint(values)).all()
        shown = [str(int(v)) if whole else self._number(v) for v in values]
        if len(shown) <= SHOWN_CLASSES:
            return f"[{', '.join(shown)}]"
        heaviest = np.argsort(-values, kind="stable")[:3]
        some = ", ".join(f"{shortened(str(classes[i]))}: {shown[i]}" for i in heaviest)
        return f"[{some}, … {len(shown) - 3} more]"
