"""Where the boxes of a drawn tree stand: as near to each other as they can, parents in the middle.

Reingold and Tilford's drawing, for boxes of any width: two subtrees are moved together until, on
some level, they are one gap apart; their parent stands halfway.  What a subtree needs is known by
its outline, the leftmost and rightmost end on each of its levels.  Joining two outlines changes
the levels that both have and leaves the rest of the deeper one as it is, so that all joins
together take O(nodes).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass
class Outline:
    """The ends of a subtree on each of its levels, the deepest first, around its root.

    To each number `shift` is added, so that an outline moves at no cost.
    """

    left: list[float]
    right: list[float]
    shift: float = 0.0

    def above(self, half_width: float) -> Outline:
        """This outline with a box over its middle."""
        self.left.append(-half_width - self.shift)
        self.right.append(half_width - self.shift)
        return self


def tidy_positions(
    children: Sequence[Sequence[int]], widths: Sequence[float], gap: float
) -> NDArray[np.float64]:
    """The middle of each box from left to right; the root's is 0.

    Parameters
    ----------
    children : sequence of shape (nodes,)
        None, one or two nodes each, which come after their parent; the left one first.
    widths : sequence of shape (nodes,)
    gap : float
        Between boxes of one level.

    Returns
    -------
    float64 array of shape (nodes,)
    """
    from_parent = np.zeros(len(children))
    outlines: dict[int, Outline] = {}
    for node in reversed(range(len(children))):
        around = Outline([], [])
        if len(children[node]) == 1:
            around = outlines.pop(children[node][0])
        elif children[node]:
            first, second = children[node]
            left, right = outlines.pop(first), outlines.pop(second)
            half = (_overlap(left, right) + gap) / 2
            from_parent[first], from_parent[second] = -half, half
            left.shift -= half
            right.shift += half
            around = _joined(left, right)
        outlines[node] = around.above(widths[node] / 2)
    position = np.zeros(len(children))
    for node, below in enumerate(children):
        for child in below:
            position[child] = position[node] + from_parent[child]
    return position


def _overlap(left: Outline, right: Outline) -> float:
    """How far two outlines with one middle reach into each other."""
    shared = min(len(left.left), len(right.left))
    ends = zip(left.right[-shared:], right.left[-shared:], strict=True)
    return max(end - start for end, start in ends) + left.shift - right.shift


def _joined(left: Outline, right: Outline) -> Outline:
    """The outline of two side by side, made of the deeper one."""
    shared = min(len(left.left), len(right.left))
    if len(left.left) > shared:
        deep, ends, other_ends = left, left.right, right.right
        moved = right.shift - left.shift
    else:
        deep, ends, other_ends = right, right.left, left.left
        moved = left.shift - right.shift
    ends[-shared:] = [end + moved for end in other_ends[-shared:]]
    return deep
