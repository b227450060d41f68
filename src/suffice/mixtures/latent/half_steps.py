"""EM in half steps: log-likelihood, the bound below it, and the divergence between.

log p(x; θ) = ELBO(q, θ) + KL(q ‖ p(z | x; θ))
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from suffice.fitting.certificate import Certificate
from suffice.fitting.em import Expected, LatentModel
from suffice.mixtures.latent.responsibilities import posterior
from suffice.sources import Block
from suffice.statistics.base import present
from suffice.statistics.sums import Sums

Floats = NDArray[np.float64]


class HalfStep(NamedTuple):
    """Where EM stands after an E step or an M step, sums over rows.

    Attributes
    ----------
    step : {"E", "M"}
    log_likelihood : float
    elbo : float
        The bound below it.
    divergence : float
        KL(q ‖ p(z | x; θ)), the rest.
    log_prior : float
        log p(θ), where there is one.
    """

    step: str
    log_likelihood: float
    elbo: float
    divergence: float
    log_prior: float = 0.0


class LatentAscent(LatentModel):
    """The parameters on their way.

    Parameters
    ----------
    fit : LatentFit
        Whose functions the model consists of.
    """

    rows, remedy = "rows", "a row is impossible under the parameters, or a value of no rows is sure"

    def __init__(self, fit: Any) -> None:
        self.fit, self.parameters, self.before = fit, fit.start, None
        self.has_before = False
        self.tol, self.max_iter = fit.tol, fit.max_iter
        self.named = "log-likelihood" if fit.log_prior is None else "log posterior"
        self.half_steps: list[HalfStep] = []

    def expect(self, block: Block) -> Expected:
        """E: sums by responsibilities; and what the last M step made of the bound."""
        weight, X = present(block.weight, block.X)
        n = len(X)
        if not n:
            return Expected(None)
        if not np.isfinite(np.asarray(X, np.float64)).all():
            raise FloatingPointError("a value that is not finite")
        counts = np.ones(n) if weight is None else weight
        joint = self._joint(X, self.parameters)
        shares, found = posterior(joint)
        bound = np.zeros(2)
        if self.has_before:
            bound = bound_and_divergence(posterior(self._joint(X, self.before))[0], joint, found)
            bound = bound @ counts
        sums = self.fit.statistic(X, (shares * counts).T)
        arrays = tuple(np.asarray(one, np.float64) for one in as_tuple(sums))
        return Expected(Sums((bound, *arrays)), float(counts @ found))

    def _joint(self, X: Any, parameters: Any) -> Floats:
        """log p(x, z; θ), of shape (values, rows)."""
        with np.errstate(divide="ignore"):
            joint = np.asarray(self.fit.log_joint(X, parameters), np.float64)
        if joint.ndim != 2 or len(joint) != len(X):
            raise ValueError(
                f"log_joint gave an array of shape {joint.shape} for {len(X)} rows: one row for "
                "each of them is expected, with a column for each latent value"
            )
        if np.isnan(joint).any() or np.isposinf(joint).any():
            raise ValueError("log_joint gave NaN or infinity: it must be a number, or −inf")
        return joint.T

    def _log_prior(self) -> float:
        return 0.0 if self.fit.log_prior is None else float(self.fit.log_prior(self.parameters))

    def objective(self, found: Expected) -> float:
        """−log-likelihood − log prior."""
        return -(found.total + self._log_prior())

    def note_m_step(self, found: Expected) -> None:
        """Write down what the last M step did, as the pass after it saw."""
        elbo, gap = found.statistic.values[0]
        row = HalfStep("M", found.total, float(elbo), float(gap), self._log_prior())
        self.half_steps.append(row)

    def maximise(self, found: Expected) -> Certificate:
        """M: the next parameters."""
        if found.statistic is None:
            raise ValueError("there are no rows")
        if self.has_before:
            self.note_m_step(found)
        total = found.total
        self.half_steps.append(HalfStep("E", total, total, 0.0, self._log_prior()))
        following = self.fit.m_step(*found.statistic.values[1:])
        self.before, self.parameters, self.has_before = self.parameters, following, True
        return Certificate(True, "the M step is the model's own", "sums", {})


def bound_and_divergence(q: Floats, joint: Floats, log_likelihood: Floats) -> Floats:
    """The ELBO and KL(q ‖ p(z | x)) of each row, from arrays of shape (values, rows)."""
    used = q > 0  # 0 · (−∞) is 0
    spread = xlogy(q, q).sum(axis=0)
    expected = np.where(used, q, 0.0) * np.where(used, joint, 0.0)
    # Not what is left of two log-likelihoods: near the end the divergence is far smaller.
    behind = np.where(used, q, 0.0) * np.where(used, joint - log_likelihood, 0.0)
    return np.stack([expected.sum(axis=0) - spread, spread - behind.sum(axis=0)])


def as_tuple(sums: Any) -> tuple[Any, ...]:
    """What a statistic consists of."""
    return sums if isinstance(sums, tuple) else (sums,)
