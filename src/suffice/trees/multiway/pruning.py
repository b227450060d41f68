"""Pruning by the errors to be expected of unseen rows, as C4.5 does it.

Of N rows at a leaf, E are not of its class.  The errors among N more rows are taken to be
N·U(E, N), where U is about the upper end of a confidence interval for the error rate.  With CF the
confidence, and z its normal quantile, from a small table:

    E = 0           U = 1 − CF^(1/N)
    0 < E < 1       in between U(0, N) and U(1, N)
    E + ½ ≥ N       N·U = E + 0.67 (N − E)
    else            U = (E + ½ + z²/2 + z √((E + ½)(1 − (E + ½)/N) + z²/4)) / (N + z²)

From the bottom up, a node becomes a leaf, or gives way to its largest branch, where that is
expected to make at most 0.1 errors more.

Reference: Quinlan, "C4.5: programs for machine learning" (1993), chapter 4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.trees.multiway.growing import Cases, MultiwayNode, Recursion
from suffice.trees.multiway.tree import Codes, Floats

CONFIDENCES = (0.0, 0.001, 0.005, 0.01, 0.05, 0.10, 0.20, 0.40, 1.0)
QUANTILES = (4.0, 3.09, 2.58, 2.33, 1.65, 1.28, 0.84, 0.25, 0.0)
"""C4.5's own table of z, rough at its ends; it interpolates."""

SLACK = 0.1
"""So many expected errors more are no reason to keep a node."""


def expected_errors(n: float, errors: float, confidence: float = 0.25) -> float:
    """N·U(E, N): errors to be expected among as many rows as a leaf has.

    Parameters
    ----------
    n : float
        N, the weight of the rows of a leaf.
    errors : float
        E, the weight of those that are not of its class.
    confidence : float, default=0.25
        CF: the smaller, the more errors are expected.

    Examples
    --------
    >>> [round(expected_errors(n, 0) / n, 3) for n in (6, 9, 1)]
    [0.206, 0.143, 0.75]
    >>> round(expected_errors(16, 1) / 16, 3), round(expected_errors(168, 1), 3)
    (0.157, 2.61)
    """
    if errors < 0.9999:
        none = n * (1 - confidence ** (1 / n))
        if errors < 1e-6:
            return float(none)
        one = expected_errors(n, 1.0, confidence) - 1
        return float(errors + none + errors * (one - none))
    if errors + 0.5 >= n:
        return float(errors + 0.67 * (n - errors))
    square = np.interp(confidence, CONFIDENCES, QUANTILES) ** 2
    middle = errors + 0.5
    spread = np.sqrt(square * (middle * (1 - middle / n) + square / 4))
    return float(n * (middle + square / 2 + spread) / (n + square))


@dataclass(frozen=True)
class PessimisticPruning:
    """Pruning of a tree grown from some rows.

    Attributes
    ----------
    cases : Cases
    confidence : float
    raising : bool
        Whether a node may give way to its largest branch.
    """

    cases: Cases
    confidence: float
    raising: bool

    def pruned(self, node: MultiwayNode, rows: Codes, weight: Floats) -> Recursion:
        """A node after pruning, for these rows, and the errors expected of it.

        The node itself is changed, and counts these rows.
        """
        leaf = self.cases.node(rows, weight)
        leaf_errors = self._at(leaf)
        if not node.branches:
            return leaf, leaf_errors
        node.counts = leaf.counts
        tree_errors = largest = 0.0
        heaviest = next(iter(node.branches))
        for value, part, part_weight, share in self.cases.branches(node, rows, weight):
            branch = node.branches.get(value, leaf)
            node.branches[value], errors = yield self.pruned(branch, part, part_weight)
            tree_errors += errors
            if share >= largest:
                largest, heaviest = share, value
        raised = np.inf
        if self.raising:
            raised = yield self.expected(node.branches[heaviest], rows, weight)
        if leaf_errors <= min(raised, tree_errors) + SLACK:
            return leaf, leaf_errors
        if raised <= tree_errors + SLACK:
            return (yield self.pruned(node.branches[heaviest], rows, weight))
        return node, tree_errors

    def expected(self, node: MultiwayNode, rows: Codes, weight: Floats) -> Recursion:
        """The errors expected of a tree as it is, if these rows were those of its root."""
        if not node.branches:
            return self._at(self.cases.node(rows, weight))
        errors = 0.0
        for value, part, part_weight, _ in self.cases.branches(node, rows, weight):
            if value in node.branches:
                errors += yield self.expected(node.branches[value], part, part_weight)
            else:
                errors += self._at(self.cases.node(part, part_weight))
        return errors

    def _at(self, leaf: MultiwayNode) -> float:
        return expected_errors(leaf.weight, leaf.errors, self.confidence)
