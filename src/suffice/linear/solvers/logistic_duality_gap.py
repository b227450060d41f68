"""How far a penalised logistic regression is from its minimum: the duality gap.

Any probabilities P of the rows' classes give a lower bound of the minimum.  With
V = Σ wᵢ (yᵢ − Pᵢ) aᵢᵀ and H the entropy,

    F* ≥ Σ wᵢ H(Pᵢ) − Σⱼ (|Vⱼ| − μⱼ)₊² / 2λⱼ

where |Vⱼ| ≤ μⱼ is needed if λⱼ = 0: V vanishes for an intercept.  The probabilities of the fit
almost satisfy that.  Mixed with constants so that each class has its weight (intercepts), and
with the labels themselves (absolute values), they do exactly, and F less the bound is the gap.

Reference: Boyd and Vandenberghe, "Convex Optimization" (2004), section 5.7.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from suffice.fitting.certificate import Certificate
from suffice.fitting.requests import Pass, needed
from suffice.linear.solvers.line_search import Minimum
from suffice.linear.solvers.losses import Logistic, Softmax, of_classes
from suffice.linear.solvers.objective import Objective, present
from suffice.numerics.double_double import Array
from suffice.sources import Block
from suffice.statistics.curvature import predictors
from suffice.statistics.sums import Sums


class MixedWithClasses(NamedTuple):
    """P ← own · (kept · P + (1 − kept) · constant) + (1 − own) · labels."""

    kept: float
    constant: Array
    own: float = 1.0


def duality_gap(
    objective: Objective, found: Minimum, class_weights: Array
) -> Generator[Pass, Any, float]:
    """F at the result less a lower bound of its minimum; two passes.

    Parameters
    ----------
    objective : Objective
        Of a logistic or softmax loss.
    found : Minimum
    class_weights : array of shape (classes,)
        Weight of the rows of each class.
    """
    mixture = _with_class_weights(objective, found, class_weights)
    at: dict[str, Any] = {"objective": objective, "parameters": found.parameters}
    slopes = partial(_slope, **at, mixture=mixture)
    sums: Sums = yield from needed(Pass("duality gap: slopes", slopes))
    V = np.abs(sums.values[0])
    bare = (objective.l2 == 0) & (objective.l1 > 0)
    own = float(np.min(objective.l1[bare] / np.maximum(V[bare], 1e-300), initial=1.0))
    entropy = partial(_entropy, **at, mixture=mixture._replace(own=own))
    sums = yield from needed(Pass("duality gap: entropy", entropy))
    over = np.maximum(own * V - objective.l1, 0.0)
    squared = objective.l2 > 0
    bound = float(sums.values[0]) - float(np.sum(over[squared] ** 2 / objective.l2[squared])) / 2
    return found.value - bound


def _with_class_weights(objective: Objective, found: Minimum, weights: Array) -> MixedWithClasses:
    """The least mixing after which every class has the weight it has among the labels."""
    constant = weights / weights.sum()
    if not objective.columns.intercept:
        return MixedWithClasses(1.0, constant)
    surplus = found.gradient[:, -1]
    if isinstance(objective.loss, Logistic):
        surplus = np.array([-surplus[0], surplus[0]])
    elif isinstance(objective.loss, Softmax) and objective.loss.reference is not None:
        surplus = np.insert(surplus, objective.loss.reference, -surplus.sum())
    expected = weights + surplus
    kept = float(np.min(weights / np.maximum(expected, 1e-300), initial=1.0))
    if kept >= 1.0:
        return MixedWithClasses(1.0, constant)
    constant = np.maximum(weights - kept * expected, 0.0)
    return MixedWithClasses(kept, constant / constant.sum())


def with_gap(
    proof: Certificate, objective: Objective, found: Minimum, class_weights: Array
) -> Generator[Pass, Any, Certificate]:
    """A certificate that measures the duality gap too."""
    gap = yield from duality_gap(objective, found, class_weights)
    return replace(proof, measures={**proof.measures, "duality_gap": gap})


def _mixed(block: Block, objective: Objective, parameters: Array, mixture: MixedWithClasses) -> Any:
    """Rows, labels, weights and mixed probabilities of a block."""
    block = present(block)
    X = objective.columns.centred(objective.columns.chosen(block.X))
    target = objective.target(block)
    P = of_classes(objective.loss).probabilities(
        predictors(X, parameters / objective.columns.divisor)
    )
    P = mixture.kept * P + (1 - mixture.kept) * mixture.constant[:, None]
    weight = np.ones(X.shape[0]) if target.weight is None else target.weight
    return X, target.y.astype(np.intp), weight, P


def _slope(
    block: Block, objective: Objective, parameters: Array, mixture: MixedWithClasses
) -> Sums:
    X, codes, weight, P = _mixed(block, objective, parameters, mixture)
    P[codes, np.arange(len(codes))] -= 1.0
    residual = of_classes(objective.loss).fitted(P) * weight
    out = np.zeros(objective.shape)
    out[:, : X.shape[1]] = (X.T @ residual.T).T / objective.columns.scale
    return Sums((out,))


def _entropy(
    block: Block, objective: Objective, parameters: Array, mixture: MixedWithClasses
) -> Sums:
    _, codes, weight, P = _mixed(block, objective, parameters, mixture)
    P *= mixture.own
    P[codes, np.arange(len(codes))] += 1 - mixture.own
    logs = np.log(P, out=np.zeros_like(P), where=P > 0)
    return Sums((np.array(-np.sum(weight * np.sum(P * logs, axis=0))),))
