"""A binary model for each of several targets, over the same rows.

Each problem is the source with its target mapped to 1 for the rows of one class and 0 for all
others.  Models whose fits ask for passes (`suffice.fitting.requests`) share the readings: a
block is read once and summarised for each of them.  Other models of the library are fitted one
after the other, and those of other libraries are given arrays.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from suffice.engines.passes import map_rows
from suffice.fitting.callbacks import is_watched
from suffice.fitting.certificate import Certificate
from suffice.fitting.driver import delegated
from suffice.fitting.estimator import Estimator
from suffice.fitting.requests import Request
from suffice.fitting.shared_passes import RunningFit, in_step
from suffice.fitting.trace import Trace
from suffice.linear.solvers.choose import MOST_HESSIAN
from suffice.linear.solvers.sample import ROWS_PER_PARAMETER, SAMPLED_ROWS
from suffice.sources import ArraySource, Block, FrameSource, Source, SparseSource
from suffice.sources.derived.relabelled import RelabelledSource

MOST_NAMED = 3
"""Classes without a proof that a certificate tells about one by one."""

MEMORY = 1 << 28
"""Bytes that the fits which share a reading may take together."""

FILLED = 0.1
"""Share of the cells of sparse rows that are reckoned with."""

Labels = NDArray[Any]


def is_label(y: Labels, label: Any) -> NDArray[np.int64]:
    """1 for the rows of a class, 0 for all others."""
    return np.asarray(y == label).astype(np.int64)


def steps(model: Any) -> list[Any]:
    """The steps of a pipeline; a model by itself is its only step."""
    return [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]


def reads_sources(model: Any) -> bool:
    """Whether a model is fitted from a source: one of this library, or a pipeline of such."""
    return all(type(step).__module__.startswith("suffice.") for step in steps(model))


# --- fitting ------------------------------------------------------------------------------


def fit_each(
    models: Sequence[Any], source: Source, labels: Labels, watched: bool
) -> Generator[Request, Any, Trace]:
    """Fit each model to tell one class from the rest, as a part of the fit to all classes.

    Parameters
    ----------
    models : sequence of estimators
        Unfitted and all alike, one for each label.
    source : Source
    labels : array of shape (models,)
    watched : bool
        Whether callbacks are to be told about every pass of every model.

    Returns
    -------
    The steps that were not asked for one by one.
    """
    problems = [RelabelledSource(source, partial(is_label, label=label)) for label in labels]
    if not reads_sources(models[0]):
        learn_arrays("fit", models, source, labels)
    elif not watched and all(map(_can_share, models)):
        _fit_in_step(models, problems, source)
    elif all(isinstance(model, Estimator) for model in models) and not any(map(is_watched, models)):
        for model, problem, label in zip(models, problems, labels.tolist(), strict=True):
            # What is not proved is told once, by the model of all classes.
            yield from delegated(model, problem, f"{label}: " if watched else None)
        if watched:
            return Trace()
    else:
        for model, problem in zip(models, problems, strict=True):
            model.fit(problem)
    return joint_trace(models, labels)


def partial_fit_each(models: Sequence[Any], source: Source, labels: Labels) -> None:
    """`fit_each` with further rows."""
    if not reads_sources(models[0]):
        learn_arrays("partial_fit", models, source, labels, classes=[0, 1])
        return
    for model, label in zip(models, labels, strict=True):
        problem = RelabelledSource(source, partial(is_label, label=label))
        model.partial_fit(problem, classes=[0, 1])


def learn_arrays(
    method: str, models: Sequence[Any], source: Source, labels: Labels, **options: Any
) -> None:
    """Let models of another library learn from rows in memory."""
    name = type(models[0]).__name__
    if not isinstance(source, ArraySource | SparseSource | FrameSource):
        raise TypeError(
            f"{name} is not a model of this library, and learns from arrays alone: pass X and y, "
            "or choose a model of suffice, which reads sources"
        )
    X = map_rows(source, _rows) if isinstance(source, FrameSource) else source.X
    if source.weight is not None:
        options = {**options, "sample_weight": source.weight}
    for model, label in zip(models, labels, strict=True):
        assert source.y is not None
        getattr(model, method)(X, is_label(source.y, label), **options)


def _rows(block: Block) -> NDArray[Any]:
    return np.asarray(block.X)


def _can_share(model: Any) -> bool:
    return isinstance(model, Estimator) and model._shares_passes and not is_watched(model)


def _fit_in_step(
    models: Sequence[Estimator], problems: Sequence[RelabelledSource], source: Source
) -> None:
    pairs, size = list(zip(models, problems, strict=True)), fits_at_once(source)
    for start in range(0, len(pairs), size):
        some = pairs[start : start + size]
        fits = [RunningFit(model, problem, problem.relabelled) for model, problem in some]
        in_step(fits, source)
        for fit in fits:
            if fit.failure is not None:
                raise fit.failure


def fits_at_once(source: Source) -> int:
    """How many fits may share a reading: each keeps some rows, and a matrix of the columns."""
    parameters = source.n_columns + 1
    rows = min(source.count_rows(), max(SAMPLED_ROWS, ROWS_PER_PARAMETER * parameters))
    share = FILLED if source.sparse else 1.0
    cells = share * rows * parameters + min(parameters, MOST_HESSIAN) ** 2
    return max(int(MEMORY / (8 * cells)), 1)


# --- what is known afterwards ---------------------------------------------------------------


def joint_trace(models: Sequence[BaseEstimator], labels: Labels) -> Trace:
    """The passes of all models."""
    joint = Trace()
    for model, label in zip(models, labels.tolist(), strict=True):
        trace = getattr(steps(model)[-1], "trace_", Trace())
        joint += replace(trace, step=tuple(f"{label}: {step}" for step in trace.step))
    return joint


def joint_certificate(models: Sequence[BaseEstimator], labels: Labels) -> Certificate:
    """What is proved about all models together."""
    proofs = {
        label: getattr(steps(model)[-1], "certificate_", None)
        for label, model in zip(labels.tolist(), models, strict=True)
    }
    known = {label: proof for label, proof in proofs.items() if proof is not None}
    name = type(steps(models[0])[-1]).__name__
    measures = {"models": float(len(models)), "proved": float(sum(p.holds for p in known.values()))}
    if not known:
        claim = f"{len(models)} binary models were fitted; {name} proves nothing about its own fit"
        return Certificate(True, claim, name, measures)
    failed = {label: proof for label, proof in known.items() if not proof.holds}
    notes = [
        f"class {label!r}: {proof.claim}" + "".join(f"; {note}" for note in proof.notes)
        for label, proof in list(failed.items())[:MOST_NAMED]
    ]
    if len(failed) > MOST_NAMED:
        notes.append(f"and {len(failed) - MOST_NAMED} more classes")
    paths = sorted({proof.path for proof in known.values()})
    more = ["…"] if len(paths) > MOST_NAMED else []
    return Certificate(
        not failed,
        f"what {name} claims, for each of {len(models)} binary models",
        f"{len(models)} × {', '.join(paths[:MOST_NAMED] + more)}",
        measures,
        tuple(notes),
    )
