"""Naive Bayes from labelled and unlabelled rows, by expectation-maximisation.

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
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import column_or_1d

from suffice.fitting.base import OnePass, Solved
from suffice.fitting.callbacks import FitTask
from suffice.fitting.categories import is_missing
from suffice.fitting.certificate import Certificate
from suffice.fitting.classification import Classifier
from suffice.fitting.trace import Trace
from suffice.numerics.double_double import Array
from suffice.numerics.log_posterior import log_posterior
from suffice.sources import Block, Source
from suffice.sources.memory import plain_array
from suffice.statistics.labels import codes_among
from suffice.statistics.moments import Precision

EM_CONSTRAINTS: dict[str, Any] = {
    "unlabelled": "no_validation",
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left")],
}
"""Parameters that the models share."""

EM_STEP = "expectation and maximisation"
"""What the trace calls a pass over unlabelled rows."""

ROWS_AT_ONCE = 1 << 14
"""Rows, each once for every class, that are summarised at a time."""

ROUNDING = 1e-12
"""Share of the objective by which it may fall from one step to the next: it is a long sum."""


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


class SemiSupervised(Classifier, OnePass):
    """A classifier that learns from unlabelled rows too, where `unlabelled` marks them.

    Attributes
    ----------
    n_iter_ : int
        Steps of EM; 1 where every row is labelled.
    """

    unlabelled: Any = None
    max_iter: int = 100
    tol: float = 1e-6

    _maximises_likelihood: ClassVar[bool] = True
    """Whether a fit is the maximum of a likelihood, and so EM climbs."""

    def _log_prior_density(self) -> float:
        """log p(θ) of what is learned about the columns, up to a constant: of its pseudo-counts."""
        return 0.0

    def _noise_of_cells(self, rows: Any) -> Any:
        """What is added to log p(x | y = k) so that a fit is the maximum of the likelihood."""
        return 0.0

    # --- which rows are labelled ------------------------------------------------------------

    def _is_unlabelled(self, y: NDArray[Any]) -> NDArray[np.bool_]:
        """Where the labels are the marker; NaN marks what is missing, None as well."""
        marker = self.unlabelled
        if marker is None:
            return np.zeros(len(y), np.bool_)
        if is_missing(marker):
            if y.dtype.kind == "O":
                return np.fromiter(map(is_missing, y), bool, len(y))
            return np.isnan(y) if y.dtype.kind == "f" else np.zeros(len(y), np.bool_)
        if np.ndim(marker):
            raise ValueError(f"unlabelled={marker!r} is not supported: give one label")
        if y.dtype.kind == "O":
            return np.fromiter((not is_missing(v) and v == marker for v in y), bool, len(y))
        return np.broadcast_to(np.asarray(y == marker, dtype=np.bool_), y.shape[:1])

    def _training_source(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> Source:
        if y is None or self.unlabelled is None or isinstance(X, Source):
            return super()._training_source(X, y, sample_weight, reset)
        labels = plain_array(y)[0]
        if labels.ndim == 2 and labels.shape[1] == 1:
            labels = column_or_1d(labels, warn=True)
        if labels.ndim != 1 or not (marked := self._is_unlabelled(labels)).any():
            return super()._training_source(X, y, sample_weight, reset)
        if marked.all():
            raise ValueError(NO_LABELS)
        filled = labels.copy()
        filled[marked] = labels[~marked][0]
        source: Any = super()._training_source(X, filled, sample_weight, reset)
        source.y = labels
        return source

    def _labels(self, block: Block) -> NDArray[Any]:
        labels = super()._labels(block)
        if self._is_unlabelled(labels).any():
            raise ValueError(
                "unlabelled rows can be learned from in a fit alone: it has to go over all rows "
                "again and again"
            )
        return labels

    # --- what a statistic of guessed labels cannot do -----------------------------------------

    def _keeps_statistic(self, source: Source) -> bool:
        return self.unlabelled is None

    def _kept(self) -> Any:
        if EM_STEP in self.trace_.step:
            raise ValueError(
                f"{type(self).__name__} was fitted to unlabelled rows too, whose classes it "
                "guessed from all rows: it cannot be updated, merged or refitted, nor forget; fit "
                "it again"
            )
        return super()._kept()

    # --- fitting ----------------------------------------------------------------------------

    def _most_passes(self) -> int | None:
        return None if self.unlabelled is None else self.max_iter + 1

    def _learn(self, source: Source, task: FitTask) -> None:
        self.n_iter_ = 1
        if self.unlabelled is None:
            super()._learn(source, task)
            return
        exact = getattr(self, "exact", False) or self._skips_float64(source)
        precisions: tuple[Precision, ...] = ("float64", "double-double")
        if not any(_Climb(self, source, task, one).run() for one in precisions[exact:]):
            raise RuntimeError(f"{type(self).__name__} was not solved, not even in double-double")


NO_LABELS = "every row is unlabelled: at least one row with a label is needed, of each class"


class _Climb:
    """One fit by EM."""

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
        if not done and (model._log_prior() == -np.inf).any():
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
        return Step(self.model._summarize(_chosen(block, ~marked), self.precision), weight=guessed)

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
        return Step(self._guessed(_chosen(block, marked), joint[marked]), total)

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
        rises = np.diff(self.objectives[1:]) / np.maximum(np.abs(self.objectives[2:]), 1e-300)
        rise = float(max(rises.max(initial=0.0), 0.0))
        climbed = rise <= ROUNDING or not model._maximises_likelihood
        notes = list(of_solution.notes)
        if not change <= model.tol:
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


def _chosen(block: Block, rows: NDArray[np.bool_]) -> Block:
    assert block.y is not None
    weight = None if block.weight is None else block.weight[rows]
    return Block(block.X[rows], block.y[rows], weight, block.start)
