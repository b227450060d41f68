"""Forests of a hundred trees at two threads: fits, predictions, size, memory.

A fit is timed on five draws of the data, with contenders in turn on each, and ours directly after
a peer; every contender has fitted a few rows before.  Forests differ by chance, so their scores on
held-out rows are compared: ours may not be lower than scikit-learn's by more than two standard
errors of the difference, over the draws of a fit or over the rows of a prediction.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import covertype, letter
from benchmarks.harness import (
    OURS,
    Bar,
    Failure,
    Figures,
    Line,
    Options,
    Result,
    Row,
    rested,
    shape,
    timed,
)
from benchmarks.trees import SKLEARN, Data, Draw, Floats, Memory, Model
from benchmarks.wheels import Unavailable

DRAWS = 5
ROUNDS = 7
THREADS = 2
INTELEX = "intelex"

# --- data ----------------------------------------------------------------------------------


def parted(X: Floats, y: Any, n: int) -> Draw:
    """The first rows to fit, the others held out."""
    return Draw(X[:n], y[:n], X[n:], y[n:])


def chosen(X: Floats, y: Any, options: Options, seed: int, fitted: int, held_out: int) -> Draw:
    """Rows of a table by lot, in quick runs a tenth."""
    share = 10 if options.quick else 1
    rows = np.random.default_rng(seed).permutation(len(X))[: (fitted + held_out) // share]
    return parted(X[rows], y[rows], fitted // share)


def clusters(options: Options, seed: int) -> Draw:
    from sklearn.datasets import make_classification

    X, y = make_classification(70_000, 50, n_informative=20, random_state=seed)
    return chosen(X, y, options, seed, 50_000, 20_000)


def cover_types(options: Options, seed: int) -> Draw:
    return chosen(*covertype.read(), options, seed, 100_000, 20_000)


def letters(options: Options, seed: int) -> Draw:
    return chosen(*letter.read(), options, seed, 16_000, 4_000)


def friedman(options: Options, seed: int) -> Draw:
    """y = 10 sin(π x₁ x₂) + 20 (x₃ − ½)² + 10 x₄ + 5 x₅ + ε, and five columns of noise."""
    from sklearn.datasets import make_friedman1

    X, y = make_friedman1(30_000, 10, noise=1.0, random_state=seed)
    return chosen(X, y, options, seed, 20_000, 10_000)


# --- contenders ----------------------------------------------------------------------------


def forest(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)(n_jobs=THREADS, random_state=0)


def contenders(name: str) -> dict[str, Model]:
    """Peers first, so that ours comes directly after one."""
    modules = {INTELEX: "sklearnex.ensemble", SKLEARN: "sklearn.ensemble", OURS: "suffice"}
    return {who: partial(forest, module, name) for who, module in modules.items()}


def score(model: Any, draw: Draw) -> float:
    """Accuracy or R² on the rows held out."""
    return float(model.score(draw.held_out, draw.expected))


def shortfall(below: NDArray[np.float64]) -> float:
    """How far ours are below on average, in standard errors."""
    if below.mean() <= 0:
        return 0.0
    error = below.std(ddof=1) / np.sqrt(len(below))
    return float(below.mean() / error) if error else np.inf


# --- fits ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Growing:
    """Fits of one kind of forest; a line for each peer that has a bar."""

    work: str
    data: Data
    model: str
    bars: Mapping[str, Bar]

    def run(self, options: Options) -> list[Result]:
        wanted = (OURS, SKLEARN, *self.bars)
        made = {n: make for n, make in contenders(self.model).items() if n in wanted}
        try:
            few = self.data(Options(quick=True), 0)
        except Unavailable as error:
            return [Failure(self.work, str(error), broken=False)]
        for make in made.values():
            make().fit(few.X[:1000], few.y[:1000])  # imports and compiles
        seconds: dict[str, list[float]] = {name: [] for name in made}
        scores: dict[str, list[float]] = {name: [] for name in made}
        for seed in range(DRAWS):
            draw = self.data(options, seed)
            for name, make in made.items():
                model, time = rested(make().fit, draw.X, draw.y)
                seconds[name].append(time)
                scores[name].append(score(model, draw))
                del model
        return [
            Line(
                work=shape(f"{self.work}, next to {peer}", draw.X),
                figures={name: Figures(tuple(seconds[name])) for name in (OURS, peer)},
                bar=bar,
                judged_by="median",  # the best of each may be of different draws
                differences={OURS: shortfall(np.subtract(scores[SKLEARN], scores[OURS]))},
                reference=f"{SKLEARN}'s score on held-out rows, in standard errors",
                tolerance=2.0,
            )
            for peer, bar in self.bars.items()
        ]


# --- predictions ---------------------------------------------------------------------------


def all_rows(model: Any, X: Floats) -> Any:
    return model.predict(X)


def one_by_one(model: Any, X: Floats) -> Any:
    """Labels by the probabilities of the first twenty rows, each in a call of its own."""
    found = [model.predict_proba(X[i : i + 1]) for i in range(20)]
    return model.classes_[np.concatenate(found).argmax(axis=1)]


@dataclass(frozen=True)
class Predicting:
    """Predictions of held-out rows next to scikit-learn's, in turns."""

    work: str
    data: Data
    model: str
    ask: Callable[[Any, Floats], Any]
    bar: Bar

    def run(self, options: Options) -> list[Result]:
        draw = self.data(options, 0)
        makers = {name: contenders(self.model)[name] for name in (SKLEARN, OURS)}
        models = {name: make().fit(draw.X, draw.y) for name, make in makers.items()}
        wrong, slowest = {}, 0.0
        for name, model in models.items():
            self.ask(model, draw.held_out)
            found, time = timed(self.ask, model, draw.held_out)
            wrong[name] = (found != draw.expected[: len(found)]).astype(np.float64)
            slowest = max(slowest, time)
        seconds: dict[str, list[float]] = {name: [] for name in models}
        measure = rested if slowest > 0.02 else timed
        for _ in range(ROUNDS):
            for name, model in models.items():
                seconds[name].append(measure(self.ask, model, draw.held_out)[1])
        return [
            Line(
                work=shape(f"{self.work}, next to {SKLEARN}", draw.held_out),
                figures={name: Figures(tuple(seconds[name])) for name in (OURS, SKLEARN)},
                bar=self.bar,
                differences={OURS: shortfall(wrong[OURS] - wrong[SKLEARN])},
                reference=f"{SKLEARN}'s accuracy on these rows, in standard errors",
                tolerance=2.0,
            )
        ]


