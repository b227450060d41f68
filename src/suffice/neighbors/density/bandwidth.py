"""The bandwidth of a density estimate, chosen by the likelihood of rows that are left out.

    leave-one-out   (1/W) Σᵢ wᵢ log p₋ᵢ(xᵢ)     p₋ᵢ the density of all rows but the i-th
    held-out        (1/W) Σᵢ wᵢ log p₋F(xᵢ)     F the fold of the i-th row

A weight is a number of repetitions, of which one is left out; of a weight below 1 all of it.  Folds
are cut by a hash of a row's values: they do not depend on the order of the rows, and equal rows are
always in the same.

All bandwidths of a grid are tried in one pass over the pairs of rows, each distance being computed
once.  The grid has steps of √2 about the rule σ n^(−1/(d+4)) for a kernel with unit variance, and
is made longer at the end at which the likelihood is highest.  A second pass tries six bandwidths
between the neighbours of the best, a third the vertex of the parabola through the best three.

As h → 0 a row without an equal one makes the likelihood fall without bound; so only where every row
has one does it rise without bound, and the grid then stays as it was.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from suffice.engines.passes import map_rows, reduce
from suffice.neighbors.density.kernel_sums import TOGETHER, kernel_sums, log_constants
from suffice.neighbors.density.kernels import DensityKernel
from suffice.numerics.row_hashes import row_hashes
from suffice.sources import Block
from suffice.sources.memory.query_blocks import QueryBlocks
from suffice.statistics.rows.weighted import WeightedRows
from suffice.statistics.sums import Sums

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Rule = Literal["leave-one-out", "held-out"]

SMALLEST, LARGEST = 1e-150, 1e150
"""Bandwidths whose squares are numbers."""

STEPS = np.arange(-6, 5)
"""Powers of √2 that are tried about the reference bandwidth."""

LONGER = 8
"""Bandwidths by which the grid grows at a time."""

MOST_PASSES = 12
"""How often it grows, at most."""

UNBOUNDED = (
    "every row has an equal one, so that the leave-one-out likelihood rises without bound as the "
    'bandwidth goes to 0: bandwidth="held-out" keeps equal rows together'
)


@dataclass(frozen=True)
class Choice:
    """A bandwidth, and what else was tried.

    Attributes
    ----------
    bandwidth, log_likelihood : float
        The best one, and the mean log-likelihood of rows left out.
    tried, log_likelihoods : arrays of shape (bandwidths,)
        In the order in which they were tried.
    seconds : array of shape (bandwidths,)
        Each one's share of its pass.
    inside : bool
        Whether smaller and larger bandwidths were tried and found worse.
    notes : tuple of str
    """

    bandwidth: float
    log_likelihood: float
    tried: Floats
    log_likelihoods: Floats
    seconds: Floats
    inside: bool
    notes: tuple[str, ...]


class BandwidthSearch:
    """Bandwidths tried so far, and their likelihoods."""

    def __init__(
        self, rows: WeightedRows, kernel: DensityKernel, rule: Rule, folds: int, n_jobs: int | None
    ) -> None:
        self.rows, self.kernel, self.n_jobs = rows, kernel, n_jobs
        self.codes = hashed(rows.X)
        if not self.codes.any():
            raise ValueError(
                "a bandwidth cannot be chosen by the likelihood of rows left out where there is "
                "only one sample, or all are equal: give bandwidth a number"
            )
        self.groups = np.arange(rows.count) if rule == "leave-one-out" else self.codes % folds
        self.single = rule == "leave-one-out"
        self.tried, self.found, self.seconds = np.empty(0), np.empty(0), np.empty(0)

    def attempt(self, bandwidths: Floats) -> None:
        """Try some more bandwidths, in one pass over the pairs of rows."""
        began = time.perf_counter()
        found = left_out_likelihoods(
            self.rows, self.kernel, bandwidths, self.groups, self.single, self.n_jobs
        )
        share = (time.perf_counter() - began) / len(bandwidths)
        self.tried = np.append(self.tried, bandwidths)
        self.found = np.append(self.found, found)
        self.seconds = np.append(self.seconds, np.full(len(bandwidths), share))

    def sorted(self) -> tuple[Floats, Floats, int]:
        """Bandwidths in ascending order, their likelihoods, and the place of the best."""
        order = np.argsort(self.tried, kind="stable")
        found = self.found[order]
        # Where none has a positive likelihood, a larger one will.
        best = int(np.argmax(found)) if np.isfinite(found).any() else len(found) - 1
        return self.tried[order], found, best

    def is_unbounded(self) -> bool:
        """Whether the likelihood rises without bound as the bandwidth goes to 0."""
        if not self.single:
            return False
        together = np.bincount(self.codes, self.rows.weight)[self.codes]
        return bool((together > np.minimum(self.rows.weight, 1.0)).all())

    def choice(self, notes: tuple[str, ...] = ()) -> Choice:
        tried, found, best = self.sorted()
        inside = 0 < best < len(tried) - 1 and bool(np.isfinite(found[best]))
        top = float(tried[best]), float(found[best])
        return Choice(*top, self.tried, self.found, self.seconds, inside, notes)


def choose_bandwidth(
    rows: WeightedRows,
    kernel: DensityKernel,
    rule: Rule,
    folds: int = 5,
    candidates: Floats | None = None,
    n_jobs: int | None = None,
) -> Choice:
    """Choose the bandwidth under which rows left out are most likely.

    Parameters
    ----------
    rows : WeightedRows
    kernel : DensityKernel
    rule : {"leave-one-out", "held-out"}
    folds : int, default=5
    candidates : array of shape (bandwidths,), optional
        The only ones to be tried; by default a grid, refined about its best.
    n_jobs : int, optional

    Returns
    -------
    Choice
    """
    search = BandwidthSearch(rows, kernel, rule, folds, n_jobs)
    unbounded = search.is_unbounded()
    notes = (UNBOUNDED,) if unbounded else ()
    if candidates is not None:
        search.attempt(np.unique(candidates))
        return search.choice(notes)
    search.attempt(reference_bandwidth(rows, kernel) * 2.0 ** (STEPS / 2))
    for _ in range(MOST_PASSES):
        tried, _, best = search.sorted()
        further = 2.0 ** (np.arange(1, LONGER + 1) / 2)
        if best == len(tried) - 1:
            search.attempt(tried[-1] * further)
        elif best == 0 and not unbounded:
            search.attempt(tried[0] / further)
        else:
            break
    refine(search)
    return search.choice(notes)


def refine(search: BandwidthSearch) -> None:
    """Look more closely between the neighbours of the best bandwidth."""
    tried, found, best = search.sorted()
    if not 0 < best < len(tried) - 1:
        return
    around = tried[best] * 2.0 ** (np.array([-3, -2, -1, 1, 2, 3]) / 8)
    search.attempt(around)
    tried, found, best = search.sorted()
    if not np.isfinite(found[best - 1 : best + 2]).all():
        return
    x, f = np.log(tried[best - 1 : best + 2]), found[best - 1 : best + 2]
    (a, b), (fa, fb) = x[1] - x[::2], f[1] - f[::2]
    if fa + fb > 0:
        vertex = x[1] - 0.5 * (a * a * fb - b * b * fa) / (a * fb - b * fa)
        search.attempt(np.exp([vertex]))


def check_candidates(bandwidths: ArrayLike | None) -> Floats | None:
    """Bandwidths to choose from as an array; raise unless they are positive numbers."""
    if bandwidths is None:
        return None
    try:
        candidates = np.asarray(bandwidths, dtype=np.float64)
    except (TypeError, ValueError):
        candidates = np.empty(())
    taken = bool(((candidates >= SMALLEST) & (candidates <= LARGEST)).all())
    if candidates.ndim != 1 or not len(candidates) or not taken:
        raise ValueError(
            f"bandwidths={bandwidths!r} must be positive numbers in a list, from {SMALLEST:g} to "
            f"{LARGEST:g}, or None"
        )
    return candidates


def rule_of_thumb(rows: WeightedRows, bandwidth: float | str) -> float:
    """The bandwidth that a number or the name of a rule stands for."""
    if not isinstance(bandwidth, str):
        return float(bandwidth)
    n, d = rows.weight.sum(), rows.X.shape[1]
    return float((n if bandwidth == "scott" else n * (d + 2) / 4) ** (-1 / (d + 4)))


def reference_bandwidth(rows: WeightedRows, kernel: DensityKernel) -> float:
    """σ n^(−1/(d+4)) over the kernel's own standard deviation, σ² the mean variance of a column."""
    total = float(rows.weight.sum())
    # A row that outweighs all others together would say nothing about their spread.
    weight = np.minimum(rows.weight, weight_of_others(rows.weight, np.arange(rows.count)))
    share = weight / weight.sum()
    half = rows.X.max(axis=0) / 2 - rows.X.min(axis=0) / 2
    unit = float(half.max())
    away = rows.X / unit - rows.X[0] / unit
    variance = share @ np.square(away - share @ away)
    columns = rows.X.shape[1]
    spread = np.sqrt(variance[half > 0].mean())
    own = np.sqrt(kernel.variance(columns))
    return float(unit * spread / own * max(total, 1.0) ** (-1 / (columns + 4)))


