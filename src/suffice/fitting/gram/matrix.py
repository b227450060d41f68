"""The matrix of a kernel's values for all pairs of rows.

It is made in tiles, those below the diagonal alone; the others are their mirror images.  Where a
tile ends depends on the number of rows only, so that any number of threads gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.engines.gather import MOST_BYTES, Rows
from suffice.engines.passes import each
from suffice.fitting.requests import Fold, Gather, Request
from suffice.numerics.kernel_functions import Floats, KernelFunction, check_lengths
from suffice.sources import Block, block_rows

TILE = 512
"""Rows of a tile: 2 MB of values."""

CELLS_AT_ONCE = 1 << 22
"""Values of queries with the rows of a fit that a thread holds at once: 32 MB."""

ASYMMETRY = 1e-8
"""How far a value may be from its mirror image, relative to the largest."""


def gathered_pairs(
    precomputed: bool,
) -> Generator[Request, Any, tuple[Rows, NDArray[np.int64]]]:
    """All rows that have a weight, and the numbers of the columns that hold their values.

    The latter matter where the rows are values of the kernel: a row of weight 0 takes its column
    with it.
    """
    rows = yield Gather("rows gathered")
    n, columns = rows.X.shape
    if precomputed and n < columns:
        present = np.concatenate((yield Fold(None, _presence, ())))
        if len(present) == columns:
            return rows, np.flatnonzero(present)
        raise ValueError(not_square(rows.X.shape))
    return rows, np.arange(n)


def own_columns(values: Any, present: NDArray[np.int64]) -> Any:
    """The columns of given values that belong to their rows."""
    return values[:, present] if values.shape[0] < values.shape[1] else values


def _presence(found: tuple[Any, ...], block: Block) -> tuple[Any, ...]:
    """Which rows have a weight, block after block."""
    weight = np.ones(block.n_rows) if block.weight is None else block.weight
    return (*found, weight > 0)


def gram_matrix(kernel: KernelFunction, X: Any, name: str, n_jobs: int | None = None) -> Floats:
    """The values of all pairs of rows, a new array of shape (rows, rows).

    Parameters
    ----------
    kernel : KernelFunction
        "precomputed" takes the rows for the values.
    X : float64 array or CSR matrix of shape (rows, columns)
    name : str
        Who asks, for messages.
    n_jobs : int, optional

    Raises
    ------
    ValueError
        If the values would take more than `MOST_BYTES`, or are not finite or not symmetric.
    """
    n = X.shape[0]
    if kernel.name == "rbf":
        check_lengths(X, kernel.gamma)
    if 8 * n * n > MOST_BYTES:
        raise ValueError(
            f"{name} compares every two rows: the values of {n:,} rows are more than "
            f"{MOST_BYTES >> 30} GB. Fit a sample of the rows"
        )
    if kernel.name in ("precomputed", "callable"):
        values = X if kernel.name == "precomputed" else kernel(X, X)
        return checked_symmetric(np.array(values, np.float64, order="C"))
    K = np.empty((n, n))
    cuts = [slice(start, min(start + TILE, n)) for start in range(0, n, TILE)]
    pairs = [(i, j) for here, i in enumerate(cuts) for j in cuts[: here + 1]]

    def fill(pair: tuple[slice, slice], stopped: Any) -> bool:
        i, j = pair
        K[i, j] = kernel(X[i], X[j])
        if i != j:
            K[j, i] = K[i, j].T
        return bool(np.isfinite(K[i, j]).all())

    with np.errstate(over="ignore", invalid="ignore"):
        finite = all(each(pairs, fill, n_jobs))
    if not finite:
        raise ValueError(
            "some values of the kernel are not finite: scale the columns, or choose a smaller "
            "gamma or degree"
        )
    if kernel.name == "rbf":
        K.flat[:: n + 1] = 1.0
    else:
        mirror_diagonal_tiles(K, cuts)
    return K


def mirror_diagonal_tiles(K: Floats, cuts: list[slice]) -> None:
    """Make the tiles on the diagonal symmetric to the last bit: BLAS need not."""
    for cut in cuts:
        lower = np.tril(K[cut, cut])
        K[cut, cut] = lower + np.tril(lower, -1).T


def not_square(shape: tuple[int, ...]) -> str:
    """What to say of a matrix that cannot hold the values of all pairs."""
    return (
        "the kernel's values are a square matrix, one row and one column for each row of the fit; "
        f"got the shape {shape}"
    )


def checked_symmetric(K: Floats) -> Floats:
    """A matrix that a user gave, or raise ValueError unless it is square and symmetric."""
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(not_square(K.shape))
    if not np.isfinite(K).all():
        raise ValueError("the kernel's values contain NaN or infinity")
    largest = float(np.abs(K).max(initial=0.0))
    apart = max(
        (float(np.abs(K[i : i + TILE] - K[:, i : i + TILE].T).max()))
        for i in range(0, len(K), TILE)
    )
    if apart > ASYMMETRY * largest:
        raise ValueError(
            f"the kernel's values are not symmetric: k(x, z) and k(z, x) differ by {apart:.3g}"
        )
    return K


def by_queries(
    queries: Any, n_fitted: int, answer: Callable[[Any], Floats], n_jobs: int | None
) -> Floats:
    """What a function makes of queries, so many at a time that memory stays bounded.

    A source's block at a time, and parts of it: the same bits from files.

    Parameters
    ----------
    queries : float64 array or CSR matrix of shape (rows, columns)
    n_fitted : int
        Rows that each of them is compared with.
    answer : function of some of the queries
    n_jobs : int, optional
    """
    n, block = queries.shape[0], block_rows(queries.shape[1])
    step = int(np.clip(CELLS_AT_ONCE // n_fitted, 16, 4096))
    parts = [
        slice(at, min(at + step, start + block, n))
        for start in range(0, n, block)
        for at in range(start, min(start + block, n), step)
    ]
    return np.concatenate(each(parts, lambda part, stopped: answer(queries[part]), n_jobs))
