"""Weight, mean and scatter of some rows: the statistic behind least squares and its kin.

    W = Σ wᵢ,      m = (1/W) Σ wᵢ zᵢ,      S = Σ wᵢ (zᵢ − m)(zᵢ − m)ᵀ

The scatter is **centred**, so a column's offset costs no digits.  Disjoint rows merge
as Chan, Golub and LeVeque showed (1983): with δₖ the distance of part k's mean from the
common mean,

    S = Σₖ Sₖ + Σₖ Wₖ δₖ δₖᵀ.

The weight is always double-double, and the mean has a third word: distances between means
are small next to a large common offset and must keep their digits.  The scatter comes in two
precisions: float64, from one matrix product a block, or double-double, from the exact product
of `suffice.numerics.exact_gram`.  Both carry what bounds their rounding error, as long as no
weighted square of a row's distance from the mean underflows:

    |ΔSᵢⱼ| ≤ error_unit · √(magnitudeᵢ magnitudeⱼ),    |Δmⱼ| ≤ error_unit · √(magnitudeⱼ / W).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from suffice.numerics.double_double import DOUBLE_DOUBLE_UNIT, UNIT, Array, DoubleDouble
from suffice.sources.base import NOTHING as NOTHING
from suffice.statistics.base import Precision as Precision
from suffice.statistics.base import Scattered, check_part, present
from suffice.statistics.moments.columns import ColumnMoments
from suffice.statistics.moments.merging import (
    common_mean,
    difference,
    joint,
    mapped,
    pairwise,
    shifted,
    stacked,
)
from suffice.statistics.moments.of_block import fields_of_block
from suffice.statistics.moments.products import MOST_ROWS, cut_up, squares_of


@dataclass(frozen=True, eq=False)
class Moments(Scattered):
    """Weight, mean and scatter of rows, mergeable and subtractable.

    Attributes
    ----------
    count : int
        Number of rows (those of weight 0 do not exist).
    weight : DoubleDouble scalar
        Sum of the rows' weights.
    mean : DoubleDouble of shape (columns,)
    mean_rest : float64 array of shape (columns,)
        What is to be added to `mean` beyond its last bit.
    scatter : float64 array or DoubleDouble, of shape (columns, columns)
        Weighted sum of squares and products about the mean.
    magnitude : float64 array of shape (columns,)
        The squares that went through the accumulation, per column: at least the
        scatter's diagonal, and more where digits cancelled (see `joint`).
    roundings : int
        Longest chain of rounded operations behind an entry of the scatter.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[1.0, 2.0], [3.0, 5.0], [5.0, 5.0]])
    >>> together = Moments.summarize(rows)
    >>> apart = Moments.merge([Moments.summarize(rows[:1]), Moments.summarize(rows[1:])])
    >>> together.mean.round(), together.scatter
    (array([3., 4.]), array([[8., 6.],
           [6., 6.]]))
    >>> bool(np.allclose(apart.scatter, together.scatter))
    True
    """

    count: int
    weight: DoubleDouble
    mean: DoubleDouble
    mean_rest: Array
    scatter: Array | DoubleDouble
    magnitude: Array
    roundings: int

    @classmethod
    def zero(cls, n_columns: int, precision: Precision = "float64") -> Moments:
        """The moments of no rows."""
        shape = (n_columns, n_columns)
        return cls(
            count=0,
            weight=DoubleDouble.zeros(()),
            mean=DoubleDouble.zeros(n_columns),
            mean_rest=np.zeros(n_columns),
            scatter=np.zeros(shape) if precision == "float64" else DoubleDouble.zeros(shape),
            magnitude=np.zeros(n_columns),
            roundings=0,
        )

    @classmethod
    def summarize(
        cls,
        X: Any,
        Y: Array | None = None,
        weight: Array | None = None,
        precision: Precision = "float64",
    ) -> Moments:
        """The moments of a block of rows: of the columns of `X`, then those of `Y`.

        Parameters
        ----------
        X : array of shape (rows, columns) or csr_array
            Real numbers of any dtype and stride.
        Y : array of shape (rows, targets), optional
            Columns to append.
        weight : float64 array of shape (rows,), optional
            Not negative.
        precision : {"float64", "double-double"}

        Raises
        ------
        FloatingPointError
            If a value is NaN or infinite, or its square overflows.
        """
        weight, X, Y = present(weight, X, Y)
        n_columns = X.shape[1] + (0 if Y is None else Y.shape[1])
        if X.shape[0] == 0:
            return cls.zero(n_columns, precision)
        if X.shape[0] > MOST_ROWS:
            parts = cut_up(X, Y, weight)
            return cls.merge([cls.summarize(x, y, w, precision) for x, y, w in parts])
        return cls(**fields_of_block(X, Y, weight, exact=precision == "double-double"))

    @classmethod
    def merge(cls, parts: Sequence[Moments]) -> Moments:
        """The moments of all rows of the parts together."""
        parts = [part for part in parts if part.count] or list(parts[:1])
        if len(parts) == 1:
            return parts[0]
        exact = all(part.precision == "double-double" for part in parts)
        fields = merged_fields(
            stacked([part.weight for part in parts]),
            stacked([part.mean for part in parts]),
            np.stack([part.mean_rest for part in parts]),
            [part.scatter if exact else part.rounded_scatter for part in parts],
            np.stack([part.magnitude for part in parts]),
            exact,
        )
        return cls(sum(part.count for part in parts), *fields, merged_roundings(parts))

    def subtract(self, part: Moments) -> Moments:
        """The moments of the rows that stay when those of `part` are taken away.

        The inverse of `merge`, as far as rounding allows: `error_unit` and `magnitude` of
        the result bound what was lost.  An error of the mean counts for more the less
        weight stays.
        """
        if part.count == 0:
            return self
        check_part(self, part)
        precision = self.precision if self.precision == part.precision else "float64"
        if part.count == self.count:
            return Moments.zero(len(self.magnitude), precision)
        left = self.weight - part.weight
        away = difference(part.mean, part.mean_rest, self.mean, self.mean_rest)
        shift = away * (part.weight / left)
        mean, rest = shifted(self.mean, self.mean_rest, -shift)
        between = away.outer(away) * (self.weight * part.weight / left)
        share = self.weight.hi / left.hi
        # What is left of the weight has lost digits too, and the shift is divided by it.
        unit = DOUBLE_DOUBLE_UNIT if precision == "double-double" else UNIT
        of_weight = np.diagonal(between.hi) * (share * DOUBLE_DOUBLE_UNIT / unit) ** 2
        left_over = Moments(
            count=self.count - part.count,
            weight=left,
            mean=mean,
            mean_rest=rest,
            scatter=self._scatter_less(part, between, precision),
            magnitude=joint(
                self.magnitude * share,
                part.magnitude * share,
                np.maximum(np.diagonal(between.hi), of_weight),
            ),
            roundings=max(self.roundings, part.roundings) + 4,
        )
        if not left_over.could_be_of_rows():
            raise ValueError(
                "less than nothing would stay of the squares: these rows, with these targets "
                "and weights, are not part of the statistic"
            )
        return left_over

    def could_be_of_rows(self) -> bool:
        """Whether the scatter is, up to its error, a sum of squares in every direction.

        In units of the magnitude an error's entries are at most ε, so its eigenvalues are at
        most m ε; float64's factorisation errs by a few m u more.
        """
        m = len(self.magnitude)
        root = np.sqrt(self.magnitude)
        inverse = np.divide(1.0, root, out=np.zeros(m), where=root > 0)
        scaled = self.rounded_scatter * inverse[:, None] * inverse
        scaled[np.diag_indices(m)] += m * self.error_unit + 4 * (m + 4) * UNIT
        try:
            np.linalg.cholesky(scaled)
        except np.linalg.LinAlgError:
            return False
        return True

    def columns_seen(self, n_columns: int) -> ColumnMoments:
        """The first columns, each by itself: what a scaler learns from."""
        return ColumnMoments.diagonal(self).at(slice(n_columns))

    def rescaled(self, centre: Array | None, scale: Array | None, n_columns: int) -> Moments:
        """The moments of rows whose first columns are centred and divided by a scale.

        Parameters
        ----------
        centre, scale : arrays of shape (n_columns,), or None
        n_columns : int
            Those from here on stay as they are.
        """
        d = len(self.magnitude)
        origin, unit, changed = np.zeros(d), np.ones(d), np.arange(d) < n_columns
        if centre is not None:
            origin[:n_columns] = centre
        if scale is not None:
            unit[:n_columns] = scale
        mean = (self.mean - origin + self.mean_rest) / unit
        return replace(
            self,
            mean=mapped(lambda new, old: np.where(changed, new, old), mean, self.mean),
            mean_rest=np.where(changed, 0.0, self.mean_rest),
            scatter=self.scatter / unit[:, None] / unit,
            magnitude=self.magnitude / unit / unit,
            roundings=self.roundings + 4,
        )

    _shapes = (
        "weight() mean(columns) mean_rest(columns) scatter(columns, columns) magnitude(columns)"
    )

    @property
    def nbytes(self) -> int:
        """Bytes that the scatter takes."""
        return (16 if self.precision == "double-double" else 8) * len(self.magnitude) ** 2


def merged_fields(
    weights: DoubleDouble,
    means: DoubleDouble,
    rests: Array,
    scatters: list[Any],
    magnitudes: Array,
    exact: bool,
) -> tuple[DoubleDouble, DoubleDouble, Array, Any, Array]:
    """Weight, mean, its rest, scatter and magnitude of parts together.

    All of them have the parts along the first axis; with a further one, for several kinds of rows
    at once, only in float64.
    """
    mean, rest, distances = common_mean(means, rests, weights)
    # An error of a part's mean moves its own term of the sum, and the common mean none:
    # part by part, so that many small parts do not inflate the bound of a large one.
    spread = np.square(distances.hi) * weights.hi[..., None]
    scatter = pairwise(scatters) + squares_of(distances, weights, exact)
    return weights.sum(), mean, rest, scatter, joint(magnitudes, spread).sum(axis=0)


def merged_roundings(parts: Sequence[Moments]) -> int:
    """Roundings behind an entry of the merged scatter of these parts."""
    behind = max(part.roundings for part in parts) + len(parts).bit_length()
    return max(behind, len(parts) + 8) + 2
