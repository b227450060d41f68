"""Directions that tell classes apart.

They maximise vᵀ B v / vᵀ Σ v, with B the covariance between classes and Σ that within them.  With
Σ⁻¹ = M Mᵀ they are M times the principal axes of Mᵀ B M; and with B = Σ πₖ (μₖ − x̄)(μₖ − x̄)ᵀ these
are the principal directions of the means (μₖ − x̄) M.

**Fewer rows than columns, where covariances are shrunk.**  The covariance between classes is that
of all rows less that within classes, both as they are shrunk
(`suffice.generative.discriminant.more_columns_than_rows`): B = Aᵀ A + diag(t) − Σ.  With the frame
M = diag(c) T of Σ, Z = A diag(c) and ρ = c² t, the directions are M times the leading axes of

    H = Mᵀ B M = Tᵀ (diag(ρ) + Zᵀ Z) T − I.

Where Σ has no diagonal, M has few columns, and H few entries.  Else H times a vector takes no more
than the rows do, and a few dozen such products tell its leading axes (Lanczos).

Reference: Lehoucq, Sorensen and Yang, "ARPACK Users' Guide" (1998).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from suffice.generative.discriminant.axes import PrincipalAxes, signed
from suffice.generative.discriminant.more_columns_than_rows import Spanned
from suffice.generative.discriminant.whitening import Frame, Stretch, row_lengths
from suffice.numerics.double_double import Array

FEW = 2
"""Columns for each row from which on the rows are few: else H is no larger than they are."""


class DiscriminantDirections(NamedTuple):
    """Directions that tell classes apart, and their shares of the variance between classes."""

    scalings: Array
    ratios: Array


def solve_directions(
    away: Array, priors: Array, axes: Any, tol: float, errors: Array
) -> DiscriminantDirections:
    """From the means of the classes less their common mean.

    Parameters
    ----------
    away : array of shape (classes, columns)
    priors : array of shape (classes,)
    axes : PrincipalAxes or Whitening
        Of the covariance within classes.
    tol : float
        Share of the longest that a direction must exceed.
    errors : array of shape (classes, columns)
        Bounds on those of the means.  Where all directions are no longer than by these alone, the
        means cannot be told apart: there is no direction, and no variance to have a share of.
    """
    lost = errors @ row_lengths(axes.whitening)
    noise = float(lost.max() * np.sqrt(priors @ np.square(lost / max(lost.max(), 1e-300))))
    whitened = (np.sqrt(priors)[:, None] * away) @ axes.whitening
    _, lengths, turned = np.linalg.svd(whitened, full_matrices=False)
    longest = lengths.max(initial=0.0)
    rank = int((lengths > max(tol * longest, noise)).sum())
    squares = np.square(lengths / longest) if rank else np.zeros(len(lengths))
    ratios = squares / squares.sum() if rank else squares
    return DiscriminantDirections(signed(axes.whitening @ turned[:rank].T), ratios)


def directions_of(between: Array, axes: PrincipalAxes) -> DiscriminantDirections:
    """From a covariance between classes."""
    values, turned = np.linalg.eigh(axes.whitening.T @ between @ axes.whitening)
    turned = axes.whitening @ turned[:, ::-1]
    return DiscriminantDirections(signed(turned), shares_of(values[::-1], float(values.sum())))


def shares_of(values: Array, total: float) -> Array:
    """Of a total, in descending order.

    Shrunk by different amounts, the difference of two covariances may be negative.
    """
    return np.sort(values / total)[::-1] if total != 0 else np.zeros(len(values))


# --- of fewer rows than columns -------------------------------------------------------------


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


def wide_directions(total: Spanned, frame: Frame, count: int) -> DiscriminantDirections:
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
        return DiscriminantDirections(np.zeros((d, 0)), np.zeros(0))
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


def _of_all(H: Array, M: Array | Frame, count: int) -> DiscriminantDirections:
    """From all axes of H."""
    values, turned = np.linalg.eigh(H)
    scalings = signed(M @ np.ascontiguousarray(turned[:, ::-1][:, :count]))
    return DiscriminantDirections(scalings, shares_of(values, float(values.sum()))[:count])


def _leading(pencil: Pencil, frame: Frame, count: int) -> DiscriminantDirections:
    """From those asked for alone."""
    d, total = len(frame.scale), pencil.trace
    H = LinearOperator((d, d), lambda x: pencil.times(x.reshape(d, 1))[:, 0], dtype=np.float64)
    start = np.random.default_rng(0).normal(size=d)
    values, turned = eigsh(H, count, which="LA", v0=start)
    scalings = signed(frame @ np.ascontiguousarray(turned[:, ::-1]))
    if total < 0:  # the shares are values over their sum: of one below 0, the least come first
        values = eigsh(H, count, which="SA", v0=start, return_eigenvectors=False)
    return DiscriminantDirections(scalings, shares_of(values, total))
