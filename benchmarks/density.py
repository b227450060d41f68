"""A race of kernel densities."""

from __future__ import annotations

import importlib
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Answer, Bar, Options, Race, Row

Floats = NDArray[np.float64]
QUERIES = 2000


def normal(options: Options, *, rows: int, columns: int) -> tuple[Floats, Floats]:
    """Rows and queries."""
    rows = rows // 10 if options.quick else rows
    rng = np.random.default_rng(13)
    queries = rng.standard_normal((QUERIES, columns))
    return rng.standard_normal((rows, columns)), queries


def densities(X: Floats, queries: Floats, *, address: str, parameters: dict[str, Any]) -> Answer:
    """A fit with Scott's bandwidth, and the log densities of the queries."""
    module, name = address.rsplit(".", 1)
    model = getattr(importlib.import_module(module), name)(bandwidth="scott", **parameters)
    return np.asarray(model.fit(X).score_samples(queries))


def by_definition(X: Floats, queries: Floats) -> Answer:
    """Log densities from the formula, in long double."""
    rows = X.astype(np.longdouble)
    n, d = rows.shape
    h = n ** (-1 / (d + 4))
    out = np.empty(len(queries))
    for i, q in enumerate(queries):
        exponent = -((rows - q) ** 2).sum(axis=1) / (2 * np.longdouble(h) ** 2)
        out[i] = exponent.max() + np.log(np.exp(exponent - exponent.max()).sum())
    return out - np.log(n) - d * np.log(h) - d / 2 * np.log(2 * np.pi)


OURS = partial(densities, address="suffice.KernelDensity", parameters={})
PEERS = {
    f"scikit-learn, rtol={rtol:g}": partial(
        densities, address="sklearn.neighbors.KernelDensity", parameters={"rtol": rtol}
    )
    for rtol in (0.0, 1e-8)
}


ROWS: tuple[Row, ...] = (
    Race(
        f"KernelDensity, {QUERIES:,} queries",
        partial(normal, rows=20_000, columns=5),
        OURS,
        PEERS,
        Bar(0.3, aim=0.05),
        reference=by_definition,
        truth="the formula in long double",
        tolerance=1e-8,
        rounds=3,
    ),
)
