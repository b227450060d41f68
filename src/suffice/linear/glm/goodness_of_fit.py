"""How well a generalised linear model fits: one last pass at the fitted parameters.

    D = Σ w d(y, μ),      χ² = Σ w (y − μ)²/V(μ),      φ = χ² / (W − p)

the deviance, Pearson's statistic and the dispersion; with them the deviance of a model that has an
intercept alone, what the likelihood needs, and the information of the rows.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from suffice.fitting.files.registry import register
from suffice.fitting.regression import explained
from suffice.fitting.requests import Pass, needed
from suffice.linear.glm.loss import GeneralizedLoss
from suffice.linear.glm.responses.base import Response, by_count
from suffice.linear.glm.start import intercept_alone, mean_target, some_offsets, typical_mean
from suffice.linear.inference.laplace import Laplace, effective_parameters, smallest
from suffice.linear.solvers.line_search import Minimum, minimise_by, relative
from suffice.linear.solvers.newton import Newton, NewtonSystem
from suffice.linear.solvers.objective import Objective, ScaledColumns, Target, present
from suffice.linear.solvers.sample import FirstLook
from suffice.numerics.double_double import Array
from suffice.sources import Block, Source
from suffice.statistics.curvature import Curvature, Derivatives
from suffice.statistics.moments.full import NOTHING
from suffice.statistics.sums import Sums

T = TypeVar("T")

MOST_INFORMATION = 2048
"""Parameters up to which the information, and with it standard errors, are computed."""

NOTHING_LEFT = 1e-20
"""A deviance below this share of that of the intercept alone is rounding: the fit is perfect."""

AT_THE_BOUND = 1e-8
"""Means nearer to a bound of their domain, relative to the typical mean, count as on it."""


@dataclass(frozen=True, eq=False)
class LastPass:
    """Information of some rows, and sums over them.

    Attributes
    ----------
    curvature : Curvature
        With the expected Hessian.
    sums : Sums
        One array: weight, deviance, Pearson's χ², deviance of the null model, weight of rows
        whose mean is at a bound, base of the log likelihood.
    """

    curvature: Curvature
    sums: Sums

    @classmethod
    def merge(cls, parts: Sequence[LastPass]) -> LastPass:
        """Of all rows of the parts together."""
        curvature = Curvature.merge([part.curvature for part in parts])
        return cls(curvature, Sums.merge([part.sums for part in parts]))

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays take."""
        return self.curvature.nbytes + self.sums.nbytes


class KeepingPredictors:
    """A loss that keeps the predictors at which it is taken, chunk after chunk of one block."""

    n_predictors = 1

    def __init__(self, loss: GeneralizedLoss) -> None:
        self.loss, self.seen = loss, [np.zeros(0)]

    def __call__(self, y: Array, eta: Array, order: int) -> Derivatives:
        self.seen.append(eta[0])
        return self.loss(y, eta, order)

    def predictors(self) -> Array:
        """Of all rows."""
        return np.concatenate(self.seen)


@dataclass(frozen=True)
class NullModel:
    """A model with an intercept alone: one mean, unless there is an offset.

    Attributes
    ----------
    loss : GeneralizedLoss
    mean : float
    intercept : float, optional
        Where there is an offset.
    """

    loss: GeneralizedLoss
    mean: float
    intercept: float | None = None

    def __call__(self, target: Target) -> Array:
        """The unit deviances of a block's target."""
        if self.intercept is None:
            return by_count(self._of_the_mean, target.y)
        eta = self.intercept + np.asarray(target.offset)
        return self.loss.response.deviance_and_pearson(target.y, self.loss.link, eta)[0]

    def _of_the_mean(self, y: Array) -> Array:
        return self.loss.deviance(y, np.full(len(y), self.mean))


def last_pass(objective: Objective, parameters: Array, null: NullModel, typical: float) -> Pass:
    """The last pass over the rows.

    Parameters
    ----------
    objective : Objective
    parameters : array of shape (1, parameters)
    null : NullModel
    typical : float
        A mean that is far from the bounds.
    """
    order = 2 if parameters.size <= MOST_INFORMATION else 1
    summarize = partial(
        _last_sums, objective=objective, parameters=parameters, null=null, typical=typical,
        order=order,
    )  # fmt: skip
    return Pass("information", summarize)


def _last_sums(
    block: Block,
    objective: Objective,
    parameters: Array,
    null: NullModel,
    typical: float,
    order: int,
) -> LastPass:
    loss = objective.loss
    assert isinstance(loss, GeneralizedLoss)
    block = present(block)
    keeping = KeepingPredictors(replace(loss, expected=True))
    curvature = replace(objective, loss=keeping).summarize(block, parameters, order)
    target, eta = objective.target(block), keeping.predictors()
    base = log_base(loss.response, block, target, np.nan)
    plain = np.ones(block.n_rows) if block.weight is None else block.weight
    if target.weight is not None and not target.weight.all():
        # Rows of no trials have no predictors either.
        there = np.flatnonzero(target.weight)
        target, plain = target.of(there), plain[there]
    with np.errstate(all="ignore"):
        deviance, chi = loss.response.deviance_and_pearson(target.y, loss.link, eta)
        parts = [deviance, chi, null(target), _at_the_bound(loss, eta, AT_THE_BOUND * typical)]
    weight = target.weight
    sums = [float((part if weight is None else part * weight).sum()) for part in parts]
    return LastPass(curvature, Sums((np.array([plain.sum(), *sums, base]),)))


