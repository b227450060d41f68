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

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from suffice.fitting.certificate import Certificate
from suffice.fitting.one_pass import Solved
from suffice.fitting.requests import Found, Pass, Request, StopAsked, needed
from suffice.numerics.double_double import Array
from suffice.numerics.log_posterior import log_posterior
from suffice.sources import Block
from suffice.sources.derived.subset import rows_of
from suffice.statistics.counts.labels import codes_among
from suffice.statistics.moments.full import Precision

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
    precision : {"float64", "double-double"}
        Of the statistics.
    """

    def __init__(self, model: Any, precision: Precision) -> None:
        self.model, self.precision, self.final = model, precision, precision == "double-double"
        self.objectives = list[float]()

    def run(self) -> Generator[Request, Any, Found | None]:
        """Fit; None if the precision was not enough."""
        model = self.model
        first = Pass("labelled rows", self._of_labelled, learned=model._fitted_attributes)
        labelled: Step = yield from needed(first)
        if labelled.statistic is None:
            raise ValueError(NO_LABELS)
        statistic = labelled.statistic
        solved: Solved | None = model._solve(statistic, self.final)
        if solved is None:
            return None
        done = labelled.weight == 0
        # 0 is right for a class that was declared, but has no labelled row.
        impossible = (model._log_prior() == -np.inf) & (model.class_count_ > 0)
        if not done and impossible.any():
            raise ValueError(
                "class_prior is 0 for a class that labelled rows have: there is no likelihood to "
                "climb; leave these rows out, or give the class a share"
            )
        if done:
            return Found({"statistics_": statistic}, *solved)
        steps = 0
        try:
            while not done and steps < model.max_iter:
                self.classes = model.classes_
                step = yield Pass(
                    EM_STEP, self._of_block, self._objective, learned=model._fitted_attributes
                )
                statistic = type(statistic).merge([labelled.statistic, step.statistic])
                solved = model._solve(statistic, self.final)
                if solved is None:
                    return None
                steps += 1
                done = self._change() <= model.tol
        except StopAsked:
            pass  # a callback has seen enough; the certificate tells how far EM came
        learned = {"statistics_": statistic, "n_iter_": max(steps, 1)}
        proof = self._certificate(solved.certificate) if steps else solved.certificate
        return Found(learned, proof)

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
