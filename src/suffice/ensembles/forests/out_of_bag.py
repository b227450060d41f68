"""What trees say about the rows that they did not draw.

A tree that draws n of n rows with replacement leaves out a share of (1 − 1/n)ⁿ ≈ 0.37 of them, and
these are as good as new to it.  So the mean over the trees that left a row out estimates what a
forest says about a row that it has not seen, and the increase of a tree's error when a column is
shuffled among them tells what the column is worth to it.

Reference: Breiman, "Random forests" (2001), sections 3.1 and 10.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.engines.engine import Stopped
from suffice.engines.passes import each
from suffice.ensembles.forests.draws import Bootstrap
from suffice.ensembles.forests.growing import BinnedRows
from suffice.trees.nodes.forest import Forest

Floats = NDArray[np.float64]

TOGETHER = 8
"""Trees whose answers wait to be added, in their order, whoever is the first."""


def ranked(rows: BinnedRows, forest: Forest) -> NDArray[Any]:
    """The bins of rows as ranks among the thresholds of a forest that grew from them."""
    ranks = forest.ranks
    codes = np.empty((rows.n_rows, len(rows.bins)), ranks.dtype)
    for j, bins in enumerate(rows.bins):
        thresholds = ranks.thresholds[ranks.places[j] : ranks.places[j + 1]]
        if bins.categories is not None:
            rank = np.arange(bins.n_bins)
        elif bins.values is not None:
            rank = np.searchsorted(thresholds, bins.values)
        else:
            rank = np.searchsorted(thresholds, np.append(bins.edges, np.inf))
        codes[:, j] = np.append(rank, ranks.missing)[rows.codes[j]]
    return codes


def sums_out_of_bag(
    forest: Forest, draws: Bootstrap, codes: NDArray[Any], values: Floats, n_jobs: int | None
) -> tuple[Floats, NDArray[np.int64]]:
    """The sum of what trees say about each row that they did not draw, and how many those are.

    Parameters
    ----------
    forest : Forest
    draws : Bootstrap
    codes : array of shape (rows, columns)
        Ranks of the cells of all rows.
    values : float64 array of shape (nodes, values)
    n_jobs : int, optional
    """
    sums, counts = np.zeros((len(codes), values.shape[1])), np.zeros(len(codes), np.int64)

    def leaves(tree: int, stopped: Stopped) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        left_out = draws.out_of_bag(tree)
        found = forest.leaves(codes[left_out], tree, tree + 1)[:, 0]
        return left_out, forest.starts[tree] + found

    for start in range(0, len(forest), TOGETHER):
        trees = list(range(start, min(start + TOGETHER, len(forest))))
        for left_out, nodes in each(trees, leaves, n_jobs):
            sums[left_out] += values[nodes]
            counts[left_out] += 1
    return sums, counts


def permutation_importances(
    forest: Forest,
    draws: Bootstrap,
    codes: NDArray[Any],
    y: NDArray[Any],
    classify: bool,
    n_jobs: int | None,
) -> Floats:
    """By how much the error of each tree grows when a column is shuffled among rows it left out.

    Parameters
    ----------
    codes, y : arrays of shape (rows, columns) and (rows,)
        Ranks of all rows of the fit, and their numbers of classes, or targets.
    classify : bool
        Whether errors are wrong classes, else squares.

    Returns
    -------
    float64 array of shape (columns, trees)
    """
    if len(codes) != draws.n_given or len(y) != len(codes):
        raise ValueError(
            f"these are {len(codes)} rows with {len(y)} targets, and the fit had "
            f"{draws.n_given}: pass the rows of the fit"
        )
    if len(draws.place):
        codes, y = codes[draws.place], y[draws.place]
    said = forest.value[:, 0].argmax(axis=1) if classify else forest.value[:, 0, 0]

    def increase(tree: int, stopped: Stopped) -> Floats:
        left_out, out = draws.out_of_bag(tree), np.zeros(forest.n_features)
        if not len(left_out):
            return out
        cells, true = codes[left_out], y[left_out]

        def error() -> float:
            answer = said[forest.starts[tree] + forest.leaves(cells, tree, tree + 1)[:, 0]]
            return float(np.mean(answer != true if classify else (answer - true) ** 2))

        usual, random = error(), np.random.default_rng([draws.seed, tree])
        feature = forest[tree].feature
        for j in np.unique(feature[feature >= 0]):
            if stopped():
                break
            column = cells[:, j].copy()
            cells[:, j] = random.permutation(column)
            out[j] = error() - usual
            cells[:, j] = column
        return out

    forest.ranks  # noqa: B018 - made once, not by each thread
    return np.stack(each(list(range(len(forest))), increase, n_jobs), axis=1)


def score_of(oob_score: Any, usual: Callable[..., float], true: Any, said: Any) -> float:
    """The score of out-of-bag answers: the model's own, or a function that the user gives."""
    return float(oob_score(true, said) if callable(oob_score) else usual(true, said))
