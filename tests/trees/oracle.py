"""Decision trees by brute force: every split of every column of every node, tried on the rows.

Nothing here knows sums along an order, bins or sorted categories: a split is a mask of the rows
that go to the left, and its cost is computed from those rows.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pandas as pd

ENUMERATED = 8
"""Categories in a node up to which all their subsets are tried."""

SORTING_IS_BEST = {"gini", "entropy", "misclassification", "squared_error", "poisson"}
"""Criteria by which, with two classes at most, the best subset is a beginning of the categories
sorted by the mean of the target."""

ARRAYS = ("children_left", "children_right", "feature", "n_node_samples")


@dataclass
class Table:
    """Columns of floats with NaN, or of the numbers of categories with −1 for a missing cell."""

    columns: list
    n_categories: list  # 0 for a column of numbers

    @classmethod
    def of(cls, X, categorical=()):
        frame = pd.DataFrame(X)
        columns, sizes = [], []
        for j, name in enumerate(frame.columns):
            cells = frame[name]
            if j in categorical or not pd.api.types.is_float_dtype(cells):
                values = sorted(cells.dropna().unique())
                columns.append(np.array([values.index(v) if pd.notna(v) else -1 for v in cells]))
                sizes.append(len(values))
            else:
                columns.append(cells.to_numpy(np.float64))
                sizes.append(0)
        return cls(columns, sizes)

    def missing(self, j, rows):
        cells = self.columns[j][rows]
        return cells < 0 if self.n_categories[j] else np.isnan(cells)


@dataclass
class Target:
    """The target and the weights of the rows, and what sets of them cost."""

    y: np.ndarray  # numbers, or the numbers of classes
    weight: np.ndarray
    criterion: str
    n_classes: int = 0

    def sums(self, masks, rows):
        """The weight of each class in each set, or weight and weighted target."""
        y, w = self.y[rows], self.weight[rows]
        parts = np.eye(self.n_classes)[y] if self.n_classes else np.stack([np.ones(len(y)), y], 1)
        return masks @ (w[:, None] * parts)

    def weights(self, masks, rows):
        return masks @ self.weight[rows]

    def costs(self, masks, rows):
        """Weight times impurity of each set of rows; ∞ where there is none."""
        y, w = self.y[rows], self.weight[rows]
        total = self.weights(masks, rows)
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.n_classes:
                shares = self.sums(masks, rows) / total[:, None]
                if self.criterion == "gini":
                    impurity = 1 - np.square(shares).sum(axis=1)
                elif self.criterion == "entropy":
                    impurity = -np.where(shares > 0, shares * np.log2(shares), 0).sum(axis=1)
                else:
                    impurity = 1 - shares.max(axis=1)
                return np.maximum(impurity, 0) * total
            if self.criterion == "squared_error":
                near = y - np.average(y, weights=w)
                mean = masks @ (w * near) / total
                return ((masks * w) * np.square(near - mean[:, None])).sum(axis=1)
            if self.criterion == "poisson":
                mean = masks @ (w * y) / total
                common = w * y * np.log(np.where(y > 0, y, 1))
                return np.where(mean > 0, masks @ common - mean * total * np.log(mean), np.inf)
        order = np.argsort(y)
        y, w = y[order], masks[:, order] * w[order]
        heard = np.cumsum(w, axis=1)
        median = y[np.argmax(heard >= heard[:, -1:] * (0.5 - 1e-12), axis=1)]
        return (w * np.abs(y - median[:, None])).sum(axis=1)

    def value(self, rows):
        """What a leaf of these rows predicts."""
        every = np.ones((1, len(rows)), bool)
        if self.n_classes:
            sums = self.sums(every, rows)[0]
            return sums / sums.sum()
        y, w = self.y[rows], self.weight[rows]
        if self.criterion != "absolute_error":
            return np.array([np.average(y, weights=w)])
        order = np.argsort(y)
        y, heard = y[order], np.cumsum(w[order])
        half = heard[-1] / 2
        k = np.flatnonzero(heard >= half * (1 - 1e-12))[0]
        on_edge = heard[k] <= half * (1 + 1e-12)
        return np.array([(y[k] + y[k + 1]) / 2 if on_edge else y[k]])


def every_split(table, j, rows, target):
    """The sets of rows that splits of a column send to the left, a mask each."""
    cells, missing = table.columns[j][rows], table.missing(j, rows)
    values = np.unique(cells[~missing])
    if table.n_categories[j] == 0:
        known = cells <= values[:-1, None]
    elif len(values) <= ENUMERATED:
        # The first category stays on the right: that is one of each pair of complements.
        subsets = itertools.product([False, True], repeat=max(len(values) - 1, 0))
        chosen = np.array([(False, *one) for one in subsets], bool)[:, : len(values)]
        known = chosen[chosen.any(axis=1)] @ (cells == values[:, None])
    else:
        known = cells == values[:, None]
        if target.criterion in SORTING_IS_BEST and target.n_classes < 3:
            of = [
                np.average(target.y[rows][one], weights=target.weight[rows][one]) for one in known
            ]
            known = np.concatenate([known, np.cumsum(known[np.argsort(of)], axis=0)[:-1] > 0])
    known = known.astype(bool).reshape(-1, len(rows)) & ~missing
    if not missing.any():
        return known
    alone = missing[None] if len(values) else np.empty((0, len(rows)), bool)
    return np.concatenate([known, known | missing, alone])


def best_split(table, rows, target, min_samples_leaf=1, min_weight_leaf=0.0):
    """The least cost of the two sides of a split, and its column; (∞, None) if there is none."""
    found = (np.inf, None)
    for j in range(len(table.columns)):
        left = every_split(table, j, rows, target)
        enough = np.minimum(left.sum(axis=1), (~left).sum(axis=1)) >= min_samples_leaf
        lighter = np.minimum(target.weights(left, rows), target.weights(~left, rows))
        left = left[enough & (lighter >= min_weight_leaf * (1 - 1e-12))]
        if len(left):
            cost = (target.costs(left, rows) + target.costs(~left, rows)).min()
            found = min(found, (cost, j)) if np.isfinite(cost) else found
    return found


def goes_left(tree, node, table, rows):
    """Which rows a node's test sends to the left."""
    j = tree.feature[node]
    cells, missing = table.columns[j][rows], table.missing(j, rows)
    if table.n_categories[j]:
        chosen = tree.categories_left(node, table.n_categories[j])
        left = chosen[np.where(missing, 0, cells)]
    else:
        left = cells <= tree.threshold[node]
    return np.where(missing, bool(tree.missing_go_to_left[node]), left)


