"""The noise of the largest likelihood: steps of EM, then Newton's method within bounds.

EM sets the noise of each column to the variance that its loadings leave, u = 1 − diag(L Lᵀ).  It
is sure and slow; after a few steps Newton's method on log u takes over, with the exact Hessian made
positive definite, on the columns that are not held at a bound, and ends when the slope has
vanished.  A column whose noise would go to zero (a Heywood case) stays at the lower bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.decomposition.factors.likelihood import NoiseLikelihood
from suffice.numerics.double_double import Array

Mask = NDArray[np.bool_]

STEPS_OF_EM = 20
"""At most so many before Newton's method."""

SLOPE = 1e-9
"""Largest entry of ∂F/∂log u, on columns that are free to move, at which a maximum is reached."""


@dataclass(frozen=True, eq=False)
class NoiseMaximum:
    """Where the iterations ended.

    Attributes
    ----------
    at : NoiseLikelihood
    slope : float
        Largest entry of the gradient along log u, of columns that could move.
    bounded : boolean array of shape (columns,)
        Columns whose noise the lower bound keeps from going on.
    objectives : list of float
        F after each iteration.
    converged : bool
    """

    at: NoiseLikelihood
    slope: float
    bounded: Mask
    objectives: list[float]
    converged: bool


def all_explained(correlation: Array, n_factors: int, least: float) -> NoiseMaximum | None:
    """The maximum where the factors can explain every correlation; None where this is not sure.

    If no θ beyond the k-th exceeds 1, every slope of F is positive or zero: less noise is never
    less likely, and all is equal once R − U is a covariance of k factors.  So it is with as many
    factors as R has rank, or one less than columns, for noise of one share of each column's
    variance: the least eigenvalue of R, or the bound if that is larger.
    """
    d = len(correlation)
    values = np.linalg.eigvalsh(correlation)
    dependent = int((values <= d * np.finfo(float).eps * values[-1]).sum())
    share = max(float(values[0]), least)
    enough = n_factors >= d - dependent or (n_factors == d - 1 and values[0] >= least)
    if not enough:
        return None
    values, vectors = np.linalg.eigh(correlation)
    theta = np.maximum(values[::-1], 0.0) / share
    # By construction: rounding must not make a factor of what is exactly left to the noise.
    used = int((theta[: min(n_factors, d - (values[0] >= least))] > 1).sum())
    at = NoiseLikelihood(np.full(d, np.log(share)), theta, vectors[:, ::-1], used, n_factors)
    bounded = np.full(d, bool(values[0] < least))
    return NoiseMaximum(at, 0.0, bounded, [at.objective], True)


def starts(correlation: Array, n_factors: int, least: float, n_init: int, rng: Any) -> list[Array]:
    """Where to begin: at what other columns leave, at noise alone, then at random shares."""
    d = len(correlation)
    first = [start(correlation, n_factors, least), np.ones(d)]
    drawn = [np.clip(rng.uniform(size=d), least, 1.0) for _ in range(n_init - 2)]
    return (first + drawn)[:n_init]


def start(correlation: Array, n_factors: int, least: float) -> Array:
    """Noise to begin with: what the other columns leave of each, less for more factors.

    Jöreskog's (1 − k/2d) / diag R⁻¹; of dependent columns, whose R has no inverse, one half.
    """
    d = len(correlation)
    try:
        inverse = np.linalg.inv(np.linalg.cholesky(correlation))
        left = 1 / np.square(inverse).sum(axis=0)
    except np.linalg.LinAlgError:
        left = np.full(d, 0.5)
    return np.clip((1 - n_factors / (2 * d)) * left, least, 1.0)


def largest_likelihood(
    correlation: Array, noise: Array, n_factors: int, least: float, gain: float, max_iter: int
) -> NoiseMaximum:
    """Climb from some noise to the maximum.

    Parameters
    ----------
    correlation : array of shape (columns, columns)
    noise : array of shape (columns,)
        Where to begin, as shares of the columns' variances.
    n_factors : int
    least : float
        Lower bound of the noise.
    gain : float
        EM ends when an iteration lowers F by less.
    max_iter : int
        Iterations of both kinds together.
    """
    low = np.log(least)
    at = NoiseLikelihood.at(np.log(noise), correlation, n_factors)
    objectives = [at.objective]
    while len(objectives) < min(STEPS_OF_EM, max_iter):
        left = 1 - np.square(at.loadings()).sum(axis=1)
        following = np.log(np.clip(left, least, 1.0))
        then = NoiseLikelihood.at(following, correlation, n_factors)
        if not then.objective < at.objective:
            break
        gained, at = at.objective - then.objective, then
        objectives.append(at.objective)
        if gained < gain:
            break
    while True:
        held = _held(at, low)
        slope = float(np.abs(np.where(held, 0.0, at.gradient)).max())
        if slope <= SLOPE or len(objectives) >= max_iter:
            break
        step = _newton_step(at, held)
        better = _line_search(at, step, low, correlation)
        if better is None:
            break  # rounding hides any further progress; the slope says how near this is
        # The likelihoods that a user sees grow: a step that only the slope gained from is no news.
        objectives += [better.objective] if better.objective < at.objective else []
        at = better
    bounded = (at.log_noise <= low) & held
    return NoiseMaximum(at, slope, bounded, objectives, slope <= 1e3 * SLOPE)


def _held(at: NoiseLikelihood, low: float) -> Mask:
    """Columns at a bound whose likelihood would grow beyond it."""
    below = (at.log_noise <= low) & (at.gradient > 0)
    above = (at.log_noise >= 0) & (at.gradient < 0)
    return below | above


def _newton_step(at: NoiseLikelihood, held: Mask) -> Array:
    """Down F, on free columns; directions of negative curvature count by its size."""
    free = np.flatnonzero(~held)
    values, vectors = np.linalg.eigh(at.hessian()[np.ix_(free, free)])
    size = np.maximum(np.abs(values), 1e-8 * np.abs(values).max() + 1e-12)
    step = np.zeros(len(held))
    step[free] = -vectors @ ((vectors.T @ at.gradient[free]) / size)
    # A noise variance changes at most e²-fold at once: beyond it the quadratic is no guide.
    return step / max(1.0, float(np.abs(step).max()) / 2)


def _line_search(
    at: NoiseLikelihood, step: Array, low: float, correlation: Array
) -> NoiseLikelihood | None:
    """The first of ever shorter steps that lowers F enough, projected onto the bounds."""
    for halvings in range(40):
        following = np.clip(at.log_noise + step / 2**halvings, low, 0.0)
        moved = following - at.log_noise
        if not moved.any():
            return None
        then = NoiseLikelihood.at(following, correlation, at.n_factors)
        foreseen = float(at.gradient @ moved)
        if then.objective <= at.objective + 1e-4 * foreseen and then.objective < at.objective:
            return then
        rounding = 1e-14 * (abs(at.objective) + float(at.values.sum()))
        if abs(foreseen) < rounding and _flatter(then, at, low):
            return then  # F cannot tell them apart any more, the slope can
    return None


def _flatter(then: NoiseLikelihood, at: NoiseLikelihood, low: float) -> bool:
    slopes = [np.abs(np.where(_held(one, low), 0.0, one.gradient)).max() for one in (then, at)]
    return bool(slopes[0] < slopes[1] / 2)
