"""Decision trees grown to full depth from float64 arrays: fits, predictions, size, memory.

A fit is timed on five draws of the data, with contenders in turn on each, and ours directly after
a peer; every contender has fitted a few rows before.  The trees need not be the same: scikit-learn
and Snap ML round cells to float32, and break ties in other ways.  So the scores are compared: on
the rows of the fit ours must be the peer's, and on held-out rows not lower than it by more than two
standard errors of the difference over the draws.
"""

from __future__ import annotations

import gc
import importlib.util
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks import covertype
from benchmarks.harness import (
    OURS,
    Answer,
    Bar,
    Failure,
    Figures,
    Line,
    Options,
    Race,
    Result,
    Row,
    cores,
    in_fresh_process,
    peak_memory,
    rested,
    shape,
)
from benchmarks.tables import factors
from benchmarks.wheels import Unavailable

Floats = NDArray[np.float64]
Model = Callable[..., Any]
"""Makes an estimator, of parameters that all contenders have."""

DRAWS = 5
KAPPA = 30.0
SKLEARN, SNAPML = "scikit-learn", "Snap ML"

# --- data ----------------------------------------------------------------------------------


class Draw(NamedTuple):
    """Rows to fit, and rows held out."""

    X: Floats
    y: Any
    held_out: Floats
    expected: Any


Data = Callable[[Options, int], Draw]
"""Of a seed."""


def parted(X: Floats, y: Any) -> Draw:
    """Five parts to fit, one held out."""
    n = len(X) * 5 // 6
    return Draw(X[:n], y[:n], X[n:], y[n:])


def sixfold(options: Options) -> int:
    """100,000 rows to fit, and those held out."""
    return 12_000 if options.quick else 120_000


def clusters(options: Options, seed: int) -> Draw:
    from sklearn.datasets import make_classification

    return parted(
        *make_classification(sixfold(options), 50, n_informative=20, random_state=seed),
    )


def signal(X: Floats) -> Floats:
    """A sum that all columns have a part in, of deviation 2."""
    theta = np.random.default_rng(5).standard_normal(X.shape[1])
    sums = (X - X.mean(axis=0)) / X.std(axis=0) @ theta
    return sums * (2 / sums.std())


def correlated_classes(options: Options, seed: int) -> Draw:
    X = factors(sixfold(options), 50, KAPPA, seed)
    odds = np.exp(signal(X))
    return parted(X, (np.random.default_rng(seed).random(len(X)) < odds / (1 + odds)).astype(int))


def linear(options: Options, seed: int) -> Draw:
    from sklearn.datasets import make_regression

    return parted(
        *make_regression(sixfold(options), 50, n_informative=20, noise=10, random_state=seed)
    )


def correlated_target(options: Options, seed: int) -> Draw:
    X = factors(sixfold(options), 50, KAPPA, seed)
    return parted(X, signal(X) + np.random.default_rng(seed).standard_normal(len(X)))


def forests(options: Options, seed: int) -> Draw:
    X, y = covertype.read()
    chosen = np.random.default_rng(seed).permutation(len(X))
    chosen = chosen[: 14_400 if options.quick else 144_000]
    return parted(X[chosen], y[chosen])


# --- contenders ----------------------------------------------------------------------------


def ours(name: str, **parameters: Any) -> Any:
    return getattr(importlib.import_module("suffice"), name)(**parameters)


def sklearn(name: str, **parameters: Any) -> Any:
    """Ties are broken at random, so the seed is fixed."""
    return getattr(importlib.import_module("sklearn.tree"), name)(random_state=0, **parameters)


def snapml(name: str, **parameters: Any) -> Any:
    """With exact splits on all cores; its default is 256 bins a column."""
    cls = getattr(importlib.import_module("snapml"), name)
    return cls(use_histograms=False, n_jobs=cores(), random_state=0, **parameters)


def contenders(name: str) -> dict[str, Model]:
    """Peers first, so that ours comes directly after one; Snap ML where it has wheels."""
    there = importlib.util.find_spec("snapml") is not None
    second = {SNAPML: partial(snapml, name)} if there else {}
    return {SKLEARN: partial(sklearn, name), **second, OURS: partial(ours, name)}


