"""The components of a mixture of products: densities of rows, and what rows tell of each.

log p_c(x) = Σⱼ log b(xⱼ) + η_cj·T(xⱼ) − a(η_cj),      statistic: Σ r_c(x) T(xⱼ)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.mixtures.product.layout import TableLayout
from suffice.numerics.cached import cached_property

Floats = NDArray[np.float64]

CELLS_AT_ONCE, FEWEST, MOST = 1 << 17, 64, 4096
"""Numbers T of rows that are worked on at a time, and how many rows that may be."""

NEVER = -1e280
"""Stands for η = −∞: 0 times it is 0, so that what never occurs costs nothing."""

IMPOSSIBLE = -1e200
"""Log densities below are those of rows that a component does not allow."""


@dataclass(frozen=True, eq=False)
class ResponsibilitySums:
    """Sums of T over rows, by the shares that components have in them; merging adds them up.

    Attributes
    ----------
    weight : float64 array of shape (components,)
    total : float64 array of shape (components, slots)
        Σ r T.
    there : float64 array of shape (components, units)
        Σ r over the rows where a cell is not missing.
    """

    weight: Floats
    total: Floats
    there: Floats

    @classmethod
    def merge(cls, parts: Sequence[ResponsibilitySums]) -> ResponsibilitySums:
        """The sums over all rows of the parts together."""
        columns = zip(*((part.weight, part.total, part.there) for part in parts), strict=True)
        return cls(*(np.sum(column, axis=0) for column in columns))

    @property
    def nbytes(self) -> int:
        """Bytes that the sums take."""
        return self.weight.nbytes + self.total.nbytes + self.there.nbytes


Summarize = Callable[[Floats], ResponsibilitySums]


class OfTable:
    """What looks at the rows of a table by T.

    Attributes
    ----------
    layout : TableLayout
    """

    layout: TableLayout

    @property
    def rows_at_once(self) -> int:
        """Rows whose T stays in the cache."""
        return int(np.clip(CELLS_AT_ONCE // max(self.layout.n_slots, 1), FEWEST, MOST))

    def summary_of(self, T: Floats, there: Floats | None) -> Summarize:
        """From shares of components in rows to their sums."""
        units = len(self.layout.column_of_unit())

        def summarize(shares: Floats) -> ResponsibilitySums:
            weight = shares.sum(axis=1)
            counted = np.repeat(weight[:, None], units, axis=1) if there is None else shares @ there
            return ResponsibilitySums(weight, shares @ T, counted)

        return summarize


@dataclass(frozen=True, eq=False)
class Products(OfTable):
    """Several products of distributions over the same columns.

    Attributes
    ----------
    layout : TableLayout
    etas : tuple of float64 arrays of shape (components, units, p)
        The natural parameters, one array for each of the layout's groups.
    """

    layout: TableLayout
    etas: tuple[Floats, ...]

    @property
    def n_components(self) -> int:
        return len(self.etas[0])

    @cached_property
    def natural(self) -> Floats:
        """η of all columns side by side, of shape (components, slots)."""
        every = np.concatenate([eta.reshape(len(eta), -1) for eta in self.etas], axis=1)
        return np.where(np.isneginf(every), NEVER, every)

    @cached_property
    def log_partition(self) -> Floats:
        """a(η) of each unit, of shape (components, units)."""
        pairs = zip(self.layout.groups, self.etas, strict=True)
        return np.concatenate([g.family.log_partition(eta) for g, eta in pairs], axis=1)

    def expected(self, X: Any) -> tuple[Floats, Summarize]:
        """The log density of some rows under each component, and how they are summarised.

        Parameters
        ----------
        X : array of shape (rows, columns), or Columns
            NaN or None where a cell is missing: such a row has the density of its other cells.

        Returns
        -------
        array of shape (components, rows), and a function of shares of the same shape
        """
        T, log_base, there = self.layout.design(X)
        below = self.log_partition + self.layout.log_scales()
        out = self.natural @ T.T
        out -= below.sum(axis=1)[:, None] if there is None else below @ there.T
        out[out < IMPOSSIBLE] = -np.inf
        out += log_base
        return out, self.summary_of(T, there)

    def log_density_of_mean(self) -> float:
        """Σ_c η_c·τ − a(η_c), τ the mean of T over all rows."""
        assert self.layout.mean is not None
        found = self.natural @ self.layout.mean - self.log_partition.sum(axis=1)
        return float(np.where(found < IMPOSSIBLE, -np.inf, found).sum())

    def means(self) -> Floats:
        """E[T], of shape (components, slots)."""
        pairs = zip(self.layout.groups, self.etas, strict=True)
        return np.concatenate(
            [g.family.mean(eta).reshape(len(eta), -1) for g, eta in pairs], axis=1
        )

    def spreads(self) -> Floats:
        """Standard deviations of T, of shape (components, slots)."""
        parts = []
        for group, eta in zip(self.layout.groups, self.etas, strict=True):
            variance = np.diagonal(group.family.covariance(eta), axis1=-2, axis2=-1)
            parts.append(np.sqrt(variance).reshape(len(eta), -1))
        return np.concatenate(parts, axis=1)


@dataclass(frozen=True, eq=False)
class NearestCentres(OfTable):
    """Components that rows are near to or far from, by T in units of its spread.

    Attributes
    ----------
    layout : TableLayout
    middle, spread : float64 arrays of shape (slots,)
        Of T over all rows.
    centres : float64 array of shape (components, slots)
        From the middle, in units of the spread.
    """

    layout: TableLayout
    middle: Floats
    spread: Floats
    centres: Floats

    def features(self, X: Any) -> Floats:
        """Rows as centres see them; a missing cell is in the middle."""
        T, _, there = self.layout.design(X, lenient=True)
        return self._seen(T, there)

    def _seen(self, T: Floats, there: Floats | None) -> Floats:
        out = (T - self.middle) / self.spread
        return out if there is None else out * there[:, self.layout.unit_of_slot()]

    def expected(self, X: Any) -> tuple[Floats, Summarize]:
        """−½ ‖f − c‖² up to a constant of each row, and how rows are summarised."""
        T, _, there = self.layout.design(X)
        squares = 0.5 * np.square(self.centres).sum(axis=1)
        nearness = self.centres @ self._seen(T, there).T - squares[:, None]
        return nearness, self.summary_of(T, there)
