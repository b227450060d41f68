"""Sums of kernel values for rows that a machine has not seen, in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from suffice.engines.passes import each
from suffice.kernels.svm.kernel_values import gaussian_doubles
from suffice.numerics.kernel_functions import KernelFunction, squared_lengths
from suffice.svm.smo.kernel_rows import TILE, Floats


def kernel_sums(
    function: KernelFunction,
    X: Any,
    Z: Any,
    coefficients: Floats,
    lengths: NDArray[Any],
    n_jobs: int | None = None,
) -> Floats:
    """Σⱼ cⱼ k(x, zⱼ) for other rows x, in float64, apart for each group of rows z.

    Parameters
    ----------
    function : KernelFunction
    X, Z : arrays or CSR matrices of shapes (rows, columns) and (others, columns)
        For a precomputed kernel X holds the values, of shape (rows, others), and Z is ignored.
    coefficients : float64 array of shape (sums, others)
    lengths : int array of shape (groups,)
        How many rows z each group has, one after the other.

    Returns
    -------
    float64 array of shape (rows, groups, sums)
    """
    ends = np.cumsum(lengths)
    groups = [slice(end - length, end) for end, length in zip(ends, lengths, strict=True)]
    found = np.zeros((X.shape[0], len(groups), len(coefficients)))
    if not coefficients.shape[1]:
        return found
    values_of = _values(function, Z)

    def fill(start: int, stopped: Any) -> None:
        values = values_of(X[start : start + TILE])
        for number, group in enumerate(groups):
            found[start : start + TILE, number] = values[:, group] @ coefficients[:, group].T

    each(range(0, X.shape[0], TILE), fill, n_jobs)
    return found


def _values(function: KernelFunction, Z: Any) -> Callable[[Any], Floats]:
    """The values k(x, z) as a function of rows x."""
    if function.name == "precomputed":
        return lambda rows: np.asarray(rows, np.float64)
    if issparse(Z) or function.name == "callable":
        return lambda rows: function(rows, Z)
    middle = Z.mean(axis=0) if function.name == "rbf" else np.zeros(Z.shape[1])
    apart = Z - middle
    transposed = np.ascontiguousarray(apart.T)
    lengths = function.gamma * squared_lengths(apart)

    def values_of(rows: Any) -> Floats:
        if issparse(rows):
            return function(rows, Z)
        if function.name != "rbf":
            return function.of_products(np.asarray(rows, np.float64) @ transposed)
        rows = np.asarray(rows, np.float64) - middle
        values = rows @ transposed
        own = function.gamma * squared_lengths(rows)
        gaussian_doubles(values, own, lengths, 2 * function.gamma)
        return values

    return values_of
