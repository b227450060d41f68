"""Log-likelihoods that are linear in the cells: those of the naive Bayes models of counts.

    log p(x | y = k) = Σⱼ (cₖⱼ + sₖⱼ xⱼ) + h(x)

over the cells that are there.  What is left out, h, is the same in all classes: log(n! / Πⱼ xⱼ!)
with n = Σⱼ xⱼ for multinomial rows, −Σⱼ log xⱼ! for Poisson rows, and 0 for Bernoulli ones.

With probabilities of 0 slopes s and constants c may be infinite: s = −∞ where a cell above 0 is
impossible, c = −∞ and s = +∞ where a cell of 0 is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.numerics.double_double import Array
from suffice.statistics.counts.block_totals import split_missing


def log_linear(X: Any, slope: Array, constant: Array | None = None) -> Array:
    """Σⱼ cₖⱼ + sₖⱼ xⱼ of each row and class: shape (rows, classes).

    Parameters
    ----------
    X : array or CSR matrix of shape (rows, columns)
        NaN where a cell is missing.
    slope : array of shape (classes, columns)
    constant : array of shape (classes, columns), optional
        All zero by default.

    Raises
    ------
    ValueError
        If sums overflow in several classes, so that none is the largest.
    """
    if np.isfinite(slope).all():
        out = _linear(X, slope, constant)
        _refuse_overflow(out)
        return out
    never = np.isneginf(slope).astype(np.float64) - np.isposinf(slope)
    never_zero = None if constant is None else np.isneginf(constant).astype(np.float64)
    out = _linear(
        X,
        np.where(np.isfinite(slope), slope, 0.0),
        None if constant is None else np.where(np.isfinite(constant), constant, 0.0),
    )
    _refuse_overflow(out)
    out[_linear(X, never, never_zero) > 0] = -np.inf
    return out


def _linear(X: Any, slope: Array, constant: Array | None) -> Array:
    turned = np.ascontiguousarray(slope.T)
    with np.errstate(over="ignore", invalid="ignore"):
        out = np.asarray(X @ turned, dtype=np.float64)
    absent = None
    # A missing cell makes all sums of its row NaN.
    if np.isnan(out[:, :1]).any():
        absent, X = split_missing(X)
        with np.errstate(over="ignore", invalid="ignore"):
            out = np.asarray(X @ turned)
    if constant is not None:
        out += constant.sum(axis=1)
        if absent is not None:
            out -= absent @ np.ascontiguousarray(constant.T)
    return out


def _refuse_overflow(out: Array) -> None:
    """Raise ValueError where rows are so large that their classes cannot be told apart."""
    if np.isfinite(out).all():
        return
    best = out.max(axis=1)
    if not (best > -np.inf).all() or (np.isposinf(out).sum(axis=1) > 1).any():
        raise ValueError(
            "Input X contains a value too large: the log-probabilities of a row are beyond "
            "float64's range; rescale the columns"
        )
