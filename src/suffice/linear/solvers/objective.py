"""What an iterative linear model minimises: loss of the rows, plus penalty.

    F(Θ) = Σ wᵢ ℓ(yᵢ, oᵢ + Θ aᵢ) + Σⱼ (½ λⱼ θⱼ² + μⱼ |θⱼ|),      aᵢ = ((xᵢ − c) / s, 1)

The methods work on columns centred at c and divided by s, so that neither their offset nor
their unit costs digits: with an intercept, F is the same function of the fitted values as in the
user's columns.  c and s need only be about right.  Sparse columns are not centred.

Blocks are gone through in chunks, so that what is held at once stays small.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from suffice.linear.solvers.losses import Softmax
from suffice.numerics.cached import cached_property
from suffice.numerics.double_double import Array
from suffice.sources import Block
from suffice.sources.derived.subset import rows_of
from suffice.statistics.curvature import (
    Curvature,
    Derivatives,
    Loss,
    predictors,
    weighted_gram,
)
from suffice.statistics.sums import Sums

MOST_KEPT = 1 << 28
"""Bytes of second derivatives that are kept between the products with one Hessian."""

CHUNK_CELLS = 1 << 18
"""Cells of a chunk: two megabytes."""

MOST_DERIVATIVES = 1 << 22
"""Derivatives by predictors that are held at once for sparse rows."""


class KeptCurvatures(dict[int, tuple[Array, Array | None]]):
    """What depends on the point alone in products with one Hessian, by where a block starts.

    A cache: taking it anew for every product makes fits 5 to 20% slower.  It stays in the process
    of the fit, and another process begins with an empty one.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return KeptCurvatures, ()

    @property
    def nbytes(self) -> int:
        return sum(curvature.nbytes for curvature, _ in list(self.values()))


class Target(NamedTuple):
    """What a model makes of a block's target.

    Attributes
    ----------
    y : array
        As the loss takes it.
    weight : array of shape (rows,), or None
    offset : array of shape (rows,), or None
        What is added to the predictors.
    """

    y: NDArray[Any]
    weight: Array | None
    offset: Array | None = None

    def of(self, rows: slice | NDArray[np.intp]) -> Target:
        """That of some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        offset = None if self.offset is None else self.offset[rows]
        return Target(self.y[rows], weight, offset)


@dataclass(frozen=True, eq=False)
class ScaledColumns:
    """How the user's columns become the method's.

    Attributes
    ----------
    centre, scale : arrays of shape (columns,)
    intercept : bool
        Whether a column of ones follows.
    kept : int array, optional
        The user's columns that take part; by default all.
    n_given : int
        Columns that the user's rows have.
    """

    centre: Array
    scale: Array
    intercept: bool
    kept: NDArray[np.intp] | None = None
    n_given: int = 0

    @property
    def n_parameters(self) -> int:
        return len(self.scale) + self.intercept

    def chosen(self, X: Any) -> Any:
        """The columns that take part."""
        return X if self.kept is None else X[:, self.kept]

    def centred(self, X: Any) -> Any:
        """Rows about the centre, as floats; not yet divided by the scale."""
        if sparse.issparse(X):
            return X
        # One layout for every source: BLAS's bits depend on it.
        X = np.ascontiguousarray(X, dtype=np.float64)
        return X - self.centre if self.is_centred else X

    @cached_property
    def is_centred(self) -> bool:
        return bool(self.centre.any())

    @cached_property
    def divisor(self) -> Array:
        """The scale, and 1 for the intercept: what the derivatives are to be divided by."""
        return np.append(self.scale, 1.0) if self.intercept else self.scale

    def to_user(self, parameters: Array) -> tuple[Array, Array]:
        """Coefficients and intercepts in the user's columns."""
        coef = parameters[:, : len(self.scale)] / self.scale
        intercept = np.zeros(len(parameters))
        if self.intercept:
            intercept = parameters[:, -1] - coef @ self.centre
        if self.kept is not None:
            whole = np.zeros((len(coef), self.n_given))
            whole[:, self.kept] = coef
            coef = whole
        return coef, intercept

    def from_user(self, coef: Array, intercept: Array) -> Array:
        """The method's parameters of coefficients and intercepts."""
        coef = self.chosen(coef)
        parameters = coef * self.scale
        if self.intercept:
            constant = intercept + coef @ self.centre
            parameters = np.hstack([parameters, constant[:, None]])
        return np.asarray(parameters)


