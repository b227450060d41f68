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
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse

from suffice.kernels.exact import centre_pair
from suffice.kernels.sparse import sparse_gram
from suffice.numerics.double_double import (
    DOUBLE_DOUBLE_UNIT,
    UNIT,
    Array,
    DoubleDouble,
    quick_two_sum,
    two_sum,
)
from suffice.numerics.exact_gram import COMPILED_FROM, exact_gram, exact_sparse_gram
from suffice.statistics.merging import difference, joint, pairwise, shifted, stacked
from suffice.statistics.products import (
    SMALLEST_SQUARE,
    TOO_LARGE,
    about_the_mean,
    check_finite,
    floor_of,
    gram_of,
    near_mean,
    near_root,
    roundings_of,
    scratch,
    weighted_gram,
)

Precision = Literal["float64", "double-double"]

MOST_ROWS = 1 << 16
"""Rows that are summarised at once: the exact product is made for no more."""

NOTHING = "every row has weight zero: there is nothing to learn from"


@dataclass(frozen=True, eq=False)
class Moments:
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
        if weight is not None and not weight.all():
            present = weight > 0
            X, Y, weight = X[present], None if Y is None else Y[present], weight[present]
        n_columns = X.shape[1] + (0 if Y is None else Y.shape[1])
        if X.shape[0] == 0:
            return cls.zero(n_columns, precision)
        if X.shape[0] > MOST_ROWS:
            return cls.merge(
                [
                    cls.summarize(
                        X[start : start + MOST_ROWS],
                        None if Y is None else Y[start : start + MOST_ROWS],
                        None if weight is None else weight[start : start + MOST_ROWS],
                        precision,
                    )
                    for start in range(0, X.shape[0], MOST_ROWS)
                ]
            )
        if sparse.issparse(X):
            return _summarize_sparse(X, Y, weight, precision)
        if precision == "float64":
            return _summarize_float64(X, Y, weight)
        return _summarize_double_double(X, Y, weight)

    @classmethod
    def merge(cls, parts: Sequence[Moments]) -> Moments:
        """The moments of all rows of the parts together."""
        parts = [part for part in parts if part.count] or list(parts[:1])
        if len(parts) == 1:
            return parts[0]
        weights = stacked([part.weight for part in parts])
        means = stacked([part.mean for part in parts])
        rests = np.stack([part.mean_rest for part in parts])
        total = weights.sum()
        # Relative to the mean of the heaviest part, which is not far from the common one.
        first = int(np.argmax(weights.hi))
        offsets = difference(means, rests, means[first], rests[first])
        centre = (offsets * weights[:, None]).sum() / total
        mean, rest = shifted(means[first], rests[first], centre)
        distances = difference(means, rests, mean, rest)
        between: Any
        if all(part.precision == "double-double" for part in parts):
            within = pairwise([part.scatter for part in parts])
            between = weighted_gram(distances, weights)
        else:
            within = pairwise([part.rounded_scatter for part in parts])
            weighed = distances.hi * np.sqrt(weights.hi)[:, None]
            between = weighed.T @ weighed
        # An error of a part's mean moves its own term of the sum, and the common mean none:
        # part by part, so that many small parts do not inflate the bound of a large one.
        spread = np.square(distances.hi) * weights.hi[:, None]
        magnitudes = np.stack([part.magnitude for part in parts])
        return cls(
            count=sum(part.count for part in parts),
            weight=total,
            mean=mean,
            mean_rest=rest,
            scatter=within + between,
            magnitude=joint(magnitudes, spread).sum(axis=0),
            roundings=max(
                max(part.roundings for part in parts) + len(parts).bit_length(), len(parts) + 8
            )
            + 2,
        )

    def subtract(self, part: Moments) -> Moments:
        """The moments of the rows that stay when those of `part` are taken away.

        The inverse of `merge`, as far as rounding allows: `error_unit` and `magnitude` of
        the result bound what was lost.  An error of the mean counts for more the less
        weight stays.
        """
        if part.count == 0:
            return self
        if part.count > self.count:
            raise ValueError(
                f"cannot take {part.count} rows away from {self.count}: "
                "only rows that are part of a statistic can be subtracted from it"
            )
        precision = self.precision if self.precision == part.precision else "float64"
        if part.count == self.count:
            return Moments.zero(len(self.magnitude), precision)
        left = self.weight - part.weight
        if not left.hi > 0:
            raise ValueError(
                f"cannot take rows of weight {part.weight.hi:g} away from rows of weight "
                f"{self.weight.hi:g}: some would stay, and no weight for them"
            )
        away = difference(part.mean, part.mean_rest, self.mean, self.mean_rest)
        shift = away * (part.weight / left)
        mean, rest = shifted(self.mean, self.mean_rest, -shift)
        between = away.outer(away) * (self.weight * part.weight / left)
        scatter: Any
        if precision == "double-double":
            scatter = DoubleDouble.of(self.scatter) - part.scatter - between
        else:
            scatter = self.rounded_scatter - part.rounded_scatter - between.hi
        share = self.weight.hi / left.hi
        # What is left of the weight has lost digits too, and the shift is divided by it.
        unit = DOUBLE_DOUBLE_UNIT if precision == "double-double" else UNIT
        of_weight = np.diagonal(between.hi) * (share * DOUBLE_DOUBLE_UNIT / unit) ** 2
        left_over = Moments(
            count=self.count - part.count,
            weight=left,
            mean=mean,
            mean_rest=rest,
            scatter=scatter,
            magnitude=joint(
                self.magnitude * share,
                part.magnitude * share,
                np.maximum(np.diagonal(between.hi), of_weight),
            ),
            roundings=max(self.roundings, part.roundings) + 4,
        )
        if not left_over._could_be_of_rows():
            raise ValueError(
                "less than nothing would stay of the squares: these rows, with these targets "
                "and weights, are not part of the statistic"
            )
        return left_over

    def _could_be_of_rows(self) -> bool:
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

    def _check_loaded(self) -> None:
        """Raise ValueError unless what a file holds could be moments of some columns."""
        for name in ("count", "roundings"):
            number = getattr(self, name)
            if type(number) is not int or number < 0:
                raise ValueError(f"its {name} is {number!r}")
        d = len(self.magnitude)
        shapes = {"weight": (), "mean": (d,), "mean_rest": (d,), "scatter": (d, d)}
        for name, shape in shapes.items():
            value = getattr(self, name)
            pair = isinstance(value, DoubleDouble)
            if not pair and (name in ("weight", "mean") or value.dtype != np.float64):
                raise ValueError(f"its {name} is not of float64 words")
            if np.shape(value.hi if pair else value) != shape:
                raise ValueError(f"its {name} does not fit {d} columns")
        if self.magnitude.shape != (d,) or self.magnitude.dtype != np.float64:
            raise ValueError("its magnitude is not one of float64 numbers")

    @property
    def precision(self) -> Precision:
        """In which arithmetic the scatter is kept."""
        return "double-double" if isinstance(self.scatter, DoubleDouble) else "float64"

    @property
    def nbytes(self) -> int:
        """Bytes that the scatter takes."""
        return (16 if self.precision == "double-double" else 8) * len(self.magnitude) ** 2

    @property
    def rounded_scatter(self) -> Array:
        """The scatter in float64."""
        return self.scatter.hi if isinstance(self.scatter, DoubleDouble) else self.scatter

    @property
    def error_unit(self) -> float:
        """ε with |ΔSᵢⱼ| ≤ ε √(magnitudeᵢ magnitudeⱼ)."""
        unit = DOUBLE_DOUBLE_UNIT if self.precision == "double-double" else UNIT
        return unit * max(self.roundings, 1)


