"""State that is aligned with the rows and outlives a pass: bins, node numbers, raw scores.

It lives in *shards*.  A shard is a run of consecutive blocks, with columns that are made from its
rows once and then only read (bins, labels), and with what a fit keeps beside them.  A sweep goes
over all shards; it may change what the fit keeps in each, and merges a statistic over them:

    own, statistic ← function(shard)      for every shard, one worker each

Where shards end depends on the number of rows alone, so a result has the same bits at any number
of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from suffice.engines.engine import Stopped
from suffice.engines.merge_tree import Statistic, merged
from suffice.engines.passes import each, in_order
from suffice.sources.base import Block, Piece, Source, block_rows, sparse_block_rows

S = TypeVar("S", bound=Statistic)

MOST_SHARDS = 16
"""Shards that a source is cut into at the most."""

Columns = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Shard:
    """Consecutive rows as a fit keeps them.

    Attributes
    ----------
    start, n_rows : int
        Which rows of the source these are.
    columns : dict of arrays of shape (rows, …)
        Read-only, and perhaps shared with other fits.
    weight : float64 array of shape (rows,), or None
        Of the rows; 0 for those that do not belong to the fit, None where all count once.
    own : object
        What the fit keeps beside its rows: arrays that a sweep may write to.
    """

    start: int
    n_rows: int
    columns: Columns
    weight: NDArray[np.float64] | None = None
    own: Any = None


class Shards:
    """All rows of a source as a fit keeps them, until it is closed."""

    def __init__(self, shards: Iterable[Shard], source: Source) -> None:
        self._shards: list[Shard] | None = list(shards)
        self.source = source

    def __iter__(self) -> Iterator[Shard]:
        if self._shards is None:
            raise RuntimeError("these shards were closed: the fit that kept them has ended")
        return iter(self._shards)

    def __len__(self) -> int:
        return len(self._shards or ())

    def among(self, mask: NDArray[np.bool_]) -> Shards:
        """The same columns for a fit of its own, to the rows that a mask chooses."""

        def chosen(shard: Shard) -> Shard:
            there = mask[shard.start : shard.start + shard.n_rows]
            weight = shard.weight
            if not there.all():
                weight = there.astype(np.float64) if weight is None else there * weight
            return replace(shard, weight=weight, own=None)

        return Shards(map(chosen, self), self.source)

    def replace(self, shards: list[Shard]) -> None:
        """Go on with other shards of the same rows."""
        self._shards = shards

    def close(self) -> None:
        """Let go of everything that is kept."""
        self._shards = None


def blocks_of_a_shard(source: Source) -> int:
    """Blocks in each shard: the smallest power of two that leaves at most `MOST_SHARDS`."""
    rows = (sparse_block_rows if source.sparse else block_rows)(source.n_columns)
    blocks = -(-source.count_rows() // rows)
    return 1 << max(-(-blocks // MOST_SHARDS) - 1, 0).bit_length()


def keep(source: Source, prepare: Callable[[Block], Columns], n_jobs: int | None = None) -> Shards:
    """Read the rows once, and keep what a function makes of each block.

    Parameters
    ----------
    source : Source
    prepare : function of a block
        Columns by their names, arrays with one entry a row.  It must not depend on the weights.
    n_jobs : int, optional
    """
    work = partial(_shard, prepare=prepare)
    with closing(in_order(source, work, n_jobs, blocks_of_a_shard(source))) as shards:
        return Shards(shards, source)


def _shard(run: list[Piece], prepare: Callable[[Block], Columns]) -> Shard:
    parts: list[Columns] = []
    weights: list[Any] = []
    for piece in run:
        block = piece.load()
        parts.append(prepare(block))
        weights.append(block.weight)
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    for column in columns.values():
        column.flags.writeable = False
    start, n_rows = run[0].start, sum(piece.n_rows for piece in run)
    weight = None if weights[0] is None else np.concatenate(weights)
    return Shard(start, n_rows, columns, weight)


def sweep(
    shards: Shards, function: Callable[[Shard], tuple[Any, S]], n_jobs: int | None = None
) -> S:
    """Go over all shards once, and merge what the function tells about each.

    Parameters
    ----------
    shards : Shards
    function : function of a shard
        Returns what the fit keeps beside these rows from now on, and a statistic.  It may
        write to its own shard alone.
    n_jobs : int, optional

    Returns
    -------
    The merged statistic; the same bits at any number of threads.
    """
    done = each(list(shards), partial(_swept, function=function), n_jobs, shards.source)
    shards.replace([replace(shard, own=own) for shard, (own, _) in zip(shards, done, strict=True)])
    return merged(statistic for _, statistic in done)


def _swept(
    shard: Shard, stopped: Stopped, function: Callable[[Shard], tuple[Any, S]]
) -> tuple[Any, S]:
    return function(shard)
