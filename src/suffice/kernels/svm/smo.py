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


@kernel(allocates=False)
def most_violating(
    K: Any, gradient: Floats, work: Any, places: Any, i: int, j: int, moved: float, middle: float,
    far: Any,
) -> tuple[int, Any, Any]:  # fmt: skip
    """Bring the gradient up to date after a step along eᵢ − eⱼ, and find the next i.

    Returns
    -------
    row : int
        Of the least gradient among those that may grow.
    least, largest : floats
        That gradient, and the largest among those that may shrink, less the middle.
    """
    chunks = K.shape[1]
    grow, shrink, score = work[0], work[1], work[2]
    best, largest = work[3, 0], work[0, chunks]
    for t in range(LANES):
        best[t], largest[t], places[t] = far, -far, np.int32(0)
    for c in range(chunks):
        number = np.int32(c)
        for t in range(LANES):
            value = gradient[c, t] + moved * np.float64(K[i, c, t] - K[j, c, t])
            gradient[c, t] = value
            score[c, t] = value - middle
        for t in range(LANES):
            one = score[c, t]
            up, down = one + grow[c, t], one + shrink[c, t]
            score[c, t] = down
            # All three are read before any is written: only then is this a vector loop.
            lowest, place, highest = best[t], places[t], largest[t]
            below = up < lowest
            best[t] = up if below else lowest
            places[t] = number if below else place
            largest[t] = down if down > highest else highest
    least, row, most = far, 0, -far
    for t in range(LANES):
        here = places[t] * LANES + t
        if best[t] < least or (best[t] == least and here < row):
            least, row = best[t], here
        most = max(most, largest[t])
    return row, least, most


@kernel(allocates=False)
def best_partner(
    K: Any, diagonal: Any, work: Any, places: Any, i: int, least: Any, numbers: Any
) -> int:
    """The row with which a step from the row i gains most."""
    zero, two, tiny = numbers[0], numbers[1], numbers[2]
    score, best = work[2], work[3, 0]
    own = diagonal[i // LANES, i % LANES]
    for t in range(LANES):
        best[t], places[t] = zero, np.int32(0)
    for c in range(K.shape[1]):
        number = np.int32(c)
        for t in range(LANES):
            apart = score[c, t] - least
            apart = apart if apart > zero else zero
            curvature = own + diagonal[c, t] - two * K[i, c, t]
            curvature = curvature if curvature > tiny else tiny
            gain = apart * apart / curvature
            highest, place = best[t], places[t]
            above = gain > highest
            best[t] = gain if above else highest
            places[t] = number if above else place
    most, row = zero, 0
    for t in range(LANES):
        here = places[t] * LANES + t
        if best[t] > most or (best[t] == most and here < row):
            most, row = best[t], here
    return row


@kernel(allocates=False)
def take_step(beta: Floats, lower: Floats, upper: Floats, i: int, j: int, moved: float) -> float:
    """Move βᵢ up and βⱼ down, as far as their bounds allow; how far that is."""
    room_up, room_down = upper[i] - beta[i], beta[j] - lower[j]
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
    return moved


@kernel(allocates=False)
def mark(
    work: Any, beta: Floats, lower: Floats, upper: Floats, row: int, zero: Any, far: Any
) -> None:
    """Note whether a row may grow, and whether it may shrink."""
    c, t = row // LANES, row % LANES
    free = row < len(beta)
    work[0, c, t] = zero if free and beta[row] < upper[row] else far
    work[1, c, t] = zero if free and beta[row] > lower[row] else -far


@kernel(
    "const float32[:, :, ::1], const float32[:, ::1], float64[:, ::1], float64[::1], "
    "const float64[::1], const float64[::1], float64, float64, int64, float32[:, :, ::1], "
    "int32[::1], const float32[::1], float64[::1]",
    "const float64[:, :, ::1], const float64[:, ::1], float64[:, ::1], float64[::1], "
    "const float64[::1], const float64[::1], float64, float64, int64, float64[:, :, ::1], "
    "int32[::1], const float64[::1], float64[::1]",
    allocates=False,
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
    places: Any,
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
    places : (LANES,), overwritten
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
    zero, far = numbers[0], numbers[3]
    for row in range(K.shape[1] * LANES):
        mark(work, beta, lower, upper, row, zero, far)
    steps, moved, i, j = 0, 0.0, 0, 0
    least_curvature, led_on = 1.0, 1.0
    while True:
        i, least, largest = most_violating(K, gradient, work, places, i, j, moved, middle, far)
        violation = np.float64(largest) - np.float64(least)
        if not violation > tol or steps >= most or led_on == 0.0:
            break
        j = best_partner(K, diagonal, work, places, i, least, numbers)
        a, b, c, d = i // LANES, i % LANES, j // LANES, j % LANES
        apart = gradient[c, d] - gradient[a, b]
        length = np.float64(diagonal[a, b]) + np.float64(diagonal[c, d])
        curvature = length - 2.0 * np.float64(K[i, c, d])
        if length != 0.0:
            least_curvature = min(least_curvature, curvature / abs(length))
        before_i, before_j = beta[i], beta[j]
        if apart > 0.0:
            moved = take_step(beta, lower, upper, i, j, apart / max(curvature, 1e-12))
        if not apart > 0.0 or (beta[i] == before_i and beta[j] == before_j):
            led_on, moved = 0.0, 0.0
        mark(work, beta, lower, upper, i, zero, far)
        mark(work, beta, lower, upper, j, zero, far)
        steps += 1
    outcome[0], outcome[1], outcome[2] = violation, led_on, least_curvature
    return steps