def left_out_likelihoods(
    rows: WeightedRows,
    kernel: DensityKernel,
    bandwidths: Floats,
    groups: Integers,
    single: bool,
    n_jobs: int | None = None,
) -> Floats:
    """Mean log-likelihood of rows under the density of those in other groups.

    Parameters
    ----------
    rows : WeightedRows
    kernel : DensityKernel
    bandwidths : array of shape (bandwidths,)
    groups : int array of shape (rows,)
    single : bool
        Whether a group is one row, and only one of its repetitions is left out.
    n_jobs : int, optional

    Returns
    -------
    array of shape (bandwidths,)
    """
    order, log_densities = left_out(rows, kernel, bandwidths, groups, single)
    weight = rows.weight[order]

    def summarize(block: Block) -> Sums:
        # Row by row of the transpose: each bandwidth's sum as if it were alone.
        by_bandwidth = np.ascontiguousarray(log_densities(block).T)
        return Sums(
            ((by_bandwidth * weight[block.start : block.start + block.n_rows]).sum(axis=1),)
        )

    found = reduce(QueryBlocks(rows.X[order], TOGETHER), summarize, n_jobs)
    return np.asarray(found.values[0] / rows.weight.sum())


def leave_one_out_log_densities(
    rows: WeightedRows, kernel: DensityKernel, bandwidth: float, n_jobs: int | None = None
) -> Floats:
    """The log density of each row under all others, and its own repetitions but one.

    Parameters
    ----------
    rows : WeightedRows
        Of a total weight of more than 1.
    kernel : DensityKernel
    bandwidth : float
    n_jobs : int, optional

    Returns
    -------
    array of shape (rows,)
    """
    widths, groups = np.array([bandwidth]), np.arange(rows.count)
    order, log_densities = left_out(rows, kernel, widths, groups, single=True)
    found = np.empty(rows.count)
    found[order] = map_rows(QueryBlocks(rows.X[order], TOGETHER), log_densities, n_jobs)[:, 0]
    return found


