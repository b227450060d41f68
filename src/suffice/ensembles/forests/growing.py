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
from suffice.kernels.trees.criteria import GINI
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
    def all_known(self) -> bool:
        """Whether all columns are numbers of which none is missing."""
        known = self.codes.max(axis=1, initial=0) < self.columns[:, layout.BINS]
        return bool(known.all()) and not self.columns[:, layout.CATEGORIES].any()

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

    @cached_property
    def bounds(self) -> tuple[Floats, NDArray[np.bool_]]:
        """The values of bins, or the bounds between them, of all columns; whether it is values."""
        found = [np.full(one.n_bins, np.nan) for one in self.bins]
        for out, one in zip(found, self.bins, strict=True):
            if one.categories is None:
                given = one.edges if one.values is None else one.values
                out[: len(given)] = given
        return np.concatenate(found), np.array([one.values is not None for one in self.bins])


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
    whole, reals = rows_of_tree(rows, weight, settings)
    numbers, amounts = in_numbers(settings, at_random, float(reals[layout.WEIGHTS].sum()))
    if packs(rows, settings, at_random, reals[layout.WEIGHTS], amounts[layout.ALL_WEIGHT]):
        numbers[layout.PACKED] = 1
        counts = reals[layout.WEIGHTS].astype(np.int64)
        reals.view(np.int64)[layout.WEIGHTS] = counts << 32 | counts * whole[layout.LABELS]
    state = np.array([key_of(settings.seed, tree, 1)], np.uint64)
    most = max(one.n_bins for one in rows.bins) + 1
    n_sums, n_rows = settings.n_classes or 2, whole.shape[1]
    places = max(RANKED, most, min(n_rows, most * n_sums // SHARE))
    room: tuple[NDArray[Any], ...] = (
        np.zeros((most, n_sums)), np.empty((5, n_sums)), np.empty(layout.N_LINES * places),
        np.zeros((2, most), np.int64),
        np.empty(n_rows * 3 // 2 + 1, np.uint64),
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
            nodes = tuple(twice(one) for one in nodes)

    stop = numbers[layout.STOP_ASKED :]
    grown = run() if rows.codes.size < LONG else stoppable(run, stop)
    n_nodes, n_words = numbers[[layout.N_NODES, layout.N_WORDS]].tolist()
    return tree_of(grown[0][:n_nodes], grown[1][:n_nodes], grown[2][:n_words], rows, settings)


def rows_of_tree(
    rows: BinnedRows, weight: Floats | None, settings: Settings
) -> tuple[NDArray[np.uint32], Floats]:
    """What the kernel keeps of the rows that have a weight for a tree."""
    there = np.arange(rows.n_rows) if weight is None else np.flatnonzero(weight)
    whole = np.empty((4, len(there)), np.uint32)
    reals = np.empty((4, len(there)))
    whole[layout.ROWS] = there
    reals[layout.WEIGHTS] = 1.0 if weight is None else weight[there]
    if settings.is_regression:
        reals[layout.TARGETS] = rows.target[there]
    else:
        whole[layout.LABELS] = rows.label[there]
    return whole, reals


def twice(array: NDArray[Any]) -> NDArray[Any]:
    """A copy with as much room again, whose memory is not touched."""
    out = np.empty((2 * len(array), *array.shape[1:]), array.dtype)
    out[: len(array)] = array
    return out


def packs(
    rows: BinnedRows, settings: Settings, at_random: bool, weight: Floats, total: float
) -> bool:
    """Whether weights and labels are packed into pairs; see `grow_from_bins`.

    Nothing may be missing: such cells go to both sides in turn, by sums that are not packed.
    """
    return (
        settings.criterion == GINI
        and settings.n_classes == 2
        and not at_random
        and rows.all_known
        and total < 1 << 31
        and bool((weight == np.floor(weight)).all())
    )


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
        settings.min_samples_leaf, settings.max_features, settings.max_leaf_nodes, at_random, 0,
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
    """Half way between the values on both sides, or the middle one of the bounds between bins.

    All columns at once: one after the other took a tenth of the time of small trees.
    """
    out = np.full(len(nodes), float(UNDEFINED))
    j, low, high = (nodes[inner, k] for k in (layout.FEATURE, layout.LOW, layout.HIGH))
    n_bins, categorical, place = rows.columns[j].T
    found = np.where(categorical, np.nan, np.inf)
    at = np.flatnonzero((high < n_bins) & (categorical == 0))
    (bounds, is_value), low, high = rows.bounds, low[at], high[at]
    between, chosen = (low + high - 1) // 2, is_value[j[at]]
    both = np.stack([np.where(chosen, low, between), np.where(chosen, high, between)])
    found[at] = midpoints(bounds[place[at] + both])[0]
    drawn = drawn[inner][at]
    if not np.isnan(drawn).all():
        found[at] = drawn_thresholds(drawn, j[at], low, high, rows)
    out[inner] = found
    return out


def drawn_thresholds(
    drawn: Floats, column: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64],
    rows: BinnedRows,
) -> Floats:  # fmt: skip
    """What was drawn between two values; or, as rows of a bin stay together, the nearest bound."""
    out = np.empty(len(drawn))
    for j in np.unique(column):
        bins, at = rows.bins[j], np.flatnonzero(column == j)
        if bins.values is None:
            nearest = np.searchsorted(midpoints(bins.edges), drawn[at])
            out[at] = bins.edges[np.clip(nearest, low[at], high[at] - 1)]
        else:
            below, above = bins.values[low[at]], bins.values[high[at]]
            out[at] = np.clip(drawn[at], below, np.nextafter(above, below))
    return out
