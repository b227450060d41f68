"""What a Bayesian linear regression says about its noise and its coefficients.

With σ² ~ InvGamma(aₙ, bₙ) the coefficients have the Student t distribution of 2aₙ degrees of
freedom about their mean, with the scale matrix (bₙ/aₙ) V and the covariance bₙ/(aₙ − 1) V; where
σ² is known, they are Gaussian with the covariance σ² V.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from suffice.fitting.certificate import MOST_DIGITS, Certificate, rounded_down
from suffice.linear.bayesian.evidence import PROVED, Best
from suffice.linear.bayesian.posterior import Posterior
from suffice.linear.least_squares.spread import CoefficientSpread
from suffice.numerics.double_double import Array


class Noise(NamedTuple):
    """The posterior of σ².

    Attributes
    ----------
    df : float
        Degrees of freedom, 2aₙ; infinite where σ² is known.
    scale : float
        bₙ/aₙ, or σ²; NaN where the rows are too few for a posterior.
    mean : float
        bₙ/(aₙ − 1), or σ²; infinite where aₙ is 1 or less.
    """

    df: float
    scale: float
    mean: float

    @classmethod
    def known(cls, variance: float) -> Noise:
        """Noise of a known variance."""
        return cls(np.inf, variance, variance)

    @classmethod
    def inverse_gamma(cls, a: float, b: float) -> Noise:
        """σ² ~ InvGamma(a, b)."""
        if not a > 0:
            return cls(2 * a, np.nan, np.nan)
        return cls(2 * a, b / a, b / (a - 1) if a > 1 else np.inf if b > 0 else 0.0)

    def half_width(self, confidence: float) -> float:
        """What half the width of a central interval is, in units of its scale."""
        if not 0 < confidence < 1:
            raise ValueError(f"confidence must lie between 0 and 1, got {confidence!r}")
        if np.isnan(self.scale):
            return np.nan
        law = stats.norm if np.isinf(self.df) else stats.t(self.df)
        return float(law.ppf((1 + confidence) / 2) * np.sqrt(self.scale))

    def times(self, V: Array) -> Array:
        """The covariance that V, for a noise variance of 1, becomes."""
        if np.isfinite(self.mean):
            return self.mean * V
        endless = np.full_like(V, np.nan)
        np.fill_diagonal(endless, self.mean)
        return endless


@dataclass(frozen=True, eq=False)
class CredibleInterval:
    """Where the coefficients lie with a given probability.

    Arrays have shape (coefficients,), the intercept first if there is one.

    Attributes
    ----------
    names : tuple of str
    mean : array
        Posterior mean.
    scale : array
        Scale of the posterior t distribution; under a flat prior the standard error.
    lower, upper : arrays
        Ends of the central intervals.
    confidence : float
        Probability of each.
    """

    names: tuple[str, ...]
    mean: Array
    scale: Array
    lower: Array
    upper: Array
    confidence: float

    def to_frame(self) -> Any:
        """The coefficients as a pandas DataFrame, a row each (needs `suffice[frames]`)."""
        import pandas as pd

        columns = {name: getattr(self, name) for name in ("mean", "scale", "lower", "upper")}
        return pd.DataFrame(columns, index=list(self.names))


class Draws(NamedTuple):
    """Draws from a posterior.

    Attributes
    ----------
    coef : array of shape (draws, columns)
    intercept : array of shape (draws,)
    noise_variance : array of shape (draws,)
    """

    coef: Array
    intercept: Array
    noise_variance: Array


def interval_of(
    names: Sequence[str], mean: Array, spread: CoefficientSpread, noise: Noise, confidence: float
) -> CredibleInterval:
    """Central intervals of the coefficients, the intercept first if `mean` has one more."""
    width = noise.half_width(confidence)
    root = np.sqrt(np.square(spread.root).sum(axis=1))
    root[np.abs(spread.null_space).sum(axis=1) > 1e-9] = np.inf
    if len(mean) > len(root):
        root = np.append(np.sqrt(spread.intercept), root)
    is_open = np.isinf(root)
    determined = np.where(is_open, 0.0, root)
    scale, half = (
        np.where(is_open, np.inf, one * determined) for one in (np.sqrt(noise.scale), width)
    )
    return CredibleInterval(tuple(names), mean, scale, mean - half, mean + half, confidence)


def draw(
    n: int,
    random: np.random.RandomState,
    line: tuple[Array, float],
    spread: CoefficientSpread,
    centre: Array,
    share: float,
    noise: Noise,
) -> Draws:
    """Draws of σ², θ given σ², and b given both: about ȳ − θ·x̄, with the variance σ² `share`."""
    if spread.null_space.shape[1] or np.isnan(noise.scale):
        raise ValueError(
            "this posterior cannot be drawn from: prior and rows leave a direction of the "
            "coefficients or the noise variance open; give them a prior"
        )
    variance = np.full(n, noise.scale)
    if np.isfinite(noise.df):
        variance = noise.scale * noise.df / random.chisquare(noise.df, size=n)
    sd = np.sqrt(variance)
    away = sd[:, None] * (random.standard_normal((n, spread.root.shape[1])) @ spread.root.T)
    alone = sd * np.sqrt(share) * random.standard_normal(n)
    coef, intercept = line
    return Draws(coef + away, intercept + alone - away @ centre, variance)


def certify(base: Certificate, found: Posterior, best: Best | None, noise: Noise) -> Certificate:
    """What is proved about a posterior."""
    holds, measures, notes = base.holds, dict(base.measures), []
    of_noise = 0.0 if np.isinf(noise.df) and best is None else found.quadratic_error
    with np.errstate(divide="ignore"):
        others = -np.log10(max(found.covariance_error, of_noise))
    measures["spread_digits"] = float(np.clip(others, 0.0, MOST_DIGITS))
    claim = f"the posterior mean, to {rounded_down(base.digits)} digits or more"
    claim += f", and its spread, to {rounded_down(measures['spread_digits'])}"
    measures["covariance_error"] = found.covariance_error
    measures["noise_error"] = of_noise
    if found.is_proper:
        claim += "; the posterior precision is positive definite"
    else:
        count = found.spread.null_space.shape[1]
        notes.append(
            f"the coefficients stay open in {count} direction{'s' * (count > 1)}: the prior is "
            "flat there and the rows say nothing; the mean of smallest norm is taken"
        )
    if not base.holds:
        notes.append("prior and rows leave too little determined: raise prior_precision")
    if np.isnan(noise.scale):
        notes.append("too few rows to learn the noise variance under this prior: give a0 and b0")
    elif noise.scale == 0:
        notes.append("the line passes through every row: the noise variance is zero")
    elif of_noise > PROVED:
        notes.append("rounding hides how far the line is from the rows, and so the noise variance")
    if best is not None:
        measures["gradient"] = abs(best.slope)
        holds = holds and abs(best.slope) <= PROVED and best.maximum.end != "interpolation"
        claim += "; the gradient of the log evidence vanishes" if holds else ""
        if best.maximum.end == "interpolation":
            notes.append(
                "the evidence has no maximum: it grows as the noise vanishes and the line passes "
                "through every row; set noise_variance, or a0 and b0"
            )
        elif best.maximum.end:
            notes.append("the evidence grows with the prior's strength: the rows show no effect")
    return replace(base, holds=holds, claim=claim, measures=measures, notes=tuple(notes))
