"""Lloyd's passes over rows in memory, where labels and bounds live beside the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from suffice.clustering.lloyd.centres import (
    CentreTable,
    Floats,
    Labels,
    Singles,
    as_rows,
    distances_to,
    squares_to,
    tile_rows,
)
from suffice.clustering.lloyd.farthest import FarthestRows
from suffice.engines.sweep import Columns, Shard, Shards
from suffice.fitting.requests import Sweep
from suffice.kernels.clustering.bounds import in_doubt, still_in_doubt
from suffice.kernels.clustering.cluster_sums import regroup
from suffice.kernels.clustering.nearest import pack
from suffice.sources import Block
from suffice.statistics.sums import Sums

MANY_DOUBTS = 0.5
"""Share of the rows in doubt from which on all are compared: they need no packing then."""

WORTH_MEASURING = 1000
"""Cells of all centres from which on a row's own distance is measured before it is compared."""

ALWAYS = np.empty(0)
"""Weights of rows that count once each."""


def plain_rows(block: Block) -> Columns:
    """The rows as they are, for `Keep`."""
    return {"X": as_rows(block.X, unit=False)}


def unit_rows(block: Block) -> Columns:
    """The rows brought to length 1, for `Keep`."""
    return {"X": as_rows(block.X, unit=True)}


@dataclass
class RowState:
    """What is kept beside the rows of a shard.

    Attributes
    ----------
    packed : float32 arrays of shape (columns, rows of a tile)
        The rows, centred and scaled, one a tile.
    squares : float32 array of shape (rows,)
        Their squared lengths.
    labels : int32 array of shape (rows,)
        −1 before the first pass.
    bounds : float32 array of shape (2, rows)
        Above the scaled distance to the own centre, below that to all others.
    high, low : arrays of shape (clusters, columns + 2)
        Sums over each cluster, of rows, of weights and of ones, in two parts.
    least : float32 array of shape (rows,)
        Squared distances to the nearest centre, while centres are chosen.
    total : float
        Their weighted sum.
    tried : (array of shape (candidates, rows), array of shape (candidates,)), or None
        The same with each candidate as a further centre, and their sums.
    """

    packed: list[Singles]
    squares: Singles
    labels: Labels
    bounds: Singles
    high: Floats
    low: Floats
    least: Singles
    total: float = 0.0
    tried: tuple[Singles, Floats] | None = None

    @classmethod
    def of(cls, X: Floats, centre: Floats, scale: float, k: int) -> RowState:
        """Of rows that are in no cluster."""
        n, d = X.shape
        size = tile_rows(k)
        packed, squares = [], np.empty(n, np.float32)
        for start in range(0, n, size):
            rows = np.arange(start, min(start + size, n))
            tile = np.empty((d, len(rows)), np.float32)
            pack(X, centre, scale, rows, tile, squares[start : start + size])
            packed.append(tile)
        state = cls(packed, squares, np.empty(n, np.int32), np.empty((2, n), np.float32),
                    np.zeros((k, d + 2)), np.zeros((k, d + 2)),
                    np.empty(0, np.float32))  # fmt: skip
        state.begin()
        return state

    def begin(self) -> None:
        """Put all rows into no cluster."""
        self.labels[:] = -1
        self.high[:] = self.low[:] = 0.0


@dataclass(frozen=True)
class Motion:
    """How centres have moved since the bounds were last right, in scaled units, rounded up."""

    moves: Singles
    others: Singles
    halves: Singles

    @classmethod
    def of(cls, before: Floats, table: CentreTable) -> Motion:
        """From where they were to where they are."""
        now, k = table.centres, len(before)
        moves = np.sqrt(np.square(now - before).sum(axis=1)) * table.scale
        others, halves = np.zeros(k), np.full(k, np.inf)
        if k > 1:
            last, largest = np.argsort(moves, kind="stable")[-2:]
            others[:] = moves[largest]
            others[largest] = moves[last]
            squares = distances_to(now, now)
            np.fill_diagonal(squares, np.inf)
            halves = 0.5 * np.sqrt(squares.min(axis=1)) * table.scale
        up, down = 1 + 2.0**-22, 1 - 2.0**-22
        with np.errstate(over="ignore"):  # infinity says as much
            rounded = (moves * up, others * up, halves * down)
            return cls(*(part.astype(np.float32) for part in rounded))


