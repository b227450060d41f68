"""Directions that tell classes apart, of fewer rows than columns, where covariances are shrunk.

The covariance between classes is that of all rows less that within classes, both as they are
shrunk (`suffice.generative.discriminant.wide_shapes`): B = Aᵀ A + diag(t) − Σ.  With the frame M =
diag(c) T of Σ, Z = A diag(c) and ρ = c² t, the directions are M times the leading axes of

    H = Mᵀ B M = Tᵀ (diag(ρ) + Zᵀ Z) T − I.

Where Σ has no diagonal, M has few columns, and H few entries.  Else H times a vector takes no more
than the rows do, and a few dozen such products tell its leading axes (Lanczos).

Reference: Lehoucq, Sorensen and Yang, "ARPACK Users' Guide" (1998).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from suffice.generative.discriminant.axes import signed
from suffice.generative.discriminant.directions import Directions, shares_of
from suffice.generative.discriminant.whitening import Frame, Stretch
from suffice.generative.discriminant.wide_shapes import Spanned
from suffice.numerics.double_double import Array

FEW = 2
"""Columns for each row from which on the rows are few: else H is no larger than they are."""


class Pencil(NamedTuple):
    """H, as a product.

    Attributes
    ----------
    diagonal : array of shape (columns,)
        ρ.
    turn : Stretch
        T, with a diagonal X.
    turned : array of shape (rows, columns)
        Z T: rounded once, it is the same matrix in all products.
    """

    diagonal: Array
    turn: Stretch
    turned: Array

    def times(self, columns: Array) -> Array:
        """H times columns."""
        inner = self.diagonal[:, None] * (self.turn @ columns)
        of_rows = self.turned.T @ (self.turned @ columns)
        return np.asarray((inner.T @ self.turn).T + of_rows - columns)

    @property
    def trace(self) -> float:
        """Of H; (T Tᵀ) has the diagonal 1 + Σ (X² − 1) q²."""
        Q, squares = self.turn.vectors, np.square(np.diagonal(self.turn.inner))
        inside = float(((self.diagonal[:, None] * Q) * Q).sum(axis=0) @ (squares - 1))
        of_rows = float(np.square(self.turned).sum())
        return float((self.diagonal - 1).sum()) + inside + of_rows


def wide_directions(total: Spanned, frame: Frame, count: int) -> Directions:
    """The leading directions, and their shares of the variance between classes.

    Parameters
    ----------
    total : Spanned
        The covariance of all rows.
    frame : Frame
        Of that within classes.
    count : int
        How many are asked for.
    """
    d = len(frame.scale)
    if not count:
        return Directions(np.zeros((d, 0)), np.zeros(0))
    if not isinstance(frame.turn, Stretch):
        M = frame @ np.eye(frame.shape[1])
        P = total.rows @ M
        H = P.T @ P + M.T @ (total.diagonal[:, None] * M) - np.eye(M.shape[1])
        return _of_all(H, M, count)
    # Squares of c alone may overflow.
    rho = np.square(frame.scale * np.sqrt(total.diagonal))
    pencil = Pencil(rho, frame.turn, (total.rows * frame.scale) @ frame.turn)
    if FEW * len(total.rows) > d:
        return _of_all(pencil.times(np.eye(d)), frame, count)
    try:
        return _leading(pencil, frame, count)
    except ArpackError:  # of axes that are hardly better than others
        return _of_all(pencil.times(np.eye(d)), frame, count)


def _of_all(H: Array, M: Array | Frame, count: int) -> Directions:
    """From all axes of H."""
    values, turned = np.linalg.eigh(H)
    scalings = signed(M @ np.ascontiguousarray(turned[:, ::-1][:, :count]))
    return Directions(scalings, shares_of(values, float(values.sum()))[:count])


def _leading(pencil: Pencil, frame: Frame, count: int) -> Directions:
    """From those asked for alone."""
    d, total = len(frame.scale), pencil.trace
    H = LinearOperator((d, d), lambda x: pencil.times(x.reshape(d, 1))[:, 0], dtype=np.float64)
    start = np.random.default_rng(0).normal(size=d)
    values, turned = eigsh(H, count, which="LA", v0=start)
    scalings = signed(frame @ np.ascontiguousarray(turned[:, ::-1]))
    if total < 0:  # the shares are values over their sum: of one below 0, the least come first
        values = eigsh(H, count, which="SA", v0=start, return_eigenvectors=False)
    return Directions(scalings, shares_of(values, total))
