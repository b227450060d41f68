"""Rows without a label: how a naive Bayes model learns from them by EM.

    maximise over the parameters θ:   Σ w log p(x, y; θ)  +  Σ w log Σₖ p(x, y = k; θ)  +  log p(θ)
                                      labelled rows          unlabelled rows

from the model of the labelled rows alone (`suffice.fitting.em`).  Smoothing by pseudo-counts is the
prior p(θ).  The ε in the variances u of Gaussians is noise of the cells, in the mean over which
each has the log-density log N(x; θ, u) − ε/2u: u = v + ε is the maximum of these, and EM goes
by them.

Reference: Nigam, McCallum, Thrun and Mitchell, "Text classification from labeled and unlabeled
documents using EM" (2000).
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from suffice.fitting.certificate import Certificate
from suffice.fitting.em import Expected, LatentModel, ascended, soft_blocks
from suffice.fitting.requests import Found, Pass, Request, needed
from suffice.fitting.unlabelled import NO_LABELS, are_unlabelled
from suffice.numerics.double_double import Array
from suffice.numerics.log_posterior import log_posterior
from suffice.sources import Block
from suffice.sources.derived.subset import rows_of
from suffice.statistics.counts.labels import codes_among
from suffice.statistics.moments.full import Precision


class GuessedLabels(LatentModel):
    """A naive Bayes model whose unlabelled rows have each class by a share: a `LatentModel`.

    Parameters
    ----------
    model : NaiveBayes
    precision : {"float64", "double-double"}
        Of the statistics.
    """

    rows = "labelled and unlabelled rows"
    remedy = "give alpha, so that all is possible"

    def __init__(self, model: Any, precision: Precision) -> None:
        self.model, self.precision = model, precision
        self.max_iter, self.tol, self.climbs = model.max_iter, model.tol, model._has_likelihood

    def learned(self) -> dict[str, Any] | None:
        """What callbacks may see of the parameters."""
        found: dict[str, Any] | None = self.model._fitted_attributes()
        return found

    def passes(self) -> Generator[Request, Any, Found | None]:
        """The fit; None if the precision was not enough."""
        model = self.model
        first = Pass("labelled rows", self._of_labelled, learned=self.learned)
        found: Expected = yield from needed(first)
        if found.statistic is None:
            raise ValueError(NO_LABELS)
        self.labelled = self.statistic = found.statistic
        solved = model._solve(self.labelled, self.precision == "double-double")
        if solved is None or found.total == 0:
            return solved and Found({"statistics_": self.statistic}, *solved)
        # 0 is right for a class that was declared, but has no labelled row.
        if ((model._log_prior() == -np.inf) & (model.class_count_ > 0)).any():
            raise ValueError(
                "class_prior is 0 for a class that labelled rows have: there is no likelihood to "
                "climb; leave these rows out, or give the class a share"
            )
        ascent = yield from ascended(self)
        if ascent is None:
            return None
        proof = ascent.certificate(self) if ascent.solution else solved.certificate
        steps = max(len(ascent.objectives), 1)
        return Found({"statistics_": self.statistic, "n_iter_": steps}, proof)

    def _of_labelled(self, block: Block) -> Expected:
        """The statistic of the labelled rows of a block, and in total the weight of the others."""
        marked, weight = self._marked(block)
        guessed = float(weight[marked].sum())
        if not marked.any():
            return Expected(self.model._summarize(block, self.precision))
        if not (weight[~marked] > 0).any():
            return Expected(None, guessed)
        labelled = rows_of(block, ~marked, block.start)
        return Expected(self.model._summarize(labelled, self.precision), guessed)

    def _marked(self, block: Block) -> tuple[NDArray[np.bool_], Array]:
        """Which rows have no label, and the weights of all."""
        assert block.y is not None
        weight = np.ones(block.n_rows) if block.weight is None else block.weight
        return are_unlabelled(block.y, self.model.unlabelled), weight

    def expect(self, block: Block) -> Expected:
        """The log-likelihood of all rows, and the statistic of the unlabelled ones, by class."""
        model, (marked, weight) = self.model, self._marked(block)
        marked, labelled = marked & (weight > 0), ~marked & (weight > 0)
        joint = model._joint(block.X) + model._noise_of_cells(block.X)
        assert block.y is not None
        known = joint[np.flatnonzero(labelled), codes_among(block.y[labelled], model.classes_)]
        total = float(weight[labelled] @ known)
        if not marked.any():
            return Expected(None, total)
        total += float(weight[marked] @ logsumexp(joint[marked], axis=1))
        shares = np.exp(log_posterior(joint[marked]))
        guessed = soft_blocks(rows_of(block, marked, block.start), shares, model.classes_)
        parts = [model._summarize(mine, self.precision) for mine in guessed]
        return Expected(type(parts[0]).merge(parts), total)

    def objective(self, found: Expected) -> float:
        """−log-likelihood − log p(θ), of the classes' prior and of the columns."""
        model = self.model
        learned = model.fit_prior and model._given_prior(len(model.classes_)) is None
        pseudo = model.prior_alpha * model._log_prior() if learned and model.prior_alpha else 0.0
        return -(found.total + float(np.sum(pseudo)) + model._log_prior_density())

    def maximise(self, found: Expected) -> Certificate | None:
        """The model's own fit to the labelled rows and to the guessed ones."""
        self.statistic = type(self.labelled).merge([self.labelled, found.statistic])
        solved = self.model._solve(self.statistic, self.precision == "double-double")
        return solved and solved.certificate
