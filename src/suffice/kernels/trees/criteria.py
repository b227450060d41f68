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

from suffice.kernels.compiler.compile import kernel

GINI, ENTROPY, MISCLASSIFICATION, SQUARED_ERROR, POISSON, ABSOLUTE_ERROR = range(6)
"""The criteria, as kernels know them."""


@kernel
def weight_of(criterion, sums):
    """The weight of rows."""
    if criterion >= SQUARED_ERROR:
        return sums[0]
    total = 0.0
    for k in range(len(sums)):
        total += sums[k]
    return total


@kernel
def cost(criterion, sums, weight):
    """What rows with these sums cost; ∞ where a Poisson mean would be 0."""
    if criterion == GINI:
        squares = 0.0
        for k in range(len(sums)):
            squares += sums[k] * sums[k]
        return weight - squares / weight
    if criterion == ENTROPY:
        bits = weight * np.log2(weight)
        for k in range(len(sums)):
            if sums[k] > 0:
                bits -= sums[k] * np.log2(sums[k])
        return bits
    if criterion == MISCLASSIFICATION:
        most = 0.0
        for k in range(len(sums)):
            most = max(most, sums[k])
        return weight - most
    if criterion == SQUARED_ERROR:
        return -sums[1] * sums[1] / weight
    if not sums[1] > 0:
        return np.inf
    return -sums[1] * np.log(sums[1] / weight)
