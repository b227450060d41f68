"""Where centres start: k-means++, or rows drawn at random.

k-means++ draws each centre from the rows with a chance of w‖x − c‖², c the nearest centre so far.
Of 2 + log k rows so drawn, the one that leaves the least inertia is taken.  Rows in memory are all
drawn from.  Of a stream it is a sample, whose rows are chosen by a hash of their numbers; so is the
same centre from the same rows, in whatever files they are.

Reference: Arthur and Vassilvitskii, "k-means++: the advantages of careful seeding" (2007).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import issparse

from suffice.clustering.lloyd.centres import Floats, as_rows, distances_to, slack_of
from suffice.clustering.lloyd.held import ALWAYS, HeldRows, RowState, plain_rows
from suffice.clustering.lloyd.passes import LocationScale
from suffice.clustering.lloyd.streamed import StreamedRows
from suffice.engines.gather import Rows
from suffice.engines.sweep import Shard
from suffice.fitting.requests import Gather, Keep, Request, Sweep, needed
from suffice.kernels.clustering.cluster_sums import potentials
from suffice.sources import Source, as_source
from suffice.sources.derived.subset import RowDraw, SubsetSource
from suffice.statistics.sums import Sums

SAMPLED_CELLS = 1 << 24
"""Cells of the sample of a stream."""

Start = Generator[Request, Any, Floats]


def k_means_plus_plus(
    rows: HeldRows, frame: LocationScale, k: int, random: np.random.RandomState
) -> Start:
    """Centres by k-means++; a generator that a fit can `yield from`.

    Parameters
    ----------
    rows : HeldRows
    frame : LocationScale
    k : int
        How many; no more than there are rows.
    random : RandomState

    Returns
    -------
    array of shape (k, columns)
        Rows, each drawn.
    """
    trials = 2 + int(np.log(k))
    chosen: list[Floats] = []
    for shard in rows.shards:
        if shard.own is not None:
            shard.own.least = np.empty(0, np.float32)
    candidates = _drawn(rows, random, 1, first=True)
    while True:
        step = partial(_tried, frame=frame, k=k, candidates=candidates)
        left = yield from needed(Sweep(None, rows.shards, step))
        best = int(left.values[0].argmin())
        chosen.append(candidates[best])
        if len(chosen) == k:
            break
        for shard in rows.shards:
            lesser, totals = shard.own.tried
            shard.own.least, shard.own.total = lesser[best], float(totals[best])
        candidates = _drawn(rows, random, trials)
    for shard in rows.shards:
        shard.own.tried, shard.own.least = None, np.empty(0, np.float32)
    return np.array(chosen)


def _tried(shard: Shard, frame: LocationScale, k: int, candidates: Floats) -> tuple[RowState, Sums]:
    """What each candidate would leave of the inertia."""
    X = shard.columns["X"]
    state: RowState = shard.own or RowState.of(X, frame.centre, frame.scale, k)
    if not len(state.least):
        state.least = np.full(len(X), np.inf, np.float32)
    weight = ALWAYS if shard.weight is None else shard.weight
    moved = (candidates - frame.centre) * frame.scale
    lengths = np.einsum("ij,ij->i", moved, moved)
    table = moved.astype(np.float32)
    lesser, totals = np.empty((len(moved), len(X)), np.float32), np.zeros(len(moved))
    start = 0
    for packed in state.packed:
        stop = start + packed.shape[1]
        potentials(
            np.dot(table, packed), state.squares[start:stop], lengths, 16 * slack_of(X.shape[1]),
            X, candidates, frame.scale, start, weight, state.least, lesser, totals,
        )  # fmt: skip
        start = stop
    state.tried = lesser, totals
    return state, Sums((totals,))


def _drawn(
    rows: HeldRows, random: np.random.RandomState, count: int, first: bool = False
) -> Floats:
    """Rows drawn with a chance of their share of the inertia, or of the weight."""
    shards = list(rows.shards)

    def chances(shard: Shard, by_weight: bool) -> Floats:
        weight = np.ones(shard.n_rows) if shard.weight is None else shard.weight
        return weight if by_weight else weight * shard.own.least

    if not first:
        first = not sum(shard.own.total for shard in shards) > 0  # rows all equal to a centre
    if first:
        totals = np.array([chances(shard, True).sum() for shard in shards])
    else:
        totals = np.array([shard.own.total for shard in shards])
    ends = np.cumsum(totals)
    found = []
    sums: dict[int, Floats] = {}
    for share in random.random_sample(count):
        at = share * ends[-1]
        s = _place(ends, at)
        if s not in sums:
            sums[s] = np.cumsum(chances(shards[s], first), dtype=np.float64)
        within = (at - (ends[s] - totals[s])) / totals[s] * sums[s][-1]
        found.append(shards[s].columns["X"][_place(sums[s], within)])
    return np.array(found)


def _place(ends: Floats, at: float) -> int:
    """Between which ends a number lies; never where nothing lies between them."""
    last = int(np.searchsorted(ends, ends[-1]))
    return min(int(np.searchsorted(ends, at, side="right")), last)


def random_rows(n_rows: int, weight: Floats | None, k: int, random: np.random.RandomState) -> Any:
    """The numbers of k different rows, drawn by their weights."""
    chances = None if weight is None else weight / weight.sum()
    return random.choice(n_rows, size=k, replace=False, p=chances)


def plus_plus_of_csr(X: Any, weight: Floats | None, k: int, random: Any) -> Floats:
    """Centres by k-means++ from a CSR matrix."""
    weight = np.ones(X.shape[0]) if weight is None else weight
    trials = 2 + int(np.log(k))
    chosen: list[Floats] = []
    least, count = np.ones(X.shape[0]), 1
    while True:
        chances = weight * least
        ends = np.cumsum(chances if chances.any() else weight)
        drawn = [_place(ends, share * ends[-1]) for share in random.random_sample(count)]
        candidates = X[drawn].toarray()
        lesser = distances_to(X, candidates)
        if chosen:
            np.minimum(lesser, least[:, None], out=lesser)
        best = int((weight @ lesser).argmin())
        chosen.append(candidates[best])
        if len(chosen) == k:
            return np.array(chosen)
        least, count = lesser[:, best], trials


def start_from(
    source: Source,
    rows: HeldRows | StreamedRows,
    frame: LocationScale,
    init: str | Callable[..., Any],
    k: int,
    random: np.random.RandomState,
) -> Start:
    """Centres by k-means++, at random, or by a function of rows; a generator to `yield from`.

    Parameters
    ----------
    source : Source
    rows, frame
        As `suffice.clustering.lloyd.reading.read` returns them.
    init : {"k-means++", "random"} or function
        The function is called with rows, k and `random_state=random`, and returns the centres.
    k : int
    random : RandomState
    """
    if init == "k-means++" and isinstance(rows, HeldRows):
        return (yield from k_means_plus_plus(rows, frame, k, random))
    sample: Rows = yield from needed(_gathered(source, isinstance(rows, HeldRows), random))
    X = as_rows(sample.X, frame.unit)
    if callable(init):
        return init(X, k, random_state=random)
    if X.shape[0] < k:
        raise ValueError(f"a sample of {X.shape[0]} rows cannot start {k} clusters: give init")
    if init == "random":
        found = X[np.sort(random_rows(X.shape[0], sample.weight, k, random))]
        return found.toarray() if issparse(found) else found
    if issparse(X):
        return plus_plus_of_csr(X, sample.weight, k, random)
    shards = yield from needed(Keep(None, plain_rows, as_source(X, None, sample.weight)))
    return (yield from k_means_plus_plus(HeldRows(shards), frame, k, random))


def _gathered(source: Source, all_rows: bool, random: np.random.RandomState) -> Gather:
    """All rows if they are in memory, else a sample."""
    if all_rows or source.sparse:
        return Gather("sample")
    share = SAMPLED_CELLS / (source.count_rows() * source.n_columns)
    if share >= 1:
        return Gather("sample")
    seed = int(random.randint(1 << 31))
    return Gather("sample", SubsetSource(source, RowDraw(share, seed, True)))
