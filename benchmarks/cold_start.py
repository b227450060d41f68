"""How long a user waits before the first number: imports, first compilation, later processes.

    python benchmarks/cold_start.py [--repeats 3]

Every figure is the best of several fresh processes, timed inside them, so the start of the
interpreter is left out. scikit-learn is imported before the clock starts. A *first* run finds an
empty cache and compiles; a *later* one finds what an earlier process has compiled. The import of
numba is timed apart: "seconds" leave it out, "with numba" is the wait of a process that has not
imported it yet.

The exit status is 1 if a budget is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass

IMPORT_BUDGET = 0.3
FIRST_BUDGET = 5.0
LATER_BUDGET = 0.3


@dataclass(frozen=True)
class Case:
    """Something whose first run compiles: what comes before the clock starts, and what is timed."""

    name: str
    prepare: str
    run: str


ESTIMATORS: tuple[Case, ...] = ()
"""Fits to time like the kernels: Case("Ridge", "import …; X, y = …", "Ridge().fit(X, y)")."""


@dataclass(frozen=True)
class Row:
    """A line of the table; a line without a budget only informs."""

    what: str
    seconds: float
    with_numba: float | None = None
    budget: float | None = None
    note: str = ""

    @property
    def missed(self) -> bool:
        return self.budget is not None and self.seconds > self.budget


def in_fresh_process(code: str, cache: str) -> dict[str, float]:
    """Run code that fills a dictionary `seconds`, with kernels cached in `cache`; return it."""
    steering = ("NUMBA_", "SUFFICE_")
    environment = {name: text for name, text in os.environ.items() if not name.startswith(steering)}
    environment["SUFFICE_CACHE_DIR"] = cache
    program = f"import json, sys, time\nseconds = {{}}\n{code}\nprint(json.dumps(seconds))"
    finished = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if finished.returncode:
        raise SystemExit(finished.stderr)
    return dict(json.loads(finished.stdout.splitlines()[-1]))


def timed(name: str, statement: str) -> str:
    """Return code that runs `statement` and notes its duration as `name`."""
    return (
        f"start = time.perf_counter()\n{statement}\nseconds[{name!r}] = time.perf_counter() - start"
    )


def imports(repeats: int) -> Iterator[Row]:
    code = "\n".join(
        (
            timed("sklearn.base", "import sklearn.base"),
            timed("suffice", "import suffice"),
            "seconds['numba imported'] = 'numba' in sys.modules",
        )
    )
    with tempfile.TemporaryDirectory() as cache:
        runs = [in_fresh_process(code, cache) for _ in range(repeats)]
    yield Row("import sklearn.base", min(run["sklearn.base"] for run in runs))
    numba_imported = any(run["numba imported"] for run in runs)
    yield Row(
        "import suffice, after it",
        float("inf") if numba_imported else min(run["suffice"] for run in runs),
        budget=IMPORT_BUDGET,
        note="imports numba" if numba_imported else "imports no numba",
    )


def first_and_later(case: Case, repeats: int) -> Iterator[Row]:
    code = "\n".join(
        (
            "import sklearn.base",
            case.prepare,
            timed("numba", "import numba"),
            timed("run", case.run),
        )
    )
    first, later = [], []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as cache:
            first.append(in_fresh_process(code, cache))
            later.append(in_fresh_process(code, cache))
    for when, runs, budget in (("first", first, FIRST_BUDGET), ("later", later, LATER_BUDGET)):
        yield Row(
            f"{case.name}, {when}",
            min(run["run"] for run in runs),
            min(run["run"] + run["numba"] for run in runs),
            budget,
        )


def kernel_cases() -> list[Case]:
    from suffice.kernels.compiler.compile import all_kernels

    return [
        Case(
            one.name.removeprefix("suffice.kernels."),
            f"from {one.python.__module__} import {one.python.__name__} as kernel",
            "kernel.compile()",
        )
        for one in all_kernels()
        if one.signatures
    ]


def print_table(rows: Iterator[Row]) -> bool:
    """Print rows as they come; return whether all budgets were kept."""
    kept = True
    print(f"{'':40} {'seconds':>8} {'with numba':>11} {'budget':>7}")
    for row in rows:
        with_numba = "" if row.with_numba is None else f"{row.with_numba:.3f}"
        budget = "" if row.budget is None else f"{row.budget:.1f}"
        verdict = "MISSED" if row.missed else "kept" if row.budget is not None else ""
        line = (
            f"{row.what:40} {row.seconds:8.3f} {with_numba:>11} {budget:>7}  {verdict:6} {row.note}"
        )
        print(line.rstrip(), flush=True)
        kept = kept and not row.missed
    return kept


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=3, help="fresh processes per figure")
    repeats = parser.parse_args().repeats

    def rows() -> Iterator[Row]:
        yield from imports(repeats)
        for case in (*kernel_cases(), *ESTIMATORS):
            yield from first_and_later(case, repeats)

    return 0 if print_table(rows()) else 1


if __name__ == "__main__":
    sys.exit(main())
