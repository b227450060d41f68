"""Discriminants of fewer rows than columns, from the rows themselves.

With A the rows of a class less their mean, times √(w/W), its covariance as it is used is

    Σ = a AᵀA + diag(t),      a = (1 − r)(1 − s),      t = (1 − r) s μ scale² + r

where s is the amount of shrinkage, μ the mean variance of columns divided by their scale, and r
the `reg_param` of quadratic discriminants.  No d × d matrix is made of it.

**Where t = 0**, all that happens is within the span of the rows of all classes: the axes of the
pooled covariance are its frame, and a class is a stretch within it, by what it has of variance of
its own (`suffice.generative.discriminant.whitening.completing`).

**Where t > 0**, Z = √a A diag(t)^(−½) = U diag(σ) Vᵀ gives

    diag(t)^(−½) Σ diag(t)^(−½) = I + V diag(σ²) Vᵀ:

columns divided by √t, and then stretched by (1 + σ²)^(−½) along V.  Few columns of a variance
far above t (other units) would drown the others in Z; these are divided by their deviations, and
join the directions that are stretched.  The pooled covariance, which is all that linear
discriminants need, is of the same form, with the sum of shares of t and with the rows of all
classes, times the roots of those shares.  Classes that do not vary by themselves, of a single row
say, take what they lack from there.

There is no statistic smaller than the rows, hence none to keep.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.engines.gather import Rows
from suffice.fitting.classification import labels_of
from suffice.generative.discriminant.axes import (
    ColumnVariances,
    PrincipalAxes,
    axes_of,
    column_variances,
    variances_of_classes,
)
from suffice.generative.discriminant.covariance import Shrinkage, amount_from_rows, negligible
from suffice.generative.discriminant.whitening import Frame, Stretch, completing
from suffice.numerics.double_double import UNIT, Array, DoubleDouble
from suffice.sources import Block, Source
from suffice.statistics.base import Precision
from suffice.statistics.counts.labels import codes_among
from suffice.statistics.moments.by_class import ClassMoments
from suffice.statistics.moments.products import LARGEST_SQUARE, TOO_LARGE

FAR_BELOW = 1e-4
"""Of the share that t has in the variances of other columns: where it is less, units differ."""

WIDE = 1024
"""Columns beyond which fewer rows are worked on as they are."""


# --- rows --------------------------------------------------------------------


def summarized(block: Block, precision: Precision) -> ClassMoments:
    """The moments of the columns by class; a missing cell is an error."""
    found = ClassMoments.summarize(block.X, labels_of(block), block.weight, precision)
    if (found.columns.count < found.rows[:, None]).any():
        raise FloatingPointError(TOO_LARGE)
    return found


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


# --- covariances -------------------------------------------------------------


class Spanned(NamedTuple):
    """A covariance AᵀA + diag(t).

    Attributes
    ----------
    rows : array of shape (rows, columns)
        A.
    diagonal : array of shape (columns,)
        t.
    spread : ColumnVariances
        Of the columns.
    error : float
        Bound on the relative error that comes with an estimated amount of shrinkage.
    drift : array of shape (columns,)
        Bound on t where it is 0, of an amount that cannot be told from 0.
    """

    rows: Array
    diagonal: Array
    spread: ColumnVariances
    error: float
    drift: Array


class Whitening(NamedTuple):
    """A frame that makes a covariance the identity.

    Attributes
    ----------
    whitening : Frame
        M with Σ⁻¹ = M Mᵀ.
    log_determinant : float
        Of the covariance, within the directions that are kept.
    relative_error : float
        Bound on that of the inverse.
    """

    whitening: Frame
    log_determinant: float
    relative_error: float

    @property
    def rank(self) -> int:
        return self.whitening.shape[1]

    def solve(self, B: DoubleDouble) -> DoubleDouble:
        """Σ⁻¹ B, for B of shape (columns, k)."""
        return DoubleDouble.of(self.whitening @ (B.round().T @ self.whitening).T)


class WideShapes(NamedTuple):
    """The shapes of all classes.

    Attributes
    ----------
    common : Frame or None
        Of all classes together, where a class takes something from it.
    own : list of Frame and Stretch
        A frame of the class's own, or what follows the common one.
    log_determinants : list of float
    ranks : list of int
        Directions in which each class varies by itself.
    error : float
        Bound on the relative error of the inverses.
    """

    common: Frame | None
    own: list[Frame | Stretch]
    log_determinants: list[float]
    ranks: list[int]
    error: float

    @property
    def rank(self) -> int:
        """Directions that are kept."""
        return max(one.shape[1] for one in self.own)


# --- covariances ---------------------------------------------------------------------------


def spanned(
    rows: Array,
    shares: Array,
    weight: float,
    spread: ColumnVariances,
    rule: Shrinkage,
    reg_param: float,
) -> Spanned:
    """The covariance of one class, shrunk and regularised.

    Parameters
    ----------
    rows : array of shape (rows, columns)
        Less the mean.
    shares : array of shape (rows,)
        w/W.
    weight : float
        W.
    spread : ColumnVariances
        Of the columns.
    rule : Shrinkage
    reg_param : float
        r.
    """
    A, variances = rows * np.sqrt(shares)[:, None], spread.variances
    units = np.where(rule.standardised & (variances > 0), variances, 1.0)  # scale²
    mean = float((variances / units).mean())
    amount, unknown = rule.amount, 0.0
    if rule.kind != "fixed":
        amount, unknown = amount_from_rows(A / np.sqrt(units), shares, weight, mean, rule)
    part, stay = (1 - reg_param) * amount * mean, (1 - reg_param) * (1 - amount)
    t = part * units + reg_param
    error, hidden = unknown, spread.hidden
    if t.all():
        # Δs (μ scale² − C), next to Σ ≥ a C and Σ ≥ t; and what the variances leave open of t.
        of_rows = min(1 / stay if stay else np.inf, float((variances / t).sum()))
        error *= (1 - reg_param) * (float((mean * units / t).max()) + of_rows)
        moved = (spread.noise / units).mean() * units + rule.standardised * mean * spread.noise
        error += (1 - reg_param) * amount * float((moved / t).max())
        hidden &= rule.standardised
    changed = ColumnVariances(stay * variances + t, stay * spread.noise, hidden)
    drift = np.where(t > 0, 0.0, (1 - reg_param) * unknown * mean * units)
    return Spanned(A * np.sqrt(stay), t, changed, error, drift)


def within_classes(
    rows: ClassRows, classes: ClassMoments, rule: Shrinkage, shares: Array | None = None
) -> Spanned:
    """The covariance within classes, shrunk.

    Parameters
    ----------
    rows : ClassRows
    classes : ClassMoments
        Of these rows.
    rule : Shrinkage
    shares : array of shape (classes,), optional
        Of the classes' covariances; by default of their weight.
    """
    weight = classes.weight.round()
    if rule.is_linear and shares is None:
        total, every = float(classes.weight.sum().hi), variances_of_classes(classes)[1]
        return spanned(rows.away, rows.weight / total, total, every, rule, 0.0)
    parts = of_each_class(rows, classes, rule, 0.0)
    return together(parts, weight / weight.sum() if shares is None else shares)


def of_each_class(
    rows: ClassRows, classes: ClassMoments, rule: Shrinkage, reg_param: float
) -> list[Spanned]:
    """The covariance of each class, shrunk and regularised."""
    parts = []
    for k, spread in enumerate(variances_of_classes(classes)[0]):
        mine, W = rows.codes == k, float(classes.weight.round()[k])
        parts.append(spanned(rows.away[mine], rows.weight[mine] / W, W, spread, rule, reg_param))
    return parts


def of_all_rows(rows: ClassRows, classes: ClassMoments, rule: Shrinkage) -> Spanned:
    """The covariance of all rows, shrunk."""
    columns, every = classes.columns, classes.columns.merged()
    means = ((columns.mean - every.mean) + (columns.mean_rest - every.mean_rest)).round()
    total = float(classes.weight.sum().hi)
    noise = 4 * every.error_unit * every.magnitude
    spread = column_variances(every.rounded_scatter, noise, total, negligible(columns.mean.hi))
    away = rows.away + means[rows.codes]
    return spanned(away, rows.weight / total, total, spread, rule, 0.0)


def together(parts: list[Spanned], shares: Array) -> Spanned:
    """The pooled covariance, of classes with these shares."""
    rows = [one.rows * np.sqrt(share) for one, share in zip(parts, shares, strict=True)]
    t = shares @ [one.diagonal for one in parts]
    spread = ColumnVariances(
        shares @ [one.spread.variances for one in parts],
        shares @ [one.spread.noise for one in parts],
        any(one.spread.hidden for one in parts),
    )
    error, drift = max(one.error for one in parts), shares @ [one.drift for one in parts]
    if t.all():
        error, drift = error + float((drift / t).max()), np.zeros_like(drift)
    return Spanned(np.concatenate(rows), t, spread, error, drift)


# --- frames --------------------------------------------------------------------------------


def frame_of_all(found: Spanned) -> Whitening:
    """The frame of a covariance with a diagonal."""
    t, variances = found.diagonal, found.spread.variances
    share = t / variances
    apart = standing_apart(share, len(found.rows))
    scale = 1 / np.sqrt(np.where(apart, variances, t))
    Z = found.rows * scale
    U, lengths, V = np.linalg.svd(Z[:, ~apart], full_matrices=False)
    if apart.any():
        # Within the span of V and of those columns, the root of the covariance:
        base = np.append(np.ones(len(V)), np.sqrt(share[apart]))
        root = np.vstack([np.hstack([U * lengths, Z[:, apart]]), np.diag(base)])
        stretched, W = np.linalg.svd(root, full_matrices=False)[1:]
        Q = np.zeros((len(t), len(W)))
        Q[~apart], Q[apart] = V.T @ W.T[: len(V)], W.T[len(V) :]
    else:
        stretched, Q = np.hypot(1.0, lengths), np.ascontiguousarray(V.T)
    turn = Stretch(Q, np.diag(1 / stretched))
    most, least = (float(f(np.append(stretched, 1.0))) for f in (np.max, np.min))
    logs = -2 * (turn.log_determinant + float(np.log(scale).sum()))
    error = 4 * len(t) * UNIT * most / least + found.error
    return Whitening(Frame(scale, turn), logs, np.inf if found.spread.hidden else error)


def standing_apart(share: Array, most: int) -> NDArray[np.bool_]:
    """Columns, at most so many, in which t has a far smaller share than it has in others."""
    usual = np.partition(share, min(most, len(share) - 1))[min(most, len(share) - 1)]
    return np.asarray(share < FAR_BELOW * usual)


def whitened(found: Spanned, tol: float) -> Whitening:
    """The frame of a covariance, with a diagonal or without."""
    if found.diagonal.all():
        return frame_of_all(found)
    axes = axes_of(found.rows, found.spread, tol)
    solved, there = frame_within(axes), found.spread.variances > 0
    drift = float((found.drift[there] / found.spread.variances[there]).max(initial=0.0))
    moved = drift / float(axes.values[-1]) if axes.rank else 0.0
    error = solved.relative_error + found.error + moved
    # A diagonal of which a part is 0 has underflowed.
    return solved._replace(relative_error=np.inf if found.diagonal.any() else error)


def frame_within(axes: PrincipalAxes) -> Whitening:
    """The frame of a covariance without a diagonal."""
    turn = np.ascontiguousarray(axes.vectors / np.sqrt(axes.values))
    frame = Frame(1 / axes.deviations, turn)
    return Whitening(frame, axes.log_determinant, axes.relative_error)


def taken(axes: PrincipalAxes, frame: Frame) -> Stretch:
    """What makes a class the identity, after the frame of all classes."""
    spread = axes.vectors * np.sqrt(axes.values) * axes.deviations[:, None]
    L = spread.T @ frame
    if isinstance(frame.turn, Stretch):
        sizes = np.linalg.norm(spread.T * frame.scale, axis=1)
    else:
        sizes = np.linalg.norm(np.abs(spread.T * frame.scale) @ np.abs(frame.turn), axis=1)
    return completing(L.T, sizes)


def wide_shapes(parts: list[Spanned], shares: Array, tol: float) -> WideShapes:
    """The shapes of all classes.

    Parameters
    ----------
    parts : list of Spanned
        Their covariances.
    shares : array of shape (classes,)
        Of the weight.
    tol : float
        Deviation up to which a class counts as constant in a direction.
    """
    whole = [frame_of_all(one) if one.diagonal.all() else None for one in parts]
    frame, log_determinant, error = None, 0.0, 0.0
    if None in whole:
        every = together(parts, shares)
        some = any(solved is not None for solved in whole)
        frame, log_determinant, error = (
            frame_of_all(every) if some else frame_within(axes_of(every.rows, every.spread, tol))
        )
    own: list[Frame | Stretch] = []
    logs, ranks, errors = [], [], [error]
    for part, solved in zip(parts, whole, strict=True):
        if solved is not None:
            own.append(solved.whitening)
            logs.append(solved.log_determinant)
            ranks.append(len(part.diagonal))
            errors.append(solved.relative_error)
            continue
        assert frame is not None
        axes = axes_of(part.rows, part.spread, tol)
        stretch = taken(axes, frame)
        own.append(stretch)
        logs.append(log_determinant - 2 * stretch.log_determinant)
        ranks.append(axes.rank)
        errors.append(axes.relative_error + part.error)
    return WideShapes(frame, own, logs, ranks, max(errors))
