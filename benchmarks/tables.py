"""Tables whose columns are as correlated as is asked for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FACTORS = 6


def factors(n_rows: int, n_columns: int, kappa: float, seed: int) -> NDArray[np.float64]:
    """Six common factors and noise, in columns of scales from 1e-3 to 1e3 away from zero.

    `kappa` is the condition number of the centred columns divided by their deviations: √(λ₁/λ_d)
    of their correlations, which are R = (1 − s) L Lᵀ + s I with rows of L of length 1.  So λ_d = s
    and λ₁ = (1 − s) λ₁(L Lᵀ) + s, and s follows from κ² = λ₁/λ_d; κ = 1 makes the columns
    independent.  The rows drawn have R up to chance.
    """
    if n_columns <= FACTORS:
        raise ValueError(f"there are {FACTORS} factors: n_columns must be larger")
    rng = np.random.default_rng(seed)
    loadings = rng.standard_normal((n_columns, FACTORS))
    loadings /= np.linalg.norm(loadings, axis=1, keepdims=True)
    largest = float(np.linalg.norm(loadings, 2) ** 2)
    share = largest / (kappa**2 - 1 + largest)
    scales = rng.permutation(np.logspace(-3, 3, n_columns))
    offsets = scales * rng.uniform(-10, 10, n_columns)
    X = rng.standard_normal((n_rows, n_columns))
    X *= np.sqrt(share)
    X += rng.standard_normal((n_rows, FACTORS)) @ (np.sqrt(1 - share) * loadings.T)
    X *= scales
    X += offsets
    return X
