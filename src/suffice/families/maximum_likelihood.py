"""Where a likelihood is largest, and the proof of it.

At the maximum the model's mean of T is the sample's.  The certificate compares them once more, at
the η that is handed out, and measures what is left by the size and the spread of T.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.fitting.certificate import Certificate
from suffice.numerics.double_double import Array
from suffice.statistics.exponential_family import SufficientSums

if TYPE_CHECKING:
    from suffice.families.base import Family

LARGEST_GRADIENT = 1e-8
"""Gradient, relative to |E[Tⱼ]| + √Var[Tⱼ], up to which a maximum counts as found."""

FEWEST_DIGITS = 6.0
"""Digits of the parameters that the sums must determine for the certificate to hold."""

CLAIM = "the likelihood is largest: its gradient Σw (T(y) − E[T]) vanishes"
NO_MAXIMUM = "the likelihood has no maximum: "


@dataclass(frozen=True, eq=False)
class MaximumLikelihood:
    """The most likely parameters.

    Attributes
    ----------
    eta : array of shape (p,)
        The natural parameter; infinite where the likelihood grows towards a limit.
    parameters : dict
        The usual parameters, or their limits.
    path : str
        How they were found.
    exists : bool
        Whether there is a maximum at all.
    notes : tuple of str
    """

    eta: Array
    parameters: dict[str, Any]
    path: str = "closed form"
    exists: bool = True
    notes: tuple[str, ...] = field(default=())


def certify(family: Family, sums: SufficientSums, found: MaximumLikelihood) -> Certificate:
    """What is proved about a maximum, computed from η itself."""
    if not found.exists:
        return Certificate(False, CLAIM, found.path, {"digits": 0.0}, found.notes)
    gradient = relative_gradient(family, sums, found.eta)
    digits = family._digits(sums, found.eta)
    notes = found.notes
    if digits < FEWEST_DIGITS:
        notes += (
            f"the sums determine {digits:.1f} decimal digits of the parameters: the values are "
            "nearly all equal, or rows far larger were taken away",
        )
    if not gradient <= LARGEST_GRADIENT:
        notes += (f"the gradient is {gradient:.1e} of the size of T, not zero",)
    return Certificate(
        holds=bool(gradient <= LARGEST_GRADIENT and digits >= FEWEST_DIGITS),
        claim=CLAIM,
        path=found.path,
        measures={"gradient": gradient, "digits": digits},
        notes=notes,
    )


def relative_gradient(family: Family, sums: SufficientSums, eta: Array) -> float:
    """The largest |mean of Tⱼ over the rows − E[Tⱼ]|, relative to |E[Tⱼ]| + √Var[Tⱼ]."""
    model = family.mean(eta)
    gap = np.abs((sums.mean - model).round())
    variance = np.diagonal(family.covariance(eta), axis1=-2, axis2=-1)
    scale = np.abs(model) + np.sqrt(variance)
    relative = np.divide(gap, scale, out=np.where(gap > 0, np.inf, 0.0), where=scale > 0)
    return float(relative.max())
