"""Elastic net: least squares with a penalty that makes coefficients zero.

    minimise over θ, b:   (1/2W) Σ wᵢ (yᵢ − θ·xᵢ − b)² + α (ρ ‖θ‖₁ + ½ (1 − ρ) ‖θ‖²),     W = Σ wᵢ

The squared error is a mean here, as in scikit-learn, while `Ridge` has a sum: its α is W times as
large for the same penalty.  The centred moments are sufficient, so the path of all α costs one
pass over the rows.  Where there are more columns than rows, or more than a matrix of columns by
columns can hold, a working set of columns takes the moments' place.

Reference: Zou and Hastie, "Regularization and variable selection via the elastic net" (2005).
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from suffice.fitting.certificate import Certificate
from suffice.fitting.one_pass import Solved
from suffice.fitting.requests import Found, Gather, Passes
from suffice.linear.lasso_solvers.from_columns import columns_of
from suffice.linear.lasso_solvers.from_moments import (
    SparseSolution,
    Strength,
    solve_path,
    targets_of,
)
from suffice.linear.least_squares.base import MOST_COLUMNS, LeastSquaresModel
from suffice.linear.least_squares.least_squares import wants_more_digits
from suffice.linear.least_squares.many_penalties import Line
from suffice.numerics.double_double import Array
from suffice.sources import Source
from suffice.statistics.moments.full import NOTHING, Moments

BEYOND_FLOAT64 = (
    "the coefficients are beyond float64's range: a column is too small, or the target "
    "or the weights are too large; rescale them"
)


class PenaltyPath(NamedTuple):
    """Solutions along a list of penalties.

    Attributes
    ----------
    alphas : array of shape (alphas,)
    coefs : array of shape (alphas, columns) or (alphas, targets, columns)
    intercepts : array of shape (alphas,) or (alphas, targets)
    gaps : array of shape (alphas,)
        How far each is from the optimum of its objective, at most.
    """

    alphas: Array
    coefs: Array
    intercepts: Array
    gaps: Array


class ElasticNet(LeastSquaresModel):
    """Linear regression with an absolute and a squared penalty on the coefficients.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty, not negative.  The squared error is a mean: with `l1_ratio=0`,
        `Ridge(alpha=a)` is the same as `alpha=a / rows`.
    l1_ratio : float, default=0.5
        ρ, the share of the absolute penalty: 1 is the lasso, 0 a ridge.
    fit_intercept : bool, default=True
        Whether the model has a constant term, which is not penalised.
    precompute : bool or array, default=False
        Accepted for compatibility: the products of the columns are the statistic.
    max_iter : int, default=10000
        Most sweeps of coordinate descent over a working set.
    copy_X : bool, default=True
        Accepted for compatibility: the input is never overwritten.
    tol : float, default=1e-8
        Duality gap, relative to the target's mean square, up to which the certificate holds.
    warm_start : bool, default=False
        Accepted for compatibility: the solution does not depend on where the search begins.
    positive : bool, default=False
        Whether coefficients may not be negative.
    random_state : int, optional
        Accepted for compatibility: nothing here is random.
    selection : {"cyclic", "random"}, default="cyclic"
        Accepted for compatibility: the solution does not depend on the order of the columns.
    standardize : bool, default=False
        Penalise coefficients of columns in units of their standard deviation.  The
        coefficients are reported in the user's units either way.
    solver : {"auto", "moments", "working_set"}, default="auto"
        From the moments of all columns, or on a working set of columns with all rows in memory.
        The shape of the data decides by default.
    exact : bool, default=False
        Keep the statistic in double-double from the start, so that `forget` has digits to
        spare.  Takes about eight times as long.

    Attributes
    ----------
    coef_ : array of shape (columns,) or (targets, columns)
    intercept_ : float or array of shape (targets,)
    sparse_coef_ : sparse matrix of shape (1, columns) or (targets, columns)
    dual_gap_ : float or array of shape (targets,)
        How far the objective is from its minimum, at most.
    n_iter_ : int or list of int
        Sweeps of coordinate descent.
    statistics_ : Moments
        Moments of the columns, then the targets; absent with a working set.
    certificate_ : Certificate
    trace_ : Trace

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from suffice import ElasticNet
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ElasticNet(alpha=0.01, l1_ratio=0.9).fit(X, y)
    >>> round(model.score(X, y), 4)
    0.4906
    >>> model.path(n_alphas=20).coefs.shape
    (20, 10)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "fit_intercept": ["boolean"],
        "precompute": ["boolean", "array-like"],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "copy_X": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "warm_start": ["boolean"],
        "positive": ["boolean"],
        "random_state": ["random_state"],
        "selection": [StrOptions({"cyclic", "random"})],
        "standardize": ["boolean"],
        "solver": [StrOptions({"auto", "moments", "working_set"})],
        "exact": ["boolean"],
    }
    _refit_parameters: ClassVar[tuple[str, ...]] = (
        "alpha", "l1_ratio", "fit_intercept", "positive", "standardize",
    )  # fmt: skip
    _saved_private = ("_sweeps", "_gaps")
    _has_leverages = False
    _sweeps: list[int]
    _gaps: Array

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        precompute: Any = False,
        max_iter: int | None = 10_000,
        copy_X: bool = True,
        tol: float = 1e-8,
        warm_start: bool = False,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
        standardize: bool = False,
        solver: str = "auto",
        exact: bool = False,
    ) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.copy_X = copy_X
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.standardize = standardize
        self.solver = solver
        self.exact = exact

    def _strength(self, alpha: float | None = None) -> Strength:
        return Strength(
            float(self.alpha if alpha is None else alpha),
            float(self.l1_ratio),
            bool(self.positive),
            bool(self.standardize),
            int(self.max_iter or 10_000),
        )

    # --- fitting --------------------------------------------------------------------------

    def _validate_params(self) -> None:
        # Not that of least squares, which has no solver for positive coefficients.
        super(LeastSquaresModel, self)._validate_params()

    def _alphas(self, n_targets: int) -> Array:
        return np.full(n_targets, float(self.alpha))

    def _shape_of_target(self, source: Source) -> tuple[int, ...]:
        # One column counts as one target, as in scikit-learn.
        return () if source.target_shape == (1,) else source.target_shape

    def _joins_folds(self, source: Source) -> bool:
        if self.solver == "moments" and source.n_columns > MOST_COLUMNS:
            raise ValueError(
                f"solver='moments' would need a matrix of {source.n_columns} by "
                f"{source.n_columns} numbers: use solver='auto', or {MOST_COLUMNS} columns at most"
            )
        if self.solver == "auto":
            return super()._joins_folds(source)
        return self.solver == "moments"

    def _solve(self, moments: Moments, final: bool) -> Solved | None:
        if not moments.count:
            raise ValueError(NOTHING)
        if not final and wants_more_digits(moments):
            return None
        self._fitted_intercept = self.fit_intercept
        targets = targets_of(moments, self._n_targets(), self.fit_intercept, final)
        solutions = [target.solve(self._strength()) for target in targets]
        if any(solution is None for solution in solutions):
            return None
        return self._adopt([s for s in solutions if s is not None], "moments")

    def _on_rows(self, source: Source) -> Passes:
        rows = yield Gather("working set", learned=self._fitted_attributes)
        self._fitted_intercept = self.fit_intercept
        columns = columns_of(rows, self.fit_intercept, self._n_jobs())
        targets = [columns.target(t) for t in range(self._n_targets())]
        solutions = [target.solve(self._strength()) for target in targets]
        # Where the targets differ, the way that was needed for the hardest.
        way = max((target.way for target in targets), key=lambda way: "residual" in way)
        return Found({}, *self._adopt(solutions, way)[:2])

    _by_conjugate_gradients = _on_rows

    def _adopt(self, solutions: Sequence[SparseSolution], way: str) -> Solved:
        coef = np.stack([s.coef for s in solutions])
        intercept = np.array([s.intercept for s in solutions])
        if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
            raise ValueError(BEYOND_FLOAT64)
        self.coef_ = coef.reshape(*self._target_shape, coef.shape[1])
        self.intercept_ = self._shaped(intercept) if self.fit_intercept else 0.0
        self._sweeps = [max(s.sweeps, 1) for s in solutions]
        self._gaps = np.array([s.gap for s in solutions])
        certificate = _certificate(solutions, float(self.tol), way)
        return Solved(certificate, sum(s.objective for s in solutions))

    @property
    def n_iter_(self) -> Any:
        """Sweeps of coordinate descent, for each target if there are several."""
        check_is_fitted(self)
        return self._sweeps if self._target_shape else self._sweeps[0]

    @property
    def dual_gap_(self) -> Any:
        """How far the objective is from its minimum, at most."""
        check_is_fitted(self)
        return self._gaps if self._target_shape else float(self._gaps[0])

    @property
    def sparse_coef_(self) -> Any:
        """The coefficients as a sparse matrix with a row for each target."""
        check_is_fitted(self)
        return sparse.csr_matrix(np.atleast_2d(self.coef_))

    # --- many penalties -------------------------------------------------------------------

    def path(
        self, alphas: ArrayLike | None = None, *, eps: float = 1e-3, n_alphas: int = 100
    ) -> PenaltyPath:
        """Solutions for other strengths of the penalty, from the statistic alone.

        Parameters
        ----------
        alphas : array of shape (alphas,), optional
            Not negative.  By default `n_alphas` numbers in geometric progression, from the
            smallest that leaves no coefficient down to `eps` times that.
        eps : float, default=1e-3
        n_alphas : int, default=100

        Returns
        -------
        PenaltyPath
            Arrays `alphas`, `coefs`, `intercepts` and `gaps`.
        """
        check_is_fitted(self)
        targets = targets_of(
            self._kept(), self._n_targets(), self._fitted_intercept, True, quick=True
        )
        if alphas is None:
            unit = self._strength()
            top = max(target.strongest(unit) for target in targets)
            alphas = alpha_grid(top, eps, n_alphas)
        alphas = np.asarray(alphas, dtype=np.float64)
        if alphas.ndim != 1 or not (np.isfinite(alphas) & (alphas >= 0)).all():
            raise ValueError("alphas must be a list of finite numbers that are not negative")
        strengths = [self._strength(alpha) for alpha in alphas.tolist()]
        paths: list[Any] = [solve_path(target, strengths) for target in targets]
        shape = (len(alphas), *self._target_shape)
        coefs = np.array([[s.coef for s in path] for path in paths]).swapaxes(0, 1)
        intercepts = np.array([[s.intercept for s in path] for path in paths]).T
        gaps = np.array([[s.gap for s in path] for path in paths]).max(axis=0)
        return PenaltyPath(alphas, coefs.reshape(*shape, -1), intercepts.reshape(shape), gaps)

    @classmethod
    def _solve_grid(cls, models: Sequence[ElasticNet], moments: Moments) -> list[Line] | None:
        """What models of many penalties predict, fitted to the same moments."""
        groups: dict[tuple[Any, ...], list[int]] = {}
        for i, model in enumerate(models):
            strength = model._strength()
            key = (bool(model.fit_intercept), *strength[1:], model.tol)
            groups.setdefault(key, []).append(i)
        lines: dict[int, Line] = {}
        anyway = moments.precision == "double-double"
        for key, members in groups.items():
            targets = targets_of(moments, models[0]._n_targets(), key[0], anyway, quick=True)
            strengths = [models[i]._strength() for i in members]
            paths = [solve_path(target, strengths) for target in targets]
            if any(path is None for path in paths):
                return None
            for place, i in enumerate(members):
                solutions = [path[place] for path in paths if path is not None]
                lines[i] = Line(
                    np.stack([s.coef for s in solutions], axis=1),
                    np.array([s.intercept for s in solutions]),
                    all(s.reaches(models[i].tol) for s in solutions),
                )
        return [lines[i] for i in range(len(models))]


