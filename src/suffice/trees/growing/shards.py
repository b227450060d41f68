"""What a sweep does to a shard of binned rows: divide them among children, add up their bins.

What rows contribute is rounded so that sums are exact (`suffice.kernels.trees.histograms`): a tree
has the same bits in whatever parts its rows are held.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.engines.sweep import Shard
from suffice.kernels.trees.criteria import POISSON
from suffice.kernels.trees.histograms import (
    add_histograms,
    add_totals,
    divide_rows,
    round_products,
)
from suffice.numerics.double_double import Array
from suffice.trees.growing.bins import Coding

MATRICES = ("narrow", "wide")
"""Columns whose cells take one byte, and two."""


def unit_of(total: float) -> float:
    """A power of two to whose multiples terms may be rounded for sums up to `total` to be exact."""
    return float(np.exp2(np.ceil(np.log2(total)) - 50)) if total > 0 else 1.0


@dataclass(frozen=True, eq=False)
class Scheme:
    """What all shards of a fit have in common.

    Attributes
    ----------
    criterion : int
    coding : Coding
    n_sums : int
        Classes, or 2 in regression.
    alike : bool
        Whether all rows have the weight 1.
    class_weight : float64 array of shape (classes,), or None
    units : tuple of float
        To whose multiples weights, weighted targets, and what else the impurity needs are rounded.
    """

    criterion: int
    coding: Coding
    n_sums: int
    alike: bool
    class_weight: Array | None
    units: tuple[float, float, float]

    def start(self, shard: Shard) -> Held:
        """What a fit keeps beside the rows of a shard before the first split."""
        weight, moment = np.empty(0), np.empty(0)
        there = np.arange(shard.n_rows) if shard.weight is None else np.flatnonzero(shard.weight)
        if not self.alike:
            given = np.ones(shard.n_rows) if shard.weight is None else shard.weight
            if self.class_weight is not None:
                given = given * self.class_weight[shard.columns["label"]]
                there = np.flatnonzero(given)
            weight = np.empty(shard.n_rows)
            round_products(np.ascontiguousarray(given), np.empty(0), self.units[0], weight)
            np.maximum(weight, self.units[0], out=weight)  # what is there must not vanish
        if "target" in shard.columns:
            moment = np.empty(shard.n_rows)
            round_products(shard.columns["target"], weight, self.units[1], moment)
        ends = np.array([len(there)])
        return Held(there.astype(np.int32), np.array([0]), ends, weight, moment)


@dataclass(frozen=True, eq=False)
class Held:
    """What a fit keeps beside the rows of a shard.

    Attributes
    ----------
    order : int32 array
        Rows, those of a node together.
    starts, ends : int64 arrays of shape (nodes,)
        Where those of each node are in `order`.
    weight : float64 array of shape (rows,), or (0,) where all are 1
    moment : float64 array of shape (rows,), or (0,) in classification
    """

    order: NDArray[np.int32]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    weight: Array
    moment: Array


class Division(NamedTuple):
    """A split of a node: by a column, with the bins that go to the left."""

    node: int
    column: int
    goes_left: NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class NodeTotals:
    """What the rows of nodes add up to.

    Attributes
    ----------
    sums : float64 array of shape (nodes, sums)
    rows : int64 array of shape (nodes,)
    more : float64 array of shape (3, nodes)
        See `suffice.kernels.trees.histograms.add_totals`.
    """

    sums: Array
    rows: NDArray[np.int64]
    more: Array

    @classmethod
    def merge(cls, parts: Sequence[NodeTotals]) -> NodeTotals:
        """Of the rows of all parts together."""
        more = np.array([part.more for part in parts])
        return cls(
            np.sum([part.sums for part in parts], axis=0),
            np.sum([part.rows for part in parts], axis=0),
            np.vstack([more[:, :1].sum(axis=0), more[:, 1:].max(axis=0)]),
        )


@dataclass(frozen=True, eq=False)
class Divide:
    """Give the rows of nodes to their children, who are numbered as they come, left before right.

    Attributes
    ----------
    scheme : Scheme
    divisions : tuple of Division
        None of them: the rows of all become those of the first node.
    """

    scheme: Scheme
    divisions: tuple[Division, ...] = ()

    def __call__(self, shard: Shard) -> tuple[Held, NodeTotals]:
        """The rows in their new order, and the totals of the new nodes."""
        held: Held = self.scheme.start(shard) if shard.own is None else shard.own
        starts, ends = [], []
        for node, column, goes_left in self.divisions:
            matrix, place = matrix_of(self.scheme.coding, column)
            start, end = int(held.starts[node]), int(held.ends[node])
            codes = shard.columns[matrix]
            middle = divide_rows(codes, place, held.order, start, end, goes_left)
            starts += [start, middle]
            ends += [middle, end]
        if self.divisions:
            held = replace(
                held,
                starts=np.append(held.starts, np.array(starts)),
                ends=np.append(held.ends, np.array(ends)),
            )
        return held, self._totals(shard, held, max(2 * len(self.divisions), 1))

    def _totals(self, shard: Shard, held: Held, n_nodes: int) -> NodeTotals:
        starts, ends = held.starts[-n_nodes:], held.ends[-n_nodes:]
        sums, more = np.zeros((n_nodes, self.scheme.n_sums)), np.full((3, n_nodes), -np.inf)
        more[0] = 0.0
        add_totals(
            held.order, starts, ends, label_of(shard), held.weight,
            shard.columns.get("target", np.empty(0)), held.moment,
            self.scheme.criterion == POISSON, self.scheme.units[2], sums, more,
        )  # fmt: skip
        return NodeTotals(sums, ends - starts, more)


@dataclass(frozen=True, eq=False)
class Histograms:
    """What the rows of nodes add up to in each bin.

    Attributes
    ----------
    sums : float64 array of shape (nodes, bins, sums)
    counts : int64 array of shape (nodes, bins), or (nodes, 0) where the sums tell
    """

    sums: Array
    counts: NDArray[np.int64]

    @classmethod
    def merge(cls, parts: Sequence[Histograms]) -> Histograms:
        """Of the rows of all parts together."""
        sums, counts = parts[0].sums.copy(), parts[0].counts.copy()
        for part in parts[1:]:
            sums += part.sums
            counts += part.counts
        return cls(sums, counts)

    @property
    def nbytes(self) -> int:
        """Bytes that the sums take."""
        return self.sums.nbytes + self.counts.nbytes


@dataclass(frozen=True, eq=False)
class Build:
    """Add up the bins of some nodes.

    Attributes
    ----------
    scheme : Scheme
    nodes : int64 array of shape (nodes,)
    """

    scheme: Scheme
    nodes: NDArray[np.int64]

    def __call__(self, shard: Shard) -> tuple[Held, Histograms]:
        """What is kept stays; the histograms of this shard's rows."""
        held: Held = shard.own
        places = self.scheme.coding.places
        sums = np.zeros((len(self.nodes), places[-1], self.scheme.n_sums))
        counts = np.zeros((len(self.nodes), 0 if self.scheme.alike else places[-1]), np.int64)
        wide = self.scheme.coding.is_wide
        for matrix, chosen in zip(MATRICES, (~wide, wide), strict=True):
            add_histograms(
                shard.columns[matrix], places[:-1][chosen], held.order, held.starts[self.nodes],
                held.ends[self.nodes], label_of(shard), held.weight, held.moment, sums, counts,
            )  # fmt: skip
        return held, Histograms(sums, counts)


