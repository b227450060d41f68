"""Locally weighted regression: a race, and how near it comes to what its products alone take."""

from __future__ import annotations

import importlib
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Answer, Bar, Options, Race, Result, Row, Table, cores, timed

Floats = NDArray[np.float64]
QUERIES = 2000


def waves(options: Options) -> tuple[Floats, Floats]:
    """20,000 rows after 2,000 queries, of 10 columns."""
    rng = np.random.default_rng(11)
    X = rng.standard_normal(((2_000 if options.quick else 20_000) + QUERIES, 10))
    return X, np.sin(X).sum(axis=1) + rng.standard_normal(len(X))


def bandwidth(X: Floats) -> float:
    rows = X[QUERIES:]
    return float(np.sqrt(rows.var(axis=0).sum()) * len(rows) ** (-1 / 14))


def ours(X: Floats, y: Floats) -> Answer:
    cls = importlib.import_module("suffice").LocallyWeightedRegression
    model = cls(bandwidth(X)).fit(X[QUERIES:], y[QUERIES:])
    return np.asarray(model.predict(X[:QUERIES]))


def one_by_one(X: Floats, y: Floats) -> Answer:
    """The normal equations of each query, as one would write them with NumPy."""
    rows, target, width, out = X[QUERIES:], y[QUERIES:], bandwidth(X), np.empty(QUERIES)
    design = np.ones((len(rows), rows.shape[1] + 1))
    for i, q in enumerate(X[:QUERIES]):
        np.subtract(rows, q, out=design[:, 1:])
        weight = np.exp(-np.einsum("ij,ij->i", design[:, 1:], design[:, 1:]) / (2 * width**2))
        weighted = design.T * weight
        out[i] = np.linalg.solve(weighted @ design, weighted @ target)[0]
    return out


def statsmodels(X: Floats, y: Floats) -> Answer:
    import warnings

    kernels = importlib.import_module("statsmodels.nonparametric.kernel_regression")
    columns = X.shape[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = kernels.KernelReg(
            y[QUERIES:], X[QUERIES:], "c" * columns, reg_type="ll", bw=[bandwidth(X)] * columns
        )
        return np.asarray(model.fit(X[:QUERIES])[0])


def by_factorisation(X: Floats, y: Floats) -> Answer:
    """Each query's weighted least squares by QR."""
    rows, target, width, out = X[QUERIES:], y[QUERIES:], bandwidth(X), np.empty(QUERIES)
    for i, q in enumerate(X[:QUERIES]):
        away = rows - q
        root = np.exp(-(away**2).sum(axis=1) / (4 * width**2))
        Q, R = np.linalg.qr(root[:, None] * np.insert(away, 0, 1.0, axis=1))
        out[i] = np.linalg.solve(R, Q.T @ (root * target))[0]
    return out


@dataclass(frozen=True)
class Limit:
    """Our time over that of the floating-point operations of distances and Gram matrices alone."""

    work: str = "LocallyWeightedRegression, limit"

    def run(self, options: Options) -> list[Result]:
        X, y = waves(options)
        cls = importlib.import_module("suffice").LocallyWeightedRegression
        model = cls(bandwidth(X)).fit(X[QUERIES:], y[QUERIES:])
        rows, columns = len(X) - QUERIES, X.shape[1]
        operations = 2 * QUERIES * rows * ((columns + 1) * (columns + 2) / 2 + columns)
        square = np.random.default_rng(0).standard_normal((2000, 2000))
        seconds, peak = [], []
        for _ in range(4 if options.quick else 10):
            seconds.append(timed(model.predict, X[:QUERIES])[1])
            time.sleep(0.1)
            peak.append(2 * 2000**3 / timed(np.matmul, square, square)[1])
            time.sleep(0.1)
        limit = operations / max(peak[1:])
        best = min(seconds[1:])
        cells = (
            (
                f"{rows:,} × {columns}, {QUERIES:,} queries",
                f"{best:.3f} s",
                f"{limit:.3f} s",
                f"{best / limit:.2f}",
            ),
        )
        return [
            Table(
                "Locally weighted regression and the limit of matrix products",
                f"Predictions on {cores()} cores against the same number of multiplications and "
                "additions, for distances and weighted Gram matrices, at the speed of a product of "
                "two 2,000 × 2,000 matrices measured in the same run.",
                ("work", "ours", "products alone", "ratio"),
                cells,
            )
        ]


ROWS: tuple[Row, ...] = (
    Race(
        f"LocallyWeightedRegression, {QUERIES:,} queries",
        waves,
        ours,
        {"NumPy, one by one": one_by_one, "statsmodels": statsmodels},
        Bar(1.0, aim=0.2),
        reference=by_factorisation,
        truth="QR of each query",
        tolerance=1e-9,
        once=frozenset({"NumPy, one by one", "statsmodels"}),
    ),
    Limit(),
)