def walk(tree, table):
    """The rows of each node, and its depth."""
    rows, depth = {0: np.arange(len(table.columns[0]))}, {0: 0}
    for node in range(tree.node_count):  # children come after their parents
        if tree.children_left[node] >= 0:
            left = goes_left(tree, node, table, rows[node])
            for child, mask in (
                (tree.children_left[node], left),
                (tree.children_right[node], ~left),
            ):
                rows[child], depth[child] = rows[node][mask], depth[node] + 1
    return rows, depth


def check_tree(
    tree,
    table,
    target,
    *,
    max_depth=np.inf,
    min_samples_split=2,
    min_samples_leaf=1,
    min_weight_leaf=0.0,
    min_impurity_decrease=0.0,
    max_leaf_nodes=np.inf,
):
    """Assert that nodes say what their rows are, that splits are the best, and leaves had to be."""
    rows, depth = walk(tree, table)
    rows = [rows[node] for node in range(tree.node_count)]
    weight = np.array([target.weight[here].sum() for here in rows])
    cost = np.array([target.costs(np.ones((1, len(here)), bool), here)[0] for here in rows])
    noise = 1e-10 * (cost[0] + 1e-6 * weight[0])
    np.testing.assert_array_equal(tree.n_node_samples, [len(here) for here in rows])
    np.testing.assert_allclose(tree.weighted_n_node_samples, weight, rtol=1e-12)
    np.testing.assert_allclose(tree.impurity * weight, cost, rtol=1e-10, atol=noise)
    expected = [target.value(here) for here in rows]
    np.testing.assert_allclose(tree.value[:, 0], expected, rtol=1e-11, atol=1e-14)
    full = tree.n_leaves >= max_leaf_nodes
    for node, here in enumerate(rows):
        where = f"node {node}, {len(here)} rows at depth {depth[node]}"
        ends = (
            depth[node] >= max_depth
            or len(here) < max(min_samples_split, 2 * min_samples_leaf)
            or weight[node] < 2 * min_weight_leaf * (1 - 1e-12)
            or cost[node] <= noise
        )
        if ends:
            assert tree.children_left[node] < 0, where
            continue
        best, column = best_split(table, here, target, min_samples_leaf, min_weight_leaf)
        decrease = (cost[node] - best) / weight[0]
        if tree.children_left[node] < 0:
            assert full or column is None or decrease < min_impurity_decrease + 1e-12, (
                f"{where} could be split by column {column}"
            )
            continue
        left = goes_left(tree, node, table, here)
        sides = np.stack([left, ~left])
        found = target.costs(sides, here).sum()
        assert sides.sum(axis=1).min() >= min_samples_leaf, where
        assert target.weights(sides, here).min() >= min_weight_leaf * (1 - 1e-12), where
        assert decrease > min_impurity_decrease - 1e-12, where
        assert found <= best + noise, f"{where}: cost {found}, but {best} of column {column}"
        check_test(tree, node, table, here, left, where)


