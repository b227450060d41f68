"""Members of an ensemble, ours or another library's: how they are fitted, and asked about rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import has_fit_parameter

from suffice.engines.gather import Rows
from suffice.engines.passes import each
from suffice.engines.settings import resolve_threads
from suffice.ensembles.binary_fits import MOST_NAMED, reads_sources, steps
from suffice.fitting.callbacks import FitTask, is_watched
from suffice.fitting.certificate import Certificate
from suffice.fitting.estimator import Estimator, callers_level
from suffice.sources import Columns, as_source
from suffice.sources.memory.one_block import OneBlock

Integers = NDArray[np.int64]

LARGEST_SEED = (1 << 31) - 1


def takes_weights(model: Any) -> bool:
    """Whether a model learns from rows with weights."""
    parts = steps(model) if reads_sources(model) else [model]
    return all(has_fit_parameter(part, "sample_weight") for part in parts)


def set_seeds(model: Any, draw: np.random.Generator) -> None:
    """Give a model, and each of its parts that draws, a seed of its own."""
    names = [name for name in model.get_params() if name.rpartition("__")[2] == "random_state"]
    seeds = draw.integers(LARGEST_SEED, size=len(names)).tolist()
    if names:
        model.set_params(**dict(zip(sorted(names), seeds, strict=True)))


def columns_of(X: Any, columns: Integers) -> Any:
    """Some columns; the table itself where it is all of them."""
    if np.array_equal(columns, np.arange(X.shape[1])):
        return X
    return X.take(columns.tolist()) if isinstance(X, Columns) else X[:, columns]


def chosen(items: Sequence[Any] | None, columns: Integers) -> tuple[Any, ...] | None:
    """What is known of each column, for some of them."""
    return None if items is None else tuple(items[j] for j in columns)


def fit_member(
    model: Any,
    rows: Rows,
    names: Sequence[str] | None = None,
    categorical: Sequence[bool] | None = None,
) -> None:
    """Fit a model to rows; what it cannot prove is told by the ensemble alone.

    Parameters
    ----------
    model : estimator
        Unfitted.
    rows : Rows
    names : sequence of str, optional
        Of the columns.
    categorical : sequence of bool, optional
        Whether each column holds categories.
    """
    if not reads_sources(model):
        weight = {} if rows.weight is None else {"sample_weight": rows.weight}
        model.fit(rows.X, rows.y, **weight)
        return
    source = as_source(rows.X, rows.y, rows.weight)
    source.feature_names = None if names is None else tuple(names)
    if categorical is not None:
        source.categorical = categorical  # type: ignore[attr-defined]
    if not isinstance(model, Estimator) or is_watched(model):
        model.fit(source)
        return
    model._validate_params()
    model._learn(model._training_source(source, None, None), FitTask(None, {}))


def ask_member(model: Any, method: str, X: Any, names: Sequence[str] | None) -> NDArray[Any]:
    """What a fitted member says about rows that were checked."""
    rows = OneBlock(X, names) if reads_sources(model) else X
    return np.asarray(getattr(model, method)(rows))


def side_by_side(
    function: Callable[[int], Any], members: Sequence[int], n_jobs: int | None
) -> Iterator[Any]:
    """Results for members in their order; as many are in memory as there are threads."""
    together = resolve_threads(n_jobs)
    for start in range(0, len(members), together):
        some = members[start : start + together]
        yield from each(some, lambda member, stopped: function(member), n_jobs)


def warn_of_none_added(n: int) -> None:
    """Warn that a fit that goes on had nothing to do."""
    warnings.warn(
        "Warm-start fitting without increasing n_estimators does not fit new trees: there are "
        f"{n} members already",
        stacklevel=callers_level(),
    )


def last_objective(model: Any) -> float:
    """The objective at the end of a member's fit; NaN where nobody knows it."""
    trace = getattr(steps(model)[-1], "trace_", None)
    return trace.objective[-1] if trace is not None and len(trace) else float("nan")


def joint_certificate(models: Sequence[Any]) -> Certificate:
    """What is proved about all members."""
    proofs = [getattr(steps(model)[-1], "certificate_", None) for model in models]
    known = {m: proof for m, proof in enumerate(proofs) if proof is not None}
    name, n = type(steps(models[0])[-1]).__name__, len(models)
    failed = {m: proof for m, proof in known.items() if not proof.holds}
    measures = {"members": float(n), "proved": float(len(known) - len(failed))}
    if not known:
        claim = f"{n} members were fitted; {name} proves nothing about its own fit"
        return Certificate(True, claim, name, measures)
    notes = [
        f"member {m}: {proof.claim}" + "".join(f"; {note}" for note in proof.notes)
        for m, proof in list(failed.items())[:MOST_NAMED]
    ]
    if len(failed) > MOST_NAMED:
        notes.append(f"and {len(failed) - MOST_NAMED} more members")
    paths = sorted({proof.path for proof in known.values()})
    more = ["…"] if len(paths) > MOST_NAMED else []
    path = f"{n} × {', '.join(paths[:MOST_NAMED] + more)}"
    claim = f"what {name} claims, for each of {n} members"
    return Certificate(not failed, claim, path, measures, tuple(notes))
