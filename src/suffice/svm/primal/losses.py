"""The hinge and its square, as functions of the slack r = 1 − y f(x) of each row.

    squared hinge     ℓ(r) = max(0, r)²
    hinge             ℓ(r) = max(0, r) = max over 0 ≤ u ≤ 1 of u r

The hinge has a kink, so Newton's method gets its augmented Lagrangian: with an estimate a of the
multiplier u of each row and a rate τ,

    ψ(r) = max over 0 ≤ u ≤ 1 of  u r − (u − a)²/2τ,      u(r) = clip(a + τ r, 0, 1)

is smooth, and is the hinge in the limit of a = u.  After each minimum a becomes u.  As u is a
function of the slack alone, a row's multiplier can be told from the points at which it was renewed:
no number has to be kept beside a row, however many rows there are.

In both losses α = C s u is a point of the dual problem, s the weight of the row.

Reference: Rockafellar, "Augmented Lagrangians and applications of the proximal point algorithm in
convex programming" (1976); Mangasarian, "A finite Newton method for classification" (2002).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from suffice.numerics.double_double import Array


class Reaction(NamedTuple):
    """What a smooth loss makes of the slacks of some rows.

    Attributes
    ----------
    value : array of shape (rows,)
        What Newton's method minimises.
    loss : array of shape (rows,)
        ℓ itself.
    multiplier : array of shape (rows,)
        u, the derivative of the value.
    curved : bool array of shape (rows,)
        Where the second derivative is not 0; it is `curvature` there.
    """

    value: Array
    loss: Array
    multiplier: Array
    curved: NDArray[np.bool_]


class MarginLoss(Protocol):
    """A loss of the slack, smooth or smoothed.

    Attributes
    ----------
    points : array of shape (renewals, parameters)
        Where the multipliers were renewed.
    curvature : float
        The second derivative where there is one.
    bounded : bool
        Whether multipliers beyond 1 are no points of the dual problem.
    """

    points: Array
    curvature: float
    bounded: bool

    def multipliers(self, slacks: Array) -> Array | None:
        """a of each row from its slacks at `points`, of shape (renewals, rows)."""
        ...

    def __call__(self, slack: Array, multiplier: Array | None) -> Reaction:
        """The loss of each row, from its slack and a."""
        ...


@dataclass(frozen=True, eq=False)
class SquaredHinge:
    """max(0, r)²."""

    points: Array
    curvature: float = 2.0
    bounded: bool = False

    def multipliers(self, slacks: Array) -> Array | None:
        return None

    def __call__(self, slack: Array, multiplier: Array | None) -> Reaction:
        positive = np.maximum(slack, 0.0)
        value = positive * positive
        return Reaction(value, value, 2 * positive, slack > 0)


@dataclass(frozen=True, eq=False)
class Hinge:
    """max(0, r) in its augmented Lagrangian.

    Attributes
    ----------
    points : array of shape (renewals, parameters)
    rates : tuple of float
        τ at each renewal.
    curvature : float
        τ.
    """

    points: Array
    curvature: float
    rates: tuple[float, ...] = ()
    bounded: bool = field(default=True, init=False)

    def multipliers(self, slacks: Array) -> Array | None:
        if not self.rates:
            return None
        multiplier = np.zeros(slacks.shape[1])
        for rate, slack in zip(self.rates, slacks, strict=True):
            multiplier += rate * slack
            np.clip(multiplier, 0.0, 1.0, out=multiplier)
        return multiplier

    def __call__(self, slack: Array, multiplier: Array | None) -> Reaction:
        rate = self.curvature
        free = rate * slack if multiplier is None else multiplier + rate * slack
        renewed = np.clip(free, 0.0, 1.0)
        change = renewed if multiplier is None else renewed - multiplier
        value = renewed * slack - change * change / (2 * rate)
        curved = (free > 0) & (free < 1)
        return Reaction(value, np.maximum(slack, 0.0), renewed, curved)

    def renewed(self, point: Array, rate: float) -> Hinge:
        """The loss whose multipliers are those of this one at a point."""
        points = np.vstack([self.points, point])
        return Hinge(points, rate, (*self.rates, self.curvature))
