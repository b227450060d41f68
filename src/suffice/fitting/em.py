"""Expectation-maximisation, for any model whose rows have something that nobody has seen.

    maximise over the parameters θ:   Σ w log Σ_z p(x, z; θ)  +  log p(θ)

over the unseen values z: classes of unlabelled rows, components of a mixture.  From the parameters
that the model starts with, by turns:

    E   responsibilities of the values for each row,  r_z = p(z | x; θ)
    M   the model's own fit to weighted rows: to every row once for each z, with the weight w r_z

One pass makes both: it ends with the statistic from which the next θ is solved.  The sum above
never falls, since the M step is the maximum of a bound that touches it; what is minimised, and
stands in the trace, is its negative.

What a model provides says `LatentModel`; `ascended` asks for the passes, and `Ascent` tells how
far they led, and certifies it.

Reference: Dempster, Laird and Rubin, "Maximum likelihood from incomplete data via the EM
algorithm" (1977).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.fitting.certificate import Certificate
from suffice.fitting.requests import Pass, Request, StopAsked
from suffice.numerics.double_double import Array
from suffice.sources import Block

EM_STEP = "expectation and maximisation"
"""What the trace calls a pass of EM."""

ROWS_AT_ONCE = 1 << 14
"""Rows, each once for every unseen value, that are summarised at a time."""

STEPS = 1e4
"""Moves of the parameters that are tolerated, for each unit of the tolerance of the objective."""

STILL = 1e-12
"""Moves of the parameters that are rounding."""

ROUNDING = 1e-12
"""Share of the objective by which it may rise from one step to the next: it is a long sum."""


@dataclass(frozen=True, eq=False)
class Expected:
    """What a pass of EM finds.

    Attributes
    ----------
    statistic : statistic or None
        Of rows weighted by responsibilities; None where there are none.
    total : float
        The log-likelihood of all rows, under the parameters that the pass began with.
    """

    statistic: Any
    total: float = 0.0

    @classmethod
    def merge(cls, parts: Sequence[Expected]) -> Expected:
        """Those of all rows of the parts together."""
        there = [part.statistic for part in parts if part.statistic is not None]
        merged = type(there[0]).merge(there) if there else None
        return cls(merged, sum(part.total for part in parts))

    @property
    def nbytes(self) -> int:
        """Bytes that the statistic takes."""
        return int(getattr(self.statistic, "nbytes", 0))


class LatentModel(ABC):
    """A model that EM can fit, with the parameters that it starts from.

    Attributes
    ----------
    rows : str
        What the rows are, in the certificate's words.
    remedy : str
        What to do where the objective is infinite.
    max_iter : int
        Most steps.
    tol : float
        Change of the objective, in its `unit`, at which EM stops.
    named : str
        What climbs: the log posterior, the likelihood.
    climbs : bool
        Whether the M step is the maximum of a bound on it, so that it cannot fall.
    unproved : str
        What to say if that is not so.
    unit : float, or None
        What changes of the objective are divided by: the weight of the rows; None for its size.
    moved : float
        How far the last M step moved the parameters, in units of the model's own.
    first : int
        The first objective that others can be compared with, as of `Ascent`.
    """

    rows: str
    remedy: str
    max_iter: int
    tol: float
    named: str = "log posterior"
    climbs: bool = True
    unproved: str = "the model has no likelihood: that EM settles is all that is shown"
    unit: float | None = None
    moved: float = 0.0
    first: int = 1

    @abstractmethod
    def expect(self, block: Block) -> Expected:
        """E: what a block contributes, under the parameters as they are (see `soft_blocks`)."""

    @abstractmethod
    def objective(self, found: Expected) -> float:
        """−log-likelihood − log p(θ), under the same parameters."""

    @abstractmethod
    def maximise(self, found: Expected) -> Certificate | None:
        """M: set the next parameters; return what is proved, None if digits are too few."""

    def learned(self) -> dict[str, Any] | None:
        """What callbacks may see of the parameters."""
        return None


class Ascent(NamedTuple):
    """How far EM came.

    Attributes
    ----------
    objectives : list of float
        One a step, of the parameters that it began with.
    solution : Certificate or None
        What is proved about the last maximum; None if EM was stopped before its first.
    moved : float
        How far the last step moved the parameters.
    unit : float, or None
        What changes are divided by.
    first : int
        The first objective that others can be compared with: a start may know less than what
        follows, or have another prior.
    """

    objectives: list[float]
    solution: Certificate | None = None
    moved: float = 0.0
    unit: float | None = None
    first: int = 1

    @property
    def change(self) -> float:
        """The change of the objective by the last step whose end is known."""
        if len(self.objectives) < self.first + 2 or not np.isfinite(self.objectives[-1]):
            return np.inf
        before, after = self.objectives[-2:]
        return abs(after - before) / (self.unit or max(abs(after), 1e-300))

    @property
    def largest_rise(self) -> float:
        """By which share of itself the objective rose in a step, 0 if in none.

        Of an objective near 0, a sum over many rows, by which share of its unit.
        """
        found = np.asarray(self.objectives[self.first :])
        with np.errstate(invalid="ignore"):  # of values that are infinite
            rises = np.diff(found) / np.maximum(np.abs(found[1:]), self.unit or 1e-300)
        return float(rises[~np.isnan(rises)].max(initial=0.0))

    def settled(self, tol: float) -> bool:
        """Whether neither the objective nor the parameters move any more.

        Near the maximum the objective changes by the square of a step: a small tolerance asks for
        small steps too.
        """
        return self.change <= tol and self.moved <= STEPS * tol + STILL

    def certificate(self, model: LatentModel) -> Certificate:
        """What EM and the last maximum prove together."""
        assert self.solution is not None
        change, rise, notes = self.change, self.largest_rise, list(self.solution.notes)
        monotone = rise <= ROUNDING or not model.climbs
        if not np.isfinite(self.objectives[-1]):
            notes.append(f"the {model.named} is infinite: {model.remedy}")
        elif not self.settled(model.tol):
            notes.append(f"EM stopped after {len(self.objectives)} steps: raise max_iter, or tol")
        if not monotone:
            notes.append(f"the {model.named} fell in a step: too many digits are lost in it")
        if not model.climbs:
            notes.append(model.unproved)
        never = f"the {model.named} never fell, and " if model.climbs else ""
        size = "a row" if self.unit else "of itself"
        return Certificate(
            bool(self.solution.holds and monotone and self.settled(model.tol)),
            f"EM on {model.rows}: {never}the last step changed "
            f"{'it' if never else 'the scores'} by {change:.1e} {size}; {self.solution.claim}",
            f"expectation-maximisation, {self.solution.path}",
            {**self.solution.measures, "change": change, "largest_fall": rise},
            tuple(notes),
        )


def ascended(model: LatentModel) -> Generator[Request, Any, Ascent | None]:
    """Run EM; None if a maximum needs more digits than the statistics have.

    A callback may stop it after any step: the certificate tells how far it came.
    """
    ascent = Ascent([])
    try:
        for _ in range(model.max_iter):
            found = yield Pass(EM_STEP, model.expect, model.objective, learned=model.learned)
            objective = model.objective(found)
            solution = model.maximise(found)
            if solution is None:
                return None
            objectives = [*ascent.objectives, objective]
            ascent = Ascent(objectives, solution, model.moved, model.unit, model.first)
            if ascent.settled(model.tol):
                break
    except StopAsked:
        pass
    return ascent


def soft_blocks(block: Block, responsibilities: Array, values: NDArray[Any]) -> Iterator[Block]:
    """Every row once for each unseen value, which is its target, with a part of its weight.

    Parameters
    ----------
    block : Block
    responsibilities : array of shape (rows, values)
    values : array of shape (values,)

    Yields
    ------
    Block
        Of some rows at a time.
    """
    weight = responsibilities if block.weight is None else responsibilities * block.weight[:, None]
    step = max(ROWS_AT_ONCE // len(values), 1)
    for start in range(0, block.n_rows, step):
        some = weight[start : start + step]
        rows = start + np.repeat(np.arange(len(some)), len(values))
        yield Block(block.X[rows], np.tile(values, len(some)), some.ravel(), block.start)
