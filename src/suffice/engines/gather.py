"""All rows of a source in memory, for models that keep them or go over them in their own way."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse, vstack

from suffice.engines.passes import in_order
from suffice.sources.base import NOTHING, Block, Piece, Source
from suffice.sources.derived.subset import rows_of
from suffice.sources.finite import NotFinite, first_non_finite
from suffice.sources.memory.arrays import ArraySource
from suffice.sources.memory.mixed import Columns
from suffice.sources.memory.sparse import SparseSource

MOST_BYTES = 8 << 30
"""What rows that come from elsewhere may take in memory."""


class Rows(NamedTuple):
    """Rows in memory.

    Attributes
    ----------
    X : array of shape (rows, columns), csr_array or Columns
    y : array of shape (rows,) or (rows, targets), or None
    weight : float64 array of shape (rows,), or None
        Positive.
    """

    X: Any
    y: NDArray[Any] | None
    weight: NDArray[np.float64] | None


def gather(source: Source, name: str, missing: bool = False, n_jobs: int | None = None) -> Rows:
    """Read all rows that have a weight.

    Arrays and sparse matrices in memory are handed over as they are, not copied.

    Parameters
    ----------
    source : Source
    name : str
        Who keeps them, for messages.
    missing : bool, default=False
        Whether cells may be NaN.
    n_jobs : int, optional

    Raises
    ------
    ValueError
        If a cell is infinite or missing, if no row has a weight, or if the rows would take more
        than `MOST_BYTES`.
    """
    whole: Any = source if isinstance(source, ArraySource | SparseSource) else None
    parts: list[Block] = []
    count = 0
    try:
        with closing(in_order(source, partial(_load, missing=missing), n_jobs)) as runs:
            for run in runs:
                parts += run
                count += sum(block.n_rows for block in run)
                if whole is None:
                    _check_size(count, source, name)
    except NotFinite as error:
        raise ValueError(error.described(source, missing)) from None
    if not count:
        raise ValueError(NOTHING)
    if whole is not None and count == whole.n_rows:
        return Rows(whole.X, whole.y, whole.weight)
    X, y, weight = zip(*((block.X, block.y, block.weight) for block in parts), strict=True)
    return Rows(_joined(X), _joined(y), _joined(weight))


def _load(run: list[Piece], missing: bool) -> list[Block]:
    """The rows of a run that have a weight, checked."""
    blocks = []
    for piece in run:
        block = piece.load()
        if first_non_finite(block, missing) is not None:
            raise NotFinite("a value out of range", block.start, block.n_rows)
        if block.weight is not None and not block.weight.all():
            block = rows_of(block, block.weight > 0, block.start)
        blocks.append(block)
    return blocks


def _check_size(n_rows: int, source: Source, name: str) -> None:
    each = 8 * (source.n_columns + int(np.prod(source.target_shape)) + 1)
    if not source.sparse and n_rows * each > MOST_BYTES:
        raise ValueError(
            f"{name} keeps its rows: at least {n_rows:,} of {each} bytes each is more than "
            f"{MOST_BYTES >> 30} GB. Fit a sample of the rows"
        )


def _joined(parts: tuple[Any, ...]) -> Any:
    if len(parts) == 1 or parts[0] is None:
        return parts[0]
    if isinstance(parts[0], Columns):
        return Columns.concatenate(parts)
    return vstack(parts, format="csr") if issparse(parts[0]) else np.concatenate(parts)
