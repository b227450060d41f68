"""Products of the columns of a block, about a point near its rows.

The rows are centred, multiplied and added up few at a time: they stay in a core's own cache, and
few roundings stand behind a sum, in whatever order BLAS adds.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from suffice.numerics.double_double import Array, DoubleDouble
from suffice.numerics.exact_gram import exact_gram
from suffice.statistics.moments.merging import pairwise

CELLS_AT_ONCE = 1 << 17
"""Values that are centred and multiplied at once: 1 MB, which a core's own cache holds."""

MOST_ROWS = 1 << 16
"""Rows that are summarised at once: the exact product is made for no more."""

TOO_LARGE = "NaN, infinity or a value too large, whose (weighted) square overflows"

SMALLEST_SQUARE = 1e-290
"""Below, the last digits of a sum of squares are lost to underflow."""

FEW = 64
"""Rows whose mean is near enough to that of all."""

LARGEST_SQUARE = 2.0**980
"""Above, sums of squares would overflow in the products of a double-double."""


def cut_up(*parts: Any) -> Iterator[tuple[Any, ...]]:
    """Arrays of the same rows, at most `MOST_ROWS` of them at a time; None stays None."""
    for start in range(0, parts[0].shape[0], MOST_ROWS):
        rows = slice(start, start + MOST_ROWS)
        yield tuple(None if part is None else part[rows] for part in parts)


def rows_per_product(n_columns: int) -> int:
    """Rows of one matrix product: bounds the roundings of a sum in whatever order BLAS adds.

    Few rows bound them better; with many columns short products cost too much time.
    """
    return 256 if n_columns <= 128 else 512


# --- in float64 ----------------------------------------------------------------------------

_thread = threading.local()


def scratch(n_rows: int, n_columns: int) -> Array:
    """Memory of this thread's own for some rows; the last column holds ones."""
    buffer = getattr(_thread, "buffer", None)
    if buffer is None or buffer.shape[0] < n_rows or buffer.shape[1] != n_columns:
        buffer = _thread.buffer = np.ones((n_rows, n_columns))
    return buffer[:n_rows]


def _products(count: int, n_columns: int) -> Array:
    """Memory of this thread's own for the products of a block: fresh pages cost more."""
    buffer = getattr(_thread, "products", None)
    if buffer is None or buffer.shape[0] < count or buffer.shape[1] != n_columns:
        buffer = _thread.products = np.empty((count, n_columns, n_columns))
    return buffer[:count]


def near_mean(X: Any, Y: Array | None) -> Array:
    """A point near the rows, of their first few; see `near_mean_of`."""
    # In one layout: along another, the mean would be added up in another order.
    head = [np.array(part[:FEW], np.float64, order="C") for part in (X, Y) if part is not None]
    return near_mean_of(head[0] if len(head) == 1 else np.concatenate(head, axis=1))


def near_mean_of(rows: Array) -> Array:
    """A point near some rows, of shape (..., rows, columns); on a constant column its very value.

    Zero in a column that is near enough to it: centring would gain half a digit there, and
    columns that a user has centred already are left alone.
    """
    first = rows[..., :1, :]
    with np.errstate(over="ignore", invalid="ignore"):
        apart = rows - first
        centre = first[..., 0, :] + apart.mean(axis=-2)
        spread = np.sqrt(np.square(apart).mean(axis=-2))
        return np.where(np.abs(centre) <= spread / 2, 0.0, centre)


def about_the_mean(gram_about: Callable[[Array], Array], centre: Array) -> tuple[Array, Array]:
    """Products about a centre that is near enough to the mean, and that centre.

    Parameters
    ----------
    gram_about : callable
        Gives, for a centre, the products of the columns less it and of a column of ones.
    centre : array of shape (..., columns)
        Where to begin; with further axes for several kinds of rows at once.
    """
    for last in (False, False, True):
        gram = gram_about(centre)
        check_finite(gram)
        sums = gram[..., :-1, -1]
        offset = sums / gram[..., -1:, -1]
        squares = np.diagonal(gram, axis1=-2, axis2=-1)[..., :-1]
        # Far from the mean, digits would cancel: centre again.
        far = (sums * offset > 0.9 * squares).any(axis=-1, keepdims=True)
        if last or not far.any():
            break
        centre = centre + np.where(far, offset, 0.0)
    return gram, centre


