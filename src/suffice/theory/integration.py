"""Expectations under densities: sums over whole numbers, integrals over the line and the plane.

Integrals are SciPy's adaptive cubature, which bounds the error of a cell by the difference of two
rules of Gauss and Kronrod.  It begins with cells that are cut where draws of the densities lie, so
that a narrow one among wide ones is not overlooked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise, product
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import cubature

from suffice.numerics.double_double import Array
from suffice.theory.densities import Density

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

GRID = 100
"""Points between two cuts by which changes are found."""

MISSING = 1e-4
"""Probability that may be missing, or too much, before a density counts as none."""

TOLERANCE = {1: 1e-10, 2: 1e-4}
"""Errors at which to stop, by dimension."""

MOST_CUTS = {1: 150, 2: 2000}
"""Cells that are cut at most."""

Integrand = Callable[[Array], Array]
"""From points of shape (n, dimension) to values of shape (n, functions)."""


class Integral(NamedTuple):
    """The value of an integral of several functions.

    Attributes
    ----------
    value, error : arrays of shape (functions,)
        The integrals, and what bounds their errors as far as the points can tell.
    evaluations : int
    """

    value: Array
    error: Array
    evaluations: int


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
    ends = [_ends(density)[:, 0] for density in densities]
    low, high = float(min(a for a, _ in ends)), float(max(b for _, b in ends))
    if not np.isfinite(low):
        raise ValueError(
            "sums begin somewhere: give Density(…, discrete=True, support=(lower, upper))"
        )
    total, start = np.zeros(0), low
    while start <= high and start - low < MOST_TERMS:
        points = start + np.arange(min(CHUNK, high - start + 1.0))
        # A function after the other in memory: only then does NumPy add them up in pairs.
        part = np.ascontiguousarray(functions(points[:, None]).T).sum(axis=1)
        total = part if not total.size else total + part
        start += CHUNK
        if (total[-len(enough) :] > enough).all():
            break
    error = np.full(len(total), max(1.0 - float(total[-1]), 0.0) + 1e-15)
    return Integral(total, error, int(min(start, high + 1.0) - low))


def integrated(
    functions: Integrand,
    densities: Sequence[Density],
    tolerance: float,
    pieces: Callable[[Array], NDArray[np.int64]] | None = None,
) -> Integral:
    """Integrals over the supports of densities of one or two dimensions.

    On the line the functions may have kinks and jumps where `pieces`, a number for each point,
    changes: there it is cut, so that each cell sees a smooth function.
    """
    d = densities[0].dimension
    ends = np.stack([_ends(density) for density in densities])
    low, high = ends[:, 0].min(axis=0), ends[:, 1].max(axis=0)
    draws = [x.sample(LOOK, np.random.default_rng(0)) for x in densities if x.draw is not None]
    cuts = np.concatenate([*(_cuts(x) for x in draws), *ends])
    origin, scale = _unit(cuts, low, high)
    evaluations = 0

    def counted(z: Array) -> Array:
        nonlocal evaluations
        evaluations += len(z)
        # Beside the ends, where a density may be infinite.
        x = np.clip(origin + scale * z, np.nextafter(low, high), np.nextafter(high, low))
        return functions(x) * scale.prod()

    # In the plane SciPy finds its cells by itself.
    marks = cuts if d == 1 else cuts[:0]
    if d == 1 and pieces is not None:
        marks = np.concatenate([cuts, _changes(pieces, np.clip(cuts[:, 0], low, high))])
    edges = [np.unique(np.clip([*marks[:, j], low[j], high[j]], low[j], high[j])) for j in range(d)]
    edges = [(edge - o) / s for edge, o, s in zip(edges, origin, scale, strict=True)]
    n_cells = np.prod([len(edge) - 1 for edge in edges])
    value, error = np.zeros(()), np.zeros(())
    # A call for each cell: SciPy does not keep in order the cells that it cuts at given points.
    for cell in product(*(pairwise(edge) for edge in edges)):
        a, b = np.transpose(cell)
        found = cubature(
            counted,
            a,
            b,
            rtol=0.0,
            atol=tolerance / n_cells,
            max_subdivisions=MOST_CUTS[d],
        )
        value, error = value + found.estimate, error + found.error
    return Integral(value, error + 1e-15 * np.abs(value), evaluations)


def _ends(density: Density) -> Array:
    """The ends of the support, of shape (2, dimension)."""
    return np.stack([np.broadcast_to(end, density.dimension) for end in density.support]).astype(
        np.float64
    )


def _cuts(draws: Array) -> Array:
    """Where a density is and where its tails begin, of shape (cuts, dimension)."""
    cuts = np.quantile(draws, CUTS, axis=0)
    away = (cuts[-1] - cuts[0]) * BEYOND[:, None]
    return np.concatenate([cuts[0] - away, cuts, cuts[-1] + away])


def _changes(pieces: Callable[[Array], NDArray[np.int64]], cuts: Array) -> Array:
    """Where a function of the line changes its value, by bisection between points of a grid."""
    finite = np.unique(cuts[np.isfinite(cuts)])
    grid = np.linspace(finite[:-1], finite[1:], GRID, axis=1).ravel()[:, None]
    values = pieces(grid) if len(grid) else np.zeros(0, np.int64)
    first = np.flatnonzero(values[1:] != values[:-1])
    low, high = grid[first], grid[first + 1]
    for _ in range(60 if len(first) else 0):
        middle = 0.5 * (low + high)
        same = (pieces(middle) == values[first])[:, None]
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return high


def _unit(cuts: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """The origin and the unit of each axis: an end of the support, where there is one.

    A density may be infinite there, and points beside 0 have digits of their own.
    """
    finite = cuts[np.isfinite(cuts).all(axis=1)]
    if not len(finite):
        finite = np.array([[-1.0], [1.0]]) * np.ones(len(low))
    spread = np.quantile(finite, 0.9, axis=0) - np.quantile(finite, 0.1, axis=0)
    middle = np.where(np.isfinite(high), high, np.median(finite, axis=0))
    return np.where(np.isfinite(low), low, middle), np.where(spread > 0, spread, 1.0)
