"""What sampling shares: seeds, shapes, and numbers that stay inside an open support."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from suffice.numerics.double_double import Array

SMALLEST = 5e-324
"""The smallest positive float64."""


def generator(random_state: Any) -> np.random.Generator:
    """A random generator from a seed, a generator or None."""
    try:
        return np.random.default_rng(random_state)
    except TypeError:
        raise ValueError(
            f"random_state is {random_state!r}; accepted are None, an integer and a "
            "numpy.random.Generator"
        ) from None


def shape_of(size: Any, eta: Array) -> tuple[int, ...]:
    """The shape of a sample: `size`, or one observation for each η."""
    if size is None:
        return eta.shape[:-1]
    sizes = (size,) if np.ndim(size) == 0 else tuple(size)
    return tuple(number_of_draws(n, "size") for n in sizes)


def number_of_draws(n: Any, name: str = "n") -> int:
    """How many observations are asked for: a whole number of at least 0."""
    if isinstance(n, bool) or not isinstance(n, Integral) or n < 0:
        raise ValueError(f"{name} is {n!r}; accepted are whole numbers of at least 0")
    return int(n)


def log_gamma_variates(shape: Array, size: Any, rng: np.random.Generator) -> Array:
    """Logarithms of standard gamma variates, which do not underflow however small the shape.

    If G has shape k + 1 and U is uniform, G U^(1/k) has shape k.
    """
    uniform = 1.0 - rng.random(size)
    with np.errstate(over="ignore"):
        less = np.maximum(np.log(uniform) / shape, -1e307)
    return np.asarray(np.log(rng.standard_gamma(shape + 1.0, size)) + less)
