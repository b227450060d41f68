"""Cost of EM as rows, columns and components grow: three tables and a plot of three panels.

Each point is five steps from a start that is given, with full covariances; a contender stops where
its next point would take too long.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.growth import Points, draw, exponent
from benchmarks.harness import OURS, Answer, Options, Result, Table, rested
from benchmarks.mixtures import Floats, clouds, ours, sklearn
from benchmarks.report import duration

STEPS = 5
LONGEST = 30.0
"""Seconds that a point may be expected to take."""

PLOT = Path(__file__).parents[1] / "docs" / "mixture-growth.svg"

Climb = Callable[..., Answer]
CONTENDERS: Mapping[str, Climb] = {
    OURS: partial(ours, kind="full", steps=STEPS),
    "scikit-learn": partial(sklearn, kind="full", steps=STEPS),
}


@dataclass(frozen=True)
class Growing:
    """What grows, the rest being fixed."""

    name: str
    sizes: Sequence[int]
    rows: int = 30_000
    columns: int = 20
    components: int = 10

    @property
    def title(self) -> str:
        rest = {name: getattr(self, name) for name in ("rows", "columns", "components")}
        rest.pop(self.name)
        return f"Growing {self.name}, " + " and ".join(f"{n:,} {what}" for what, n in rest.items())

    def at(self, size: int, fewer: int) -> tuple[Floats, int]:
        """The table of a point, and the number of components."""
        sizes = {"rows": self.rows, "columns": self.columns, "components": self.components}
        sizes[self.name] = size
        k = sizes["components"]
        X, _ = clouds(Options(), rows=sizes["rows"] // fewer, columns=sizes["columns"], k=k)
        return X, k


AXES = (
    Growing("rows", (3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)),
    Growing("columns", (2, 5, 10, 20, 50, 100)),
    Growing("components", (2, 5, 10, 20, 50, 100)),
)


def measured(axis: Growing, fewer: int) -> dict[str, Points]:
    """Sizes and seconds of each contender, as far as it goes."""
    found: dict[str, Points] = {name: [] for name in CONTENDERS}
    for size in axis.sizes:
        X, k = axis.at(size, fewer)
        for name, climb in CONTENDERS.items():
            points = found[name]
            if points and points[-1][1] * size / points[-1][0] > LONGEST:
                continue
            fit = partial(climb, k=k)
            if not points:
                fit(X, None)  # imports and compiles
            points.append((size, rested(fit, X, None)[1]))
    return found


@dataclass(frozen=True)
class MixtureGrowth:
    """The row of the benchmarks that measures along all axes."""

    axes: Sequence[Growing] = AXES
    plot: Path = PLOT
    work: str = "Growth of GaussianMixture"

    def run(self, options: Options) -> list[Result]:
        results = {axis.title: measured(axis, 10 if options.quick else 1) for axis in self.axes}
        if not options.quick:
            draw(results, self.plot, [axis.name for axis in self.axes])
        return [
            self.table(axis, found) for axis, found in zip(self.axes, results.values(), strict=True)
        ]

    def table(self, axis: Growing, found: Mapping[str, Points]) -> Table:
        cells = []
        for name, points in found.items():
            by_size = dict(points)
            times = [duration(by_size[n]) if n in by_size else "–" for n in axis.sizes]
            cells.append((name, *times, exponent(points)))
        return Table(
            f"{self.work} with the {axis.name}",
            f"![Seconds against rows, columns and components](../docs/{self.plot.name})\n\n"
            f"{axis.title}; {STEPS} steps of EM with full covariances, from a given start, and the "
            f"prediction of all rows. The exponent p is that of seconds ∼ {axis.name}ᵖ between the "
            f"last two points; a dash stands where a point would take more than {LONGEST:g} s.",
            ("contender", *(f"{n:,}" for n in axis.sizes), "p"),
            tuple(cells),
        )


ROW = MixtureGrowth()
