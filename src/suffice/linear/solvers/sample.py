"""A first look at the rows: their labels, about where the columns lie, and some of the rows.

An iterative fit starts with it.  Rows from all over are gathered; from them come a centre and
a scale for each column, and a first solution: most of the way to the minimum is gone on a small
part of the rows, and only the last steps are passes over all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from suffice.fitting.requests import Pass
from suffice.numerics.cached import cached_property
from suffice.numerics.double_double import Array
from suffice.sources import Block, Source, as_source
from suffice.sources.derived.subset import rows_of
from suffice.statistics.counts.labels import as_objects, coded
from suffice.statistics.sums import Sums

SAMPLED_ROWS, ROWS_PER_PARAMETER = 8192, 64
"""Rows to gather at least: so many, and so many for each parameter of a predictor."""

SHARE, MOST_CELLS = 16, 1 << 22
"""A sixteenth of the rows is gathered, as long as that is no more than so many numbers."""

USEFUL = 4
"""A sample of more than a fourth of the rows saves nothing: then all are gathered."""

STRIP = 1024
"""Gathered rows at a time, in which squares are added up within a core's own cache."""

NEAR = 8.0
"""Deviations up to which a column's mean is left where it is, if all columns' are."""

SMALLEST = 1e-150
"""Deviations below have squares that underflow."""

EXTREME = 1e100
"""Scales beyond are cut: their squares must stay numbers."""


@dataclass(frozen=True, eq=False)
class FirstLook:
    """What the first pass finds.

    Attributes
    ----------
    weights : dict
        Weight of each label; empty for a model without labels.
    parts : tuple of Block
        The gathered rows.
    count : int
        Rows that there are, of positive weight.
    sums : Sums, optional
        What a model has added up in looking at the target.
    """

    weights: dict[Any, float]
    parts: tuple[Block, ...]
    count: int
    sums: Sums | None = None

    @classmethod
    def merge(cls, parts: Sequence[FirstLook]) -> FirstLook:
        """What is found in all parts, their rows in order."""
        weights: dict[Any, float] = {}
        for part in parts:
            for label, weight in part.weights.items():
                weights[label] = weights.get(label, 0.0) + weight
        gathered = tuple(block for part in parts for block in part.parts)
        sums = [part.sums for part in parts if part.sums is not None]
        count = sum(part.count for part in parts)
        return cls(weights, gathered, count, Sums.merge(sums) if sums else None)

    @property
    def labels(self) -> NDArray[Any]:
        """The labels, sorted."""
        labels = sorted(self.weights)
        if labels and isinstance(labels[0], str):
            return as_objects(labels)
        return np.array(labels)

    @property
    def label_weights(self) -> Array:
        """The weight of each label, in their order."""
        return np.array([self.weights[label] for label in self.labels.tolist()])

    def gathered_all(self, labels: Callable[[Block], NDArray[Any]]) -> bool:
        """Whether rows of every label were gathered: without, its intercept would run away."""
        seen: set[Any] = set()
        for part in self.parts:
            seen.update(coded(labels(part))[0].tolist() if part.n_rows else ())
        return len(seen) == len(self.weights)

    @cached_property
    def sample(self) -> Source:
        """The gathered rows as a source."""
        blocks = [block for block in self.parts if block.n_rows]
        X = [block.X for block in blocks]
        if sparse.issparse(X[0]):
            joined = sparse.vstack(X, format="csr")
        else:
            joined = np.ascontiguousarray(np.concatenate(X))  # one layout for every source
        y = None if blocks[0].y is None else np.concatenate([block.y for block in blocks])
        weights = [np.ones(b.n_rows) if b.weight is None else b.weight for b in blocks]
        weight = None if all(b.weight is None for b in blocks) else np.concatenate(weights)
        return as_source(joined, y, weight)


def first_look_pass(
    stride: int,
    labels: Callable[[Block], NDArray[Any]] | None = None,
    check: Callable[[Block], Any] | None = None,
) -> Pass:
    """The first pass.

    Parameters
    ----------
    stride : int
        One of so many rows is gathered.
    labels : function of a block, optional
        Its labels, for a classifier.
    check : function of a block, optional
        Raises if the target is not what the model takes; may return `Sums`.
    """
    return Pass("survey", partial(_look, stride=stride, labels=labels, check=check))


