"""Centres as rows are compared with them: a matrix product in float32 with a proved margin.

Rows and centres are centred and scaled by a power of two; x is such a row, c such a centre,
X = ‖x‖², Q = ‖c‖².  The nearest centre has the smallest score

    S = Q/2 − x·c,        ‖x − c‖² = X + 2S.

**The margin.**  Let u = 2⁻²⁴ and γₘ = mu/(1 − mu).  The float32 product of the rounded x and c, d
terms in any order, fused or not, is off by at most γ_{d+2} ‖x‖‖c‖ ≤ γ_{d+2} (X + Q)/2.  From it the
table computes v = a − x·c with a = (1 − κ) Q/2, where rounding a and the difference adds
u (Q/2) + u (Q/2 + ‖x‖‖c‖) (1 + u).  With κ ≥ γ_{d+4} + 8u therefore

    v − κX/2  ≤  S  ≤  v + κQ + κX/2.

If v₁ is the least of a row's scores, that of centre b, and v₂ the next, then

    v₂ − v₁ > κ (Q_b + X)

proves that b is the nearest.  All other rows are compared again in float64 by the definition,
Σⱼ (xⱼ − cⱼ)² added from the first column to the last, the lower number winning a tie; κ includes
(d + 8) 2⁻⁵⁰ for that sum's own rounding, so labels are those of plain float64 arithmetic.  Products
too small for float32 add no more than `tiny`; numbers too large for it make the comparison fail,
and are compared again.  A far centre has a wide margin, but a large score as well: it costs the
other rows nothing.

The same margins make the bounds on distances that `suffice.kernels.clustering.bounds` goes by:
‖x − b‖² ≤ X + 2v₁ + 2κ (Q_b + X), and X + 2v₂ − 2κ (Q_b + X) is no more than any other; X may be
rounded to float32 there, for κ is at least 8u.  CSR rows are compared by these scores in float64.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from suffice.kernels.clustering.bounds import squared_distances
from suffice.kernels.clustering.nearest import pack, settle, two_smallest

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Labels = NDArray[np.int32]

TILE = 1 << 17
"""Bytes of a tile of products, which stay in a core's own cache."""

FEWEST, MOST = 64, 1024
"""Rows of a tile."""

FARTHEST = 2.0**40
"""Centres with a larger cell, scaled, are compared in float64 alone."""

CANCELLED = 1e-6
"""Share of two squared lengths below which their difference has lost too many digits."""

NO_BOUNDS = np.empty((2, 0), np.float32)


