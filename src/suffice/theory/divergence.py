"""The Kullback–Leibler divergence: how many nats p is worth more than q where p is true.

    KL(p ‖ q) = E_p[log p(x) − log q(x)] ≥ 0,      0 only for p = q

Maximum likelihood makes it small: the mean log-likelihood of rows under q is −KL(p ‖ q) and a
constant, with p the distribution of the rows themselves.

Closed forms are taken where there are some; with the deviance D(x, m) = x log(x/m) + m − x ≥ 0:

    probabilities   Σ D(pⱼ, qⱼ)
    Poisson         D(λ_p, λ_q)
    exponential     D(1, λ_q/λ_p)
    Gaussian        ½ D(1, σ_p²/σ_q²) + (μ_p − μ_q)²/(2σ_q²)
    Gaussians       ½ Σ D(1, rⱼ) + ½ (μ_p − μ_q)ᵀ Σ_q⁻¹ (μ_p − μ_q),  r the eigenvalues of Σ_q⁻¹ Σ_p

Those of gamma, beta and Dirichlet distributions are Bregman's divergence of the log-partition A, as
in every exponential family:

    A(η_q) − A(η_p) − (η_q − η_p)·∇A(η_p),      ∇A(η_p) = E_p[T(x)]

Reference: Cover and Thomas, "Elements of Information Theory" (2006), chapter 2.
"""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning

from suffice.families import (
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Distribution,
    Exponential,
    Gamma,
    Gaussian,
    GaussianKnownVariance,
    Poisson,
)
from suffice.numerics.double_double import Array
from suffice.numerics.gamma_functions import deviance_term
from suffice.theory.densities import Density, MultivariateGaussian, as_density
from suffice.theory.integration import (
    ALL,
    MISSING,
    TOLERANCE,
    checked_tolerance,
    integrated,
    summed,
)


def kl_divergence(
    p: Any,
    q: Any,
    method: Literal["auto", "closed-form", "quadrature"] = "auto",
    *,
    tolerance: float | None = None,
) -> float:
    """KL(p ‖ q) in nats; ∞ where p has probability and q has none.

    Parameters
    ----------
    p, q : arrays of probabilities, or densities
        Probabilities of the same categories, each adding up to 1; or what `BayesClassifier` takes
        as densities, of one or two dimensions unless there is a closed form.
    method : {"auto", "closed-form", "quadrature"}
        By default the closed form where there is one.
    tolerance : float, optional
        Error of the quadrature at which to stop.

    Examples
    --------
    >>> from suffice.families import Gaussian, Poisson
    >>> from suffice.theory import kl_divergence
    >>> round(kl_divergence([0.5, 0.5], [0.9, 0.1]), 6)
    0.510826
    >>> kl_divergence(Gaussian().at(0.0, 1.0), Gaussian().at(2.0, 1.0))
    2.0
    >>> kl_divergence(Poisson().at(3.0), Poisson().at(3.0))
    0.0
    """
    if method not in ("auto", "closed-form", "quadrature"):
        raise ValueError(
            f'method is {method!r}; accepted are "auto", "closed-form" and "quadrature"'
        )
    tolerance = checked_tolerance(tolerance)
    arrays = [_probabilities(name, value) for name, value in (("p", p), ("q", q))]
    if arrays[0] is not None and arrays[1] is not None:
        return _discrete(arrays[0], arrays[1])
    found = None if method == "quadrature" else _closed_form(p, q)
    if found is not None:
        return found
    if method == "closed-form":
        raise ValueError(f"there is no closed form for {p!r} and {q!r}: leave method out")
    return _numeric(p, q, tolerance)


def _probabilities(name: str, value: Any) -> Array | None:
    """An array of probabilities, or None for a density."""
    if not isinstance(value, (list, tuple, np.ndarray)) and not hasattr(value, "__array__"):
        return None
    array = np.asarray(value, dtype=np.float64)
    if array.ndim != 1 or not (array >= 0).all() or not np.isclose(array.sum(), 1.0, rtol=1e-6):
        raise ValueError(f"{name} must hold probabilities that add up to 1, got {value!r}")
    return array


def _discrete(p: Array, q: Array) -> float:
    if p.shape != q.shape:
        raise ValueError(f"p has {len(p)} categories, and q has {len(q)}")
    if ((p > 0) & (q == 0)).any():
        return float("inf")
    some = q > 0
    # Σ (q − p), which the deviances contain, is 0 but for rounding.
    return float(deviance_term(p[some], q[some]).sum() + (p.sum() - q.sum()))


