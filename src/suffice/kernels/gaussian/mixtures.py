"""Kernels of mixtures of Gaussians: squared distances and weighted moments of a few rows.

Rows come as the components see them, y = L⁻¹ (x − μ), or, where the columns are independent, as
they are, one line a column.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel

Floats = NDArray[np.float64]
U = np.uint64


@kernel(
    "float64[:, :, ::1], const float64[:, ::1], const float64[::1], float64[:, ::1]",
    any_order=True,
)
def log_densities(Y: Floats, shift: Floats, constant: Floats, out: Floats) -> None:
    """Take L⁻¹ μ from L⁻¹ x, and write constant_c − ½ ‖y_c‖² of each row.

    Parameters
    ----------
    Y : array of shape (rows, components, columns)
    shift : array of shape (components, columns)
    constant : array of shape (components,)
    out : array of shape (components, rows)
    """
    n, k, d = Y.shape
    for i in range(U(n)):
        for c in range(U(k)):
            total = 0.0
            for j in range(U(d)):
                y = Y[i, c, j] - shift[c, j]
                Y[i, c, j] = y
                total += y * y
            out[c, i] = constant[c] - 0.5 * total


@kernel("float64[:, :, ::1], const float64[:, ::1], float64[:, ::1]")
def weigh_rows(Y: Floats, shares: Floats, first: Floats) -> None:
    """Multiply rows by the responsibilities r, and add them to `first`."""
    n, k, d = Y.shape
    for i in range(U(n)):
        for c in range(U(k)):
            share = shares[c, i]
            for j in range(U(d)):
                y = share * Y[i, c, j]
                first[c, j] += y
                Y[i, c, j] = y


@kernel(
    "const float64[:, ::1], const float64[:, ::1], const float64[:, ::1], const float64[:, ::1], "
    "float64[:, ::1]"
)
def independent_log_densities(
    cells: Floats, means: Floats, inverse: Floats, constant: Floats, out: Floats
) -> None:
    """Σⱼ (constant_cj − ½ ((x_j − μ_cj)/σ_cj)²) over the cells that are there.

    Parameters
    ----------
    cells : array of shape (columns, rows)
        NaN where one is missing.
    means, inverse, constant : arrays of shape (components, columns)
        μ, 1/σ, and −log σ − ½ log 2π.
    out : array of shape (components, rows)
    """
    d, n = cells.shape
    for c in range(len(means)):
        for i in range(U(n)):
            out[c, i] = 0.0
        for j in range(d):
            mean, factor, more = means[c, j], inverse[c, j], constant[c, j]
            for i in range(U(n)):
                y = (cells[j, i] - mean) * factor
                out[c, i] += more - 0.5 * y * y if y == y else 0.0


@kernel(
    "const float64[:, ::1], const float64[:, ::1], const float64[:, ::1], const float64[:, ::1], "
    "float64[:, ::1], float64[:, ::1]",
    any_order=True,
)
def independent_moments(
    cells: Floats, means: Floats, inverse: Floats, shares: Floats, first: Floats, second: Floats
) -> None:
    """Σ r y and Σ r y² of each component and column; a missing cell counts as it is expected to.

    Under the component's own distribution y has the mean 0 and the square 1.

    Parameters
    ----------
    cells : array of shape (columns, rows)
    means, inverse : arrays of shape (components, columns)
    shares : array of shape (components, rows)
    first, second : arrays of shape (components, columns)
    """
    d, n = cells.shape
    for c in range(len(means)):
        for j in range(d):
            mean, factor = means[c, j], inverse[c, j]
            a, b = 0.0, 0.0
            for i in range(U(n)):
                y = (cells[j, i] - mean) * factor
                share = shares[c, i]
                known = y if y == y else 0.0
                a += share * known
                b += share * (y * y if y == y else 1.0)
            first[c, j], second[c, j] = a, b