def alpha_grid(top: float, eps: float, n_alphas: int) -> Array:
    """`n_alphas` strengths from the top down to `eps` times it, in geometric progression."""
    if not 0 < eps < 1:
        raise ValueError(f"eps must be between 0 and 1, got {eps!r}")
    if not isinstance(n_alphas, Integral) or n_alphas < 1:
        raise ValueError(f"n_alphas must be a whole number above 0, got {n_alphas!r}")
    tiny = float(np.finfo(np.float64).resolution)
    if top <= tiny:
        return np.full(int(n_alphas), tiny)
    return np.geomspace(top, top * eps, num=int(n_alphas))


def _certificate(solutions: Sequence[SparseSolution], tol: float, way: str) -> Certificate:
    """What the solutions of all targets prove."""
    holds = all(s.reaches(tol) for s in solutions)
    gap = max(s.gap for s in solutions)
    measures = {
        "gap": gap,
        "relative_gap": max(s.gap / s.scale if s.scale > 0 else s.gap for s in solutions),
        "kkt": max(s.violation for s in solutions),
        "support": float(sum(s.support for s in solutions)),
        "sweeps": float(max(s.sweeps for s in solutions)),
    }
    digits = min(s.digits for s in solutions)
    if np.isfinite(digits):
        measures["digits"] = digits
        measures["condition"] = max(s.condition for s in solutions)
    notes = []
    if all(s.least_squares for s in solutions):
        notes.append("there is no absolute penalty: this is least squares, or a ridge")
    if any(s.rank is not None and s.rank < len(s.coef) for s in solutions):
        notes.append("the columns depend on each other: the solution of smallest norm was taken")
    elif not all(s.certain for s in solutions):
        notes.append(
            "a column is on the brink of joining or leaving the support: which ones are in it is "
            "not certain, or not unique"
        )
    if not holds:
        if not all(s.rests for s in solutions):
            notes.append("the coordinates were still moving: raise max_iter")
        notes.append("raise tol, or alpha, or bring the columns to comparable units")
    claim = f"the objective is at most {gap:.1e} above its minimum"
    path = f"coordinate descent on {way}, then the linear system of the support"
    return Certificate(holds, claim, path, measures, tuple(notes))
