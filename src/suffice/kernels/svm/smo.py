"""Sequential minimal optimisation of the dual of a support vector machine.

    minimise over β:   ½ β·Kβ + p·β     for lower ≤ β ≤ upper, Σ β = 0

With the gradient g = Kβ + p a pair (i, j) violates the conditions of a minimum if βᵢ may grow, βⱼ
may shrink and gᵢ < gⱼ.  i is the row of the least gradient; j the one for which the step along
eᵢ − eⱼ gains most, (gⱼ − gᵢ)² / (Kᵢᵢ + Kⱼⱼ − 2 Kᵢⱼ) (Fan, Chen and Lin, 2005).

Rows come in chunks of `LANES`, the last one filled up with rows that may not move.  A minimum over
floats is no vector instruction for a compiler that respects NaN, but one for each place within
the chunks is: there are as many minima as places, and a last look at these.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel

Floats = NDArray[np.float64]

LANES = 64
FAR = 1e18
"""Added to the gradient of rows that may not move that way."""

NUMBERS = (0.0, 2.0, 1e-12, FAR)
"""Constants in the type of the kernel's values: others would make a loop compute in float64."""


@kernel(
    "const float32[:, :, ::1], const float32[:, ::1], float64[:, ::1], float64[::1], "
    "const float64[::1], const float64[::1], float64, float64, int64, float32[:, :, ::1], "
    "const float32[::1], float64[::1]",
    "const float64[:, :, ::1], const float64[:, ::1], float64[:, ::1], float64[::1], "
    "const float64[::1], const float64[::1], float64, float64, int64, float64[:, :, ::1], "
    "const float64[::1], float64[::1]",
)
def minimise_pairs(
    K: Any,
    diagonal: Any,
    gradient: Floats,
    beta: Floats,
    lower: Floats,
    upper: Floats,
    middle: float,
    tol: float,
    most: int,
    work: Any,
    numbers: Any,
    outcome: Floats,
) -> int:
    """Take steps along the most violating pairs.

    Parameters
    ----------
    K : (rows, chunks, LANES)
    diagonal : (chunks, LANES)
    gradient : (chunks, LANES), changed
    beta, lower, upper : (rows,); the first is changed
    middle : float
        A number amid the gradients of rows that may move: selection looks at differences from
        it, which have more digits.
    tol : float
        Stop once no pair violates the conditions by more.
    most : int
        Steps at most.
    work : (4, chunks + 1, LANES), overwritten
    numbers : (4,)
        `NUMBERS`.
    outcome : (3,), written
        The violation; whether steps led on; the least curvature Kᵢᵢ + Kⱼⱼ − 2 Kᵢⱼ of a step,
        relative to Kᵢᵢ + Kⱼⱼ.

    Returns
    -------
    int
        Steps taken.
    """
    n, chunks = len(beta), K.shape[1]
    zero, two, tiny, far = numbers[0], numbers[1], numbers[2], numbers[3]
    grow, shrink, score = work[0], work[1], work[2]
    best, where, largest = work[3, 0], np.zeros(LANES, np.int32), work[0, chunks]
    for c in range(chunks):
        for t in range(LANES):
            row = c * LANES + t
            free = row < n
            grow[c, t] = zero if free and beta[row] < upper[row] else far
            shrink[c, t] = zero if free and beta[row] > lower[row] else -far
    steps, moved, i, j = 0, 0.0, 0, 0
    least_curvature, led_on = 1.0, 1.0
    while True:
        Ki, Kj = K[i], K[j]
        for t in range(LANES):
            best[t], largest[t], where[t] = far, -far, np.int32(0)
        for c in range(chunks):
            number = np.int32(c)
            for t in range(LANES):
                value = gradient[c, t] + moved * np.float64(Ki[c, t] - Kj[c, t])
                gradient[c, t] = value
                score[c, t] = value - middle
            for t in range(LANES):
                one = score[c, t]
                up, down = one + grow[c, t], one + shrink[c, t]
                score[c, t] = down
                lowest, place, highest = best[t], where[t], largest[t]
                below = up < lowest
                best[t] = up if below else lowest
                where[t] = number if below else place
                largest[t] = down if down > highest else highest
        least, i, most_down = far, 0, -far
        for t in range(LANES):
            row = where[t] * LANES + t
            if best[t] < least or (best[t] == least and row < i):
                least, i = best[t], row
            most_down = max(most_down, largest[t])
        violation = np.float64(most_down) - np.float64(least)
        if not violation > tol or steps >= most or led_on == 0.0:
            break
        Ki, own = K[i], diagonal[i // LANES, i % LANES]
        for t in range(LANES):
            best[t], where[t] = zero, np.int32(0)
        for c in range(chunks):
            number = np.int32(c)
            for t in range(LANES):
                apart = score[c, t] - least
                apart = apart if apart > zero else zero
                curvature = own + diagonal[c, t] - two * Ki[c, t]
                curvature = curvature if curvature > tiny else tiny
                gain = apart * apart / curvature
                highest, place = best[t], where[t]
                above = gain > highest
                best[t] = gain if above else highest
                where[t] = number if above else place
        gain, j = zero, 0
        for t in range(LANES):
            row = where[t] * LANES + t
            if best[t] > gain or (best[t] == gain and row < j):
                gain, j = best[t], row
        apart = gradient[j // LANES, j % LANES] - gradient[i // LANES, i % LANES]
        length = np.float64(own) + np.float64(diagonal[j // LANES, j % LANES])
        curvature = length - 2.0 * np.float64(Ki[j // LANES, j % LANES])
        if length != 0.0:
            least_curvature = min(least_curvature, curvature / abs(length))
        moved = apart / max(curvature, 1e-12)
        room_up, room_down = upper[i] - beta[i], beta[j] - lower[j]
        before_i, before_j = beta[i], beta[j]
        if moved >= room_up and room_up <= room_down:
            moved = room_up
            beta[i] = upper[i]
            beta[j] = lower[j] if room_up == room_down else beta[j] - moved
        elif moved >= room_down:
            moved = room_down
            beta[j] = lower[j]
            beta[i] += moved
        else:
            beta[i] += moved
            beta[j] -= moved
        if not apart > 0.0 or (beta[i] == before_i and beta[j] == before_j):
            led_on, moved = 0.0, 0.0
            beta[i], beta[j] = before_i, before_j
        grow[i // LANES, i % LANES] = zero if beta[i] < upper[i] else far
        shrink[i // LANES, i % LANES] = zero if beta[i] > lower[i] else -far
        grow[j // LANES, j % LANES] = zero if beta[j] < upper[j] else far
        shrink[j // LANES, j % LANES] = zero if beta[j] > lower[j] else -far
        steps += 1
    outcome[0], outcome[1], outcome[2] = violation, led_on, least_curvature
    return steps
