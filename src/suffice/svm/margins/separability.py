"""Whether a hard margin exists: whether a boundary has all rows of two classes on their sides.

For the linear kernel this is a linear programme,

    minimise t ≥ 0 over w, b, t:   yᵢ (w·xᵢ + b) ≥ 1 − t,

whose minimum is 0 if the classes can be separated and 1 if not.  In the second case its dual is a
proof: weights λ ≥ 0 that sum to 1 in both classes, with Σ λᵢ yᵢ xᵢ = 0: a point that is in the
convex hulls of both.

For other kernels it is the distance of the hulls among the features, 2 / ‖w‖ of the solution.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, diags_array, hstack, issparse

from suffice.svm.smo.dual import Floats
from suffice.svm.smo.kernel_rows import KernelRows
from suffice.svm.smo.solver import DualSolution

NEAREST = 1e-8
"""Hulls nearer than this times the radius of the features count as one."""


def radius_of(rows: KernelRows) -> float:
    """The length of the longest features, or 1 if all are 0."""
    return float(np.sqrt(np.abs(rows.diagonal).max())) or 1.0


def separable_bound(rows: KernelRows) -> float:
    """What no α exceeds where hulls are apart: Σα = ‖w‖² = (2 / distance)²."""
    return (2 / (NEAREST * radius_of(rows))) ** 2


def refuse_inseparable(
    rows: KernelRows, y: Floats, names: Any, solution: DualSolution | None = None
) -> None:
    """Raise ValueError unless the classes can be separated, before or after solving.

    A solution that was stopped early proves neither, however far its multipliers have grown: its
    certificate does not hold.
    """
    first, second = names
    said = f"C=inf asks for a hard margin, but classes {first} and {second} are not separable"
    if solution is None:
        if rows.function.name != "linear":
            return
        meeting = common_point(rows.X, y)
        if meeting is not None:
            apart = meeting_distance(rows.X, y, meeting)
            raise ValueError(
                f"{said}: mixtures of {np.count_nonzero(meeting)} of their rows coincide "
                f"(to {apart:.1g} of their radius). Choose a finite C"
            )
        return
    total = float(np.abs(solution.beta).sum())
    squared = float(solution.beta @ (solution.gradient + y))
    # Any feasible β tells a distance that the hulls do not exceed.
    distance = 2 * np.sqrt(max(squared, 0.0)) / total if total else np.inf
    if rows.function.name != "linear" and distance < NEAREST * radius_of(rows):
        raise ValueError(
            f"{said} by this kernel: their hulls are no more than {distance:.1g} apart among "
            f"features of length {radius_of(rows):.3g}. Choose a finite C"
        )


def common_point(X: Any, y: Floats) -> Floats | None:
    """Weights of rows that make the same point of both classes; None if classes are separable.

    Parameters
    ----------
    X : float64 array or CSR matrix of shape (rows, columns)
    y : float64 array of shape (rows,)
        1 and −1.

    Returns
    -------
    float64 array of shape (rows,), or None
        They sum to 1 in each class.
    """
    n, d = X.shape
    if issparse(X):
        scale = np.asarray(abs(X).max(axis=0).toarray()).ravel()
        middle = np.zeros(d)
    else:
        middle = X.mean(axis=0)
        scale = np.abs(X - middle).max(axis=0)
    unit = 1 / np.where(scale > 0, scale, 1.0)
    if issparse(X):
        signed: Any = hstack([diags_array(-y) @ X @ diags_array(unit), csr_array(-y[:, None])])
        table: Any = hstack([signed, csr_array(-np.ones((n, 1)))], format="csr")
    else:
        table = np.column_stack([-y[:, None] * (X - middle) * unit, -y, -np.ones(n)])
    cost = np.append(np.zeros(d + 1), 1.0)
    limits = [(None, None)] * (d + 1) + [(0, None)]
    found = linprog(cost, A_ub=table, b_ub=-np.ones(n), bounds=limits, method="highs")
    if found.status == 0 and found.fun < 0.5:
        return None
    weights = -np.asarray(found.ineqlin.marginals)
    return np.asarray(weights / (weights.sum() / 2)) if weights.any() else np.zeros(n)


def meeting_distance(X: Any, y: Floats, weights: Floats) -> float:
    """How far the two mixtures of rows are apart, relative to the longest row."""
    apart = X.T @ (weights * y)
    lengths = X.multiply(X).sum(axis=1) if issparse(X) else np.einsum("ij,ij->i", X, X)
    return float(np.linalg.norm(apart) / (np.sqrt(lengths.max()) or 1.0))
