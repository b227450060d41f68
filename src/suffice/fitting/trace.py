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
    """

    step: tuple[str, ...] = ()
    objective: tuple[float, ...] = ()
    seconds: tuple[float, ...] = ()

    def extended(self, step: str, objective: float, seconds: float) -> Trace:
        """This trace and one more row."""
        return Trace(
            (*self.step, step),
            (*self.objective, float(objective)),
            (*self.seconds, float(seconds)),
        )

    def __add__(self, more: Trace) -> Trace:
        return Trace(
            self.step + more.step, self.objective + more.objective, self.seconds + more.seconds
        )

    def __len__(self) -> int:
        return len(self.step)

    def __str__(self) -> str:
        lines = [f"{'pass':>4}  {'objective':>14}  {'seconds':>9}  step"]
        for i, (step, objective, seconds) in enumerate(
            zip(self.step, self.objective, self.seconds, strict=True), start=1
        ):
            lines.append(f"{i:>4}  {objective:>14.8g}  {seconds:>9.4f}  {step}")
        return "\n".join(lines)

    def to_frame(self) -> Any:
        """The rows as a pandas DataFrame (needs `suffice[frames]`)."""
        import pandas as pd

        return pd.DataFrame(
            {"step": self.step, "objective": self.objective, "seconds": self.seconds},
            index=pd.RangeIndex(1, len(self) + 1, name="pass"),
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the objective against the passes (needs `suffice[plot]`)."""
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots()
        ax.plot(range(1, len(self) + 1), self.objective, marker="o")
        ax.set(xlabel="pass", ylabel="objective")
        return ax
