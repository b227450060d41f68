"""Linear maps that make a covariance the identity, kept in few numbers where it has few.

Of d columns and few rows, Σ⁻¹ = M Mᵀ has an M of which most is known beforehand.  Two maps, each
applied to rows z from the right, make up all that is needed:

    Stretch:    z ↦ z + z Q (X − I) Qᵀ,      Q orthonormal, X lower triangular: X within its span,
    Frame:      z ↦ (z diag(scale)) T,       T a matrix, or a stretch.

The inverse of a stretch is that by X⁻¹, its transpose that by Xᵀ, its determinant |X|.

**Completing.**  Where the columns of L are all that is known of a covariance L Lᵀ in r directions,
and the identity is assumed in what they do not span, L = Q R gives the stretch by X = R⁻ᵀ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr, rq, solve_triangular

from suffice.fitting.files.registry import register
from suffice.numerics.double_double import Array

ALIGNED = 1e-10
"""Share of a direction of a class that must lie in those of all classes, for it to be one."""


@dataclass(frozen=True, eq=False)
class Stretch:
    """Rows changed within a subspace, and unchanged across it.

    Attributes
    ----------
    vectors : float64 array of shape (width, directions)
        Q.
    inner : float64 array of shape (directions, directions)
        X, lower triangular.

    Examples
    --------
    >>> import numpy as np
    >>> np.array([[1.0, 5.0]]) @ Stretch(np.array([[0.0], [1.0]]), np.array([[3.0]]))
    array([[ 1., 15.]])
    """

    vectors: Array
    inner: Array

    __array_ufunc__ = None  # so that an array leaves the product to __rmatmul__

    _shapes = "vectors(width, directions) inner(directions, directions)"

    def __rmatmul__(self, rows: Array) -> Array:
        return self._changed(rows, self.inner)

    def __matmul__(self, columns: Array) -> Array:
        return self._changed(columns.T, self.inner.T).T

    def _changed(self, rows: Array, X: Array) -> Array:
        Q = self.vectors
        return np.asarray(rows + ((rows @ Q) @ (X - np.eye(len(X)))) @ Q.T)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.vectors), len(self.vectors)

    @property
    def log_determinant(self) -> float:
        return float(np.log(np.abs(np.diagonal(self.inner))).sum())

    @property
    def _inverse(self) -> Array:
        return np.asarray(solve_triangular(self.inner, np.eye(len(self.inner)), lower=True))

    @property
    def row_lengths(self) -> Array:
        """Of the rows of the map as a matrix: what a unit of each column becomes."""
        Q = self.vectors
        change = Q @ (self.inner - np.eye(len(self.inner)))
        squares = 1 + (2 * Q * change + np.square(change)).sum(axis=1)
        return np.sqrt(np.maximum(squares, 0.0))

    def undone(self, rows: Array) -> Array:
        """Rows times the transpose of the inverse."""
        return self._changed(rows, self._inverse.T)

    def congruent(self, matrix: Array) -> Array:
        """A symmetric matrix A as T⁻ᵀ A T⁻¹, with T the stretch."""
        X = self._inverse
        return self._changed(self._changed(matrix, X).T, X)

    def without(self, rows: Array) -> Array:
        """What rows have across the subspace."""
        return np.asarray(rows - (rows @ self.vectors) @ self.vectors.T)


@dataclass(frozen=True, eq=False)
class Frame:
    """Columns times a scale each, and then a turn.

    Attributes
    ----------
    scale : float64 array of shape (columns,)
        Above 0.
    turn : Stretch, or float64 array of shape (columns, rank) with orthogonal columns
    """

    scale: Array
    turn: Array | Stretch

    __array_ufunc__ = None

    _shapes = "scale(columns) turn(columns, rank)"

    def __rmatmul__(self, rows: Array) -> Array:
        return np.asarray((rows * self.scale) @ self.turn)

    def __matmul__(self, columns: Array) -> Array:
        return self.scale[:, None] * np.asarray(self.turn @ columns)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.scale), self.turn.shape[1]

    @property
    def row_lengths(self) -> Array:
        """Of the rows of the map as a matrix: what a unit of each column becomes."""
        return self.scale * row_lengths(self.turn)

    def covariance(self, own: Stretch | None = None) -> Array:
        """Σ, if Σ⁻¹ = M Mᵀ with M this frame, and a stretch after it."""
        inner = np.eye(self.shape[1])
        if own is not None:
            inner = own.congruent(inner)
        if isinstance(self.turn, Stretch):
            inner = self.turn.congruent(inner) / self.scale[:, None] / self.scale
        else:
            inner = self._spread @ inner @ self._spread.T
        return np.asarray((inner + inner.T) / 2)

    def axes(self, own: Stretch | None = None) -> tuple[Array, Array]:
        """The principal variances of that covariance, in descending order, and their axes."""
        if isinstance(self.turn, Stretch):
            values, vectors = np.linalg.eigh(self.covariance(own))
            return values[::-1].copy(), vectors[:, ::-1]
        spread = self._spread if own is None else own.undone(self._spread)
        vectors, deviations, _ = np.linalg.svd(spread, full_matrices=False)
        return np.square(deviations), vectors

    @property
    def _spread(self) -> Array:
        """G with G Gᵀ = Σ, of a matrix as turn: its columns are those of T over their squares."""
        turn = np.asarray(self.turn)
        return turn / np.square(turn).sum(axis=0) / self.scale[:, None]


register(Stretch)
register(Frame)


def row_lengths(matrix: Array | Stretch | Frame) -> Array:
    """The lengths of a matrix's rows."""
    if isinstance(matrix, Stretch | Frame):
        return matrix.row_lengths
    largest = np.abs(matrix).max(axis=1, initial=0.0)
    unit = np.where(largest > 0, largest, 1.0)  # squares of the entries may be beyond the range
    return np.asarray(unit * np.linalg.norm(matrix / unit[:, None], axis=1))


def completing(L: Array, sizes: Array) -> Stretch:
    """The stretch that makes L Lᵀ, and the identity where L spans nothing, the identity.

    Parameters
    ----------
    L : array of shape (width, directions)
    sizes : array of shape (directions,)
        Of what each column was summed from: of a column that is nothing next to it once those
        before it are taken away, only rounding is left.
    """
    if not L.size:
        return Stretch(np.zeros((len(L), 0)), np.zeros((0, 0)))
    if L.shape[1] > len(L):  # some of them are left out: what is there of all together
        L, sizes = qr(L.T, mode="economic")[1].T, np.full(len(L), sizes.max())
    Q, R, order = qr(L, mode="economic", pivoting=True)
    diagonal = np.abs(np.diagonal(R))
    k = int(np.cumprod(diagonal > ALIGNED * sizes[order][: len(diagonal)]).sum())
    if not k:
        return completing(L[:, :0], sizes)
    inner = rq(R[:k], mode="economic")[0] if k < len(R) else R  # what lies in their span counts
    X = solve_triangular(inner * np.sign(np.diagonal(inner)), np.eye(k)).T
    return Stretch(np.ascontiguousarray(Q[:, :k]), np.ascontiguousarray(X))
