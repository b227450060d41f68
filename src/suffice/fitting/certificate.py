"""What was proved about a fit, and how many digits a bound on an error guarantees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from suffice.fitting.files.registry import register

ENOUGH_DIGITS = 6.0
"""Digits that a fit must guarantee: with fewer in float64 it is made again in double-double."""

MOST_DIGITS = 15.6
"""Digits that a float64 can show."""


@register
@dataclass(frozen=True)
class Certificate:
    """What was proved about a fit, computed from its result.

    Attributes
    ----------
    holds : bool
        Whether the model's claim was proved to its tolerance.
    claim : str
        What is claimed, in a sentence.
    path : str
        The way the result was computed.
    measures : mapping of str to float
        What was measured, by name; also readable as attributes (`certificate.digits`).
    notes : tuple of str
        What a careful user should know: fallbacks taken, columns found dependent.

    Examples
    --------
    >>> proof = Certificate(True, "the gradient vanishes", "Newton", {"gradient": 1e-12})
    >>> proof.gradient
    1e-12
    >>> print(proof)
    holds: the gradient vanishes
      path      Newton
      gradient  1e-12
    """

    holds: bool
    claim: str
    path: str
    measures: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "measures", MappingProxyType(dict(self.measures)))

    def __getattr__(self, name: str) -> float:
        measures = self.__dict__.get("measures", {})
        if name in measures:
            return float(measures[name])
        raise AttributeError(
            f"this certificate has no measure {name!r}; it has {', '.join(measures) or 'none'}"
        )

    def __reduce__(self) -> tuple[object, ...]:
        return Certificate, (self.holds, self.claim, self.path, dict(self.measures), self.notes)

    def __str__(self) -> str:
        rows = [("path", self.path)]
        rows += [(name, f"{value:.4g}") for name, value in self.measures.items()]
        rows += [("note", note) for note in self.notes]
        width = max(len(name) for name, _ in rows)
        verdict = "holds" if self.holds else "DOES NOT HOLD"
        return "\n".join(
            [f"{verdict}: {self.claim}", *(f"  {name:<{width}}  {text}" for name, text in rows)]
        )


def with_penalty(loss: str, name: str, strength: Any) -> str:
    """What is minimised, in words: a loss, and how strong its penalty is.

    Parameters
    ----------
    loss : str
    name : str
        What the strength is called.
    strength : float or array
        0 for no penalty; several may differ.

    Examples
    --------
    >>> with_penalty("the squared error", "α", 0.5)
    'the squared error with the penalty α = 0.5'
    >>> with_penalty("the squared error", "α", [0.5, 2.0])
    'the squared error with its penalties'
    >>> with_penalty("the squared error", "α", 0.0)
    'the squared error'
    """
    low, high = float(np.min(strength)), float(np.max(strength))
    if low != high:
        return f"{loss} with its penalties"
    return f"{loss} with the penalty {name} = {low:g}" if low else loss


def digits_within(error: float) -> float:
    """Decimal digits that a bound on a relative error guarantees.

    Examples
    --------
    >>> digits_within(1e-12), digits_within(float("inf"))
    (12.0, 0.0)
    """
    return float(np.clip(-np.log10(error), 0.0, MOST_DIGITS)) + 0.0 if np.isfinite(error) else 0.0


def rounded_down(digits: float) -> str:
    """Digits as a claim shows them: never more than are guaranteed.

    Examples
    --------
    >>> rounded_down(8.19)
    '8.1'
    """
    return f"{np.floor(10 * digits) / 10:.1f}"
