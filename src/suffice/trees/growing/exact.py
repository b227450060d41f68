"""A tree grown from rows in memory: every cut between two values is tried.

Sums must not depend on the order in which rows are added, lest equal splits differ by rounding:
weights, and the targets of a node less their mean, are rounded to multiples of a power of two so
fine that float64 adds them without error.  Values and impurities of nodes are computed from the
targets as they are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.engines.workers import stoppable
from suffice.kernels.trees import layout
from suffice.kernels.trees.criteria import ABSOLUTE_ERROR, ENTROPY, POISSON
from suffice.kernels.trees.growth import grow
from suffice.kernels.trees.node_splits import find_any_split
from suffice.trees.growing.columns import FEW, KeptColumns, kept_columns
from suffice.trees.growing.settings import Settings
from suffice.trees.nodes.tree import LEAF, UNDEFINED, Tree

Floats = NDArray[np.float64]

LONG = 1 << 20
"""Cells from which on growth may take long enough to be stopped on its way."""

FIRST_NODES = 1024
"""Nodes that there is room for in the beginning."""


def grow_in_memory(
    X: NDArray[np.floating],
    y: NDArray[Any],
    weight: Floats | None,
    settings: Settings,
    n_categories: NDArray[np.int64],
    n_jobs: int | None = None,
) -> Tree:
    """Grow a tree.

    Parameters
    ----------
    X : float array of shape (rows, columns)
        Categories as numbers, −1 where one is missing; NaN where a number is.
    y : array of shape (rows,)
        Numbers of classes, or targets.
    weight : float64 array of shape (rows,), or None
    settings : Settings
    n_categories : int64 array of shape (columns,)
        Of each column; −1 for numbers.
    n_jobs : int, optional
        Threads that sort columns.
    """
    by_target = settings.criterion == ABSOLUTE_ERROR
    kept = kept_columns(X, n_categories, 0 if by_target else FEW, n_jobs)
    labels, targets = targets_of(y, weight, settings)
    kept.orders[layout.ROWS] = np.arange(len(X))
    if by_target:
        kept.orders[layout.BY_TARGET] = np.argsort(targets[layout.TARGET], kind="stable")
    plain = not by_target and bool((n_categories < 0).all())
    numbers, amounts = in_numbers(settings, targets[layout.ROW_WEIGHT], weight is not None, plain)
    room = workspace(len(X), settings, n_categories)

    def run() -> Nodes:
        nodes, status = Nodes.empty(settings, n_categories), layout.ASKED
        while status in (layout.FULL, layout.ASKED):
            if status == layout.FULL:
                nodes = nodes.enlarged()
            everything: Any = (
                numbers, amounts, kept.facts, kept.orders, kept.ranks, kept.codes, labels, targets,
                *nodes, *room,
            )  # fmt: skip
            if status == layout.ASKED and numbers[layout.N_NODES]:
                find_any_split(*everything)
            status = grow(*everything)
        return nodes

    stop = numbers[layout.STOP_ASKED :]
    nodes = run() if X.size < LONG else stoppable(run, stop)
    n, n_words = numbers[[layout.N_NODES, layout.N_WORDS]].tolist()
    return tree_of(nodes, n, n_words, X, kept, settings)


# --- what is handed to the kernel --------------------------------------------------------------


def targets_of(
    y: NDArray[Any], weight: Floats | None, settings: Settings
) -> tuple[NDArray[np.uint16], Floats]:
    """Labels, and numbers of the rows that are added without error, as the kernel has them."""
    labels, targets = np.empty(0, np.uint16), np.empty((3, len(y)))
    targets[layout.ROW_WEIGHT] = 1.0
    if weight is not None:
        unit = unit_of(weight)
        targets[layout.ROW_WEIGHT] = np.maximum(np.round(weight / unit), 1) * unit
    if not settings.is_regression:
        return y.astype(np.uint16), targets
    targets[layout.TARGET] = y
    if settings.criterion == POISSON:
        added = y * targets[layout.ROW_WEIGHT]
        unit = unit_of(added)
        targets[layout.ADDED] = np.round(added / unit) * unit
    else:
        targets[layout.ADDED] = 0.0  # by squared error, each node fills it in
    return labels, targets


def unit_of(values: Floats) -> float:
    """A power of two so small that float64 adds multiples of it up to these without error."""
    total = np.abs(values).sum()
    return float(np.exp2(np.ceil(np.log2(total)) - 52)) if total > 0 else 1.0


def in_numbers(
    settings: Settings, weight: Floats, weighted: bool, plain: bool
) -> tuple[NDArray[np.int64], Floats]:
    """The settings as the kernel has them."""
    numbers = np.zeros(layout.STOP_ASKED + 1, np.int64)
    least = settings.min_samples_leaf
    numbers[: layout.N_NODES] = (
        settings.criterion,
        settings.max_depth,
        settings.min_samples_split,
        least if weighted else max(least, int(np.ceil(settings.min_weight_leaf))),
        settings.max_features,
        settings.max_leaf_nodes,
        settings.seed,
        weighted,
        plain,
    )
    amounts = (settings.min_weight_leaf, settings.min_impurity_decrease, float(weight.sum()))
    return numbers, np.array(amounts)


def workspace(
    n_rows: int, settings: Settings, n_categories: NDArray[np.int64]
) -> tuple[NDArray[Any], ...]:
    """Room to work in, and tables, in the kernel's order."""
    reals = np.empty((5, n_rows + 1))
    numbers = np.arange(n_rows + 1, dtype=np.float64)
    reals[layout.INVERSE] = 1 / np.maximum(numbers, 1)
    reals[layout.INVERSE, 0] = 0.0
    reals[layout.BACKWARDS] = reals[layout.INVERSE, ::-1]
    if settings.criterion == ENTROPY:
        reals[layout.LOGS] = numbers * np.log2(np.maximum(numbers, 1))
    bins = max(FEW, int(n_categories.max(initial=0))) + 1
    lists = np.full((5, max(bins, len(n_categories))), -1)
    lists[layout.DRAWN, : len(n_categories)] = np.arange(len(n_categories))
    by_target = settings.criterion == ABSOLUTE_ERROR
    table = np.empty((6 + max(bins, n_rows + 1 if by_target else 0), settings.n_classes or 2))
    return np.empty(n_rows, np.uint8), reals, table, lists


