"""Results as Markdown."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.harness import OURS, Bar, Failure, Figures, Line, Result, Table, cores

PACKAGES = (
    "suffice",
    "numpy",
    "scipy",
    "numba",
    "pyarrow",
    "pandas",
    "scikit-learn",
    "scikit-learn-intelex",
    "statsmodels",
    "cvmatrix",
    "snapml",
)

HEADS = ("work", "ours", "peers", "ratio", "bar", "met?", "agreement", "measured")

INTRODUCTION = """\
A row is measured as a whole: contenders take turns on the same data in one process; files are \
read in a process for each run. A figure is the best of its repetitions, with the median in \
brackets (of memory: the highest peak). The ratio is ours to the fastest peer's. The agreement \
is the largest difference of a coefficient from the reference, relative to the largest \
coefficient; a peer further away than the row allows is marked † and does not count as the \
fastest."""


def document(results: Sequence[Result], earlier: str = "") -> str:
    """The whole of RESULTS.md.

    Parameters
    ----------
    results : sequence of results
    earlier : str, optional
        A document whose rows and tables stay where they were not measured anew.
    """
    lines = [result for result in results if not isinstance(result, Table)]
    rows = {row[0]: row for row in _earlier_rows(earlier)} | {r.work: cells(r) for r in lines}
    sections = _earlier_sections(earlier) | {
        table.title: "\n\n".join((table.introduction, grid(table.heads, table.cells)))
        for table in results
        if isinstance(table, Table)
    }
    parts = ["# Benchmarks", environment()]
    if rows:
        parts += [INTRODUCTION, grid(HEADS, list(rows.values()))]
    for title, text in sections.items():
        parts += [f"## {title}", text]
    return "\n\n".join(parts) + "\n"


def _earlier_rows(document: str) -> list[tuple[str, ...]]:
    """The cells of the table of rows in an earlier document."""
    table = document.partition("\n## ")[0].partition(f"| {' | '.join(HEADS)} |\n")[2]
    return [tuple(line[2:-2].split(" | ")) for line in table.splitlines()[1:] if line]


def _earlier_sections(document: str) -> dict[str, str]:
    """The texts of an earlier document's sections, by their titles."""
    sections = (section.partition("\n\n") for section in document.split("\n## ")[1:])
    return {title: text.strip() for title, _, text in sections}


def environment() -> str:
    versions = ", ".join(filter(None, map(named_version, PACKAGES)))
    return "\n".join(
        (
            f"- Date: {today()}",
            f"- Machine: {processor()}, {cores()} cores, {platform.system()} {platform.machine()}",
            f"- Python {platform.python_version()}, {versions}",
            "- To run it again: `make bench`, or `python -m benchmarks --only ridge` for a part",
        )
    )


def named_version(package: str) -> str:
    """Nothing where a package has no wheel for this system."""
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return ""


def processor() -> str:
    """The model name of the processor."""
    facts = Path("/proc/cpuinfo")
    if facts.exists():
        for line in facts.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown processor"


def grid(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *rows))


def cells(line: Line | Failure) -> tuple[str, ...]:
    if isinstance(line, Failure):
        return (line.work, f"did not run: {line.reason}", "", "", "", "", "", today())
    peers = "<br>".join(
        f"{name} {figures(line, name)}{'' if line.counts(name) else ' †'}" for name in line.peers
    )
    return (
        line.work,
        figures(line, OURS),
        peers,
        "" if line.ratio is None or line.bar.unit else f"{line.ratio:.3g}",
        bar(line.bar),
        "yes" if line.met else "no",
        agreement(line),
        today(),
    )


def today() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d}"


def figures(line: Line, name: str) -> str:
    values: Figures = line.figures[name]
    if line.unit == "B":
        return f"{values.worst / 1e6:,.{0 if values.worst > 1e7 else 2}f} MB"
    if len(values.values) == 1:
        return f"{duration(values.best)} (once)"
    return f"{duration(values.best)} ({duration(values.median)})"


def duration(seconds: float) -> str:
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} µs"
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def bar(bar: Bar) -> str:
    sign = "<" if bar.strict else "≤"
    if bar.unit == "B":
        return f"{sign} {bar.limit / 1e6:.0f} MB"
    return f"{sign} {bar.limit:g}" + (f" (aim {bar.aim:g})" if bar.aim else "")


def agreement(line: Line) -> str:
    if not line.differences:
        return ""
    names = ", ".join(
        f"{name} {value:.0e}" if value else f"{name} 0"
        for name, value in line.differences.items()
        if name != line.reference
    )
    return f"{names} from {line.reference}" + ("" if line.agrees else " **DISAGREES**")