def _closed_form(p: Any, q: Any) -> float | None:
    if isinstance(p, MultivariateGaussian) and isinstance(q, MultivariateGaussian):
        return _gaussians(p, q)
    if not (isinstance(p, Distribution) and isinstance(q, Distribution)) or p.family != q.family:
        return None
    if p.eta.ndim != 1 or q.eta.ndim != 1:
        raise ValueError("p and q must be one distribution each")
    family, a, b = p.family, p.parameters, q.parameters
    if isinstance(family, Bernoulli):
        return _coins(a["probability"], b["probability"])
    if isinstance(family, Categorical):
        return _discrete(np.asarray(a["probabilities"]), np.asarray(b["probabilities"]))
    if isinstance(family, Poisson):
        return _poisson(a["rate"], b["rate"])
    if isinstance(family, Exponential):
        return float(deviance_term(1.0, b["rate"] / a["rate"]))
    if isinstance(family, Gaussian):
        stretched = deviance_term(1.0, a["variance"] / b["variance"])
        return float(0.5 * (stretched + np.square(a["mu"] - b["mu"]) / b["variance"]))
    if isinstance(family, GaussianKnownVariance):
        return float(0.5 * np.square(a["mu"] - b["mu"]) / family.variance)
    if isinstance(family, Gamma | Beta | Dirichlet):
        return _bregman(p, q)
    return None


def _bregman(p: Distribution, q: Distribution) -> float:
    partition, mean = p.family.log_partition, np.asarray(p.family.mean(p.eta))
    value = partition(q.eta) - partition(p.eta) + (p.eta - q.eta) @ mean
    return max(float(value), 0.0)


def _coins(p: float, q: float) -> float:
    return _discrete(np.array([p, 1.0 - p]), np.array([q, 1.0 - q]))


def _poisson(p: float, q: float) -> float:
    if q == 0:
        return 0.0 if p == 0 else float("inf")
    return float(deviance_term(p, q))


def _gaussians(p: MultivariateGaussian, q: MultivariateGaussian) -> float:
    if len(p.mean) != len(q.mean):
        raise ValueError(f"p has {len(p.mean)} columns, and q has {len(q.mean)}")
    away = linalg.solve_triangular(q.root, p.mean - q.mean, lower=True)
    roots = linalg.svdvals(linalg.solve_triangular(q.root, p.root, lower=True))
    return float(0.5 * (deviance_term(1.0, roots * roots).sum() + away @ away))


def _numeric(p: Any, q: Any, tolerance: float | None) -> float:
    """The integral or sum, of p (log p − log q) + q − p: never negative at any point."""
    of_p, of_q = as_density(p), as_density(q)
    if (of_p.dimension, of_p.discrete) != (of_q.dimension, of_q.discrete):
        raise ValueError("p and q must be of the same dimension, and both of whole numbers or none")
    if of_p.dimension not in TOLERANCE:
        raise ValueError("quadrature is for one or two dimensions; there is no closed form either")
    wanted = TOLERANCE[of_p.dimension] if tolerance is None else tolerance
    impossible, steepest = False, 1.0

    def functions(X: Array) -> Array:
        nonlocal impossible, steepest
        log_p, log_q = of_p.at(X), of_q.at(X)
        here, there = np.exp(log_p), np.exp(log_q)
        impossible |= bool(((log_q == -np.inf) & (here > 0)).any())
        both = (here > 0) & (log_q > -np.inf)
        ratio = np.subtract(log_p, log_q, out=np.zeros_like(here), where=both)
        steepest = max(steepest, float(np.abs(ratio).max(initial=0.0)))
        return np.stack([here * ratio + (there - here), there, here], axis=1)

    # A sum over p's numbers is the divergence, wherever else q may be: how much q adds up to is
    # asked only where nobody vouches for it.
    vouched = of_p.discrete and not isinstance(q, Density)
    if of_p.discrete:
        enough = ALL if vouched else (1.0 - 0.5 * MISSING, *ALL)
        found = summed(functions, [of_p, of_q], enough)
    else:
        found = integrated(functions, [of_p, of_q], wanted)
    if impossible:
        return float("inf")
    value, *masses = found.value.tolist()
    if not all(abs(1.0 - mass) < MISSING for mass in masses[vouched:]):
        raise ValueError(
            f"p adds up to {masses[1]:.6g} and q to {masses[0]:.6g}, not to 1: they are not "
            "normalised, or too narrow to be found; give Density(…, support=(lower, upper))"
        )
    # What the points miss of p counts as often as p and q differ at most.
    counted = masses[of_p.discrete :]
    bound = found.error[0] + steepest * sum(abs(1.0 - mass) for mass in counted)
    if bound > 10 * max(wanted, 1e-9 * value):
        warnings.warn(
            f"the error of the quadrature is bounded by {bound:.1e} only",
            ConvergenceWarning,
            stacklevel=3,
        )
    return max(value + (masses[1] - masses[0]), 0.0)
