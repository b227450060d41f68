"""Which cluster a row belongs to: labels given one by one, in a column, or by a source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.engines.passes import map_rows
from suffice.sources import Block, Source
from suffice.sources.memory.target import plain_array
from suffice.statistics.counts.labels import coded

MOST_CLUSTER_CELLS = 1 << 27
"""Clusters × parameters up to which their sums are kept: a gigabyte."""


def labels_of(clusters: Any, source: Source, n_parameters: int) -> Callable[[Block], NDArray[Any]]:
    """How a block's cluster labels are found.

    Parameters
    ----------
    clusters : array of shape (rows,), name of a feature column, or Source
        Labels of any one kind.  Those of a source are its target, in the rows' order; they
        are gathered (8 bytes a row), which a feature column's are not.
    source : Source
    n_parameters : int
    """
    if isinstance(clusters, str):
        if source.feature_names is None or clusters not in source.feature_names:
            raise ValueError(
                f"clusters={clusters!r} is not among the columns of X; give a label for each row, "
                "or a source whose target they are: scan(…, target=…)"
            )
        column = source.feature_names.index(clusters)
        return lambda block: _dense(block.X[:, [column]])[:, 0]
    if isinstance(clusters, Source):
        if not clusters.has_target:
            raise ValueError("clusters is a source without a target: name it in scan(…, target=…)")
        values = map_rows(clusters, lambda block: np.asarray(block.y))
    else:
        values = plain_array(clusters)[0]
    if values.ndim != 1 or len(values) != source.count_rows():
        raise ValueError(
            f"clusters has shape {values.shape}, but there are {source.count_rows():,} rows: one "
            "label for each is needed"
        )
    if values.dtype.kind in "mM":
        values = values.astype(np.int64)
    try:
        names, codes = coded(values)
    except FloatingPointError:
        raise ValueError("clusters: a label is missing; every row needs one") from None
    if len(names) * n_parameters > MOST_CLUSTER_CELLS:
        raise ValueError(
            f"{len(names):,} clusters of {n_parameters:,} parameters: their sums are kept up to "
            f"{MOST_CLUSTER_CELLS:,} numbers (1 GB); use fewer clusters, or cov='HC1'"
        )
    return lambda block: codes[block.start : block.start + block.n_rows]


def _dense(X: Any) -> Any:
    return X.toarray() if hasattr(X, "toarray") else X
