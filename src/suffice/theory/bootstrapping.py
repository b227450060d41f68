"""The bootstrap: how far any statistic may be off, from the rows alone.

Rows are drawn with replacement, n of n, and the statistic θ is computed anew, B times.  How its
values θ*₁ … θ*_B lie around θ̂ stands for how θ̂ lies around the truth:

    standard error    the standard deviation of θ*
    bias              the mean of θ* − θ̂
    percentile        the quantiles α/2 and 1 − α/2 of θ*
    BCa               the quantiles Φ(z₀ + (z₀ + z) / (1 − a (z₀ + z))) of θ*, z = ±Φ⁻¹(1 − α/2)

with confidence 1 − α.  The last are bias-corrected and accelerated:

    z₀ = Φ⁻¹(share of θ* below θ̂, ties counted half)
    a  = Σ dᵢ³ / (6 (Σ dᵢ²)^³ᐟ²),   dᵢ = θ̄₍.₎ − θ₍ᵢ₎

where θ₍ᵢ₎ is the statistic without row i, the jackknife.  With z₀ = a = 0 they are the percentiles.

References: Efron, "Better bootstrap confidence intervals" (1987); Efron and Tibshirani, "An
Introduction to the Bootstrap" (1993), chapter 14.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import ndtr, ndtri
from sklearn.utils import _safe_indexing, check_random_state

from suffice.numerics.double_double import Array

SAME = 8 * np.finfo(np.float64).eps
"""Values this close, relative to the largest, are ties: the same rows in another order."""


@dataclass(frozen=True, eq=False)
class BootstrapEstimate:
    """A statistic, and how far it may be off.

    All but the last two are numbers where the statistic is a number, else arrays of its shape.

    Attributes
    ----------
    estimate : float or array
        The statistic of the data.
    standard_error : float or array
        The standard deviation of the resamples.
    bias : float or array
        Their mean, less the estimate.
    percentile : tuple (low, high)
        The interval between quantiles of the resamples.
    bca : tuple (low, high)
        The same, bias-corrected and accelerated: NaN where it is not defined.
    confidence : float
        How often such intervals should cover the truth.
    resamples : array of shape (n_resamples, …)
        The statistic of each resample.
    """

    estimate: float | Array
    standard_error: float | Array
    bias: float | Array
    percentile: tuple[float | Array, float | Array]
    bca: tuple[float | Array, float | Array]
    confidence: float
    resamples: Array = field(repr=False)


def bootstrap(
    statistic: Callable[..., Any],
    data: Any,
    *,
    n_resamples: int = 2000,
    confidence: float = 0.95,
    random_state: Any = None,
) -> BootstrapEstimate:
    """Standard error, bias and confidence intervals of any function of rows.

    The statistic is called `n_resamples` times for the resamples, and once for each row that is
    left out: with many rows, the second may take longer than the first.

    Parameters
    ----------
    statistic : callable
        Takes the data, gives a finite number or an array of them, always of the same shape.
    data : array, frame or sparse matrix of n rows, or a tuple of such
        Things in a tuple, such as ``(X, y)``, are resampled together, and handed over as separate
        arguments.  A resampled frame keeps its index, so that labels come more than once.
    n_resamples : int, default=2000
    confidence : float, default=0.95
    random_state : int, RandomState, Generator or None
        With a seed, fewer resamples are the first of more.

    Returns
    -------
    BootstrapEstimate

    Warns
    -----
    RuntimeWarning
        Where all resamples lie on one side of the estimate.  The bias is then as large as the
        spread, BCa is not defined and its ends are NaN; the percentile interval does not hold the
        estimate, and is not to be trusted either.

    Notes
    -----
    A statistic that is the same for all resamples has a standard error of 0, and its intervals are
    that value.  Where no row that is left out makes a difference, a = 0.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> area = load_breast_cancer(as_frame=True).data["mean area"]
    >>> found = bootstrap(np.median, area, random_state=0)
    >>> found.estimate, round(found.standard_error, 0)
    (551.1, 13.0)
    >>> low, high = found.bca
    >>> bool(low < found.estimate < high)
    True
    """
    if isinstance(n_resamples, bool) or not isinstance(n_resamples, Integral) or n_resamples < 2:
        raise ValueError(f"n_resamples is {n_resamples!r}; it must be a whole number of at least 2")
    if not (isinstance(confidence, Real) and 0 < confidence < 1):
        raise ValueError(f"confidence is {confidence!r}; it must lie between 0 and 1")
    parts = [_indexable(part) for part in (data if isinstance(data, tuple) else (data,))]
    n = _number_of_rows(parts)
    rng = _generator(random_state)

    def value(rows: NDArray[np.int64], which: str) -> Array:
        # Even for all rows a copy: the statistic may sort in place.
        return _value(statistic(*(_safe_indexing(part, rows) for part in parts)), which)

    rows = np.arange(n)
    estimate = value(rows, "all rows")
    resamples, jackknife = np.empty((n_resamples, *estimate.shape)), np.empty((n, *estimate.shape))
    for b in range(n_resamples):
        found = value(rng.integers(0, n, size=n), f"resample {b}")
        resamples[b] = _of_shape(found, estimate.shape)
    for i in range(n):
        found = value(np.delete(rows, i), f"all rows but row {i}")
        jackknife[i] = _of_shape(found, estimate.shape)

    away = resamples - estimate
    tail = (1 - confidence) / 2
    z0 = bias_correction(resamples, estimate)
    levels = corrected_levels(z0, acceleration(jackknife), confidence)
    if not np.isfinite(z0).all():
        warnings.warn(
            "all resamples lie on one side of the estimate: the BCa interval is not defined (NaN)",
            RuntimeWarning,
            stacklevel=2,
        )
    return BootstrapEstimate(
        estimate=_plain(estimate),
        # Deviations from the estimate: 0, and not a rounding, where the statistic is constant.
        standard_error=_plain(away.std(axis=0, ddof=1)),
        bias=_plain(away.mean(axis=0)),
        percentile=_ends(resamples, np.full_like(estimate, tail), np.full_like(estimate, 1 - tail)),
        bca=_ends(resamples, *levels),
        confidence=float(confidence),
        resamples=resamples,
    )


def bias_correction(resamples: Array, estimate: Array) -> Array:
    """z₀: how many standard deviations the estimate is from the resamples' median.

    It is ±∞ where all resamples are on one side.
    """
    away = resamples - estimate
    # The sum of the same rows in another order differs in its last digits: still a tie.
    tie = np.abs(away) <= SAME * np.abs(resamples).max(axis=0)
    share = np.where(tie, 0.5, away < 0).mean(axis=0)
    return np.asarray(ndtri(share))


def acceleration(jackknife: Array) -> Array:
    """a: a sixth of the skewness of what the rows contribute."""
    away = jackknife[0] - jackknife  # exactly 0 if all are equal, and so is what follows
    away = away - away.mean(axis=0)
    most = np.abs(away).max(axis=0)
    away = away / np.where(most > 0, most, 1.0)  # cubes neither under- nor overflow
    squares = (away**2).sum(axis=0)
    return np.asarray((away**3).sum(axis=0) / (6 * np.where(most > 0, squares, 1.0) ** 1.5))


def corrected_levels(z0: Array, a: Array, confidence: float) -> tuple[Array, Array]:
    """Of which quantiles the BCa interval is made: NaN where z₀ is infinite."""
    half = ndtri((1 + confidence) / 2)
    return _level(z0, -half, a), _level(z0, half, a)


def _level(z0: Array, z: float, a: Array) -> Array:
    known = np.isfinite(z0)
    centre = np.where(known, z0, 0.0)
    shifted = centre + z
    room = 1 - a * shifted
    # At room = 0 is a pole, and so far out no quantile belongs to a: all resamples are inside.
    far = np.copysign(np.inf, shifted)
    stretched = np.where(room > 0, shifted / np.where(room > 0, room, 1.0), far)
    return np.where(known, ndtr(centre + stretched), np.nan)


def _ends(resamples: Array, low: Array, high: Array) -> tuple[float | Array, float | Array]:
    """Quantiles of the resamples, each of its own level."""
    columns = resamples.reshape(len(resamples), -1).T
    levels = np.stack([low.ravel(), high.ravel()], axis=1)
    ends = np.full(levels.shape, np.nan)
    for k in np.flatnonzero(np.isfinite(levels).all(axis=1)):
        ends[k] = np.quantile(columns[k], levels[k])
    return _plain(ends[:, 0].reshape(low.shape)), _plain(ends[:, 1].reshape(low.shape))


def _plain(value: Any) -> float | Array:
    return float(value) if np.ndim(value) == 0 else np.asarray(value)


def _indexable(part: Any) -> Any:
    """Frames as they are, sparse matrices by rows, anything else as an array."""
    if sparse.issparse(part):
        return part.tocsr()
    return part if hasattr(part, "columns") or hasattr(part, "to_numpy") else np.asarray(part)


def _number_of_rows(parts: list[Any]) -> int:
    if not parts:
        raise ValueError("data is an empty tuple: there are no rows to draw")
    if any(np.ndim(part) == 0 for part in parts if isinstance(part, np.ndarray)):
        raise ValueError("data has no rows: accepted are arrays, frames, and tuples of them")
    lengths = [int(part.shape[0]) if hasattr(part, "shape") else len(part) for part in parts]
    if len(set(lengths)) > 1:
        raise ValueError(
            f"the parts of data have {lengths} rows: those that are resampled together need as many"
        )
    if lengths[0] < 2:
        raise ValueError(f"the bootstrap needs at least 2 rows, and data has {lengths[0]}")
    return lengths[0]


def _generator(random_state: Any) -> np.random.Generator:
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(check_random_state(random_state).randint(1 << 31))


def _value(found: Any, which: str) -> Array:
    try:
        values = np.asarray(found)
        if np.iscomplexobj(values):
            raise TypeError
        values = values.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"the statistic of {which} is {found!r}; accepted are numbers and arrays of numbers"
        ) from None
    if not np.isfinite(values).all():
        raise ValueError(
            f"the statistic of {which} is {found!r}; it must be finite, also where rows are drawn "
            "more than once or left out"
        )
    return values


def _of_shape(values: Array, shape: tuple[int, ...]) -> Array:
    if values.shape != shape:
        raise ValueError(
            f"the statistic has shape {shape} for all rows, and {values.shape} for others; it must "
            "always be the same"
        )
    return values
