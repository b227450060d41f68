"""Kernel values of rows in memory, by matrix products in tiles that stay in the cache.

Where a solver looks for its way, values are in float32; what is proved in the end is in float64.
Tiles end where the number of rows says, so results have the same bits at any number of threads.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from suffice.engines.passes import each
from suffice.fitting.gram.matrix import checked_symmetric
from suffice.kernels.svm.kernel_values import gaussian_doubles, gaussian_singles, take_block
from suffice.kernels.svm.smo import LANES
from suffice.numerics.kernel_functions import (
    KernelFunction,
    check_lengths,
    products,
    squared_lengths,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

TILE = 256
"""Rows and columns of a tile: 256 KB in float32."""

SYMMETRIC = 0.4
"""The share of the rows from which on sums over them make use of symmetry."""

LARGEST_EXPONENT = 256.0
"""Up to which γ‖x‖² a Gaussian in float32 has four digits."""


class _Scratch(threading.local):
    """Room for a tile in each thread: memory that is asked for anew costs more than its values."""

    def __init__(self) -> None:
        self.bytes = np.empty(TILE * TILE * 8, np.uint8)

    def tile(self, rows: int, columns: int, dtype: Any) -> NDArray[Any]:
        return self.bytes.view(dtype)[: rows * columns].reshape(rows, columns)


_scratch = _Scratch()


class _Tile:
    """Some rows, laid out for products with others."""

    def __init__(self, rows: Integers, X: Any, lengths: Any, weights: Any) -> None:
        self.rows = rows
        self.X = X[rows]
        self.columns: Any = np.ascontiguousarray(self.X.T) if weights is not None else None
        self.all_lengths = lengths
        self.lengths = lengths[rows]
        self.weights = weights


def _cut(values: NDArray[Any]) -> list[NDArray[Any]]:
    """Pieces of the length of a tile."""
    return [values[start : start + TILE] for start in range(0, len(values), TILE)]


def padded(n: int) -> int:
    """A number of columns that is a whole number of chunks."""
    return -(-n // LANES) * LANES


class KernelRows:
    """Rows of a fit as a kernel sees them.

    Parameters
    ----------
    function : KernelFunction
    X : float64 array or CSR matrix of shape (rows, columns)
        For a precomputed kernel the matrix of its values.
    n_jobs : int, optional
    """

    def __init__(self, function: KernelFunction, X: Any, n_jobs: int | None = None) -> None:
        self.function = function
        self.n_jobs = n_jobs
        self.n = X.shape[0]
        self.given = function.name in {"precomputed", "callable"}
        if function.name == "callable":
            X = function(X, X)
        if self.given:
            checked_symmetric(X)
        self.gaussian = function.name == "rbf"
        if self.gaussian and not issparse(X):
            X = X - X.mean(axis=0)  # for digits' sake: distances stay
        elif self.gaussian:
            check_lengths(X, function.gamma)
        self.X = X
        self.lengths = function.gamma * squared_lengths(X) if self.gaussian else np.zeros(0)
        self.diagonal: Floats = (
            np.ascontiguousarray(np.diagonal(X)) if self.given else function.diagonal(X)
        )
        self._singles: tuple[Any, NDArray[np.float32]] | None = None
        self._stored: NDArray[Any] | None = None

    @property
    def fits_singles(self) -> bool:
        """Whether float32 can hold the values with some digits."""
        if self.gaussian:
            return float(self.lengths.max()) < LARGEST_EXPONENT
        return float(np.abs(self.diagonal).max()) < 1e9

    @property
    def is_stored(self) -> bool:
        """Whether all values are there in float32."""
        return self._stored is not None

    def some(self, rows: Integers) -> KernelRows:
        """A part of the rows, with what is known of their values."""
        part = KernelRows.__new__(KernelRows)
        part.function, part.n_jobs, part.n = self.function, self.n_jobs, len(rows)
        part.given, part.gaussian = self.given, self.gaussian
        part.X = self.X[np.ix_(rows, rows)] if self.given else self.X[rows]
        part.lengths = self.lengths[rows] if self.gaussian else self.lengths
        part.diagonal = self.diagonal[rows]
        part._singles, part._stored = None, None
        if self._stored is not None:
            part._stored = np.empty((len(rows), padded(len(rows))), self._stored.dtype)
            take_block(self._stored, rows, part._stored)
        return part

    def store(self) -> None:
        """Keep all values in float32."""
        self._stored = self.block(np.arange(self.n), np.float32)

    def block(self, rows: Integers, dtype: Any) -> NDArray[Any]:
        """Values among some rows, of shape (rows, `padded` rows)."""
        if self._stored is not None and dtype is np.float32:
            if len(rows) == self.n and (rows == np.arange(self.n)).all():
                return self._stored
            source: Any = self._stored
            found = np.empty((len(rows), padded(len(rows))), dtype)
            take_block(source, rows, found)
            return found
        found = np.empty((len(rows), padded(len(rows))), dtype)
        X, lengths = self._typed(dtype)
        if self.given or issparse(X):
            found[:, len(rows) :] = 0
            columns: Any = rows
        else:
            columns = np.zeros((X.shape[1], found.shape[1]), dtype)
            columns[:, : len(rows)] = X[rows].T
        others = np.zeros(found.shape[1], dtype)
        if self.gaussian:
            others[: len(rows)] = lengths[rows]

        def fill(start: int, stopped: Any) -> None:
            some, out = rows[start : start + TILE], found[start : start + TILE]
            if self.given:
                out[:, : len(rows)] = X[np.ix_(some, columns)]
            elif issparse(X):
                out[:, : len(rows)] = products(X[some], X[columns])
                self._apply(out, lengths, some, others)
            else:
                np.dot(X[some], columns, out=out)
                self._apply(out, lengths, some, others)

        each(range(0, len(rows), TILE), fill, self.n_jobs)
        return found

    def sums(self, rows: Integers, coefficients: Floats, dtype: Any) -> Floats:
        """Σⱼ cⱼ k(x, xⱼ) over some rows j, for all rows x."""
        found = np.zeros(self.n)
        if not len(rows):
            return found
        if self.function.name == "linear":
            return np.asarray(self.X @ (coefficients @ self.X[rows]))
        if self.given or issparse(self.X) or (self.is_stored and dtype is np.float32):
            self._add_looked_up(found, rows, coefficients, dtype)
            return found
        X, lengths = self._typed(dtype)
        tiles = [
            _Tile(some, X, lengths if self.gaussian else np.zeros(len(X), dtype), weights)
            for some, weights in zip(_cut(rows), _cut(coefficients.astype(dtype)), strict=True)
        ]
        others = np.arange(self.n)
        if SYMMETRIC * self.n < len(rows):
            others = np.delete(others, rows)

        def add(here: Integers, stopped: Any) -> None:
            asked = _Tile(here, X, tiles[0].all_lengths, None)
            for tile in tiles:
                found[here] += self._values(asked, tile) @ tile.weights

        def add_both(number: int, stopped: Any) -> list[Floats]:
            """The sums that a tile and each later one give to each other."""
            one, parts = tiles[number], []
            total = np.zeros(len(one.rows))
            for tile in tiles[number:]:
                values = self._values(one, tile)
                total += values @ tile.weights
                parts.append(one.weights @ values)
            return [total, *parts[1:]]

        each(_cut(others), add, self.n_jobs)
        if len(others) < self.n:
            # Values among the rows themselves serve twice: those of a tile, and of its mirror.
            for number, parts in enumerate(each(range(len(tiles)), add_both, self.n_jobs)):
                for tile, part in zip(tiles[number:], parts, strict=True):
                    found[tile.rows] += part
        return found

    def _values(self, one: _Tile, other: _Tile) -> NDArray[Any]:
        """The values between two tiles, in the thread's room."""
        values = _scratch.tile(len(one.rows), len(other.rows), one.X.dtype)
        np.dot(one.X, other.columns, out=values)
        self._apply(values, one.all_lengths, one.rows, other.lengths)
        return values

    def _add_looked_up(
        self, found: Floats, rows: Integers, coefficients: Floats, dtype: Any
    ) -> None:
        """`sums` where values are there already, or rows are sparse."""
        stored = self._stored if dtype is np.float32 else None

        def add(start: int, stopped: Any) -> None:
            here = np.arange(start, min(start + TILE, self.n))
            for some, weights in zip(_cut(rows), _cut(coefficients), strict=True):
                if stored is not None:
                    # By symmetry: rows of the matrix are contiguous, columns are not.
                    found[here] += weights.astype(dtype) @ stored[some, start : start + len(here)]
                    continue
                if self.given:
                    values = self.X[start : start + len(here), some]
                else:
                    values = products(self.X[here], self.X[some])
                    others = self.lengths[some] if self.gaussian else self.lengths
                    self._apply(values, self.lengths, here, others)
                found[here] += values @ weights

        each(range(0, self.n, TILE), add, self.n_jobs)

    def _typed(self, dtype: Any) -> tuple[Any, NDArray[Any]]:
        if dtype is not np.float32:
            return self.X, self.lengths
        if self._singles is None:
            kept = self.given or issparse(self.X)
            X = self.X if kept else self.X.astype(np.float32)
            self._singles = X, self.lengths.astype(np.float32)
        return self._singles

    def _apply(self, values: Any, lengths: Any, rows: Integers, others: Any) -> None:
        """From products to kernel values, in place."""
        if self.gaussian:
            in_place: Any = gaussian_singles if values.dtype == np.float32 else gaussian_doubles
            in_place(values, lengths[rows], others, values.dtype.type(2 * self.function.gamma))
        elif self.function.name != "linear":
            values[...] = self.function.of_products(values)
