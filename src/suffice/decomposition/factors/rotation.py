"""Rotations of loadings that make them easier to read.

    varimax, quartimax   maximise over T with Tᵀ T = I the variance of the squared loadings of each
                         factor, or of all together:  Σ (L T)⁴ − (γ/d) Σₖ (Σⱼ (L T)²ⱼₖ)²
    promax               from varimax on, an oblique T that brings the loadings nearest to their
                         own fourth powers: small ones vanish, factors become correlated

with γ = 1 for varimax and 0 for quartimax.

References: Kaiser, "The varimax criterion for analytic rotation in factor analysis" (1958);
Hendrickson and White, "Promax: a quick method for rotation to oblique simple structure" (1964).
"""

from __future__ import annotations

import numpy as np

from suffice.numerics.double_double import Array

POWER = 4
"""Of promax's target."""


def orthogonal_rotation(loadings: Array, method: str, kaiser: bool = False) -> Array:
    """T of varimax or quartimax.

    Parameters
    ----------
    loadings : array of shape (columns, factors)
    method : {"varimax", "quartimax"}
    kaiser : bool
        Whether each column's loadings are first brought to length 1, so that every column counts
        the same, whatever its unit.

    Returns
    -------
    array of shape (factors, factors)
    """
    d, k = loadings.shape
    if kaiser:
        length = np.linalg.norm(loadings, axis=1, keepdims=True)
        loadings = loadings / np.where(length > 0, length, 1.0)
    loadings = loadings / (np.abs(loadings).max(initial=0.0) or 1.0)  # powers stay in range
    share = 1.0 / d if method == "varimax" else 0.0
    T = np.eye(k)
    reached = 0.0
    for _ in range(1000):
        turned = loadings @ T
        slope = turned**3 - share * turned * np.square(turned).sum(axis=0)
        left, values, right = np.linalg.svd(loadings.T @ slope)
        following = left @ right
        moved = np.abs(following - T).max()
        T = following
        if moved < 1e-12 or (values.sum() <= reached and moved < 1e-7):
            break
        reached = float(values.sum())
    return T


def promax(loadings: Array, kaiser: bool = False) -> Array:
    """T of promax; the factors' correlations are then (Tᵀ T)⁻¹."""
    T = orthogonal_rotation(loadings, "varimax", kaiser)
    turned = loadings @ T
    target = turned * np.abs(turned) ** (POWER - 1)
    oblique = np.linalg.lstsq(turned, target, rcond=None)[0]
    unit = np.sqrt(np.diagonal(np.linalg.inv(oblique.T @ oblique)))
    return T @ (oblique * unit)


def rotated(
    loadings: Array, deviation: Array, method: str | None, kaiser: bool
) -> tuple[Array, Array]:
    """Loadings after a rotation, and the factors' correlations.

    Parameters
    ----------
    loadings : array of shape (columns, factors)
        Of columns of variance 1.
    deviation : array of shape (columns,)
        The columns' units: without `kaiser`, an orthogonal rotation is one of loadings in these.
    method : {"varimax", "quartimax", "promax"} or None
    kaiser : bool

    Returns
    -------
    loadings : array of shape (columns, factors)
        The largest of each factor is positive; rotated factors are ordered by sums of squares.
    correlation : array of shape (factors, factors)
    """
    k = loadings.shape[1]
    if method is None or k < 2:
        return loadings * _signs(loadings), np.eye(k)
    there = np.flatnonzero(np.square(loadings).sum(axis=0) > 0)  # factors that explain something
    some = loadings[:, there]
    free_of_units = kaiser or method == "promax"
    units = some if free_of_units else some * (deviation / deviation.max())[:, None]
    T = promax(units, kaiser) if method == "promax" else orthogonal_rotation(units, method, kaiser)
    turned, correlation = np.zeros_like(loadings), np.eye(k)
    turned[:, there] = some @ T
    if method == "promax":
        correlation[np.ix_(there, there)] = np.linalg.inv(T.T @ T)
    order = np.argsort(-np.square(turned).sum(axis=0), kind="stable")
    signs = _signs(turned[:, order])
    correlation = correlation[np.ix_(order, order)] * np.outer(signs, signs)
    np.fill_diagonal(correlation, 1.0)
    return turned[:, order] * signs, correlation


def _signs(loadings: Array) -> Array:
    """That make the largest of each factor positive; of several as large, the first."""
    sizes = np.abs(loadings)
    largest = np.argmax(sizes >= sizes.max(axis=0) * (1 - 1e-9), axis=0)
    return np.where(loadings[largest, np.arange(loadings.shape[1])] < 0, -1.0, 1.0)
