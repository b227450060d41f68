"""The kernel of cost-complexity pruning: weakest links, one after the other.

The weakest of all nodes is kept by a knockout cup: node t plays at place `size` + t of `winner`,
winner[m] is the better of winner[2 m] and winner[2 m + 1], and winner[1] is the weakest link.  When
the link of one node changes, so do only the matches that it plays in.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel

Floats = NDArray[np.float64]
Nodes = NDArray[np.int32]
Integers = NDArray[np.int64]
Flags = NDArray[np.uint8]


@kernel
def play(winner: Integers, link: Floats, t: int) -> None:
    """Play the matches of node t again: the smaller link wins, of equal ones the lower number."""
    m = (len(winner) // 2 + t) // 2
    while m > 0:
        left, right = winner[2 * m], winner[2 * m + 1]
        better = right if link[right] < link[left] else left
        if better == winner[m] and better != t:
            return  # the match has gone as before, and so do those of its winner
        winner[m] = better
        m //= 2


@kernel
def remove_below(
    t: int, left: Nodes, right: Nodes, link: Floats, is_leaf: Flags, winner: Integers, stack: Nodes
) -> None:
    """Make node t a leaf: it and the inner nodes below it have no links any more."""
    stack[0], waiting = t, 1
    while waiting > 0:
        waiting -= 1
        s = stack[waiting]
        is_leaf[s] = 0
        if link[s] < np.inf:
            link[s] = np.inf
            play(winner, link, s)
            stack[waiting], stack[waiting + 1] = left[s], right[s]
            waiting += 2
    is_leaf[t] = 1


@kernel(
    "const int32[::1], const int32[::1], const int32[::1], const float64[::1], float64, "
    "uint8[::1], float64[::1], float64[::1]"
)
def cut_weakest_links(
    left: Nodes, right: Nodes, parent: Nodes, cost: Floats, largest: float,
    is_leaf: Flags, alphas: Floats, costs: Floats,
) -> int:  # fmt: skip
    """Make leaves of the nodes of the weakest links until these are larger than `largest`.

    Parameters
    ----------
    left, right, parent : arrays of shape (nodes,)
    cost : array of shape (nodes,)
        What each node costs as a leaf, R(t).
    largest : float
    is_leaf : array of shape (nodes,)
        Leaves of the tree; on return those of the pruned one.
    alphas, costs : arrays of shape (inner nodes + 1,)
        On return the weakest link of each step, and what all leaves cost after it; first those
        of the whole tree.

    Returns
    -------
    int
        Steps, and one for the whole tree.
    """
    n = len(left)
    leaves, branch = np.zeros(n, np.int64), np.zeros(n)
    for leaf in range(n):
        if is_leaf[leaf]:
            branch[leaf], t = cost[leaf], parent[leaf]
            while t >= 0:
                branch[t] += cost[leaf]
                leaves[t] += 1
                t = parent[t]
    size = 1
    while size < n:
        size *= 2
    link, winner = np.full(size, np.inf), np.arange(-size, size)
    for t in range(n):
        if not is_leaf[t]:
            link[t] = (cost[t] - branch[t]) / (leaves[t] - 1)
    for m in range(size - 1, 0, -1):
        a, b = winner[2 * m], winner[2 * m + 1]
        winner[m] = b if link[b] < link[a] else a

    stack = np.empty(n + 1, np.int32)
    alphas[0], costs[0], steps = 0.0, branch[0], 1
    while link[winner[1]] <= largest and link[winner[1]] < np.inf:
        weakest = winner[1]
        alphas[steps] = link[weakest]
        remove_below(weakest, left, right, link, is_leaf, winner, stack)
        gone, rise = leaves[weakest] - 1, cost[weakest] - branch[weakest]
        t = parent[weakest]
        while t >= 0:
            leaves[t] -= gone
            branch[t] += rise
            link[t] = (cost[t] - branch[t]) / (leaves[t] - 1)
            play(winner, link, t)
            t = parent[t]
        costs[steps] = cost[0] if weakest == 0 else branch[0]
        steps += 1
    return steps
