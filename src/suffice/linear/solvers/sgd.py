"""Stochastic gradient steps over a block of rows, for any loss.

Losses that the kernel knows take its steps; others, and sparse rows, take the same steps in
NumPy, a mini-batch at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from suffice.kernels.linear.stochastic import LOGISTIC, SOFTMAX, SQUARED, stochastic_steps
from suffice.linear.solvers.losses import Logistic, Softmax, Squared
from suffice.linear.solvers.objective import Objective, Target, present
from suffice.numerics.double_double import Array
from suffice.sources import Block
from suffice.statistics.curvature import Loss, predictors


@dataclass(eq=False)
class Iterate:
    """Where a descent is.

    Attributes
    ----------
    theta, velocity, mean : arrays of shape (predictors, parameters)
        Θ, V, and the mean of Θ after each step of this pass.
    taken, earlier : int
        Steps so far, and those of earlier passes.
    loss : float
        Sum of the losses that the steps of this pass met.
    """

    theta: Array
    velocity: Array
    mean: Array
    taken: int = 0
    earlier: int = 0
    loss: float = 0.0

    @classmethod
    def start(cls, theta: Array) -> Iterate:
        return cls(theta, np.zeros_like(theta), np.zeros_like(theta))

    def fresh(self) -> Iterate:
        """A copy, about to begin a pass."""
        theta = np.array(self.theta, dtype=np.float64, order="C")
        mean = np.zeros_like(theta)
        return Iterate(theta, self.velocity.copy(), mean, self.taken, self.taken)


def steps(
    state: Iterate,
    block: Block,
    *,
    objective: Objective,
    batch_size: int,
    momentum: float,
    share: float,
    rates: Callable[[int, int], Array],
) -> Iterate:
    """A step for each mini-batch of a block's rows, in their order; changes the state in place.

    Parameters
    ----------
    state : Iterate
    block : Block
    objective : Objective
        Its squared penalty divided by the weight of all rows.
    batch_size : int
    momentum : float
    share : float
        What weights are multiplied by, so that their mean is 1.
    rates : function of a step's number and a count
        The learning rates of as many steps.
    """
    block = present(block)
    n_rows = block.n_rows
    if not n_rows:
        return state
    columns, target = objective.columns, objective.target(block)
    weight = np.ones(n_rows) if target.weight is None else target.weight * share
    eta = rates(state.taken, -(-n_rows // batch_size))
    X, kind = columns.centred(columns.chosen(block.X)), _kind(objective.loss)
    with np.errstate(over="ignore", invalid="ignore"):
        if kind is None or sparse.issparse(X) or target.offset is not None:
            _in_numpy(state, X, target, weight, objective, batch_size, momentum, eta)
        else:
            A = np.ascontiguousarray(X / columns.scale)
            y = np.ascontiguousarray(target.y.reshape(n_rows, -1), dtype=np.float64)
            room = np.empty_like(state.theta), np.empty(len(state.theta))
            state.loss += stochastic_steps(
                A, y, weight, kind, eta, batch_size, objective.l2, momentum,
                state.theta, state.velocity, state.mean, state.taken - state.earlier, *room,
            )  # fmt: skip
    state.taken += len(eta)
    return state


def _kind(loss: Loss) -> int | None:
    """The kernel's number of a loss, if it has one."""
    if isinstance(loss, Softmax):
        return SOFTMAX if loss.symmetric else None
    if isinstance(loss, Squared):
        return SQUARED
    return LOGISTIC if isinstance(loss, Logistic) else None


def _in_numpy(
    state: Iterate,
    X: Any,
    target: Target,
    weight: Array,
    objective: Objective,
    batch_size: int,
    momentum: float,
    eta: Array,
) -> None:
    divisor, d = objective.columns.divisor, X.shape[1]
    for b, rate in enumerate(eta):
        some = slice(b * batch_size, (b + 1) * batch_size)
        rows, w = X[some], weight[some]
        predicted = predictors(rows, state.theta / divisor)
        if target.offset is not None:
            predicted += target.offset[some]
        found = objective.loss(target.y[some], predicted, 1)
        state.loss += float(w @ found.value)
        assert found.gradient is not None
        slopes = found.gradient * w
        gradient = np.empty_like(state.theta)
        gradient[:, :d] = (rows.T @ slopes.T).T
        gradient[:, d:] = slopes.sum(axis=1, keepdims=True)
        slope = gradient / divisor / len(w) + objective.l2 * state.theta
        state.velocity *= momentum
        state.velocity -= rate * slope
        state.theta += state.velocity
        state.mean += (state.theta - state.mean) / (state.taken - state.earlier + b + 1)
