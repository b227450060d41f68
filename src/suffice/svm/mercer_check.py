"""Whether a function can be a kernel: what one matrix of its values tells.

A symmetric function k(x, z) is a product φ(x)·φ(z) of features if, and only if, the matrix of its
values is positive semi-definite for every finite set of points (Mercer, Moore and Aronszajn).  So a
single matrix K with a negative eigenvalue refutes it: with the eigenvector a,

    aᵀ K a = ‖Σ aᵢ φ(xᵢ)‖² < 0

is impossible.  A matrix without one proves nothing beyond its points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import issparse
from sklearn.utils._param_validation import validate_parameter_constraints
from sklearn.utils.validation import check_array

from suffice.engines.workers import one_blas_thread
from suffice.fitting.gram.kernel_choice import PARAMETERS, as_table, chosen_kernel
from suffice.fitting.gram.matrix import checked_symmetric, gram_matrix
from suffice.numerics.kernel_functions import Floats


@dataclass(frozen=True, eq=False)
class MercerVerdict:
    """What the values of a function at some points say about it.

    Attributes
    ----------
    refuted : bool
        Whether the function is proved not to be a kernel.  False proves nothing.
    smallest : float
        The smallest eigenvalue of the matrix.
    rounding : float
        What it may be off by: n ε ‖K‖.
    n_points : int
    direction : array of shape (points,)
        The eigenvector a that belongs to it: aᵀ K a is `smallest`.

    Examples
    --------
    >>> print(mercer_check([[1.0, 2.0], [2.0, 1.0]]))
    no kernel: the matrix of 2 points has the eigenvalue -1, and rounding explains no more than
    1.4e-15
    """

    refuted: bool
    smallest: float
    rounding: float
    n_points: int
    direction: Floats

    def __str__(self) -> str:
        if self.refuted:
            return (
                f"no kernel: the matrix of {self.n_points} points has the eigenvalue "
                f"{self.smallest:.3g}, and rounding explains no more than {self.rounding:.2g}"
            )
        return (
            f"not refuted: no eigenvalue at these {self.n_points} points is below "
            f"{-self.rounding:.2g}, which is rounding; of other points this proves nothing"
        )


def mercer_check(
    kernel: Any,
    X: Any = None,
    *,
    gamma: float | None = None,
    degree: float = 3,
    coef0: float = 0,
    kernel_params: dict[str, Any] | None = None,
    n_jobs: int | None = None,
) -> MercerVerdict:
    """Look for a negative eigenvalue in a matrix of a kernel's values.

    Parameters
    ----------
    kernel : array of shape (points, points), str or callable
        The matrix; or the name of a kernel, or a function of two rows, whose values for `X` are
        taken.
    X : array or CSR matrix of shape (points, columns), optional
        Only with a name or a function.
    gamma, degree, coef0, kernel_params
        Of a kernel by its name, or of a function, as for `suffice.KernelRidge`.
    n_jobs : int, optional

    Returns
    -------
    MercerVerdict

    Raises
    ------
    ValueError
        If the matrix is not square, not symmetric or not finite.

    Examples
    --------
    The values of 1 / (1 + exp(−2 x·z)) are no products of features; those of a Gaussian are, and
    the check cannot tell more than that it found nothing:

    >>> import numpy as np
    >>> from suffice.svm import mercer_check
    >>> X = np.linspace(-3, 3, 15)[:, None]
    >>> mercer_check("logistic", X, gamma=2.0).refuted
    True
    >>> print(mercer_check("rbf", X, gamma=2.0))
    not refuted: no eigenvalue at these 15 points is below -1.8e-14, which is rounding; of other
    points this proves nothing
    """
    if isinstance(kernel, str) or callable(kernel):
        K = _values(kernel, X, gamma, degree, coef0, kernel_params, n_jobs)
    elif X is not None:
        raise ValueError("a matrix of values needs no X: pass X with a kernel's name or a function")
    else:
        given = kernel.toarray() if issparse(kernel) else kernel
        K = checked_symmetric(check_array(given, dtype=np.float64, input_name="the matrix"))
    with one_blas_thread():
        values, vectors = eigh(K, subset_by_index=(0, 0))
        rounding = len(K) * float(np.finfo(np.float64).eps) * float(np.linalg.norm(K))
    smallest = float(values[0])
    return MercerVerdict(smallest < -rounding, smallest, rounding, len(K), vectors[:, 0])


def _values(
    kernel: str | Callable[..., float],
    X: Any,
    gamma: float | None,
    degree: float,
    coef0: float,
    parameters: dict[str, Any] | None,
    n_jobs: int | None,
) -> Floats:
    """The matrix of a kernel's values for rows."""
    given = {
        "kernel": kernel,
        "gamma": gamma,
        "degree": degree,
        "coef0": coef0,
        "kernel_params": parameters,
    }
    validate_parameter_constraints(PARAMETERS, given, caller_name="mercer_check")
    if kernel == "precomputed":
        raise ValueError("pass the matrix itself instead of 'precomputed'")
    if X is None:
        raise ValueError("the values of a kernel are taken at points: pass them as X")
    rows = as_table(check_array(X, accept_sparse="csr", dtype=np.float64, input_name="X"))
    chosen = chosen_kernel(kernel, gamma, degree, coef0, parameters, rows.shape[1])
    return gram_matrix(chosen, rows, "mercer_check", n_jobs)
