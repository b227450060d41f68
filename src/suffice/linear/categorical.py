"""Classes without an order as the target of a generalised linear model.

    log P(y = k | x) / P(y = r | x) = θₖ·x + bₖ      for every class k but the reference class r

The mean of such a target, a one at its class among zeros, is the vector p of the classes'
probabilities.  A model that gives every row its own class has the likelihood 1, so that

    D = −2 Σ w log p_y,      χ² = Σ w Σₖ (1[y = k] − pₖ)²/pₖ = Σ w (1 − p_y)/p_y

are the deviance and Pearson's statistic, and log L = −D/2.

Reference: Agresti, "Categorical Data Analysis" (2013), section 8.1.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.fitting.classification import labels_of
from suffice.fitting.stepwise import Pass, needed
from suffice.linear.class_likelihood import ClassLikelihood
from suffice.linear.descent import Minimum, relative
from suffice.linear.goodness import (
    AT_THE_BOUND,
    MOST_INFORMATION,
    Goodness,
    LastPass,
    warned,
)
from suffice.linear.laplace import effective_parameters, smallest
from suffice.linear.links import LINKS
from suffice.linear.losses import Softmax, of_classes
from suffice.linear.newton import Directions
from suffice.linear.objective import Objective, Target, present
from suffice.linear.responses import Categorical
from suffice.linear.survey import Survey
from suffice.linear.uncertainty import inverse_root
from suffice.numerics.double_double import Array
from suffice.sources import Block
from suffice.statistics.curvature import Curvature, predictors
from suffice.statistics.labels import codes_among
from suffice.statistics.sums import Sums

NAMES = ("categorical", "multinomial")


def is_categorical(family: Any) -> bool:
    """Whether a user asks for this family, by name or as an object."""
    return isinstance(family, Categorical) or (isinstance(family, str) and family in NAMES)


# --- the problem ---------------------------------------------------------------------------


def loss_of(model: Any, classes: NDArray[Any]) -> Softmax:
    """The loss of a model's classes, if all that the model asks for suits them."""
    if model.link not in ("default", "canonical", "logit", LINKS["logit"]):
        raise ValueError(
            f"link={model.link!r}: the classes of family='categorical' are fitted by their log "
            "odds against a reference class, which is link='logit'"
        )
    for name in ("offset", "exposure"):
        if getattr(model, name) is not None:
            raise ValueError(f"{name} is for targets of one mean, not for family='categorical'")
    if len(classes) < 2:
        raise ValueError(
            "family='categorical' needs rows of at least two classes, but the target holds only "
            f"one class: {classes.tolist()[0]!r}"
        )
    reference = model.reference_class
    return Softmax.against(classes, classes[0] if reference is None else reference)


def target_of(block: Block, classes: NDArray[Any]) -> Target:
    """The number of each row's class, as the loss takes it."""
    try:
        codes = codes_among(labels_of(block), classes)
    except KeyError as error:
        known = ", ".join(map(repr, classes[:10].tolist()))
        raise ValueError(
            f"the target holds {error}, which is no class of the fit; those are {known}"
        ) from None
    return Target(codes.astype(np.float64), block.weight)


def checked_sums(block: Block) -> Sums:
    """Sum of the weights, in the place where other families have that of the target too."""
    labels_of(block)
    return Sums((np.array([_weight(block).sum(), 0.0]),))


def first_guess(objective: Objective, survey: Survey) -> Array:
    """The log odds of the classes' shares, and no more."""
    start, loss = np.zeros(objective.shape), of_classes(objective.loss)
    if objective.columns.intercept:
        start[:, -1] = loss.fitted(_log_odds(loss, survey))
    return start


def _log_odds(loss: Any, survey: Survey) -> Array:
    logs = np.log(survey.label_weights)
    return np.asarray(logs - logs[loss.reference])


def _weight(block: Block) -> Array:
    return np.ones(block.n_rows) if block.weight is None else block.weight


# --- the last pass -------------------------------------------------------------------------


