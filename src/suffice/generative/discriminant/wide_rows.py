"""Fewer rows than columns: what discriminants need, from the rows themselves.

The scatter of n rows has a rank below n.  Where columns are many, its n × n side is much smaller
than the d × d one: with Z the rows less the means of their classes, divided by the deviations of
the columns and times √(w/W), the correlation within classes is R = Zᵀ Z, and from Z = U diag(σ) Vᵀ

    R = V diag(σ²) Vᵀ.

There is no statistic smaller than the rows, hence none to keep.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.engines.gather import Rows
from suffice.fitting.classification import labels_of
from suffice.fitting.one_pass import Solved
from suffice.fitting.requests import Found, Gather, Pass, Passes, needed
from suffice.generative.discriminant.axes import PrincipalAxes, signed
from suffice.generative.discriminant.base import negligible
from suffice.numerics.double_double import UNIT, Array
from suffice.sources import Block, Source
from suffice.statistics.counts.labels import codes_among
from suffice.statistics.moments.by_class import ClassMoments
from suffice.statistics.moments.full import NOTHING, Precision
from suffice.statistics.moments.products import LARGEST_SQUARE, TOO_LARGE

WIDE = 1024
"""Columns beyond which fewer rows are worked on as they are."""

ENTRY = 16
"""Roundings behind an entry of the rows, with some to spare."""


def summarized(block: Block, precision: Precision) -> ClassMoments:
    """The moments of the columns by class; a missing cell is an error."""
    found = ClassMoments.summarize(block.X, labels_of(block), block.weight, precision)
    if (found.columns.count < found.rows[:, None]).any():
        raise FloatingPointError(TOO_LARGE)
    return found


class Spread(NamedTuple):
    """Variances of columns, as far as they can be told from zero.

    Attributes
    ----------
    variances : float64 array of shape (columns,)
        0 where rounding may be all that there is.
    noise : float64 array of shape (columns,)
        Bounds on their errors.
    hidden : bool
        Whether there may be a deviation after all in a column where there seems to be none.
    """

    variances: Array
    noise: Array
    hidden: bool

    @property
    def error(self) -> float:
        """A bound on the relative error of the variances that are there."""
        there = self.variances > 0
        return float((self.noise[there] / self.variances[there]).max(initial=0.0))


def spread_of(squares: Array, noise: Array, weight: float, least: Array) -> Spread:
    """From sums of squares about means, bounds on their errors, and deviations that are none."""
    there = squares > noise
    hidden = ~there & (np.sqrt(noise / weight) > least)
    return Spread(np.where(there, squares / weight, 0.0), noise / weight, bool(hidden.any()))


def spreads(classes: ClassMoments) -> tuple[list[Spread], Spread]:
    """Of the columns in each class, and in all classes about their means."""
    columns, weight = classes.columns, classes.weight.round()
    squares, noise = columns.rounded_scatter, 4 * columns.error_unit * columns.magnitude
    least = negligible(columns.mean.hi)
    own = [spread_of(*each, least) for each in zip(squares, noise, weight.tolist(), strict=True)]
    total = float(classes.weight.sum().hi)
    return own, spread_of(squares.sum(axis=0), noise.sum(axis=0), total, least)


class ClassRows(NamedTuple):
    """Rows that are there: those of weight 0 do not exist.

    Attributes
    ----------
    away : array of shape (rows, columns)
        Rows less the means of their classes.
    weight : array of shape (rows,)
    codes : int64 array of shape (rows,)
        Their classes, by number.
    """

    away: Array
    weight: Array
    codes: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Rows, classes: ClassMoments) -> ClassRows:
        """Rows that were gathered."""
        mean, y = classes.columns.mean, labels_of(Block(rows.X, rows.y, rows.weight, 0))
        weight = np.ones(len(y)) if rows.weight is None else rows.weight
        codes = codes_among(y, classes.labels)
        away = (np.asarray(rows.X, dtype=np.float64) - mean.hi[codes]) - mean.lo[codes]
        return cls(away, weight, codes)


def axes_of(rows: Array, spread: Spread, tol: float) -> PrincipalAxes:
    """The axes of the covariance Aᵀ A of rows A.

    Parameters
    ----------
    rows : array of shape (rows, columns)
        Less the means, times the roots of their shares of the weight.
    spread : Spread
        Of the columns.
    tol : float
        Deviation up to which a direction counts as one without variance.
    """
    there = spread.variances > 0
    deviations = np.where(there, np.sqrt(spread.variances), 1.0)
    Z = np.where(there, rows / deviations, 0.0)
    lengths, V = np.linalg.svd(Z, full_matrices=False)[1:]
    V[:, ~there] = 0.0
    rank = int((lengths > max(tol, 4 * len(Z) * UNIT * lengths.max(initial=0.0))).sum())
    largest, last = (float(lengths[i]) if rank else 0.0 for i in (0, rank - 1))
    # Rounding moves a length by a few units of the largest for each row, and its square by
    # twice the length times that; an error of the deviations changes it in proportion.
    error = 2 * (len(Z) + ENTRY) * UNIT * largest * last + spread.error * last**2
    return PrincipalAxes(
        deviations=deviations,
        values=np.square(lengths[:rank]),
        vectors=signed(np.ascontiguousarray(V[:rank].T)),
        dropped=np.append(np.square(lengths[rank:]), 0.0),
        correlation=None,
        error=np.inf if spread.hidden else error,
    )


def from_rows(model: Any, solve: Callable[[ClassMoments, ClassRows], Solved]) -> Passes:
    """Fit a discriminant from fewer rows than columns; it keeps no statistic.

    Parameters
    ----------
    model : Discriminant
    solve : callable
        From the moments of the columns by class, and the rows; sets what is learned beyond
        classes, prior and means.
    """
    model.__dict__.pop("statistics_", None)
    summarize = partial(summarized, precision="double-double")
    classes = yield from needed(Pass("rows' side", summarize))
    if not classes.count:
        raise ValueError(NOTHING)
    check_squares(classes)
    rows = yield from needed(Gather(None))
    model._set_classes(classes)
    solved = solve(classes, ClassRows.of(rows, classes))
    proof = replace(solved.certificate, path="the rows themselves, in float64")
    return Found({}, proof, solved.objective)


def check_squares(classes: ClassMoments) -> None:
    """Raise ValueError if sums over the columns' squares, within or between classes, overflow."""
    mean, weight = classes.columns.mean.hi, classes.weight.round()
    with np.errstate(over="ignore"):
        between = np.square(mean - mean[0]) * weight[:, None]
        largest = max(classes.columns.rounded_scatter.max(), between.max())
    if not largest <= LARGEST_SQUARE / (mean.size + 1):
        raise ValueError("X is so large that sums of its squares overflow: rescale the columns")


def is_wide(source: Source) -> bool:
    """Whether there are many columns, and fewer rows."""
    return source.n_columns > WIDE and source.count_rows() < source.n_columns
