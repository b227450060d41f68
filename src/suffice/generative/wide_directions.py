"""Directions that tell classes apart, of fewer rows than columns, where covariances are shrunk.

The covariance between classes is that of all rows less that within classes, both as they are
shrunk (`suffice.generative.wide_shapes`): B = Aᵀ A + diag(t) − Σ.  With the frame M = diag(c) T of
Σ, Z = A diag(c) and ρ = c² t, the directions are M times the leading axes of

    H = Mᵀ B M = Tᵀ (diag(ρ) + Zᵀ Z) T − I.

**Within the span.**  Where Σ has no diagonal, M has few columns, and H few entries.  Where both
diagonals are multiples of the identity, H is ρ − 1 times the identity but for the span of the
rows and of the columns that stand apart: all its values follow from a matrix of that size.

**By column.**  Where the diagonals differ by column, as those of standardised columns do, the
leading axes are found by Davidson's iteration: x is followed by (H x − θ x) / (ρ − 1 − θ), which
has the form of an axis, a combination of few vectors divided by ρ − 1 − λ.  That none was missed is
checked by Sylvester's law of inertia: of values above λ there are as many as the matrix

    B − λ Σ = diag(t − (1 + λ) t_Σ) + Aᵀ A − (1 + λ) A_Σᵀ A_Σ

has positive ones, which takes no more than a matrix of rows × rows to count.  Axes that cannot be
told apart that way are found from H itself, as they are where rows are not far fewer than columns.

Reference: Davidson, "The iterative calculation of a few of the lowest eigenvalues and corresponding
eigenvectors of large real-symmetric matrices" (1975).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from suffice.generative.directions import Directions, shares_of
from suffice.generative.principal_axes import signed
from suffice.generative.whitening import Frame, Stretch
from suffice.generative.wide_shapes import Spanned
from suffice.numerics.double_double import UNIT, Array

FEW = 2
"""Columns for each row from which on the rows are few: else H is no larger than they are."""

SAME = 1e-13
"""Relative difference of diagonals that is rounding."""

GUARDS, LONGEST, STEPS, TRIES = 4, 16, 400, 3
"""Axes sought beyond those asked for, blocks kept, steps of an iteration, and how often it is
started."""

SETTLED, CLOSE, NEAR = 1e-13, 1e-10, 1e-6
"""Length of a remainder, distance of values, and divisor of a step, that count as none, in units
of the largest value."""


class Pencil(NamedTuple):
    """H, as a product.

    Attributes
    ----------
    rows : array of shape (rows, columns)
        Z.
    diagonal : array of shape (columns,)
        ρ.
    turn : Stretch
        T, with a diagonal X.
    turned : array of shape (rows, columns)
        Z T: rounded once, it is the same matrix in all products.
    within_rows, within_diagonal : arrays
        The same of the covariance within classes: of Tᵀ (diag + rows) T = I.
    """

    rows: Array
    diagonal: Array
    turn: Stretch
    turned: Array
    within_rows: Array
    within_diagonal: Array

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

    def count_beyond(self, level: float, sign: float) -> int:
        """How many values of sign × H are above sign × level."""
        shift = 1 + level
        D = self.diagonal - shift * self.within_diagonal
        D = np.where(D == 0, UNIT, D) * sign
        R = np.vstack([self.rows, np.sqrt(abs(shift)) * self.within_rows])
        K = sign * np.repeat([1.0, -np.sign(shift)], [len(self.rows), len(self.within_rows)])
        inner = -np.diag(K) - (R / D) @ R.T
        return int((D > 0).sum() + (np.linalg.eigvalsh(inner) > 0).sum() - (K < 0).sum())


def pencil_of(total: Spanned, within: Spanned, frame: Frame) -> Pencil:
    """H, from the covariances of all rows and within classes, and the frame of the latter."""
    assert isinstance(frame.turn, Stretch)
    c = frame.scale
    # Squares of c alone may overflow.
    rho, own = (np.square(c * np.sqrt(one.diagonal)) for one in (total, within))
    Z = total.rows * c
    return Pencil(Z, rho, frame.turn, Z @ frame.turn, within.rows * c, own)


def wide_directions(
    total: Spanned, within: Spanned, frame: Frame, means: Array, count: int
) -> Directions:
    """The leading directions, and their shares of the variance between classes.

    Parameters
    ----------
    total, within : Spanned
        The covariances of all rows, and within classes.
    frame : Frame
        Of the latter.
    means : array of shape (classes, columns)
        Of the classes, less a common one.
    count : int
        How many are asked for.
    """
    if not count:
        return Directions(np.zeros((len(frame.scale), 0)), np.zeros(0))
    if not isinstance(frame.turn, Stretch):
        M = frame @ np.eye(frame.shape[1])
        P = total.rows @ M
        H = P.T @ P + M.T @ (total.diagonal[:, None] * M) - np.eye(M.shape[1])
        values, turned = np.linalg.eigh(H)
        return _of_all(values, M, turned, count, float(values.sum()))
    pencil = pencil_of(total, within, frame)
    t, own = total.diagonal, within.diagonal
    if FEW * len(total.rows) > len(t):
        return _from_all(pencil, frame, count)
    if max(np.ptp(t) / t.max(), np.ptp(own) / own.max()) <= SAME:
        return _within_the_span(pencil, frame, count, float(t.mean() / own.mean()) - 1)
    return _by_column(pencil, frame, means, count)


def _of_all(values: Array, M: Array | Frame, turned: Array, count: int, total: float) -> Directions:
    """From values in ascending order and their axes: the least and the largest of all, at least."""
    scalings = signed(M @ np.ascontiguousarray(turned[:, ::-1][:, :count]))
    return Directions(scalings, shares_of(values, total)[:count])


def _from_all(pencil: Pencil, frame: Frame, count: int) -> Directions:
    """From all entries of H."""
    values, turned = np.linalg.eigh(pencil.times(np.eye(len(frame.scale))))
    return _of_all(values, frame, turned, count, float(values.sum()))


def _within_the_span(pencil: Pencil, frame: Frame, count: int, across: float) -> Directions:
    """Of diagonals that are multiples of the identity: H is so, too, across the span."""
    d = len(frame.scale)
    basis = extended(pencil.turn.vectors, pencil.rows.T)
    inner = basis.T @ pencil.times(basis)
    values, turned = np.linalg.eigh((inner + inner.T) / 2)
    # Of the axes across, which are all alike, some that lie nearest to columns.
    nearest = np.argsort(np.square(basis).sum(axis=1), kind="stable")[: min(count, d - len(values))]
    units = np.zeros((d, len(nearest)))
    units[nearest, np.arange(len(nearest))] = 1.0
    both = extended(basis, units)
    vectors = np.hstack([basis @ turned, both[:, len(values) :]])
    total = float(values.sum()) + (d - len(values)) * across
    values = np.append(values, np.full(vectors.shape[1] - len(values), across))
    order = np.argsort(values, kind="stable")
    return _of_all(values[order], frame, vectors[:, order], count, total)


def extended(basis: Array, columns: Array) -> Array:
    """An orthonormal basis, and after it one of what columns have across it.

    A column of which less than rounding leaves is across counts as within.
    """
    sizes = np.linalg.norm(columns, axis=0)
    rest = columns[:, sizes > 0] / sizes[sizes > 0]
    for _ in range(2):
        rest = rest - basis @ (basis.T @ rest)
    U, lengths, _ = np.linalg.svd(rest, full_matrices=False)
    new = U[:, lengths > SETTLED]
    new = np.linalg.qr(new - basis @ (basis.T @ new))[0]
    return np.hstack([basis, new - basis @ (basis.T @ new)])


# --- by column -----------------------------------------------------------------------------


class Leading(NamedTuple):
    """The largest values of sign × H, in descending order, and their axes; and if that is sure."""

    values: Array
    vectors: Array
    sure: bool


def _by_column(pencil: Pencil, frame: Frame, means: Array, count: int) -> Directions:
    """Of diagonals that differ by column."""
    total = pencil.trace
    found = leading(pencil, 1.0, (means @ frame).T, count)
    values = found.values
    if total < 0 and found.sure:
        # The shares are those of values over their sum: of one below 0, the least come first.
        nowhere = np.zeros((len(frame.scale), 0))
        least = leading(pencil, -1.0, nowhere, count, float(values[0]))
        found, values = found._replace(sure=least.sure), -least.values
    if not found.sure:
        return _from_all(pencil, frame, count)
    return Directions(signed(frame @ found.vectors), shares_of(values, total))


def leading(pencil: Pencil, sign: float, start: Array, count: int, other: float = 0.0) -> Leading:
    """By Davidson's iteration, and checked.

    Parameters
    ----------
    pencil : Pencil
    sign : {1, -1}
    start : array of shape (columns, any)
        Where to look first.
    count : int
    other : float
        The size of values at the other end, as far as they are larger than 1.
    """
    bulk = sign * (pencil.diagonal / pencil.within_diagonal - 1)
    d, draws = len(bulk), np.random.default_rng(0)
    for attempt in range(TRIES):
        guards = GUARDS << attempt
        units = np.zeros((d, count + guards))
        units[np.argsort(-bulk, kind="stable")[: count + guards], np.arange(count + guards)] = 1.0
        block = np.hstack([start, units, draws.normal(size=(d, 2)) / np.sqrt(d)])
        if 3 * block.shape[1] > d:
            break
        found = _iterated(pencil, sign, bulk, block, count, guards, other)
        if found.sure:
            size = max(float(np.abs(found.values).max()), other) + 1
            level = float(found.values[-1]) + CLOSE * size
            beyond = pencil.count_beyond(sign * level, sign)
            if beyond <= (found.values > level).sum():
                return found
    return Leading(np.zeros(0), np.zeros((d, 0)), False)


def _iterated(
    pencil: Pencil,
    sign: float,
    bulk: Array,
    block: Array,
    count: int,
    guards: int,
    other: float,
) -> Leading:
    """One run of the iteration; sure if it has settled."""
    V = extended(np.zeros((len(bulk), 0)), block)
    HV = sign * pencil.times(V)
    width = count + guards
    longest = min(max(LONGEST * width, 2 * V.shape[1]), len(bulk) // 2)
    before = np.full(width, np.inf)
    for _ in range(STEPS):
        values, Y = np.linalg.eigh(V.T @ HV)
        values, Y = values[::-1][:width], Y[:, ::-1]
        X, HX = V @ Y[:, :width], HV @ Y[:, :width]
        rest = HX - X * values
        size = max(float(np.abs(values).max()), other) + 1
        lengths = np.linalg.norm(rest, axis=0)
        open_ = lengths > SETTLED * (np.abs(values) + 1)
        # Rounding is in units of the largest value: below that, only as long as it helps.
        helps = open_ & ((lengths > SETTLED * size) | (lengths < before / 2))
        if not helps[:count].any():
            return Leading(values[:count], X[:, :count], True)
        before = lengths
        if V.shape[1] + width > longest:
            kept = Y[:, : max(longest // 3, width)]
            V, HV = V @ kept, HV @ kept
        gap = bulk[:, None] - values[open_]
        gap = np.where(np.abs(gap) < NEAR * size, -NEAR * size, gap)
        new = extended(V, rest[:, open_] / gap)[:, V.shape[1] :]
        if not new.shape[1]:
            break
        V, HV = np.hstack([V, new]), np.hstack([HV, sign * pencil.times(new)])
    return Leading(values[:count], X[:, :count], False)
