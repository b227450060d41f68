"""Passes of the perceptron, until its predictors stop, and what is proved about them then."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.engines.passes import map_rows
from suffice.fitting.certificate import Certificate
from suffice.fitting.requests import Fold, Pass, StopAsked, at_will, needed
from suffice.linear.solvers.perceptron_rule import PerceptronRule, Separation, Weights
from suffice.numerics.double_double import Array
from suffice.sources import Block, Source
from suffice.sources.derived.subset import SubsetSource
from suffice.statistics.sums import Sums


class Trained(NamedTuple):
    """Where the passes ended.

    Attributes
    ----------
    weights : Weights
    epochs : int
        Passes in which the weights could change.
    updates : int array of shape (predictors,)
        Steps taken.
    ended : str
        Why, in words.
    """

    weights: Weights
    epochs: int
    updates: NDArray[np.int64]
    ended: str


@dataclass(frozen=True, eq=False)
class Training:
    """How the rows are gone through, and when to stop.

    Attributes
    ----------
    rule : PerceptronRule
    batch : bool
        One step a pass, instead of one a row.
    seed : int, optional
        Of the order of the rows; without, as in the source.
    epochs : int
        Most passes.
    tol : float, optional
        Progress that keeps a predictor going; without, only steps do.
    patience : int
        Passes without progress after which a predictor stops.
    source : Source
        The rows to learn from.
    held : Source, optional
        Rows to judge progress by, instead of the loss.
    n_rows : int
    classes : array
        The labels, in their order.
    """

    rule: PerceptronRule
    batch: bool
    seed: int | None
    epochs: int
    tol: float | None
    patience: int
    source: Source
    held: Source | None
    n_rows: int
    classes: NDArray[Any]

    def attributes(self, weights: Weights) -> dict[str, Any]:
        """What predictions are made of, by its names in a model."""
        return {"classes_": self.classes, "coef_": weights.coef, "intercept_": weights.intercept}

    def run(self, weights: Weights) -> Generator[Pass | Fold, Any, Trained]:
        """Pass after pass, until every predictor has stopped."""
        best, waited = np.full(len(weights.v), np.inf), np.zeros(len(weights.v), int)
        updates, done, ended = np.zeros(len(weights.v), np.int64), 0, "max_iter was reached"
        tol = -np.inf if self.tol is None else self.tol
        try:
            while done < self.epochs and weights.active.any():
                weights = yield from self._epoch(weights, done)
                updates, done = updates + weights.mistakes, done + 1
                if not (np.isfinite(weights.v).all() and np.isfinite(weights.intercept).all()):
                    raise ValueError("the weights left float64's range: rescale the columns")
                value = weights.loss / self.n_rows
                if self.held is not None:
                    value = yield from self._error(weights, self.held)
                waited = np.where(value > best - tol, waited + 1, 0)
                best = np.minimum(best, value)
                # Where nothing moved a predictor, and no penalty does, nothing ever will.
                still = (weights.mistakes == 0) & (self.rule.l1 == self.rule.l2 == 0)
                weights.active = weights.active & ~still & (waited < self.patience)
            if not weights.active.any():
                ended = "the loss fell no further"
        except StopAsked:
            ended = "a callback stopped the fit"
        return Trained(weights, done, updates, ended)

    def _epoch(self, weights: Weights, epoch: int) -> Generator[Pass | Fold, Any, Weights]:
        ask = at_will if epoch else needed
        after: Weights

        def learned() -> dict[str, Any]:
            return self.attributes(after)

        if self.batch:
            summarize = partial(self.rule.wrong, weights=weights)
            sums: Sums = yield from ask(
                Pass(
                    "batch step",
                    summarize,
                    lambda sums: float(sums.values[3].sum()) / self.n_rows,
                    self.source,
                    learned,
                )
            )
            after = self.rule.batch(weights, sums)
        else:
            after = yield from ask(
                Fold(
                    "epoch",
                    self.rule.online,
                    weights.fresh(),
                    None if self.seed is None else [self.seed, epoch],
                    lambda state: float(state.loss.sum()) / self.n_rows,
                    self.source,
                    learned,
                )
            )
        return after

    def _error(self, weights: Weights, held: Source) -> Generator[Pass | Fold, Any, Array]:
        """The share of held-out rows on the wrong side of each predictor."""
        summarize = partial(self.rule.judge, coef=weights.coef, intercept=weights.intercept)
        found: Separation = yield from needed(Pass("held out", summarize, source=held))
        return np.asarray(found.mistakes / max(found.count, 1))


def split(
    source: Source, rule: PerceptronRule, share: float, seed: int, n_jobs: int | None
) -> tuple[Source, Source]:
    """The rows to learn from, and a share of every class in every block to judge by."""
    mask = map_rows(source, partial(_held_out, rule, share, seed), n_jobs)
    if not mask.any() or mask.all():
        raise ValueError(
            f"validation_fraction={share} of these rows leaves none to "
            f"{'learn from' if mask.all() else 'judge by'}: change it, or use early_stopping=False"
        )
    return SubsetSource(source, ~mask), SubsetSource(source, mask)


def _held_out(rule: PerceptronRule, share: float, seed: int, block: Block) -> NDArray[np.bool_]:
    """A share of the rows of each class, drawn by the block's place."""
    codes = rule.codes(block)
    draws = np.random.default_rng([seed, block.start]).permutation(block.n_rows)
    order = draws[np.argsort(codes[draws], kind="stable")]
    sizes = np.bincount(codes)
    rank = np.arange(len(codes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    mask = np.zeros(len(codes), dtype=np.bool_)
    mask[order] = rank < np.round(share * np.repeat(sizes, sizes))
    return mask


def certificate(
    learned: dict[str, Any],
    found: Separation,
    updates: NDArray[np.int64] | None,
    fit_intercept: bool,
    way: str,
    ended: str,
) -> Certificate:
    """What is proved about a boundary.

    Parameters
    ----------
    learned : dict
        The fitted attributes.
    found : Separation
        How the training rows lie.
    updates : int array of shape (predictors,), optional
        Steps taken, where Novikoff's bound is for them.
    fit_intercept : bool
    way : str
        The rule that was followed.
    ended : str
        Why the passes ended, if rows are left on the wrong side.
    """
    parts = [learned["coef_"], learned["intercept_"][:, None]][: 1 + fit_intercept]
    lengths = np.linalg.norm(np.hstack(parts), axis=1)
    margins = found.margin / np.where(lengths > 0, lengths, 1.0)
    wrong, radius = int(found.mistakes.sum()), float(np.sqrt(found.size))
    measures = {"mistakes": float(wrong), "margin": float(margins.min()), "radius": radius}
    path = f"{way}, {learned['n_iter_']} passes"
    if wrong == 0:
        claim = f"every training row is on its side, {margins.min():.3g} or more from the boundary"
        if updates is not None:
            # The predictor that came closest to Novikoff's bound.
            bounds = (radius / margins) ** 2
            k = int(np.argmax(updates / bounds))
            measures |= {"updates": float(updates[k]), "bound": float(bounds[k])}
        return Certificate(True, claim, path, measures)
    claim = "every training row is on its side"
    of = f"{found.count} rows" if len(lengths) == 1 else f"{found.count} × {len(lengths)} sides"
    note = (
        f"{wrong} of {of} are wrong when {ended or 'the passes ended'}: the classes are not known "
        "to be separable, and on rows that are not the perceptron never settles; raise max_iter "
        "with tol=None to look longer, or use LogisticRegression"
    )
    return Certificate(False, claim, path, measures, (note,))
