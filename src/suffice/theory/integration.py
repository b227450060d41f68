"""Expectations under densities: sums over whole numbers, integrals over the line and the plane.

Infinite axes are mapped to finite ones, x = c + s t / (1 − t²) with −1 < t < 1, and cut at first
where draws of the densities lie, so that a narrow one among wide ones is not overlooked.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from suffice.numerics.double_double import Array
from suffice.theory.densities import Density
from suffice.theory.quadrature import Integral, Integrand, Pieces, integrate

LOOK = 2000
"""Draws by which it is found out where a density is; they decide about no result."""

CUTS = (0.0, 0.02, 0.25, 0.5, 0.75, 0.98, 1.0)
"""Shares of the draws below the first cuts."""

BEYOND = np.array([0.3, 1.0, 4.0, 20.0])
"""Further cuts on both sides, in units of the draws' range: towards a narrow density's tails."""

CHUNK = 1 << 16
MOST_TERMS = 1 << 24
ALL = (1.0 - 1e-15,)
"""Probability at which a sum may stop."""

MISSING = 1e-4
"""Probability that may be missing, or too much, before a density counts as none."""

MOST_EVALUATIONS = {1: 1 << 20, 2: 1 << 23}
TOLERANCE = {1: 1e-10, 2: 1e-4}
"""Errors at which to stop, by dimension."""


def checked_tolerance(tolerance: Any) -> float | None:
    """A tolerance that a quadrature can stop at, or None."""
    if tolerance is None:
        return None
    if isinstance(tolerance, Real) and 0 <= float(tolerance) < np.inf:
        return float(tolerance)
    raise ValueError(f"tolerance is {tolerance!r}; accepted are numbers that are not negative")


def summed(
    functions: Integrand, densities: Sequence[Density], enough: Sequence[float] = ALL
) -> Integral:
    """Sums over whole numbers.

    The last function is a probability, which says when to stop; with more numbers in `enough`,
    so do those before it, each of which must have come so far.
    """
    ends = [
        np.asarray(density.support, dtype=np.float64).reshape(2, -1)[:, 0] for density in densities
    ]
    low, high = float(min(a for a, _ in ends)), float(max(b for _, b in ends))
    if not np.isfinite(low):
        raise ValueError(
            "sums begin somewhere: give Density(…, discrete=True, support=(lower, upper))"
        )
    total, start = np.zeros(0), low
    while start <= high and start - low < MOST_TERMS:
        points = start + np.arange(min(CHUNK, high - start + 1.0))
        # A function after the other in memory: only then does NumPy add them up in pairs.
        part = np.ascontiguousarray(functions(points[:, None])[0].T).sum(axis=1)
        total = part if not total.size else total + part
        start += CHUNK
        if (total[-len(enough) :] > enough).all():
            break
    error = np.full(len(total), max(1.0 - float(total[-1]), 0.0) + 1e-15)
    return Integral(total, error, int(min(start, high + 1.0) - low))


def integrated(
    functions: Integrand,
    densities: Sequence[Density],
    tolerance: float | None = None,
) -> Integral:
    """Integrals over the supports of densities of one or two dimensions."""
    d = densities[0].dimension
    draws = [x.sample(LOOK, np.random.default_rng(0)) for x in densities if x.draw is not None]
    axes = [_Axis(densities, [x[:, j] for x in draws], j) for j in range(d)]

    def in_unit(points: Array) -> tuple[Array, Pieces | None]:
        mapped = [axis.at(points[:, j]) for j, axis in enumerate(axes)]
        jacobian = np.prod([slope for _, slope in mapped], axis=0)[:, None]
        values, pieces = functions(np.stack([x for x, _ in mapped], axis=1))
        if pieces is not None:
            pieces = Pieces(pieces.taken, pieces.values * jacobian)
        return values * jacobian, pieces

    stop = TOLERANCE[d] if tolerance is None else tolerance
    return integrate(in_unit, [axis.edges for axis in axes], stop, MOST_EVALUATIONS[d])


class _Axis:
    """One axis: from t in a finite range to x in the support."""

    def __init__(self, densities: Sequence[Density], draws: list[Array], j: int) -> None:
        ends = [[np.broadcast_to(end, x.dimension)[j] for end in x.support] for x in densities]
        self.low, self.high = float(min(a for a, _ in ends)), float(max(b for _, b in ends))
        marks = np.concatenate([_marks(x) for x in draws]) if draws else np.zeros(0)
        finite = [end for pair in ends for end in pair if np.isfinite(end)]
        inner = np.unique(np.concatenate([marks, finite]))
        within = inner[(inner > self.low) & (inner < self.high)]
        self.centre = float(np.median(within)) if len(within) else 0.0
        spread = float(np.quantile(within, 0.9) - np.quantile(within, 0.1)) if len(within) else 1.0
        self.scale = spread if spread > 0 else 1.0
        first, last = self._t(np.array([self.low, self.high]))
        between = np.linspace(first, last, 9)
        self.edges = np.unique(np.concatenate([between, self._t(within)]))

    def at(self, t: Array) -> tuple[Array, Array]:
        """x, and dx/dt; beside the ends, where a density or the slope may be infinite."""
        t = np.clip(t, *np.nextafter(self.edges[[0, -1]], self.edges[[-1, 0]]))
        left, right = np.isfinite(self.low), np.isfinite(self.high)
        if left and right:
            return t, np.ones_like(t)
        if left or right:
            end, sign = (self.low, 1.0) if left else (self.high, -1.0)
            rest = 1.0 - t if left else 1.0 + t
            u = np.abs(t)
            return end + sign * self.scale * u / rest, self.scale / rest**2
        rest = (1.0 - t) * (1.0 + t)
        return self.centre + self.scale * t / rest, self.scale * (1.0 + t * t) / rest**2

    def _t(self, x: Array) -> Array:
        """The inverse of `at`."""
        left, right = np.isfinite(self.low), np.isfinite(self.high)
        if left and right:
            return x
        if left or right:
            away = np.abs(x - (self.low if left else self.high)) / self.scale
            t = np.where(np.isinf(away), 1.0, away / (1.0 + np.where(np.isinf(away), 0.0, away)))
            return t if left else -t
        z = (x - self.centre) / self.scale
        finite = np.where(np.isinf(z), 0.0, z)
        t = 2.0 * finite / (1.0 + np.sqrt(1.0 + 4.0 * finite * finite))
        return np.where(np.isinf(z), np.sign(z), t)


def _marks(draws: Array) -> Array:
    """Where a density is, and where its tails begin."""
    cuts = np.quantile(draws, CUTS)
    away = (cuts[-1] - cuts[0]) * BEYOND
    return np.concatenate([cuts[0] - away, cuts, cuts[-1] + away])
