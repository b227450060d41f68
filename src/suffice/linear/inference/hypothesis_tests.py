"""Tests of hypotheses about the coefficients of linear models.

Wald: with estimates θ of covariance V, the hypothesis R θ = v of q independent rows is tested by

    Q = (Rθ − v)ᵀ (R V Rᵀ)⁻¹ (Rθ − v),

which is χ² with q degrees of freedom if it is true; Q/q has the F distribution where V has a finite
number of them, and for one row √Q is the t (or z) value.

Likelihood ratio: a model nested in another has the log-likelihood L₀ ≤ L; 2(L − L₀) is about χ²,
with as many degrees of freedom as the larger model has parameters more (Wilks).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, stats

from suffice.linear.inference.uncertainty import NOISE, Uncertainty
from suffice.numerics.double_double import UNIT, Array


@dataclass(frozen=True, eq=False)
class WaldTest:
    """A hypothesis R θ = v, tested.

    Numbers of a model with several targets are arrays, one entry a target.

    Attributes
    ----------
    estimate, std_err, t, t_p : arrays of shape (rows,) or (rows, targets)
        Rθ − v, its standard error, and each row tested by itself (two-sided).
    statistic, p : float or array of shape (targets,)
        All rows at once; NaN where the covariance has fewer independent directions than R has
        rows, as with fewer clusters than coefficients.
    distribution : {"F", "chi2"}
    df, df_residual : float
        Degrees of freedom: independent rows, and those of the covariance.
    """

    estimate: Array
    std_err: Array
    t: Array
    t_p: Array
    statistic: Any
    p: Any
    distribution: str
    df: float
    df_residual: float

    def __str__(self) -> str:
        degrees = f"{self.df:g}" + (f", {self.df_residual:g}" if self.distribution == "F" else "")
        pairs = zip(np.atleast_1d(self.statistic), np.atleast_1d(self.p), strict=True)
        return "\n".join(f"{self.distribution}({degrees}) {s:.6g}   p {p:.3g}" for s, p in pairs)

    __repr__ = __str__


@dataclass(frozen=True, eq=False)
class LikelihoodRatioTest:
    """Two nested models, compared.

    Attributes
    ----------
    statistic : float or array of shape (targets,)
        Twice the difference of the log-likelihoods.
    df : float
        Difference of the numbers of parameters.
    p : float or array of shape (targets,)
    """

    statistic: Any
    df: float
    p: Any

    def __str__(self) -> str:
        pairs = zip(np.atleast_1d(self.statistic), np.atleast_1d(self.p), strict=True)
        return "\n".join(f"chi2({self.df:g}) {s:.6g}   p {p:.3g}" for s, p in pairs)

    __repr__ = __str__


def contrasts(wanted: Any, names: Sequence[str], n_equations: int) -> Array:
    """R, from a matrix or from names of coefficients that are to be zero.

    Parameters
    ----------
    wanted : str, list of str, or array of shape (rows, parameters) or (parameters,)
    names : the coefficients of one equation
    n_equations : int
        Equations that are tested together: a named coefficient is meant in each.
    """
    size = len(names) * n_equations
    listed = [wanted] if isinstance(wanted, str) else wanted
    if isinstance(listed, list | tuple) and listed and all(isinstance(n, str) for n in listed):
        unknown = [name for name in listed if name not in names]
        if unknown:
            raise ValueError(f"{unknown[0]!r} is not among the coefficients {', '.join(names)}")
        places = [names.index(n) + e * len(names) for e in range(n_equations) for n in listed]
        return np.eye(size)[places]
    R = np.atleast_2d(np.asarray(wanted, dtype=np.float64))
    if R.ndim != 2 or R.shape[1] != size or not len(R) or not np.isfinite(R).all():
        raise ValueError(
            f"R must hold names of coefficients, or finite numbers in rows of {size}, one for each "
            f"coefficient in the order of the table; got an array of shape {np.shape(wanted)}"
        )
    return R


def wald(estimates: Array, uncertainty: Uncertainty, R: Array, value: Any) -> WaldTest:
    """Test R θ = v.

    Parameters
    ----------
    estimates : array of shape (equations, parameters)
    uncertainty : Uncertainty
    R : array of shape (rows, parameters)
    value : float or array of shape (rows,)
    """
    null_space = uncertainty.null_space
    moved = np.abs(R @ null_space) > NOISE * (np.abs(R) @ np.abs(null_space))
    if moved.any():
        row = int(np.flatnonzero(moved.any(axis=1))[0])
        raise ValueError(
            f"the rows of the fit leave row {row} (counted from 0) of R undetermined: columns "
            "depend on each other; test only what the data determine"
        )
    value = np.asarray(value, dtype=np.float64)
    if value.shape not in ((), (1,), (len(R),)) or not np.isfinite(value).all():
        raise ValueError(
            f"value must be one number, or one for each of the {len(R)} rows of R, and finite"
        )
    estimate = estimates @ R.T - value
    root = R @ uncertainty.root
    std_err = np.sqrt(np.square(root).sum(axis=2))
    reference = uncertainty.reference
    df = _rank(R @ (uncertainty.root[0] if reference is None else reference))
    Q = np.array([_quadratic(*pair, df) for pair in zip(estimate, root, strict=True)])
    finite = bool(np.isfinite(uncertainty.df))
    with np.errstate(divide="ignore", invalid="ignore"):
        t = estimate / std_err
        statistic = Q / df if finite else Q
    p = stats.f.sf(statistic, df, uncertainty.df) if finite else stats.chi2.sf(statistic, df)
    return WaldTest(
        estimate=estimate.T,
        std_err=std_err.T,
        t=t.T,
        t_p=2 * stats.t.sf(np.abs(t.T), uncertainty.df),
        statistic=statistic,
        p=p,
        distribution="F" if finite else "chi2",
        df=float(df),
        df_residual=uncertainty.df,
    )


def _rank(rows: Array) -> int:
    """Number of independent rows, whatever their lengths."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return int(np.linalg.matrix_rank(rows / np.where(lengths > 0, lengths, 1.0)))


