"""The Bayes classifier: what could be known about the class at best.

    predict the class with the largest  P(c) p(x | c)

No rule errs less often.  Its error is the probability that remains for the other classes,

    E[1 − max_c P(c | x)] = ∫ (Σ_c P(c) p(x | c) − max_c P(c) p(x | c)) dx,

for two Gaussians at a Mahalanobis distance Δ and equal priors Φ(−Δ/2).  It is a property of the
densities: a classifier that learned from rows can only come near it.

**By quadrature** in one and two dimensions (a sum for whole numbers): the interval is the integral
and what bounds its error, at least the tolerance.  The probability of everything is integrated
beside it; what that misses of 1 is added to the bound.

**By Monte Carlo** in any: rows are drawn from the classes, and 1 − max P(c | x) is averaged, which
varies less than how often the rule errs (Rao and Blackwell); or the wrong ones are counted.  The
intervals are those of `suffice.theory.intervals`.

Reference: Devroye, Györfi and Lugosi, "A Probabilistic Theory of Pattern Recognition" (1996),
chapter 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from suffice.families.sampling import generator, number_of_draws
from suffice.numerics.double_double import Array
from suffice.numerics.log_posterior import log_posterior
from suffice.theory.bayes_error import ErrorEstimate, by_quadrature, by_sampling
from suffice.theory.densities import as_density
from suffice.theory.integration import TOLERANCE, checked_tolerance

Method = Literal["auto", "quadrature", "monte-carlo"]


class BayesClassifier:
    """The best classifier for classes whose densities are known.

    Parameters
    ----------
    densities : mapping from label to density, or sequence of densities
        Distributions of `suffice.families` and `suffice.bayes`, `MultivariateGaussian`, frozen
        distributions of `scipy.stats`, fitted density estimators, functions that give log
        densities, or `suffice.theory.Density`.  The labels of a sequence are 0, 1, ….
    priors : array of shape (classes,), optional
        Probabilities of the classes, in the order of `densities`; by default equal.

    Attributes
    ----------
    classes_ : array of shape (classes,)
    priors_ : array of shape (classes,)

    Examples
    --------
    >>> from suffice.families import Gaussian
    >>> from suffice.theory import BayesClassifier
    >>> ill, well = (Gaussian().at(mu, variance=1.0) for mu in (2.0, 0.0))
    >>> ideal = BayesClassifier({"ill": ill, "well": well})
    >>> ideal.predict([0.2, 1.1])
    array(['well', 'ill'], dtype='<U4')
    >>> round(ideal.error().value, 6)                    # Φ(−1)
    0.158655
    """

    def __init__(
        self,
        densities: Mapping[Any, Any] | Sequence[Any],
        priors: ArrayLike | None = None,
    ) -> None:
        if isinstance(densities, Mapping):
            labels, given = list(densities), list(densities.values())
        elif isinstance(densities, Iterable):
            given = list(densities)
            labels = list(range(len(given)))
        else:
            raise TypeError(
                f"densities is {densities!r}; accepted are mappings from labels to densities, and "
                "lists of densities"
            )
        if not given:
            raise ValueError("densities is empty: give one for each class")
        self.densities = [as_density(one) for one in given]
        kinds = {(one.dimension, one.discrete) for one in self.densities}
        if len(kinds) > 1:
            raise ValueError(
                "the densities must be of the same dimension, and all of whole numbers or none; "
                f"these are of (dimension, discrete) {sorted(kinds)}"
            )
        self.classes_ = _as_they_are(labels)
        self.priors_ = _checked_priors(priors, len(given))

    # --- predicting -------------------------------------------------------------------------

    def predict_joint_log_proba(self, X: Any) -> Array:
        """log P(c) p(x | c), of shape (rows, classes)."""
        with np.errstate(divide="ignore"):
            prior = np.log(self.priors_)
        joint = np.stack([density.at(X) for density in self.densities], axis=1) + prior
        if np.isnan(joint).any():
            raise ValueError("a density gave NaN: log densities are numbers, or −∞ for none")
        return joint

    def predict_log_proba(self, X: Any) -> Array:
        """log P(c | x); where no class has any density, the prior's."""
        return log_posterior(self._or_prior(self.predict_joint_log_proba(X)))

    def predict_proba(self, X: Any) -> Array:
        """P(c | x), of shape (rows, classes)."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row; of equally probable ones the first."""
        return self.classes_[np.argmax(self._or_prior(self.predict_joint_log_proba(X)), axis=1)]

    def _or_prior(self, joint: Array) -> Array:
        """The same array, with the prior in rows in which no class has any density."""
        nowhere = (joint == -np.inf).all(axis=1)
        with np.errstate(divide="ignore"):
            joint[nowhere] = np.log(self.priors_)
        return joint

    def score(self, X: Any, y: ArrayLike, sample_weight: Any = None) -> float:
        """The share of rows whose class is predicted."""
        predicted, labels = self.predict(X), np.asarray(y)
        if labels.shape != predicted.shape:
            raise ValueError(f"y has shape {labels.shape}, and X {len(predicted)} rows")
        if sample_weight is None:
            weight = np.ones(len(labels))
        else:
            weight = np.asarray(sample_weight, dtype=np.float64)
        if weight.shape != labels.shape or not ((weight >= 0) & (weight < np.inf)).all():
            raise ValueError("sample_weight must hold a finite weight of at least 0 for each row")
        if not weight.any():
            raise ValueError("no row of positive weight is left to score")
        return float(np.average(predicted == labels, weights=weight))

    def sample(self, n: int, random_state: Any = None) -> tuple[Array, NDArray[Any]]:
        """Random rows of shape (n, dimension) and their classes."""
        rng, n = generator(random_state), number_of_draws(n)
        codes = rng.choice(len(self.classes_), size=n, p=self.priors_)
        X = np.empty((n, self.densities[0].dimension))
        for c, density in enumerate(self.densities):
            mine = np.flatnonzero(codes == c)
            if len(mine):
                X[mine] = density.sample(len(mine), rng)
        return X, self.classes_[codes]

    # --- its error --------------------------------------------------------------------------

    def error(
        self,
        method: Method = "auto",
        *,
        rule: Any = None,
        tolerance: float | None = None,
        n_samples: int = 100_000,
        confidence: float = 0.95,
        interval: Literal["bernstein", "normal", "clopper-pearson"] = "bernstein",
        random_state: Any = None,
    ) -> ErrorEstimate:
        """How often the best rule is wrong, or another one.

        Parameters
        ----------
        method : {"auto", "quadrature", "monte-carlo"}
            By default quadrature in one and two dimensions, and Monte Carlo in more.
        rule : classifier or function, optional
            Whose error is asked for: something with `predict`, or a function from rows to labels,
            of rows of shape (rows, dimension).
        tolerance : float, optional
            Bound of the quadrature's error at which to stop: by default 1e-10 on the line and 1e-4
            in the plane, 1e-3 there for another rule.
        n_samples : int, default=100_000
            Rows drawn by Monte Carlo.
        confidence : float, default=0.95
            Of the interval of Monte Carlo.
        interval : {"bernstein", "normal", "clopper-pearson"}
            From the average of 1 − P(c | x), with coverage for any number of rows or for many;
            or from the number of wrong ones.
        random_state : int or numpy.random.Generator, optional
            The seed of Monte Carlo.

        Returns
        -------
        ErrorEstimate
        """
        d = self.densities[0].dimension
        if method not in ("auto", "quadrature", "monte-carlo"):
            raise ValueError(
                f'method is {method!r}; accepted are "auto", "quadrature" and "monte-carlo"'
            )
        if interval not in ("bernstein", "normal", "clopper-pearson"):
            raise ValueError(
                f'interval is {interval!r}; accepted are "bernstein", "normal" and '
                '"clopper-pearson"'
            )
        if method == "quadrature" and d not in TOLERANCE:
            raise ValueError(
                f"quadrature is for one or two dimensions, and these are {d}: use "
                'method="monte-carlo"'
            )
        if not (rule is None or callable(rule) or hasattr(rule, "predict")):
            raise TypeError(f"rule is {rule!r}; accepted are classifiers and functions")
        if method == "quadrature" or (method == "auto" and d in TOLERANCE):
            return by_quadrature(self, rule, checked_tolerance(tolerance))
        if not 0 < confidence < 1:
            raise ValueError(f"confidence is {confidence!r}; it must lie between 0 and 1")
        if not isinstance(n_samples, Integral) or n_samples < 2:
            raise ValueError(
                f"n_samples is {n_samples!r}; accepted are whole numbers, and at least 2 rows are "
                "needed"
            )
        return by_sampling(self, rule, n_samples, confidence, interval, generator(random_state))

    def __repr__(self) -> str:
        shown = ", ".join(f"{c}: {p:.4g}" for c, p in zip(self.classes_, self.priors_, strict=True))
        return f"BayesClassifier of {len(self.classes_)} classes with priors {{{shown}}}"


def _as_they_are(labels: list[Any]) -> NDArray[Any]:
    """Labels as an array that turns none of them into another."""
    array = np.array(labels) if len({isinstance(one, str) for one in labels}) == 1 else None
    if array is None or array.ndim != 1:
        array = np.empty(len(labels), dtype=object)
        array[:] = labels
    return array


def _checked_priors(priors: ArrayLike | None, n_classes: int) -> Array:
    if priors is None:
        return np.full(n_classes, 1.0 / n_classes)
    try:
        given = np.asarray(priors, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"priors must hold numbers, got {priors!r}") from None
    if given.shape != (n_classes,):
        raise ValueError(f"priors has shape {given.shape}; one for each of {n_classes} classes")
    if not (given >= 0).all() or not np.isclose(given.sum(), 1.0, rtol=1e-9):
        raise ValueError(f"priors are {given.tolist()}; they must not be negative and add up to 1")
    return given / given.sum()
