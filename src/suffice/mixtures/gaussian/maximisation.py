"""The M step of a mixture of Gaussians: means and covariances from soft moments.

In the coordinates of a component (`suffice.statistics.moments.soft`), with δ = a/N the mean of its
rows and S = B − N δ δᵀ their scatter about it, the maximum is

    μ' = μ + L δ,      Σ' = L (S/N) Lᵀ.

Under the prior μ | Σ ~ N(m, Σ/κ), Σ ~ InvWishart(Ψ, ν), m' and Ψ' the same in these coordinates,

    δ' = (κ m' + N δ) / (κ + N),
    Σ' = L (S + N (δ − δ')(δ − δ')ᵀ + κ (δ' − m')(δ' − m')ᵀ + Ψ') Lᵀ / (N + ν + d + 2).

A shared Σ has the scatter of all components, and N + ν + d + 1 + k below; diagonal ones have the
diagonals, and spherical ones their mean.  The new factor is L times that of the matrix in between,
which comes near I: nothing is lost by a narrow component.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from suffice.bayes.normal_inverse_wishart import NormalInverseWishart
from suffice.mixtures.gaussian.components import GaussianComponents, inverse_of
from suffice.statistics.moments.soft import SoftMoments

Floats = NDArray[np.float64]

EMPTY = 1e-12
"""The share of all rows below which a component keeps what it has."""

COLLAPSED = 1e-11
"""The spread of a component below which, next to that of all rows, nothing but rounding is left."""


def maximised(
    gaussians: GaussianComponents,
    moments: SoftMoments,
    prior: NormalInverseWishart | None = None,
    reg_covar: float = 0.0,
    hold: Collection[str] = (),
) -> tuple[GaussianComponents, float]:
    """The next Gaussians, and how far they moved.

    Parameters
    ----------
    gaussians : GaussianComponents
        In whose coordinates the moments are.
    moments : SoftMoments
    prior : NormalInverseWishart, optional
    reg_covar : float
        Added to the variances.
    hold : names of what stays as it is

    Returns
    -------
    Components, and the largest move of a mean in standard deviations, or of L⁻¹ Σ' L⁻ᵀ from I.
    """
    weight = moments.weight
    there = weight > EMPTY * max(weight.sum(), 1e-300)
    if prior is not None:
        there[:] = True  # without rows, the prior's own mode is the maximum
    moments = replace(moments, weight=np.where(there, weight, 0.0))
    mean = moments.first / np.where(weight > 0, weight, 1.0)[:, None] * there[:, None]
    step, aim = steps(gaussians, moments.weight, mean, prior)
    if "means" in hold:
        step = np.zeros_like(step)
    factor = gaussians.factor
    if "covariances" not in hold:
        centred = scatter(gaussians, moments, mean, step, prior, aim)
        divisor = divisors(gaussians, moments.weight, prior)
        factor = new_factor(gaussians, centred, divisor, there, reg_covar)
        refuse_collapsed(replace(gaussians, factor=factor), there)
    means = gaussians.means + np.einsum("cij,cj->ci", gaussians.factors(), step)
    new = replace(gaussians, means=means, factor=factor)
    turn = np.abs(turned(gaussians, new) - (1.0 if new.is_independent else np.eye(means.shape[1])))
    turn = turn if new.kind == "tied" else turn[there]
    return new, float(max(np.abs(step[there]).max(initial=0.0), turn.max(initial=0.0)))


def steps(
    gaussians: GaussianComponents, weight: Floats, mean: Floats, prior: NormalInverseWishart | None
) -> tuple[Floats, Floats]:
    """δ' and m' of each component."""
    if prior is None:
        return mean, np.zeros_like(mean)
    kappa = float(prior.kappa)
    aim = np.einsum("cij,cj->ci", gaussians.inverses(), prior.mu - gaussians.means)
    total = np.where(kappa + weight > 0, kappa + weight, 1.0)
    return (kappa * aim + weight[:, None] * mean) / total[:, None], aim


def shaped(matrices: Floats, kind: str) -> Floats:
    """What a kind keeps of matrices: their diagonals, or the sums of these."""
    if kind in ("full", "tied"):
        return matrices
    diagonal = np.diagonal(matrices, axis1=-2, axis2=-1)
    return diagonal if kind == "diag" else diagonal.sum(axis=-1)


def scatter(
    gaussians: GaussianComponents,
    moments: SoftMoments,
    mean: Floats,
    step: Floats,
    prior: NormalInverseWishart | None,
    aim: Floats,
) -> Floats:
    """S + N (δ − δ')(δ − δ')ᵀ + κ (δ' − m')(δ' − m')ᵀ + Ψ', in the shape that the kind has."""

    def outer(weight: Floats | float, vectors: Floats) -> Floats:
        weights = np.broadcast_to(weight, len(vectors))
        if gaussians.kind == "tied":
            return (weights[:, None] * vectors).T @ vectors
        if gaussians.kind == "full":
            return weights[:, None, None] * vectors[:, :, None] * vectors[:, None, :]
        squares = weights[:, None] * vectors**2
        return squares if gaussians.kind == "diag" else squares.sum(axis=1)

    N = moments.weight
    found = moments.second - outer(N, mean) + outer(N, mean - step)
    if prior is None:
        return found
    inverse = gaussians.inverses()
    psi = inverse @ prior.psi @ np.swapaxes(inverse, -1, -2)
    psi = psi[0] if gaussians.kind == "tied" else shaped(psi, gaussians.kind)
    return found + outer(float(prior.kappa), step - aim) + psi