def stride_of(n_rows: int, n_parameters: int) -> int:
    """Of how many rows one is gathered."""
    least = max(SAMPLED_ROWS, ROWS_PER_PARAMETER * n_parameters)
    wanted = max(min(n_rows // SHARE, MOST_CELLS // n_parameters), least)
    stride = n_rows // wanted
    return stride if stride >= USEFUL else 1


def _look(
    block: Block,
    stride: int,
    labels: Callable[[Block], NDArray[Any]] | None,
    check: Callable[[Block], Any] | None,
) -> FirstLook:
    if block.weight is not None and not block.weight.all():
        block = rows_of(block, np.flatnonzero(block.weight), block.start)
    chosen = slice(None) if stride == 1 else scattered(block.start, block.n_rows, stride)
    gathered = rows_of(block, chosen, block.start)
    cells = gathered.X.data if sparse.issparse(gathered.X) else gathered.X
    if not np.isfinite(cells).all():
        raise FloatingPointError("values that are not finite")
    added_up = None if check is None else check(block)
    weights: dict[Any, float] = {}
    if labels is not None and block.n_rows:
        found, codes = coded(labels(block))
        sums = np.bincount(codes, block.weight, minlength=len(found))
        weights = dict(zip(found.tolist(), sums.tolist(), strict=True))
    return FirstLook(weights, (gathered,), block.n_rows, added_up)


def scattered(start: int, n_rows: int, stride: int) -> NDArray[np.int64]:
    """One row of every `stride`, each time another one: rows may repeat in a rhythm.

    Counted from the first of `n_rows` rows, which is row `start` of all; at least one, if
    there are any.
    """
    windows = np.arange(start // stride, (start + n_rows - 1) // stride + 1)
    # A multiplicative hash: the upper bits of a product with 2⁶⁴ over the golden ratio.
    shifts = (windows.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(33)
    rows = windows * stride + (shifts % np.uint64(stride)).astype(np.int64) - start
    rows = rows[(rows >= 0) & (rows < n_rows)]
    return rows if len(rows) else np.arange(min(n_rows, 1))


def centre_and_scale(X: Any, weight: Array | None, centred: bool) -> tuple[Array, Array]:
    """About the mean and the standard deviation of each column, from some rows.

    Parameters
    ----------
    X : array or CSR matrix of shape (rows, columns)
    weight : array of shape (rows,), optional
    centred : bool
        False for a model without an intercept: then the centre is 0, as for sparse columns,
        and the scale is the root of the mean square.
    """
    step = max(X.shape[0] // SAMPLED_ROWS, 1)
    X = X[::step]
    weight = np.ones(X.shape[0]) if weight is None else weight[::step]
    total = weight.sum()
    if sparse.issparse(X):
        centre = np.zeros(X.shape[1])
        largest = abs(X).max(axis=0).toarray().ravel().astype(np.float64)
        unit = np.where(largest > 0, largest, 1.0)
        squares = np.asarray((X / unit).power(2).T @ weight) / total
    else:
        X = np.asarray(X, dtype=np.float64)
        low, high = X.min(axis=0), X.max(axis=0)
        centre = (weight / total) @ X if centred else np.zeros(X.shape[1])
        if centred:
            # A constant column less its rounded mean would be a tiny intercept, not nothing.
            centre = np.where(low == high, X[0], centre)
        unit = np.maximum(high - centre, centre - low)
        unit = np.where(unit > 0, unit, 1.0)
        squares = np.zeros(X.shape[1])
        for start in range(0, X.shape[0], STRIP):
            away = X[start : start + STRIP] - centre
            away /= unit
            squares += weight[start : start + STRIP] @ np.square(away, out=away)
        squares /= total
    tiny = (unit < SMALLEST) & (unit > 0)
    if tiny.any():
        raise ValueError(
            f"column {int(np.argmax(tiny))} (counted from 0) varies by less than {SMALLEST:.0e}: "
            "its squares would underflow; rescale it"
        )
    scale = unit * np.sqrt(squares)
    # A mean of a few deviations costs no digits, but taking it away costs a copy of the rows.
    if (np.abs(centre) <= NEAR * scale).all():
        centre = np.zeros_like(centre)
    # What varies by less than the rounding of its mean does not vary.
    still = scale <= 1e-14 * np.abs(centre)
    if still.any() and not sparse.issparse(X):
        # The mean of equal numbers is rarely that number.
        centre = np.where(still, X[0], centre) if centred else centre
    return centre, np.clip(np.where(still | (scale == 0), 1.0, scale), 1 / EXTREME, EXTREME)
