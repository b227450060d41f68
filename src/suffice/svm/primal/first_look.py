"""A first look at rows of classes: their labels, and some of the rows.

From the rows that are drawn come the units of the columns and a start: most of the way to the
minimum is gone on a small part of the rows, and only the last steps are passes over all of them.
A row is drawn by its number, so it is the same draw wherever the rows come from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from suffice.fitting.classification import labels_of
from suffice.fitting.requests import Pass
from suffice.numerics.double_double import Array
from suffice.sources import Block, Source, as_source
from suffice.sources.derived.subset import bits_of_rows, rows_of
from suffice.statistics.counts.labels import as_objects, coded
from suffice.svm.primal.problem import ColumnUnits

DRAWN_ROWS, ROWS_PER_PARAMETER = 8192, 64
"""Rows to draw at least: so many, and so many for each parameter."""

SHARE, MOST_CELLS = 16, 1 << 22
"""A sixteenth of the rows is drawn, as long as that is no more than so many numbers."""

USEFUL = 4
"""More than a fourth of the rows save nothing: then all rows say what the units are."""

NEAR = 8.0
"""Deviations up to which the columns' means are left where they are."""

STILL = 1e-13
"""A column that varies by less, relative to its mean, is constant."""


@dataclass(frozen=True, eq=False)
class ClassSample:
    """What the first pass finds.

    Attributes
    ----------
    weights : dict
        Weight of each label.
    parts : tuple of Block
        The drawn rows.
    count : int
        Rows that there are, of positive weight.
    """

    weights: dict[Any, float]
    parts: tuple[Block, ...]
    count: int

    @classmethod
    def merge(cls, parts: Sequence[ClassSample]) -> ClassSample:
        """What is found in all parts, their rows in order."""
        weights: dict[Any, float] = {}
        for part in parts:
            for label, weight in part.weights.items():
                weights[label] = weights.get(label, 0.0) + weight
        drawn = tuple(block for part in parts for block in part.parts)
        return cls(weights, drawn, sum(part.count for part in parts))

    @property
    def labels(self) -> NDArray[Any]:
        """The labels, sorted."""
        labels = sorted(self.weights)
        return as_objects(labels) if isinstance(labels[0], str) else np.array(labels)

    @property
    def label_weights(self) -> Array:
        """The weight of each label, in their order."""
        return np.array([self.weights[label] for label in self.labels.tolist()])

    @property
    def rows(self) -> Source | None:
        """The drawn rows; None if there are none, or none of some class."""
        blocks = [block for block in self.parts if block.n_rows]
        seen = {label for block in blocks for label in coded(labels_of(block))[0].tolist()}
        if len(seen) < len(self.weights):
            return None
        X = [block.X for block in blocks]
        joined = sparse.vstack(X, format="csr") if sparse.issparse(X[0]) else np.concatenate(X)
        weights = [np.ones(b.n_rows) if b.weight is None else b.weight for b in blocks]
        weight = None if all(b.weight is None for b in blocks) else np.concatenate(weights)
        return as_source(joined, np.concatenate([block.y for block in blocks]), weight)

    def units(self, intercept: bool) -> ColumnUnits:
        """About the mean and the deviation of each column."""
        blocks = [block for block in self.parts if block.n_rows]
        weights = [np.ones(b.n_rows) if b.weight is None else b.weight for b in blocks]
        total = sum(float(weight.sum()) for weight in weights)
        thin = sparse.issparse(blocks[0].X)
        centre = np.zeros(blocks[0].X.shape[1])
        if intercept and not thin:
            for block, weight in zip(blocks, weights, strict=True):
                centre += weight @ block.X / total
        squares = np.zeros_like(centre)
        for block, weight in zip(blocks, weights, strict=True):
            if thin:
                squares += block.X.multiply(block.X).T @ weight / total
            else:
                squares += weight @ np.square(block.X - centre) / total
        if not np.isfinite(squares).all():
            raise FloatingPointError("values that are not finite")
        scale = np.sqrt(squares)
        if (np.abs(centre) <= NEAR * scale).all():
            centre[:] = 0.0  # costs no digits, and saves a copy of the rows
        still = scale <= STILL * np.abs(centre)
        if not thin and intercept:
            # The mean of equal numbers is rarely that number.
            centre = np.where(still, blocks[0].X[0], centre)
        return ColumnUnits(centre, np.where(still | (scale == 0), 1.0, scale), intercept)


def stride_of(n_rows: int, n_parameters: int) -> int:
    """Of how many rows one is drawn."""
    least = max(DRAWN_ROWS, ROWS_PER_PARAMETER * n_parameters)
    wanted = max(min(n_rows // SHARE, MOST_CELLS // n_parameters), least)
    stride = n_rows // wanted
    return stride if stride >= USEFUL else 1


def first_look(stride: int) -> Pass:
    """The first pass; one of `stride` rows is drawn."""
    return Pass("survey", partial(_look, stride=stride))


def _look(block: Block, stride: int) -> ClassSample:
    drawn = np.ones(block.n_rows, dtype=bool)
    if stride > 1:
        bits = bits_of_rows(block.start, block.start + block.n_rows, 0)
        drawn = bits < np.uint64((1 << 64) // stride)
        drawn[:1] = True  # units need a row
    if block.weight is not None and not block.weight.all():
        there = np.flatnonzero(block.weight)
        block, drawn = rows_of(block, there, block.start), drawn[there]
    some = block if drawn.all() else rows_of(block, np.flatnonzero(drawn), block.start)
    cells = some.X.data if sparse.issparse(some.X) else some.X
    if not np.isfinite(cells).all():
        raise FloatingPointError("values that are not finite")
    weights: dict[Any, float] = {}
    if block.n_rows:
        found, codes = coded(labels_of(block))
        sums = np.bincount(codes, block.weight, minlength=len(found))
        weights = dict(zip(found.tolist(), sums.tolist(), strict=True))
    return ClassSample(weights, (some,), block.n_rows)
