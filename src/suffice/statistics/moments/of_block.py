"""From a block of rows to the weight, mean and scatter of its columns.

Products are made about a point near the mean, c, with d = z − c and a column of ones beside:

    m = c + Σ w d / W,      S = Σ w d dᵀ − (Σ w d)(Σ w d)ᵀ / W

in float64 or exactly, in double-double.  The columns of a sparse matrix stay about zero, where
their zeros are.
"""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np
from scipy import sparse

from suffice.kernels.sums.exact import centre_pair
from suffice.kernels.sums.sparse import sparse_gram
from suffice.numerics.double_double import Array, DoubleDouble, quick_two_sum, two_sum
from suffice.numerics.exact_gram import COMPILED_FROM, exact_gram, exact_sparse_gram
from suffice.statistics.moments.merging import joint
from suffice.statistics.moments.products import (
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


class Fields(TypedDict):
    """What `Moments` are made of."""

    count: int
    weight: DoubleDouble
    mean: DoubleDouble
    mean_rest: Array
    scatter: Array | DoubleDouble
    magnitude: Array
    roundings: int


def fields_of_block(X: Any, Y: Array | None, weight: Array | None, exact: bool) -> Fields:
    """The moments of the columns of `X`, then those of `Y`.

    Parameters
    ----------
    X : array of shape (rows, columns) or csr_array
        At least one row, and no more than `MOST_ROWS`.
    Y : array of shape (rows, targets), or None
    weight : array of shape (rows,), positive, or None
    exact : bool
        Whether the scatter is made in double-double.

    Raises
    ------
    FloatingPointError
        If a value is NaN or infinite, or its square overflows.
    """
    if sparse.issparse(X):
        return _of_sparse(X, Y, weight, exact)
    return (_in_double_double if exact else _in_float64)(X, Y, weight)


# --- in float64 ----------------------------------------------------------------------------


def _in_float64(X: Any, Y: Array | None, weight: Array | None) -> Fields:
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
) -> Fields:
    """Moments from the products, about `centre`, of the columns and a column of ones."""
    mean, scatter, magnitude = mean_and_scatter(gram, centre, floor)
    return Fields(
        count=count,
        weight=total_weight(count, weight),
        mean=mean,
        mean_rest=np.zeros(len(centre)),
        scatter=scatter,
        magnitude=magnitude,
        roundings=roundings,
    )


def total_weight(count: int, weight: Array | None) -> DoubleDouble:
    """The sum of the weights of some rows."""
    return DoubleDouble.of(float(count)) if weight is None else DoubleDouble.of(weight).sum()


def mean_and_scatter(gram: Array, centre: Array, floor: Array) -> tuple[DoubleDouble, Array, Array]:
    """Mean, scatter and magnitude of the columns; with more axes, of several kinds of rows."""
    sums, total = gram[..., :-1, -1], gram[..., -1:, -1]
    offset = sums / total
    squares = np.diagonal(gram, axis1=-2, axis2=-1)[..., :-1]
    scatter = sums[..., :, None] * offset[..., None, :]
    np.subtract(gram[..., :-1, :-1], scatter, out=scatter)
    return DoubleDouble(*two_sum(centre, offset)), scatter, joint(squares + floor, sums * offset)


def _subtract(Z: Array, centre: Array, together: int = 32) -> None:
    """z − centre in place, many rows at once: NumPy is slow on short ones."""
    whole = len(Z) - len(Z) % together
    with np.errstate(over="ignore", invalid="ignore"):
        Z[:whole].reshape(-1, together * len(centre))[...] -= np.tile(centre, together)
        Z[whole:] -= centre


# --- in double-double ----------------------------------------------------------------------


def _in_double_double(X: Any, Y: Array | None, weight: Array | None) -> Fields:
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


def _from_gram(gram: DoubleDouble, centre: Array, count: int, floor: Array) -> Fields:
    """Moments from the products, about `centre`, of the columns and a column of ones."""
    check_finite(gram.hi)
    total, sums, products = gram[-1, -1], gram[:-1, -1], gram[:-1, :-1]
    offset = sums / total
    hi, first = two_sum(centre, offset.hi)
    lo, rest = two_sum(first, offset.lo)
    return Fields(
        count=count,
        weight=total,
        mean=DoubleDouble(*quick_two_sum(hi, lo)),
        mean_rest=rest,
        scatter=products - sums.outer(offset),
        magnitude=joint(np.diagonal(products.hi) + floor, sums.hi * offset.hi),
        roundings=6,
    )


# --- of a sparse matrix --------------------------------------------------------------------


def _of_sparse(X: Any, Y: Array | None, weight: Array | None, exact: bool) -> Fields:
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
    if exact:
        with np.errstate(over="ignore", invalid="ignore"):
            root = near_root(w)
            rest = w / root / root
            pair = pair.scaled(root[:, None])
            X.data = X.data * np.repeat(root, np.diff(X.indptr))
            data = DoubleDouble.of(X.data) * np.repeat(rest, np.diff(X.indptr))
            products = exact_sparse_gram(X, data, pair, pair * rest[:, None])
        floor = _sparse_floor(np.diagonal(products.hi), X, pair.hi)
        return _from_gram(products, centre, n, floor)
    with np.errstate(over="ignore", invalid="ignore"):
        cross = X.T @ (pair.hi * w[:, None])
        squares = _sparse_squares(X, w)
    Z = np.ascontiguousarray(pair.hi)
    dense = gram_of(Z.__getitem__, n, Z.shape[1], weight)
    gram = np.empty((d + Z.shape[1], d + Z.shape[1]))
    gram[:d, :d], gram[:d, d:], gram[d:, :d], gram[d:, d:] = squares, cross, cross.T, dense
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
