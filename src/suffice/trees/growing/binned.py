"""Growth of a tree from rows that are read as a stream.

overview    one pass: distinct values or quantiles of each column, labels, the target's range
keep        one reading: cells become bins of one byte (two where categories are many)
growth      level by level, on what is kept (`suffice.trees.growing.levels`)

The rows are read twice, however deep the tree becomes.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.fitting.requests import Keep, Pass, Request, StopAsked, needed
from suffice.fitting.text_columns import unless_rounded
from suffice.kernels.trees.criteria import ABSOLUTE_ERROR, POISSON
from suffice.numerics.double_double import Array
from suffice.sources import Source
from suffice.sources.base import NOTHING
from suffice.trees.growing.bins import Coding, bins_of
from suffice.trees.growing.levels import Growth, InShards
from suffice.trees.growing.overview import MOST_BINS, Look, Overview
from suffice.trees.growing.settings import Settings
from suffice.trees.growing.shards import Scheme, unit_of
from suffice.trees.growing.writing import tree_of
from suffice.trees.nodes.tree import Tree


class Grown(NamedTuple):
    """A tree that was grown from a stream.

    Attributes
    ----------
    tree : Tree
    categories : tuple of arrays, or None
        What the numbers 0, 1, … stand for in each column; None in columns of numbers.
    exact : bool
        Whether no column had more values than bins: the tree is what rows in memory would give.
    """

    tree: Tree
    categories: tuple[NDArray[Any] | None, ...]
    exact: bool


def overview_of(
    source: Source, categorical: Sequence[bool], classify: bool, max_bins: int = MOST_BINS
) -> Generator[Request, Any, Overview]:
    """What one pass tells of the rows; needed to resolve shares of rows and balanced weights.

    Parameters
    ----------
    source : Source
    categorical : sequence of bool
        Whether each column holds categories.
    classify : bool
        Whether the target is labels.
    max_bins : int
        Of a column of numbers, 2 to 255.
    """
    names = tuple(source.column_label(j) for j in range(source.n_columns))
    look = Look(names, tuple(categorical), classify, max_bins)
    places = [j for j, one in enumerate(categorical) if one]
    overview: Overview
    overview = yield from needed(Pass("overview", unless_rounded(source, places, look)))
    if not overview.count:
        raise ValueError(NOTHING)
    return overview


def grow_from_stream(
    overview: Overview, settings: Settings, class_weight: Array | None = None
) -> Generator[Request, Any, Grown]:
    """Grow a tree from the rows of an overview.

    Parameters
    ----------
    overview : Overview
    settings : Settings
    class_weight : float64 array of shape (classes,), optional

    Raises
    ------
    ValueError
        If the criterion has no sums, or the target is not what it needs.
    """
    scheme = scheme_of(overview, settings, class_weight)
    shards = yield from needed(Keep("bins", scheme.coding))
    growth = Growth(settings, scheme)
    with suppress(StopAsked):  # what is not divided by then are leaves
        yield from growth.run(InShards(shards))
    bins = scheme.coding.bins
    return Grown(
        tree_of(growth.nodes, scheme, preorder=not growth.best_first),
        tuple(one.categories for one in bins),
        all(one.categories is not None or one.values is not None for one in bins),
    )


def scheme_of(overview: Overview, settings: Settings, class_weight: Array | None) -> Scheme:
    """How rows are kept: their bins, and to what their contributions are rounded."""
    if settings.criterion == ABSOLUTE_ERROR:
        raise ValueError(
            "criterion='absolute_error' needs its rows in memory, for it sorts them in each node: "
            "pass max_bins=None, or choose another criterion"
        )
    bins, weight = bins_of(overview), overview.weight
    alike = overview.alike and class_weight is None
    if not settings.is_regression:
        labels = overview.labels
        assert labels is not None
        if len(labels) > np.iinfo(np.uint16).max:
            raise ValueError(f"{len(labels):,} classes are more than a tree can tell apart")
        if class_weight is not None:
            weight = float(overview.class_weight @ class_weight)
            if not weight > 0:
                raise ValueError(NOTHING)
        coding = Coding(bins, labels, 0.0)
        units = (unit_of(weight), 1.0, 1.0)
        return Scheme(settings.criterion, coding, len(labels), alike, class_weight, units)
    total, absolute, low, high = overview.target * [1, 1, -1, 1]
    centre = 0.0
    if settings.criterion == POISSON:
        if low < 0:
            raise ValueError(
                f"the target holds {low:g}, and negative values are not allowed for Poisson "
                "regression: choose criterion='squared_error'"
            )
        if not total > 0:
            raise ValueError("all targets are 0, and Poisson regression needs one that is larger")
    elif high > low:
        # Near the mean, and so round that whole numbers stay whole.
        step = np.exp2(np.floor(np.log2((high - low) / 8)))
        centre = float(np.round(total / weight / step) * step)
    else:
        centre = float(low)
    farthest = max(high - centre, centre - low)
    absolute = min(absolute + abs(centre) * weight, farthest * weight)
    spread = absolute * farthest
    if settings.criterion == POISSON:
        spread = weight + absolute * abs(np.log(high))
    units = (unit_of(weight), unit_of(absolute), unit_of(spread))
    return Scheme(settings.criterion, Coding(bins, None, centre), 2, alike, None, units)