def left_out(
    rows: WeightedRows, kernel: DensityKernel, bandwidths: Floats, groups: Integers, single: bool
) -> tuple[Integers, Callable[[Block], Floats]]:
    """Log densities of rows under those in other groups, as a function of blocks of queries.

    Parameters
    ----------
    rows, kernel, bandwidths, groups, single
        As for `left_out_likelihoods`.

    Returns
    -------
    The order in which the queries come, and from a block of them to an array of shape
    (queries, bandwidths).
    """
    around = kernel_sums(rows, kernel, bandwidths, groups)
    order, heaviest = around.leaves.order, np.log(rows.weight.max())
    weight, hidden = rows.weight[order], groups[order]
    # Repetitions of the row itself that stay; K is 1 at its centre.
    stays = np.maximum(weight - 1.0, 0.0) if single else np.zeros(len(weight))
    others = np.log(weight_of_others(rows.weight, groups)[hidden] + stays) - heaviest
    with np.errstate(divide="ignore"):
        stays = np.log(stays) - heaviest
    constants = log_constants(rows, kernel, bandwidths)

    def log_densities(block: Block) -> Floats:
        here = slice(block.start, block.start + block.n_rows)
        sums = around.block_log_sums(block.X, hidden[here])
        log_density = np.logaddexp(sums, stays[here, None]) + constants
        log_density -= others[here, None]
        return np.asarray(log_density)

    return order, log_densities


def weight_of_others(weight: Floats, groups: Integers) -> Floats:
    """The total weight of the rows outside of each group.

    Parameters
    ----------
    weight : array of shape (rows,)
    groups : int array of shape (rows,)
        Numbers from 0 on.

    Returns
    -------
    array of shape (groups,)
    """
    of_group = np.bincount(groups, weight)
    others = weight.sum() - of_group
    # Only one group can hold more than half: where it does, its weight would cancel theirs.
    largest = int(np.argmax(of_group))
    others[largest] = weight[groups != largest].sum()
    return np.asarray(others)


def hashed(X: Floats) -> Integers:
    """The rank of each row's hash: equal for equal rows, and otherwise as good as random."""
    return np.unique(row_hashes(X), return_inverse=True)[1].reshape(-1)
