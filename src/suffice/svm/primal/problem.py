"""One linear machine's problem, and what a block of rows tells about a point of it.

    P(w, b) = ½ ‖w‖² + C Σ sᵢ ℓ(rᵢ),      rᵢ = 1 − yᵢ (w·xᵢ + b)

Methods work on columns about a centre and in units of a scale, so that neither offset nor unit
costs digits.  As b is not penalised, the centre moves b alone.  Sparse columns are not centred.

Sums over rows are kept apart for the two sides y = ±1: so multipliers can be made feasible for the
dual problem, where Σ αᵢ yᵢ = 0, after the rows have been read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from suffice.numerics.double_double import Array
from suffice.sources import Block
from suffice.sources.derived.subset import rows_of
from suffice.statistics.curvature import weighted_gram
from suffice.statistics.sums import Sums
from suffice.svm.primal.losses import MarginLoss

CHUNK_CELLS = 1 << 17
"""Cells that are gone through at once: one megabyte."""


@dataclass(frozen=True, eq=False)
class ColumnUnits:
    """How the user's columns become the method's.

    Attributes
    ----------
    centre, scale : arrays of shape (columns,)
    intercept : bool
        Whether a column of ones follows.
    """

    centre: Array
    scale: Array
    intercept: bool

    @property
    def n_parameters(self) -> int:
        return len(self.scale) + self.intercept

    @property
    def divisor(self) -> Array:
        """The scale, and 1 for the intercept."""
        return np.append(self.scale, 1.0) if self.intercept else self.scale

    @property
    def penalty(self) -> Array:
        """What the squares of the parameters are weighted with in ‖w‖²."""
        inverse = 1 / np.square(self.scale)
        return np.append(inverse, 0.0) if self.intercept else inverse

    def centred(self, X: Any) -> Any:
        """Rows about the centre, as floats; not yet divided by the scale."""
        if sparse.issparse(X):
            return X
        # One layout for every source: BLAS's bits depend on it.
        X = np.ascontiguousarray(X, dtype=np.float64)
        return X - self.centre if self.centre.any() else X

    def to_user(self, parameters: Array) -> tuple[Array, float]:
        """Coefficients and intercept in the user's columns."""
        coef = parameters[: len(self.scale)] / self.scale
        return coef, float(parameters[-1] - coef @ self.centre) if self.intercept else 0.0


class Chunk(NamedTuple):
    """Some rows of a block.

    Attributes
    ----------
    X : array or CSR matrix of shape (rows, columns)
        About the centre.
    side : float64 array of shape (rows,)
        y, 1 or −1.
    weight : float64 array of shape (rows,)
        s, and None where all are 1.
    """

    X: Any
    side: Array
    weight: Array | None

    def slacks(self, points: Array, units: ColumnUnits) -> Array:
        """1 − y f(x) at each of some points, of shape (points, rows)."""
        return 1.0 - self.side * self.scores(points, units)

    def scores(self, directions: Array, units: ColumnUnits) -> Array:
        """f(x) at each of some points, or along directions, of shape (points, rows)."""
        d = self.X.shape[1]
        inner = directions / units.divisor
        if sparse.issparse(self.X):
            found = np.ascontiguousarray((self.X @ inner[:, :d].T).T)
        else:
            found = inner[:, :d] @ self.X.T
        if units.intercept:
            found += inner[:, d:]
        return np.asarray(found)

    def weighted(self, values: Array) -> Array:
        return values if self.weight is None else values * self.weight