@dataclass(frozen=True, eq=False)
class Objective:
    """Loss, penalty and columns of one problem.

    Attributes
    ----------
    loss : Loss
    columns : ScaledColumns
    l2, l1 : arrays of shape (predictors, parameters)
        Strengths of the two penalties for each parameter of the method; 0 for intercepts.
    target : function of a block
    attributes : function of coefficients and intercepts in the user's columns, optional
        What a model that has them shows to callbacks.
    """

    loss: Loss
    columns: ScaledColumns
    l2: Array
    l1: Array
    target: Callable[[Block], Target] = field(repr=False)
    attributes: Callable[[Array, Array], dict[str, Any]] | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        # Callbacks are called where the fit runs: another process gets what its rows need.
        return {**vars(self), "attributes": None}

    @property
    def shape(self) -> tuple[int, int]:
        """Predictors and parameters of each."""
        return self.loss.n_predictors, self.columns.n_parameters

    def summarize(self, block: Block, parameters: Array, order: int) -> Curvature:
        """Loss and derivatives of a block of rows, without the penalty."""
        block = present(block)
        X, target = self.columns.chosen(block.X), self.target(block)
        size = self._chunk(sparse.issparse(X), order)
        divisor = self.columns.divisor
        parts = [Curvature.zero(*self.shape, order)]
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(0, X.shape[0], size):
                some = slice(start, start + size)
                rows, part = self.columns.centred(X[some]), target.of(some)
                loss = _with_offset(self.loss, part.offset)
                parts.append(
                    Curvature.summarize(
                        rows, part.y, part.weight, loss, parameters / divisor, order
                    )
                )
            found = Curvature.merge(parts).rescaled(divisor)
        finite = (np.isfinite(v).all() for v in (found.loss, found.gradient, found.hessian))
        if all(finite):
            return found
        if not np.isfinite(X.data if sparse.issparse(X) else X).all():
            raise FloatingPointError("values that are not finite")
        # The point is out of reach, not the rows: a line search turns back from it.
        return replace(found, loss=np.inf)

    def _chunk(self, thin: bool, order: int) -> int:
        """Rows to go through at once: of sparse ones as many as their derivatives allow."""
        predictors, parameters = self.shape
        derivatives = predictors**2 if order == 2 else predictors
        if thin:
            return max(MOST_DERIVATIVES // derivatives, 64)
        return max(CHUNK_CELLS // max(parameters, derivatives, 1), 64)

    def hessian_product(
        self, block: Block, parameters: Array, along: Array, kept: KeptCurvatures
    ) -> Curvature:
        """The Hessian of a block of rows times a direction, in the place of the gradient.

        `kept` keeps what depends on the point alone, block by block.
        """
        whole, block = block, present(block)
        X = self.columns.centred(self.columns.chosen(block.X))
        divisor, d = self.columns.divisor, X.shape[1]
        known = kept.get(whole.start)
        if known is None:
            known = self._curvature(X, block, parameters)
            if kept.nbytes < MOST_KEPT:
                kept[whole.start] = known
        curvature, weight = known
        product = curvature_along(self.loss, curvature, predictors(X, along / divisor))
        product = product if weight is None else product * weight
        out = np.empty(self.shape)
        out[:, :d] = (X.T @ product.T).T
        out[:, d:] = product.sum(axis=1, keepdims=True)
        return self._in_the_place_of_the_gradient(out / divisor, X.shape[0])

    def _in_the_place_of_the_gradient(self, values: Array, n_rows: int) -> Curvature:
        k = self.loss.n_predictors
        return Curvature(float(n_rows), 0.0, values, np.zeros((k, 0, k, 0)))

    def _curvature(self, X: Any, block: Block, parameters: Array) -> tuple[Array, Array | None]:
        """What the Hessian of a block's rows is made of (`curvature_of`), and their weights."""
        target = self.target(block)
        eta = predictors(X, parameters / self.columns.divisor)
        eta = eta if target.offset is None else eta + target.offset
        return curvature_of(self.loss, target.y, eta), target.weight

    def _own_curvatures(self, block: Block, parameters: Array) -> tuple[Any, Array]:
        """A block's rows, and the second derivatives by each predictor alone."""
        X = self.columns.centred(self.columns.chosen(block.X))
        curvature, weight = self._curvature(X, block, parameters)
        own = own_curvatures(self.loss, curvature)
        return X, own if weight is None else own * weight

    def diagonal(self, block: Block, parameters: Array) -> Curvature:
        """The diagonal of the Hessian of a block of rows, in the place of the gradient."""
        X, own = self._own_curvatures(present(block), parameters)
        squares = X.multiply(X) if sparse.issparse(X) else np.square(X)
        d = X.shape[1]
        out = np.empty(self.shape)
        out[:, :d] = (squares.T @ own.T).T / self.columns.scale**2
        out[:, d:] = own.sum(axis=1, keepdims=True)
        return self._in_the_place_of_the_gradient(out, X.shape[0])

    def blocks(self, block: Block, parameters: Array) -> Sums:
        """The part of the Hessian that belongs to each predictor alone, of a block of rows."""
        X, own = self._own_curvatures(present(block), parameters)
        divisor = self.columns.divisor
        grams = np.stack([weighted_gram(X, self.columns.intercept, h) for h in own])
        return Sums((grams / divisor / divisor[:, None],))

    # --- with the penalty -------------------------------------------------------------------

    def value(self, at: Curvature, parameters: Array) -> float:
        """F at the point where the curvature was taken."""
        return at.loss + self.penalty(parameters)

    def penalty(self, parameters: Array) -> float:
        """Both penalties."""
        squared = 0.5 * float(np.sum(self.l2 * np.square(parameters)))
        return squared + float(np.sum(self.l1 * np.abs(parameters)))

    @property
    def _symmetric(self) -> bool:
        return bool(getattr(self.loss, "symmetric", False))

    def gradient(self, at: Curvature, parameters: Array) -> Array:
        """The gradient of all but the absolute values, of the parameters' shape."""
        slope = at.gradient
        if self._symmetric:
            # Adding the same to all predictors changes no probability: what derivatives have in
            # common is rounding of sums over many rows, next to which a penalty may be small.
            slope = slope - slope.mean(axis=0)
        return np.asarray(slope + self.l2 * parameters)

    def violation(self, gradient: Array, parameters: Array) -> Array:
        """By how much derivatives differ from 0, or exceed what absolute values hold at 0."""
        at_zero = np.maximum(np.abs(gradient) - self.l1, 0.0)
        elsewhere = np.abs(gradient + self.l1 * np.sign(parameters))
        return np.where(parameters == 0, at_zero, elsewhere)

    def hessian(self, at: Curvature) -> Array:
        """The Hessian of all but the absolute values, a square matrix over all parameters."""
        size = self.l2.size
        whole = at.hessian.reshape(size, size).copy()
        whole[np.diag_indices(size)] += self.l2.ravel()
        if self._symmetric:
            # Where no penalty decides, steps take the mean over the predictors to stay where it is.
            free = ((self.l2 == 0) & (self.l1 == 0)).all(axis=0)
            mean = np.diag(free * np.diagonal(whole).reshape(self.shape).mean(axis=0))
            whole += np.kron(np.full((self.shape[0],) * 2, 1 / self.shape[0]), mean)
        return whole

    def balanced(self, directions: Array) -> Array:
        """Directions without what all predictors have in common, where that changes no loss.

        A squared penalty is smallest without it, so the minimiser has none.
        """
        if not self._symmetric:
            return directions
        return np.asarray(directions - directions.mean(axis=0))

    def scaled(self, share: float) -> Objective:
        """The problem for a share of the rows: the penalty shrinks with the loss."""
        return replace(self, l2=self.l2 * share, l1=self.l1 * share)


def present(block: Block) -> Block:
    """The rows of positive weight: others do not exist, whatever they hold."""
    if block.weight is None or block.weight.all():
        return block
    return rows_of(block, np.flatnonzero(block.weight), block.start)


def curvature_of(loss: Loss, y: NDArray[Any], eta: Array) -> Array:
    """What ℓ″ of some rows is made of: of a softmax the probabilities, else ℓ″ itself.

    The latter has shape (predictors, predictors, rows), which many classes cannot afford.
    """
    if isinstance(loss, Softmax):
        return loss.fitted(loss.probabilities(eta))
    hessian = loss(y, eta, 2).hessian
    assert hessian is not None
    return hessian


def curvature_along(loss: Loss, curvature: Array, along: Array) -> Array:
    """ℓ″ of each row times a direction of shape (predictors, rows)."""
    if isinstance(loss, Softmax):
        return np.asarray(curvature * (along - np.sum(curvature * along, axis=0)))
    return np.asarray(np.einsum("kjn,jn->kn", curvature, along))


def own_curvatures(loss: Loss, curvature: Array) -> Array:
    """The diagonal of ℓ″ of each row, of shape (predictors, rows)."""
    if isinstance(loss, Softmax):
        return np.asarray(curvature * (1.0 - curvature))
    k = np.arange(len(curvature))
    return np.asarray(curvature[k, k])


def _with_offset(loss: Loss, offset: Array | None) -> Any:
    if offset is None:
        return loss

    def shifted(y: NDArray[Any], eta: Array, order: int) -> Derivatives:
        return loss(y, eta + offset, order)

    return shifted
