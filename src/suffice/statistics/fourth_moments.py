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

Fourth powers leave float64's range long before squares do.  So columns of very large or very small
deviations are divided by a power of two, their `unit`, before products are made: that rounds
nothing.  Parts are brought to the largest of their units; what underflows there is far below the
rounding of the rest.  The unit of all other columns is 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.numerics.double_double import UNIT, Array
from suffice.statistics.merging import difference, pairwise
from suffice.statistics.moments import Moments, Precision
from suffice.statistics.present import present
from suffice.statistics.products import CELLS_AT_ONCE, TOO_LARGE, rows_per_product

FAR = 128
"""Units are powers of 2 to this: by them deviations come to about 2⁻⁶⁴ to 2⁶⁴."""


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
    unit : float64 array of shape (columns,)
        Powers of two.  `third`, `fourth` and `height` are of the columns divided by them;
        `moments` are not.
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
    unit: Array
    steps: int

    def _check_loaded(self) -> None:
        """Raise ValueError unless what a file holds could be moments of some columns."""
        d = len(self.moments.magnitude)
        matrices, columns = ("third", "fourth"), ("height", "unit")
        for name, shape in [(m, (d, d)) for m in matrices] + [(c, (d,)) for c in columns]:
            value = getattr(self, name)
            if value.shape != shape or value.dtype != np.float64:
                raise ValueError(f"its {name} does not fit {d} columns")
        if not (np.frexp(self.unit)[0] == 0.5).all():
            raise ValueError("its units are no powers of two")
        if type(self.steps) is not int or self.steps < 0:
            raise ValueError(f"its steps are {self.steps!r}")

    @classmethod
    def zero(cls, n_columns: int, precision: Precision = "float64") -> FourthMoments:
        """The moments of no rows."""
        square = (n_columns, n_columns)
        nothing = Moments.zero(n_columns, precision)
        height, unit = np.zeros(n_columns), np.ones(n_columns)
        return cls(nothing, np.zeros(square), np.zeros(square), height, unit, 0)

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
            If a value is NaN or infinite, or its square overflows.
        """
        weight, X = present(weight, X)
        n, d = X.shape
        if not n:
            return cls.zero(d, precision)
        moments = Moments.summarize(X, None, weight, precision)
        third, fourth, unit = np.zeros((d, d)), np.zeros((d, d)), _units(moments)
        ordinary = bool((unit == 1).all())
        step = rows_per_product(d)
        together = max(CELLS_AT_ONCE // max(d, 1) // step, 1) * step
        for start in range(0, n, together):
            some = slice(start, start + together)
            with np.errstate(over="ignore", invalid="ignore"):
                away = np.subtract(X[some], moments.mean.hi, dtype=np.float64)
                away -= moments.mean.lo
                if not ordinary:
                    away /= unit
                squares = np.square(away)
                weighed = squares if weight is None else squares * weight[some, None]
                third += _product(weighed, away, step)
                fourth += _product(weighed, squares, step)
        if not np.isfinite(fourth).all():
            raise FloatingPointError(TOO_LARGE)
        steps = min(n, step) + together // step + -(-n // together) + 8
        return cls(moments, third, fourth, np.diagonal(fourth).copy(), unit, steps)

    @classmethod
    def merge(cls, parts: Sequence[FourthMoments]) -> FourthMoments:
        """The moments of all rows of the parts together."""
        parts = [part for part in parts if part.count] or list(parts[:1])
        if len(parts) == 1:
            return parts[0]
        moments = Moments.merge([part.moments for part in parts])
        # A column that is constant in a part has no powers there that would overflow.
        units = [np.where(part.height > 0, part.unit, 0.0) for part in parts]
        unit = np.max([_units(moments), *units], axis=0)
        moved = [part._about(moments, unit) for part in parts]
        return cls(
            moments=moments,
            third=pairwise([third for third, _, _ in moved]),
            fourth=pairwise([fourth for _, fourth, _ in moved]),
            height=np.sum([height for _, _, height in moved], axis=0),
            unit=unit,
            steps=max(part.steps for part in parts) + len(parts).bit_length() + 12,
        )

    def subtract(self, part: FourthMoments) -> FourthMoments:
        """The moments of the rows that stay when those of `part` are taken away."""
        if part.count == 0:
            return self
        moments = self.moments.subtract(part.moments)
        if not moments.count:
            return FourthMoments.zero(len(self.height), moments.precision)
        # In the unit of all rows: those that stay have lost what would be below its range.
        (third, fourth, height), (t, q, h) = (
            one._about(moments, self.unit) for one in (self, part)
        )
        share = float(self.moments.weight.hi / moments.weight.hi)
        return FourthMoments(
            moments=moments,
            third=third - t,
            fourth=fourth - q,
            height=_together(height * share, h * share),
            unit=self.unit.copy(),
            steps=max(self.steps, part.steps) + 14,
        )

    def scaled(self, moments: Moments, scale: Array) -> FourthMoments:
        """Of the columns times a scale; `moments` are theirs up to the second."""
        far = _far(scale)
        third, fourth, height = self._times(np.ldexp(scale, -far))
        unit = np.ldexp(self.unit, far)
        return FourthMoments(moments, third, fourth, height, unit, self.steps + 6)

    def _times(self, scale: Array) -> tuple[Array, Array, Array]:
        """T, Q and the fourth powers behind them, of columns times a scale."""
        squares = np.square(scale)
        return (
            self.third * squares[:, None] * scale,
            self.fourth * squares[:, None] * squares,
            self.height * np.square(squares),
        )

    def _about(self, other: Moments, unit: Array) -> tuple[Array, Array, Array]:
        """T and Q about the mean of other moments, and the fourth powers behind them, in a unit."""
        mine = self.moments
        delta = difference(mine.mean, mine.mean_rest, other.mean, other.mean_rest).hi / unit
        S, W = mine.rounded_scatter / unit[:, None] / unit, float(mine.weight.hi)
        # Where a column is constant all is 0, in whatever unit.
        T, Q, height = self._times(np.where(self.height > 0, self.unit / unit, 0.0))
        squares = np.diagonal(S)[:, None]
        row, column = delta[:, None], delta[None, :]
        third = T + column * squares + 2 * row * S + W * row**2 * column
        cross = 2 * column * T
        spread = column**2 * squares
        fourth = Q + (cross + cross.T) + (spread + spread.T) + 4 * row * column * S
        fourth = fourth + W * row**2 * column**2
        return third, fourth, _together(height, W * delta**4)

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


def _units(moments: Moments) -> Array:
    """1, unless the deviations are so far from 1 that their fourth powers are in danger."""
    squares = np.maximum(np.diagonal(moments.rounded_scatter), 0.0)
    deviations = np.sqrt(squares) / np.sqrt(moments.weight.hi)
    return np.ldexp(1.0, _far(deviations))


def _far(values: Array) -> NDArray[np.int64]:
    """The exponents of numbers, to the nearest multiple of `FAR`: mostly 0."""
    return (FAR * np.rint(np.frexp(values)[1] / FAR)).astype(np.int64)


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
