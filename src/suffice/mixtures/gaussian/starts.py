"""Where EM of a mixture of Gaussians starts.

    kmeans             k-means; each component has the moments of the rows of its cluster
    k-means++          the same from the centres that k-means would start from
    random_from_data   the same from rows drawn at random
    random             responsibilities at random, so that all components start near the middle
    total_covariance   equal weights, centres of k-means++, and the covariance of all rows

Rows with labels belong to the component of their label, whose centre is their mean.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
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
from suffice.mixtures.gaussian.components import GaussianComponents
from suffice.mixtures.latent.random_shares import RandomResponsibilities
from suffice.mixtures.latent.responsibilities import UNKNOWN, Expectation
from suffice.sources import Block, Source
from suffice.sources.derived.mapped import MappedSource
from suffice.statistics.base import present
from suffice.statistics.moments.columns import ColumnMoments
from suffice.statistics.moments.soft import SoftMoments

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RowSummary:
    """What is known of all rows before EM starts.

    Attributes
    ----------
    total, count : float, int
        Their weight, and how many have one.
    centre, spread : arrays of shape (columns,)
        Mean and standard deviation of each column.
    has_gaps : bool
        Whether cells are missing.
    """

    total: float
    count: int
    centre: Floats
    spread: Floats
    has_gaps: bool

    def components(self, kind: str, means: Floats, factor: Floats) -> GaussianComponents:
        """Gaussians for these rows."""
        return GaussianComponents(kind, means, factor, self.centre, self.spread, self.has_gaps)


def column_moments(block: Block) -> Expected:
    """Moments of the columns of a block, and the weight of its rows."""
    weight, X = present(block.weight, block.X)
    total = float(len(X)) if weight is None else float(weight.sum())
    return Expected(ColumnMoments.summarize(X, weight), total)


def table_of(found: Expected) -> RowSummary:
    """What these tell of all rows."""
    columns: ColumnMoments = found.statistic
    weight, mean = columns.weight.round(), columns.mean.round()
    if (weight == 0).any():
        raise ValueError(f"column {int(np.argmin(weight))} has no value at all: leave it out")
    spread = np.sqrt(np.maximum(columns.rounded_scatter, 0.0) / weight)
    has_gaps = bool((weight < found.total * (1 - 1e-12)).any())
    count = int(columns.count.max())
    return RowSummary(found.total, count, mean, np.where(spread > 0, spread, 1.0), has_gaps)


def centres_of(
    source: Source, table: RowSummary, method: str, k: int, seed: int
) -> Generator[Request, Any, Floats]:
    """Centres to start from; k-means does not see missing cells, so these get the mean."""
    rows = source
    if table.has_gaps:
        fill = partial(filled, centre=table.centre)
        rows = MappedSource(source, fill, source.n_columns, source.feature_names)
    if method == "kmeans":
        model = KMeans(k, n_init=1, random_state=seed)
        yield from delegated(model, rows, "start: ")
        centres: Floats = model.cluster_centers_
        return centres
    init = "random" if method == "random_from_data" else "k-means++"
    return (yield from reading(drawn_centres(rows, init, k, seed), rows))


def drawn_centres(source: Source, init: str, k: int, seed: int) -> Generator[Request, Any, Floats]:
    """Rows drawn as k-means would start from them."""
    rows, frame, count = yield from read(source, False)
    if count < k:
        raise ValueError(f"n_samples={count} should be >= n_components={k}")
    return (yield from start_from(source, rows, frame, init, k, np.random.RandomState(seed)))


def filled(X: Any, centre: Floats) -> Floats:
    """Rows with the mean of the column where a cell is missing."""
    X = np.asarray(X, np.float64)
    return np.where(np.isnan(X), centre, X)


def unit_gaussians(kind: str, means: Floats, table: RowSummary) -> GaussianComponents:
    """Gaussians of unit variance around given means: the nearest mean is the likeliest."""
    k, d = means.shape
    shapes = {
        "full": np.tile(np.eye(d), (k, 1, 1)),
        "tied": np.eye(d),
        "diag": np.ones((k, d)),
        "spherical": np.ones(k),
    }
    return table.components(kind, means, shapes[kind])


def of_labels(block: Block, label: Any, n_classes: int) -> Expected:
    """Moments of the columns by label."""
    codes = label(block)
    known = codes != UNKNOWN
    weight = None if block.weight is None else block.weight[known]
    moments = ColumnMoments.summarize_groups(block.X[known], codes[known], n_classes, weight)
    return Expected(moments, 0.0)


def first_moments(
    source: Source,
    table: RowSummary,
    method: str,
    kind: str,
    k: int,
    seed: int,
    label: Any,
    n_classes: int,
) -> Generator[Request, Any, tuple[GaussianComponents, SoftMoments]]:
    """Gaussians in whose coordinates the first moments are, and these."""
    if method == "random":
        start = unit_gaussians(kind, np.tile(table.centre, (k, 1)), table)
        found = yield from needed(Pass("start", RandomResponsibilities(start, k, seed, label)))
        return start, found.statistic
    centres = yield from centres_of(source, table, method, k, seed)
    if label is not None:
        by_label = yield from needed(
            Pass("labelled rows", partial(of_labels, label=label, n_classes=n_classes))
        )
        centres = centres_for(centres, by_label.statistic, table)
    start = unit_gaussians(kind, centres, table)
    if method == "total_covariance":
        one = unit_gaussians(kind, table.centre[None], table)
        found = yield from needed(Pass("start", Expectation(one, np.zeros(1))))
        return start, everywhere(found.statistic, start)
    step = Expectation(start, np.zeros(k), True, label)
    found = yield from needed(Pass("start", step))
    return start, found.statistic


def centres_for(centres: Floats, labelled: ColumnMoments, table: RowSummary) -> Floats:
    """Means of labelled rows for the first components, for others the centres far from these."""
    weight = labelled.weight.round()
    means = np.where(weight > 0, labelled.mean.round(), table.centre)
    others = len(centres) - len(means)
    if others == 0:
        return means
    units = table.spread
    away = np.square((centres[:, None] - means) / units).sum(axis=2).min(axis=1)
    return np.concatenate([means, centres[np.argsort(-away, kind="stable")[:others]]])


def everywhere(one: SoftMoments, gaussians: GaussianComponents) -> SoftMoments:
    """Moments that give every component the covariance of all rows, an equal weight, its mean."""
    k, d = gaussians.means.shape
    share = np.full(k, one.weight[0] / k)
    if gaussians.kind == "tied":
        return SoftMoments(share, np.zeros((k, d)), one.second)
    return SoftMoments(share, np.zeros((k, d)), np.repeat(one.second, k, axis=0) / k)
