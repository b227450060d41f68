"""A machine for each two classes, fitted side by side on the kernel values of all rows.

Rows are sorted by class.  In the machine of the classes i < j rows of i have y = +1, those of j
y = −1; where there are two classes alone, it is the second that is +1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.engines.passes import each
from suffice.svm.margins.separability import refuse_inseparable, separable_bound
from suffice.svm.smo.dual import ROUNDED, Dual, Floats, Integers, imbalance
from suffice.svm.smo.kernel_rows import KernelRows
from suffice.svm.smo.solver import DualSolution, Solver, SolverSettings


@dataclass(frozen=True)
class Pair:
    """The machine of two classes.

    Attributes
    ----------
    classes : tuple of two ints
    rows : int array of shape (rows of the two,)
        Numbers of rows, sorted by class.
    y : float64 array of that shape
        1 and −1.
    bounds : float64 array of that shape
        C of each row; infinite for a hard margin.
    solution : DualSolution
    intercept : float
    """

    classes: tuple[int, int]
    rows: Integers
    y: Floats
    bounds: Floats
    solution: DualSolution
    intercept: float

    @property
    def beta(self) -> Floats:
        """α y of each row."""
        return self.solution.beta

    @cached_property
    def margins(self) -> Floats:
        """y f(x) of each row; the gradient is Kβ − y."""
        return self.y * (self.solution.gradient + self.y + self.intercept)

    @property
    def squared_length(self) -> float:
        """‖w‖² = β·Kβ."""
        return max(float(self.beta @ (self.solution.gradient + self.y)), 0.0)


@dataclass(frozen=True)
class Task:
    """Rows of several classes to be separated.

    Attributes
    ----------
    rows : KernelRows
        Sorted by class.
    counts : int array of shape (classes,)
        How many rows each class has.
    bounds : float64 array of shape (rows,)
    labels : array of shape (classes,)
        For messages.
    """

    rows: KernelRows
    counts: Integers
    bounds: Floats
    labels: NDArray[Any]

    @property
    def class_pairs(self) -> list[tuple[int, int]]:
        """All i < j."""
        k = len(self.counts)
        return [(i, j) for i in range(k) for j in range(i + 1, k)]

    def of_pair(self, classes: tuple[int, int]) -> tuple[Integers, Floats]:
        """The rows of two classes, and y."""
        ends = np.cumsum(self.counts)
        first, second = (np.arange(ends[c] - self.counts[c], ends[c]) for c in classes)
        sign = -1.0 if len(self.counts) == 2 else 1.0
        y = np.repeat([sign, -sign], [len(first), len(second)])
        return np.concatenate([first, second]), y


def fit_pairs(
    task: Task, settings: SolverSettings, starts: list[Floats | None] | None = None
) -> list[Pair]:
    """The machines of all pairs of classes.

    Parameters
    ----------
    task : Task
    settings : SolverSettings
    starts : list of float64 arrays or None, optional
        Where each begins; 0 by default.
    """
    pairs = task.class_pairs
    if len(pairs) > 1 and task.rows.n**2 <= settings.memory and not task.rows.given:
        task.rows.store()

    def fit(number: int, stopped: Any) -> Pair:
        start = None if starts is None else starts[number]
        return fit_pair(task, pairs[number], settings, start, stopped)

    return each(range(len(pairs)), fit, task.rows.n_jobs)


def fit_pair(
    task: Task,
    classes: tuple[int, int],
    settings: SolverSettings,
    start: Floats | None,
    stopped: Any,
) -> Pair:
    """The machine of two classes."""
    numbers, y = task.of_pair(classes)
    bounds = task.bounds[numbers]
    rows = task.rows if len(numbers) == task.rows.n else task.rows.some(numbers)
    names = tuple(task.labels[list(classes)])
    hard = bool(np.isinf(bounds).any())
    upper = bounds
    if hard:
        refuse_inseparable(rows, y, names)
        upper = np.minimum(bounds, separable_bound(rows))
    none = np.zeros(len(y))
    dual = Dual(
        rows, np.arange(rows.n), -y, np.where(y > 0, none, -upper), np.where(y > 0, upper, none)
    )
    if start is not None:
        start = within(start, y, upper)
    solution = Solver(dual, settings, stopped).solve(start)
    if hard:
        refuse_inseparable(rows, y, names, solution)
    intercept = -dual.multiplier(solution.gradient, solution.beta)
    return Pair(classes, numbers, y, bounds, solution, intercept)


def starts_from(last: dict[str, Any], classes: Any, codes: Any) -> list[Floats | None] | None:
    """The multipliers of the last fit for each pair; None if that was of other rows.

    Parameters
    ----------
    last : dict
        The attributes of the model before this fit.
    classes : array of shape (classes,)
    codes : int array of shape (rows,)
    """
    if "dual_coef_" not in last or last["shape_fit_"][0] != len(codes):
        return None
    if len(last["classes_"]) != len(classes) or (last["classes_"] != classes).any():
        return None
    table = np.zeros((len(classes) - 1, len(codes)))
    table[:, last["support_"]] = last["dual_coef_"]
    starts: list[Floats | None] = []
    for i in range(len(classes)):
        for j in range(i + 1, len(classes)):
            first, second = np.flatnonzero(codes == i), np.flatnonzero(codes == j)
            starts.append(np.append(table[j - 1, first], table[i, second]))
    return starts


def within(start: Floats, y: Floats, upper: Floats) -> Floats | None:
    """A start brought within the bounds; None if it is one of other rows."""
    there = start != 0
    if (start * y < 0).any() or not there.any() or imbalance(start) > ROUNDED:
        return None
    scale = min(1.0, float((upper[there] / np.abs(start[there])).min()))
    # At the bound rows stay at the bound, though products round.
    return np.clip(start * scale, -upper, upper)


@dataclass(frozen=True)
class SupportVectors:
    """The rows that pairs depend on, as scikit-learn lays them out.

    Attributes
    ----------
    rows : int array of shape (support vectors,)
        Numbers of rows, sorted by class.
    counts : int array of shape (classes,)
    dual_coef : float64 array of shape (classes − 1, support vectors)
        Of a vector of class i, its α y in the machines with each other class.
    intercept : float64 array of shape (pairs,)
    """

    rows: Integers
    counts: Integers
    dual_coef: Floats
    intercept: Floats

    @classmethod
    def of(cls, task: Task, pairs: list[Pair]) -> SupportVectors:
        """Gather the coefficients of all pairs."""
        k = len(task.counts)
        table = np.zeros((k - 1, task.rows.n))
        for pair in pairs:
            i, j = pair.classes
            inside = np.arange(len(pair.rows)) < task.counts[i]
            table[j - 1, pair.rows[inside]] = pair.beta[inside]
            table[i, pair.rows[~inside]] = pair.beta[~inside]
        rows = np.flatnonzero(table.any(axis=0))
        codes = np.repeat(np.arange(k), task.counts)
        counts = np.bincount(codes[rows], minlength=k)
        intercept = np.array([pair.intercept for pair in pairs])
        return cls(rows, counts, np.ascontiguousarray(table[:, rows]), intercept)


def pair_values(sums: Floats, intercept: Floats) -> Floats:
    """The decision values of all pairs, from sums apart for each class.

    Parameters
    ----------
    sums : float64 array of shape (rows, classes, classes − 1)
    intercept : float64 array of shape (pairs,)

    Returns
    -------
    float64 array of shape (rows, pairs)
    """
    k = sums.shape[1]
    pairs = [(i, j) for i in range(k) for j in range(i + 1, k)]
    columns = [sums[:, i, j - 1] + sums[:, j, i] for i, j in pairs]
    return np.column_stack(columns) + intercept


def votes(values: Floats, k: int) -> tuple[Floats, Floats]:
    """How many pairs each class wins, and the sum of its decision values, for each row."""
    won, sums = np.zeros((len(values), k)), np.zeros((len(values), k))
    number = 0
    for i in range(k):
        for j in range(i + 1, k):
            value = values[:, number]
            won[:, i] += value > 0
            won[:, j] += value <= 0
            sums[:, i] += value
            sums[:, j] -= value
            number += 1
    return won, sums


def against_the_rest(values: Floats, k: int) -> Floats:
    """One score a class: its votes, and less than half a vote by its decision values."""
    won, sums = votes(values, k)
    return won + sums / (3 * (np.abs(sums) + 1))