Rows = Callable[[slice], Array]
"""Gives some rows of a matrix."""


def gram_of(rows: Rows, n: int, m: int, weight: Array | None) -> Array:
    """Zᵀ diag(w) Z of n rows and m columns, added up from products of few rows."""
    rest = n % rows_per_product(m)
    with np.errstate(over="ignore", invalid="ignore"):
        total = _sum_of_products(rows, n - rest, m, weight) if rest < n else None
        if rest:
            left, right = _factors(rows, slice(n - rest, n), weight)
            last = left.T @ right
            total = last if total is None else total + last
    return np.asarray(total)


def _sum_of_products(rows: Rows, n: int, m: int, weight: Array | None) -> Array:
    step = rows_per_product(m)
    parts = _products(n // step, m)
    # So few rows at a time that they stay in a core's own cache until they are multiplied.
    together = max(CELLS_AT_ONCE // m // step, 1) * step
    for start in range(0, n, together):
        stop = min(start + together, n)
        left, right = (
            factor.reshape(-1, step, m) for factor in _factors(rows, slice(start, stop), weight)
        )
        np.matmul(left.transpose(0, 2, 1), right, out=parts[start // step : stop // step])
    # In two steps where it goes: two calls, and few roundings behind a term.
    if len(parts) % 8 == 0:
        parts = np.add.reduce(parts.reshape(8, -1, m, m))
    return np.asarray(np.add.reduce(parts))


def _factors(rows: Rows, some: slice, weight: Array | None) -> tuple[Array, Array]:
    """Some rows times their weights, and as they are."""
    Z = rows(some)
    return Z if weight is None else Z * weight[some, None], Z


def roundings_of(n_rows: int, n_columns: int) -> int:
    """Roundings behind an entry of `gram_of`, centring and correction included."""
    step = rows_per_product(n_columns)
    products = n_rows // step
    return min(n_rows, step) + (8 + products // 8 if products % 8 == 0 else products) + 6


def floor_of(squares: Array, Z: Any) -> Array:
    """What underflow may hide in the squares of columns that are not constant: their floor.

    A constant column has squares of zero and a floor of zero; a column of values near 1e-170
    has squares of zero too, but it is not constant, and its floor says so.
    """
    floor = np.zeros(len(squares))
    small = np.flatnonzero(squares < SMALLEST_SQUARE)
    if len(small):
        largest = abs(Z[:, small]).max(axis=0)
        largest = largest.toarray().ravel() if sparse.issparse(largest) else largest
        floor[small] = SMALLEST_SQUARE * (largest > 0)
    return floor


def check_finite(gram: Array) -> None:
    """Raise FloatingPointError if a square is NaN or too large."""
    if not (np.diagonal(gram, axis1=-2, axis2=-1) <= LARGEST_SQUARE).all():
        raise FloatingPointError(TOO_LARGE)


# --- in double-double ----------------------------------------------------------------------


def weighted_gram(Z: DoubleDouble, weight: Any) -> DoubleDouble:
    """Zᵀ diag(w) Z.

    What `exact_gram` leaves out is relative to the largest entries of its two factors, so both
    get a share of the weights: a power of two near √w, and the rest.
    """
    root = near_root(weight)
    left = Z.scaled(root[:, None])
    return exact_gram(left, left * (weight * (1 / root) * (1 / root))[:, None])


def near_root(weight: Any) -> Array:
    """Powers of two within a factor 2 of √w."""
    size = weight.hi if isinstance(weight, DoubleDouble) else weight
    return np.ldexp(1.0, np.frexp(size)[1] // 2)


# --- in either -----------------------------------------------------------------------------


def squares_of(distances: DoubleDouble, weight: DoubleDouble, exact: bool) -> Any:
    """Σₖ wₖ δₖ δₖᵀ, in double-double or in float64; of several kinds of rows only in float64."""
    if not exact:
        weighed = np.moveaxis(distances.hi * np.sqrt(weight.hi)[..., None], 0, -2)
        return weighed.swapaxes(-2, -1) @ weighed
    cuts = range(0, max(len(weight.hi), 1), MOST_ROWS)
    return pairwise(
        [weighted_gram(distances[i : i + MOST_ROWS], weight[i : i + MOST_ROWS]) for i in cuts]
    )