def _at_the_bound(loss: GeneralizedLoss, eta: Array, near: float) -> Array:
    """1 for each row whose mean is within `near` of a bound of its domain, else 0."""
    if loss.response.domain == "real" or not len(eta):
        return np.zeros(len(eta))

    def away(mu: Array) -> Array:
        return np.minimum(mu, 1 - mu) if loss.response.domain == "unit" else mu

    # Means rise or fall with the predictors: where those at both ends are inside, all are.
    if (away(loss.mean(np.array([eta.min(), eta.max()]))) >= near).all():
        return np.zeros(len(eta))
    return np.asarray(away(loss.mean(eta)) < near, dtype=np.float64)


def log_base(response: Response, block: Block, target: Target, dispersion: float) -> float:
    """The rows' share of the log likelihood that does not depend on the means."""
    if response.base_takes_dispersion and np.isnan(dispersion):
        return np.nan
    counts = np.asarray(block.y, dtype=np.float64)
    trials = counts.sum(axis=1) if counts.ndim == 2 else None
    with np.errstate(all="ignore"):
        base = response.log_base(target.y, trials, dispersion)
    return float(base.sum() if block.weight is None else base @ block.weight)


@register
@dataclass(frozen=True)
class Goodness:
    """The numbers by which a fit is judged.

    Attributes
    ----------
    weight : float
        W, the sum of the weights.
    n_parameters : float
        Parameters that the rows determine; effective ones where there is a penalty.
    deviance, null_deviance, pearson : float
    dispersion : float
        Infinite where no degrees of freedom are left to estimate it.
    base : float
        See `Response.log_base`.
    at_the_bound : float
        Weight of the rows whose mean has run into a bound of its domain.
    """

    weight: float
    n_parameters: float
    deviance: float
    null_deviance: float
    pearson: float
    dispersion: float
    base: float
    at_the_bound: float

    @classmethod
    def of(cls, response: Response, sums: Array, n_parameters: float) -> Goodness:
        """From the sums of the last pass."""
        weight, deviance, pearson, null_deviance, edge, base = (float(value) for value in sums)
        if deviance <= NOTHING_LEFT * null_deviance:
            deviance = pearson = 0.0
        left = weight - n_parameters
        # Where no degree of freedom is left over, nothing bounds the scatter.
        dispersion = pearson / left if left > 1e-9 * weight else np.inf
        if response.fixed_dispersion:
            dispersion = 1.0
        return cls(weight, n_parameters, deviance, null_deviance, pearson, dispersion, base, edge)

    @property
    def df_residual(self) -> float:
        return self.weight - self.n_parameters

    def attributes(self, log_likelihood: float) -> dict[str, float]:
        """What a model shows of it."""
        return {
            "deviance_": self.deviance,
            "null_deviance_": self.null_deviance,
            "pearson_chi2_": self.pearson,
            "dispersion_": self.dispersion,
            "df_residual_": self.df_residual,
            "log_likelihood_": log_likelihood,
            "aic_": -2 * log_likelihood + 2 * self.n_parameters,
            "bic_": -2 * log_likelihood + float(np.log(self.weight)) * self.n_parameters,
        }

    def log_likelihood(self, response: Response, profiled: bool) -> float:
        """At the fit; with `profiled`, φ is taken where a Gaussian likelihood is largest."""
        phi = self.deviance / self.weight if profiled else self.dispersion
        if not 0 < phi < np.inf:
            return np.inf if phi == 0 else np.nan
        return response.log_likelihood(self.deviance, self.base, self.weight, phi)


class Fit(NamedTuple):
    """A minimum, and what the last pass says about it."""

    found: Minimum
    laplace: Laplace | None
    goodness: Goodness


def last_passes(
    objective: Objective, found: Minimum, first_look: FirstLook, max_iter: int, polish: bool
) -> Generator[Any, Any, Fit]:
    """The last passes of a fit: the null model if it needs any, the information, the likelihood.

    With `polish` the information pays for a last step.
    """
    loss = objective.loss
    assert isinstance(loss, GeneralizedLoss)
    null = yield from _whole(_null_model(objective, loss, first_look, max_iter))
    typical = typical_mean(loss, first_look)
    at: LastPass = yield from needed(last_pass(objective, found.parameters, null, typical))
    inside = not at.sums.values[0][4]
    found, laplace, n_parameters = _polished(objective, found, at.curvature, inside, polish)
    goodness = Goodness.of(loss.response, at.sums.values[0], n_parameters)
    if loss.response.base_takes_dispersion:
        goodness = yield from _with_base(objective, loss.response, goodness)
    return Fit(_warned(found, loss.response.domain == "unit", goodness), laplace, goodness)


