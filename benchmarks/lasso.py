"""Races of the lasso: many rows, and a path over many columns."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Bar, Fit, Options, Race, Row
from benchmarks.least_squares import estimator, normal

Floats = NDArray[np.float64]

ALPHA = 0.05
N_ALPHAS = 100
MANY = 10**5


class Path:
    """Coefficients along a path; its answer is the objective at each penalty."""

    def __init__(self, X: Any, y: Floats, alphas: Floats, coefs: Floats) -> None:
        self.X, self.y, self.alphas, self.coefs = X, y, np.asarray(alphas), np.asarray(coefs)
        self.intercept_ = np.empty(0)

    @property
    def coef_(self) -> Floats:
        """Objectives, relative to that of no coefficients."""
        found = []
        for alpha, coef in zip(self.alphas, self.coefs.T, strict=True):
            support = np.flatnonzero(coef)
            left = self.y - self.X[:, support] @ coef[support]
            found.append(left @ left / 2 / len(left) + alpha * np.abs(coef).sum())
        return np.array(found)


def lower_bounds(X: Any, y: Floats, *, eps: float) -> Floats:
    """Dual objectives, from residuals of our path: no objective can be below them."""
    path = our_path(X, y, eps=eps)
    found = []
    for alpha, coef in zip(path.alphas, path.coefs.T, strict=True):
        support = np.flatnonzero(coef)
        left = y - X[:, support] @ coef[support]
        left = left * min(1.0, len(y) * alpha / np.abs(left @ X).max())
        found.append((left @ y - left @ left / 2) / len(y))
    return np.array(found)


def alphas_of(X: Any, y: Floats, eps: float) -> Floats:
    top = np.abs(y @ X).max() / len(y)
    return np.geomspace(top, top * eps, N_ALPHAS)


def our_path(X: Any, y: Floats, *, eps: float) -> Path:
    from suffice import lasso_path

    alphas, coefs, _ = lasso_path(X, y, alphas=alphas_of(X, y, eps))
    return Path(X, y, alphas, coefs)


def their_path(X: Any, y: Floats, *, eps: float, tol: float) -> Path:
    from sklearn.linear_model import lasso_path

    alphas, coefs, _ = lasso_path(X, y, alphas=alphas_of(X, y, eps), tol=tol)
    return Path(X, y, alphas, coefs)


def celer_path(X: Any, y: Floats, *, eps: float, tol: float) -> Path:
    from celer import celer_path

    columns = np.asfortranarray(X)
    found = celer_path(columns, y, "lasso", alphas=alphas_of(X, y, eps), tol=tol)
    return Path(X, y, found[0], found[1])


def wide(options: Options) -> tuple[Any, Floats]:
    """A hundred of the columns matter."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3000) if options.quick else (1000, 20_000))
    theta = np.zeros(X.shape[1])
    theta[:100] = rng.standard_normal(100)
    return X, X @ theta + 3 * rng.standard_normal(len(X))


EPS = 1e-2
PATHS = {
    "scikit-learn": partial(their_path, eps=EPS, tol=1e-4),
    "scikit-learn, tol=1e-6": partial(their_path, eps=EPS, tol=1e-6),
}
if find_spec("celer"):
    PATHS["celer"] = partial(celer_path, eps=EPS, tol=1e-6)
    PATHS["celer, tol=1e-4"] = partial(celer_path, eps=EPS, tol=1e-4)


def peers(name: str) -> dict[str, Fit]:
    theirs, intelex = f"sklearn.linear_model.{name}", f"daal4py.sklearn.linear_model.{name}"
    found = {
        "scikit-learn": estimator(theirs, alpha=ALPHA),
        "scikit-learn, products": estimator(theirs, alpha=ALPHA, precompute=True),
        "intelex": estimator(intelex, alpha=ALPHA),
    }
    if name == "Lasso" and find_spec("celer"):  # its elastic net takes seconds to two digits
        found["celer"] = estimator("celer.Lasso", alpha=ALPHA)
    return found


def tightened(name: str) -> dict[str, Fit]:
    """Those that work on products, to six digits where they would stop short of them."""
    parameters = {"alpha": ALPHA, "tol": 1e-9, "max_iter": MANY}
    theirs, intelex = f"sklearn.linear_model.{name}", f"daal4py.sklearn.linear_model.{name}"
    return {
        "scikit-learn, products, tol=1e-9": estimator(theirs, precompute=True, **parameters),
        "intelex, tol=1e-9": estimator(intelex, **parameters),
    }


ROWS: tuple[Row, ...] = (
    *(
        Race(
            name,
            partial(normal, rows=1_000_000, columns=50),
            estimator(f"suffice.{name}", alpha=ALPHA),
            peers(name),
            Bar(0.4),
            reference=estimator(
                f"sklearn.linear_model.{name}",
                alpha=ALPHA,
                precompute=True,
                tol=1e-14,
                max_iter=MANY,
            ),
            truth="scikit-learn at tol=1e-14",
            tolerance=1e-6,
            rounds=5,
        )
        for name in ("Lasso", "ElasticNet")
    ),
    Race(
        "LassoCV, 100 penalties and 5 folds",
        partial(normal, rows=100_000, columns=50),
        estimator("suffice.LassoCV"),
        {"scikit-learn": estimator("sklearn.linear_model.LassoCV")},
        Bar(0.4),
        reference=estimator("sklearn.linear_model.LassoCV", tol=1e-10, max_iter=MANY),
        truth="scikit-learn at tol=1e-10",
        tolerance=1e-3,
        rounds=3,
    ),
    Race(
        f"lasso_path of {N_ALPHAS} penalties, wide",
        wide,
        partial(our_path, eps=EPS),
        PATHS,
        Bar(1.0),
        reference=partial(lower_bounds, eps=EPS),
        truth="the dual objectives",
        tolerance=1e-6,
        rounds=3,
        # Slow, and compiled beforehand: their first run is like any other.
        once=frozenset({"scikit-learn", "scikit-learn, tol=1e-6"}),
    ),
)
