"""One case a family: its formula in decimals, its twin in SciPy, natural parameters to try."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
from scipy import stats

from suffice.families import (
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Exponential,
    Family,
    Gamma,
    Gaussian,
    GaussianKnownVariance,
    Poisson,
)
from tests.families import exact


@dataclass(frozen=True)
class Case:
    family: Family
    log_partition: Callable[[list[Decimal]], Decimal]
    T: Callable[[list[Decimal]], list[Decimal]]
    log_base: Callable[[list[Decimal]], Decimal]
    twin: Callable[..., Any]
    ordinary: list[Any]
    extreme: list[Any]
    values: Any
    far: list[Any] = field(default_factory=list)

    def __str__(self) -> str:
        return type(self.family).__name__

    @property
    def log_density_of_twin(self):
        def log_density(y, eta):
            twin = self.twin(**self.family.parameters(eta))
            return getattr(twin, "logpdf", None or getattr(twin, "logpmf", None))(y)

        return log_density


def identity(y):
    return [y[0]]


def nothing(y):
    return Decimal(0)


def logs(y):
    return [value.ln() for value in y]


def minus_logs(y):
    return -sum(logs(y))


def one_hot(k):
    return lambda y: [Decimal(int(y[0] == j)) for j in range(k)]


def half_log_2pi(scale=1.0):
    return (2 * exact.pi() * Decimal(scale)).ln() / 2


def dirichlet_twin(alpha):
    class Twin:
        @staticmethod
        def logpdf(y):
            return np.array([stats.dirichlet.logpdf(row, alpha) for row in y])

    return Twin


CASES = [
    Case(
        Bernoulli(),
        exact.bernoulli,
        identity,
        nothing,
        lambda probability: stats.bernoulli(probability),
        ordinary=[[-3.0], [0.0], [0.4], [5.0]],
        extreme=[[-1e100], [-700.0], [-40.0], [40.0], [1e-100], [1e100]],
        values=[0, 1, 1],
    ),
    Case(
        Categorical(3),
        exact.categorical,
        one_hot(3),
        nothing,
        lambda probabilities: stats.rv_discrete(values=(range(3), probabilities)),
        ordinary=[[0.1, -2.0, 1.0], [0.0, 0.0, 0.0]],
        extreme=[[1e100, 0.0, -1e100], [40.0, 0.0, -40.0], [700.0, 701.0, -800.0]],
        values=[0, 1, 2],
    ),
    Case(
        Poisson(),
        exact.poisson,
        identity,
        lambda y: -exact.log_gamma(y[0] + 1),
        lambda rate: stats.poisson(rate),
        ordinary=[[-2.0], [0.0], [1.3], [5.0]],
        extreme=[[-1e100], [-800.0], [13.8], [34.5], [100.0], [700.0]],
        values=[0, 1, 4, 150],
        far=[10**6, 10**15],
    ),
    Case(
        Exponential(),
        exact.exponential,
        identity,
        nothing,
        lambda rate: stats.expon(scale=1 / rate),
        ordinary=[[-0.3], [-7.0]],
        extreme=[[-1e-100], [-1e100]],
        values=[0.0, 0.1, 3.0],
        far=[1e-300, 1e100],
    ),
    Case(
        Gaussian(),
        exact.gaussian,
        lambda y: [y[0], y[0] ** 2],
        lambda y: -half_log_2pi(),
        lambda mu, variance: stats.norm(mu, np.sqrt(variance)),
        ordinary=[[0.0, -0.5], [3.0, -2.0], [-4.0, -0.1]],
        extreme=[[1e8, -0.5], [1e100, -1e100], [1e-100, -1e100], [1e50, -1e-50], [0.0, -1e-100]],
        values=[-3.0, 0.0, 0.7],
        far=[1e-300, 1e60],
    ),
    Case(
        GaussianKnownVariance(2.5),
        exact.known_variance(2.5),
        identity,
        lambda y: -(y[0] ** 2) / 5 - half_log_2pi(2.5),
        lambda mu: stats.norm(mu, np.sqrt(2.5)),
        ordinary=[[0.0], [-1.2], [4.0]],
        extreme=[[1e100], [-1e100], [1e-100]],
        values=[-3.0, 0.0, 0.7],
        far=[1e-300, 1e60],
    ),
    Case(
        Gamma(),
        exact.gamma,
        lambda y: [y[0].ln(), y[0]],
        lambda y: -y[0].ln(),
        lambda shape, rate: stats.gamma(shape, scale=1 / rate),
        ordinary=[[0.5, -2.0], [1.0, -1.0], [9.0, -0.2], [30.0, -4.0]],
        extreme=[[1e-100, -1.0], [1e-10, -1e-10], [1e8, -1e8], [1e15, -1e3], [1e100, -1e100]],
        values=[1e-3, 0.4, 2.0, 70.0],
        far=[1e-300, 1e8, 1e60],
    ),
    Case(
        Beta(),
        exact.dirichlet,
        lambda y: [y[0].ln(), (1 - y[0]).ln()],
        lambda y: -y[0].ln() - (1 - y[0]).ln(),
        lambda alpha, beta: stats.beta(alpha, beta),
        ordinary=[[0.5, 0.5], [1.0, 1.0], [2.0, 7.0], [40.0, 3.0]],
        extreme=[[1e-50, 1e-50], [1e-5, 1e5], [1e10, 1e10], [1e12, 2.0], [1e100, 1e100]],
        values=[1e-5, 0.2, 0.5, 0.93],
        far=[1e-300, 1.0 - 2.0**-53],
    ),
    Case(
        Dirichlet(3),
        exact.dirichlet,
        logs,
        minus_logs,
        dirichlet_twin,
        ordinary=[[1.0, 1.0, 1.0], [0.3, 2.0, 5.0]],
        extreme=[[1e-50, 1e-40, 1.0], [1e10, 3e10, 2e9], [1e100, 1e100, 1e90]],
        values=[[0.2, 0.3, 0.5], [0.98, 0.01, 0.01], [1e-6, 0.5, 0.499999]],
        far=[[1e-300, 0.25, 0.75]],
    ),
]
