"""Expectation-maximisation as a tool, for a latent model of one's own.

    log p(x; θ) = ELBO(q, θ) + KL(q ‖ p(z | x; θ)),      ELBO = Σ_z q(z) log p(x, z; θ)/q(z)

A model says how likely each value z of what nobody has seen is together with a row, what is summed
over rows, and how parameters follow from the sums:

    E   q(z) = p(z | x; θ): the divergence is 0, and the bound touches the log-likelihood
    M   θ' = argmax ELBO(q, θ): the bound rises, and a divergence opens below the log-likelihood

so that the log-likelihood never falls.  One pass makes an E step, the sums for the next M step, and
what the last M step did to bound and divergence (q of the step before is made again from its
parameters).  The loop is that of all models (`suffice.fitting.em`).

References: Dempster, Laird and Rubin (1977); Neal and Hinton, "A view of the EM algorithm that
justifies incremental, sparse, and other variants" (1998).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy
from sklearn.utils._param_validation import Interval

from suffice.fitting.certificate import Certificate
from suffice.fitting.em import Ascent, Expected, LatentModel, ascended
from suffice.fitting.estimator import Estimator
from suffice.fitting.requests import Found, Pass, Passes, Request, needed
from suffice.mixtures.latent.responsibilities import posterior
from suffice.sources import Block, Source
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


@dataclass(frozen=True, eq=False)
class EMResult:
    """What EM found.

    Attributes
    ----------
    parameters : object
        As the M step gives them.
    log_likelihood : float
        Of all rows, under these parameters.
    half_steps : list of HalfStep
        From the first E step to the last M step.
    n_iter : int
        M steps.
    certificate : Certificate
        Whether the objective never fell, and what the last steps changed.
    """

    parameters: Any
    log_likelihood: float
    half_steps: list[HalfStep]
    n_iter: int
    certificate: Certificate


def em(
    X: Any,
    log_joint: Callable[[Any, Any], Any],
    statistic: Callable[[Any, Floats], Any],
    m_step: Callable[..., Any],
    start: Any,
    *,
    sample_weight: Any = None,
    log_prior: Callable[[Any], float] | None = None,
    tol: float = 1e-6,
    max_iter: int = 100,
    n_jobs: int | None = None,
) -> EMResult:
    """Fit a latent model by EM.

    Parameters
    ----------
    X : array, data frame or Source, of shape (rows, columns)
        Read block by block: the functions see some rows at a time, on several threads.
    log_joint : function of (rows, parameters)
        log p(x, z; θ), an array of shape (rows, values): −inf where a value is impossible.
    statistic : function of (rows, responsibilities)
        What the M step needs, summed over these rows: an array, or a tuple of arrays.  The
        responsibilities, of shape (rows, values), have the rows' weights in them.
    m_step : function of the sums
        The next parameters, from what `statistic` gives, summed over all rows; each array of a
        tuple is an argument.
    start : object
        Parameters to start from.
    sample_weight : array of shape (rows,), optional
        Weights: w counts as w repetitions of the row.
    log_prior : function of parameters, optional
        log p(θ), where the M step is the maximum of a posterior.
    tol : float, default=1e-6
        Change of the log-likelihood a row at which EM stops.
    max_iter : int, default=100
        Most M steps.
    n_jobs : int, optional
        Threads; by default what `suffice.config` says.  No number of them changes a bit.

    Returns
    -------
    EMResult

    Examples
    --------
    In each row one of two coins was tossed ten times; nobody saw which.

    >>> import numpy as np
    >>> from suffice.mixtures import em
    >>> heads = np.array([[5.0], [9], [8], [4], [7]])
    >>> def log_joint(rows, p):
    ...     return np.log(0.5) + rows * np.log(p) + (10 - rows) * np.log(1 - p)
    >>> def statistic(rows, r):
    ...     return r.T @ rows[:, 0], 10 * r.sum(axis=0)
    >>> def m_step(heads, tosses):
    ...     return heads / tosses
    >>> found = em(heads, log_joint, statistic, m_step, start=np.array([0.6, 0.5]))
    >>> found.parameters.round(2), found.certificate.holds
    (array([0.8 , 0.52]), True)
    """
    model = LatentFit(log_joint, statistic, m_step, start, log_prior, tol, max_iter, n_jobs)
    model.fit(X, None, sample_weight)
    last = model.half_steps_[-1]
    return EMResult(
        model.parameters_,
        last.log_likelihood,
        model.half_steps_,
        model.n_iter_,
        model.certificate_,
    )


class LatentFit(Estimator):
    """The fit behind `em`, whose parameters it has."""

    parameters_: Any
    half_steps_: list[HalfStep]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "log_joint": [callable],
        "statistic": [callable],
        "m_step": [callable],
        "log_prior": [callable, None],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        log_joint: Any,
        statistic: Any,
        m_step: Any,
        start: Any,
        log_prior: Any = None,
        tol: float = 1e-6,
        max_iter: int = 100,
        n_jobs: int | None = None,
    ) -> None:
        self.log_joint = log_joint
        self.statistic = statistic
        self.m_step = m_step
        self.start = start
        self.log_prior = log_prior
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags

    def _passes(self, source: Source) -> Passes:
        run = LatentAscent(self)
        found = yield from needed(Pass("rows", weight_of_rows))
        run.unit = float(found.values[0])
        ascent: Ascent = yield from ascended(run)  # type: ignore[assignment]
        if ascent.solution is None:
            raise ValueError("stopped before the first step of EM")
        # One more pass tells what the last M step did.
        ascent = yield from last_half_step(run, ascent)
        learned = {
            "parameters_": run.parameters,
            "half_steps_": run.half_steps,
            "n_iter_": sum(one.step == "M" for one in run.half_steps),
        }
        return Found(learned, ascent.certificate(run))


def weight_of_rows(block: Block) -> Sums:
    """The weight of all rows."""
    weight = block.n_rows if block.weight is None else block.weight.sum()
    return Sums((np.asarray(weight, np.float64),))


def last_half_step(run: LatentAscent, ascent: Ascent) -> Generator[Request, Any, Ascent]:
    """The ascent with the objective that its last M step led to."""
    found = yield from needed(Pass("last step", run.expect, run.objective))
    run.note_m_step(found)
    return ascent._replace(objectives=[*ascent.objectives, run.objective(found)], first=0)


class LatentAscent(LatentModel):
    """The parameters on their way.

    Parameters
    ----------
    fit : LatentFit
    """

    rows, remedy = "rows", "a row is impossible under the parameters, or a value of no rows is sure"

    def __init__(self, fit: LatentFit) -> None:
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
