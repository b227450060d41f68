"""Lasso and elastic net with the penalty chosen by cross-validation.

    α, ρ = argmin (1/k) Σ over folds f of  Σ_{i in f} wᵢ (yᵢ − ŷᵢ⁽⁻ᶠ⁾)² / Σ_{i in f} wᵢ

All folds and all penalties come from one pass: each fold has its moments, those of the other
folds together give the path of solutions, and its own give the error of each of them.
Where there are more columns than rows, each fold's path is found on a working set of columns.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from functools import partial
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import column_or_1d

from suffice.engines.gather import gather
from suffice.engines.workers import one_blas_thread
from suffice.fitting.all_or_nothing import all_or_nothing
from suffice.fitting.regression import Line
from suffice.linear.elastic_net import ElasticNet
from suffice.linear.lasso_solvers.from_columns import targets_of_rows
from suffice.linear.lasso_solvers.from_moments import targets_of
from suffice.linear.lasso_solvers.path import alpha_grid, solve_path
from suffice.linear.lasso_solvers.sparse_solution import SparseSolution, Strength
from suffice.numerics.double_double import Array
from suffice.selection.candidates import Candidate, dressed
from suffice.selection.cv_estimators.chosen import ChosenModel
from suffice.selection.folds_in_one_pass import OnePassSearch, ScikitLearns
from suffice.selection.scoring import residuals
from suffice.selection.splitting import survey
from suffice.selection.strategy import holds_statistics, readable_again
from suffice.sources import Block, Source
from suffice.sources.derived.subset import SubsetSource, rows_of
from suffice.statistics.moments.full import NOTHING, Precision
from suffice.statistics.sums import Sums

Lines = list[list[Line]]
"""For each split, a line for each penalty."""


class PenalisedCV(ChosenModel):
    """What LassoCV and ElasticNetCV share.

    A class says which model it fits, and for which shares of the absolute penalty.
    """

    eps: float
    tol: float
    alphas: Any
    cv: Any
    alpha_: float
    passes_: int

    @abstractmethod
    def _model(self, alpha: float = 1.0, l1_ratio: float = 1.0) -> ElasticNet:
        """A model with the parameters of the search."""

    @abstractmethod
    def _l1_ratios(self) -> list[float]:
        """Shares of the absolute penalty to try."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the penalty, and fit with it to all rows.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source
        y : array of shape (rows,)
            None if `X` is a source.
        sample_weight : array of shape (rows,), optional
            Weights of the rows, in the fits and in the errors.

        Returns
        -------
        self
        """
        self._validate_params()
        model = self._model()
        if isinstance(sample_weight, Real):
            sample_weight = None
        if getattr(y, "shape", ())[1:] == (1,):
            y = column_or_1d(y, warn=True)
        source = model._training_source(X, y, sample_weight)
        if source.target_shape not in ((), (1,)):
            raise ValueError(
                f"{type(self).__name__} takes one target, and there are {source.target_shape[0]}: "
                "fit one after the other"
            )
        search = self._search(model, X, y, source, sample_weight)
        in_moments = model._joins_folds(source) and holds_statistics([model], search.folds)
        try:
            with one_blas_thread():
                self._choose(search, in_moments)
        except ScikitLearns as told:
            raise told.__cause__ or told from None
        best = self.best_estimator_
        self._take_over(best)
        self.dual_gap_, self.n_iter_ = best.dual_gap_, best.n_iter_
        self.passes_ = search.passes
        return self

    def _search(
        self, model: ElasticNet, X: Any, y: Any, source: Source, weight: Any
    ) -> OnePassSearch:
        rows = X if source is X else np.empty((source.count_rows(), 0))
        folds, passes = survey(readable_again(self.cv), model, rows, y, None)
        if folds is None:
            raise ValueError(
                "cv must not repeat rows, nor leave a split without rows to train on or to test"
            )
        candidate = Candidate(model, (), model)
        return OnePassSearch(
            [candidate], source, folds, None, X, y, score_weight=weight, passes=passes
        )

    # --- from moments, or on columns --------------------------------------------------------

    def _choose(self, search: OnePassSearch, in_moments: bool) -> None:
        """Find the errors of all penalties, take the best, fit it to all rows."""
        precisions: tuple[Precision, ...] = ("float64", "double-double")
        found = None
        if in_moments:
            for precision in precisions[search._always_exact() :]:
                found = self._from_moments(search, precision)
                if found is not None:
                    break
        else:
            found = self._from_columns(search)
        assert found is not None  # double-double is the last resort
        alphas, errors = found
        self.mse_path_ = np.squeeze(errors)
        means = errors.mean(axis=2)
        share, place = np.unravel_index(int(np.argmin(means)), means.shape)
        self.alpha_ = float(alphas[share, place])
        self.alphas_ = alphas[0] if len(alphas) == 1 or np.ndim(self.alphas) else alphas
        chosen = self._l1_ratios()[share]
        self._adopt_share(chosen)
        best = self._model(alpha=self.alpha_, l1_ratio=chosen)
        if in_moments:
            model = search.candidates[0].model
            candidate = Candidate(best, (), dressed(best, model))
            self.best_estimator_ = search.best(candidate)
        else:
            self.best_estimator_ = best.fit(search.source)
            search.passes += 1

    def _adopt_share(self, l1_ratio: float) -> None:
        """Keep the share that was chosen, where there was a choice."""

    def _from_moments(
        self, search: OnePassSearch, precision: Precision
    ) -> tuple[Array, Array] | None:
        """Penalties, and errors of shape (shares, penalties, splits); None for too few digits."""
        model = search.candidates[0].model
        grouped = search._pass(partial(search._of_block, precision=precision))
        statistics = search._statistics(grouped)
        anyway = precision == "double-double"
        whole = targets_of(search.total, 1, model.fit_intercept, True)[0]
        alphas = self._grid(whole)
        lines: Lines = []
        for train in statistics.trains:
            if not train.count:
                raise ValueError(f"without one of the folds, {NOTHING}")
            target = targets_of(train, 1, model.fit_intercept, anyway, quick=True)[0]
            path = self._paths(target, alphas)
            if path is None:
                return None
            lines.append([_line(s) for s in path])
        shape = (*alphas.shape, search.folds.n_splits)
        errors = np.empty((alphas.size, search.folds.n_splits))
        for split, (test, split_lines) in enumerate(zip(statistics.tests, lines, strict=True)):
            left = residuals(split_lines, test)
            if not (left.accurate and left.weight > 0):
                return alphas, self._on_rows(search, lines).reshape(shape)
            errors[:, split] = left.squares[:, 0] / left.weight
        return alphas, errors.reshape(shape)

    def _from_columns(self, search: OnePassSearch) -> tuple[Array, Array]:
        """The same with all rows in memory: a path on a working set for each split."""
        model, source, folds = search.candidates[0].model, search.source, search.folds
        whole = targets_of_rows(
            gather(source, type(self).__name__), 1, model.fit_intercept, model._n_jobs()
        )[0]
        alphas = self._grid(whole)
        lines: Lines = []
        for split in range(folds.n_splits):
            mask = np.zeros(source.count_rows(), dtype=bool)
            mask[folds.train(split)] = True
            some = SubsetSource(source, mask)
            target = targets_of_rows(
                gather(some, type(self).__name__), 1, model.fit_intercept, model._n_jobs()
            )[0]
            lines.append([_line(s) for s in self._paths(target, alphas) or []])
        search.passes += 1 + folds.n_splits
        return alphas, self._on_rows(search, lines).reshape(*alphas.shape, folds.n_splits)

    def _strengths(self, alphas: Array) -> list[Strength]:
        """All penalties, share after share."""
        unit = self._model()._strength()
        return [
            unit._replace(alpha=alpha, l1_ratio=share)
            for share, row in zip(self._l1_ratios(), alphas.tolist(), strict=True)
            for alpha in row
        ]

    def _paths(self, target: Any, alphas: Array) -> list[SparseSolution] | None:
        found: list[SparseSolution] = []
        size = alphas.shape[1]
        strengths = self._strengths(alphas)
        for start in range(0, len(strengths), size):
            target.begin()
            path = solve_path(target, strengths[start : start + size])
            if path is None:
                return None
            found += path
        if not all(solution.reaches(self.tol) for solution in found):
            message = (
                f"{type(self).__name__}: some solutions are further from their optimum than "
                "tol allows: raise max_iter, tol or the weakest alpha"
            )
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
        return found

    def _grid(self, target: Any) -> Array:
        """Strengths to try, from strong to weak, for each share."""
        shares = self._l1_ratios()
        if np.ndim(self.alphas):
            chosen = np.sort(np.asarray(self.alphas, dtype=np.float64))[::-1]
            if not len(chosen) or not (np.isfinite(chosen) & (chosen >= 0)).all():
                raise ValueError("alphas must hold at least one finite value, and none below 0")
            return np.tile(chosen, (len(shares), 1))
        if 0 in shares:
            raise ValueError(
                "without an absolute penalty there is no strongest one to begin with: "
                "with l1_ratio=0, pass the alphas"
            )
        unit = self._model()._strength()
        tops = [target.strongest(unit._replace(l1_ratio=share)) for share in shares]
        return np.array([alpha_grid(top, self.eps, int(self.alphas)) for top in tops])

    def _on_rows(self, search: OnePassSearch, lines: Lines) -> Array:
        """Errors of shape (penalties, splits), from predictions of the held-out rows: a pass."""
        tests = [search.folds.test(split) for split in range(search.folds.n_splits)]
        coefs = [np.concatenate([line.coef for line in some], axis=1) for some in lines]
        intercepts = [np.concatenate([line.intercept for line in some]) for some in lines]

        def summarize(block: Block) -> Sums:
            squares, weights = np.zeros((len(tests), coefs[0].shape[1])), np.zeros(len(tests))
            for split, rows in enumerate(tests):
                low, high = np.searchsorted(rows, [block.start, block.start + block.n_rows])
                if low == high:
                    continue
                some = rows_of(block, rows[low:high] - block.start, block.start)
                y = np.asarray(some.y, dtype=np.float64).reshape(-1, 1)
                w = np.ones(len(y)) if some.weight is None else some.weight
                left = y - (some.X @ coefs[split] + intercepts[split])
                squares[split], weights[split] = w @ np.square(left), w.sum()
            return Sums((squares, weights))

        sums = search._pass(summarize)
        squares, weights = sums.values
        if not (weights > 0).all():
            raise ValueError("a fold has rows of weight 0 alone: there is no error to measure")
        return (squares / weights[:, None]).T


def _line(solution: SparseSolution) -> Line:
    return Line(solution.coef[:, None], np.array([solution.intercept]))
