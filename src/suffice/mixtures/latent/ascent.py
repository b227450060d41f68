"""EM for one start of a mixture, as a latent model (`suffice.fitting.em`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.fitting.certificate import Certificate
from suffice.fitting.em import Expected, LatentModel
from suffice.mixtures.latent.responsibilities import Expectation
from suffice.sources import Block

Floats = NDArray[np.float64]

NAMES = {False: "log-likelihood", True: "classification likelihood"}
"""What soft and hard EM climb, without a prior."""


class MixtureAscent(LatentModel):
    """The parameters of a mixture on their way.

    Parameters
    ----------
    model : MixtureModel
        Whose fit this is: it knows the M step and the prior.
    components : Components
        Where EM starts.
    weights : array of shape (components,)
    total : float
        The weight of all rows.
    label : function of a block, optional
        The component of each row that has a label.
    """

    first = 0

    def __init__(
        self,
        model: Any,
        components: Any,
        weights: Floats,
        total: float,
        label: Callable[[Block], NDArray[np.intp]] | None = None,
    ) -> None:
        self.model, self.components, self.weights, self.label = model, components, weights, label
        self.hard = model.em == "hard"
        self.unit, self.tol, self.max_iter = total, model.tol, model.max_iter
        self.rows = "rows, of which some have labels" if label else "rows"
        self.remedy = model._remedy
        self.named = NAMES[self.hard] + (" times the prior" if model._has_prior() else "")
        self.climbs, self.unproved = model._climbs()

    def expect(self, block: Block) -> Expected:
        """Responsibilities, and what rows tell of each component."""
        with np.errstate(divide="ignore"):  # a component of weight 0
            logs = np.log(self.weights)
        return Expectation(self.components, logs, self.hard, self.label)(block)

    def objective(self, found: Expected) -> float:
        """−log-likelihood − log prior."""
        return -(found.total + self.model._log_prior(self.components, self.weights))

    def maximise(self, found: Expected) -> Certificate:
        """The next weights and components."""
        before = self.weights
        if "weights" not in self.model._held():
            pseudo = self.model._pseudo_rows()
            counts = np.asarray(found.statistic.weight) + pseudo
            self.weights = counts / counts.sum()
        self.components, moved = self.model._maximised(self.components, found.statistic)
        self.moved = max(moved, float(np.abs(self.weights - before).max()))
        return Certificate(True, "the last M step is a maximum", self.model._path, {})

    def learned(self) -> dict[str, Any]:
        """The parameters by their public names."""
        attributes: dict[str, Any] = self.model._attributes(self.components)
        return {"weights_": self.weights, **attributes}
