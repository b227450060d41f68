"""Rows that are hard on summaries, and how far moments of them may be from the exact ones."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from suffice.statistics.moments.full import Moments
from tests.numerics import rational
from tests.numerics.rational import U, exactly

KINDS = ["normal", "outlier", "drift", "wide", "lattice", "constant", "one heavy row"]
WEIGHTS = ["none", "near one", "wide", "integer", "some zero"]


@dataclass(frozen=True)
class Rows:
    """A block: Z of shape (rows, columns), and a weight a row or None."""

    Z: Any
    weight: Any

    def __len__(self) -> int:
        return len(self.Z)

    def __getitem__(self, index: Any) -> Rows:
        return Rows(self.Z[index], None if self.weight is None else self.weight[index])

    @property
    def present(self) -> Rows:
        """The rows whose weight is not zero."""
        return self if self.weight is None else self[self.weight > 0]

    def exact(self) -> rational.ExactMoments:
        return rational.moments(self.present.Z, self.present.weight)


def make(seed: int, n: int, d: int, kind: str, weights: str, offset: float, spread: float) -> Rows:
    """Rows of one kind about an offset."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, d))
    if kind == "outlier":
        Z[rng.integers(n)] *= 10.0 ** rng.uniform(0, 10)
    elif kind == "drift":
        Z[n // 2 :] += 10.0 ** rng.uniform(0, 10)
    elif kind == "wide":
        Z = 10.0 ** rng.uniform(-8, 8, size=(n, d))
    elif kind == "lattice":
        Z = rng.integers(-3, 4, size=(n, d)).astype(np.float64)
    elif kind == "constant":
        Z[:, 0] = Z[0, 0]
    weight = None
    if weights == "near one":
        weight = rng.uniform(0.5, 2.0, size=n)
    elif weights == "wide":
        weight = 10.0 ** rng.uniform(-6, 6, size=n)
    elif weights == "integer":
        weight = rng.integers(1, 10, size=n).astype(np.float64)
    elif weights == "some zero":
        weight = rng.uniform(0.5, 2.0, size=n) * (rng.random(n) < 0.7)
    if kind == "one heavy row":
        weight = np.full(n, 1e-6) * rng.uniform(1, 2, size=n)
        weight[rng.integers(n)] = 1e6
    return Rows(offset + spread * Z, weight)


@st.composite
def rows(
    draw: st.DrawFn, most: int = 12, most_columns: int = 3, columns: int | None = None
) -> Rows:
    """Blocks of a few rows: offsets to 1e12, spreads from 1e-8 to 1e6, weights 1e-6 to 1e6."""
    return make(
        seed=draw(st.integers(0, 2**32 - 1)),
        n=draw(st.integers(1, most)),
        d=columns or draw(st.integers(1, most_columns)),
        kind=draw(st.sampled_from(KINDS)),
        weights=draw(st.sampled_from(WEIGHTS)),
        offset=draw(st.sampled_from([0.0, 1.0, -1.0])) * 10.0 ** draw(st.integers(-3, 12)),
        spread=10.0 ** draw(st.integers(-8, 6)),
    )


def mean_of(moments: Moments) -> Any:
    """All three words of the mean."""
    return exactly(moments.mean) + exactly(moments.mean_rest)


def assert_within(moments: Moments, exact: rational.ExactMoments, count: int) -> None:
    """The bounds that moments promise, compared without rounding (as squares)."""
    d = len(moments.magnitude)
    assert moments.count == count
    assert moments.mean.shape == moments.mean_rest.shape == moments.magnitude.shape == (d,)
    assert moments.rounded_scatter.shape == (d, d)
    assert abs(exactly(moments.weight) - exact.weight) <= 2 * count * U**2 * exact.weight
    unit, magnitude = Fraction(moments.error_unit), exactly(moments.magnitude)
    assert np.all((mean_of(moments) - exact.mean) ** 2 <= unit**2 * magnitude / exact.weight)
    error = exactly(moments.scatter) - exact.scatter
    assert np.all(error**2 <= unit**2 * np.multiply.outer(magnitude, magnitude))
    assert np.all(magnitude >= np.diagonal(exact.scatter) * (1 - 2 * unit - 8 * U))
