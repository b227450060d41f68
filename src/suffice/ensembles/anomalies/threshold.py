"""The density δ below which a row is an anomaly, from densities of rows that were held out.

Without labels δ is an order statistic.  Let s₁ ≤ … ≤ sₙ be the held-out log densities of ordinary
rows and δ = s_k.  If these and a future row are drawn independently from the same distribution F,

    P(a future row is below δ | the n rows) = F(δ−) ≤ U_k,     U_k ~ Beta(k, n − k + 1),

the k-th smallest of n uniform numbers: an equality if F has no jumps.  Its mean is k/(n + 1), and
its quantile at 95% a bound that holds in 95% of all samples, whatever the density model is worth.

With labels δ is chosen for the largest F₁.  A chosen one is no order statistic of a rank fixed
before; the inequality of Dvoretzky, Kiefer and Wolfowitz holds for all thresholds at once,

    F(δ−) ≤ #{sᵢ < δ}/n + √(log(1/(1 − confidence)) / 2n).

References: Wilks, "Determination of sample sizes for setting tolerance limits" (1941); Massart,
"The tight constant in the Dvoretzky–Kiefer–Wolfowitz inequality" (1990).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

Floats = NDArray[np.float64]

ROUNDING = 1e-12
"""Relative error of a share times a number of rows."""


@dataclass(frozen=True)
class Quantile:
    """An order statistic of held-out scores.

    Attributes
    ----------
    offset : float
        Rows whose score is below are anomalies.
    rank : float
        k: which of the scores, from the smallest on, it is.
    rows : float
        n, the total weight of the scores.
    flagged : float
        Share of this weight that is below.
    """

    offset: float
    rank: float
    rows: float
    flagged: float

    @property
    def rate(self) -> float:
        """The share of ordinary rows that are flagged, to be expected."""
        return self.rank / (self.rows + 1)

    def rate_bound(self, confidence: float) -> float:
        """A bound on that share."""
        return float(betaincinv(self.rank, self.rows - self.rank + 1, confidence))


def quantile(scores: Floats, weight: Floats, share: float) -> Quantile:
    """The smallest score that is not among the lowest share of them.

    Parameters
    ----------
    scores, weight : arrays of shape (rows,)
        A weight counts as so many rows.
    share : float
        Most that may be below, from 0 to 1/2.

    Examples
    --------
    >>> import numpy as np
    >>> found = quantile(np.arange(100.0), np.ones(100), share=0.05)
    >>> found.offset, found.rank, found.flagged, round(found.rate_bound(0.95), 3)
    (5.0, 6.0, 0.05, 0.102)
    """
    order = np.argsort(scores, kind="stable")
    ends = np.cumsum(weight[order])
    total = float(ends[-1])
    below = share * total * (1 + ROUNDING)
    offset = float(scores[order[np.searchsorted(ends, below, side="right")]])
    flagged = float(weight[scores < offset].sum() / total)
    return Quantile(offset, float(np.floor(below)) + 1, total, flagged)


@dataclass(frozen=True)
class BestF1:
    """The threshold of the largest F₁.

    Attributes
    ----------
    offset : float
        Rows whose score is below are anomalies.
    precision, recall, f1 : float
        Of the anomalies.
    rows : float
        Weight of the ordinary rows.
    flagged : float
        Share of it that is below.
    """

    offset: float
    precision: float
    recall: float
    f1: float
    rows: float
    flagged: float

    def rate_bound(self, confidence: float) -> float:
        """A bound on the share of ordinary rows that are flagged."""
        return float(min(self.flagged + np.sqrt(-np.log1p(-confidence) / (2 * self.rows)), 1.0))


def of_largest_f1(scores: Floats, weight: Floats, anomaly: NDArray[np.bool_]) -> BestF1:
    """The threshold that tells labelled anomalies from ordinary rows best.

    It is in the middle between two neighbouring scores; of several that are equally good, where
    these are farthest apart, and then the lowest.

    Parameters
    ----------
    scores, weight : arrays of shape (rows,)
    anomaly : bool array of shape (rows,)
        Of which some are true and some are not.

    Examples
    --------
    >>> import numpy as np
    >>> scores, anomaly = np.array([0.0, 1.0, 2.0, 6.0]), np.array([True, False, True, False])
    >>> best = of_largest_f1(scores, np.ones(4), anomaly)
    >>> best.offset, best.f1
    (4.0, 0.8)
    """
    order = np.argsort(scores, kind="stable")
    s, w, is_anomaly = scores[order], weight[order], anomaly[order]
    last = np.flatnonzero(np.append(s[1:] > s[:-1], True))  # of equal scores
    caught = np.cumsum(w * is_anomaly)[last]
    false_alarms = np.cumsum(w * ~is_anomaly)[last]
    anomalies, ordinary = caught[-1], false_alarms[-1]
    f1 = 2 * caught / (caught + false_alarms + anomalies)
    low, high = s[last], np.append(s[last][1:], np.inf)
    with np.errstate(invalid="ignore"):
        margin = np.where(np.isinf(low) & (high > low), np.inf, high - low)
    tied = np.flatnonzero(f1 >= f1.max() * (1 - ROUNDING))
    best = int(tied[np.argmax(margin[tied])])
    return BestF1(
        between(float(low[best]), float(high[best])),
        float(caught[best] / (caught[best] + false_alarms[best])),
        float(caught[best] / anomalies),
        float(f1[best]),
        float(ordinary),
        float(false_alarms[best] / ordinary),
    )


def between(low: float, high: float) -> float:
    """The middle, above `low`; next to the finite one where the other is infinite."""
    if np.isfinite(low) and np.isfinite(high):
        middle = low + (high - low) / 2
        return middle if middle > low else high
    return high if np.isfinite(high) else float(np.nextafter(low, np.inf))