def tile_rows(k: int) -> int:
    """Rows that are compared with k centres at once."""
    return int(min(max(TILE // (4 * k) // 64 * 64, FEWEST), MOST))


def slack_of(d: int) -> float:
    """κ, for d columns."""
    chain = (d + 4) * 2.0**-24
    return float(chain / (1 - chain) + 8 * 2.0**-24 + (d + 8) * 2.0**-50)


@dataclass(frozen=True)
class CentreTable:
    """Centres, ready to be compared with rows.

    Attributes
    ----------
    centres : array of shape (centres, columns)
    centre, scale : array of shape (columns,), float
        What is subtracted from rows and centres, and then multiplied with them.
    table : float32 array of shape (centres, columns)
        The centres, centred and scaled.
    offsets : float32 array of shape (centres,)
        a of each.
    lengths : array of shape (centres,)
        Q of each.
    slack, tiny : float
        κ, and what products below float32's range may amount to.
    """

    centres: Floats
    centre: Floats
    scale: float
    table: Singles
    offsets: Singles
    lengths: Floats
    slack: float
    tiny: float

    @classmethod
    def of(cls, centres: Floats, centre: Floats, scale: float) -> CentreTable:
        """Prepare centres for rows that are centred and scaled so."""
        moved = (centres - centre) * scale
        slack = slack_of(centres.shape[1])
        if np.abs(moved).max() > FARTHEST:
            moved, slack = np.zeros_like(moved), np.inf  # no margin is wide enough
        lengths = np.einsum("ij,ij->i", moved, moved)
        offsets = (0.5 * (1 - slack) * lengths if slack < 1 else lengths).astype(np.float32)
        tiny = centres.shape[1] * 2.0**-80
        return cls(
            np.ascontiguousarray(centres), centre, scale, moved.astype(np.float32), offsets,
            lengths, slack, tiny,
        )  # fmt: skip

    @classmethod
    def alone(cls, centres: Floats) -> CentreTable:
        """Prepare centres for any rows."""
        centre = centres.mean(axis=0)
        return cls.of(centres, centre, scale_for(np.abs(centres - centre).max()))

    def compare(
        self, X: Floats, rows: Any, packed: Singles, squares: Singles, bounds: Singles
    ) -> Labels:
        """The nearest centre of some rows that are packed; see `settle`."""
        k, m = len(self.centres), len(rows)
        nearest = np.empty(m, np.int32)
        first, second = np.empty(m, np.float32), np.empty(m, np.float32)
        two_smallest(np.dot(self.table, packed), self.offsets, first, second, nearest)
        if k > 1 or bounds.shape[1]:
            settle(
                X, self.centres, rows, first, second, squares, self.lengths, self.slack, self.tiny,
                self.scale, nearest, bounds,
            )  # fmt: skip
        return nearest

    def nearest(self, X: Any) -> Labels:
        """The number of the nearest centre of each row.

        Parameters
        ----------
        X : float64 array of shape (rows, columns) in C order, or CSR

        Returns
        -------
        int32 array of shape (rows,)
        """
        if issparse(X):
            halves = 0.5 * np.einsum("ij,ij->i", self.centres, self.centres)
            return (halves - X @ self.centres.T).argmin(axis=1).astype(np.int32)
        n, d = X.shape
        size = tile_rows(len(self.centres))
        labels = np.empty(n, np.int32)
        buffer, squares = np.empty(d * size, np.float32), np.empty(size, np.float32)
        for start in range(0, n, size):
            rows = np.arange(start, min(start + size, n))
            m = len(rows)
            packed = buffer[: d * m].reshape(d, m)
            pack(X, self.centre, self.scale, rows, packed, squares[:m])
            labels[start : start + m] = self.compare(X, rows, packed, squares[:m], NO_BOUNDS)
        return labels


def scale_for(size: float) -> float:
    """The power of two that brings a size near 1."""
    return float(2.0 ** -np.round(np.log2(size))) if 1e-150 < size < 1e150 else 1.0


def as_rows(X: Any, unit: bool) -> Any:
    """Rows as they are compared: float64 in C order or CSR, of length 1 if so asked."""
    if issparse(X):
        X = csr_array(X, dtype=np.float64)
        if unit:
            lengths = np.sqrt(X.multiply(X).sum(axis=1))
            each = np.repeat(np.where(lengths > 0, lengths, 1.0), np.diff(X.indptr))
            X = csr_array((X.data / each, X.indices, X.indptr), shape=X.shape)
        return X
    X = np.ascontiguousarray(X, dtype=np.float64)
    if unit:
        lengths = np.sqrt(np.einsum("ij,ij->i", X, X))
        X = X / np.where(lengths > 0, lengths, 1.0)[:, None]
    return X


def squares_to(X: Any, centres: Floats, labels: Labels) -> Floats:
    """The squared distance of each row to its own centre."""
    squares = np.empty(X.shape[0])
    if not issparse(X):
        squared_distances(X, centres, labels, squares)
        return squares
    n = X.shape[0]
    rows = np.repeat(np.arange(n), np.diff(X.indptr))
    cross = np.bincount(rows, X.data * centres[labels[rows], X.indices], n)
    both = np.bincount(rows, X.data**2, n) + np.einsum("ij,ij->i", centres, centres)[labels]
    squares[:] = both - 2 * cross
    near = np.flatnonzero(squares < CANCELLED * both)
    squares[near] = _exactly(X, centres, near, labels[near])
    return squares


def distances_to(X: Any, centres: Floats) -> Floats:
    """The squared distance of each row to each centre, of shape (rows, centres)."""
    if issparse(X):
        lengths = np.asarray(X.multiply(X).sum(axis=1)).reshape(-1, 1)
        both = lengths + np.einsum("ij,ij->i", centres, centres)
        squares: Floats = both - 2 * (X @ centres.T)
        near = np.nonzero(squares < CANCELLED * both)
        squares[near] = _exactly(X, centres, *near)
        return squares
    out = np.empty((X.shape[0], len(centres)))
    for c in range(len(centres)):
        out[:, c] = squares_to(X, centres, np.full(X.shape[0], c, np.int32))
    return out


def _exactly(X: Any, centres: Floats, rows: Any, labels: Any) -> Floats:
    """Squared distances of some rows of a CSR array to some centres, by the definition."""
    squares = np.empty(len(rows))
    for place, (i, c) in enumerate(zip(rows, labels, strict=True)):
        apart = -centres[c]
        here = slice(X.indptr[i], X.indptr[i + 1])
        apart[X.indices[here]] += X.data[here]
        squares[place] = apart @ apart
    return squares
