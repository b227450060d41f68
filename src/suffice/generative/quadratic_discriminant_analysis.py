"""Quadratic discriminant analysis: a Gaussian for each class.

    p(x, y = k) = πₖ N(x; μₖ, Σₖ),      Σₖ = (1/Wₖ) Σ wᵢ (xᵢ − μₖ)(xᵢ − μₖ)ᵀ  over class k

    log p(x, y = k) = −½ [(x − μₖ)ᵀ Σₖ⁻¹ (x − μₖ) + log |Σₖ|] + log πₖ + constant

Weight, mean and scatter of each class are sufficient.  Against few rows, Σₖ is shrunk
(`suffice.generative.shrinkage`) or regularised, (1 − r) Σₖ + r I with r = `reg_param`.

**Where Σₖ is singular** (a class with no more rows than columns, a column that is constant in it),
its likelihood has no maximum: the density grows without bound as the missing variance goes to
zero.  In the directions in which a class does not vary it is therefore given the variance that all
classes together have about their means, which is what `LinearDiscriminantAnalysis` assumes in
all directions; a class with a single row is thus a Gaussian of the common shape.
Directions in which no class varies are left out of all of them.  The certificate tells.  With P
the pooled covariance, Bᵀ P B = I, and L Lᵀ = Bᵀ Σₖ B of full column rank, N a basis of what L does
not span:

    Bᵀ Σₖ' B = L Lᵀ + N Nᵀ.

Reference: Friedman, "Regularized discriminant analysis" (1989).
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import qr, solve_triangular
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from suffice.fitting.base import Solved
from suffice.generative.discriminant import (
    OF_CLASSES,
    UP_TO_FOURTH,
    Discriminant,
    class_means,
    error_of_means,
    in_pieces,
    negligible,
)
from suffice.generative.discriminant_without import quadratic_without
from suffice.generative.principal_axes import PrincipalAxes, principal_axes, signed
from suffice.generative.shrinkage import Covariance, Rule, pooled, shrunk_covariance
from suffice.numerics.double_double import Array
from suffice.sources import Block

ALIGNED = 1e-10
"""Share of a direction of a class that must lie in those of all classes, for it to be one."""


class Shape(NamedTuple):
    """The shape of one class.

    Attributes
    ----------
    covariance : array of shape (columns, columns)
    whitening : array of shape (columns, rank)
        M with Σ⁻¹ = M Mᵀ.
    log_determinant : float
    """

    covariance: Array
    whitening: Array
    log_determinant: float


def shape_of(
    found: Covariance, own: PrincipalAxes, every: Covariance, common: PrincipalAxes
) -> Shape:
    """The shape of a class, completed by that of all classes where it does not vary.

    Parameters
    ----------
    found : Covariance
        Of the class.
    own : PrincipalAxes
        Its axes.
    every, common : Covariance, PrincipalAxes
        Of all classes together.
    """
    d, r = len(own.deviations), common.rank
    if own.rank == r == d:
        return Shape(found.rounded, own.whitening, own.log_determinant)
    spread = own.vectors * np.sqrt(own.values) * own.deviations[:, None]
    L = common.whitening.T @ spread
    sizes = np.linalg.norm(np.abs(common.whitening.T) @ np.abs(spread), axis=0)
    if own.rank > r:  # some of them are left out: what is there of all together
        L, sizes = qr(L.T, mode="economic")[1].T, np.full(r, sizes.max())
    Q, R, order = qr(L, pivoting=True)
    # Where the class varies, but hardly next to the others, nothing but rounding may be left.
    diagonal = np.abs(np.diagonal(R))
    k = int(np.cumprod(diagonal > ALIGNED * sizes[order][: len(diagonal)]).sum())
    inner = solve_triangular(R[:k, :k], np.eye(k)).T
    missing = every.rounded @ common.whitening @ Q[:, k:]
    logs = 2 * np.log(diagonal[:k]).sum() + common.log_determinant
    turned = np.concatenate([Q[:, :k] @ inner, Q[:, k:]], axis=1)
    covariance = found.rounded + missing @ missing.T
    return Shape(covariance, common.whitening @ turned, float(logs))


class QuadraticDiscriminantAnalysis(Discriminant):
    """Classes that are Gaussian, each with a mean and a covariance of its own.

    Parameters
    ----------
    solver : {"svd", "eigen"}, default="svd"
        Both are names of one solution.
    shrinkage : float in [0, 1], "auto" or None, default=None
        How far each covariance is drawn towards a multiple of the identity; "auto" estimates it
        for each class (Ledoit and Wolf).  Any solver takes it.
    priors : array of shape (classes,), optional
        Probabilities of the classes, in the labels' order; by default their shares of the
        rows' weight.
    reg_param : float in [0, 1], default=0.0
        r: each covariance becomes (1 − r) Σₖ + r I.
    store_covariance : bool, default=False
        Whether `covariance_` is kept.
    tol : float, default=1e-4
        Deviation, in columns divided by their own, up to which a class counts as constant in a
        direction.  Not used where covariances are shrunk or regularised.
    covariance_estimator : estimator, optional
        One of scikit-learn's EmpiricalCovariance, ShrunkCovariance, LedoitWolf and OAS, in
        place of `shrinkage`: others need the rows.
    exact : bool, default=False
        Keep the statistic in double-double from the start, so that forgetting loses nothing.
    n_jobs : int, optional
        Threads; by default what `suffice.config` says.

    Attributes
    ----------
    classes_ : array of shape (classes,)
    means_ : array of shape (classes, columns)
    priors_ : array of shape (classes,)
    covariance_ : list of arrays of shape (columns, columns)
        As they are used, with 1/Wₖ; only with `store_covariance`.
    rotations_ : list of arrays of shape (columns, rank)
        Principal axes of each class.
    scalings_ : list of arrays of shape (rank,)
        Variances along them, in descending order.
    statistics_ : LabelledMoments
    certificate_ : Certificate
    trace_ : Trace

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import QuadraticDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> model = QuadraticDiscriminantAnalysis().fit(X, y)
    >>> model.score(X, y)
    0.98
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "solver": [StrOptions({"svd", "eigen"})],
        "shrinkage": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both"), None],
        "priors": ["array-like", None],
        "reg_param": [Interval(Real, 0, 1, closed="both")],
        "store_covariance": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "covariance_estimator": [HasMethods("fit"), None],
        "exact": ["boolean"],
        "n_jobs": [None, Integral],
    }
    _refit_parameters: ClassVar[tuple[str, ...]] = (
        "solver",
        "shrinkage",
        "priors",
        "reg_param",
        "store_covariance",
        "tol",
        "covariance_estimator",
    )
    _saved_private = ("_whitenings", "_shifts", "_log_determinants", "_ranks")
    _whitenings: list[Array]
    """Mₖ with Σₖ⁻¹ = Mₖ Mₖᵀ."""
    _shifts: list[Array]
    """What rounding took from the means, times Mₖ: it counts where an offset is large."""
    _log_determinants: list[float]
    _ranks: list[int]
    """Directions in which each class varies by itself."""

    def __init__(
        self,
        *,
        solver: str = "svd",
        shrinkage: float | str | None = None,
        priors: ArrayLike | None = None,
        reg_param: float = 0.0,
        store_covariance: bool = False,
        tol: float = 1e-4,
        covariance_estimator: Any = None,
        exact: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.reg_param = reg_param
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator
        self.exact = exact
        self.n_jobs = n_jobs

    # --- fitting --------------------------------------------------------------------------

    def _needed(self) -> int:
        return UP_TO_FOURTH if self._rule().kind == "ledoit-wolf" else OF_CLASSES

    def _solve_classes(self, statistic: Any, rule: Rule) -> Solved:
        found = [
            shrunk_covariance(part, rule)[0].regularised(self.reg_param) for part in statistic.parts
        ]
        weight = statistic.weight.round()
        threshold = 0.0 if rule.shrinks or self.reg_param else self.tol**2
        axes = [principal_axes(one, threshold) for one in found]
        self._ranks = [one.rank for one in axes]
        every, common = found[0], axes[0]  # of no use where each class has all directions
        if min(self._ranks) < statistic.n_columns:
            every = pooled(found, weight / weight.sum())
            common = principal_axes(every, threshold)
        shapes = [shape_of(c, a, every, common) for c, a in zip(found, axes, strict=True)]
        self._set_shapes(shapes, common.rank)
        mean, rest, errors = class_means(statistic)
        low = ((mean - self.means_) + rest).round()
        self._shifts = [row @ M for row, M in zip(low, self._whitenings, strict=True)]
        error = max(one.relative_error for one in (common, *axes))
        least = negligible(self.means_)
        for one, covariance, centre in zip(errors, found, self.means_, strict=True):
            error = max(error, error_of_means(one[None], centre[None], covariance.variances))
            if covariance.hides(least):
                error = np.inf
        certificate = self._certificate(error, statistic.precision, self._notes(common))
        return Solved(certificate, self._objective(statistic, shapes))

    def _set_shapes(self, shapes: list[Shape], rank: int) -> None:
        self._whitenings = [np.ascontiguousarray(one.whitening) for one in shapes]
        self._log_determinants = [one.log_determinant for one in shapes]
        self.scalings_, self.rotations_ = [], []
        for one in shapes:
            values, vectors = np.linalg.eigh(one.covariance)
            self.scalings_.append(values[::-1][:rank].copy())
            self.rotations_.append(signed(np.ascontiguousarray(vectors[:, ::-1][:, :rank])))
        self.__dict__.pop("covariance_", None)
        if self.store_covariance:
            self.covariance_ = [np.ascontiguousarray(one.covariance) for one in shapes]

    def _notes(self, common: PrincipalAxes) -> list[str]:
        d = len(common.deviations)
        notes = []
        if common.rank < d:
            notes.append(
                f"the covariance of all classes together has rank {common.rank} of {d}: directions "
                "in which no class varies are left out"
            )
        singular = [
            f"{label} ({rank} of {d})"
            for label, rank in zip(self.classes_.tolist(), self._ranks, strict=True)
            if rank < common.rank
        ]
        if singular:
            names = ", ".join(singular[:5]) + (", …" if len(singular) > 5 else "")
            notes.append(
                f"singular covariances of {len(singular)} classes: {names}; "
                "where a class does not vary it has the variance of all classes together about "
                "their means (shrinkage and reg_param avoid this)"
            )
        return notes

    def _objective(self, statistic: Any, shapes: list[Shape]) -> float:
        """−Σ w log p(x, y), within the directions that are kept."""
        weight = statistic.weight.round()
        total = 0.0
        with np.errstate(divide="ignore"):
            logs = np.log(self.priors_)
        for moments, w, prior, one in zip(statistic.moments, weight, logs, shapes, strict=True):
            M = one.whitening
            squares = float(np.sum((moments.rounded_scatter @ M) * M))
            spread = M.shape[1] * np.log(2 * np.pi) + one.log_determinant
            total += 0.5 * (w * spread + squares) - w * prior
        return float(total)

    def _check_loaded(self) -> None:
        super()._check_loaded()
        if "classes_" not in vars(self):
            return
        k, d = self.means_.shape
        sizes = {len(self._whitenings), len(self._shifts), len(self._log_determinants)}
        if sizes != {k} or any(
            M.ndim != 2 or len(M) != d or M.dtype != float or shift.shape != M.shape[1:]
            for M, shift in zip(self._whitenings, self._shifts, strict=True)
        ):
            raise ValueError(f"its covariances do not fit {k} classes of {d} columns")

    # --- predicting -----------------------------------------------------------------------

    def _joint(self, rows: Any) -> Array:
        return in_pieces(rows, len(self.means_), self._densities)

    def _densities(self, rows: Any) -> Array:
        with np.errstate(divide="ignore"):
            out = np.tile(np.log(self.priors_), (rows.shape[0], 1))
        for k, constant in enumerate(self._log_determinants):
            half = self._standardised(rows, k)
            out[:, k] -= 0.5 * (np.einsum("ij,ij->i", half, half) + constant)
        return out

    def _standardised(self, rows: Any, k: int) -> Array:
        """(x − μₖ) Mₖ, whose squared length is the distance from class k."""
        return (rows - self.means_[k]) @ self._whitenings[k] - self._shifts[k]

    # --- leaving out ----------------------------------------------------------------------

    def _leave_one_out(self, block: Block) -> NDArray[np.float64]:
        """log p(x, y = k) of each row under the model fitted without that row.

        The rows are some of those of the fit.  A class whose only row leaves gets −∞.
        """
        return quadratic_without(self, self.statistics_, block)