# --- rows ----------------------------------------------------------------------------------

CLASSIFIER, REGRESSOR = "RandomForestClassifier", "RandomForestRegressor"
EXTRA = "ExtraTreesClassifier"
HALF = {SKLEARN: Bar(0.5, strict=False), INTELEX: Bar(0.5, strict=False)}
BOTH = {SKLEARN: Bar(1.0), INTELEX: Bar(1.0)}
ALONE = {SKLEARN: Bar(0.5, strict=False)}

ROWS: tuple[Row, ...] = (
    Growing(CLASSIFIER, clusters, CLASSIFIER, HALF),
    Growing(f"{CLASSIFIER}, covertype", cover_types, CLASSIFIER, BOTH),
    Growing(f"{CLASSIFIER}, letter", letters, CLASSIFIER, BOTH),
    Growing(f"{EXTRA}, letter", letters, EXTRA, ALONE),
    Growing(f"{REGRESSOR}, Friedman's function", friedman, REGRESSOR, ALONE),
    Predicting(f"{CLASSIFIER}, predict", clusters, CLASSIFIER, all_rows, HALF[SKLEARN]),
    Predicting(
        f"{CLASSIFIER}, predict_proba of one row, 20 times",
        clusters,
        CLASSIFIER,
        one_by_one,
        Bar(1.0),
    ),
    Memory(f"Memory of {CLASSIFIER}", clusters, CLASSIFIER, contenders),
)
