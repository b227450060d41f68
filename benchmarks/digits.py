"""Correct digits on NIST's certified regressions.

Digits of the worst coefficient, counted against the exact least-squares solution of the float64
columns (the powers of x rounded to float64 first, as every program gets them).
"""

from __future__ import annotations

import csv
import importlib
import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
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


def design(X: Floats, intercept: bool) -> Floats:
    return np.column_stack([np.ones(len(X)), X]) if intercept else X


def answer(model: Any, intercept: bool) -> Floats:
    return np.append(model.intercept_, model.coef_) if intercept else model.coef_


def scikit_learn(X: Floats, y: Floats, intercept: bool) -> Floats:
    from sklearn.linear_model import LinearRegression

    return answer(LinearRegression(fit_intercept=intercept).fit(X, y), intercept)


def statsmodels(X: Floats, y: Floats, intercept: bool, *, method: str) -> Floats:
    api = importlib.import_module("statsmodels.api")
    return np.asarray(api.OLS(y, design(X, intercept)).fit(method=method).params)


def numpy_lstsq(X: Floats, y: Floats, intercept: bool) -> Floats:
    return np.asarray(np.linalg.lstsq(design(X, intercept), y)[0])


PEERS: dict[str, Callable[[Floats, Floats, bool], Floats]] = {
    "scikit-learn": scikit_learn,
    "statsmodels pinv": partial(statsmodels, method="pinv"),
    "statsmodels qr": partial(statsmodels, method="qr"),
    "numpy lstsq": numpy_lstsq,
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
        from suffice import LinearRegression

        sets: dict[str, Any] = json.loads((FOLDER / "certified.json").read_text("utf-8"))
        cells, agrees = [], True
        for name, facts in sets.items():
            X, y = read(name, facts["degree"])
            intercept = facts["intercept"]
            exact = exact_coefficients(X, y, intercept=intercept)
            model = LinearRegression(fit_intercept=intercept).fit(X, y)
            ours = correct_digits(answer(model, intercept), exact)
            promised = model.certificate_.digits
            agrees = agrees and ours >= max(ENOUGH, promised)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                theirs = [correct_digits(solve(X, y, intercept), exact) for solve in PEERS.values()]
            numbers = (f"{value:.1f}" for value in (ours, promised, *theirs))
            cells.append((name.capitalize().replace("int", "Int"), *numbers))
        return [
            Table(
                title="Correct digits on NIST's certified regressions",
                introduction=(
                    "Digits of the worst coefficient against the exact least-squares solution of "
                    f"the float64 columns, {MOST:.0f} at most. Ours must be {ENOUGH:.0f} or more, "
                    "and no fewer than the certificate promises."
                ),
                heads=("set", "suffice", "promised", *PEERS),
                cells=tuple(cells),
                agrees=agrees,
            )
        ]


ROW = Digits()