# --- fits ----------------------------------------------------------------------------------


class Scores(NamedTuple):
    """Accuracy or R² of a draw, on the rows of the fit and on those held out."""

    fitted: float
    held_out: float


def scores(model: Any, draw: Draw) -> Scores:
    from sklearn.metrics import accuracy_score, r2_score

    score = accuracy_score if hasattr(model, "predict_proba") else r2_score
    return Scores(
        score(draw.y, model.predict(draw.X)),
        score(draw.expected, model.predict(draw.held_out)),
    )


def shortfall(ours: list[Scores], peers: list[Scores]) -> float:
    """How far ours are below on held-out rows, in standard errors; infinite if not fitted as well.

    A tree of full depth fits every row, so scores on the rows of the fit differ by rounding only.
    """
    if not np.allclose([s.fitted for s in ours], [s.fitted for s in peers], rtol=0, atol=1e-9):
        return np.inf
    below = np.array([p.held_out - o.held_out for o, p in zip(ours, peers, strict=True)])
    if below.mean() <= 0:
        return 0.0
    error = below.std(ddof=1) / np.sqrt(len(below))
    return float(below.mean() / error) if error else np.inf


@dataclass(frozen=True)
class Growing:
    """Fits of one kind of tree; a line for each peer that has a bar."""

    work: str
    data: Data
    model: str
    bars: Mapping[str, Bar]

    def run(self, options: Options) -> list[Result]:
        made = contenders(self.model)
        try:
            few = self.data(Options(quick=True), 0)
        except Unavailable as error:
            return [Failure(self.work, str(error), broken=False)]
        for make in made.values():
            make().fit(few.X[:1000], few.y[:1000])  # imports and compiles
        seconds: dict[str, list[float]] = {name: [] for name in made}
        found: dict[str, list[Scores]] = {name: [] for name in made}
        for seed in range(DRAWS):
            draw = self.data(options, seed)
            for name, make in made.items():
                model, time = rested(make().fit, draw.X, draw.y)
                seconds[name].append(time)
                found[name].append(scores(model, draw))
                del model
        return [
            Line(
                work=shape(f"{self.work}, next to {peer}", draw.X),
                figures={name: Figures(tuple(seconds[name])) for name in (OURS, peer)},
                bar=bar,
                judged_by="median",  # the best of each may be of different draws
                differences={OURS: shortfall(found[OURS], found[peer])},
                reference=f"{peer}'s score on held-out rows, in standard errors",
                tolerance=2.0,
            )
            for peer, bar in self.bars.items()
            if peer in made
        ]


# --- predictions ---------------------------------------------------------------------------

_fitted: dict[Model, Any] = {}


def model_of(make: Model, X: Floats, y: Any) -> Any:
    """Fitted at the first call, which is not timed."""
    if make not in _fitted:
        _fitted[make] = make().fit(X, y)
    return _fitted[make]


def predictions(X: Floats, y: Any, *, make: Model) -> Answer:
    return np.asarray(model_of(make, X, y).predict(X), dtype=np.float64)


def one_by_one(X: Floats, y: Any, *, make: Model) -> Answer:
    """Probabilities of the first hundred rows, each in a call of its own."""
    model = model_of(make, X, y)
    return np.concatenate([model.predict_proba(X[i : i + 1]) for i in range(100)])


def fitted_rows(options: Options, *, data: Data) -> tuple[Floats, Any]:
    draw = data(options, 0)
    return draw.X, draw.y


def own_targets(X: Floats, y: Any) -> Answer:
    return np.asarray(y, dtype=np.float64)


def own_classes(X: Floats, y: Any) -> Answer:
    return np.column_stack([y[:100] == 0, y[:100] == 1]).astype(np.float64)


