"""The variance of an average of models, and its parts from an experiment.

n members f₁ … f_n, each of variance σ² and each two of correlation ρ, are averaged:

    Var(f̄) = (1/n²) Σᵢⱼ Cov(fᵢ, fⱼ) = (n σ² + n (n − 1) ρσ²) / n² = ρσ² + (1 − ρ) σ²/n

More members remove the second term, and nothing but less correlation lowers the first: this is why
forests draw rows and columns at random.  Randomness is over training sets: with R of them, and m
members fitted on each, σ² is a member's variance over the R, and from the mean's variance v

    ρσ² = (m v − σ²) / (m − 1)

which is the covariance of two members, averaged over all pairs.

Reference: Breiman, "Random forests" (2001); Hastie, Tibshirani and Friedman, "The Elements of
Statistical Learning" (2009), section 15.2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from suffice.numerics.double_double import Array


class EnsembleParts(NamedTuple):
    """What the variance of an average of models is made of.

    Attributes
    ----------
    correlation : float
        ρ, of two members fitted on the same training set, over training sets.
    variance : float
        σ², of one member over training sets.
    """

    correlation: float
    variance: float


def ensemble_variance(correlation: Any, variance: Any, n: Any) -> float | Array:
    """The variance ρσ² + (1 − ρ)σ²/n of the average of n members.

    Parameters
    ----------
    correlation : float or array
        ρ, of each two members: from −1/(n − 1), less than which n of them cannot have, to 1.
    variance : float or array
        σ², of one member.
    n : int or array of int
        How many are averaged; infinity gives the limit ρσ².

    Returns
    -------
    float, or array of the shape to which the three broadcast

    Examples
    --------
    >>> ensemble_variance(0.5, 4.0, [1, 2, 4, float("inf")])
    array([4. , 3. , 2.5, 2. ])
    """
    rho, sigma2, members = (np.asarray(x, dtype=np.float64) for x in (correlation, variance, n))
    if not ((members >= 1) & (members == np.floor(members))).all():
        raise ValueError(f"n is {n!r}; accepted are whole numbers of at least 1")
    if not ((sigma2 >= 0) & np.isfinite(sigma2)).all():
        raise ValueError(f"variance is {variance!r}; it must be finite and not negative")
    least = -1.0 / np.maximum(members - 1, 1)
    if not ((rho >= least) & (rho <= 1)).all():
        raise ValueError(
            f"correlation is {correlation!r}; for n = {n!r} it must lie between −1/(n − 1) and 1, "
            "since no more than that can all be correlated negatively"
        )
    # At the least correlation, a rounding may be left of 0.
    found = np.maximum(sigma2 * (rho + (1 - rho) / members), 0.0)
    return float(found) if found.ndim == 0 else np.asarray(found)


def ensemble_parts(predictions: Any) -> EnsembleParts:
    """ρ and σ² of an ensemble's members, from ensembles fitted on independent training sets.

    Parameters
    ----------
    predictions : array of shape (repetitions, members, points)
        What each member of each repetition predicts at the same points.  Repetitions have
        training sets, and random numbers, of their own; members of one share theirs.

    Returns
    -------
    EnsembleParts

    Notes
    -----
    Variances and covariances are averaged over members, pairs of members and points.  σ² and ρσ²
    are unbiased, and so is ``ensemble_variance(ρ, σ², n)``, which is linear in the two; for as many
    members as there are it is exactly the measured variance of their mean.  Their ratio ρ alone is
    only consistent.  It is 0 where no member varies.

    Members without correlation may be measured a little below 0, which ``ensemble_variance`` does
    not allow for many members: take 0 instead.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> shared, own = rng.normal(size=(500, 1, 40)), rng.normal(size=(500, 8, 40))
    >>> rho, variance = ensemble_parts(shared + own)
    >>> round(rho, 2), round(variance, 2)
    (0.5, 2.0)
    """
    values = np.asarray(predictions, dtype=np.float64)
    if values.ndim != 3:
        raise ValueError(
            f"predictions have shape {values.shape}; it must be (repetitions, members, points)"
        )
    if values.shape[0] < 2 or values.shape[1] < 2 or values.shape[2] < 1:
        raise ValueError(
            f"predictions have shape {values.shape}: at least 2 repetitions, 2 members and 1 point "
            "are needed"
        )
    if not np.isfinite(values).all():
        raise ValueError("predictions are not all finite")
    repetitions, m, points = values.shape
    away = values - values[0]  # exactly 0 where a member is constant
    away -= away.mean(axis=0)
    variance = float((away**2).sum()) / ((repetitions - 1) * m * points)
    if variance == 0.0:
        return EnsembleParts(0.0, 0.0)
    of_mean = float((away.mean(axis=1) ** 2).sum()) / ((repetitions - 1) * points)
    correlation = (m * of_mean / variance - 1) / (m - 1)
    # Between these by Jensen's inequality, roundings apart.
    return EnsembleParts(min(max(correlation, -1 / (m - 1)), 1.0), variance)
