"""Races of the naive Bayes models of counts, and their leave-one-out next to n fits.

scikit-learn-intelex has none of them, so that scikit-learn is the only peer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from benchmarks.generative import classes
from benchmarks.harness import (
    OURS,
    Answer,
    Bar,
    Figures,
    Line,
    Options,
    Race,
    Result,
    Row,
    difference,
    rested,
    shape,
)
from benchmarks.least_squares import fit_estimator
from benchmarks.selection import left_out

LABELS = 5
COMPARED = 2_000
"""Rows on which leave-one-out is compared with as many fits."""


def counts(options: Options, *, rows: int, columns: int) -> tuple[Any, Any]:
    """Counts whose rates depend on the class."""
    rows = rows // 10 if options.quick else rows
    rng = np.random.default_rng(12)
    rates = rng.gamma(2.0, 0.5, size=(LABELS, columns))
    y = rng.integers(0, LABELS, size=rows)
    return rng.poisson(rates[y]).astype(np.float64), y


def codes(options: Options, *, rows: int, columns: int) -> tuple[Any, Any]:
    """Codes of twelve categories, a third of them those that are frequent in the class."""
    rows = rows // 10 if options.quick else rows
    rng = np.random.default_rng(14)
    y = rng.integers(0, LABELS, size=rows)
    typical = (y[:, None] + np.arange(columns)) % 12
    cells = rng.integers(0, 12, size=(rows, columns))
    return np.where(rng.random((rows, columns)) < 1 / 3, typical, cells), y


def documents(options: Options, *, rows: int, columns: int, share: float) -> tuple[Any, Any]:
    """A sparse matrix of words in documents, few of them frequent."""
    from scipy.sparse import csr_array

    rows = rows // 10 if options.quick else rows
    rng = np.random.default_rng(13)
    words = int(share * columns)
    frequency = 1 / np.arange(1, columns + 1) ** 0.7
    which = rng.choice(columns, size=(rows, words), p=frequency / frequency.sum())
    indptr = words * np.arange(rows + 1, dtype=np.int32)
    entries = np.ones(which.size), which.ravel().astype(np.int32), indptr
    table = csr_array(entries, shape=(rows, columns))
    table.sum_duplicates()
    return table, rng.integers(0, LABELS, size=rows)


def learned(X: Any, y: Any, *, address: str) -> Answer:
    """Log-probabilities of the events, or weights, and of the classes."""
    model = fit_estimator(X, y, address=address, parameters={})
    return np.concatenate([model.feature_log_prob_.ravel(), model.class_log_prior_])


def shares(X: Any, y: Any, *, address: str) -> Answer:
    """Log-probabilities of the categories, and of the classes."""
    model = fit_estimator(X, y, address=address, parameters={})
    return np.concatenate([*map(np.ravel, model.feature_log_prob_), model.class_log_prior_])


@dataclass
class Predicting:
    """The predicted classes of the rows by a model that is fitted once."""

    address: str
    model: Any = field(default=None, compare=False)

    def __call__(self, X: Any, y: Any) -> Answer:
        if self.model is None:
            self.model = fit_estimator(X, y, address=self.address, parameters={})
        return np.asarray(self.model.predict(X), dtype=np.float64)


@dataclass(frozen=True)
class LeftOut:
    """Leave-one-out of a model, next to n fits; their time is n times that of a measured fit.

    Attributes
    ----------
    name : str
        The model, of ours and of scikit-learn where it has one.
    data : function of Options
    peers : mapping of names to import paths
    rounds : int
    parameters : mapping
        Of the constructors.
    """

    name: str
    data: Callable[[Options], tuple[Any, Any]]
    peers: tuple[str, ...] = ("suffice", "sklearn.naive_bayes")
    rounds: int = 5
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def work(self) -> str:
        return f"Leave-one-out of {self.name}, next to n fits (n times a measured fit)"

    def run(self, options: Options) -> list[Result]:
        X, y = self.data(options)
        address, parameters = f"suffice.{self.name}", dict(self.parameters)
        ours = partial(left_out, address=address, scoring="accuracy", **parameters)
        fits = {
            f"n fits of {peer.partition('.')[0]}, extrapolated": partial(
                fit_estimator, address=f"{peer}.{self.name}", parameters=parameters
            )
            for peer in self.peers
        }
        seconds: dict[str, list[float]] = {name: [] for name in (OURS, *fits)}
        for fit in (ours, *fits.values()):
            fit(X, y)
        for _ in range(3 if options.quick else self.rounds):
            seconds[OURS].append(rested(ours, X, y)[1])
            for name, fit in fits.items():
                seconds[name].append(len(y) * rested(fit, X[1:], y[1:])[1])
        return [
            Line(
                shape(self.work, X),
                {name: Figures(tuple(values)) for name, values in seconds.items()},
                Bar(1e-3),
                differences={OURS: self.largest_difference(X[:COMPARED], y[:COMPARED])},
                reference=f"as many fits to {COMPARED:,} of the rows",
            )
        ]

    def largest_difference(self, X: Any, y: Any) -> float:
        """Between the scores of rows left out, and those of models fitted without each."""
        import suffice

        address, parameters = f"suffice.{self.name}", dict(self.parameters)
        scores = left_out(X, y, address=address, scoring="accuracy", **parameters)
        right, rest = np.empty(len(y)), np.ones(len(y), dtype=bool)
        with suffice.config(threads=1):
            for i in range(len(y)):
                rest[i] = False
                model = fit_estimator(X[rest], y[rest], address=address, parameters=parameters)
                right[i] = model.predict(X[i : i + 1])[0] == y[i]
                rest[i] = True
        return difference(scores["test_score"], right)


def mixed(options: Options, *, rows: int, columns: int) -> tuple[Any, Any]:
    """Half of the columns numbers, half of them codes of categories."""
    X, y = codes(options, rows=rows, columns=columns)
    X = X.astype(np.float64)
    X[:, ::2] += np.random.default_rng(15).standard_normal((len(X), columns // 2))
    return X, y


KINDS = ["gaussian", "categorical"] * 25
TALL = partial(counts, rows=200_000, columns=50)
CODES = partial(codes, rows=200_000, columns=50)
TEXT = partial(documents, rows=100_000, columns=50_000, share=0.001)
GAUSSIAN = partial(classes, rows=200_000, columns=50, labels=LABELS)


def race(work: str, data: Any, made: Any, bar: Bar, **options: Any) -> Race:
    """One of ours next to scikit-learn's of the same name."""
    name = work.partition(",")[0].split()[-1]
    peers = {"scikit-learn": made(address=f"sklearn.naive_bayes.{name}")}
    ours = made(address=f"suffice.{name}")
    return Race(work, data, ours, peers, bar, reference="scikit-learn", **options)


FIT = partial(partial, learned)
DISCRETE = ("MultinomialNB", "BernoulliNB", "ComplementNB")

ROWS: tuple[Row, ...] = (
    *(race(name, TALL, FIT, Bar(0.8)) for name in DISCRETE),
    *(race(f"{name}, CSR of density 0.1 %", TEXT, FIT, Bar(0.8)) for name in DISCRETE),
    *(race(f"Predictions of {name}", TALL, Predicting, Bar(1.2)) for name in DISCRETE),
    *(LeftOut(name, TALL) for name in DISCRETE),
    race("CategoricalNB", CODES, partial(partial, shares), Bar(0.8)),
    race("Predictions of CategoricalNB", CODES, Predicting, Bar(1.2)),
    LeftOut("CategoricalNB", CODES),
    LeftOut("PoissonNB", TALL, peers=("suffice",)),
    LeftOut("GaussianNB", GAUSSIAN),
    LeftOut(
        "MixedNB",
        partial(mixed, rows=200_000, columns=50),
        peers=("suffice",),
        parameters={"kinds": KINDS},
    ),
)