# --- one block in float64 ------------------------------------------------------------------


def _summarize_float64(X: Any, Y: Array | None, weight: Array | None) -> Moments:
    n, d = X.shape
    m = d + (0 if Y is None else Y.shape[1])

    def centred(rows: slice, centre: Array) -> Array:
        Z = scratch(rows.stop - rows.start, m + 1)
        np.copyto(Z[:, :d], X[rows], casting="unsafe")
        if Y is not None:
            np.copyto(Z[:, d:m], Y[rows])
        if centre.any():
            _subtract(Z, np.append(centre, 0.0))
        return Z

    gram, centre = about_the_mean(
        lambda centre: gram_of(lambda rows: centred(rows, centre), n, m + 1, weight),
        near_mean(X, Y),
    )
    squares = np.diagonal(gram)[:m]
    is_small = (squares < SMALLEST_SQUARE).any()
    floor = floor_of(squares, centred(slice(0, n), centre)) if is_small else np.zeros(m)
    return from_rounded_gram(gram, centre, n, weight, roundings_of(n, m + 1), floor)


def from_rounded_gram(
    gram: Array, centre: Array, count: int, weight: Array | None, roundings: int, floor: Array
) -> Moments:
    """Moments from the products, about `centre`, of the columns and a column of ones."""
    m = len(centre)
    sums = gram[:m, m]
    offset = sums / gram[m, m]
    return Moments(
        count=count,
        weight=DoubleDouble.of(float(count)) if weight is None else _sum(weight),
        mean=DoubleDouble(*two_sum(centre, offset)),
        mean_rest=np.zeros(m),
        scatter=gram[:m, :m] - np.outer(sums, offset),
        magnitude=joint(np.diagonal(gram)[:m] + floor, sums * offset),
        roundings=roundings,
    )


def _subtract(Z: Array, centre: Array, together: int = 32) -> None:
    """z − centre in place, many rows at once: NumPy is slow on short ones."""
    whole = len(Z) - len(Z) % together
    with np.errstate(over="ignore", invalid="ignore"):
        Z[:whole].reshape(-1, together * len(centre))[...] -= np.tile(centre, together)
        Z[whole:] -= centre


def _sum(weight: Array) -> DoubleDouble:
    return DoubleDouble.of(weight).sum()


# --- one block in double-double ------------------------------------------------------------


