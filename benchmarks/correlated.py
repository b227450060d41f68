"""Least squares on tables as people have them: correlated columns, scales, offsets, codes, weights.

κ is the condition number of the centred columns, divided by their deviations.  Peers count whose
standardised coefficients are within 1e-6 of the exact ones, relative to the largest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.exact import exact_answer
from benchmarks.harness import (
    OURS,
    Answer,
    Bar,
    Figures,
    Fit,
    Line,
    Options,
    Race,
    Result,
    Row,
    rested,
    shape,
)
from benchmarks.least_squares import (
    INTELEX_LINEAR,
    INTELEX_RIDGE,
    OUR_LINEAR,
    OUR_RIDGE,
    SKLEARN_LINEAR,
    SKLEARN_RIDGE,
    estimator,
    statsmodels_ols,
)
from benchmarks.selection import OUR_SEARCH, search_in_processes
from benchmarks.tables import factors

Floats = NDArray[np.float64]

# --- data ----------------------------------------------------------------------------------


def with_target(X: Floats, seed: int, targets: int | None = None) -> tuple[Floats, Floats]:
    """A target that all columns have a part in, with noise of its own size."""
    rng = np.random.default_rng(seed)
    size = () if targets is None else (targets,)
    signal = (X - X.mean(axis=0)) / X.std(axis=0) @ rng.standard_normal((X.shape[1], *size))
    return X, 10 + signal + signal.std(axis=0) * rng.standard_normal(signal.shape)


def on_factors(
    options: Options, *, kappa: float, rows: int = 400_000, targets: int | None = None
) -> tuple[Floats, Floats]:
    X = factors(rows // 10 if options.quick else rows, 50, kappa, seed=3)
    return with_target(X, 5, targets)


def real(options: Options, *, name: str, rows: int = 400_000) -> tuple[Floats, Floats]:
    """A table that scikit-learn ships, its rows repeated in a random order, a little noise on y."""
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    rng = np.random.default_rng(1)
    chosen = rng.integers(0, len(X), rows // 10 if options.quick else rows)
    target = y[chosen].astype(float)
    return X[chosen], target + 0.1 * y.std() * rng.standard_normal(len(chosen))


def one_hot(options: Options, *, full: bool) -> tuple[Floats, Floats]:
    """Twenty levels, all of them or all but the first, and six numbers of different scales."""
    rng = np.random.default_rng(8)
    rows = 20_000 if options.quick else 200_000
    levels = np.eye(20)[rng.choice(20, rows, p=rng.dirichlet(np.ones(20) * 3))]
    numbers = factors(rows, 7, 5.0, seed=9)[:, :6]
    X, y = with_target(np.hstack([levels, numbers]), 10)
    return np.ascontiguousarray(X if full else X[:, 1:]), y


def deviations(X: Floats) -> Floats:
    """Units in which coefficients are compared: the intercept follows from them."""
    return np.append(0.0, X.std(axis=0))


# --- contenders ----------------------------------------------------------------------------


def weighted(fit: Fit) -> Fit:
    return partial(_weighted, fit=fit)


def _weighted(X: Floats, y: Floats, *, fit: Any) -> Any:
    weight = np.random.default_rng(2).gamma(2.0, size=len(y))
    module, _, name = fit.keywords["address"].rpartition(".")
    model = getattr(__import__(module, fromlist=[name]), name)(**fit.keywords["parameters"])
    return model.fit(X, y, sample_weight=weight)


def exact_of_ours(X: Floats, y: Floats, *, address: str) -> Answer:
    model = estimator(address, exact=True)(X, y)
    return np.append(model.intercept_, model.coef_)


FLAT, THREE_TIMES = Bar(1.6, strict=False), Bar(3.0, strict=False)

# --- rows ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Flat:
    """How the time of a fit depends on the correlation of its columns.

    Attributes
    ----------
    name : str
    ours : Fit
    kappas : tuple of float
        The first is what the others are next to.
    bar : Bar
    """

    name: str
    ours: Fit
    kappas: tuple[float, ...]
    bar: Bar = FLAT
    rounds: int = 7

    @property
    def work(self) -> str:
        return f"{self.name} by κ"

    def run(self, options: Options) -> list[Result]:
        tables = {kappa: on_factors(options, kappa=kappa) for kappa in self.kappas}
        for X, y in tables.values():
            self.ours(X, y)
        seconds: dict[float, list[float]] = {kappa: [] for kappa in self.kappas}
        for _ in range(3 if options.quick else self.rounds):
            for kappa, (X, y) in tables.items():
                seconds[kappa].append(rested(self.ours, X, y)[1])
        figures = {kappa: Figures(tuple(values)) for kappa, values in seconds.items()}
        first = self.kappas[0]
        return [
            Line(
                shape(f"{self.name} at κ = {kappa:g}, next to κ = {first:g}", tables[kappa][0]),
                {OURS: figures[kappa], f"itself at κ = {first:g}": figures[first]},
                self.bar,
            )
            for kappa in self.kappas[1:]
        ]


@dataclass(frozen=True)
class Dependent:
    """A full one-hot code next to the same table with one level dropped."""

    work: str = "LinearRegression on a full one-hot code, next to one level dropped"
    bar: Bar = THREE_TIMES
    rounds: int = 9

    def run(self, options: Options) -> list[Result]:
        tables = {name: one_hot(options, full=name == OURS) for name in (OURS, "one level dropped")}
        seconds: dict[str, list[float]] = {name: [] for name in tables}
        for X, y in tables.values():
            OUR_LINEAR(X, y)
        for _ in range(3 if options.quick else self.rounds):
            for name, (X, y) in tables.items():
                seconds[name].append(rested(OUR_LINEAR, X, y)[1])
        figures = {name: Figures(tuple(values)) for name, values in seconds.items()}
        return [Line(shape(self.work, tables[OURS][0]), figures, self.bar)]


KAPPAS = (1.0, 30.0, 1e3, 1e5)
LINEAR = {**INTELEX_LINEAR, **SKLEARN_LINEAR}
RIDGE = {**INTELEX_RIDGE, **SKLEARN_RIDGE}
COMMON: dict[str, Any] = {"bar": Bar(1.0), "tolerance": 1e-6, "units": deviations, "rounds": 7}
OURS_EXACT = "ours in double-double"

ROWS: tuple[Row, ...] = (
    Flat("LinearRegression", OUR_LINEAR, KAPPAS),
    Flat("Ridge", OUR_RIDGE, KAPPAS),
    Flat("BayesianLinearRegression", estimator("suffice.BayesianLinearRegression"), KAPPAS[:3]),
    Dependent(),
    *(
        Race(
            f"LinearRegression on factors at κ = {kappa:g}",
            partial(on_factors, kappa=kappa),
            OUR_LINEAR,
            LINEAR,
            reference=exact_answer,
            **COMMON,
        )
        for kappa in KAPPAS
    ),
    *(
        Race(
            f"Ridge on factors at κ = {kappa:g}",
            partial(on_factors, kappa=kappa),
            OUR_RIDGE,
            RIDGE,
            reference=partial(exact_answer, ridge=True),
            **COMMON,
        )
        for kappa in KAPPAS
    ),
    *(
        Race(
            f"LinearRegression on {name}, rows repeated",
            partial(real, name=name),
            OUR_LINEAR,
            LINEAR,
            reference=exact_answer,
            **COMMON,
        )
        for name in ("diabetes", "breast_cancer", "wine")
    ),
    Race(
        "LinearRegression with weights on factors at κ = 1000",
        partial(on_factors, kappa=1e3),
        weighted(OUR_LINEAR),
        {name: weighted(fit) for name, fit in SKLEARN_LINEAR.items()},
        reference=weighted(estimator("suffice.LinearRegression", exact=True)),
        truth=OURS_EXACT,
        **COMMON,
    ),
    Race(
        "Ridge of 5 targets on factors at κ = 1000",
        partial(on_factors, kappa=1e3, targets=5),
        OUR_RIDGE,
        RIDGE,
        reference=estimator("suffice.Ridge", exact=True),
        truth=OURS_EXACT,
        **COMMON,
    ),
    Race(
        "LinearRegression on a full one-hot code",
        partial(one_hot, full=True),
        OUR_LINEAR,
        {**LINEAR, "statsmodels": statsmodels_ols},
        reference=estimator("suffice.LinearRegression", exact=True),
        truth=OURS_EXACT,
        once=frozenset({"statsmodels"}),
        **COMMON,
    ),
    Race(
        "GridSearchCV of Ridge, 50 penalties, 10 folds, on factors at κ = 1000",
        partial(on_factors, kappa=1e3),
        OUR_SEARCH,
        {"scikit-learn, two processes": search_in_processes},
        Bar(0.02),
        reference="scikit-learn, two processes",
        tolerance=1e-6,
        rounds=3,
        once=frozenset({"scikit-learn, two processes"}),
    ),
)