def divisors(
    gaussians: GaussianComponents, weight: Floats, prior: NormalInverseWishart | None
) -> Floats:
    """What scatters are divided by."""
    k, d = gaussians.means.shape
    if gaussians.kind == "tied":
        return np.asarray(weight.sum() + (0.0 if prior is None else float(prior.nu) + d + 1 + k))
    found = weight + (0.0 if prior is None else float(prior.nu) + d + 2)
    return found * d if gaussians.kind == "spherical" else found


def new_factor(
    gaussians: GaussianComponents,
    centred: Floats,
    divisor: Floats,
    there: NDArray[np.bool_],
    reg: float,
) -> Floats:
    """The factor of L (scatter / divisor) Lᵀ + reg I; a component without rows keeps its own."""
    kind, factor = gaussians.kind, gaussians.factor
    if kind in ("diag", "spherical"):
        divisor = np.where(there, divisor, 1.0)
        ratio = np.maximum(centred / (divisor[:, None] if kind == "diag" else divisor), 0.0)
        found = np.sqrt(np.square(factor) * ratio + reg)
        return np.where(there[:, None] if kind == "diag" else there, found, factor)
    if kind == "tied":
        return rooted(factor, centred / divisor, reg, "the shared covariance")
    out = factor.copy()
    for c in np.flatnonzero(there):
        out[c] = rooted(factor[c], centred[c] / divisor[c], reg, f"the covariance of component {c}")
    return out


def rooted(factor: Floats, ratio: Floats, reg: float, name: str) -> Floats:
    """The Cholesky factor of L M Lᵀ + reg I."""
    ratio = (ratio + ratio.T) / 2
    try:
        if reg == 0:
            return np.asarray(factor @ np.linalg.cholesky(ratio), np.float64)
        whole = factor @ ratio @ factor.T + reg * np.eye(len(ratio))
        return np.asarray(np.linalg.cholesky(whole), np.float64)
    except np.linalg.LinAlgError:
        raise ValueError(singular(name)) from None


def singular(name: str) -> str:
    """What to say of a covariance that has no inverse."""
    return (
        f"{name} is singular: too few rows, equal rows or a constant column; use fewer components, "
        "reg_covar, a prior, or covariance_type='diag'"
    )


def refuse_collapsed(gaussians: GaussianComponents, there: NDArray[np.bool_]) -> None:
    """Raise where the spread of a component is nothing next to that of all rows."""
    factor, kind, spread = gaussians.factor, gaussians.kind, gaussians.spread
    if kind == "spherical":
        width, least = factor, COLLAPSED * np.sqrt(np.mean(spread**2))
    else:
        diagonal = factor if kind == "diag" else np.diagonal(factor, axis1=-2, axis2=-1)
        width, least = diagonal, COLLAPSED * spread
    bad = ~(width > least)
    if kind == "tied":
        if bad.any():
            raise ValueError(singular("the shared covariance"))
        return
    per_component = bad.reshape(len(bad), -1).any(axis=1) & there
    if per_component.any():
        number = int(np.flatnonzero(per_component)[0])
        raise ValueError(singular(f"the covariance of component {number}"))


def turned(old: GaussianComponents, new: GaussianComponents) -> Floats:
    """L⁻¹ Σ' L⁻ᵀ: I where the covariance stayed."""
    if old.kind in ("diag", "spherical"):
        return np.square(new.factor / old.factor)
    product = old.inverse @ new.factor
    return product @ np.swapaxes(product, -1, -2)


def log_prior(gaussians: GaussianComponents, prior: NormalInverseWishart) -> float:
    """log p(μ, Σ) of all components, up to a constant: the density of the whole prior at Σ."""
    d, inverse = gaussians.n_columns, gaussians.inverses()
    volume = -(gaussians.constant + 0.5 * d * np.log(2 * np.pi))  # log |L|
    trace = np.einsum("cij,jk,cik->c", inverse, prior.psi, inverse)
    away = np.einsum("cij,cj->ci", inverse, gaussians.means - prior.mu)
    nu, kappa = float(prior.nu), float(prior.kappa)
    of_means = -0.5 * kappa * np.square(away).sum() - volume.sum()
    if gaussians.kind == "tied":
        return float(of_means - (nu + d + 1) * volume[0] - 0.5 * trace[0])
    return float(of_means - (nu + d + 1) * volume.sum() - 0.5 * trace.sum())


def factored(covariances: Floats, kind: str) -> Floats:
    """L of given covariances.

    Raises
    ------
    ValueError
        If one of them is not positive definite.
    """
    if kind in ("diag", "spherical"):
        if not (covariances > 0).all():
            raise ValueError("a variance is not positive")
        return np.sqrt(covariances)
    try:
        return np.asarray(np.linalg.cholesky(covariances), np.float64)
    except np.linalg.LinAlgError:
        raise ValueError("a covariance is not positive definite") from None


def from_precisions(precisions: Floats, kind: str) -> Floats:
    """L of given precisions Σ⁻¹ = L⁻ᵀ L⁻¹."""
    if kind in ("diag", "spherical"):
        return factored(1.0 / precisions, kind)
    if kind == "tied":
        root = factored(precisions[::-1, ::-1], kind)[::-1, ::-1]  # upper U with U Uᵀ = Σ⁻¹
        return inverse_of(np.ascontiguousarray(root.T))
    return np.array([from_precisions(one, "tied") for one in precisions])