def check_test(tree, node, table, here, left, where):
    """Assert that a threshold is half way, and that unseen cells follow the greater number."""
    j = tree.feature[node]
    missing = table.missing(j, here)
    if not missing.any():
        assert bool(tree.missing_go_to_left[node]) == (left.sum() > (~left).sum()), where
    if table.n_categories[j]:
        assert np.isnan(tree.threshold[node]), where
        return
    cells = table.columns[j][here]
    if (~left & ~missing).any():
        below, above = cells[left & ~missing].max(), cells[~left & ~missing].min()
        middle = (below + above) / 2
        assert tree.threshold[node] == (middle if middle < above else below), where
    else:
        assert tree.threshold[node] == np.inf, where


def same_trees(tree, other):
    """Assert that two trees are the same node by node, up to rounding of sums."""
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(tree, name), getattr(other, name), err_msg=name)
    inner = other.children_left >= 0
    np.testing.assert_array_equal(tree.threshold[inner], other.threshold[inner])
    np.testing.assert_array_equal(tree.threshold[~inner], -2.0)
    for name in ("impurity", "weighted_n_node_samples", "value"):
        np.testing.assert_allclose(
            getattr(tree, name), getattr(other, name), rtol=1e-9, atol=1e-12, err_msg=name
        )
    np.testing.assert_array_equal(
        tree.missing_go_to_left[inner], np.asarray(other.missing_go_to_left)[inner]
    )


def peer_tree(peer, X, y, weight=None):
    """What scikit-learn grows, or None if splits of several columns tie: it then draws one."""
    first = peer.set_params(random_state=0).fit(X, y, sample_weight=weight).tree_
    for seed in range(1, 12):
        other = peer.set_params(random_state=seed).fit(X, y, sample_weight=weight).tree_
        if not all(
            np.array_equal(getattr(first, name), getattr(other, name))
            for name in (*ARRAYS, "threshold")
        ):
            return None
    return first


def untied(peer, draw):
    """The first of some tables of which scikit-learn grows one tree only, and that tree."""
    for seed in range(20):
        rows = draw(np.random.default_rng(seed))
        tree = peer_tree(peer, *rows)
        if tree is not None:
            return rows, tree
    raise AssertionError(f"splits tie in all tables for {peer}")


def measurements(rng, *, classes=0, missing=False, weighted=False, n=300):
    """Cells that float32 can hold, one column of few values; a target that depends on them.

    What is missing depends on the target in one column, and on nothing in another.
    """
    X = rng.normal(size=(n, 4)).astype(np.float32).astype(np.float64)
    X[:, 3] = X[:, 3].round(1).astype(np.float32)
    score = X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 3] / 2
    if missing:
        X[(X[:, 0] > 1) & (rng.random(n) < 0.7), 0] = np.nan
        X[rng.random(n) < 0.2, 1] = np.nan
        X[(score > 1) & (rng.random(n) < 0.5), 3] = np.nan
    score += rng.normal(size=n)
    y = np.digitize(score, np.linspace(-1, 1, classes - 1)) if classes else np.exp(score / 2)
    # Weights that add without rounding: the peer splits pure nodes that rounding makes impure.
    return X, y, rng.integers(512, 2048, n) / 1024 if weighted else None


def small_table(rng, *, classes=0, missing=None, n=None):
    """Numbers of all sorts: duplicates, few values, a constant, hundreds of values, gaps."""
    n = n or int(rng.integers(1, 60))
    X = np.column_stack(
        [
            rng.integers(0, 3, n),
            rng.normal(size=n),
            rng.normal(size=n).round(1) * 1e6,
            np.full(n, 0.1),
            rng.choice([1e-300, 1.0, 1e30], n),
        ]
    ).astype(np.float64)
    share = rng.choice([0.0, 0.2, 0.9]) if missing is None else missing
    X[rng.random(X.shape) < share] = np.nan
    noise = rng.normal(size=n)
    score = np.nan_to_num(X[:, 1]) + np.nan_to_num(X[:, 0]) + noise
    y = np.digitize(score, np.linspace(-1, 1, classes - 1)) if classes else np.exp(score).round(1)
    return X, y, rng.choice([0.25, 1.0, 3.0], n)
