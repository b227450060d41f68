"""Races of logistic regression: two classes, ten, and sparse rows; all at equal objectives.

Ours runs as it comes.  A peer that stops short of our objective is tightened until it gets there,
and is then shown twice: as it comes, and tightened.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import OURS, Bar, Fit, Options, Race, Result, Row, timed
from benchmarks.least_squares import estimator

Floats = NDArray[np.float64]

SHORT = 1e-8
"""How far, relative to ours, an objective may be above it before its peer is tightened."""

COUNTS = 2e-8
"""How far from a lower bound of the minimum, relative to it, an objective still counts."""

TOLERANCES = (1e-6, 1e-8, 1e-10, 1e-12)

SLOW = 5.0
"""Seconds beyond which a peer runs once."""

# --- objectives ----------------------------------------------------------------------------


class Scored:
    """A fitted model whose answer is its objective, computed when asked for."""

    intercept_ = np.empty(0)

    def __init__(self, model: Any, X: Any, y: Any) -> None:
        self.model, self.X, self.y = model, X, y

    @property
    def coef_(self) -> Floats:
        return np.array([objective(self.model, self.X, self.y)[0]])


def objective(model: Any, X: Any, y: Any) -> tuple[float, Floats]:
    """Σ ℓ + ½‖θ‖² of a fitted model, and its gradient by θ."""
    theta, constant = np.atleast_2d(model.coef_), np.ravel(model.intercept_)
    eta = np.asarray(X @ theta.T) + constant
    two = eta.shape[1] == 1
    eta = np.hstack([np.zeros_like(eta), eta]) if two else eta
    top = eta.max(axis=1, keepdims=True)
    powers = np.exp(eta - top)
    total = powers.sum(axis=1, keepdims=True)
    own = eta[np.arange(len(y)), y]
    value = float(np.sum(top + np.log(total)) - own.sum() + 0.5 * np.sum(theta**2))
    left = powers / total
    left[np.arange(len(y)), y] -= 1.0
    left = left[:, 1:] if two else left
    return value, np.asarray((X.T @ left).T) + theta


def lower_bound(X: Any, y: Any) -> Floats:
    """No objective can be below: ½‖θ‖² bends it by 1, so F* ≥ F − ½‖∇F‖² (once b is right)."""
    value, gradient = objective(estimator("suffice.LogisticRegression", tol=1e-10)(X, y), X, y)
    return np.array([value - 0.5 * float(np.sum(gradient**2))])


def fit_scored(X: Any, y: Any, *, fit: Fit) -> Scored:
    return Scored(fit(X, y), X, y)


# --- the race ------------------------------------------------------------------------------


@dataclass(frozen=True)
class EqualObjectives:
    """A race whose peers are tightened until they reach our objective.

    Attributes
    ----------
    work : str
    data : function of Options
    peers : mapping of names to an import path and parameters
    bar : Bar
    rounds : int
    """

    work: str
    data: Any
    peers: Mapping[str, tuple[str, Mapping[str, Any]]]
    bar: Bar
    rounds: int = 5

    def run(self, options: Options) -> list[Result]:
        X, y = self.data(options)
        ours = estimator("suffice.LogisticRegression")
        goal = objective(ours(X, y), X, y)[0]
        peers: dict[str, Fit] = {}
        once = set()
        for name, (address, parameters) in self.peers.items():
            for label, fit in contenders(name, address, parameters):
                model, seconds = timed(fit, X, y)
                reached = objective(model, X, y)[0]
                enough = reached <= goal * (1 + SHORT)
                if label == name or enough or label.endswith(f"{TOLERANCES[-1]:.0e}"):
                    peers[label] = partial(fit_scored, fit=fit)
                    once |= {label} if seconds > SLOW else set()
                if enough:
                    break
        race = Race(
            self.work,
            lambda _: (X, y),
            partial(fit_scored, fit=ours),
            peers,
            self.bar,
            reference=lower_bound,
            truth=f"a lower bound of the objective (as {OURS} proves it)",
            tolerance=COUNTS,
            rounds=self.rounds,
            once=frozenset(once),
        )
        return race.run(options)


def contenders(name: str, address: str, parameters: Mapping[str, Any]) -> list[tuple[str, Fit]]:
    """A peer as it comes, and ever more tightened."""
    fits = [(name, estimator(address, **parameters))]
    for tol in TOLERANCES:
        tightened = {**parameters, "tol": tol, "max_iter": 10_000}
        fits.append((f"{name}, tol={tol:.0e}", estimator(address, **tightened)))
    return fits


# --- data ----------------------------------------------------------------------------------


def drawn(eta: Floats, rng: np.random.Generator) -> NDArray[np.int64]:
    """Labels with log odds η between the classes."""
    return np.asarray((eta + rng.gumbel(size=eta.shape)).argmax(axis=1))


def dense(options: Options, *, rows: int, columns: int, classes: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(rows + columns)
    X = rng.standard_normal((rows // 10 if options.quick else rows, columns))
    theta = rng.standard_normal((columns, classes)) * 2 / np.sqrt(columns)
    return X, drawn(X @ theta, rng)


def sparse(options: Options, *, rows: int, columns: int, entries: int) -> tuple[Any, Any]:
    """Rows of so many entries, in columns of which a few are common and most are rare."""
    from scipy.sparse import csr_matrix

    rng = np.random.default_rng(11)
    rows = rows // 10 if options.quick else rows
    places = (columns * rng.random((rows, entries)) ** 2).astype(np.int32)
    pointers = np.arange(0, rows * entries + 1, entries, dtype=np.int32)
    X = csr_matrix((rng.random(rows * entries), places.ravel(), pointers), (rows, columns))
    X.sum_duplicates()
    theta = rng.standard_normal((columns, 1))
    return X, drawn(np.hstack([np.zeros((rows, 1)), X @ theta]), rng)


SKLEARN = "sklearn.linear_model.LogisticRegression"
INTELEX = "sklearnex.linear_model.LogisticRegression"
LBFGS = {"scikit-learn lbfgs": (SKLEARN, {"solver": "lbfgs"})}
NEWTON = {"scikit-learn newton-cholesky": (SKLEARN, {"solver": "newton-cholesky"})}
ONEDAL = {"intelex": (INTELEX, {"solver": "lbfgs"})}

ROWS: tuple[Row, ...] = (
    EqualObjectives(
        "LogisticRegression",
        partial(dense, rows=200_000, columns=50, classes=2),
        {**LBFGS, **NEWTON, **ONEDAL},
        Bar(0.7),
    ),
    EqualObjectives(
        "LogisticRegression, 10 classes",
        partial(dense, rows=60_000, columns=100, classes=10),
        {**LBFGS, **ONEDAL},  # newton-cholesky takes minutes
        Bar(1.0),
    ),
    EqualObjectives(
        "LogisticRegression, sparse (50 entries a row)",
        partial(sparse, rows=100_000, columns=50_000, entries=50),
        {
            **LBFGS,
            "scikit-learn liblinear": (
                SKLEARN,
                {"solver": "liblinear", "intercept_scaling": 100.0},
            ),
            "scikit-learn newton-cg": (SKLEARN, {"solver": "newton-cg"}),
        },
        Bar(1.0),
        rounds=3,
    ),
)
