"""Linear discriminant analysis.

    p(x, y = k) = πₖ N(x; μₖ, Σ),      Σ = (1/W) Σᵢ wᵢ (xᵢ − μ_{yᵢ})(xᵢ − μ_{yᵢ})ᵀ

The classes share one covariance, so log p(y = k | x) is linear in x up to a common term:

    wₖ·(x − x̄) + bₖ,      wₖ = Σ⁻¹ (μₖ − x̄),      bₖ = −½ wₖ·(μₖ − x̄) + log πₖ,

with x̄ = Σ πₖ μₖ.  For two classes the boundary is w·x + w₀ = 0 with w = Σ⁻¹ (μ₁ − μ₀).  Means,
weights and one scatter about the means are sufficient: the moments that least squares go by.

**Directions.**  Those in which the classes are furthest apart for their spread maximise
vᵀ B v / vᵀ Σ v with B the covariance between classes
(`suffice.generative.discriminant.directions`).

**Where Σ is singular** (fewer rows than columns, columns that depend on others), Σ⁻¹ is the
pseudo-inverse: directions in which no class varies are left out, and the certificate tells.

**Fewer rows than columns.**  Beyond a thousand columns no d × d matrix is made.  With A the rows
less the means of their classes, Σ = Aᵀ A + diag(t): each class is shrunk by an amount of its own,
towards variances of its own, and the sum of what they are shrunk towards is a diagonal again.
Columns divided by √t make Σ the identity but for the span of the rows, and that is solved from
their singular values (`suffice.generative.discriminant.more_columns_than_rows`).

References: Fisher, "The use of multiple measurements in taxonomic problems" (1936); Hastie,
Tibshirani and Friedman, "The Elements of Statistical Learning" (2009), section 4.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils._set_output import _wrap_data_with_container
from sklearn.utils.validation import check_is_fitted

from suffice.engines.workers import one_blas_thread
from suffice.fitting.one_pass import Solved
from suffice.fitting.transforming import SourceTransformer
from suffice.generative.discriminant.axes import principal_axes
from suffice.generative.discriminant.base import (
    OF_CLASSES,
    POOLED,
    UP_TO_FOURTH,
    Discriminant,
    half_distances,
    in_pieces,
)
from suffice.generative.discriminant.covariance import (
    Shrinkage,
    negligible,
    note_of_doubt,
    shrunk_covariance,
    within_covariance,
)
from suffice.generative.discriminant.directions import (
    DiscriminantDirections,
    directions_of,
    wide_directions,
)
from suffice.generative.discriminant.linear import objective, solve_linear
from suffice.generative.discriminant.more_columns_than_rows import (
    ClassRows,
    of_all_rows,
    whitened,
    within_classes,
)
from suffice.generative.discriminant.whitening import Frame
from suffice.generative.leave_one_out.discriminants import linear_without
from suffice.numerics.double_double import Array
from suffice.sources import Block, MappedSource, Source
from suffice.statistics.moments.by_class import ClassMoments


class LinearDiscriminantAnalysis(ClassNamePrefixFeaturesOutMixin, SourceTransformer, Discriminant):
    """Classes that are Gaussian with means of their own and one covariance.

    Parameters
    ----------
    solver : {"svd", "lsqr", "eigen"}, default="svd"
        All are names of one solution.  They differ where scikit-learn's do: with `priors`,
        "lsqr" and "eigen" weigh the classes' covariances by them; with `shrinkage`, the
        directions of "eigen" shrink the variance between classes too.
    shrinkage : float in [0, 1], "auto" or None, default=None
        How far the covariance is drawn towards a multiple of the identity; "auto" estimates it
        for each class (Ledoit and Wolf).  Any solver takes it.
    priors : array of shape (classes,), optional
        Probabilities of the classes, in the labels' order; by default their shares of the
        rows' weight.
    n_components : int, optional
        Directions that `transform` returns; by default as many as there are, at most the
        lesser of columns and classes − 1.
    store_covariance : bool, default=False
        Whether `covariance_` is kept with solver "svd"; with the others it always is.
    tol : float, default=1e-4
        Deviation, in columns divided by their own, up to which a direction counts as one in
        which the classes do not vary.  Not used where the covariance is shrunk.
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
    coef_ : array of shape (classes, columns)
        wₖ; for two classes w, of shape (1, columns).
    intercept_ : array of shape (classes,)
        bₖ − wₖ·x̄; for two classes w₀, of shape (1,).
    means_ : array of shape (classes, columns)
    priors_ : array of shape (classes,)
    xbar_ : array of shape (columns,)
    covariance_ : array of shape (columns, columns)
        Σ, with 1/W.  Of fewer rows than columns, beyond 1024 columns, it is made when it is first
        asked for.
    scalings_ : array of shape (columns, rank)
        Directions v with vᵀ Σ v = 1, by descending variance between classes.
    explained_variance_ratio_ : array of shape (components,)
        Share of the variance between classes along each.
    statistics_ : PooledMoments or LabelledMoments
        Not kept of fewer rows than columns, beyond 1024 columns.
    certificate_ : Certificate
    trace_ : Trace

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import LinearDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearDiscriminantAnalysis().fit(X, y)
    >>> model.score(X, y)
    0.98
    >>> model.explained_variance_ratio_.round(4)
    array([0.9912, 0.0088])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Discriminant._parameter_constraints,
        "solver": [StrOptions({"svd", "lsqr", "eigen"})],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
    }
    _refit_parameters: ClassVar[tuple[str, ...]] = (
        "solver",
        "shrinkage",
        "priors",
        "n_components",
        "store_covariance",
        "tol",
        "covariance_estimator",
    )
    _saved_private = ("_constant", "_n_features_out", "_frame", "_whitening", "_shifts")
    _constant: Array
    """bₖ; for two classes their difference."""
    _n_features_out: int
    _frame: Frame | None
    """M with Σ⁻¹ = M Mᵀ, where Σ is to be told when it is asked for."""
    _whitening: Array | Frame | None
    """M, where classes are so far apart that predictions go by distances."""
    _shifts: Array
    """What rounding took from the means, times M."""
    covariance_: Array

    def __init__(
        self,
        solver: str = "svd",
        shrinkage: float | str | None = None,
        priors: ArrayLike | None = None,
        n_components: int | None = None,
        store_covariance: bool = False,
        tol: float = 1e-4,
        covariance_estimator: Any = None,
        *,
        exact: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.n_components = n_components
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator
        self.exact = exact
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # --- fitting --------------------------------------------------------------------------

    def _weighs_by_priors(self) -> bool:
        return self.priors is not None and self.solver != "svd"

    def _needed(self) -> int:
        rule = self._rule()
        if rule.kind == "ledoit-wolf":
            return UP_TO_FOURTH
        return POOLED if rule.is_linear and not self._weighs_by_priors() else OF_CLASSES

    def _shares(self) -> Array | None:
        """Of the classes' covariances in Σ, where they are not those of the rows' weight."""
        return self.priors_ if self._weighs_by_priors() else None

    def _turns_by_difference(self, rule: Shrinkage) -> bool:
        """Whether directions come from the covariance of all rows less that within classes."""
        return self.solver == "eigen" and (rule.shrinks or self.priors is not None)

    def _solve_rows(self, classes: ClassMoments, rows: ClassRows) -> Solved:
        rule = self._rule()
        found = within_classes(rows, classes, rule, self._shares())
        axes = whitened(found, 0.0 if rule.shrinks else self.tol)
        directions = None
        # Where nothing is known of the covariance, squares of its scales may be no numbers.
        if self._turns_by_difference(rule) and np.isfinite(axes.relative_error):
            total = of_all_rows(rows, classes, rule)
            k, d = self.means_.shape
            directions = wide_directions(total, axes.whitening, min(k - 1, d))
        half = (rows.away * np.sqrt(rows.weight)[:, None]) @ axes.whitening
        squares = float(np.square(half).sum())
        solved = self._set(classes, axes, found.spread.variances, directions, squares)
        if self.store_covariance or self.solver != "svd":
            self._frame = axes.whitening
        return solved

    def _solve_classes(self, statistic: Any, rule: Shrinkage) -> tuple[Solved, float]:
        found = within_covariance(statistic, rule, self._shares())
        most = None if rule.shrinks else int((statistic.rows - 1).sum())
        axes = principal_axes(found, 0.0 if rule.shrinks else self.tol**2, most)
        if found.hides(negligible(self.means_)):
            axes = replace(axes, error=np.inf)
        directions = None
        if self._turns_by_difference(rule):
            total, _ = shrunk_covariance(statistic.total, rule)
            directions = directions_of(total.rounded - found.rounded, axes)
        squares = float(statistic.weight.sum().hi) * axes.rank
        if rule.shrinks or self._weighs_by_priors():
            B = axes.whitening
            squares = float(np.sum((statistic.within.rounded_scatter @ B) * B))
        doubt = note_of_doubt([found])
        solved = self._set(statistic, axes, found.variances, directions, squares, doubt)
        if self.store_covariance or self.solver != "svd":
            self.covariance_ = np.ascontiguousarray(found.rounded)
        return solved, axes.least_error

    def _set(
        self,
        statistic: Any,
        axes: Any,
        variances: Array,
        directions: DiscriminantDirections | None,
        squares: float,
        notes: Sequence[str] = (),
    ) -> Solved:
        """Set lines and directions; `squares` is Σ w (x − μ)ᵀ Σ⁻¹ (x − μ) over the rows."""
        k, d = self.means_.shape
        most = min(k - 1, d)
        components = self._components(most)
        self.__dict__.pop("covariance_", None)
        self._frame = None
        found = solve_linear(statistic, self.priors_, axes, variances, self.tol, directions)
        coef, constant = found.coef, found.constant
        if k == 2:
            coef, constant = coef[1:] - coef[:1], constant[1:] - constant[:1]
        self.xbar_, self.coef_, self._constant = found.centre, np.ascontiguousarray(coef), constant
        self.intercept_ = constant - coef @ found.centre
        self._whitening, self._shifts = found.whitening, found.shifts
        scalings, ratios = found.directions
        self.scalings_ = np.ascontiguousarray(scalings[:, :most])
        self.explained_variance_ratio_ = ratios[:components].copy()
        self._n_features_out = min(scalings.shape[1], components)
        every = [*self._notes(axes, d), *notes]
        certificate = self._certificate(found.error, statistic.precision, every)
        return Solved(certificate, objective(statistic.weight.round(), self.priors_, axes, squares))

    def __getattr__(self, name: str) -> Any:
        frame = vars(self).get("_frame")
        if name != "covariance_" or frame is None:
            return super().__getattr__(name)
        with one_blas_thread():
            self.covariance_ = np.asarray(frame.covariance())
        return self.covariance_

    def _components(self, most: int) -> int:
        if self.n_components is None:
            return most
        if self.n_components > most:
            raise ValueError(
                "n_components cannot be larger than min(n_features, n_classes - 1), which is "
                f"{most} here; got {self.n_components}"
            )
        return int(self.n_components)

    def _notes(self, axes: Any, d: int) -> list[str]:
        notes = []
        if axes.rank < d:
            notes.append(
                f"the covariance within classes has rank {axes.rank} of {d}: directions in which "
                "the classes do not vary are left out (pseudo-inverse)"
            )
        if len(self.classes_) > 1 and not self._n_features_out:
            notes.append("the means of the classes cannot be told apart: there is no direction")
        return notes

    _shapes = (
        "coef_(scores, columns) intercept_(scores) _constant(scores) xbar_(columns) "
        "scalings_(columns, axes) _shifts(classes, rank)"
    )

    def _check_loaded(self) -> None:
        for name in ("_frame", "_whitening"):
            map_: Any = vars(self).get(name)
            kinds = Frame if name == "_frame" else Frame | np.ndarray
            fits = isinstance(map_, kinds) and map_.shape[0] == self.n_features_in_
            if map_ is not None and not fits:
                raise ValueError(f"its covariance does not fit {self.n_features_in_} columns")
        shifts, whitening = vars(self).get("_shifts"), vars(self).get("_whitening")
        rank = 0 if whitening is None else whitening.shape[-1]
        if shifts is not None and shifts.shape[-1] != rank:
            raise ValueError(f"its _shifts do not fit {rank} directions")

    # --- predicting -----------------------------------------------------------------------

    def _scores(self, rows: Any) -> Array:
        scores = in_pieces(rows, len(self.coef_), self._lines)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def _lines(self, rows: Any) -> Array:
        # About x̄: a large offset would cost digits of the products.
        with np.errstate(over="ignore", invalid="ignore"):  # of rows at the end of the range
            return (rows - self.xbar_) @ self.coef_.T + self._constant

    def _joint(self, rows: Any) -> Array:
        if self._whitening is not None:
            return in_pieces(rows, len(self.means_), self._densities)
        scores = self._scores(rows)
        if len(self.classes_) == 2:
            return np.column_stack([np.zeros_like(scores), scores])
        return scores

    def _densities(self, rows: Any) -> Array:
        with np.errstate(divide="ignore"):
            logs = np.log(self.priors_)
        half = half_distances(rows, len(logs), self._standardised)
        out = logs - half
        # From farther away than the classes are from each other, lines tell more.
        M: Any = self._whitening
        apart = np.square((self.means_ - self.xbar_) @ M).sum(axis=1)
        beyond = np.flatnonzero(half.min(axis=1) > apart.max())
        if len(beyond):
            out[beyond] = self._scores(rows[beyond])
        return out

    def _standardised(self, rows: Any, k: int) -> Array:
        """(x − μₖ) M, whose squared length is the distance from class k."""
        M: Any = self._whitening
        return np.asarray((rows - self.means_[k]) @ M - self._shifts[k])

    def transform(self, X: Any) -> Any:
        """Coordinates of rows, less x̄, along the directions that tell the classes apart.

        Parameters
        ----------
        X : array, data frame or Source, of shape (rows, columns)

        Returns
        -------
        array of shape (rows, components)
            Of a source, a source of these rows, computed when they are read.
        """
        check_is_fitted(self)
        scalings = self.scalings_[:, : self._n_features_out]
        project = partial(_projected, centre=self.xbar_, scalings=scalings)
        if not isinstance(X, Source):
            return _wrap_data_with_container("transform", self._apply_in_dtype(X, project), X, self)
        self._check_names(X)
        labels = [str(name) for name in self.get_feature_names_out()]
        names = self._names_of_source(labels)
        return MappedSource(X, project, self._n_features_out, names, labels=labels)

    # --- leaving out ----------------------------------------------------------------------

    def _leave_one_out(self, block: Block) -> NDArray[np.float64]:
        return linear_without(self, self.statistics_, block)


def _projected(rows: Any, centre: Array, scalings: Array) -> Array:
    return in_pieces(rows, scalings.shape[1], lambda some: (some - centre) @ scalings)
