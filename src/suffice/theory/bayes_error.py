"""How often a rule errs under known densities: by quadrature, and by Monte Carlo.

    E[1 − P(h(x) | x)]

with h the rule: the most probable class, or any other classifier's.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from suffice.numerics.double_double import Array
from suffice.numerics.log_posterior import log_posterior
from suffice.theory.integration import MISSING, TOLERANCE, integrated, summed
from suffice.theory.intervals import bernstein, clopper_pearson, normal

if TYPE_CHECKING:
    from suffice.theory.bayes_classifier import BayesClassifier

OF_RULES = 1e-3
"""Error at which to stop for other rules in the plane: their losses jump at their boundaries."""

ROWS_AT_ONCE = 1 << 16
"""Rows that are drawn and judged at a time."""


class ErrorEstimate(NamedTuple):
    """A probability of error, and where it lies.

    Attributes
    ----------
    value : float
    lower, upper : float
        The ends of the interval.
    confidence : float
        How often such an interval covers the error: 1 for quadrature, as far as its points can
        tell.
    method : str
        How it was found.
    evaluations : int
        At how many points the densities were looked at.
    """

    value: float
    lower: float
    upper: float
    confidence: float
    method: str
    evaluations: int


def _chosen(ideal: BayesClassifier, rule: Any, X: Array, joint: Array) -> NDArray[np.int64]:
    """The place of the class that a rule predicts, −1 for one that is not among them."""
    if rule is None:
        return np.argmax(joint, axis=1)
    predict: Callable[[Array], Any] = rule.predict if hasattr(rule, "predict") else rule
    labels = np.asarray(predict(X))
    if labels.shape != (len(X),):
        raise ValueError(f"the rule gave labels of shape {labels.shape} for {len(X)} rows")
    same = labels[:, None] == ideal.classes_
    return np.where(same.any(axis=1), same.argmax(axis=1), -1)


def _lost(ideal: BayesClassifier, rule: Any, X: Array) -> Array:
    """P(c) p(x | c) of the classes that are not predicted, and of all."""
    joint = ideal.predict_joint_log_proba(X)
    chosen = _chosen(ideal, rule, X, joint)
    parts = np.append(np.exp(joint), np.zeros((len(X), 1)), axis=1)  # the last: no class
    others = parts.copy()
    # Added up, not subtracted: where one class is nearly sure, the others keep their digits.
    np.put_along_axis(others, chosen[:, None], 0.0, axis=1)
    return np.stack([others.sum(axis=1), parts.sum(axis=1)], axis=1)


def by_quadrature(ideal: BayesClassifier, rule: Any, tolerance: float | None) -> ErrorEstimate:
    """The error as an integral or a sum, and what bounds its own error."""

    def functions(X: Array) -> Array:
        return _lost(ideal, rule, X)

    def pieces(X: Array) -> NDArray[np.int64]:
        return _chosen(ideal, rule, X, ideal.predict_joint_log_proba(X))

    wanted = tolerance
    if wanted is None:
        d = ideal.densities[0].dimension
        wanted = TOLERANCE[d] if rule is None or d == 1 else OF_RULES
    if ideal.densities[0].discrete:
        if ideal.densities[0].dimension > 1:
            raise ValueError('sums are for one dimension: use method="monte-carlo"')
        found, method = summed(functions, ideal.densities), "sum"
    else:
        found, method = integrated(functions, ideal.densities, wanted, pieces), "quadrature"
    value, mass = found.value.tolist()
    if not abs(1.0 - mass) < MISSING:
        raise ValueError(
            f"the densities add up to {mass:.6g} and not to 1: they are not normalised, or too "
            "narrow or too steep to be found; give Density(…, support=(lower, upper)), or "
            'method="monte-carlo"'
        )
    # Two rules may agree by chance: less than the tolerance is not claimed.
    bound = max(float(found.error[0]), wanted) + abs(1.0 - mass)
    if bound > 10 * wanted:
        warnings.warn(
            f"the error of the quadrature is bounded by {bound:.1e} only, and {wanted:.1e} was "
            "asked for: the densities are too rough",
            ConvergenceWarning,
            stacklevel=3,
        )
    most = 1.0 - float(ideal.priors_.max()) if rule is None else 1.0
    value, lower, upper = min(value, most), max(value - bound, 0.0), min(value + bound, most)
    return ErrorEstimate(value, min(lower, value), upper, 1.0, method, found.evaluations)


def by_sampling(
    ideal: BayesClassifier,
    rule: Any,
    n: int,
    confidence: float,
    interval: str,
    rng: np.random.Generator,
) -> ErrorEstimate:
    """The error as an average over `n` draws, and its confidence interval."""
    shares, wrong = np.empty(n), 0
    for start in range(0, n, ROWS_AT_ONCE):
        X, labels = ideal.sample(min(ROWS_AT_ONCE, n - start), rng)
        joint = ideal.predict_joint_log_proba(X)
        chosen = _chosen(ideal, rule, X, joint)
        wrong += int(((chosen < 0) | (ideal.classes_[chosen] != labels)).sum())
        shares[start : start + len(X)] = _others(joint, chosen)
    if interval == "clopper-pearson":
        lower, upper = clopper_pearson(wrong, n, confidence)
        return ErrorEstimate(wrong / n, lower, upper, confidence, "monte-carlo", n)
    if interval == "normal":
        lower, upper = normal(shares, confidence)
    else:
        most = 1.0 if rule is not None else 1.0 - 1.0 / len(ideal.classes_)
        lower, upper = bernstein(shares, confidence, most)
    return ErrorEstimate(float(shares.mean()), lower, upper, confidence, "monte-carlo", n)


def _others(joint: Array, chosen: NDArray[np.int64]) -> Array:
    """1 − P(chosen | x), as the sum of the others' shares."""
    shares = np.exp(log_posterior(joint))
    known = chosen >= 0
    shares[np.flatnonzero(known), chosen[known]] = 0.0
    return np.asarray(shares.sum(axis=1))
