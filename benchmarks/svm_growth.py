"""Cost of support vector classification as rows grow: a table, and a plot of two panels.

A contender stops where its next point, at the square of the rows, would take too long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.growth import Points, draw, exponent
from benchmarks.harness import OURS, Options, Result, Table, rested
from benchmarks.report import duration
from benchmarks.svm import Machine, made

LONGEST = 30.0
"""Seconds that a point may be expected to take."""

PLOT = Path(__file__).parents[1] / "docs" / "svm-growth.svg"
CONTENDERS = {
    OURS: "suffice.SVC",
    "scikit-learn": "sklearn.svm.SVC",
    "intelex": "sklearnex.svm.SVC",
}
LABELS = {"few wrong labels": 0.01, "a fifth of the labels wrong": 0.2}


def measured(sizes: Sequence[int], flipped: float) -> dict[str, Points]:
    """Rows and seconds of each contender, as far as it goes."""
    found: dict[str, Points] = {name: [] for name in CONTENDERS}
    for size in sizes:
        X, y = made(Options(), rows=size, columns=20, flipped=flipped)
        for name, address in CONTENDERS.items():
            points = found[name]
            if points and points[-1][1] * (size / points[-1][0]) ** 2 > LONGEST:
                continue
            if not points:
                Machine(X, y, address)  # imports and compiles
            points.append((size, rested(Machine, X, y, address)[1]))
    return found


@dataclass(frozen=True)
class MachineGrowth:
    """The row of the benchmarks that measures it."""

    sizes: Sequence[int] = (1_000, 3_000, 10_000, 30_000)
    plot: Path = PLOT
    work: str = "Growth of SVC"

    def run(self, options: Options) -> list[Result]:
        sizes = [size // 10 for size in self.sizes] if options.quick else self.sizes
        results = {name: measured(sizes, flipped) for name, flipped in LABELS.items()}
        if not options.quick:
            draw(results, self.plot)
        return [self.table(name, sizes, found) for name, found in results.items()]

    def table(self, name: str, sizes: Sequence[int], found: Mapping[str, Points]) -> Table:
        cells = []
        for contender, points in found.items():
            by_size = dict(points)
            times = [duration(by_size[n]) if n in by_size else "–" for n in sizes]
            cells.append((contender, *times, exponent(points)))
        return Table(
            f"{self.work}, {name}",
            f"![Seconds against rows](../docs/{self.plot.name})\n\n"
            "Gaussian kernel, 20 columns, C = 1. The exponent p is that of seconds ∼ rowsᵖ between "
            f"the last two points; a dash stands where a point would take more than {LONGEST:g} s.",
            ("contender", *(f"{n:,}" for n in sizes), "p"),
            tuple(cells),
        )


ROW = MachineGrowth()
