"""Correct digits on NIST's certified regressions.

Digits of the worst coefficient, counted against the exact least-squares solution of the float64
columns (the powers of x rounded to float64 first, as every program gets them).
"""

from __future__ import annotations

import csv
import importlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.exact import exact_coefficients
from benchmarks.harness import Options, Result, Table

Floats = NDArray[np.float64]
FOLDER = Path(__file__).parents[1] / "tests" / "published" / "nist"
MOST = 16.0
ENOUGH = 13.0
"""Digits below which an answer of ours is wrong."""


def read(name: str, degree: int | None) -> tuple[Floats, Floats]:
    """Columns and target of a set; a polynomial's columns are the powers of x."""
    with (FOLDER / f"{name}.csv").open(newline="") as file:
        _, *lines = csv.reader(file)
    table = np.array(lines, dtype=np.float64)
    X, y = table[:, 1:], table[:, 0]
    return (X if degree is None else X ** np.arange(1, degree + 1)), y


def by_estimator(address: str) -> Callable[[Floats, Floats, bool], Floats]:
    def solve(X: Floats, y: Floats, intercept: bool) -> Floats:
        model = getattr(importlib.import_module(address), "LinearRegression")  # noqa: B009
        fitted = model(fit_intercept=intercept).fit(X, y)
        return np.append(fitted.intercept_, fitted.coef_) if intercept else fitted.coef_

    return solve


def by_statsmodels(method: str) -> Callable[[Floats, Floats, bool], Floats]:
    def solve(X: Floats, y: Floats, intercept: bool) -> Floats:
        api = importlib.import_module("statsmodels.api")
        return np.asarray(api.OLS(y, design(X, intercept)).fit(method=method).params)

    return solve


def by_numpy(X: Floats, y: Floats, intercept: bool) -> Floats:
    return np.asarray(np.linalg.lstsq(design(X, intercept), y)[0])


def design(X: Floats, intercept: bool) -> Floats:
    return np.column_stack([np.ones(len(X)), X]) if intercept else X


SOLVERS = {
    "suffice": by_estimator("suffice"),
    "scikit-learn": by_estimator("sklearn.linear_model"),
    "statsmodels pinv": by_statsmodels("pinv"),
    "statsmodels qr": by_statsmodels("qr"),
    "numpy lstsq": by_numpy,
}


def correct_digits(answer: Floats, exact: list[Fraction]) -> float:
    """Of the worst coefficient, 16 at most."""
    errors = [abs(Fraction(a) - x) / abs(x) for a, x in zip(answer.tolist(), exact, strict=True)]
    worst = float(max(errors))
    return float(np.clip(-np.log10(worst), 0.0, MOST)) if worst > 0 else MOST


@dataclass(frozen=True)
class Digits:
    """The table of digits."""

    work: str = "NIST digits"

    def run(self, options: Options) -> list[Result]:
        sets: dict[str, Any] = json.loads((FOLDER / "certified.json").read_text("utf-8"))
        cells, ours = [], []
        for name, facts in sets.items():
            X, y = read(name, facts["degree"])
            exact = exact_coefficients(X, y, intercept=facts["intercept"])
            digits = [
                correct_digits(solve(X, y, facts["intercept"]), exact) for solve in SOLVERS.values()
            ]
            ours.append(digits[0])
            cells.append((name.capitalize(), *(f"{value:.1f}" for value in digits)))
        return [
            Table(
                title="Correct digits on NIST's certified regressions",
                introduction=(
                    "Digits of the worst coefficient against the exact least-squares solution of "
                    f"the float64 columns; {MOST:.0f} is all of them, {ENOUGH:.0f} are asked of us."
                ),
                heads=("set", *SOLVERS),
                cells=tuple(cells),
                agrees=min(ours) >= ENOUGH,
            )
        ]


ROW = Digits()