class KeptMasks(dict[tuple[int, int], Any]):
    """Which rows have second derivatives at one point, by block and chunk: a byte a row.

    A cache, which saves the slacks at all earlier points in each product.  It stays in the process
    of the fit, and another process begins with an empty one.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return KeptMasks, ()


@dataclass(frozen=True, eq=False)
class PrimalProblem:
    """What is minimised, and how rows are read for it.

    Attributes
    ----------
    C : float
    units : ColumnUnits
    target : function of a block
        The side of each row, 1 or −1, and its weight or None.
    """

    C: float
    units: ColumnUnits
    target: Callable[[Block], tuple[Array, Array | None]] = field(repr=False)

    def penalty(self, parameters: Array) -> float:
        """½ ‖w‖²."""
        return 0.5 * float(np.sum(self.units.penalty * np.square(parameters)))

    def chunks(self, block: Block) -> Iterator[Chunk]:
        """The rows of a block that have a weight, some at a time."""
        block = existing(block)
        side, weight = self.target(block)
        X = block.X
        size = max(CHUNK_CELLS // max(X.shape[1], 1), 64)
        if sparse.issparse(X):
            size = max(X.shape[0], 1)
        for start in range(0, X.shape[0], size):
            some = slice(start, start + size)
            part = None if weight is None else weight[some]
            yield Chunk(self.units.centred(X[some]), side[some], part)

    def evaluate(
        self, block: Block, loss: MarginLoss, point: Array, known: Array | None, order: int
    ) -> Sums:
        """What a block tells about a point.

        Parameters
        ----------
        block : Block
        loss : MarginLoss
        point : array of shape (parameters,)
        known : array of shape (parameters,), optional
            A point at which the second derivatives are known: only the differences from those
            are summed up, over the rows that have changed side.
        order : {1, 2}
            The diagonal of the second derivatives, or all of them.

        Returns
        -------
        Sums
            The value, the loss, the renewals, and u²/4 of either side; Σ s u x and, last,
            Σ s u of either side; second derivatives, of curvature 1.
        """
        units, d = self.units, len(self.units.scale)
        totals, gradient = np.zeros(5), np.zeros((2, d + 1))
        p = units.n_parameters
        second = np.zeros((p, p)) if order == 2 else np.zeros(p)
        points = [*loss.points, point] if known is None else [*loss.points, known, point]
        at, renewals = np.array(points), len(loss.points)
        with np.errstate(over="ignore", invalid="ignore"):
            for chunk in self.chunks(block):
                slacks = chunk.slacks(at, units)
                multipliers = loss.multipliers(slacks[:renewals])
                found = loss(slacks[-1], multipliers)
                before = None if known is None else loss(slacks[-2], multipliers).curved
                u = chunk.weighted(found.multiplier)
                upper = chunk.side > 0
                sides = np.stack([np.where(upper, u, 0.0), np.where(upper, 0.0, u)])
                totals[0] += chunk.weighted(found.value).sum()
                totals[1] += chunk.weighted(found.loss).sum()
                if found.renewal is not None:
                    totals[2] += chunk.weighted(found.renewal).sum()
                totals[3:] += sides @ found.multiplier / 4
                gradient[:, :d] += sides @ chunk.X if d else 0.0
                gradient[:, d] += sides.sum(axis=1)
                for sign, rows in changed(found.curved, before):
                    second += sign * self._second(chunk, rows, order)
        finite = np.isfinite(totals).all() and np.isfinite(gradient).all()
        if not finite or not np.isfinite(second).all():
            self._blame(existing(block))
        return Sums((totals, gradient, second))

    def _second(self, chunk: Chunk, rows: Array, order: int) -> Array:
        """Σ s a aᵀ of some rows, or its diagonal."""
        X, divisor = chunk.X[rows], self.units.divisor
        weight = np.ones(len(rows)) if chunk.weight is None else chunk.weight[rows]
        if order == 2:
            return weighted_gram(X, self.units.intercept, weight) / divisor / divisor[:, None]
        squares = X.multiply(X) if sparse.issparse(X) else np.square(X)
        found = np.asarray(squares.T @ weight)
        found = np.append(found, weight.sum()) if self.units.intercept else found
        return found / np.square(divisor)

    @staticmethod
    def _blame(block: Block) -> None:
        """Raise if it is the rows that are not finite; a point out of reach is turned back from."""
        if not np.isfinite(block.X.data if sparse.issparse(block.X) else block.X).all():
            raise FloatingPointError("values that are not finite")

    def product(
        self, block: Block, loss: MarginLoss, point: Array, along: Array, kept: KeptMasks
    ) -> Sums:
        """The second derivatives of a block's rows, of curvature 1, times a direction.

        `kept` keeps which rows have any, for the next product at the same point.
        """
        units, d = self.units, len(self.units.scale)
        out, at = np.zeros(units.n_parameters), np.array([*loss.points, point])
        for number, chunk in enumerate(self.chunks(block)):
            curved = kept.get((block.start, number))
            if curved is None:
                slacks = chunk.slacks(at, units)
                curved = loss(slacks[-1], loss.multipliers(slacks[:-1])).curved
                kept[block.start, number] = curved
            moved = np.where(curved, chunk.weighted(chunk.scores(along[None], units)[0]), 0.0)
            out[:d] += chunk.X.T @ moved
            out[d:] += moved.sum()
        return Sums((out / units.divisor,))

    def along(
        self, block: Block, loss: MarginLoss, point: Array, step: Array, lengths: Array
    ) -> Sums:
        """The slopes of a block's rows along a step, at some lengths."""
        slopes, at = np.zeros(len(lengths)), np.array([*loss.points, point, step])
        for chunk in self.chunks(block):
            scores = chunk.scores(at, self.units)
            slacks = 1.0 - chunk.side * scores[:-1]
            falls = chunk.side * scores[-1]
            multipliers, weighted = loss.multipliers(slacks[:-1]), chunk.weighted(falls)
            for k, length in enumerate(lengths):
                slopes[k] -= loss.renew(slacks[-1] - length * falls, multipliers) @ weighted
        return Sums((slopes,))


def existing(block: Block) -> Block:
    """The rows of positive weight."""
    if block.weight is None or block.weight.all():
        return block
    return rows_of(block, np.flatnonzero(block.weight), block.start)


def changed(curved: Any, before: Any) -> Iterator[tuple[float, Any]]:
    """Rows whose second derivative is to be added, and to be taken away."""
    if before is None:
        groups = [(1.0, curved)]
    else:
        groups = [(1.0, curved & ~before), (-1.0, before & ~curved)]
    for sign, mask in groups:
        rows = np.flatnonzero(mask)
        if len(rows):
            yield sign, rows