def predicting(
    what: str, data: Data, name: str, ask: Any, reference: Any, bars: Mapping[str, Bar]
) -> list[Row]:
    """A race against each peer."""
    asked = {who: partial(ask, make=make) for who, make in contenders(name).items()}
    return [
        Race(
            f"{name}, {what}, next to {peer}",
            partial(fitted_rows, data=data),
            asked[OURS],
            {peer: asked[peer]},
            bar,
            reference=reference,
            truth="the targets of the rows fitted",
            tolerance=1e-6,  # Snap ML keeps the values of leaves in float32
            rounds=15,
        )
        for peer, bar in bars.items()
        if peer in asked
    ]


# --- size and memory -----------------------------------------------------------------------

PEAK = Path("/proc/self/clear_refs")


class Footprint(NamedTuple):
    """Bytes: the most that a fit had beside its data, and the fitted model's in a pickle."""

    peak: float
    pickled: float


def footprint(make: Model, folder: Path) -> Footprint:
    # Read, not drawn: what drawing freed would stay with the process, and hide what a fit takes.
    X, y = np.load(folder / "X.npy"), np.load(folder / "y.npy")
    make().fit(X[:1000], y[:1000])
    gc.collect()
    PEAK.write_text("5")  # the peak so far is forgotten
    before = peak_memory()
    model = make().fit(X, y)
    return Footprint(peak_memory() - before, len(pickle.dumps(model)))


@dataclass(frozen=True)
class Memory:
    """Bytes of a fit and of what it leaves, next to scikit-learn's; a process for each."""

    work: str
    data: Data
    model: str
    contenders: Callable[[str], Mapping[str, Model]] = contenders

    def run(self, options: Options) -> list[Result]:
        if not PEAK.exists():
            return [Failure(self.work, "only Linux tells the memory of a fit", broken=False)]
        made = self.contenders(self.model)
        draw = self.data(options, 0)
        with TemporaryDirectory() as name:
            folder = Path(name)
            np.save(folder / "X.npy", draw.X)
            np.save(folder / "y.npy", draw.y)
            found = {
                who: in_fresh_process(footprint, made[who], folder).result()
                for who in (SKLEARN, OURS)
            }
        return [
            Line(
                work=shape(f"{self.work}, {what}", draw.X),
                figures={
                    name: Figures((getattr(bytes_, field),)) for name, bytes_ in found.items()
                },
                bar=Bar(1.0, strict=False),
                unit="B",
            )
            for what, field in (("peak of the fit", "peak"), ("pickled", "pickled"))
        ]


# --- rows ----------------------------------------------------------------------------------

CLASSIFIER, REGRESSOR = "DecisionTreeClassifier", "DecisionTreeRegressor"
CLASSIFICATION = {SKLEARN: Bar(0.15, strict=False), SNAPML: Bar(1.0)}
REGRESSION = {SKLEARN: Bar(0.25, strict=False), SNAPML: Bar(1.0)}
BATCH = {SKLEARN: Bar(0.5, strict=False), SNAPML: Bar(1.0)}
ON_FACTORS = f"on factors at κ = {KAPPA:g}"

ROWS: tuple[Row, ...] = (
    Growing(CLASSIFIER, clusters, CLASSIFIER, CLASSIFICATION),
    Growing(f"{CLASSIFIER}, {ON_FACTORS}", correlated_classes, CLASSIFIER, CLASSIFICATION),
    Growing(f"{CLASSIFIER}, covertype", forests, CLASSIFIER, CLASSIFICATION),
    Growing(REGRESSOR, linear, REGRESSOR, REGRESSION),
    Growing(f"{REGRESSOR}, {ON_FACTORS}", correlated_target, REGRESSOR, REGRESSION),
    *predicting("predict of all rows", clusters, CLASSIFIER, predictions, own_targets, BATCH),
    *predicting("predict of all rows", linear, REGRESSOR, predictions, own_targets, BATCH),
    *predicting(
        "predict_proba of one row, 100 times",
        clusters,
        CLASSIFIER,
        one_by_one,
        own_classes,
        {SKLEARN: Bar(1.0), SNAPML: Bar(1.0)},
    ),
    Memory(f"Memory of {CLASSIFIER}", clusters, CLASSIFIER),
    Memory(f"Memory of {REGRESSOR}", linear, REGRESSOR),
)
