"""Cold starts: the table of `benchmarks/cold_start.py`, and first fits of estimators."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks import cold_start
from benchmarks.harness import Options, Result, Table

ILL_CONDITIONED_FIT = cold_start.Case(
    "LinearRegression().fit, 20,000 × 30, ill-conditioned",
    """
import numpy as np
from suffice import LinearRegression
rng = np.random.default_rng(0)
X = rng.standard_normal((20_000, 1)) + 1e-5 * rng.standard_normal((20_000, 30))
y = X.sum(axis=1) + rng.standard_normal(len(X))
""",
    "model = LinearRegression().fit(X, y)\nassert model.certificate_.digits > 13",
)

CLASSES = """
import numpy as np
rng = np.random.default_rng(0)
y = rng.integers(0, 3, size=20_000)
X = rng.standard_normal((20_000, {columns})) + y[:, None]
from suffice import {model}
"""
"""Rows enough for the kernels that large data take."""

FIRST_ANSWERS = (
    cold_start.Case(
        "QuadraticDiscriminantAnalysis().fit, 20,000 × 20",
        CLASSES.format(columns=20, model="QuadraticDiscriminantAnalysis"),
        "QuadraticDiscriminantAnalysis().fit(X, y)",
    ),
    cold_start.Case(
        "KNeighborsClassifier().fit, predict, 20,000 × 3",
        CLASSES.format(columns=3, model="KNeighborsClassifier"),
        "KNeighborsClassifier().fit(X, y).predict(X[:5000])",
    ),
    cold_start.Case(
        "KNeighborsClassifier().fit, predict, 20,000 × 50",
        CLASSES.format(columns=50, model="KNeighborsClassifier"),
        "KNeighborsClassifier().fit(X, y).predict(X[:5000])",
    ),
    cold_start.Case(
        "KernelDensity().fit, score_samples, 20,000 × 5",
        CLASSES.format(columns=5, model="KernelDensity"),
        "KernelDensity().fit(X).score_samples(X[:500])",
    ),
)

ESTIMATORS = (ILL_CONDITIONED_FIT, *FIRST_ANSWERS)


@dataclass(frozen=True)
class ColdStart:
    """Imports, kernels and first fits, in fresh processes."""

    work: str = "Cold start"

    def run(self, options: Options) -> list[Result]:
        repeats = 1 if options.quick else 3
        return [
            Table(
                title="Cold start",
                introduction=(
                    f"Best of {repeats} fresh processes, in seconds. A first run finds an empty "
                    "cache and compiles, a later one finds what another process has compiled. "
                    "The import of numba is left out of the budgets and counted in the column "
                    '"with numba".'
                ),
                heads=("what", "seconds", "with numba", "budget", "met?"),
                cells=tuple(map(cells, lines(repeats))),
            )
        ]


def lines(repeats: int) -> Iterator[cold_start.Row]:
    yield from cold_start.imports(repeats)
    for case in (*cold_start.kernel_cases(), *cold_start.ESTIMATORS, *ESTIMATORS):
        yield from cold_start.first_and_later(case, repeats)


def cells(row: cold_start.Row) -> tuple[str, ...]:
    return (
        row.what + (f" ({row.note})" if row.note else ""),
        f"{row.seconds:.3f}",
        "" if row.with_numba is None else f"{row.with_numba:.3f}",
        "" if row.budget is None else f"≤ {row.budget:g}",
        "" if row.budget is None else "no" if row.missed else "yes",
    )


ROW = ColdStart()
