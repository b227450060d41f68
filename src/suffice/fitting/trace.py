"""How a fit went, a row a pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from suffice.fitting.files.registry import register


@register
@dataclass(frozen=True)
class Trace:
    """One row for each pass over the data.

    Attributes
    ----------
    step : tuple of str
        What the pass computed.
    objective : tuple of float
        The objective after it (NaN where a pass has none).
    seconds : tuple of float
        How long the pass and the update took.
    accepted : tuple of bool
        False for a pass at a point that the method tried and turned back from; by default all
        are True.
    """

    step: tuple[str, ...] = ()
    objective: tuple[float, ...] = ()
    seconds: tuple[float, ...] = ()
    accepted: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        if not self.accepted:
            object.__setattr__(self, "accepted", (True,) * len(self.step))

    def extended(self, step: str, objective: float, seconds: float, accepted: bool = True) -> Trace:
        """This trace and one more row."""
        return self + Trace((step,), (float(objective),), (float(seconds),), (accepted,))

    def __add__(self, more: Trace) -> Trace:
        return Trace(
            self.step + more.step,
            self.objective + more.objective,
            self.seconds + more.seconds,
            self.accepted + more.accepted,
        )

    def __len__(self) -> int:
        return len(self.step)

    def __str__(self) -> str:
        lines = [f"{'pass':>4}  {'objective':>14}  {'seconds':>9}  step"]
        rows = zip(self.step, self.objective, self.seconds, self.accepted, strict=True)
        for i, (step, objective, seconds, accepted) in enumerate(rows, start=1):
            verdict = "" if accepted else ", rejected"
            lines.append(f"{i:>4}  {objective:>14.8g}  {seconds:>9.4f}  {step}{verdict}")
        return "\n".join(lines)

    def to_frame(self) -> Any:
        """The rows as a pandas DataFrame (needs `suffice[frames]`)."""
        import pandas as pd

        return pd.DataFrame(vars(self), index=pd.RangeIndex(1, len(self) + 1, name="pass"))

    def plot(self, ax: Any = None) -> Any:
        """Draw the objective against the passes, but rejected ones (needs `suffice[plot]`)."""
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots()
        passes = [i for i, accepted in enumerate(self.accepted) if accepted]
        ax.plot([i + 1 for i in passes], [self.objective[i] for i in passes], marker="o")
        ax.set(xlabel="pass", ylabel="objective")
        return ax