def assigned(shard: Shard, table: CentreTable, motion: Motion | None) -> tuple[RowState, Sums]:
    """Each row to its nearest centre; the sums over clusters, and how many rows changed theirs."""
    X, k = shard.columns["X"], len(table.centres)
    state: RowState = shard.own
    if state is None:
        state = RowState.of(X, table.centre, table.scale, k)
    weight = ALWAYS if shard.weight is None else shard.weight
    if motion is None:
        state.begin()
    rows = None if motion is None else _doubtful(X, state, table, motion)
    changed = 0
    for chosen, packed, squares in _tiles(X, state, table, rows):
        nearest = table.compare(X, chosen, packed, squares, state.bounds)
        changed += regroup(X, weight, chosen, nearest, state.labels, state.high, state.low)
    return state, Sums((state.high.copy(), state.low.copy(), np.array(float(changed))))


def _doubtful(X: Floats, state: RowState, table: CentreTable, motion: Motion) -> Any:
    """The rows that may have another nearest centre; None where they are too many to choose."""
    rows = np.empty(len(X), np.int64)
    count = in_doubt(state.labels, motion.moves, motion.others, motion.halves, state.bounds, rows)
    if table.centres.size >= WORTH_MEASURING:
        count = still_in_doubt(
            X, table.centres, state.labels, table.scale, motion.halves, state.bounds, rows, count
        )
    return rows[:count] if count < MANY_DOUBTS * len(X) else None


def _tiles(X: Floats, state: RowState, table: CentreTable, rows: Any) -> Any:
    """Rows to compare, packed, with their squared lengths."""
    n, d = X.shape
    size = tile_rows(len(table.centres))
    if rows is None:
        everything = np.arange(n)
        for number, packed in enumerate(state.packed):
            here = slice(number * size, number * size + packed.shape[1])
            yield everything[here], packed, state.squares[here]
        return
    buffer, squares = np.empty(d * size, np.float32), np.empty(size, np.float32)
    for start in range(0, len(rows), size):
        chosen = rows[start : start + size]
        m = len(chosen)
        packed = buffer[: d * m].reshape(d, m)
        pack(X, table.centre, table.scale, chosen, packed, squares[:m])
        yield chosen, packed, squares[:m]


def finished(shard: Shard, table: CentreTable, motion: Motion | None) -> tuple[RowState, Sums]:
    """A last assignment, with the squared distances that are left."""
    state, sums = assigned(shard, table, motion)
    squares = squares_to(shard.columns["X"], table.centres, state.labels)
    weight = shard.weight
    inertia = squares.sum() if weight is None else weight @ np.where(weight > 0, squares, 0.0)
    return state, Sums((*sums.values, np.asarray(inertia)))


def farthest(shard: Shard, centres: Floats, most: int) -> tuple[RowState, FarthestRows]:
    """The rows farthest from the centres that they belong to."""
    X, labels = shard.columns["X"], shard.own.labels
    return shard.own, FarthestRows.of(X, shard.weight, labels, centres, shard.start, most)


@dataclass
class HeldRows:
    """Rows in memory: what Lloyd's algorithm asks of them, as requests.

    Attributes
    ----------
    shards : Shards
    """

    shards: Shards

    def assign(
        self, table: CentreTable, motion: Motion | None, objective: Callable[[Sums], float]
    ) -> Sweep:
        """Sums over clusters, their low parts, and how many rows have changed."""
        function = partial(assigned, table=table, motion=motion)
        return Sweep("assign", self.shards, function, objective)

    def finish(self, table: CentreTable, motion: Motion | None) -> Sweep:
        """The same, and the inertia by the definition."""
        function = partial(finished, table=table, motion=motion)
        return Sweep("labels", self.shards, function, lambda sums: float(sums.values[3]))

    def farthest(self, centres: Floats, most: int) -> Sweep:
        """`FarthestRows` of the assignment before."""
        return Sweep(None, self.shards, partial(farthest, centres=centres, most=most))

    def labels(self, last: Any) -> Labels:
        """Of all rows, after `finish`."""
        return np.concatenate([shard.own.labels for shard in self.shards])
