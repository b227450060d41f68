"""How the rows of a source reach Lloyd's algorithm: kept in memory, or read in each pass."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import issparse

from suffice.clustering.lloyd.centres import as_rows
from suffice.clustering.lloyd.held import HeldRows, plain_rows, unit_rows
from suffice.clustering.lloyd.passes import LocationScale
from suffice.clustering.lloyd.streamed import StreamedRows
from suffice.fitting.requests import Keep, Pass, Request, needed
from suffice.sources import Block, FileSource, Source
from suffice.sources.base import NOTHING
from suffice.sources.finite import first_non_finite
from suffice.statistics.moments.columns import ColumnMoments
from suffice.statistics.sums import Sums

MOST_CELLS = 1 << 27
"""Cells of a stream up to which its rows are kept in memory: a gigabyte."""


def is_kept(source: Source) -> bool:
    """Whether rows stay in memory from pass to pass: dense ones, unless a file is too large."""
    base: Any = source
    while isinstance(getattr(base, "source", None), Source):
        base = base.source
    if source.sparse or not isinstance(base, FileSource):
        return not source.sparse
    return source.count_rows() * source.n_columns <= MOST_CELLS


def read(
    source: Source, unit: bool = False
) -> Generator[Request, Any, tuple[HeldRows | StreamedRows, LocationScale, int]]:
    """Rows as `lloyd` takes them, where they lie, and how many have a weight.

    Parameters
    ----------
    source : Source
    unit : bool, default=False
        Whether to bring rows to length 1: the nearest centre is then that of the largest cosine.
    """
    found = yield from needed(Pass("columns", partial(_columns, unit=unit)))
    if isinstance(found, Sums):
        count, weight, total, squares = found.values
        centre = np.zeros(source.n_columns)  # subtracting anything would fill the matrix
        frame = LocationScale.of(centre, max(float(weight), 1e-300), squares, unit)
        spread = np.maximum(squares / weight - np.square(total / weight), 0.0)
        frame = LocationScale(centre, frame.scale, float(spread.mean()), frame.scatter, unit)
    else:
        count, weight = found.count[0], found.weight.hi[0]
        frame = LocationScale.of(
            found.mean.round(), max(float(weight), 1e-300), found.scatter, unit
        )
    if not count:
        raise ValueError(NOTHING)
    if not is_kept(source):
        return StreamedRows(unit), frame, int(count)
    shards = yield from needed(Keep("rows", unit_rows if unit else plain_rows))
    return HeldRows(shards), frame, int(count)


def _columns(block: Block, unit: bool) -> ColumnMoments | Sums:
    """Mean and squares of the columns."""
    if first_non_finite(replace(block, y=None)) is not None:  # the target is not looked at
        raise FloatingPointError("a value that is not finite, or too large")
    X = as_rows(block.X, unit)
    if not issparse(X):
        return ColumnMoments.summarize(X, block.weight)
    weight = np.ones(X.shape[0]) if block.weight is None else block.weight
    X = X[weight > 0] if not weight.all() else X
    weight = weight[weight > 0]
    count = np.array(float(len(weight)))
    squares = X.multiply(X)
    return Sums((count, np.array(weight.sum()), weight @ X, weight @ squares))
