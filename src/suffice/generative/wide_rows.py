"""Linear discriminants of fewer rows than columns, from the rows themselves.

The scatter of n rows has a rank below n.  Where columns are many, its n × n side is much smaller
than the d × d one: with Z the rows less the means of their classes, divided by the deviations of
the columns and times √(w/W), the correlation within classes is R = Zᵀ Z, and from Z = U diag(σ) Vᵀ

    R = V diag(σ²) Vᵀ.

There is no statistic smaller than the rows, hence none to keep.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.engines.passes import map_rows
from suffice.fitting.classification import labels_of
from suffice.generative.discriminant import negligible
from suffice.generative.principal_axes import PrincipalAxes, signed
from suffice.numerics.double_double import UNIT, Array
from suffice.sources import Block, Source
from suffice.statistics.class_moments import ClassMoments
from suffice.statistics.labels import codes_among
from suffice.statistics.moments import Precision
from suffice.statistics.products import TOO_LARGE

WIDE = 1024
"""Columns beyond which fewer rows are worked on as they are."""


def summarized(block: Block, precision: Precision) -> ClassMoments:
    """The moments of the columns by class; a missing cell is an error."""
    found = ClassMoments.summarize(block.X, labels_of(block), block.weight, precision)
    if (found.columns.count < found.rows[:, None]).any():
        raise FloatingPointError(TOO_LARGE)
    return found


def axes_of_rows(
    source: Source, classes: ClassMoments, tol: float, n_jobs: int | None
) -> PrincipalAxes:
    """The axes of the covariance within classes.

    Parameters
    ----------
    source : Source
        Fewer rows than columns.
    classes : ClassMoments
        Of these rows.
    tol : float
        Deviation up to which a direction counts as one without variance.
    n_jobs : int, optional
    """
    columns = classes.columns
    total = float(classes.weight.sum().hi)
    squares = columns.rounded_scatter.sum(axis=0)
    noise = 4 * columns.error_unit * columns.magnitude.sum(axis=0)
    deviations = np.where(squares > noise, np.sqrt(squares / total), 1.0)
    there = squares > noise
    hidden = ~there & (np.sqrt(noise / total) > negligible(columns.mean.hi))

    def standardised(block: Block) -> Array:
        weight = np.ones(block.n_rows) if block.weight is None else block.weight
        present = weight > 0
        codes = codes_among(labels_of(block)[present], classes.labels)
        rows = np.asarray(block.X[present], dtype=np.float64)
        away = (rows - columns.mean.hi[codes]) - columns.mean.lo[codes]
        return np.where(there, away / deviations, 0.0) * np.sqrt(weight[present] / total)[:, None]

    Z = map_rows(source, standardised, n_jobs)
    lengths, V = np.linalg.svd(Z, full_matrices=False)[1:]
    V[:, ~there] = 0.0
    rank = int((lengths > max(tol, 4 * len(Z) * UNIT * lengths.max(initial=0.0))).sum())
    largest, last = (float(lengths[i]) if rank else 0.0 for i in (0, rank - 1))
    return PrincipalAxes(
        deviations=deviations,
        values=np.square(lengths[:rank]),
        vectors=signed(np.ascontiguousarray(V[:rank].T)),
        dropped=np.append(np.square(lengths[rank:]), 0.0),
        correlation=None,
        error=np.inf if hidden.any() else 2 * len(Z) * UNIT * largest * last,
    )


def is_wide(source: Source) -> bool:
    """Whether there are many columns, and fewer rows."""
    return source.n_columns > WIDE and source.count_rows() < source.n_columns


def mean_variances(classes: ClassMoments) -> Any:
    """Of each column within classes."""
    return classes.columns.rounded_scatter.sum(axis=0) / float(classes.weight.sum().hi)
