"""Systems of equations with a kernel's matrix and a number added to each row's diagonal.

    (K + D) a = y,    D diagonal,    K + D = L Lᵀ.

L takes the place of what is below the diagonal of K, which stays above it: one matrix holds both,
so that the residual y − (K + D) a can be measured.  Columns of tiles come from left to right,

    L_ij = (K_ij − Σ_{k<j} L_ik L_jkᵀ) L_jj⁻ᵀ,

the tiles of a column side by side; the task that makes the tile next to the diagonal goes on to the
next tile on it.  Tiles depend on the number of rows only, so any number of threads gives the same
bits.  The inverse of a tile on the diagonal loses digits where that is nearly singular; if the
residual shows it, LAPACK's substitution on one thread takes its place.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dpocon, dpotrf, dpotrs, dtrtri

from suffice.engines.passes import each
from suffice.numerics.kernel_functions import Floats, squared_lengths

TILE = 256
"""Rows of a tile."""

REFINEMENTS = 3
"""Steps of iterative refinement at most."""

EPS = float(np.finfo(np.float64).eps)


class Answered(NamedTuple):
    """A solution, and what was measured of it.

    Attributes
    ----------
    solution : array of shape (rows, targets)
    residual : array of shape (rows, targets)
        y − (K + D) a, as computed; where the matrix is singular, the part of it in its range.
    error : array of shape (rows, targets)
        Bound on how far that is from the exact one.
    inverse : float
        Bound on, or estimate of, the norm of (K + D)⁻¹.
    norm : float
        Bound on the norm of K + D.
    path : str
    rank : int
        Of K + D, where it was found to be singular; else the number of rows.
    """

    solution: Floats
    residual: Floats
    error: Floats
    inverse: float
    norm: float
    path: str
    rank: int


class ShiftedGram:
    """K + D, for one D after another.

    Parameters
    ----------
    K : symmetric array of shape (rows, rows)
        It is overwritten.
    n_jobs : int, optional
    """

    def __init__(self, K: Floats, n_jobs: int | None = None) -> None:
        self.K, self.n_jobs = K, n_jobs
        self.n = len(K)
        self.values = K.diagonal().copy()
        self.diagonal = self.values
        self.cuts = [slice(i, min(i + TILE, self.n)) for i in range(0, self.n, TILE)]
        squares = each(self.cuts, lambda cut, stopped: squared_lengths(K[cut]), n_jobs)
        self.row_norms = np.sqrt(np.concatenate(squares))
        self.norm = float(np.linalg.norm(self.row_norms))
        self.factored = False

    def solve(self, shift: Floats, y: Floats, semi_definite: bool) -> Answered:
        """Solve for one diagonal and several targets.

        Parameters
        ----------
        shift : array of shape (rows,)
            D, not negative.
        y : array of shape (rows, targets)
        semi_definite : bool
            Whether K is known to be positive semi-definite: then D bounds the inverse.

        Returns
        -------
        Answered
            Where K + D is singular, the shortest of all a with the least residual.
        """
        self.diagonal = self.values + shift
        norm = self.norm + float(shift.max())
        if not self._factor():
            return self._by_eigenvalues(shift, y, norm)
        path = "Cholesky"
        a, residual = self._refined(y)
        # A backward stable method is not further away than rounding; few rows need some room.
        reach = max(1.0, 100 / self.n) * np.linalg.norm(self._rounding(a, shift), axis=0)
        if (np.linalg.norm(residual, axis=0) > reach).any():
            self._factor(by_lapack=True)
            path = "Cholesky on one thread"
            a, residual = self._refined(y)
        least = float(shift.min())
        if semi_definite and least > 0:
            inverse = 1 / least
        else:
            reciprocal = float(dpocon(self.K.T, 1.0, uplo="U")[0])
            inverse = 1 / reciprocal if reciprocal > 0 else np.inf
        return Answered(a, residual, self._rounding(a, shift), inverse, norm, path, self.n)

    def _rounding(self, a: Floats, shift: Floats) -> Floats:
        """What the computed (K + D) a may be off by: a sum over a row, and one product."""
        sums = np.outer(self.n * self.row_norms, np.linalg.norm(a, axis=0))
        return EPS * (sums + 4 * shift[:, None] * np.abs(a))

    def product(self, a: Floats) -> Floats:
        """(K + D) a, by what stands above the diagonal."""

        def strip(cut: slice, stopped: Any) -> Floats:
            above = np.triu(self.K[cut, cut], 1)
            found = above @ a[cut] + above.T @ a[cut] + self.diagonal[cut, None] * a[cut]
            found += self.K[cut, cut.stop :] @ a[cut.stop :]
            found += self.K[: cut.start, cut].T @ a[: cut.start]
            return found

        return np.concatenate(each(self.cuts, strip, self.n_jobs))

    # --- the factor -----------------------------------------------------------------------

    def _factor(self, by_lapack: bool = False) -> bool:
        """Overwrite what is below the diagonal with L; False unless K + D is positive definite."""
        self._restore()
        if by_lapack or len(self.cuts) == 1:
            # The transpose is in LAPACK's order, where L is Lᵀ above the diagonal.
            factor, info = dpotrf(self.K.T, lower=0, clean=0, overwrite_a=1)
            if not np.shares_memory(factor, self.K):
                self.K[...] = factor.T
            positive = info == 0
        else:
            positive = self._factor_by_tiles()
        # So small a pivot is rounding: the row depends on those before it.
        pivots = np.square(self.K.diagonal())
        return bool(positive and (pivots > self.n * EPS * self.diagonal).all())

    def _restore(self) -> None:
        """Below the diagonal the mirror image of what is above it, and on it K + D."""
        if self.factored:
            for cut in self.cuts:
                self.K[cut, : cut.start] = self.K[: cut.start, cut].T
                above = np.triu(self.K[cut, cut], 1)
                self.K[cut, cut] = above + above.T
        self.K.flat[:: self.n + 1] = self.diagonal
        self.factored = True

    def _factor_by_tiles(self) -> bool:
        K = self.K
        inverse = self._pivot(self.cuts[0])
        for here, j in enumerate(self.cuts):
            if inverse is None:
                return False
            below, turned = self.cuts[here + 1 :], inverse.T

            def fill(i: slice, stopped: Any) -> Floats | None:
                tile = K[i, j] - K[i, : j.start] @ K[j, : j.start].T
                K[i, j] = tile @ turned
                return self._pivot(i) if i.start == j.stop else None

            found = each(below, fill, self.n_jobs)
            inverse = found[0] if found else None
        return True

    def _pivot(self, j: slice) -> Floats | None:
        """Factor a tile on the diagonal; the inverse of the factor, or None if there is none."""
        K, left = self.K, self.K[j, : j.start]
        tile = np.asfortranarray(K[j, j] - left @ left.T)
        factor, info = dpotrf(tile, lower=1, clean=1, overwrite_a=1)
        if info:
            return None
        K[j, j] = np.triu(K[j, j], 1) + factor
        inverse, info = dtrtri(factor, lower=1)
        return inverse if info == 0 else None

    def _refined(self, y: Floats) -> tuple[Floats, Floats]:
        """A solution, corrected by that of its residual while this gets shorter."""
        a = self._substituted(y)
        residual = y - self.product(a)
        for _ in range(REFINEMENTS):
            length = np.linalg.norm(residual, axis=0)
            if (length <= 10 * EPS * np.linalg.norm(y, axis=0)).all():
                break
            step = a + self._substituted(residual)
            left = y - self.product(step)
            if not np.linalg.norm(left) < 0.5 * np.linalg.norm(residual):
                break
            a, residual = step, left
        return a, residual

    def _substituted(self, y: Floats) -> Floats:
        return np.ascontiguousarray(dpotrs(self.K.T, y, lower=0)[0])

    # --- singular and indefinite matrices -------------------------------------------------

    def _by_eigenvalues(self, shift: Floats, y: Floats, norm: float) -> Answered:
        above = np.triu(self.K, 1)
        values, vectors = eigh(above + above.T + np.diag(self.diagonal), driver="evd")
        size = np.abs(values)
        kept = size > self.n * EPS * size.max(initial=0.0)
        divisor = np.where(kept, values, 1.0)
        a = vectors @ (np.where(kept, 1 / divisor, 0.0)[:, None] * (vectors.T @ y))
        error = self._rounding(a, shift)
        inverse = 1 / float(size[kept].min()) if kept.any() else np.inf
        rank = int(np.count_nonzero(kept))
        left = vectors[:, kept].T @ (y - self.product(a))
        return Answered(a, vectors[:, kept] @ left, error, inverse, norm, "eigenvalues", rank)
