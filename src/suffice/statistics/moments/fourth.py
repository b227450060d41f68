"""Moments up to the fourth: what the spread of squares, and of their products, is computed from.

With u = x − m the distance of a row from the mean,

    Tⱼₖ = Σ w uⱼ² uₖ,      Qⱼₖ = Σ w uⱼ² uₖ²

beside weight, mean and scatter S.  About a point at distance δ from the mean (u + δ instead of u)
these sums are

    Tⱼₖ + δₖ Sⱼⱼ + 2 δⱼ Sⱼₖ + W δⱼ² δₖ,
    Qⱼₖ + 2 δₖ Tⱼₖ + 2 δⱼ Tₖⱼ + δₖ² Sⱼⱼ + δⱼ² Sₖₖ + 4 δⱼ δₖ Sⱼₖ + W δⱼ² δₖ²,

so parts merge about their common mean, and subtract.  T and Q are kept in float64, whatever the
precision of the other moments:

    |ΔQⱼₖ| ≤ error_unit · √(heightⱼ heightₖ).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.numerics.double_double import UNIT, Array
from suffice.statistics.base import present
from suffice.statistics.moments.columns import ColumnMoments
from suffice.statistics.moments.full import Moments, Precision
from suffice.statistics.moments.merging import difference, pairwise
from suffice.statistics.moments.products import CELLS_AT_ONCE, rows_per_product

TOO_LARGE = "values whose (weighted) fourth powers overflow"


@dataclass(frozen=True, eq=False)
class FourthMoments:
    """Moments up to the fourth of each pair of columns, mergeable and subtractable.

    Attributes
    ----------
    moments : Moments
        Weight, mean and scatter.
    third, fourth : float64 arrays of shape (columns, columns)
        T, of the squares of the first index with the second, and Q.
    height : float64 array of shape (columns,)
        The fourth powers that went through the accumulation.
    steps : int
        Longest chain of rounded operations behind an entry of `fourth`.

    Examples
    --------
    >>> import numpy as np
    >>> found = FourthMoments.summarize(np.array([[0.0, 1.0], [4.0, 1.0], [2.0, 4.0]]))
    >>> found.third, found.fourth
    (array([[ 0., -8.], [ 0.,  6.]]), array([[32.,  8.], [ 8., 18.]]))
    """

    moments: Moments
    third: Array
    fourth: Array
    height: Array
    steps: int

    _shapes = (
        "moments.mean(columns) third(columns, columns) fourth(columns, columns) height(columns)"
    )

    @classmethod
    def zero(cls, n_columns: int, precision: Precision = "float64") -> FourthMoments:
        """The moments of no rows."""
        square = (n_columns, n_columns)
        nothing = Moments.zero(n_columns, precision)
        return cls(nothing, np.zeros(square), np.zeros(square), np.zeros(n_columns), 0)

    @classmethod
    def summarize(
        cls, X: Any, weight: Array | None = None, precision: Precision = "float64"
    ) -> FourthMoments:
        """The moments of a block of rows.

        Parameters
        ----------
        X : array of shape (rows, columns)
            Real numbers of any dtype and stride.
        weight : float64 array of shape (rows,), optional
            Not negative.
        precision : {"float64", "double-double"}
            Of weight, mean and scatter.

        Raises
        ------
        FloatingPointError
            If a value is NaN or infinite, or its fourth power overflows.
        """
        weight, X = present(weight, X)
        n, d = X.shape
        if not n:
            return cls.zero(d, precision)
        moments = Moments.summarize(X, None, weight, precision)
        third, fourth = np.zeros((d, d)), np.zeros((d, d))
        step = rows_per_product(d)
        together = max(CELLS_AT_ONCE // max(d, 1) // step, 1) * step
        for start in range(0, n, together):
            some = slice(start, start + together)
            with np.errstate(over="ignore", invalid="ignore"):
                away = np.subtract(X[some], moments.mean.hi, dtype=np.float64)
                away -= moments.mean.lo
                squares = np.square(away)
                weighed = squares if weight is None else squares * weight[some, None]
                third += _product(weighed, away, step)
                fourth += _product(weighed, squares, step)
        if not np.isfinite(fourth).all():
            raise FloatingPointError(TOO_LARGE)
        steps = min(n, step) + together // step + -(-n // together) + 8
        return cls(moments, third, fourth, np.diagonal(fourth).copy(), steps)

    @classmethod
    def merge(cls, parts: Sequence[FourthMoments]) -> FourthMoments:
        """The moments of all rows of the parts together."""
        parts = [part for part in parts if part.count] or list(parts[:1])
        if len(parts) == 1:
            return parts[0]
        moments = Moments.merge([part.moments for part in parts])
        moved = [part._about(moments) for part in parts]
        return cls(
            moments=moments,
            third=pairwise([third for third, _, _ in moved]),
            fourth=pairwise([fourth for _, fourth, _ in moved]),
            height=np.sum([height for _, _, height in moved], axis=0),
            steps=max(part.steps for part in parts) + len(parts).bit_length() + 12,
        )

    def subtract(self, part: FourthMoments) -> FourthMoments:
        """The moments of the rows that stay when those of `part` are taken away."""
        if part.count == 0:
            return self
        moments = self.moments.subtract(part.moments)
        if not moments.count:
            return FourthMoments.zero(len(self.height), moments.precision)
        (third, fourth, height), (t, q, h) = (one._about(moments) for one in (self, part))
        share = float(self.moments.weight.hi / moments.weight.hi)
        return FourthMoments(
            moments=moments,
            third=third - t,
            fourth=fourth - q,
            height=_together(height * share, h * share),
            steps=max(self.steps, part.steps) + 14,
        )

    def columns_seen(self, n_columns: int) -> ColumnMoments:
        """The first columns, each by itself: what a scaler learns from."""
        return self.moments.columns_seen(n_columns)

    def rescaled(self, centre: Array | None, scale: Array | None, n_columns: int) -> FourthMoments:
        """The moments of rows whose columns are centred and divided by a scale."""
        moments = self.moments.rescaled(centre, scale, n_columns)
        return self.scaled(moments, 1 / (np.ones(n_columns) if scale is None else scale))

    def scaled(self, moments: Moments, scale: Array) -> FourthMoments:
        """Of the columns times a scale; `moments` are theirs up to the second."""
        squares = np.square(scale)
        third = self.third * squares[:, None] * scale
        fourth = self.fourth * squares[:, None] * squares
        height = self.height * np.square(squares)
        return FourthMoments(moments, third, fourth, height, self.steps + 6)

    def _about(self, other: Moments) -> tuple[Array, Array, Array]:
        """T and Q about the mean of other moments, and the fourth powers behind them."""
        mine, T, Q = self.moments, self.third, self.fourth
        delta = difference(mine.mean, mine.mean_rest, other.mean, other.mean_rest).hi
        S, W = mine.rounded_scatter, float(mine.weight.hi)
        squares = np.diagonal(S)[:, None]
        row, column = delta[:, None], delta[None, :]
        third = T + column * squares + 2 * row * S + W * row**2 * column
        cross = 2 * column * T
        spread = column**2 * squares
        fourth = Q + (cross + cross.T) + (spread + spread.T) + 4 * row * column * S
        fourth = fourth + W * row**2 * column**2
        return third, fourth, _together(self.height, W * delta**4)

    @property
    def count(self) -> int:
        return self.moments.count

    @property
    def weight(self) -> Any:
        return self.moments.weight

    @property
    def precision(self) -> Precision:
        """In which arithmetic the scatter is kept."""
        return self.moments.precision

    @property
    def nbytes(self) -> int:
        """Bytes that the matrices take."""
        return self.moments.nbytes + 16 * len(self.height) ** 2

    @property
    def error_unit(self) -> float:
        """ε with |ΔQⱼₖ| ≤ ε √(heightⱼ heightₖ)."""
        return UNIT * max(self.steps, 1)


def _product(left: Array, right: Array, step: int) -> Array:
    """leftᵀ right, added up from products of few rows: so few roundings lie behind a sum."""
    whole = len(left) - len(left) % step
    rest = left[whole:].T @ right[whole:]
    if not whole:
        return rest
    pieces = (factor[:whole].reshape(-1, step, factor.shape[1]) for factor in (left, right))
    a, b = pieces
    return np.asarray(np.add.reduce(np.matmul(a.transpose(0, 2, 1), b)) + rest)


def _together(*powers: Array) -> Array:
    """(⁴√a + ⁴√b + …)⁴, for quantities of which Q has the fourth powers and mixed products."""
    return np.asarray(np.square(np.square(sum(np.sqrt(np.sqrt(power)) for power in powers))))
