"""The kernels of density estimates: their shapes K, their integrals, and draws from them.

With r = ‖u‖, u of d columns, V the volume of the unit ball and S = d V its surface:

    name            K(u)                     ∫ K(u) du
    gaussian        exp(−r²/2)               (2π)^(d/2)
    exponential     exp(−r)                  S Γ(d)
    tophat          1       if r < 1         V
    epanechnikov    1 − r²  if r < 1         V · 2/(d + 2)
    linear          1 − r   if r < 1         V / (d + 1)
    cosine          cos(πr/2)  if r < 1      S ∫₀¹ cos(πr/2) r^(d−1) dr
    tophat-cube     1  if max |uⱼ| ≤ ½       1

and the density of rows of total weight W is Σ wᵢ K((q − xᵢ)/h) / (W hᵈ ∫ K).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy.special import gammainc

from suffice.kernels.density import smooth as shapes

Floats = NDArray[np.float64]
Draw = Callable[[RandomState, int, int], Floats]


@dataclass(frozen=True)
class DensityKernel:
    """One kernel.

    Attributes
    ----------
    shape : int
        What the compiled code calls it.
    log_integral : function of the number of columns
        log ∫ K.
    variance : function of the number of columns
        Variance of each column under the density K / ∫ K.
    draw : function of a random state, the number of draws, and that of columns
        Draws from the density K / ∫ K.
    """

    shape: int
    log_integral: Callable[[int], float]
    variance: Callable[[int], float]
    draw: Draw

    @property
    def endless(self) -> bool:
        """Whether K is positive everywhere."""
        return self.shape <= shapes.EXPONENTIAL

    def scales(self, bandwidths: Floats) -> Floats:
        """What distances are multiplied by, or compared with, in the compiled code."""
        if self.shape == shapes.GAUSSIAN:
            return 0.5 / bandwidths**2
        return 1.0 / bandwidths if self.shape == shapes.EXPONENTIAL else bandwidths


def log_ball(d: int) -> float:
    """Logarithm of the volume of the unit ball of d dimensions."""
    return 0.5 * d * math.log(math.pi) - math.lgamma(0.5 * d + 1.0)


def cosine_moment(d: int) -> float:
    """∫₀¹ cos(πr/2) r^(d−1) dr.

    Integrated by parts twice, I(d) = (π/2) (1 − (π/2) I(d + 2)) / (d (d + 1)): begun with 0 far up,
    where I is as good as nothing, every step down makes the error smaller.
    """
    value = 0.0
    for k in range(d + 40, d - 1, -2):
        value = 0.5 * math.pi * (1.0 - 0.5 * math.pi * value) / (k * (k + 1))
    return value


# --- draws ---------------------------------------------------------------------------------


def directions(rng: RandomState, n: int, d: int) -> Floats:
    """Points spread evenly over the unit sphere."""
    points = rng.normal(size=(n, d))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def at_radius(radius: Callable[[RandomState, int, int], Floats]) -> Draw:
    """Draws with a random distance from the centre, in all directions alike."""

    def draw(rng: RandomState, n: int, d: int) -> Floats:
        length = radius(rng, n, d)
        return directions(rng, n, d) * length[:, None]

    return draw


def draw_ball(rng: RandomState, n: int, d: int) -> Floats:
    """Draws from the unit ball: the length of a Gaussian draw is mapped by its distribution."""
    points = rng.normal(size=(n, d))
    squared = np.einsum("ij,ij->i", points, points)
    return points * (gammainc(0.5 * d, 0.5 * squared) ** (1.0 / d) / np.sqrt(squared))[:, None]


def cosine_radius(rng: RandomState, n: int, d: int) -> Floats:
    """Radii with density ∝ cos(πr/2) r^(d−1): those of the linear kernel, some of them refused.

    cos(πr/2) is between 1 − r and (π/2)(1 − r), so that at least 2/π are accepted.
    """
    out = np.empty(0)
    while len(out) < n:
        r = rng.beta(d, 2.0, size=2 * (n - len(out)) + 8)
        accepted = rng.uniform(size=len(r)) * (0.5 * np.pi) * (1.0 - r) <= np.cos(0.5 * np.pi * r)
        out = np.append(out, r[accepted])
    return out[:n]


KERNELS: dict[str, DensityKernel] = {
    "gaussian": DensityKernel(
        shapes.GAUSSIAN,
        lambda d: 0.5 * d * math.log(2.0 * math.pi),
        lambda d: 1.0,
        lambda rng, n, d: rng.normal(size=(n, d)),
    ),
    "exponential": DensityKernel(
        shapes.EXPONENTIAL,
        lambda d: log_ball(d) + math.lgamma(d + 1.0),
        lambda d: d + 1.0,
        at_radius(lambda rng, n, d: rng.gamma(d, size=n)),
    ),
    "tophat": DensityKernel(shapes.TOPHAT, log_ball, lambda d: 1.0 / (d + 2), draw_ball),
    "epanechnikov": DensityKernel(
        shapes.EPANECHNIKOV,
        lambda d: log_ball(d) + math.log(2.0 / (d + 2)),
        lambda d: 1.0 / (d + 4),
        at_radius(lambda rng, n, d: np.sqrt(rng.beta(0.5 * d, 2.0, size=n))),
    ),
    "linear": DensityKernel(
        shapes.LINEAR,
        lambda d: log_ball(d) - math.log(d + 1.0),
        lambda d: (d + 1.0) / ((d + 2) * (d + 3)),
        at_radius(lambda rng, n, d: rng.beta(d, 2.0, size=n)),
    ),
    "cosine": DensityKernel(
        shapes.COSINE,
        lambda d: log_ball(d) + math.log(d * cosine_moment(d)),
        lambda d: cosine_moment(d + 2) / (d * cosine_moment(d)),
        at_radius(cosine_radius),
    ),
    "tophat-cube": DensityKernel(
        shapes.CUBE,
        lambda d: 0.0,
        lambda d: 1.0 / 12.0,
        lambda rng, n, d: rng.uniform(-0.5, 0.5, size=(n, d)),
    ),
}
"""Every kernel by its name."""
