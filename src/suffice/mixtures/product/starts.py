"""Where EM of a mixture of products starts.

    kmeans             k-means on T in units of its spread; each component has the mean of T of the
                       rows of its cluster
    k-means++          the same from the centres that k-means would start from
    random_from_data   the same from rows drawn at random
    random             responsibilities at random, so that all components start near the middle

Rows with labels belong to the component of their label.  Each component starts with one row of
the middle added: a probability that starts at 0 would stay there.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.clustering.k_means import KMeans
from suffice.clustering.lloyd.reading import read
from suffice.clustering.starts.seeding import start_from
from suffice.fitting.driver import delegated
from suffice.fitting.em import Expected
from suffice.fitting.requests import Pass, Request, needed, reading
from suffice.mixtures.latent.random_shares import RandomResponsibilities
from suffice.mixtures.latent.responsibilities import UNKNOWN, Expectation
from suffice.mixtures.product.components import NearestCentres, Products, ResponsibilitySums
from suffice.mixtures.product.layout import TableLayout
from suffice.mixtures.product.maximisation import NoMaximum, of_means
from suffice.sources import Block, Source
from suffice.sources.derived.mapped import MappedSource
from suffice.statistics.base import present
from suffice.statistics.moments.columns import ColumnMoments
from suffice.statistics.sums import Sums

Floats = NDArray[np.float64]

FIRST_ROWS = 1.0
"""Rows of the middle that each component starts with."""


@dataclass(frozen=True, eq=False)
class ColumnsOf:
    """Moments of the cells of a block; those that a family does not allow are named."""

    layout: TableLayout
    source: Source

    def __call__(self, block: Block) -> Expected:
        numbers = np.arange(block.n_rows)
        weight, X, numbers = present(block.weight, block.X, numbers)
        values = self.layout.values(X, lambda i: self.source.row_label(block.start + numbers[i]))
        return Expected(ColumnMoments.summarize(values, weight), float(len(X)))


def sums_of_squares(block: Block, layout: TableLayout) -> Sums:
    """Σ w, Σ w over cells that are there, Σ w T, Σ w T²."""
    weight, X = present(block.weight, block.X)
    T, _, there = layout.design(X)
    counts = np.ones(len(T)) if weight is None else weight
    total = np.asarray(counts.sum())
    by_unit = np.full(len(layout.column_of_unit()), total) if there is None else counts @ there
    return Sums((total, by_unit, counts @ T, counts @ np.square(T)))


@dataclass(frozen=True, eq=False)
class TableStatistic:
    """What is known of all rows before EM starts.

    Attributes
    ----------
    total : float
        Their weight.
    layout : TableLayout
        With the mean of T.
    spread : float64 array of shape (slots,)
        Of T.
    """

    total: float
    layout: TableLayout
    spread: Floats

    @property
    def mean(self) -> Floats:
        """Of T."""
        assert self.layout.mean is not None
        return self.layout.mean

    @property
    def nearest(self) -> NearestCentres:
        """One centre, in the middle."""
        return NearestCentres(
            self.layout, self.mean, self.spread, np.zeros((1, self.layout.n_slots))
        )


def table_statistic(
    layout: TableLayout, source: Source, k: int
) -> Generator[Request, Any, TableStatistic]:
    """Two passes: where columns are, and T over all rows, of which there must be k."""
    found = yield from needed(Pass("columns", ColumnsOf(layout, source)))
    columns: ColumnMoments = found.statistic
    n = int(found.total)
    if n < k:
        raise ValueError(f"n_samples={n} should be >= n_components={k}")
    weight = columns.weight.round()
    if (weight == 0).any():
        label = source.column_label(int(np.argmin(weight)))
        raise ValueError(f"{label} has no value at all: leave it out")
    deviation = np.sqrt(np.maximum(columns.rounded_scatter, 0.0) / weight)
    layout = layout.moved(columns.mean.round(), np.where(deviation > 0, deviation, 1.0))
    sums = yield from needed(Pass("statistic", partial(sums_of_squares, layout=layout)))
    total, by_unit, first, second = sums.values
    counted = by_unit[layout.unit_of_slot()]
    mean = first / counted
    variance = np.maximum(second / counted - np.square(mean), 0.0)
    spread = np.where(variance > 0, np.sqrt(variance), 1.0)
    try:
        of_means(layout, mean[None])
    except NoMaximum as error:
        label = source.column_label(layout.column_of_unit()[error.unit])
        raise ValueError(
            f"{label} has no most likely distribution: {error} ({n} sample{'s' * (n > 1)})"
        ) from None
    return TableStatistic(float(total), replace(layout, mean=mean, trusts=True), spread)


def centres_of(
    source: Source, table: TableStatistic, method: str, k: int, seed: int
) -> Generator[Request, Any, Floats]:
    """Centres of rows by T in units of its spread."""
    rows = MappedSource(source, table.nearest.features, table.layout.n_slots)
    if method == "kmeans":
        model = KMeans(k, n_init=1, random_state=seed)
        yield from delegated(model, rows, "start: ")
        centres: Floats = model.cluster_centers_
        return centres
    init = "random" if method == "random_from_data" else "k-means++"
    return (yield from reading(drawn_centres(rows, init, k, seed), rows))


def drawn_centres(source: Source, init: str, k: int, seed: int) -> Generator[Request, Any, Floats]:
    """Rows drawn as k-means would start from them."""
    rows, frame, _ = yield from read(source, False)
    return (yield from start_from(source, rows, frame, init, k, np.random.RandomState(seed)))


def labelled_sums(block: Block, nearest: NearestCentres, label: Any, n_classes: int) -> Expected:
    """Sums of T by label, of rows that have one."""
    codes = label(block)
    known = codes != UNKNOWN
    weight, X, codes = present(
        None if block.weight is None else block.weight[known], block.X[known], codes[known]
    )
    if not len(codes):
        return Expected(None)
    shares = (codes == np.arange(n_classes)[:, None]).astype(np.float64)
    shares = shares if weight is None else shares * weight
    return Expected(nearest.expected(X)[1](shares))


def first_sums(
    source: Source,
    table: TableStatistic,
    method: str,
    k: int,
    seed: int,
    label: Any,
    n_classes: int,
) -> Generator[Request, Any, ResponsibilitySums]:
    """The sums of the rows that each component starts with."""
    nearest = table.nearest
    if method == "random":
        step: Any = RandomResponsibilities(nearest, k, seed, label)
    else:
        centres = yield from centres_of(source, table, method, k, seed)
        if n_classes:
            summed = partial(labelled_sums, nearest=nearest, label=label, n_classes=n_classes)
            found = yield from needed(Pass("labelled rows", summed))
            centres = centres_for(centres, found.statistic, table)
        step = Expectation(replace(nearest, centres=centres), np.zeros(k), True, label)
    found = yield from needed(Pass("start", step))
    sums: ResponsibilitySums = found.statistic
    return sums


def centres_for(centres: Floats, sums: ResponsibilitySums, table: TableStatistic) -> Floats:
    """Means of labelled rows for the first components, for others the centres far from these."""
    counted = sums.there[:, table.layout.unit_of_slot()]
    means = np.where(counted > 0, sums.total / np.where(counted > 0, counted, 1.0), table.mean)
    own = (means - table.mean) / table.spread
    others = len(centres) - len(own)
    away = np.square(centres[:, None] - own).sum(axis=2).min(axis=1)
    return np.concatenate([own, centres[np.argsort(-away, kind="stable")[:others]]])


def in_the_middle(table: TableStatistic, k: int) -> Products:
    """Components that are all as all rows are."""
    return of_means(table.layout, np.repeat(table.mean[None], k, axis=0))
