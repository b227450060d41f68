"""The perceptron's rule, one row at a time or all rows at once.

    online    w ← w + η (y − g(w·x)) x            after each row
    batch     w ← w + η Σᵢ (yᵢ − g(w·xᵢ)) xᵢ       after each pass

with y ∈ {0, 1} and g a threshold: only rows on the wrong side move w.  A row that lies on the
boundary is on the wrong side, so that no step is taken exactly where every row is strictly on
its own.  Each predictor tells one class from the rest; two classes need one.

Penalties act as in stochastic gradient steps: w shrinks by η α (1 − ρ), and moves towards 0 by
η α ρ, with every row or, for the batch rule, with every pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from suffice.kernels.linear.perceptron import online_steps
from suffice.linear.solvers.objective import present
from suffice.numerics.double_double import Array
from suffice.sources import Block
from suffice.statistics.curvature import predictors
from suffice.statistics.sums import Sums

Integers = NDArray[np.int64]


@dataclass(eq=False)
class Weights:
    """Predictors while they learn, and how a pass goes for each.

    Attributes
    ----------
    v : array of shape (predictors, columns)
        The weights, divided by `scale`.
    intercept, scale : arrays of shape (predictors,)
    done, due : arrays of shape (predictors, columns) and (predictors,)
        What the penalty on absolute values has moved, and should have.
    active : bool array of shape (predictors,)
        Predictors that still learn.
    mistakes, loss : arrays of shape (predictors,)
        Rows found on the wrong side in this pass; and Σ |w·x + b| over them with the penalty of
        every row, as they were when it was met.
    """

    v: Array
    intercept: Array
    scale: Array
    done: Array
    due: Array
    active: NDArray[np.bool_]
    mistakes: Integers
    loss: Array

    @classmethod
    def start(cls, coef: Array, intercept: Array) -> Weights:
        """Before the first pass."""
        k = len(coef)
        return cls(
            np.array(coef, dtype=np.float64, order="C"),
            np.array(intercept, dtype=np.float64),
            np.ones(k),
            np.zeros_like(coef),
            np.zeros(k),
            np.ones(k, dtype=np.bool_),
            np.zeros(k, dtype=np.int64),
            np.zeros(k),
        )

    def fresh(self) -> Weights:
        """A copy, about to begin a pass."""
        copied = {one.name: getattr(self, one.name).copy() for one in fields(self)}
        fresh = Weights(**copied)
        fresh.mistakes[:], fresh.loss[:] = 0, 0.0
        return fresh

    @property
    def coef(self) -> Array:
        """w, of shape (predictors, columns)."""
        return np.asarray(self.v * self.scale[:, None])


@dataclass(frozen=True, eq=False)
class PerceptronRule:
    """What a step does.

    Attributes
    ----------
    positive : int array of shape (predictors,)
        Number of the class for which each predictor is to be positive.
    rates : array of shape (predictors, 2)
        η for rows of the other classes, and for rows of that class.
    eta, l1, l2 : float
        η before class weights, α ρ and α (1 − ρ).
    fit_intercept : bool
    codes : function of a block
        The number of each row's class.
    """

    positive: Integers
    rates: Array
    eta: float
    l1: float
    l2: float
    fit_intercept: bool
    codes: Callable[[Block], Integers] = field(repr=False)

    def online(self, weights: Weights, block: Block) -> Weights:
        """A step after each row of a block; changes the weights in place."""
        block = present(block)
        codes, X = self.codes(block), block.X
        if sparse.issparse(X):
            rows = X.data, X.indices, X.indptr
        else:
            X = np.ascontiguousarray(X, dtype=np.float64)
            n, d = X.shape
            rows = X.reshape(-1), np.zeros(0, np.int64), d * np.arange(n + 1)
        data, indices, indptr = rows
        sizes = np.stack([np.square(weights.v).sum(axis=1), np.abs(weights.v).sum(axis=1)], axis=1)
        online_steps(
            data.astype(np.float64, copy=False), indices.astype(np.int64, copy=False),
            indptr.astype(np.int64, copy=False), codes, self.positive, self.rates, weights.active,
            self._shrink, self.eta * self.l1, np.array([self.l2 / 2, self.l1]), self.fit_intercept,
            weights.v, weights.intercept, weights.scale, weights.done, weights.due, sizes,
            weights.mistakes, weights.loss,
        )  # fmt: skip
        return weights

    def wrong(self, block: Block, weights: Weights) -> Sums:
        """Σ η (y − g) x and Σ η (y − g) over a block, the mistakes, and loss and penalty."""
        block = present(block)
        own, margins = self._margins(block, weights.coef, weights.intercept)
        wrong = ~(margins > 0) & weights.active[:, None]
        signs = np.where(own, self.rates[:, 1:], -self.rates[:, :1]) * wrong
        return Sums(
            (
                np.asarray((block.X.T @ signs.T).T, dtype=np.float64),
                signs.sum(axis=1),
                wrong.sum(axis=1, dtype=np.float64),
                -np.where(wrong, margins, 0.0).sum(axis=1) + block.n_rows * self.penalty(weights),
            )
        )

    def batch(self, weights: Weights, sums: Sums) -> Weights:
        """One step for all rows."""
        weights, (step, constant, mistakes, loss) = weights.fresh(), sums.values
        learns = weights.active[:, None]
        coef = weights.coef * np.where(learns, self._shrink, 1.0) + step
        towards = np.sign(coef) * np.maximum(np.abs(coef) - self.eta * self.l1, 0.0)
        weights.v, weights.scale = np.where(learns, towards, coef), np.ones(len(coef))
        if self.fit_intercept:
            weights.intercept += constant
        weights.mistakes, weights.loss = mistakes.astype(np.int64), loss
        return weights

    def penalty(self, weights: Weights) -> Array:
        """What the weights of each predictor cost."""
        coef = weights.coef
        squares, sizes = np.square(coef).sum(axis=1), np.abs(coef).sum(axis=1)
        return np.asarray(self.l2 / 2 * squares + self.l1 * sizes)

    @property
    def _shrink(self) -> float:
        return max(0.0, 1.0 - self.eta * self.l2)

    def judge(self, block: Block, coef: Array, intercept: Array) -> Separation:
        """On which side the rows of a block lie, and how far."""
        block = present(block)
        _, margins = self._margins(block, coef, intercept)
        X = block.X
        squares = X.multiply(X) if sparse.issparse(X) else np.square(X, dtype=np.float64)
        sizes = np.asarray(squares.sum(axis=1)).ravel() + self.fit_intercept
        return Separation(
            (~(margins > 0)).sum(axis=1),
            margins.min(axis=1, initial=np.inf),
            float(sizes.max(initial=0.0)),
            block.n_rows,
        )

    def _margins(
        self, block: Block, coef: Array, intercept: Array
    ) -> tuple[NDArray[np.bool_], Array]:
        """Whether each row is of each predictor's class, and ±(w·x + b); (predictors, rows)."""
        own = self.codes(block) == self.positive[:, None]
        z = predictors(block.X, np.hstack([coef, intercept[:, None]]))
        return own, np.where(own, z, -z)


@dataclass(frozen=True, eq=False)
class Separation:
    """How predictors divide some rows.

    Attributes
    ----------
    mistakes : int array of shape (predictors,)
        Rows on the wrong side, or on the boundary.
    margin : array of shape (predictors,)
        The smallest y (w·x + b), with y = ±1; infinite without rows.
    size : float
        The largest ‖x‖², with 1 added where there is an intercept.
    count : int
    """

    mistakes: NDArray[np.intp]
    margin: Array
    size: float
    count: int

    @classmethod
    def merge(cls, parts: Sequence[Separation]) -> Separation:
        """The same of all rows of the parts together."""
        return cls(
            np.sum([part.mistakes for part in parts], axis=0),
            np.min([part.margin for part in parts], axis=0),
            max(part.size for part in parts),
            sum(part.count for part in parts),
        )
