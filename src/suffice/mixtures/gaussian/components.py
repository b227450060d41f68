"""Gaussians as the components of a mixture, and how they see rows.

    log N(x; μ, L Lᵀ) = −½ ‖y‖² − log |L| − (d/2) log 2π,      y = L⁻¹ (x − μ)

L is a lower triangular matrix, a diagonal one, or a number, of each component or of all.  Rows are
first taken from a point in their middle, so that columns far from zero lose nothing, and y is
formed by one matrix product for all components; densities never come from differences of large
squares.  What a component learns of rows, it learns in these coordinates too
(`suffice.statistics.moments.soft`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from suffice.kernels.gaussian.mixtures import (
    independent_log_densities,
    independent_moments,
    log_densities,
    weigh_rows,
)
from suffice.numerics.cached import cached_property
from suffice.statistics.moments.soft import SoftMoments

Floats = NDArray[np.float64]
Summarize = Callable[[Floats], SoftMoments]
"""From responsibilities times weights, of shape (components, rows), to what rows tell."""

LOG_2PI = float(np.log(2 * np.pi))
CELLS_AT_ONCE = 1 << 18
"""Numbers, rows × components × columns, that are worked on at a time: two megabytes."""

FEWEST, MOST = 64, 4096
"""Rows that are worked on at a time."""

FAR = 1e6
"""Squared distance of means, in units of a shared spread, from which on it is not expanded."""


@dataclass(frozen=True, eq=False)
class GaussianComponents:
    """Several Gaussians over the same columns.

    Attributes
    ----------
    kind : {"full", "tied", "diag", "spherical"}
    means : float64 array of shape (components, columns)
    factor : float64 array
        L, of shape (components, columns, columns), (columns, columns), (components, columns) or
        (components,).
    centre, spread : float64 arrays of shape (columns,)
        A point in the middle of the rows, and the standard deviation of all of them.
    may_lack : bool
        Whether cells of rows may be missing.
    """

    kind: str
    means: Floats
    factor: Floats
    centre: Floats
    spread: Floats
    may_lack: bool = True

    @property
    def n_components(self) -> int:
        return len(self.means)

    @property
    def n_columns(self) -> int:
        return int(self.means.shape[1])

    @property
    def rows_at_once(self) -> int:
        """Rows whose coordinates, those of each component or one for all, stay in the cache."""
        k, d = self.means.shape
        return int(
            np.clip(CELLS_AT_ONCE // (k * d if self.kind == "full" else k + d), FEWEST, MOST)
        )

    @cached_property
    def inverse(self) -> Floats:
        """L⁻¹, in the shape of L."""
        if self.is_independent:
            return 1.0 / self.factor
        if self.kind == "tied":
            return inverse_of(self.factor)
        return np.array([inverse_of(one) for one in self.factor])

    @cached_property
    def constant(self) -> Floats:
        """−log |L| − (d/2) log 2π of each component."""
        if self.kind == "spherical":
            volume = self.n_columns * np.log(self.factor)
        elif self.kind == "diag":
            volume = np.log(self.factor).sum(axis=1)
        else:
            volume = np.log(np.diagonal(self.factor, axis1=-2, axis2=-1)).sum(axis=-1)
        return np.broadcast_to(-volume - 0.5 * self.n_columns * LOG_2PI, len(self.means)).copy()

    @property
    def is_independent(self) -> bool:
        """Whether the columns are, given the component."""
        return self.kind in ("diag", "spherical")

    def factors(self) -> Floats:
        """L of each component as a matrix."""
        return self._matrices(self.factor)

    def inverses(self) -> Floats:
        """L⁻¹ of each component as a matrix."""
        return self._matrices(self.inverse)

    def _matrices(self, factor: Floats) -> Floats:
        k, d = self.means.shape
        if not self.is_independent:
            return np.broadcast_to(factor, (k, d, d))
        scale = factor if self.kind == "diag" else np.repeat(factor[:, None], d, axis=1)
        return scale[:, :, None] * np.eye(d)

    def covariances(self) -> Floats:
        """L Lᵀ, in the shape that the kind has."""
        if self.is_independent:
            return np.square(self.factor)
        return self.factor @ np.swapaxes(self.factor, -1, -2)

    # --- rows ------------------------------------------------------------------------------

    def expected(self, X: Floats) -> tuple[Floats, Summarize]:
        """The log density of some rows under each component, and how they are summarised.

        Parameters
        ----------
        X : float64 array of shape (rows, columns)
            NaN where a cell is missing: such a row has the density of its other cells, and
            counts by what is expected of its missing ones.

        Returns
        -------
        array of shape (components, rows), and a function of shares of the same shape
        """
        if self.is_independent:
            return self._independent(X)
        if self.may_lack and (missing := np.isnan(X)).any():
            from suffice.mixtures.gaussian.missing import with_gaps

            return with_gaps(self, X, missing)
        return self._near(X) if self.kind == "tied" and self._is_near else self._whole(X)

    def _whole(self, X: Floats) -> tuple[Floats, Summarize]:
        k, d = self.means.shape
        weight, shift = self._product
        Z = X - self.centre
        Y = (Z @ weight).reshape(len(X), k, d)
        out = np.empty((k, len(X)))
        log_densities(Y, shift, self.constant, out)

        def summarize(shares: Floats) -> SoftMoments:
            first = np.zeros((k, d))
            weigh_rows(Y, shares, first)
            # Σ r y yᵀ = (Σ r y (x − centre)ᵀ − Σ r y (μ − centre)ᵀ) L⁻ᵀ: one product for all.
            products = (Z.T @ Y.reshape(len(X), k * d)).reshape(d, k, d).transpose(1, 2, 0)
            products = products - first[:, :, None] * (self.means - self.centre)[:, None, :]
            second = products @ np.swapaxes(self.inverse, -1, -2)
            return SoftMoments(shares.sum(axis=1), first, self.pooled(second))

        return out, summarize

    @cached_property
    def _product(self) -> tuple[Floats, Floats]:
        """The matrices (L⁻¹)ᵀ of all components side by side, and L⁻¹ (μ − centre)."""
        inverse = np.broadcast_to(self.inverse, (*self.means.shape, self.n_columns))
        shift = np.einsum("cij,cj->ci", inverse, self.means - self.centre)
        return np.ascontiguousarray(np.concatenate(list(inverse)).T), shift

    def pooled(self, second: Floats) -> Floats:
        """Second moments of all components, in the shape that the kind keeps."""
        return second.sum(axis=0) if self.kind == "tied" else second

    @cached_property
    def _nodes(self) -> Floats:
        """L⁻¹ (μ − centre) of a shared L."""
        return (self.means - self.centre) @ self.inverse.T

    @cached_property
    def _is_near(self) -> bool:
        return bool(np.square(self._nodes).sum(axis=1).max() < FAR)

    def _near(self, X: Floats) -> tuple[Floats, Summarize]:
        """For a shared spread: ‖z − ν‖² = ‖z‖² − 2 z·ν + ‖ν‖², and all ν in one product."""
        nodes = self._nodes
        Z = (X - self.centre) @ self.inverse.T
        lengths = 0.5 * np.square(nodes).sum(axis=1) - self.constant
        out = nodes @ Z.T
        out -= lengths[:, None]
        out -= 0.5 * np.einsum("ij,ij->i", Z, Z)

        def summarize(shares: Floats) -> SoftMoments:
            weight, sums = shares.sum(axis=1), shares @ Z
            first = sums - weight[:, None] * nodes
            rooted = Z * np.sqrt(shares.sum(axis=0))[:, None]
            cross = nodes.T @ (sums - 0.5 * weight[:, None] * nodes)
            return SoftMoments(weight, first, np.dot(rooted.T, rooted) - cross - cross.T)

        return out, summarize

    def _independent(self, X: Floats) -> tuple[Floats, Summarize]:
        k, d = self.means.shape
        cells = np.ascontiguousarray((X - self.centre).T)
        means = self.means - self.centre
        scale = self.factor if self.kind == "diag" else np.repeat(self.factor[:, None], d, axis=1)
        constant = -np.log(scale) - 0.5 * LOG_2PI
        inverse = 1.0 / scale
        out = np.empty((k, len(X)))
        independent_log_densities(cells, means, inverse, constant, out)

        def summarize(shares: Floats) -> SoftMoments:
            first, second = np.empty((k, d)), np.empty((k, d))
            independent_moments(cells, means, inverse, shares, first, second)
            if self.kind == "spherical":
                second = second.sum(axis=1)
            return SoftMoments(shares.sum(axis=1), first, second)

        return out, summarize

    # --- draws -----------------------------------------------------------------------------

    def sample(self, component: int, n: int, rng: Any) -> Floats:
        """Rows of one component."""
        drawn = rng.standard_normal((n, self.n_columns))
        moved: Floats = self.means[component] + drawn @ self.factors()[component].T
        return moved


def inverse_of(factor: Floats) -> Floats:
    """L⁻¹ of a lower triangular matrix."""
    found: Floats = solve_triangular(factor, np.eye(len(factor)), lower=True)
    return found