def _whole(method: Generator[Pass, Any, T]) -> Generator[Any, Any, T]:
    """A method that a wish to stop does not interrupt."""
    try:
        asked = next(method)
        while True:
            asked = method.send((yield from needed(asked)))
    except StopIteration as end:
        return end.value


def _null_model(
    objective: Objective, loss: GeneralizedLoss, first_look: FirstLook, max_iter: int
) -> Generator[Pass, Any, NullModel]:
    some, mean = some_offsets(objective, first_look), mean_target(first_look)
    if some is None:
        return NullModel(loss, mean)
    start = intercept_alone(loss, first_look, some)
    n_given, nothing = objective.columns.n_given, np.zeros(0)
    columns = ScaledColumns(nothing, nothing, True, np.zeros(0, dtype=np.intp), n_given)
    nowhere = np.zeros((1, 1))
    alone = replace(objective, columns=columns, l2=nowhere, l1=nowhere, attributes=None)
    found = yield from minimise_by(
        Newton(alone), np.full((1, 1), start), tol=1e-10, max_iter=max_iter, step="null model"
    )
    return NullModel(loss, mean, float(found.parameters[0, 0]))


def _polished(
    objective: Objective, found: Minimum, at: Curvature, inside: bool, polish: bool
) -> tuple[Minimum, Laplace | None, float]:
    """The minimum after a last step, which the last pass has paid for; its information.

    Rows at a bound of the domain carry no information, but they are there: only if all means
    are inside is a direction without information one that changes no predictor.
    """
    columns, parameters = objective.columns, found.parameters
    if not at.hessian.size or not np.isfinite(at.hessian).all():
        return found, None, float(parameters.size)
    information = objective.hessian(at)
    laplace = Laplace.of(information, columns)
    root = laplace.root * columns.divisor[:, None]
    if found.converged and polish:
        gradient = objective.gradient(at, parameters)
        if found.hessian is None or objective.loss.expected:  # type: ignore[attr-defined]
            step = -(root @ (root.T @ gradient[0]))[None]
        else:
            step = -NewtonSystem(found.hessian)(gradient)
        if relative(step, parameters + step) <= max(10 * found.distance, 1e-8):
            parameters = parameters + step
    if root.shape[1] < len(root) and found.rank < parameters.size and inside:
        parameters = smallest(parameters[0], information, root, columns)[None]
    found = replace(found, parameters=parameters, rank=root.shape[1])
    if objective.l2.any():
        return found, laplace, effective_parameters(at, root)
    return found, laplace, float(root.shape[1])


def _with_base(
    objective: Objective, response: Response, goodness: Goodness
) -> Generator[Any, Any, Goodness]:
    """The base of the likelihood, where it can only be summed once the dispersion is known."""
    summarize = partial(
        _base_sum, objective=objective, response=response, dispersion=goodness.dispersion
    )
    sums: Sums = yield from needed(Pass("likelihood", summarize))
    return replace(goodness, base=float(sums.values[0]))


def _base_sum(block: Block, objective: Objective, response: Response, dispersion: float) -> Sums:
    block = present(block)
    return Sums((np.array(log_base(response, block, objective.target(block), dispersion)),))


def _warned(found: Minimum, of_probabilities: bool, goodness: Goodness) -> Minimum:
    """A minimum that says so if the likelihood has no maximum."""
    perfect = of_probabilities and goodness.deviance < 1e-10 * goodness.weight
    blind = perfect or found.rank < found.parameters.size
    if not goodness.at_the_bound or (found.converged and not blind):
        return found
    note = (
        f"means of {goodness.at_the_bound:g} rows (by weight) have run into the bound of their "
        "domain: most likely the likelihood has no maximum, as with classes that a direction "
        "separates, or groups of zeros; use alpha > 0, or drop the columns that do it"
    )
    return replace(found, converged=False, notes=(*found.notes, note))


def explained_deviance(model: Any, source: Source) -> float:
    """D²: 1 less the deviance of a fitted model's predictions over that of the target's mean."""
    reader, loss = model._target_reader(), GeneralizedLoss(model.family_, model.link_)
    total, weighted = model._pass(source, reader.check).values[0]
    if not total:
        raise ValueError(NOTHING)
    mean = weighted / total

    def summarize(block: Block) -> Sums:
        block = present(block)
        target = reader(block)
        means = model._predicted(block.X), np.full(block.n_rows, mean)
        weight = np.ones(block.n_rows) if target.weight is None else target.weight
        return Sums((np.array([weight @ loss.deviance(target.y, mu) for mu in means]),))

    left, null = model._pass(source, summarize).values[0]
    return float(explained(np.array(left), np.array(null)))
