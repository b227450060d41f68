"""What was proved about a fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from suffice.fitting.registry import register


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
