"""Covariances from moments, and what is done to them where rows are few: shrinkage.

    Σ = (1 − s) C + s μ I,      C = S/W,      μ = tr C / d

That is the mode of a posterior: of the inverse Wishart prior with n₀ = s W / (1 − s) rows that
nobody saw, of scatter n₀ μ I (`suffice.bayes.NormalInverseWishart`).  Here s is their share of all
rows, and their scatter is added in units of all rows, so that s may be 1.

The amount s is given, or estimated from the rows' own fluctuation.  Ledoit and Wolf's estimate
compares how much the products of single rows spread about C with how far C is from μ I:

    β = (1/(W d)) [(1/W) Σ w ‖u‖⁴ − ‖C‖²],      δ = ‖C − μ I‖² / d,      s = min(β, δ) / δ

with u the distance of a row from the mean.  Σ w ‖u‖⁴ is the sum over all Qⱼₖ of
`suffice.statistics.moments.fourth`, and that of columns divided by any scale is the sum over
Qⱼₖ / (scaleⱼ² scaleₖ²): so the estimate needs no second look at the rows, and there is no power
of a column's unit in it that float64 could not hold.  The name "auto" stands
for this estimate on columns divided by their deviations, as in scikit-learn.  The oracle
approximating estimate (OAS) takes the rows to be Gaussian, and needs C alone.

A covariance carries bounds on its error: |ΔCᵢⱼ| ≤ unit gᵢ gⱼ, and that of an estimated amount on
top of it.

References: Ledoit and Wolf, "A well-conditioned estimator for large-dimensional covariance
matrices" (2004); Chen, Wiesel, Eldar and Hero, "Shrinkage algorithms for MMSE covariance
estimation" (2010).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.covariance import OAS, EmpiricalCovariance, LedoitWolf, ShrunkCovariance

from suffice.bayes.priors.scatter import PseudoScatter
from suffice.numerics.double_double import DOUBLE_DOUBLE_UNIT, UNIT, Array, DoubleDouble
from suffice.statistics.moments.fourth import FourthMoments
from suffice.statistics.moments.full import Moments

SMALLEST_SHARE = 1e-13
"""Where rows were taken away, a deviation that may be less than this share of the means is none."""

UNDERFLOW = float(np.finfo(np.float64).smallest_subnormal)
"""What a product of small numbers may lose, beyond its rounding."""


class Shrinkage(NamedTuple):
    """How much a covariance is shrunk.

    Attributes
    ----------
    kind : {"fixed", "ledoit-wolf", "oas"}
    amount : float
        Of the fixed kind.
    standardised : bool
        Whether the columns are divided by their deviations first.
    """

    kind: Literal["fixed", "ledoit-wolf", "oas"] = "fixed"
    amount: float = 0.0
    standardised: bool = False

    @property
    def is_linear(self) -> bool:
        """Whether shrinking a sum of covariances is shrinking each."""
        return self.kind == "fixed"

    @property
    def shrinks(self) -> bool:
        return self.kind != "fixed" or self.amount > 0


def shrinkage_of(shrinkage: Any, estimator: Any) -> Shrinkage:
    """What the parameters `shrinkage` and `covariance_estimator` ask for.

    Raises
    ------
    ValueError
        If both are given, or if the estimator must see the rows.
    """
    if estimator is None:
        if isinstance(shrinkage, str):
            return Shrinkage("ledoit-wolf", standardised=True)
        return Shrinkage(amount=0.0 if shrinkage is None else float(shrinkage))
    if shrinkage is not None and shrinkage != 0:
        raise ValueError(
            "covariance_estimator and shrinkage parameters are not None. Only one of the two can "
            "be set."
        )
    if not getattr(estimator, "assume_centered", False):
        if type(estimator) is EmpiricalCovariance:
            return Shrinkage()
        if type(estimator) is ShrunkCovariance:
            return Shrinkage(amount=float(estimator.shrinkage))
        if type(estimator) is LedoitWolf:
            return Shrinkage("ledoit-wolf")
        if type(estimator) is OAS:
            return Shrinkage("oas")
    raise ValueError(
        f"covariance_estimator={estimator!r} would have to see the rows, and there are only sums "
        "over them here; accepted are scikit-learn's EmpiricalCovariance, ShrunkCovariance, "
        "LedoitWolf and OAS, with assume_centered=False, or the parameter shrinkage instead"
    )


@dataclass(frozen=True)
class Covariance:
    """A covariance and its error: |ΔCᵢⱼ| ≤ unit gᵢ gⱼ, and more from an estimated amount.

    Attributes
    ----------
    matrix : float64 array or DoubleDouble of shape (columns, columns)
    unit : float
    g : float64 array of shape (columns,)
    of_amount : float64 array of shape (columns, columns), or 0
        The further error, but for signs: by how much that of the amount moves C.
    is_full : bool
        Whether variance was added in every column, so that none of the directions is without.
    """

    matrix: Any
    unit: float
    g: Array
    of_amount: Array | float = 0.0
    is_full: bool = False

    @property
    def rounded(self) -> Array:
        matrix = self.matrix
        return matrix.round() if isinstance(matrix, DoubleDouble) else matrix

    @property
    def variances(self) -> Array:
        """The diagonal; what cannot be told from zero is zero."""
        found = np.diagonal(self.rounded)
        return np.where(found > self._noise, found, 0.0)

    @property
    def _noise(self) -> Array:
        """Up to here, a variance cannot be told from zero."""
        return np.asarray(4 * self.unit * np.square(self.g))

    def hides(self, deviations: Array) -> bool:
        """Whether a column without variance may have had a deviation above these after all."""
        hidden = np.sqrt(self._noise) > deviations
        return bool((hidden & (self.variances == 0)).any())

    @property
    def doubtful(self) -> NDArray[np.intp]:
        """Columns without variance that may have some, below what was lost with rows taken away."""
        return np.flatnonzero((self.variances == 0) & (self._noise > 0))

    def mixed(self, share: float, variance: Any, g: Array) -> Covariance:
        """(1 − share) C, plus a variance in every column whose error is unit g²."""
        prior = PseudoScatter.isotropic(variance, len(self.g))
        exact = isinstance(self.matrix, DoubleDouble)
        rest: Any = DoubleDouble.of(1.0) - share if exact else 1 - share
        matrix = prior.added_to(self.matrix * rest)
        squares = (1 - share) * np.square(self.g) + np.square(g)
        is_full = self.is_full or bool(variance.hi > 0)
        unit = self.unit + 4 * (DOUBLE_DOUBLE_UNIT if exact else UNIT)
        return Covariance(matrix, unit, np.sqrt(squares), self.of_amount, is_full)

    def shrunk(self, amount: float) -> Covariance:
        """(1 − s) C + s μ I."""
        if not amount:
            return self
        d = len(self.g)
        diagonal = DoubleDouble.of(self.matrix)[np.arange(d), np.arange(d)]
        mean = diagonal.sum() / float(d) * amount
        return self.mixed(amount, mean, np.full(d, np.sqrt(amount * np.square(self.g).mean())))

    def regularised(self, amount: float) -> Covariance:
        """(1 − r) C + r I."""
        if not amount:
            return self
        return self.mixed(amount, DoubleDouble.of(amount), np.full(len(self.g), np.sqrt(amount)))


def covariance(moments: Moments) -> Covariance:
    """S / W."""
    weight = moments.weight
    scatter: Any = moments.scatter
    matrix = scatter / weight if isinstance(scatter, DoubleDouble) else scatter / float(weight.hi)
    g = np.sqrt(moments.magnitude / float(weight.hi))
    # A division more, of which a double-double loses nothing that counts.
    unit = moments.error_unit + (UNIT if moments.precision == "float64" else 0.0)
    return Covariance(matrix, unit, g)


def shrunk_covariance(part: Any, rule: Shrinkage) -> tuple[Covariance, float]:
    """The covariance of the rows behind some moments, and by how much it was shrunk.

    Parameters
    ----------
    part : Moments or FourthMoments
        The latter for Ledoit and Wolf's estimate.
    rule : Shrinkage
    """
    found = covariance(part.moments if isinstance(part, FourthMoments) else part)
    if rule.kind == "fixed":
        return found.shrunk(rule.amount), rule.amount
    deviations = np.sqrt(found.variances)
    if rule.standardised:
        scale = np.where(deviations > 0, deviations, 1.0)
    else:
        # The amount has no units: a power of two for all columns keeps squares of C in range.
        scale = np.full(len(deviations), 2.0 ** np.frexp(deviations.max())[1])
    standard = _scaled(found, 1 / scale)
    if rule.kind == "oas":
        amount, error = _oas(standard, float(part.weight.hi))
    else:
        amount, error = _ledoit_wolf(standard, part, scale)
    shrunk = standard.shrunk(amount)
    return _scaled(replace(shrunk, of_amount=_moved(standard, error)), scale), amount


def _moved(before: Covariance, error: float) -> Array | float:
    """By how much an error of the amount moves the shrunk covariance."""
    if not error:
        return 0.0
    C, d = before.rounded, len(before.g)
    return error * np.abs(C - np.trace(C) / d * np.eye(d))


def pooled(covariances: Sequence[Covariance], shares: Array) -> Covariance:
    """Σₖ shareₖ Cₖ."""
    matrix: Any = sum(
        (one.matrix * float(share) for one, share in zip(covariances, shares, strict=True)),
        start=0.0,
    )
    squares = sum(share * np.square(one.g) for one, share in zip(covariances, shares, strict=True))
    unit = max(one.unit for one in covariances) + 2 * len(covariances) * UNIT
    parts = list(zip(covariances, shares.tolist(), strict=True))
    of_amount = sum(share * one.of_amount for one, share in parts)
    is_full = any(share > 0 and one.is_full for one, share in parts)
    return Covariance(matrix, unit, np.sqrt(squares), of_amount, is_full)


def within_covariance(statistic: Any, rule: Shrinkage, shares: Array | None) -> Covariance:
    """Σ: of all classes together, or with these shares of theirs; shrunk."""
    if rule.is_linear and shares is None:
        return covariance(statistic.within).shrunk(rule.amount)
    if shares is None:
        weight = statistic.weight.round()
        shares = weight / weight.sum()
    return pooled([shrunk_covariance(part, rule)[0] for part in statistic.parts], shares)


def _scaled(found: Covariance, scale: Array) -> Covariance:
    matrix = found.matrix * scale[:, None] * scale
    of_amount = found.of_amount * scale[:, None] * scale
    unit, g = found.unit + 2 * UNIT, found.g * scale
    return replace(found, matrix=matrix, unit=unit, g=g, of_amount=of_amount)


def _ledoit_wolf(found: Covariance, part: FourthMoments, scale: Array) -> tuple[float, float]:
    """The amount of shrinkage in scaled columns, and a bound on its error."""
    C, d = found.rounded, len(scale)
    if d == 1:
        return 0.0, 0.0
    weight = float(part.weight.hi)
    with np.errstate(over="ignore", invalid="ignore"):
        # A constant column has no powers, nor anything that could have been lost of them.
        constant = (part.height == 0) & (np.diagonal(C) == 0)
        inverse = np.where(constant, 0.0, 1 / np.square(scale))
        fourth = float(inverse @ part.fourth @ inverse)
        of_fourth = float(part.error_unit * np.square((np.sqrt(part.height) * inverse).sum()))
        lost = float(np.square((np.sqrt(part.count * UNDERFLOW) * inverse).sum()) / weight)
    if not np.isfinite(fourth):
        return 0.0, 1.0  # deviations too small for their fourth powers: nothing is known
    squares, mean = float(np.square(C).sum()), float(np.trace(C)) / d
    beta = (fourth / weight - squares) / (d * weight)
    delta = float(np.square(C - mean * np.eye(d)).sum()) / d
    if not delta > 0:
        return 0.0, 0.0
    # First order: Q errs by ε √(h h), and by what underflows; C by unit g g.  A quotient β/δ errs
    # by (Δβ + (β/δ) Δδ) over the true δ, and the amount is small where rows are many.
    of_entry = 2 * found.unit * float(np.square(found.g).max())
    of_squares = of_entry * float(np.abs(C).sum())
    of_beta = (of_fourth / weight + lost + of_squares) / (d * weight)
    of_delta = of_entry * float(np.abs(C - mean * np.eye(d)).sum()) / d
    amount = max(min(beta, delta), 0.0) / delta
    if not of_delta < delta:
        return amount, 1.0
    return amount, min((of_beta + amount * of_delta) / (delta - of_delta), 1.0)


def _oas(found: Covariance, weight: float) -> tuple[float, float]:
    """The same by the oracle approximating estimate."""
    d = len(found.g)
    mean = float(np.trace(found.rounded)) / d
    if d == 1:
        return 0.0, 0.0
    if not mean > 0:
        return 1.0, 0.0
    C, noise = found.rounded / mean, found.unit * np.square(found.g / np.sqrt(mean))
    alpha = float(np.square(C).mean())
    over, apart = alpha + 1, alpha - 1 / d
    if not apart > 0:
        return 1.0, 0.0
    amount = over / ((weight + 1) * apart)
    # First order: entries err by unit g g, and their mean square by twice that times entries.
    moved = 2 * float(noise.max()) * (float(np.abs(C).mean()) + 1)
    return min(amount, 1.0), min(amount * moved * (1 / over + 1 / apart), 1.0)


def amount_from_rows(
    A: Array, shares: Array, weight: float, mean: float, rule: Shrinkage
) -> tuple[float, float]:
    """The amount of shrinkage that fits these rows, and a bound on its error.

    Parameters
    ----------
    A : array of shape (rows, columns)
        Less the mean, times the roots of their shares: C = Aᵀ A, and ‖C‖² = ‖A Aᵀ‖².
    shares : array of shape (rows,)
        Of the weight.
    weight : float
    mean : float
        The mean variance of the columns, in units of which all of this is.
    rule : Shrinkage
    """
    n, d = A.shape
    if not mean > 0:
        return 0.0, 0.0
    A = A / np.sqrt(mean)
    squares = float(np.square(A @ A.T).sum())
    unit = 4 * (n + d) * UNIT
    with np.errstate(over="ignore", invalid="ignore"):
        if rule.kind == "oas":
            over, under = squares / d + d, (weight + 1) * (squares - d) / d
            amount, error = over / under, 2 * unit * (squares + d) / (squares - d)
            error *= amount
        else:
            fourth = float((np.square(np.square(A).sum(axis=1)) / shares).sum())
            beta, delta = (fourth - squares) / weight, squares - d
            amount = max(min(beta, delta), 0.0) / delta
            error = unit * ((fourth + squares) / weight + squares + d) / delta
    error = error if error < 1 else 1.0
    amount = float(min(amount, 1.0))
    return (amount, error) if amount > 2 * error else (0.0, error)


def negligible(means: Array) -> Array:
    """Deviations of columns that are none, next to the means of the classes and their distances."""
    return np.asarray(SMALLEST_SHARE * (np.abs(means).max(axis=0) + np.ptp(means, axis=0)))


def note_of_doubt(covariances: Iterable[Covariance]) -> list[str]:
    """Which columns are taken to be constant, though a little of them may be hidden."""
    columns = sorted({int(j) for one in covariances for j in one.doubtful})
    if not columns:
        return []
    names = ", ".join(map(str, columns[:5])) + (", …" if len(columns) > 5 else "")
    return [
        f"columns {names} (counted from 0) count as constant within classes: after rows were taken "
        f"away, deviations below {SMALLEST_SHARE:g} of their values cannot be told from none"
    ]
