"""Expectation-maximisation over labelled and unlabelled rows.

    maximise over the parameters θ:   Σ w log p(x, y; θ)  +  Σ w log Σₖ p(x, y = k; θ)  +  log p(θ)
                                      labelled rows          unlabelled rows

from the model of the labelled rows alone, by turns:

    E   responsibilities of the classes for each unlabelled row,  rₖ = p(y = k | x; θ)
    M   the model's own fit, to the labelled rows and to every unlabelled row once for each class,
        with the weight w rₖ

One pass makes both: it ends with the statistic from which the next θ is solved.  The sum
above never falls, since the M step is the maximum of a bound that touches it: smoothing by
pseudo-counts is the prior p(θ) of that maximum.  The ε in the variances u of Gaussians is noise of
the cells, in the mean over which each has the log-density log N(x; θ, u) − ε/2u: u = v + ε is the
maximum of these, and EM goes by them.

Nothing here knows what the columns hold: it works for every model that fits weighted rows.

Reference: Nigam, McCallum, Thrun and Mitchell, "Text classification from labeled and unlabeled
documents using EM" (2000).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import logsumexp

from suffice.fitting.base import Solved
from suffice.fitting.callbacks import FitTask
from suffice.fitting.certificate import Certificate
from suffice.fitting.trace import Trace
from suffice.numerics.double_double import Array
from suffice.numerics.log_posterior import log_posterior
from suffice.sources import Block, Source
from suffice.sources.subset import rows_of
from suffice.statistics.labels import codes_among
from suffice.statistics.moments import Precision

EM_STEP = "expectation and maximisation"
"""What the trace calls a pass over unlabelled rows."""

ROWS_AT_ONCE = 1 << 14
"""Rows, each once for every class, that are summarised at a time."""

ROUNDING = 1e-12
"""Share of the objective by which it may fall from one step to the next: it is a long sum."""

NO_LABELS = "every row is unlabelled: at least one row with a label is needed, of each class"


@dataclass(frozen=True, eq=False)
class Step:
    """What a pass of EM finds.

    Attributes
    ----------
    statistic : statistic or None
        Of the rows of one kind, labelled or not; None where there are none.
    log_likelihood : float
        Of all rows, under the parameters that the pass began with.
    weight : float
        Of the unlabelled rows.
    """

    statistic: Any
    log_likelihood: float = 0.0
    weight: float = 0.0

    @classmethod
    def merge(cls, parts: Sequence[Step]) -> Step:
        """Those of all rows of the parts together."""
        there = [part.statistic for part in parts if part.statistic is not None]
        return cls(
            type(there[0]).merge(there) if there else None,
            sum(part.log_likelihood for part in parts),
            sum(part.weight for part in parts),
        )

    @property
    def nbytes(self) -> int:
        """Bytes that the statistic takes."""
        return int(getattr(self.statistic, "nbytes", 0))


class Climb:
    """One fit by EM.

    Parameters
    ----------
    model : SemiSupervised
    source : Source
        Labelled and unlabelled rows.
    task : FitTask
    precision : {"float64", "double-double"}
        Of the statistics.
    """

    def __init__(self, model: Any, source: Source, task: FitTask, precision: Precision) -> None:
        self.model, self.source, self.task, self.precision = model, source, task, precision
        self.trace, self.objectives = Trace(), list[float]()

    def run(self) -> bool:
        """Fit; return whether the precision was enough."""
        model = self.model
        labelled = self._pass("labelled rows", self._of_labelled, lambda step: float("nan"))
        if labelled.statistic is None:
            raise ValueError(NO_LABELS)
        statistic = labelled.statistic
        solved: Solved | None = model._solve(statistic)
        if solved is None:
            return False
        done = labelled.weight == 0
        # 0 is right for a class that was declared, but has no labelled row.
        impossible = (model._log_prior() == -np.inf) & (model.class_count_ > 0)
        if not done and impossible.any():
            raise ValueError(
                "class_prior is 0 for a class that labelled rows have: there is no likelihood to "
                "climb; leave these rows out, or give the class a share"
            )
        if done:
            self.trace = replace(self.trace, objective=(float(solved.objective),))
        steps = 0
        while not done and steps < model.max_iter:
            self.classes = model.classes_
            step = self._pass(EM_STEP, self._of_block, self._objective)
            statistic = type(statistic).merge([labelled.statistic, step.statistic])
            solved = model._solve(statistic)
            if solved is None:
                return False
            steps += 1
            done = self._stopped or self._change() <= model.tol
        self._adopt(statistic, solved, steps)
        return True

    def _pass(
        self, name: str, summarize: Callable[[Block], Step], objective: Callable[[Step], float]
    ) -> Step:
        began = time.perf_counter()
        with self.task.one_pass(lambda: self.model._fitted_attributes()) as outcome:
            step: Step = self.model._pass(self.source, summarize)
        self._stopped = outcome.stop
        self.trace = self.trace.extended(name, objective(step), time.perf_counter() - began)
        return step

    def _of_labelled(self, block: Block) -> Step:
        """The statistic of the labelled rows of a block, and the weight of the others."""
        assert block.y is not None
        marked = self.model._is_unlabelled(block.y)
        weight = np.ones(block.n_rows) if block.weight is None else block.weight
        guessed = float(weight[marked].sum())
        if not marked.any():
            return Step(self.model._summarize(block, self.precision))
        if not (weight[~marked] > 0).any():
            return Step(None, weight=guessed)
        labelled = rows_of(block, ~marked, block.start)
        return Step(self.model._summarize(labelled, self.precision), weight=guessed)

    def _of_block(self, block: Block) -> Step:
        """The likelihood of all rows, and the statistic of the unlabelled ones, by class."""
        assert block.y is not None
        marked = self.model._is_unlabelled(block.y)
        weight = np.ones(block.n_rows) if block.weight is None else block.weight
        marked = marked & (weight > 0)
        labelled = ~marked & (weight > 0)
        joint = self.model._joint(block.X) + self.model._noise_of_cells(block.X)
        classes = codes_among(block.y[labelled], self.classes)
        known = joint[np.flatnonzero(labelled), classes]
        total = float(weight[labelled] @ known)
        if not marked.any():
            return Step(None, total)
        total += float(weight[marked] @ logsumexp(joint[marked], axis=1))
        return Step(self._guessed(rows_of(block, marked, block.start), joint[marked]), total)

    def _guessed(self, block: Block, joint: Array) -> Any:
        """The statistic of rows that belong to each class by a share."""
        shares = np.exp(log_posterior(joint))
        weight = shares if block.weight is None else shares * block.weight[:, None]
        k = len(self.classes)
        step = max(ROWS_AT_ONCE // k, 1)
        parts = []
        for start in range(0, block.n_rows, step):
            some = weight[start : start + step]
            rows = start + np.repeat(np.arange(len(some)), k)
            labels = np.tile(self.classes, len(some))
            mine = Block(block.X[rows], labels, some.ravel(), block.start)
            parts.append(self.model._summarize(mine, self.precision))
        return type(parts[0]).merge(parts)

    def _objective(self, step: Step) -> float:
        model = self.model
        learned = model.fit_prior and model._given_prior(len(model.classes_)) is None
        pseudo = model.prior_alpha * model._log_prior() if learned and model.prior_alpha else 0.0
        value = -(step.log_likelihood + float(np.sum(pseudo)) + model._log_prior_density())
        self.objectives.append(value)
        return value

    def _change(self) -> float:
        """The relative change of the objective by the last step whose end is known."""
        # The model of the labelled rows alone may know fewer categories, or another ε.
        if len(self.objectives) < 3:
            return np.inf
        before, after = self.objectives[-2:]
        if not np.isfinite(after):
            return np.inf
        return abs(after - before) / max(abs(after), 1e-300)

    def _adopt(self, statistic: Any, solved: Solved, steps: int) -> None:
        model = self.model
        model.trace_, model.statistics_ = self.trace, statistic
        model.certificate_ = solved.certificate
        if steps:
            model.n_iter_ = steps
            model.certificate_ = self._certificate(solved.certificate)

    def _certificate(self, of_solution: Certificate) -> Certificate:
        model, change = self.model, self._change()
        with np.errstate(invalid="ignore"):  # of values that are infinite
            rises = np.diff(self.objectives[1:]) / np.maximum(np.abs(self.objectives[2:]), 1e-300)
        rise = float(rises[~np.isnan(rises)].max(initial=0.0))
        climbed = rise <= ROUNDING or not model._maximises_likelihood
        notes = list(of_solution.notes)
        if not np.isfinite(self.objectives[-1]):
            notes.append("the log posterior is infinite: give alpha, so that all is possible")
        elif not change <= model.tol:
            notes.append(f"EM stopped after {len(self.objectives)} steps: raise max_iter, or tol")
        if not climbed:
            notes.append("the log posterior fell in a step: too many digits are lost in it")
        if not model._maximises_likelihood:
            notes.append("the model has no likelihood: that EM settles is all that is shown")
        never = "the log posterior never fell, and " if model._maximises_likelihood else ""
        return Certificate(
            bool(of_solution.holds and climbed and change <= model.tol),
            f"EM on labelled and unlabelled rows: {never}the last step changed "
            f"{'it' if never else 'the scores'} by {change:.1e} of itself; {of_solution.claim}",
            f"expectation-maximisation, {of_solution.path}",
            {**of_solution.measures, "change": change, "largest_fall": rise},
            tuple(notes),
        )
