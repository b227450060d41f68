"""A tree of a forest, grown from rows in bins (`suffice.kernels.trees.binned_growth`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.engines.sweep import Shard, Shards
from suffice.engines.workers import stoppable
from suffice.ensembles.bagging.draws import digest_of
from suffice.ensembles.forests.draws import key_of
from suffice.kernels.trees import binned_layout as layout
from suffice.kernels.trees.binned_cuts import SHARE
from suffice.kernels.trees.binned_growth import grow_from_bytes, grow_from_numbers
from suffice.kernels.trees.random_numbers import next_below
from suffice.kernels.trees.row_order import RANKED
from suffice.numerics.cached import cached_property
from suffice.trees.growing.bins import ColumnBins, midpoints
from suffice.trees.growing.settings import Settings
from suffice.trees.nodes.tree import LEAF, UNDEFINED, Tree

Floats = NDArray[np.float64]

LONG = 1 << 20
"""Cells from which on growth may take long enough to be stopped on its way."""

FIRST_NODES = 1024
"""Nodes that there is room for in the beginning."""


@dataclass(frozen=True, eq=False)
class BinnedRows:
    """All rows of a fit, as their bins.

    Attributes
    ----------
    bins : tuple of ColumnBins
    codes : uint8 or uint32 array of shape (columns, rows)
        The bin of each cell; that after the last where it is missing.
    label : uint32 array of shape (rows,), or (0,) in regression
    target : float64 array of shape (rows,), or (0,) in classification
    weight : float64 array of shape (rows,), or None where all are 1
    place : int64 array of shape (rows,), or (0,)
        Which rows of the fit these are, if some others have no weight.
    n_given : int
        Rows of the fit.
    """

    bins: tuple[ColumnBins, ...]
    codes: NDArray[Any]
    label: NDArray[np.uint32]
    target: Floats
    weight: Floats | None
    place: NDArray[np.int64]
    n_given: int

    @classmethod
    def of(cls, shards: Shards, bins: tuple[ColumnBins, ...], is_wide: NDArray[np.bool_]) -> Any:
        """The rows of shards that have a weight, as `Coding` keeps them."""
        parts = [_present(shard) for shard in shards]
        plain = not is_wide.any() and all(one.categories is None for one in bins)
        dtype = np.uint8 if plain else np.uint32
        codes = np.empty((len(bins), sum(len(weight) for _, weight in parts)), dtype)
        start = 0
        for columns, weight in parts:
            here = codes[:, start : start + len(weight)]
            for name, chosen in (("narrow", ~is_wide), ("wide", is_wide)):
                if chosen.all():
                    here[:] = columns[name].T
                elif chosen.any():
                    here[chosen] = columns[name].T
            start += len(weight)
        weight = np.concatenate([weight for _, weight in parts])
        label, target = (
            np.concatenate([columns.get(name, np.empty(0)) for columns, _ in parts])
            for name in ("label", "target")
        )
        alike = bool((weight == 1).all())
        n_given = sum(shard.n_rows for shard in shards)
        place = np.empty(0, np.int64)
        if len(weight) < n_given:
            given = [_weight(shard) > 0 for shard in shards]
            place = np.flatnonzero(np.concatenate(given))
        return cls(
            bins, codes, label.astype(np.uint32), target, None if alike else weight, place, n_given
        )

    @property
    def n_rows(self) -> int:
        """How many there are."""
        return int(self.codes.shape[1])

    @cached_property
    def digest(self) -> str:
        """What tells these rows from others."""
        bounds = [one.edges if one.values is None else one.values for one in self.bins]
        return digest_of(self.codes, self.label, self.target, *bounds)

    @cached_property
    def by_row(self) -> NDArray[Any]:
        """The codes, those of a row side by side."""
        return np.ascontiguousarray(self.codes.T)

    @cached_property
    def columns(self) -> NDArray[np.int64]:
        """How many bins each column has, whether it holds categories, where its points begin."""
        n = np.array([one.n_bins for one in self.bins])
        categorical = [one.categories is not None for one in self.bins]
        return np.stack([n, np.array(categorical, np.int64), np.cumsum(n) - n], axis=1)

    @cached_property
    def points(self) -> Floats:
        """Where the bins of all columns lie: their value, or the middle between their bounds."""
        found = []
        for one in self.bins:
            if one.categories is not None:
                found.append(np.zeros(one.n_bins))
            elif one.values is not None:
                found.append(one.values)
            else:
                ends = one.edges[[0, *range(len(one.edges)), -1]]
                found.append(ends[:-1] / 2 + ends[1:] / 2)
        return np.concatenate(found)


def _weight(shard: Shard) -> Floats:
    return np.ones(shard.n_rows) if shard.weight is None else shard.weight


def _present(shard: Shard) -> tuple[dict[str, NDArray[Any]], Floats]:
    """The columns and weights of the rows of a shard that have one."""
    if shard.weight is None:
        return shard.columns, np.ones(shard.n_rows)
    there = shard.weight > 0
    if there.all():
        return shard.columns, shard.weight
    return {name: one[there] for name, one in shard.columns.items()}, shard.weight[there]


def grow_tree(
    rows: BinnedRows,
    weight: Floats | None,
    settings: Settings,
    at_random: bool,
    columns: NDArray[np.int64],
    tree: int,
) -> Tree:
    """Grow a tree.

    Parameters
    ----------
    rows : BinnedRows
    weight : array of shape (rows,), or None
        Of the rows for this tree: how often they were drawn, and what each counts.
    settings : Settings
        With the seed of the forest.
    at_random : bool
        Whether a column is cut at random, instead of where it is best.
    columns : int64 array
        Those that the tree may test.
    tree : int
        Its number.
    """
    there = np.arange(rows.n_rows) if weight is None else np.flatnonzero(weight)
    whole = np.empty((4, len(there)), np.uint32)
    reals = np.empty((4, len(there)))
    whole[layout.ROWS] = there
    reals[layout.WEIGHTS] = 1.0 if weight is None else weight[there]
    if settings.is_regression:
        reals[layout.TARGETS] = rows.target[there]
    else:
        whole[layout.LABELS] = rows.label[there]
    numbers, amounts = in_numbers(settings, at_random, float(reals[layout.WEIGHTS].sum()))
    state = np.array([key_of(settings.seed, tree, 1)], np.uint64)
    most = max(one.n_bins for one in rows.bins) + 1
    n_sums = settings.n_classes or 2
    places = max(RANKED, most, min(len(there), most * n_sums // SHARE))
    room: tuple[NDArray[Any], ...] = (
        np.zeros((most, n_sums)), np.empty((5, n_sums)), np.empty(layout.N_LINES * places),
        np.zeros((2, most), np.int64),
        np.empty(len(there) * 3 // 2 + 1, np.uint64),
    )  # fmt: skip
    has_sets = bool(rows.columns[:, layout.CATEGORIES].any())
    grow: Any = grow_from_bytes
    if rows.codes.dtype != np.uint8:
        grow, room = grow_from_numbers, (*room, np.empty((2, most), np.uint8))
    drawn = np.array(columns, np.int64)

    def run() -> tuple[NDArray[Any], ...]:
        n = FIRST_NODES
        nodes: tuple[NDArray[Any], ...] = (
            np.empty((n, layout.CONSTANT + -(-len(rows.bins) // 64)), np.int64),
            np.empty((n, layout.SUMS + n_sums)),
            np.empty(64 * -(-most // 32) if has_sets else 0, np.uint32),
        )
        while True:
            status = grow(
                numbers, amounts, state, rows.codes, rows.by_row, rows.columns, rows.points, drawn,
                whole, reals, *nodes, *room,
            )  # fmt: skip
            if status != layout.FULL:
                return nodes
            nodes = tuple(np.concatenate([one, np.empty_like(one)]) for one in nodes)

    stop = numbers[layout.STOP_ASKED :]
    grown = run() if rows.codes.size < LONG else stoppable(run, stop)
    n_nodes, n_words = numbers[[layout.N_NODES, layout.N_WORDS]].tolist()
    return tree_of(grown[0][:n_nodes], grown[1][:n_nodes], grown[2][:n_words], rows, settings)


def drawn_columns(n_columns: int, n_drawn: int, seed: int, tree: int) -> NDArray[np.int64]:
    """The columns that a tree may test, where they are drawn once for each tree."""
    state, columns = np.array([key_of(seed, tree, 2)], np.uint64), np.arange(n_columns)
    for i in range(n_drawn):
        place = i + next_below(state, n_columns - i)
        columns[[i, place]] = columns[[place, i]]
    return np.sort(columns[:n_drawn])


def in_numbers(
    settings: Settings, at_random: bool, weight: float
) -> tuple[NDArray[np.int64], Floats]:
    """The settings as the kernel has them."""
    numbers = np.zeros(layout.N_SETTINGS, np.int64)
    numbers[: layout.N_NODES] = (
        settings.criterion, settings.max_depth, settings.min_samples_split,
        settings.min_samples_leaf, settings.max_features, settings.max_leaf_nodes, at_random,
    )  # fmt: skip
    return numbers, np.array([settings.min_weight_leaf, settings.min_impurity_decrease, weight])


def tree_of(
    nodes: NDArray[np.int64], facts: Floats, sets: NDArray[np.uint32], rows: BinnedRows,
    settings: Settings,
) -> Tree:  # fmt: skip
    """What has grown, with thresholds."""
    left: Any = nodes[:, layout.LEFT]
    inner = left >= 0
    value = facts[:, layout.VALUE, None]
    if not settings.is_regression:
        value = facts[:, layout.SUMS :] / facts[:, layout.WEIGHT, None]
    has_sets = bool(rows.columns[:, layout.CATEGORIES].any())
    return Tree(
        len(rows.bins),
        left,
        np.where(inner, left + 1, LEAF),
        np.where(inner, nodes[:, layout.FEATURE], UNDEFINED),
        thresholds_of(nodes, facts[:, layout.DRAWN], inner, rows),
        np.where(inner, nodes[:, layout.MISSING_LEFT], 0),
        facts[:, layout.IMPURITY],
        nodes[:, layout.STOP] - nodes[:, layout.START],
        facts[:, layout.WEIGHT],
        value[:, None],
        np.where(inner, nodes[:, layout.SET], LEAF) if has_sets else np.empty(0, np.int64),
        sets,
    ).typed()


def thresholds_of(
    nodes: NDArray[np.int64], drawn: Floats, inner: NDArray[np.bool_], rows: BinnedRows
) -> Floats:
    """Half way between the values on both sides, or what was drawn between them.

    Of bins of several values rows stay together: it is the middle one of the bounds between them,
    or the nearest to what was drawn.
    """
    out = np.full(len(nodes), float(UNDEFINED))
    for j in np.unique(nodes[inner, layout.FEATURE]):
        bins, at = rows.bins[j], np.flatnonzero(inner & (nodes[:, layout.FEATURE] == j))
        low, high = nodes[at, layout.LOW], nodes[at, layout.HIGH]
        if bins.categories is not None:
            out[at] = np.nan
            continue
        known = high < bins.n_bins
        out[at[~known]] = np.inf
        low, high, at = low[known], high[known], at[known]
        best = np.isnan(drawn[at])
        if bins.values is None:
            nearest = np.searchsorted(midpoints(bins.edges), drawn[at])
            middle = (low + high - 1) // 2
            out[at] = bins.edges[np.where(best, middle, np.clip(nearest, low, high - 1))]
        else:
            below, above = bins.values[low], bins.values[high]
            within = np.clip(drawn[at], below, np.nextafter(above, below))
            out[at] = np.where(best, midpoints(np.stack([below, above]))[0], within)
    return out