def look_back(
    objective: Objective, found: Minimum, survey: Survey, polish: bool
) -> Generator[Any, Any, tuple[Minimum, ClassLikelihood | None, Goodness]]:
    """The last pass of a fit: information and goodness, and a last step if `polish`."""
    weights = survey.label_weights
    shares = weights / weights.sum()
    at: LastPass = yield from needed(_last_pass(objective, found.parameters, shares))
    weight, deviance, pearson, at_the_bound = (float(value) for value in at.sums.values[0])
    null_deviance = -2 * float(weights @ np.log(shares))
    found, known, n_parameters = _settled(objective, found, at.curvature, weights, polish)
    if found.rank < found.parameters.size and not at_the_bound:
        found = replace(found, parameters=_smallest(objective, found.parameters, at.curvature))
    goodness = Goodness(
        weight, n_parameters, deviance, null_deviance, pearson, 1.0, 0.0, at_the_bound
    )
    return warned(found, True, goodness), known, goodness


def _last_pass(objective: Objective, parameters: Array, shares: Array) -> Pass:
    """Information, and sums of weight, deviance, Pearson's χ² and the weight at the bound."""
    order = 2 if parameters.size <= MOST_INFORMATION else 1
    columns, loss = objective.columns, of_classes(objective.loss)
    near = AT_THE_BOUND * shares[:, None]

    def summarize(block: Block) -> LastPass:
        block = present(block)
        curvature = objective.summarize(block, parameters, order)
        eta = predictors(columns.centred(block.X), parameters / columns.divisor)
        lost = loss(objective.target(block).y, eta, 0).value
        with np.errstate(over="ignore"):
            chi = np.expm1(lost)
        bounded = (loss.probabilities(eta) < near).any(axis=0)
        weight = _weight(block)
        sums = [weight.sum(), 2 * (weight @ lost), weight @ chi, weight @ bounded]
        return LastPass(curvature, Sums((np.array(sums),)))

    return Pass("information", summarize)


def _settled(
    objective: Objective, found: Minimum, at: Curvature, weights: Array, polish: bool
) -> tuple[Minimum, ClassLikelihood | None, float]:
    """The minimum after a last step, its information, and how many parameters there are."""
    columns, parameters = objective.columns, found.parameters
    if not at.hessian.size or not np.isfinite(at.hessian).all():
        return found, None, float(parameters.size)
    information = objective.hessian(at)
    known = ClassLikelihood.of(objective, information, at.loss, np.ones(len(weights)), weights)
    if found.converged and polish:
        step = -Directions(information)(objective.gradient(at, parameters))
        if relative(step, parameters + step) <= max(10 * found.distance, 1e-8):
            parameters = parameters + step
    rank = known.n_parameters
    found = replace(found, parameters=parameters, rank=rank)
    if objective.l2.any():
        root = np.vstack([part.root * columns.divisor[:, None] for part in known.laplace])
        return found, known, effective_parameters(at, root)
    return found, known, float(rank)


def _smallest(objective: Objective, parameters: Array, at: Curvature) -> Array:
    """Of all parameters with the same predictors, the smallest: class by class.

    What the rows leave open of a class's parameters is what its own part of the information does.
    """
    own = [at.hessian[k, :, k] for k in range(len(parameters))]
    pairs = zip(parameters, own, strict=True)
    return np.stack([smallest(p, h, inverse_root(h)[0], objective.columns) for p, h in pairs])


# --- predicting ----------------------------------------------------------------------------


def probabilities(model: Any, rows: Any) -> Array:
    """The probability of each class, of shape (rows, classes)."""
    eta = np.asarray(rows @ model.coef_.T + model.intercept_)
    found = model._fitted_loss().probabilities(eta.T)
    return np.ascontiguousarray(found.T)


def deviances(model: Any, block: Block) -> Sums:
    """The deviance of some rows, and the weight of each class among them."""
    block = present(block)
    y, loss = target_of(block, model.classes_).y, model._fitted_loss()
    eta = np.asarray(block.X @ model.coef_.T + model.intercept_).T
    lost, weight = loss(y, eta, 0).value, _weight(block)
    weights = np.bincount(y.astype(np.intp), weight, minlength=len(model.classes_))
    return Sums((np.array(2 * (weight @ lost)), np.asarray(weights, dtype=np.float64)))
