"""The categorical distribution: a die.

    p(y; η) = exp(η_y − log Σ e^ηⱼ)

    η = log p (up to a constant),   T(y) = (0, …, 1, …, 0) with the 1 at y,   b(y) = 1,
    a(η) = log Σ e^ηⱼ

E[T] is the softmax of η: the probabilities.  Adding a constant to every ηⱼ changes nothing, so that
∇²a = diag(p) − ppᵀ is singular in that direction; `natural` gives the η with a(η) = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.families.base import Family
from suffice.families.maximum_likelihood import MaximumLikelihood
from suffice.families.sampling import generator, shape_of
from suffice.numerics.double_double import Array
from suffice.statistics.exponential_family import SufficientSums


@dataclass(frozen=True)
class Categorical(Family):
    """One of k categories, with the usual parameters `probabilities`.

    Parameters
    ----------
    categories : int or sequence
        Their number k, if the observations are 0, …, k − 1; or the labels themselves: text,
        numbers or booleans.

    Examples
    --------
    >>> from suffice.families import Categorical
    >>> Categorical(3).fit([0, 2, 2, 1]).probabilities
    array([0.25, 0.25, 0.5 ])
    >>> Categorical(["no", "yes"]).fit(["yes", "no", "yes", "yes"])
    Categorical(categories=('no', 'yes')).at(probabilities=[0.25, 0.75])
    """

    categories: int | Sequence[Any]

    domain = "numbers, or −∞ for probability 0, not all of them −∞"

    def __post_init__(self) -> None:
        labels: Any = self.categories
        kept: Any
        if np.ndim(labels) == 0 and not isinstance(labels, str):
            fine, kept = index(labels) >= 1, int(labels)
        else:
            kept = tuple(np.asarray(labels, dtype=object).tolist())
            fine = not isinstance(labels, str) and 1 <= len(kept) == len(set(kept))
        if not fine:
            raise ValueError(
                f"categories is {labels!r}; accepted are their number, or labels that differ"
            )
        object.__setattr__(self, "categories", kept)

    @property
    def support(self) -> str:  # type: ignore[override]
        if isinstance(self.categories, int):
            return f"categories 0 to {self.dimension - 1}"
        return f"the categories {', '.join(map(repr, self.categories))}"

    @property
    def dimension(self) -> int:
        return self.categories if isinstance(self.categories, int) else len(self.categories)

    def natural(self, probabilities: Any) -> Array:
        """η = log p, for probabilities that add up to 1."""
        p = np.asarray(probabilities, dtype=np.float64)
        if not ((p >= 0).all() and (np.abs(p.sum(axis=-1) - 1.0) <= 1e-9).all()):
            raise ValueError(f"probabilities are {probabilities!r}; they must add up to 1")
        with np.errstate(divide="ignore"):
            return self._etas(np.log(p))

    def parameters(self, eta: Any) -> dict[str, Any]:
        return {"probabilities": self.mean(eta)}

    def sufficient_statistic(self, y: Any) -> Array:
        return np.eye(self.dimension)[self._observations(y).astype(np.int64)]

    def log_partition(self, eta: Any) -> Array:
        top, rest = _log_sum(self._etas(eta))
        return top + rest

    def mean(self, eta: Any) -> Array:
        eta = self._etas(eta)
        share = np.exp(eta - eta.max(axis=-1, keepdims=True))
        return np.asarray(share / share.sum(axis=-1, keepdims=True))

    def covariance(self, eta: Any) -> Array:
        p = self.mean(eta)
        # p (1 − p) by the other probabilities: 1 − p itself may have lost its digits.
        off = -p[..., :, None] * p[..., None, :] * (1 - np.eye(self.dimension))
        return np.asarray(off - off.sum(axis=-1)[..., None] * np.eye(self.dimension))

    def log_density(self, y: Any, eta: Any) -> Array:
        codes, eta = self._observations(y).astype(np.int64), self._etas(eta)
        top, rest = _log_sum(eta)
        shape = np.broadcast_shapes(codes.shape, eta.shape[:-1])
        table = np.broadcast_to(eta - top[..., None], (*shape, self.dimension))
        chosen = np.take_along_axis(table, np.broadcast_to(codes, shape)[..., None], axis=-1)
        return np.asarray(chosen[..., 0] - rest)

    def sample(self, eta: Any, size: Any = None, random_state: Any = None) -> NDArray[Any]:
        eta = self._etas(eta)
        steps = np.cumsum(self.mean(eta), axis=-1)
        uniform = generator(random_state).random(shape_of(size, eta)) * steps[..., -1]
        codes = (uniform[..., None] >= steps).sum(axis=-1)
        return codes if isinstance(self.categories, int) else np.array(self.categories)[codes]

    def _maximum(self, sums: SufficientSums) -> MaximumLikelihood:
        p = sums.mean.round()
        notes: tuple[str, ...] = ()
        if not (p > 0).all():
            known = self.categories
            absent = np.flatnonzero(p <= 0).tolist()
            shown = ", ".join(repr(j if isinstance(known, int) else known[j]) for j in absent)
            notes = (f"on the boundary: no row is in {shown}, so their η is −∞",)
        with np.errstate(divide="ignore"):
            return MaximumLikelihood(np.log(np.maximum(p, 0.0)), {"probabilities": p}, notes=notes)

    def _summands(self, values: Array) -> tuple[Array, Array]:
        return np.eye(self.dimension)[values.astype(np.int64)], np.zeros(len(values))

    def _numbers(self, y: Any) -> Array:
        """The place of each observation among the categories; NaN where it has none."""
        if isinstance(self.categories, int):
            return super()._numbers(y)
        place = {label: float(j) for j, label in enumerate(self.categories)}
        found = np.asarray(y, dtype=object)
        return np.array([place.get(label, np.nan) for label in found.ravel().tolist()]).reshape(
            found.shape
        )

    def _in_support(self, values: Array) -> NDArray[np.bool_]:
        return np.asarray((values >= 0) & (values < self.dimension) & (np.trunc(values) == values))

    def _in_domain(self, eta: Array) -> NDArray[np.bool_]:
        return np.asarray((eta < np.inf).all(axis=-1) & (eta > -np.inf).any(axis=-1))


def _log_sum(eta: Array) -> tuple[Array, Array]:
    """log Σ e^ηⱼ as the largest ηⱼ and the rest: small where one category is nearly sure."""
    best = eta.argmax(axis=-1)[..., None]
    top = np.take_along_axis(eta, best, axis=-1)
    others = np.exp(eta - top)
    np.put_along_axis(others, best, 0.0, axis=-1)
    return top[..., 0], np.log1p(others.sum(axis=-1))
