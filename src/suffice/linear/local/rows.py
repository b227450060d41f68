"""The rows that a local model keeps, in an order in which neighbours stand together.

Rows are split at the median of the column that spreads most, measured in bandwidths, until at
most `LEAF` are left.  A run of so many consecutive rows is a *leaf*; its bounding box says how
near to a query any of its rows can be.  Queries are ordered and cut in the same way.

A column is measured in two units: its bandwidth τⱼ, for distances, and the smaller of τⱼ and its
standard deviation, for slopes.  In the latter the spread of a neighbourhood is near 1 wherever the
data determine a slope, whatever units the user has chosen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from suffice.fitting.files.registry import register
from suffice.numerics.cached import cached_property

Floats = NDArray[np.float64]

LEAF = 256
"""Rows that are looked at together."""

FARTHEST = 1e140
"""Bandwidths that data may span, and within which a query is taken to be: squares stay finite."""


@register
@dataclass(frozen=True)
class LocalRows:
    """Rows in spatial order, without the columns that are constant; each column is one run.

    Attributes
    ----------
    X : array of shape (columns, rows)
    y : array of shape (targets, rows)
    weight : array of shape (rows,)
        Positive.
    columns : int array of shape (columns,)
        Which of the user's columns these are.
    bandwidths : array of shape (columns,)
        The kernel's bandwidth along each column, in the user's units.
    deviations : array of shape (columns,)
        Standard deviation of each column.
    """

    X: Floats
    y: Floats
    weight: Floats
    columns: NDArray[np.int64]
    bandwidths: Floats
    deviations: Floats

    def __post_init__(self) -> None:
        d, n = self.X.shape
        shapes = (self.y.shape[1:], self.weight.shape, self.columns.shape)
        if shapes != ((n,), (n,), (d,)) or self.y.ndim != 2 or n == 0:
            raise ValueError("the stored rows, targets and weights do not belong together")
        if self.bandwidths.shape != (d,) or self.deviations.shape != (d,):
            raise ValueError("there must be a bandwidth and a deviation for each stored column")

    @property
    def n_rows(self) -> int:
        return len(self.weight)

    @cached_property
    def units(self) -> Floats:
        """The units in which slopes are measured."""
        return np.minimum(self.bandwidths, self.deviations)

    @cached_property
    def log_weight(self) -> Floats:
        """Logarithm of each weight's ratio to the largest."""
        return np.log(self.weight / self.weight.max())

    @cached_property
    def target_unit(self) -> Floats:
        """Half the range of each target, or 1 where it is constant."""
        half = (self.y.max(axis=1) - self.y.min(axis=1)) / 2
        return np.where(half > 0, half, 1.0)

    @cached_property
    def leaves(self) -> tuple[Floats, Floats, Floats]:
        """Of each leaf the corners of its box, and the largest logarithm of a weight."""
        starts = np.arange(0, self.n_rows, LEAF)
        low, high = (f.reduceat(self.X, starts, axis=1) for f in (np.minimum, np.maximum))
        return low, high, np.maximum.reduceat(self.log_weight, starts)

    def within_reach(self, queries: Floats) -> Floats:
        """Queries for which distances are finite: those too far come nearer, along a ray."""
        centre = self.X[:, self.n_rows // 2]
        away = (np.clip(queries, -1e300, 1e300) - centre) / self.bandwidths
        farthest = np.abs(away).max(axis=1, initial=FARTHEST, keepdims=True)
        moved = centre + away * (FARTHEST / farthest) * self.bandwidths
        return np.where(farthest > FARTHEST, moved, queries)

    def highest_log_weights(self, queries: Floats) -> Floats:
        """At least the logarithm of any weight in each leaf, of shape (queries, leaves).

        It is −½ of the squared distance from the query to the leaf's box, in bandwidths, with
        something added for rounding.
        """
        low, high, log_weight = self.leaves
        squared = np.zeros((len(queries), len(log_weight)))
        for j, bandwidth in enumerate(self.bandwidths):
            q = queries[:, j, None]
            gap = np.maximum(np.maximum(low[j] - q, q - high[j]), 0.0) / bandwidth
            squared += gap * gap
        return (1e-9 - (0.5 - 1e-12) * squared) + log_weight

    def nearby(self, query: Floats, depth: float) -> NDArray[np.int64]:
        """Numbers of rows, with all whose weight at a query is above e⁻ᴸ times the largest."""
        highest = self.highest_log_weights(query[None])[0]
        here = slice(int(np.argmax(highest)) * LEAF, (int(np.argmax(highest)) + 1) * LEAF)
        v = (self.X[:, here] - query[:, None]) / self.bandwidths[:, None]
        reached = (self.log_weight[here] - 0.5 * (v * v).sum(axis=0)).max()
        within = highest >= reached - depth - 1e-12 * abs(reached)
        return np.flatnonzero(np.repeat(within, LEAF)[: self.n_rows])


def column_deviations(X: Floats, weight: Floats) -> Floats:
    """Weighted standard deviation of each column: exactly 0 where it is constant."""
    values = np.ascontiguousarray(X.T)
    low, span = values.min(axis=1), np.ptp(values, axis=1)
    unit = np.where(span > 0, span, 1.0)
    away = (values - low[:, None]) / unit[:, None]
    share = weight / weight.max()
    share /= share.sum()
    away -= (share * away).sum(axis=1, keepdims=True)
    return unit * np.sqrt((share * away * away).sum(axis=1)) * (span > 0)
