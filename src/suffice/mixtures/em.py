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
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from suffice.fitting.certificate import Certificate
from suffice.fitting.em import Ascent, ascended
from suffice.fitting.estimator import Estimator
from suffice.fitting.requests import Found, Pass, Passes, Request, needed
from suffice.mixtures.latent.half_steps import HalfStep, LatentAscent
from suffice.sources import Block, Source
from suffice.statistics.sums import Sums

Floats = NDArray[np.float64]


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
    """The fit behind `em`, whose parameters it has; the steps are in `latent.half_steps`."""

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