def _summarize_double_double(X: Any, Y: Array | None, weight: Array | None) -> Moments:
    parts = [np.asarray(part, dtype=np.float64) for part in (X, Y) if part is not None]
    # In rows: of a single part in columns, the joined array would be in columns too.
    Z = np.ascontiguousarray(np.concatenate(parts, axis=1))
    centre = _middle(Z)
    pair = _minus(_with_ones(Z), np.append(centre, 0.0))
    with np.errstate(over="ignore", invalid="ignore"):
        gram = exact_gram(pair) if weight is None else weighted_gram(pair, weight)
    return _from_gram(gram, centre, X.shape[0], floor_of(np.diagonal(gram.hi)[:-1], pair.hi))


def _minus(Z: Array, centre: Array) -> DoubleDouble:
    """z − centre, exactly."""
    if Z.size < COMPILED_FROM:
        return DoubleDouble(*two_sum(Z, -centre))
    hi, lo = np.empty_like(Z), np.empty_like(Z)
    centre_pair(Z, centre, np.zeros_like(centre), hi, lo)
    return DoubleDouble(hi, lo)


def _middle(Z: Array) -> Array:
    """The middle of each column's range on a coarse grid: z − middle has few bits."""
    if not Z.shape[1]:
        return np.zeros(0)
    low, high = Z.min(axis=0), Z.max(axis=0)
    if not (high.max() <= 1e150 and low.min() >= -1e150):
        raise FloatingPointError(TOO_LARGE)
    grid = np.ldexp(1.0, np.maximum(np.frexp(high - low)[1] - 8, -1074))
    return np.where(high > low, np.rint((low + (high - low) / 2) / grid) * grid, low)


def _from_gram(gram: DoubleDouble, centre: Array, count: int, floor: Array) -> Moments:
    """Moments from the products, about `centre`, of the columns and a column of ones."""
    check_finite(gram.hi)
    total, sums, products = gram[-1, -1], gram[:-1, -1], gram[:-1, :-1]
    offset = sums / total
    hi, first = two_sum(centre, offset.hi)
    lo, rest = two_sum(first, offset.lo)
    return Moments(
        count=count,
        weight=total,
        mean=DoubleDouble(*quick_two_sum(hi, lo)),
        mean_rest=rest,
        scatter=products - sums.outer(offset),
        magnitude=joint(np.diagonal(products.hi) + floor, sums.hi * offset.hi),
        roundings=6,
    )


# --- one block of a sparse matrix ----------------------------------------------------------


def _summarize_sparse(
    X: Any, Y: Array | None, weight: Array | None, precision: Precision
) -> Moments:
    """The columns of X stay about zero, where their zeros are; those of Y are centred."""
    n, d = X.shape
    X = sparse.csr_array((np.asarray(X.data, dtype=np.float64), X.indices, X.indptr), shape=X.shape)
    if not np.isfinite(X.data).all() or np.abs(X.data).max(initial=0.0) > 1e150:
        raise FloatingPointError(TOO_LARGE)
    Y = np.zeros((n, 0)) if Y is None else Y
    y_centre = _middle(Y)
    centre = np.concatenate([np.zeros(d), y_centre])
    pair = _minus(_with_ones(Y), np.append(y_centre, 0.0))
    w = np.ones(n) if weight is None else weight
    if precision == "double-double":
        with np.errstate(over="ignore", invalid="ignore"):
            root = near_root(w)
            rest = w / root / root
            pair = pair.scaled(root[:, None])
            X.data = X.data * np.repeat(root, np.diff(X.indptr))
            data = DoubleDouble.of(X.data) * np.repeat(rest, np.diff(X.indptr))
            exact = exact_sparse_gram(X, data, pair, pair * rest[:, None])
        return _from_gram(exact, centre, n, _sparse_floor(np.diagonal(exact.hi), X, pair.hi))
    with np.errstate(over="ignore", invalid="ignore"):
        cross = X.T @ (pair.hi * w[:, None])
        squares = _sparse_squares(X, w)
    Z = np.ascontiguousarray(pair.hi)
    dense = gram_of(Z.__getitem__, n, Z.shape[1], weight)
    gram = np.block([[squares, cross], [cross.T, dense]])
    check_finite(gram)
    longest = int(np.bincount(X.indices, minlength=1).max(initial=0)) + 5
    roundings = max(longest, roundings_of(n, dense.shape[1]))
    floor = _sparse_floor(np.diagonal(gram), X, pair.hi)
    return from_rounded_gram(gram, centre, n, weight, roundings, floor)


def _sparse_squares(X: Any, weight: Array) -> Array:
    """XᵀWX as a dense array."""
    if X.nnz < COMPILED_FROM:
        return np.asarray((X.T @ (X * weight[:, None])).toarray())
    squares = np.empty((X.shape[1], X.shape[1]))
    indices, indptr = (np.asarray(part, dtype=np.int64) for part in (X.indices, X.indptr))
    sparse_gram(X.data, indices, indptr, weight, squares)
    return squares


def _sparse_floor(squares: Array, X: Any, dense: Array) -> Array:
    d, m = X.shape[1], len(squares) - 1
    return np.concatenate([floor_of(squares[:d], X), floor_of(squares[d:m], dense)])


def _with_ones(Y: Array) -> Array:
    return np.concatenate([Y, np.ones((len(Y), 1))], axis=1)
