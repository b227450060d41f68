"""Densities as others describe them: our distributions, SciPy's, plain functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from suffice.bayes import (
    BetaBernoulli,
    BetaBinomial,
    CategoricalShares,
    Conjugate,
    GammaPoisson,
    NegativeBinomial,
    NormalNormal,
)
from suffice.bayes.checks import symmetric
from suffice.families import Bernoulli, Beta, Categorical, Distribution, Exponential, Gamma, Poisson
from suffice.families.gaussian import LOG_2PI
from suffice.families.sampling import generator, number_of_draws
from suffice.numerics.double_double import Array

COUNTED = (Bernoulli, Categorical, Poisson, BetaBinomial, CategoricalShares, NegativeBinomial)
"""What is over whole numbers."""

WHOLE = (-np.inf, np.inf)
"""The support of what is positive everywhere."""


@dataclass(frozen=True, eq=False)
class Density:
    """A density, and what else is known about it.

    Parameters
    ----------
    log_density : function
        log p of rows: of shape (rows,) in one dimension, and (rows, dimension) in more.
    draw : function, optional
        From a number n and a `numpy.random.Generator` to n random rows; without it
        errors are found by quadrature alone.
    dimension : int, default=1
    discrete : bool, default=False
        Whether these are probabilities of whole numbers.
    support : (lower, upper), default=(−∞, ∞)
        Outside the density is 0; numbers, or one for each dimension.

    Examples
    --------
    >>> import numpy as np
    >>> triangle = Density(lambda x: np.log(2.0 * x), support=(0.0, 1.0))
    >>> triangle.at([0.25, 2.0])
    array([-0.69314718,        -inf])
    """

    log_density: Callable[[Array], Any]
    draw: Callable[[int, np.random.Generator], Any] | None = None
    dimension: int = 1
    discrete: bool = False
    support: tuple[Any, Any] = WHOLE

    def at(self, X: Any) -> Array:
        """log p of each row; −∞ outside the support."""
        rows = self.rows(X)
        low, high = (
            np.broadcast_to(np.asarray(end, float), self.dimension) for end in self.support
        )
        inside = ((rows >= low) & (rows <= high)).all(axis=1)
        if self.discrete:
            inside &= (np.trunc(rows) == rows).all(axis=1)
        values = np.full(len(rows), -np.inf)
        some = rows[inside]
        if len(some):
            with np.errstate(divide="ignore"):
                found = self.log_density(some[:, 0] if self.dimension == 1 else some)
            values[inside] = np.asarray(found, dtype=np.float64).reshape(len(some))
        return values

    def rows(self, X: Any) -> Array:
        """X as an array of shape (rows, dimension)."""
        try:
            rows = np.asarray(X, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError("X holds something else than numbers") from None
        if rows.ndim < 2 and self.dimension == 1:
            rows = rows.reshape(-1, 1)
        if rows.ndim != 2 or rows.shape[1] != self.dimension:
            raise ValueError(
                f"X has shape {rows.shape}; the densities are of rows of {self.dimension} numbers"
            )
        if np.isnan(rows).any():
            raise ValueError("X holds NaN; accepted are numbers")
        return rows

    def sample(self, n: int, random_state: Any = None) -> Array:
        """Random rows, of shape (n, dimension)."""
        n = number_of_draws(n)
        if self.draw is None:
            raise ValueError(
                "this density cannot be drawn from: give Density(log_density, draw=…), or use "
                'method="quadrature"'
            )
        return self.rows(np.asarray(self.draw(n, generator(random_state)), dtype=np.float64))


@dataclass(frozen=True, eq=False)
class MultivariateGaussian:
    """A Gaussian of several columns.

    Parameters
    ----------
    mean : array of shape (columns,)
    covariance : array of shape (columns, columns), or float
        Positive definite; a number stands for that multiple of the identity.

    Examples
    --------
    >>> MultivariateGaussian([0.0, 0.0], 4.0).log_density([[0.0, 2.0]]).round(4)
    array([-3.7242])
    """

    mean: Any
    covariance: Any
    root: Any = field(default=None, init=False, repr=False)
    """The Cholesky factor of the covariance."""

    def __post_init__(self) -> None:
        mean = np.array(self.mean, dtype=np.float64, ndmin=1)
        covariance = np.array(self.covariance, dtype=np.float64)
        if covariance.ndim == 0:
            covariance = covariance * np.eye(len(mean))
        if mean.ndim != 1 or not len(mean) or covariance.shape != (len(mean), len(mean)):
            raise ValueError(
                f"mean has shape {mean.shape} and covariance {covariance.shape}; accepted are "
                "(columns,) and (columns, columns)"
            )
        if not np.isfinite(mean).all():
            raise ValueError(f"mean holds {mean.tolist()}; accepted are finite numbers")
        try:
            root = np.linalg.cholesky(covariance)
        except np.linalg.LinAlgError:
            root = np.full_like(covariance, np.nan)
        if not (np.isfinite(root).all() and symmetric(covariance)):
            raise ValueError("covariance must be symmetric and positive definite")
        for name, value in (("mean", mean), ("covariance", covariance), ("root", root)):
            value.flags.writeable = False
            object.__setattr__(self, name, value)

    def log_density(self, X: Any) -> Array:
        """log p of rows of shape (rows, columns)."""
        rows, d = np.asarray(X, dtype=np.float64), len(self.mean)
        if d == 1 and rows.ndim < 2:
            rows = rows.reshape(-1, 1)
        if rows.ndim != 2 or rows.shape[1] != d:
            raise ValueError(f"X has shape {rows.shape}; this density is of rows of {d} numbers")
        away = (rows - self.mean) @ np.linalg.inv(self.root).T
        volume = 2.0 * np.log(np.diagonal(self.root)).sum()
        return np.asarray(-0.5 * (np.square(away).sum(axis=1) + volume + d * LOG_2PI))

    def sample(self, n: int, random_state: Any = None) -> Array:
        """Random rows, of shape (n, columns)."""
        shape = (number_of_draws(n), len(self.mean))
        normal = generator(random_state).standard_normal(shape)
        return np.asarray(self.mean + normal @ self.root.T)


def as_density(given: Any) -> Density:
    """Whatever describes a density, as one.

    Parameters
    ----------
    given : Density, distribution of `suffice.families` or `suffice.bayes`, MultivariateGaussian,
        frozen distribution of `scipy.stats`, fitted density with `score_samples`, or a function
        that gives log densities in one dimension
    """
    if isinstance(given, Density):
        return given
    if isinstance(given, Distribution):
        return _of_family(given)
    if isinstance(given, Conjugate):
        return _of_pair(given)
    if hasattr(given, "log_density"):
        return _measured(given, given.log_density, given.sample, isinstance(given, COUNTED))
    if hasattr(given, "rvs") and callable(given):
        raise TypeError(
            f"{given!r} has no parameters yet: give scipy.stats.norm(0.0, 1.0), not "
            "scipy.stats.norm"
        )
    if hasattr(given, "rvs"):
        counted = hasattr(given, "logpmf") and not hasattr(given, "logpdf")
        law = given.logpmf if counted else given.logpdf
        return _measured(given, law, partial(_variates, given), counted)
    if hasattr(given, "score_samples"):
        return _of_estimator(given)
    if callable(given):
        return Density(given)
    raise TypeError(
        f"{given!r} is no density; accepted are suffice.theory.Density, distributions of "
        "suffice.families, suffice.bayes and scipy.stats, and functions that give log densities"
    )


def _of_family(given: Distribution) -> Density:
    family = given.family
    if family.observed_axes or isinstance(getattr(family, "categories", 0), tuple):
        raise ValueError(f"{given!r} is not over numbers: wrap it in suffice.theory.Density")
    if given.eta.ndim != 1:
        raise ValueError(f"{given!r} holds several distributions: give them one by one")
    law, counted = partial(_log_density_in_support, given), isinstance(family, COUNTED)
    return Density(law, given.sample, 1, counted, _support(family))


def _of_pair(given: Conjugate) -> Density:
    """The density of the one parameter of a conjugate pair."""
    if isinstance(given, BetaBernoulli):
        return _of_family(Beta().at(given.alpha, given.beta))
    if isinstance(given, GammaPoisson):
        return _of_family(Gamma().at(given.shape, given.rate))
    if isinstance(given, NormalNormal):
        return _measured(given, given.log_density, given.sample, False)
    raise TypeError(
        f"{given!r} is a distribution of several parameters; that of the next row is its "
        "predictive()"
    )


def _log_density_in_support(given: Distribution, x: Array) -> Array:
    """log p, which families refuse to tell of what is impossible."""
    possible = given.family._in_support(x)
    logs = np.full(len(x), -np.inf)
    logs[possible] = given.log_density(x[possible])
    return logs


def _variates(given: Any, n: int, rng: np.random.Generator) -> Any:
    return given.rvs(n, random_state=rng)


def _measured(given: Any, law: Any, draw: Any, counted: bool) -> Density:
    """A density whose dimension two draws tell."""
    some = np.asarray(draw(2, np.random.default_rng(0)))
    if some.ndim > 2:
        raise ValueError(f"{given!r} holds several distributions: give them one by one")
    return Density(law, draw, 1 if some.ndim == 1 else some.shape[1], counted, _support(given))


def _support(given: Any) -> tuple[Any, Any]:
    """Where a distribution over numbers may be other than zero."""
    if isinstance(given, Bernoulli | Beta):
        return 0.0, 1.0
    if isinstance(given, Exponential | Gamma | Poisson | NegativeBinomial):
        return 0.0, np.inf
    if isinstance(given, Categorical):
        return 0.0, given.dimension - 1.0
    if isinstance(given, CategoricalShares):
        return _support(given.family)
    if isinstance(given, BetaBinomial):
        return 0.0, float(given.trials)
    found: tuple[Any, Any] = given.support() if callable(getattr(given, "support", None)) else WHOLE
    return found


def _of_estimator(given: Any) -> Density:
    """What scikit-learn calls a density: a fitted model with `score_samples`."""
    check_is_fitted(given)
    draw = partial(_drawn_from, given) if hasattr(given, "sample") else None
    return Density(partial(_scored, given), draw, int(given.n_features_in_))


def _scored(given: Any, x: Array) -> Any:
    return given.score_samples(x.reshape(-1, given.n_features_in_))


def _drawn_from(given: Any, n: int, rng: np.random.Generator) -> Any:
    seed = int(rng.integers(2**31))
    if "random_state" in inspect.signature(given.sample).parameters:
        return given.sample(n, random_state=seed)
    # Mixtures keep their seed, and say of which component each row is.
    seeded = copy(given)
    seeded.random_state = seed
    found = seeded.sample(n)
    return found[0] if isinstance(found, tuple) else found
