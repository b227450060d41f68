"""Cost as rows grow: one curve for each model and contender, as a table and a plot.

A fit, or for models that keep their rows the fit and a fixed number of queries, is timed on 10,000
rows and on more, up to a million.  A contender stops where its next point would take too
long.  Another model is one line in `CURVES`.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import OURS, Options, Result, Table
from benchmarks.report import duration

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
LONGEST = 3.0
"""Seconds that a point may be expected to take."""

ENOUGH = 0.4
"""Seconds after which a point is not repeated."""

PLOT = Path(__file__).with_name("growth.svg")
COLUMNS = 20

Data = Callable[[int, np.random.Generator], tuple[Any, Any]]
Work = Callable[[Any, Any, Any], object]

# --- data ----------------------------------------------------------------------------------


def gaussian(n: int, rng: np.random.Generator, columns: int = COLUMNS) -> tuple[Any, Any]:
    y = rng.integers(0, 3, size=n)
    return rng.standard_normal((n, columns)) + 0.3 * y[:, None], y


def counts(n: int, rng: np.random.Generator) -> tuple[Any, Any]:
    y = rng.integers(0, 3, size=n)
    return rng.poisson(1.0 + 0.2 * y[:, None], size=(n, COLUMNS)).astype(np.float64), y


def switches(n: int, rng: np.random.Generator) -> tuple[Any, Any]:
    X, y = counts(n, rng)
    return (X > 1).astype(np.float64), y


def categories(n: int, rng: np.random.Generator) -> tuple[Any, Any]:
    X, y = counts(n, rng)
    return np.minimum(X, 4.0), y


def of_all_kinds(n: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Five columns of each of the kinds that `KINDS` names."""
    X, y = counts(n, rng)
    X[:, :5] = rng.standard_normal((n, 5)) + 0.3 * y[:, None]
    X[:, 5:10] = X[:, 5:10] > 1
    X[:, 10:15] = np.minimum(X[:, 10:15], 4.0)
    return X, y


KINDS = tuple(
    kind for kind in ("gaussian", "bernoulli", "categorical", "poisson") for _ in range(5)
)


# --- work ----------------------------------------------------------------------------------


def fit(model: Any, X: Any, y: Any) -> object:
    return model.fit(X, y)


