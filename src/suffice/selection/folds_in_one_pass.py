"""All folds and all candidates from one pass over the rows.

Each fold gets a statistic of its own.  The training rows of a fold are all other folds
merged, and every candidate is solved from that.  Scores that are functions of moments need
no more; for the others, held-out rows are predicted in a second pass.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from suffice.engines.workers import one_blas_thread
from suffice.fitting.regression import Line
from suffice.selection.candidates import Candidate, NeedsMoreDigits
from suffice.selection.held_out import Search, told
from suffice.selection.scoring import ClosedForm, closed_form, residuals
from suffice.selection.sklearn_parts import is_multimetric, scorers_by_name
from suffice.sources import Block, Source
from suffice.sources.derived.subset import rows_of
from suffice.statistics.by_group import Grouped, all_but_each, merged
from suffice.statistics.moments.full import Precision


class ScikitLearns(Exception):
    """Rows in memory of which scikit-learn's own loop must say what is wrong."""


class _Statistics(NamedTuple):
    """Of each split: what trains, what is tested, what trained as its score sees it."""

    trains: list[Any]
    tests: list[Any]
    scored_trains: list[Any]


@dataclass
class OnePassSearch(Search):
    """Candidates fitted from the statistics of the folds.

    Attributes
    ----------
    candidates : sequence of Candidate
        Prepared for the rows.
    total : statistic
        Of all rows.
    """

    total: Any = field(default=None, init=False)
    _seconds: float = field(default=0.0, init=False)

    def run(self) -> list[dict[str, Any]]:
        precisions: tuple[Precision, ...] = ("float64", "double-double")
        with one_blas_thread():
            for precision in precisions[self._always_exact() :]:
                began = time.perf_counter()
                grouped = self._pass(partial(self._of_block, precision=precision))
                statistics = self._statistics(grouped)
                self._seconds += time.perf_counter() - began
                try:
                    return self._results(statistics, final=precision == precisions[-1])
                except NeedsMoreDigits:
                    continue
        raise RuntimeError("not solved, not even in double-double")

    def _always_exact(self) -> bool:
        """Whether a fit to the training rows of some split would want double-double at once."""
        shape = SimpleNamespace(n_rows=self.folds.fewest_trained, n_columns=self.source.n_columns)
        return any(c.model._always_exact(shape) for c in self.candidates if c.error is None)

    def best(self, candidate: Candidate) -> Any:
        with one_blas_thread():
            try:
                return self._fitted(candidate, self.total, self.total.precision == "double-double")
            except NeedsMoreDigits:
                pass
        # By a fit of its own, which has more ways than one to come by its digits.
        best = clone(candidate.estimator).fit(self.source)
        model = best[-1] if isinstance(best, Pipeline) else best
        self.passes += len(model.trace_)
        return best

    def unfitted(self, number: int) -> Any:
        return clone(self.candidates[number].estimator)

    # --- the pass -------------------------------------------------------------------------

    def _pass(self, summarize: Any) -> Any:
        """Read the rows once.  In memory, what cannot be read is scikit-learn's to tell."""
        try:
            found = self.candidates[0].model._pass(self.source, summarize)
        except (TypeError, ValueError) as error:
            if isinstance(self.X, Source):
                raise
            raise ScikitLearns from error
        self.passes += 1
        return found

    @property
    def _asks_most(self) -> Any:
        """The model whose statistic serves all candidates: it tells most."""
        usable = [c.model for c in self.candidates if c.error is None]
        columns, first = self.source.n_columns, self.candidates[0].model
        return max(usable, key=lambda model: model._statistic_size(columns), default=first)

    @property
    def _scores_without_weights(self) -> bool:
        """Whether the weights are those of the fit alone."""
        apart = self.score_weight is None and not isinstance(self.X, Source)
        return self.source.has_weight and apart

    def _of_block(self, block: Block, precision: Precision) -> Grouped:
        """Statistics of each group of rows in a block; without weights too where scores want that.

        Groups are numbered through all layers, and once more for those without weights.
        """
        model = self._asks_most
        rows = slice(block.start, block.start + block.n_rows)

        def summarize(chosen: Any, weighted: bool = True) -> Any:
            some = rows_of(block, chosen, block.start)
            if not weighted:
                some = Block(some.X, some.y, None, some.start)
            return model._summarize(some, precision=precision)

        parts: dict[int, Any] = {}
        first = 0
        for weighted in (True, False) if self._scores_without_weights else (True,):
            for group, size in zip(self.folds.layers, self.folds.sizes, strict=True):
                found = Grouped.summarize(group[rows], partial(summarize, weighted=weighted)).parts
                parts |= {first + number: part for number, part in found.items()}
                first += size
        return Grouped(parts)

    def _statistics(self, grouped: Grouped) -> _Statistics:
        """What each split trains on, is tested on, and trains on as its score sees it."""
        layers = []
        first = 0
        for size in self.folds.sizes * (2 if self._scores_without_weights else 1):
            layers.append([grouped.parts.get(first + number) for number in range(size)])
            first += size
        k = len(self.folds.sizes)
        self.total = merged([part for part in layers[0] if part is not None])
        trains = self._trains(layers[:k])
        scored = layers[-k:]
        tests = [merged([scored[s.layer][g] for g in s.test]) for s in self.folds.splits]
        apart = self._scores_without_weights and self.train_scores
        return _Statistics(trains, tests, self._trains(scored) if apart else trains)

    def _trains(self, layers: list[list[Any]]) -> list[Any]:
        """The training rows of each split, merged."""
        others = [
            all_but_each(parts) if self._leaves_one(number) else []
            for number, parts in enumerate(layers)
        ]
        found = []
        for split in self.folds.splits:
            parts = layers[split.layer]
            if split.train is None and len(split.test) == 1:
                found.append(others[split.layer][split.test[0]])
            else:
                trained = set(range(len(parts))) - set(split.test.tolist())
                chosen = sorted(trained) if split.train is None else split.train
                found.append(merged([parts[g] for g in chosen if parts[g] is not None]))
        return found

    def _leaves_one(self, layer: int) -> bool:
        """Whether a split of a layer trains on all groups but one."""
        return any(
            s.layer == layer and s.train is None and len(s.test) == 1 for s in self.folds.splits
        )

    # --- the results ----------------------------------------------------------------------

    def _results(self, statistics: _Statistics, final: bool) -> list[dict[str, Any]]:
        found = self._from_moments(statistics, final)
        if found is not None:
            return found
        # Held-out rows must be predicted: a second pass.
        return self._fitted_one_by_one(
            lambda candidate, split: self._fitted(candidate, statistics.trains[split], final),
            self._share,
        )

    def _from_moments(self, statistics: _Statistics, final: bool) -> list[dict[str, Any]] | None:
        """The results where moments tell all; None where they do not."""
        forms = {
            name: closed_form(scorer, self.candidates[0].model)
            for name, scorer in scorers_by_name(self.scorer).items()
        }
        if self.keep or None in forms.values() or self.candidates[0].model._solve_grid is None:
            return None
        if self._has_failed and self.error_score == "raise":
            return None  # it is raised there
        found: list[list[dict[str, Any]]] = [[] for _ in self.candidates]
        for split, train in enumerate(statistics.trains):
            scored = {"test_scores": statistics.tests[split]}
            if self.train_scores:
                scored["train_scores"] = statistics.scored_trains[split]
            if train.count < 1 or min(moments.count for moments in scored.values()) < 2:
                return None  # scikit-learn has something to say about that
            scores = self._closed_scores(train, scored, forms, final)
            if scores is None:
                return None
            seconds, every = scores
            n_test = len(self.folds.test(split))
            for c, (candidate, results) in enumerate(zip(self.candidates, found, strict=True)):
                result: dict[str, Any] = {
                    "fit_error": told(candidate.error),
                    "fit_time": self._share + seconds / len(self.candidates),
                    "score_time": 0.0,
                    "n_test_samples": n_test,
                }
                for kind, values in every.items():
                    by_name = {name: float(value[c]) for name, value in values.items()}
                    result[kind] = by_name if is_multimetric(self.scorer) else by_name["score"]
                results.append(result)
        return [result for results in found for result in results]

    @property
    def _has_failed(self) -> bool:
        return any(candidate.error is not None for candidate in self.candidates)

    @property
    def _share(self) -> float:
        """Seconds of the passes so far that fall to each result."""
        return self._seconds / (len(self.candidates) * self.folds.n_splits)

    def _closed_scores(
        self, train: Any, scored: dict[str, Any], forms: dict[str, Any], final: bool
    ) -> tuple[float, dict[str, dict[str, Any]]] | None:
        """Scores of every candidate on one split, by kind and metric, and the seconds it took."""
        began = time.perf_counter()
        every = {
            kind: {name: np.full(len(self.candidates), self._failure) for name in forms}
            for kind in scored
        }
        for members in self._by_scalers():
            candidates = [self.candidates[c] for c in members]
            _, (behind, *others) = candidates[0].scale(train, *scored.values())
            models = [candidate.model for candidate in candidates]
            try:
                lines = models[0]._solve_grid(models, behind)
            except ValueError:
                return None  # one by one, to say which
            if lines is None:
                if final:
                    return None
                raise NeedsMoreDigits
            if not all(line.proved for line in lines):
                return None  # one by one, to warn
            for kind, moments in zip(scored, others, strict=True):
                if not _fill(every[kind], members, forms, lines, moments):
                    return None
        return time.perf_counter() - began, every

    @property
    def _failure(self) -> float:
        """The score of what could not be fitted."""
        return np.nan if self.error_score == "raise" else float(self.error_score)

    def _by_scalers(self) -> list[list[int]]:
        """Numbers of the candidates that can be fitted, those with equal scalers together."""
        groups: dict[str, list[int]] = {}
        for c, candidate in enumerate(self.candidates):
            if candidate.error is not None:
                continue
            key = repr([scaler.get_params() for scaler in candidate.scalers])
            groups.setdefault(key, []).append(c)
        return list(groups.values())

    def _fitted(self, candidate: Candidate, statistic: Any, final: bool) -> Any:
        """A candidate fitted from a statistic; it warns of what a fit would warn of."""
        fitted = candidate.fitted(statistic, final)
        model = fitted[-1] if isinstance(fitted, Pipeline) else fitted
        model._warn_unless_proved()
        return fitted


def _fill(
    scores: dict[str, Any],
    members: list[int],
    forms: dict[str, ClosedForm],
    lines: list[Line],
    moments: Any,
) -> bool:
    """Write the scores of some candidates; False where the rows would say more."""
    left = residuals(lines, moments)
    for name, form in forms.items():
        values = form.scores(left)
        if values is None:
            return False
        scores[name][members] = values
    return True