class Nodes(NamedTuple):
    """Nodes while they grow; see `suffice.kernels.trees.growth.grow`."""

    numbers: NDArray[np.int64]
    facts: Floats
    sets: NDArray[np.uint32]

    @classmethod
    def empty(cls, settings: Settings, n_categories: NDArray[np.int64]) -> Nodes:
        """Room for the first nodes."""
        n, words = FIRST_NODES, -(-int(max(n_categories.max(initial=0), len(n_categories))) // 32)
        return cls(
            np.empty((n, layout.CONSTANT + -(-len(n_categories) // 64)), np.int64),
            np.empty((n, layout.SUMS + (settings.n_classes or 2))),
            np.empty(4 * words if n_categories.max(initial=-1) >= 0 else 0, np.uint32),
        )

    def enlarged(self) -> Nodes:
        """The same nodes, and room for as many again."""
        return Nodes(*(np.concatenate([one, np.empty_like(one)]) for one in self))


# --- the tree ---------------------------------------------------------------------------------


def tree_of(
    grown: Nodes,
    n: int,
    n_words: int,
    X: NDArray[np.floating],
    kept: KeptColumns,
    settings: Settings,
) -> Tree:
    """What has grown, with thresholds, and nodes in the order in which scikit-learn has them."""
    nodes, facts = grown.numbers[:n], grown.facts[:n]
    left, right, feature, start = (
        nodes[:, i].copy() for i in (layout.LEFT, layout.RIGHT, layout.FEATURE, layout.SET)
    )
    inner = left >= 0
    nodes[~inner, layout.MISSING_LEFT] = 0
    value = facts[:, layout.VALUE][:, None]
    if not settings.is_regression:
        value = facts[:, layout.SUMS :] / facts[:, layout.WEIGHT][:, None]
    has_sets = len(grown.sets) > 0
    tree = Tree(
        X.shape[1],
        left.astype(np.int32),
        right.astype(np.int32),
        np.where(inner, feature, UNDEFINED),
        thresholds(nodes, inner, X, kept),
        nodes[:, layout.MISSING_LEFT].astype(np.uint8),
        facts[:, layout.IMPURITY],
        nodes[:, layout.STOP] - nodes[:, layout.START],
        facts[:, layout.WEIGHT],
        value[:, None],
        np.where(inner, start, LEAF) if has_sets else start[:0],
        grown.sets[:n_words],
    )
    if settings.max_leaf_nodes < len(X):
        return tree.typed()  # best first: in the order of growth
    return tree.cut_back(np.zeros(n, np.bool_))  # nothing is cut, but nodes come depth first


def thresholds(
    nodes: NDArray[np.int64], inner: NDArray[np.bool_], X: NDArray[np.floating], kept: KeptColumns
) -> Floats:
    """Half way between the cells on both sides of each cut."""
    out = np.where(inner, np.nan, float(UNDEFINED))
    at = np.flatnonzero(inner)
    feature, low, high = (nodes[at, i] for i in (layout.FEATURE, layout.LOW, layout.HIGH))
    kind = kept.facts[feature, layout.KIND]
    cells = np.full((2, len(at)), np.nan)
    many = kind == layout.MANY_VALUES
    for side, rows in zip(cells, (low, high), strict=True):
        side[many] = X[rows[many], feature[many]]
        for j in np.unique(feature[kind == layout.FEW_VALUES]):
            here = feature == j
            side[here] = kept.values[j][rows[here]]
    below, above = cells
    middle = below / 2 + above / 2
    # Between neighbours among the floats there is no number.
    middle = np.where((middle >= above) | (middle < below), below, middle)
    numbers = kind != layout.CATEGORIES
    out[at[numbers]] = np.where(high < 0, np.inf, middle)[numbers]
    return out
