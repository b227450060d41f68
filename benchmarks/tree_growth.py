"""Cost of a tree as rows, columns and depth grow: three tables and a plot of three panels.

Each point is one fit of a tree with exact thresholds; a contender stops where its next point would
take too long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.growth import Points, draw, exponent
from benchmarks.harness import OURS, Options, Result, Table, rested
from benchmarks.report import duration
from benchmarks.trees import CLASSIFIER, Model, contenders

LONGEST = 30.0
"""Seconds that a point may be expected to take."""

PLOT = Path(__file__).parents[1] / "docs" / "tree-growth.svg"


@dataclass(frozen=True)
class Axis:
    """What grows, the rest being fixed; a depth of None is the full one."""

    name: str
    sizes: Sequence[int]
    rows: int = 100_000
    columns: int = 20
    depth: int | None = None

    @property
    def title(self) -> str:
        rest = {
            "rows": f"{self.rows:,} rows",
            "columns": f"{self.columns} columns",
            "depth": "full depth",
        }
        rest.pop(self.name)
        return f"Growing {self.name}, " + " and ".join(rest.values())

    def at(self, size: int) -> tuple[int, int, int | None]:
        """Rows, columns and depth of a point."""
        return (
            size if self.name == "rows" else self.rows,
            size if self.name == "columns" else self.columns,
            size if self.name == "depth" else self.depth,
        )


AXES = (
    Axis("rows", (10_000, 30_000, 100_000, 300_000, 1_000_000)),
    Axis("columns", (10, 20, 50, 100, 200), rows=30_000),
    Axis("depth", (1, 2, 4, 8, 16, 32)),
)


def table(rows: int, columns: int) -> tuple[Any, Any]:
    """Two classes, to which two columns in five tell something."""
    from sklearn.datasets import make_classification

    informative = max(2, columns * 2 // 5)
    return make_classification(rows, columns, n_informative=informative, random_state=rows)


def measured(axis: Axis, made: Mapping[str, Model], fewer: int) -> dict[str, Points]:
    """Sizes and seconds of each contender, as far as it goes."""
    found: dict[str, Points] = {name: [] for name in made}
    for size in axis.sizes:
        rows, columns, depth = axis.at(size)
        X, y = table(rows // fewer, columns)
        for name, make in made.items():
            points = found[name]
            if points and points[-1][1] * size / points[-1][0] > LONGEST:
                continue
            if not points:
                make().fit(X[:1000], y[:1000])  # imports and compiles
            model = make(max_depth=depth)
            points.append((size, rested(model.fit, X, y)[1]))
    return found


@dataclass(frozen=True)
class TreeGrowth:
    """The row of the benchmarks that measures along all axes."""

    axes: Sequence[Axis] = AXES
    plot: Path = PLOT
    work: str = f"Growth of {CLASSIFIER}"

    def run(self, options: Options) -> list[Result]:
        made = contenders(CLASSIFIER)
        results = {a.title: measured(a, made, 10 if options.quick else 1) for a in self.axes}
        if not options.quick:
            draw(results, self.plot, [axis.name for axis in self.axes])
        return [
            self.table(axis, found) for axis, found in zip(self.axes, results.values(), strict=True)
        ]

    def table(self, axis: Axis, found: Mapping[str, Points]) -> Table:
        cells = []
        for name in (OURS, *(name for name in found if name != OURS)):
            by_size = dict(found[name])
            times = [duration(by_size[n]) if n in by_size else "–" for n in axis.sizes]
            cells.append((name, *times, exponent(found[name])))
        return Table(
            f"{self.work} with the {axis.name}",
            f"![Seconds against rows, columns and depth](../docs/{self.plot.name})\n\n"
            f"{axis.title}; one fit a point, with exact thresholds. The exponent p is that of "
            f"seconds ∼ {axis.name}ᵖ between the last two points; a dash stands where a point "
            f"would take more than {LONGEST:g} s.",
            ("contender", *(f"{n:,}" for n in axis.sizes), "p"),
            tuple(cells),
        )


ROW = TreeGrowth()
