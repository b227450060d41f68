"""Who answers a fit: parts of a whole, fits in step, and what each lets go of."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pytest

import suffice
from suffice.engines import sweep as sweeps
from suffice.fitting.certificate import Certificate
from suffice.fitting.driver import delegated
from suffice.fitting.estimator import Estimator
from suffice.fitting.requests import Found, Keep, Pass, Sweep
from suffice.fitting.shared_passes import SharedColumns, in_step, on_some_rows
from suffice.sources import ArraySource
from suffice.statistics.sums import Sums

PROVED = Certificate(True, "it is the mean", "sweeps", {})


def first_column(block: Any) -> dict[str, Any]:
    return {"x": np.array(block.X[:, 0])}


def added(shard: Any) -> tuple[None, Sums]:
    weight = np.ones(shard.n_rows) if shard.weight is None else shard.weight
    return None, Sums((np.array([weight.sum(), weight @ shard.columns["x"]]),))


class Mean(Estimator):
    """The mean of the first column, of all rows or of some that it has for itself."""

    _parameter_constraints = {}

    def __init__(self, own=None):
        self.own = own

    def _passes(self, source):
        shards = yield Keep("keep", first_column, self.own)
        n, total = (yield Sweep("sweep", shards, added)).values[0]
        return Found({"mean_": total / n}, PROVED)


class Means(Estimator):
    """Several of them, one after the other; notes what lives while each is at work."""

    _parameter_constraints = {}

    def __init__(self, alive):
        self.alive = alive

    def _passes(self, source):
        parts = []
        for i in range(5):
            parts.append(Mean())
            yield from delegated(parts[-1], source, f"{i} ")
            self.alive()
        return Found({"means_": [part.mean_ for part in parts]}, PROVED)


@pytest.fixture
def kept(monkeypatch):
    """The arrays that were kept, as long as they live."""
    found = []

    class Watched(sweeps.Shards):
        def __init__(self, shards, source):
            super().__init__(shards, source)
            found.extend(weakref.ref(shard.columns["x"]) for shard in self)

    monkeypatch.setattr(sweeps, "Shards", Watched)
    return found


def test_parts_let_go_of_what_they_keep(kept):
    X = np.arange(40_000.0)[:, None]

    def alive():
        assert kept
        assert all(array() is None for array in kept)

    model = Means(alive).fit(X)
    assert model.means_ == [X.mean()] * 5
    assert model.trace_.step == tuple(f"{i} {step}" for i in range(5) for step in ("keep", "sweep"))
    assert len(kept) == 5 * 3


def test_a_keep_of_other_rows_is_not_that_of_all():
    X = np.arange(1000.0)[:, None]
    source, mine = ArraySource(X), ArraySource(X[:10])
    columns = SharedColumns(source)
    half = np.arange(1000) < 500
    fits = [on_some_rows(Mean(own), source, half, columns) for own in (None, mine)]
    assert in_step(fits, source) == 0
    assert [fit.model.mean_ for fit in fits] == [X[:500].mean(), X[:10].mean()]
    assert len(columns._kept) == 1
    columns.close()
    assert not columns._kept


class Total(Estimator):
    """Two passes; one model of its kind fails in the second."""

    _parameter_constraints = {}

    def __init__(self, error=None):
        self.error = error

    def _passes(self, source):
        def summarize(block):
            return Sums((np.array([block.X.sum()]),))

        def failing(block):
            raise self.error

        first = yield Pass("first", summarize)
        self.first_ = 1
        second = yield Pass("second", summarize if self.error is None else failing)
        return Found({"total_": first.values[0] + second.values[0]}, PROVED)


@pytest.mark.parametrize("error", [ValueError("bad rows"), KeyError("a mistake")])
def test_a_fit_in_step_fails_alone(error):
    X = np.ones((50_000, 1))
    source, everything = ArraySource(X), np.ones(len(X), bool)
    fits = [on_some_rows(Total(e), source, everything) for e in (None, error, None)]
    assert in_step(fits, source) == 1 + 2
    assert [fit.failure for fit in fits] == [None, error, None]
    assert str(error) in fits[1].error
    assert vars(fits[1].model) == {"error": error}
    assert [fits[i].model.total_ for i in (0, 2)] == [2 * len(X)] * 2


def test_rows_that_are_bad_for_some_folds_only():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 2))
    y = (X[:, 0] + rng.normal(size=900) > 0).astype(int)
    X[450, 1] = np.nan
    source = ArraySource(X, y)
    masks = [(np.arange(900) // 300) != k for k in range(3)]
    fits = [on_some_rows(suffice.LogisticRegression(), source, mask) for mask in masks]
    in_step(fits, source)
    assert [fit.failure is None for fit in fits] == [False, True, False]
    assert "column 1, row 450" in str(fits[0].failure)
    alone = suffice.LogisticRegression().fit(X[masks[1]], y[masks[1]])
    np.testing.assert_allclose(fits[1].model.coef_, alone.coef_, rtol=1e-6)


@pytest.mark.parametrize("where", ["start", "answer"])
def test_ctrl_c_in_a_method_undoes_the_model(where):
    class Interrupted(Total):
        def _passes(self, source):
            self.half_ = True
            if where == "answer":
                yield Pass("first", lambda block: Sums((np.zeros(1),)))
            raise KeyboardInterrupt

    model, source = Interrupted(), ArraySource(np.ones((10, 1)))
    with pytest.raises(KeyboardInterrupt):
        in_step([on_some_rows(model, source, np.ones(10, bool))], source)
    assert vars(model) == {"error": None}
