"""The perceptron's steps, row by row.

For every row x of label y = ±1 and every predictor w, b, in turn:

    w ← c w,      then      w ← w + η y x,   b ← b + η y      where y (w·x + b) ≤ 0

c < 1 is a squared penalty.  w is kept as s v, so that a shrinking costs one product and not
one a column; Σ v² and Σ |v| are kept up to date, so that the penalty costs none.  One on
absolute values moves each weight towards 0 by what is due since it was last moved, and no
further (Tsuruoka, Tsujii and Ananiadou, 2009).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

SMALLEST_SCALE = 1e-9
"""Below, s is multiplied into v."""


@kernel
def shrunk(v: Floats, scale: float, shrink: float, sizes: Floats) -> float:
    """The scale after one shrinking; v takes it over where it gets small."""
    scale *= shrink
    if scale < SMALLEST_SCALE:
        for j in range(len(v)):
            v[j] *= scale
        sizes[0] *= scale * scale
        sizes[1] *= scale
        scale = 1.0
    return scale


@kernel
def put(v: Floats, j: int, value: float, sizes: Floats) -> None:
    """Write an entry of v, and keep Σ v² and Σ |v| up to date."""
    sizes[0] += value * value - v[j] * v[j]
    sizes[1] += abs(value) - abs(v[j])
    v[j] = value


@kernel
def towards_zero(value: float, scale: float, due: float, done: float) -> float:
    """An entry of v after what is due of a penalty on absolute values, less what was done."""
    if value > 0.0:
        return max(0.0, value - (due + done) / scale)
    if value < 0.0:
        return min(0.0, value + (due - done) / scale)
    return value


@kernel(
    "const float64[::1], const int64[::1], const int64[::1], const int64[::1], const int64[::1], "
    "const float64[:, ::1], const bool[::1], float64, float64, const float64[::1], bool, "
    "float64[:, ::1], float64[::1], float64[::1], float64[:, ::1], float64[::1], "
    "float64[:, ::1], int64[::1], float64[::1]"
)
def online_steps(
    data: Floats,
    indices: Integers,
    indptr: Integers,
    codes: Integers,
    positive: Integers,
    rates: Floats,
    active: NDArray[np.bool_],
    shrink: float,
    push: float,
    costs: Floats,
    fit_intercept: bool,
    v: Floats,
    intercept: Floats,
    scale: Floats,
    done: Floats,
    due: Floats,
    sizes: Floats,
    mistakes: Integers,
    loss: Floats,
) -> None:
    """One step for every row and predictor.

    Parameters
    ----------
    data, indices, indptr : rows as in a CSR matrix; no indices where they are dense
        Only columns with an entry are penalised.
    codes : (rows,)
        Number of each row's class.
    positive : (predictors,)
        The class for which a predictor is to be positive.
    rates : (predictors, 2)
        η for rows of other classes, and for rows of its own.
    active : (predictors,)
        Predictors that still learn.
    shrink, push : float
        c; and what a step adds to the penalty that is due on absolute values.
    costs : (2,)
        What Σ w² and Σ |w| cost with each row.
    fit_intercept : bool
    v : (predictors, columns), updated
    intercept, scale : (predictors,), updated
        b and s.
    done : (predictors, columns), updated
        What the penalty on absolute values has moved so far.
    due : (predictors,), updated
        What it should have moved.
    sizes : (predictors, 2), updated
        Σ v² and Σ |v|, if they cost anything.
    mistakes, loss : (predictors,), added to
        Steps that were taken; and Σ max(0, −y (w·x + b)) with the costs, as the rows met them.
    """
    penalised = costs[0] > 0.0 or costs[1] > 0.0
    dense = len(indices) == 0
    for i in range(len(indptr) - 1):
        x, at = data[indptr[i] : indptr[i + 1]], indices[indptr[i] : indptr[i + 1]]
        for k in range(len(v)):
            if not active[k]:
                continue
            w = v[k]
            z = 0.0
            if dense:
                for j in range(len(x)):
                    z += x[j] * w[j]
            else:
                for a in range(len(x)):
                    z += x[a] * w[at[a]]
            z = z * scale[k] + intercept[k]
            own = 1 if codes[i] == positive[k] else 0
            margin = z if own == 1 else -z
            if penalised:
                loss[k] += costs[0] * scale[k] * scale[k] * sizes[k, 0]
                loss[k] += costs[1] * scale[k] * sizes[k, 1]
                scale[k] = shrunk(w, scale[k], shrink, sizes[k])
            if not margin > 0.0:
                mistakes[k] += 1
                loss[k] -= margin
                step = rates[k, own] if own == 1 else -rates[k, own]
                share = step / scale[k]
                if penalised:
                    for a in range(len(x)):
                        j = a if dense else at[a]
                        put(w, j, w[j] + share * x[a], sizes[k])
                elif dense:
                    for j in range(len(x)):
                        w[j] += share * x[j]
                else:
                    for a in range(len(x)):
                        w[at[a]] += share * x[a]
                if fit_intercept:
                    intercept[k] += step
            if push > 0.0:
                due[k] += push
                for a in range(len(x)):
                    j = a if dense else at[a]
                    moved = towards_zero(w[j], scale[k], due[k], done[k, j])
                    done[k, j] += scale[k] * (moved - w[j])
                    put(w, j, moved, sizes[k])