def neighbours(model: Any, X: Any, y: Any, queries: int) -> object:
    queries = min(queries, len(X) // 2)
    return model.fit(X[queries:], y[queries:]).kneighbors(X[:queries])


def densities(model: Any, X: Any, y: Any, queries: int) -> object:
    queries = min(queries, len(X) // 2)
    return model.fit(X[queries:]).score_samples(X[:queries])


# --- curves --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Curve:
    """One model.

    Attributes
    ----------
    name : str
    ours : str
        Import path of our estimator.
    peers : mapping of str to str
        Names and import paths of others.
    data : function of a number of rows and a generator
    work : function of a model, X and y
        What is timed.
    parameters : mapping
        Of all constructors.
    """

    name: str
    ours: str
    peers: Mapping[str, str]
    data: Data = gaussian
    work: Work = fit
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def contenders(self) -> dict[str, str]:
        return {OURS: self.ours, **self.peers}


def sklearn(module: str, name: str) -> dict[str, str]:
    return {"scikit-learn": f"sklearn.{module}.{name}"}


def naive_bayes(name: str, data: Data, peer: bool = True, **parameters: Any) -> Curve:
    peers = sklearn("naive_bayes", name) if peer else {}
    return Curve(name, f"suffice.{name}", peers, data, parameters=parameters)


def discriminant(name: str, solver: str) -> Curve:
    """With the solver by which scikit-learn is fastest."""
    peers = sklearn("discriminant_analysis", name)
    return Curve(f"{name}, {solver}", f"suffice.{name}", peers, parameters={"solver": solver})


def neighbour_curve(name: str, columns: int, algorithm: str) -> Curve:
    return Curve(
        f"{name}, {algorithm}, 1,000 queries, {columns} columns",
        f"suffice.{name}",
        {**sklearn("neighbors", name), "intelex": f"sklearnex.neighbors.{name}"},
        partial(gaussian, columns=columns),
        partial(neighbours, queries=1000),
        {"algorithm": algorithm},
    )


CURVES: tuple[Curve, ...] = (
    discriminant("LinearDiscriminantAnalysis", "lsqr"),
    discriminant("QuadraticDiscriminantAnalysis", "eigen"),
    naive_bayes("GaussianNB", gaussian),
    naive_bayes("BernoulliNB", switches),
    naive_bayes("MultinomialNB", counts),
    naive_bayes("ComplementNB", counts),
    naive_bayes("CategoricalNB", categories),
    naive_bayes("PoissonNB", counts, peer=False),
    naive_bayes("MixedNB", of_all_kinds, peer=False, kinds=KINDS),
    neighbour_curve("KNeighborsClassifier", 20, "brute"),
    neighbour_curve("KNeighborsClassifier", 3, "kd_tree"),
    neighbour_curve("KNeighborsRegressor", 3, "kd_tree"),
    Curve(
        "KNeighborsDensity, 1,000 queries, 3 columns",
        "suffice.KNeighborsDensity",
        {},
        partial(gaussian, columns=3),
        partial(densities, queries=1000),
    ),
    Curve(
        "KernelDensity, 100 queries, 5 columns",
        "suffice.KernelDensity",
        sklearn("neighbors", "KernelDensity"),
        partial(gaussian, columns=5),
        partial(densities, queries=100),
    ),
)


# --- measuring -----------------------------------------------------------------------------

Points = list[tuple[int, float]]


def fresh(curve: Curve, address: str) -> Any:
    module, _, name = address.rpartition(".")
    return getattr(importlib.import_module(module), name)(**curve.parameters)


def is_there(curve: Curve, address: str) -> bool:
    try:
        fresh(curve, address)
    except (ImportError, AttributeError):
        return False
    return True


def seconds(curve: Curve, address: str, X: Any, y: Any) -> float:
    """The best of up to three times."""
    times: list[float] = []
    while len(times) < 3 and sum(times) < (ENOUGH if len(times) > 1 else LONGEST / 2):
        model = fresh(curve, address)
        start = time.perf_counter()
        curve.work(model, X, y)
        times.append(time.perf_counter() - start)
    return min(times)


def measured(curve: Curve, sizes: Sequence[int]) -> dict[str, Points]:
    """Rows and seconds of each contender, as far as it goes."""
    there = {name: at for name, at in curve.contenders.items() if is_there(curve, at)}
    found: dict[str, Points] = {name: [] for name in there}
    active = list(found)
    for n in sizes:
        X, y = curve.data(n, np.random.default_rng(n))
        for name in tuple(active):
            points = found[name]
            if not points:
                curve.work(fresh(curve, there[name]), X, y)  # imports and compiles
            if points and points[-1][1] * n / points[-1][0] > LONGEST:
                active.remove(name)
            else:
                points.append((n, seconds(curve, there[name], X, y)))
    return found


# --- showing -------------------------------------------------------------------------------


def exponent(points: Points) -> str:
    """p in seconds ∼ rowsᵖ, from the last two points."""
    if len(points) < 2:
        return ""
    (n, s), (m, t) = points[-2:]
    return f"{np.log(t / s) / np.log(m / n):.2f}"


def draw(
    results: Mapping[str, Mapping[str, Points]], path: Path, along: Sequence[str] = ()
) -> None:
    """One panel a model, both axes logarithmic; `along` names what grows if it is not the rows."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    across = 3
    down = -(-len(results) // across)
    # The same picture has the same bytes; letters stay letters, which takes a third of them.
    with rc_context({"svg.hashsalt": "suffice", "svg.fonttype": "none", "font.size": 8}):
        figure = Figure(figsize=(4 * across, 2.8 * down), layout="constrained")
        for place, (name, contenders) in enumerate(results.items()):
            panel = figure.add_subplot(down, across, place + 1)
            for contender, points in contenders.items():
                style = "o-" if contender == OURS else "s--"
                panel.loglog(*zip(*points, strict=True), style, label=contender, markersize=3)
            panel.set_title(name)
            panel.set_xlabel(along[place] if along else "rows")
            panel.set_ylabel("seconds")
            panel.grid(alpha=0.3)
            panel.legend()
        figure.savefig(path, format="svg", metadata={"Date": None})


@dataclass(frozen=True)
class Growth:
    """The row of the benchmarks that measures all curves."""

    curves: Sequence[Curve] = CURVES
    sizes: Sequence[int] = SIZES
    plot: Path = PLOT
    work: str = "Growth with the rows"

    def run(self, options: Options) -> list[Result]:
        sizes = [n // 10 for n in self.sizes] if options.quick else self.sizes
        results = {curve.name: measured(curve, sizes) for curve in self.curves}
        results = {name: found for name, found in results.items() if found}
        if not options.quick:
            draw(results, self.plot)
        return [self.table(results, sizes)]

    def table(self, results: Mapping[str, Mapping[str, Points]], sizes: Sequence[int]) -> Table:
        rows = []
        for name, contenders in results.items():
            for contender, points in contenders.items():
                by_size = dict(points)
                times = [duration(by_size[n]) if n in by_size else "–" for n in sizes]
                rows.append((name, contender, *times, exponent(points)))
        return Table(
            self.work,
            f"![Seconds against rows, for each model]({self.plot.name})\n\n"
            "Fits on rows in memory, of 20 columns and three classes unless the name says "
            "otherwise; models that keep their rows are fitted and asked for a fixed number of "
            "answers. Each point is the best of up to three. The exponent p is that of seconds ∼ "
            f"rowsᵖ between the last two points; a dash stands where a point would take more than "
            f"{LONGEST:g} s.",
            ("model", "contender", *(f"{n:,}" for n in sizes), "p"),
            tuple(rows),
        )


ROW = Growth()
