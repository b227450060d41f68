"""The hinge and its square, as functions of the slack r = 1 − y f(x) of each row.

    squared hinge     ℓ(r) = max(0, r)²
    hinge             ℓ(r) = max(0, r) = max over 0 ≤ u ≤ 1 of u r

The hinge has a kink, so Newton's method gets its augmented Lagrangian: with an estimate a of the
multiplier u of each row and a rate τ,

    ψ(r) = max over 0 ≤ u ≤ 1 of  u r − (u − a)²/2τ,      u(r) = clip(a + τ r, 0, 1)

is smooth, and has the hinge's minimiser once a = u there.  After each minimum a becomes u.  As u is
a function of the slack alone, a row's multiplier can be told from the points at which it was
renewed: no number has to be kept beside a row, however many rows there are.  Squared hinges are
smooth as they are, but steep where C is large and the classes are apart; they too have such a
function, with u r − u²/4 in the place of u r, and u = max(0, a + τ r) / (1 + τ/2).

In both losses α = C s u is a point of the dual problem, s the weight of the row.

Reference: Rockafellar, "Augmented Lagrangians and applications of the proximal point algorithm in
convex programming" (1976); Mangasarian, "A finite Newton method for classification" (2002).
"""

from __future__ import annotations

from dataclasses import dataclass
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
    renewal : array of shape (rows,), or None
        (u − a)²/2τ, what the value lacks of the loss of u.
    """

    value: Array
    loss: Array
    multiplier: Array
    curved: NDArray[np.bool_]
    renewal: Array | None = None


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

    @property
    def points(self) -> Array: ...

    @property
    def curvature(self) -> float: ...

    @property
    def bounded(self) -> bool: ...

    def multipliers(self, slacks: Array) -> Array | None:
        """a of each row from its slacks at `points`, of shape (renewals, rows)."""
        ...

    def __call__(self, slack: Array, multiplier: Array | None) -> Reaction:
        """The loss of each row, from its slack and a."""
        ...

    def renew(self, slack: Array, multiplier: Array | None) -> Array:
        """u alone."""
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

    def renew(self, slack: Array, multiplier: Array | None) -> Array:
        return 2 * np.maximum(slack, 0.0)


@dataclass(frozen=True, eq=False)
class AugmentedHinge:
    """The augmented Lagrangian of the hinge, or of its square.

    Attributes
    ----------
    squared : bool
    points : array of shape (renewals, parameters)
    rate : float
        τ.
    rates : tuple of float
        τ at each renewal.
    """

    squared: bool
    points: Array
    rate: float
    rates: tuple[float, ...] = ()

    @property
    def bounded(self) -> bool:
        return not self.squared

    @property
    def curvature(self) -> float:
        return self.rate / self._stiffness(self.rate)

    def _stiffness(self, rate: float) -> float:
        return 1.0 + rate / 2 if self.squared else 1.0

    def _clipped(self, free: Array, rate: float) -> Array:
        """u from a + τ r, in place."""
        if self.squared:
            free /= self._stiffness(rate)
            return np.maximum(free, 0.0, out=free)
        return np.clip(free, 0.0, 1.0, out=free)

    def multipliers(self, slacks: Array) -> Array | None:
        if not self.rates:
            return None
        multiplier = np.zeros(slacks.shape[1])
        for rate, slack in zip(self.rates, slacks, strict=True):
            multiplier += rate * slack
            multiplier = self._clipped(multiplier, rate)
        return multiplier

    def __call__(self, slack: Array, multiplier: Array | None) -> Reaction:
        free = self.rate * slack
        if multiplier is not None:
            free += multiplier
        curved = free > 0
        if not self.squared:
            curved &= free < 1
        renewed = self._clipped(free, self.rate)
        change = renewed if multiplier is None else renewed - multiplier
        renewal = change * change / (2 * self.rate)
        value = renewed * slack - renewal
        loss = np.maximum(slack, 0.0)
        if self.squared:
            value -= renewed * renewed / 4
            loss *= loss
        return Reaction(value, loss, renewed, curved, renewal)

    def renew(self, slack: Array, multiplier: Array | None) -> Array:
        free = self.rate * slack
        if multiplier is not None:
            free += multiplier
        return self._clipped(free, self.rate)

    def renewed(self, point: Array, rate: float) -> AugmentedHinge:
        """The loss whose multipliers are those of this one at a point."""
        points = np.vstack([self.points, point])
        return AugmentedHinge(self.squared, points, rate, (*self.rates, self.rate))