def _quadratic(estimate: Array, root: Array, rank: int) -> float:
    """bᵀ (A Aᵀ)⁺ b; NaN if A, its rows brought to one length, is not of the given rank."""
    if not np.isfinite(root).all():
        return np.nan
    lengths = np.linalg.norm(root, axis=1)
    lengths = np.where(lengths > 0, lengths, 1.0)
    U, sizes, _ = linalg.svd(root / lengths[:, None], full_matrices=False)
    kept = sizes > max(root.shape) * 8 * UNIT * sizes.max(initial=0.0)
    if kept.sum() != rank:
        return np.nan
    parts = U.T[kept] @ (estimate / lengths) / sizes[kept]
    return float(parts @ parts)


def likelihood_ratio(larger: Any, smaller: Any) -> LikelihoodRatioTest:
    """Compare two models, each given by its `Summary`."""
    L, k = larger.log_likelihood, larger.n_parameters
    L0, k0 = smaller.log_likelihood, smaller.n_parameters
    if larger.n != smaller.n:
        raise ValueError(
            f"the models have seen different rows: {larger.n:g} and {smaller.n:g} of them"
        )
    if not k > k0:
        raise ValueError(
            f"the other model must be nested in this one, but it has {k0:g} parameters and this "
            f"one {k:g}; call the test on the larger model"
        )
    statistic = 2 * (np.asarray(L) - np.asarray(L0))
    if np.shape(L) != np.shape(L0):
        raise ValueError("the models have different numbers of targets")
    if (statistic < -1e-8 * np.abs(L)).any():
        raise ValueError(
            "the other model is not nested in this one: it is more likely, with fewer parameters"
        )
    statistic = np.maximum(statistic, 0.0)
    p = stats.chi2.sf(statistic, k - k0)
    if not np.shape(L):
        return LikelihoodRatioTest(float(statistic), k - k0, float(p))
    return LikelihoodRatioTest(statistic, k - k0, p)
