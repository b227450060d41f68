"""Integrals over boxes of one or two dimensions, cut where they are difficult.

Each cell is integrated by Kronrod's rule of 15 points an axis and by Gauss's of 7 among them.
Where a function is smooth, their difference bounds the error.  Where it is put together from pieces
fₐ, as minus the largest of several densities is, a cell in which more than one piece is met adds

    volume · max |fₐ − f_b|

over its points and the pieces met there: by so much can the integral change at most if another
piece were taken.  Cells with the largest bounds are cut in halves until their sum is small enough.
On the line all cells are then halved once more, and what that changes is added: two rules that
happen to agree beside a kink do not stay unnoticed.  All this says what the points can tell, and no
more: what lies unseen between two points is not known.

Reference: Piessens et al., "QUADPACK" (1983).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.numerics.double_double import Array

_HALF = [
    0.991455371120812639206854697526329,
    0.949107912342758524526189684047851,
    0.864864423359769072789712788640926,
    0.741531185599394439863864773280788,
    0.586087235467691130294144691693013,
    0.405845151377397166906606412076961,
    0.207784955007898467600689403773245,
]
_KRONROD = [
    0.022935322010529224963732008058970,
    0.063092092629978553290700663189204,
    0.104790010322250183839876322541518,
    0.140653259715525918745189590510238,
    0.169004726639267902826583426598550,
    0.190350578064785409913256402421014,
    0.204432940075298892414161999234649,
]
_GAUSS = [0.129484966168869693270611432679082, 0.279705391489276667901467771423780,
          0.381830050505118944950369775488975]  # fmt: skip

_EDGE = 1.0 - 1e-12

NODES = np.array([-_EDGE, *(-x for x in _HALF), 0.0, *_HALF[::-1], _EDGE])
"""Kronrod's, and one at either end without a weight, which sees the pieces of the next cell."""

KRONROD = np.array([0.0, *_KRONROD, 0.209482141084727828012999174891714, *_KRONROD[::-1], 0.0])
GAUSS = np.zeros(17)
GAUSS[2:-1:2] = [*_GAUSS, 0.417959183673469387755102040816327, *_GAUSS[::-1]]

MOST_POINTS = 1 << 18
"""Points at which functions are evaluated at once."""

SMALLEST = 1e-15
"""Width, relative to its place, at which a cell is cut no more."""


class Pieces(NamedTuple):
    """Of which of several functions the first integrand is put together.

    Attributes
    ----------
    taken : int array of shape (n,)
        Which of them is taken at each point.
    values : array of shape (n, pieces)
        What all of them are there.
    """

    taken: NDArray[np.int64]
    values: Array


Integrand = Callable[[Array], tuple[Array, Pieces | None]]
"""From points of shape (n, dimension) to values of shape (n, functions), and their pieces."""


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


def integrate(function: Integrand, edges: list[Array], tolerance: float, most: int) -> Integral:
    """Integrate functions over a box.

    Parameters
    ----------
    function : Integrand
    edges : list of arrays
        Where the box is cut at first, for each axis, in rising order.
    tolerance : float
        Sum of the functions' errors at which to stop.
    most : int
        Evaluations at which to stop.
    """
    low, high = _grid(edges)
    value, error = _evaluated(function, low, high)
    used = len(low) * len(NODES) ** len(edges)
    while (total := (each := error.sum(axis=1)).sum()) > tolerance and used < most:
        worst = np.argsort(each)[::-1]
        # The fewest cells with nine tenths of the error: each is cut along every axis.
        share = int(np.searchsorted(np.cumsum(each[worst]), 0.9 * total)) + 1
        chosen, kept = worst[:share], worst[share:]
        if not (high[chosen] - low[chosen] > SMALLEST * (1.0 + np.abs(low[chosen]))).all():
            break
        low_new, high_new = _halved(low[chosen], high[chosen])
        value_new, error_new = _evaluated(function, low_new, high_new)
        used += len(low_new) * len(NODES) ** len(edges)
        low, high = np.concatenate([low[kept], low_new]), np.concatenate([high[kept], high_new])
        value = np.concatenate([value[kept], value_new])
        error = np.concatenate([error[kept], error_new])
    changed = np.zeros(value.shape[1])
    if len(edges) == 1:
        before = value.sum(axis=0)
        value, error = _evaluated(function, *_halved(low, high))
        changed = np.abs(value.sum(axis=0) - before)
        used += 2 * len(low) * len(NODES)
    rounding = 1e-15 * np.abs(value).sum(axis=0)
    return Integral(value.sum(axis=0), error.sum(axis=0) + changed + rounding, used)


def _grid(edges: list[Array]) -> tuple[Array, Array]:
    low = np.meshgrid(*(cut[:-1] for cut in edges), indexing="ij")
    high = np.meshgrid(*(cut[1:] for cut in edges), indexing="ij")
    return np.stack([a.ravel() for a in low], axis=1), np.stack([a.ravel() for a in high], axis=1)


def _halved(low: Array, high: Array) -> tuple[Array, Array]:
    """Cells cut in halves along every axis."""
    for axis in range(low.shape[1]):
        middle = 0.5 * (low[:, axis] + high[:, axis])
        left, right = high.copy(), low.copy()
        left[:, axis] = right[:, axis] = middle
        low, high = np.concatenate([low, right]), np.concatenate([left, high])
    return low, high


def _evaluated(function: Integrand, low: Array, high: Array) -> tuple[Array, Array]:
    """Integral and error of each cell, of shape (cells, functions)."""
    d = low.shape[1]
    at_once = MOST_POINTS // len(NODES) ** d
    if len(low) > at_once:
        parts = [
            _evaluated(function, low[i : i + at_once], high[i : i + at_once])
            for i in range(0, len(low), at_once)
        ]
        value, error = (np.concatenate(both) for both in zip(*parts, strict=True))
        return value, error
    unit = np.stack([a.ravel() for a in np.meshgrid(*[NODES] * d, indexing="ij")], axis=1)
    weights = np.stack([KRONROD, GAUSS])
    for _ in range(d - 1):
        weights = np.stack(
            [np.kron(row, rule) for row, rule in zip(weights, (KRONROD, GAUSS), strict=True)]
        )
    half = 0.5 * (high - low)
    points = (0.5 * (low + high))[:, None, :] + half[:, None, :] * unit
    values, pieces = function(points.reshape(-1, d))
    volume = half.prod(axis=1)[:, None]
    fine, rough = (
        volume * np.einsum("j,ijk->ik", rule, values.reshape(len(low), len(unit), -1))
        for rule in weights
    )
    error = np.abs(fine - rough)
    if pieces is not None:
        # The box of t runs from −1 to 1 in half units: its volume is 2ᵈ of these.
        error[:, 0] += 2.0**d * volume[:, 0] * _spans(pieces, len(low))
    return fine, error


def _spans(pieces: Pieces, n_cells: int) -> Array:
    """How far apart the pieces that a cell meets are at most; 0 where it meets one."""
    taken = pieces.taken.reshape(n_cells, -1)
    spans = np.zeros(n_cells)
    mixed = np.flatnonzero((taken != taken[:, :1]).any(axis=1))
    values = pieces.values.reshape(n_cells, taken.shape[1], -1)[mixed]
    met = (taken[mixed][:, :, None] == np.arange(values.shape[2])).any(axis=1)[:, None, :]
    top = np.where(met, values, -np.inf).max(axis=2)
    bottom = np.where(met, values, np.inf).min(axis=2)
    spans[mixed] = (top - bottom).max(axis=1)
    return spans
