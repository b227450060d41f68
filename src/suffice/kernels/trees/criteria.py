"""What a set of rows costs at a leaf, from its sums alone.

The sums of rows are, in classification, the weight of each class, c; in regression the weight
and the weighted target, (W, S).  The cost is the weight times the impurity, less what all splits of
a node have in common:

    gini                W − Σ c²/W
    entropy             W log₂ W − Σ c log₂ c
    misclassification   W − max c
    squared error       −S²/W                   (Σ w y² in common)
    Poisson             −S log(S/W)             (Σ w y log y in common)

A split is best if the costs of its two sides are least.  The absolute error has no such sums:
see `absolute_error`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel

Floats = NDArray[np.float64]
Side = tuple[float, float]

GINI, ENTROPY, MISCLASSIFICATION, SQUARED_ERROR, POISSON, ABSOLUTE_ERROR = range(6)
"""The criteria, as kernels know them."""


@kernel
def weight_of(criterion: int, sums: Floats) -> float:
    """The weight of rows."""
    if criterion >= SQUARED_ERROR:
        return sums[0]
    total = 0.0
    for k in range(len(sums)):
        total += sums[k]
    return total


@kernel
def cost(criterion: int, sums: Floats, weight: float) -> float:
    """What rows with these sums cost; ∞ where a Poisson mean would be 0."""
    rest = 0.0
    for k in range(len(sums)):
        _, rest = with_sum(criterion, (0.0, rest), k, sums[k])
    return cost_from(criterion, (weight, rest))


# The same, one sum after the other: calls with numbers are inlined, those with arrays are not.


@kernel
def with_sum(criterion: int, side: Side, k: int, value: float) -> Side:
    """The weight, and what else a cost needs (Σ c², Σ c log₂ c, max c, S), with one more sum."""
    weight, rest = side
    if criterion >= SQUARED_ERROR:
        return (value, rest) if k == 0 else (weight, value)
    if criterion == GINI:
        rest += value * value
    elif criterion == MISCLASSIFICATION:
        rest = max(rest, value)
    elif value > 0:
        rest += value * np.log2(value)
    return weight + value, rest


@kernel
def cost_from(criterion: int, side: Side) -> float:
    """The cost, from what `with_sum` has gathered."""
    weight, rest = side
    if criterion == GINI:
        return weight - rest / weight
    if criterion == ENTROPY:
        return weight * np.log2(weight) - rest
    if criterion == MISCLASSIFICATION:
        return weight - rest
    if criterion == SQUARED_ERROR:
        return -rest * rest / weight
    if not rest > 0:
        return np.inf
    return -rest * np.log(rest / weight)