@dataclass(frozen=True, eq=False)
class GatheredRows:
    """Rows of some nodes, with all that is kept of them, from one or more shards."""

    columns: dict[str, NDArray[Any]]

    @classmethod
    def merge(cls, parts: Sequence[GatheredRows]) -> GatheredRows:
        """The rows of all parts, one after the other."""
        names = parts[0].columns
        return cls({name: np.concatenate([p.columns[name] for p in parts]) for name in names})

    def as_shard(self, n_nodes: int) -> Shard:
        """These rows as a shard of their own, of as many nodes."""
        columns = dict(self.columns)
        node, weight, moment = (columns.pop(name) for name in ("node", "weight", "moment"))
        order = np.argsort(node, kind="stable")
        starts = np.searchsorted(node[order], np.arange(n_nodes + 1))
        held = Held(order.astype(np.int32), starts[:-1], starts[1:], weight, moment)
        return Shard(0, len(node), columns, None, held)


@dataclass(frozen=True, eq=False)
class GatherNodes:
    """Copy the rows of some nodes.

    Attributes
    ----------
    nodes : int64 array of shape (nodes,)
    """

    nodes: NDArray[np.int64]

    def __call__(self, shard: Shard) -> tuple[Held, GatheredRows]:
        """What is kept stays; the rows of this shard."""
        held: Held = shard.own
        starts, ends = held.starts[self.nodes], held.ends[self.nodes]
        parts = [held.order[start:end] for start, end in zip(starts, ends, strict=True)]
        rows = np.concatenate(parts)
        columns = {name: column[rows] for name, column in shard.columns.items()}
        columns["node"] = np.repeat(np.arange(len(self.nodes)), ends - starts)
        columns["weight"] = held.weight[rows] if len(held.weight) else held.weight
        columns["moment"] = held.moment[rows] if len(held.moment) else held.moment
        return held, GatheredRows(columns)


def matrix_of(coding: Coding, column: int) -> tuple[str, int]:
    """Which matrix of a shard holds a column, and at which place."""
    wide = coding.is_wide
    return MATRICES[int(wide[column])], int(np.count_nonzero(wide[:column] == wide[column]))


def label_of(shard: Shard) -> NDArray[np.uint16]:
    """The classes of a shard's rows; none in regression."""
    return shard.columns.get("label", np.empty(0, np.uint16))
