"""Which kernel function a model's parameters name, and the rows that it is compared with."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils._param_validation import Interval, StrOptions

from suffice.numerics.kernel_functions import NAMES, Floats, KernelFunction
from suffice.statistics.rows.sparse import SparseRows

ALIASES = {"polynomial": "poly"}

OF_SCIKIT_LEARN = {"cosine": (), "laplacian": ("gamma",), "chi2": ("gamma",), "additive_chi2": ()}
"""Kernels that scikit-learn evaluates, and which parameters each of them takes."""

PARAMETERS: dict[str, list[Any]] = {
    "kernel": [StrOptions({*NAMES, *ALIASES, *OF_SCIKIT_LEARN, "precomputed"}), callable],
    "gamma": [Interval(Real, 0, None, closed="left"), None],
    "degree": [Interval(Real, 0, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "kernel_params": [dict, None],
}
"""What the parameters of a kernel may be, in scikit-learn's terms."""


def chosen_kernel(
    kernel: str | Callable[..., float],
    gamma: float | None,
    degree: float,
    coef0: float,
    parameters: dict[str, Any] | None,
    n_columns: int,
) -> KernelFunction:
    """The kernel function that scikit-learn's parameters stand for.

    Parameters
    ----------
    kernel : str or callable
        A name; or a function of two rows, and of `parameters`, that returns a number.
    gamma : float or None
        None is 1 / columns, and 1 for "chi2".
    degree, coef0 : float
    parameters : dict or None
    n_columns : int

    Examples
    --------
    >>> chosen_kernel("polynomial", None, 2, 1.0, None, 4)
    KernelFunction(name='poly', gamma=0.25, degree=2, coef0=1.0, function=None, parameters={})
    """
    if callable(kernel):
        function = partial(pairwise_kernels, metric=kernel)
        return KernelFunction("callable", function=function, parameters=parameters or {})
    if gamma is None:
        gamma = 1.0 if kernel == "chi2" else 1.0 / n_columns
    if kernel in OF_SCIKIT_LEARN:
        taken = {"gamma": float(gamma)} if OF_SCIKIT_LEARN[kernel] else {}
        function = partial(pairwise_kernels, metric=kernel)
        return KernelFunction("callable", float(gamma), function=function, parameters=taken)
    return KernelFunction(ALIASES.get(kernel, kernel), float(gamma), degree, float(coef0))


def kept_rows(X: Any) -> Floats | SparseRows:
    """Rows in float64, in arrays of their own."""
    return SparseRows.of(X) if issparse(X) else np.array(X, np.float64, order="C")


def as_table(rows: Any) -> Any:
    """Rows of any kind as a float64 array, or as CSR."""
    if isinstance(rows, SparseRows):
        return rows.csr
    return rows.astype(np.float64) if issparse(rows) else np.asarray(rows, np.float64)
