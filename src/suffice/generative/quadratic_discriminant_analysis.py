"""Quadratic discriminant analysis: a Gaussian for each class.

    p(x, y = k) = πₖ N(x; μₖ, Σₖ),      Σₖ = (1/Wₖ) Σ wᵢ (xᵢ − μₖ)(xᵢ − μₖ)ᵀ  over class k

    log p(x, y = k) = −½ [(x − μₖ)ᵀ Σₖ⁻¹ (x − μₖ) + log |Σₖ|] + log πₖ + constant

Weight, mean and scatter of each class are sufficient.  Against few rows, Σₖ is shrunk
(`suffice.generative.discriminant.covariance`) or regularised, (1 − r) Σₖ + r I with `reg_param` r.

**Where Σₖ is singular** (a class with no more rows than columns, a column that is constant in it),
it is completed by the covariance of all classes together
(`suffice.generative.discriminant.axes`).

**Fewer rows than columns.**  Beyond a thousand columns, all of this happens within the span of the
rows (`suffice.generative.discriminant.more_columns_than_rows`).

Reference: Friedman, "Regularized discriminant analysis" (1989).
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from suffice.engines.workers import one_blas_thread
from suffice.fitting.one_pass import Solved
from suffice.generative.discriminant.axes import principal_axes, shape_of, signed
from suffice.generative.discriminant.base import (
    OF_CLASSES,
    UP_TO_FOURTH,
    Discriminant,
    class_means,
    error_of_means,
    half_distances,
    in_pieces,
)
from suffice.generative.discriminant.covariance import (
    Shrinkage,
    negligible,
    note_of_doubt,
    pooled,
    shrunk_covariance,
)
from suffice.generative.discriminant.more_columns_than_rows import (
    ClassRows,
    of_each_class,
    wide_shapes,
)
from suffice.generative.discriminant.whitening import Frame, Stretch
from suffice.generative.leave_one_out.discriminants import quadratic_without
from suffice.numerics.cached import cached_property
from suffice.numerics.double_double import Array
from suffice.sources import Block
from suffice.statistics.moments.by_class import ClassMoments


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
        Principal axes of each class, found when they are first asked for.
    scalings_ : list of arrays of shape (rank,)
        Variances along them, in descending order.
    statistics_ : LabelledMoments
        Not kept of fewer rows than columns, beyond 1024 columns.
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
        **Discriminant._parameter_constraints,
        "solver": [StrOptions({"svd", "eigen"})],
        "reg_param": [Interval(Real, 0, 1, closed="both")],
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
    _saved_private = (
        "_whitenings",
        "_frame",
        "_shifts",
        "_log_determinants",
        "_ranks",
        "_covariances",
    )
    _whitenings: list[Array | Frame | Stretch]
    """Mₖ with Σₖ⁻¹ = Mₖ Mₖᵀ; a stretch is what follows the frame of all classes."""
    _frame: Frame | None
    _shifts: list[Array]
    """What rounding took from the means, times Mₖ: it counts where an offset is large."""
    _log_determinants: list[float]
    _ranks: list[int]
    """Directions in which each class varies by itself."""
    _covariances: list[Array]
    """Σₖ, from which axes are found when they are asked for; none where frames tell them."""

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

    def _solve_classes(self, statistic: Any, rule: Shrinkage) -> tuple[Solved, float]:
        found = [
            shrunk_covariance(part, rule)[0].regularised(self.reg_param) for part in statistic.parts
        ]
        weight = statistic.weight.round()
        full = rule.shrinks or self.reg_param > 0
        threshold = 0.0 if full else self.tol**2
        most = np.full(len(found), statistic.n_columns) if full else statistic.rows - 1
        axes = [principal_axes(one, threshold, int(r)) for one, r in zip(found, most, strict=True)]
        self._ranks = [one.rank for one in axes]
        every, common = found[0], axes[0]  # of no use where each class has all directions
        if min(self._ranks) < statistic.n_columns:
            every = pooled(found, weight / weight.sum())
            common = principal_axes(every, threshold, int(most.sum()))
        shapes = [shape_of(c, a, every, common) for c, a in zip(found, axes, strict=True)]
        self._whitenings = [np.ascontiguousarray(one.whitening) for one in shapes]
        self._frame = None
        self._log_determinants = [one.log_determinant for one in shapes]
        self._set_covariances([np.ascontiguousarray(one.covariance) for one in shapes])
        error = max(one.relative_error for one in (common, *axes))
        unseen = negligible(self.means_)
        if any(covariance.hides(unseen) for covariance in found):
            error = np.inf
        error = max(error, self._set_shifts(statistic, [one.variances for one in found]))
        squares = [
            float(np.sum((moments.rounded_scatter @ one.whitening) * one.whitening))
            for moments, one in zip(statistic.moments, shapes, strict=True)
        ]
        notes = self._notes(common.rank) + note_of_doubt(found)
        certificate = self._certificate(error, statistic.precision, notes)
        least = max(one.least_error for one in (common, *axes))
        return Solved(certificate, self._objective(weight, squares)), least

    def _solve_rows(self, classes: ClassMoments, rows: ClassRows) -> Solved:
        rule, weight = self._rule(), classes.weight.round()
        parts = of_each_class(rows, classes, rule, self.reg_param)
        tol = 0.0 if rule.shrinks or self.reg_param else self.tol
        shapes = wide_shapes(parts, weight / weight.sum(), tol)
        self._whitenings, self._frame, self._ranks = [*shapes.own], shapes.common, shapes.ranks
        self._log_determinants = shapes.log_determinants
        self._set_covariances([])
        variances = [one.spread.variances for one in parts]
        error = max(shapes.error, self._set_shifts(classes, variances))
        squares = [
            float(rows.weight[mine] @ np.square(self._whitened(rows.away[mine], k)).sum(axis=1))
            for k, mine in enumerate(rows.codes == k for k in range(len(weight)))
        ]
        certificate = self._certificate(error, classes.precision, self._notes(shapes.rank))
        return Solved(certificate, self._objective(weight, squares))

    def _set_shifts(self, statistic: Any, variances: list[Array]) -> float:
        """Set what rounding took from the means, and return a bound on their relative error."""
        mean, rest, errors = class_means(statistic)
        low = ((mean - self.means_) + rest).round()
        self._shifts = [self._whitened(row[None], k)[0] for k, row in enumerate(low)]
        return max(
            error_of_means(one[None], centre[None], own)
            for one, centre, own in zip(errors, self.means_, variances, strict=True)
        )

    def _set_covariances(self, covariances: list[Array]) -> None:
        for name in ("covariance_", "_axes"):
            self.__dict__.pop(name, None)
        self._covariances = covariances
        if self.store_covariance:
            frames = range(len(self._whitenings))
            self.covariance_ = covariances or [
                frame.covariance(own) for frame, own in map(self._framed, frames)
            ]
            self._covariances = []

    def _framed(self, k: int) -> tuple[Frame, Stretch | None]:
        """The frame of class k, and what follows it."""
        own = self._whitenings[k]
        if isinstance(own, Frame):
            return own, None
        assert self._frame is not None
        assert isinstance(own, Stretch)
        return self._frame, own

    @cached_property
    def _axes(self) -> list[tuple[Array, Array]]:
        """Variances along the principal axes of each class, and these: found when asked for."""
        found = []
        with one_blas_thread():
            for k, M in enumerate(self._whitenings):
                if isinstance(M, np.ndarray):
                    every = self._covariances or self.covariance_
                    values, vectors = np.linalg.eigh(every[k])
                    values, vectors = values[::-1], vectors[:, ::-1]
                else:
                    frame, own = self._framed(k)
                    values, vectors = frame.axes(own)
                rank = len(self._shifts[k])
                kept = signed(np.ascontiguousarray(vectors[:, :rank]))
                found.append((values[:rank].copy(), kept))
        return found

    @property
    def scalings_(self) -> list[Array]:
        """Variances of each class along its principal axes, in descending order."""
        return [values for values, _ in self._axes]

    @property
    def rotations_(self) -> list[Array]:
        """Principal axes of each class, as columns."""
        return [vectors for _, vectors in self._axes]

    def _notes(self, kept: int) -> list[str]:
        d = self.means_.shape[1]
        notes = []
        if kept < d:
            notes.append(
                f"the covariance of all classes together has rank {kept} of {d}: directions "
                "in which no class varies are left out"
            )
        singular = [
            f"{label} ({rank} of {d})"
            for label, rank in zip(self.classes_.tolist(), self._ranks, strict=True)
            if rank < kept
        ]
        if singular:
            names = ", ".join(singular[:5]) + (", …" if len(singular) > 5 else "")
            avoided = self.reg_param > 0 or self._rule().shrinks
            notes.append(
                f"singular covariances of {len(singular)} classes: {names}; "
                "where a class does not vary it has the variance of all classes together about "
                "their means" + ("" if avoided else " (shrinkage and reg_param avoid this)")
            )
        return notes

    def _objective(self, weight: Array, squares: list[float]) -> float:
        """−Σ w log p(x, y), within the directions that are kept."""
        total = 0.0
        with np.errstate(divide="ignore"):
            logs = np.log(self.priors_)
        for k, (w, square, prior) in enumerate(zip(weight, squares, logs, strict=True)):
            spread = len(self._shifts[k]) * np.log(2 * np.pi) + self._log_determinants[k]
            total += 0.5 * (w * spread + square) - w * prior
        return float(total)

    def _check_loaded(self) -> None:
        if "classes_" not in vars(self):
            return
        k, d = self.means_.shape
        every = self._covariances or vars(self).get("covariance_", [])
        sizes = {len(self._whitenings), len(self._shifts), len(self._log_determinants)}
        if sizes != {k} or len(every) not in (0, k) or not all(map(self._fits, range(k))):
            raise ValueError(f"its covariances do not fit {k} classes of {d} columns")

    def _fits(self, k: int) -> bool:
        """Whether what a file holds of class k has the shapes of one class."""
        M, shift, d = self._whitenings[k], self._shifts[k], self.means_.shape[1]
        every = self._covariances or vars(self).get("covariance_", [])
        if every and (every[k].shape != (d, d) or every[k].dtype != float):
            return False
        if isinstance(M, Stretch):  # it follows the frame
            frame: Any = self._frame
            return frame.shape == (d, M.shape[0]) and M.shape[1:] == shift.shape
        known = bool(every) and M.dtype == float if isinstance(M, np.ndarray) else True
        return known and M.shape == (d, *shift.shape)

    # --- predicting -----------------------------------------------------------------------

    def _joint(self, rows: Any) -> Array:
        return in_pieces(rows, len(self.means_), self._densities)

    def _densities(self, rows: Any) -> Array:
        with np.errstate(divide="ignore"):
            constants = np.log(self.priors_) - 0.5 * np.asarray(self._log_determinants)
        return constants - half_distances(rows, len(constants), self._standardised)

    def _standardised(self, rows: Any, k: int) -> Array:
        """(x − μₖ) Mₖ, whose squared length is the distance from class k."""
        return self._whitened(rows - self.means_[k], k) - self._shifts[k]

    def _whitened(self, away: Array, k: int) -> Array:
        """Rows times Mₖ."""
        own = self._whitenings[k]
        if isinstance(own, Stretch):
            away = away @ self._frame  # type: ignore[operator]
        return np.asarray(away @ own)

    # --- leaving out ----------------------------------------------------------------------

    def _leave_one_out(self, block: Block) -> NDArray[np.float64]:
        return quadratic_without(self, self.statistics_, block)
