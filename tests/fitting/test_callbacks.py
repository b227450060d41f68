"""scikit-learn's callback protocol: who is called, in which order, and what stays behind."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import suffice
from suffice import LinearRegression, Ridge
from suffice.fitting.certificate import Certificate
from suffice.fitting.estimator import Estimator
from suffice.fitting.requests import Found, Pass, StopAsked
from suffice.linear.least_squares import base as least_squares_model
from suffice.statistics.sums import Sums

MODELS = [LinearRegression(), Ridge(alpha=0.5)]


class Recorder:
    """Notes every call; fails, or asks to stop, where told to."""

    def __init__(self, fail_at=None, stop_after=None):
        self.fail_at, self.stop_after = fail_at, stop_after
        self.calls, self.fitted, self.metadata = [], [], []

    def note(self, hook, context):
        self.calls.append((hook, context.estimator_name, context.task_name, context.task_id))
        if self.fail_at == hook:
            raise RuntimeError(f"failed at {hook}")

    def setup(self, estimator, context):
        self.note("setup", context)

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None, metadata=None):
        self.metadata.append(metadata)
        self.note("begin", context)

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        if context.task_name == "pass":
            self.fitted.append(fitted_estimator)
        self.note("end", context)
        return context.task_name == "pass" and len(self.fitted) == self.stop_after

    def teardown(self, estimator, context):
        self.note("teardown", context)


class PropagatedRecorder(Recorder):
    max_propagation_depth = None


def of(name, passes=1):
    """The calls around a fit of so many passes."""
    calls = [("setup", name, "fit", 0), ("begin", name, "fit", 0)]
    for i in range(passes):
        calls += [("begin", name, "pass", i), ("end", name, "pass", i)]
    return [*calls, ("end", name, "fit", 0), ("teardown", name, "fit", 0)]


@pytest.fixture(params=MODELS, ids=lambda model: type(model).__name__)
def model(request):
    return clone(request.param)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    return X, X @ [1.0, -2.0] + rng.normal(size=60)


@pytest.fixture
def hard():
    """So many rows that float64 is tried first, and so nearly dependent that it fails."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200_000, 3))
    X[:, 2] = X[:, 0] + X[:, 1] + 1e-8 * rng.normal(size=200_000)
    return X, X @ [1.0, 2.0, 3.0]


# --- a model of its own --------------------------------------------------------------------


def test_hooks_in_order(model, rows):
    recorder = Recorder()
    assert model.set_callbacks(recorder).fit(*rows) is model
    assert recorder.calls == of(type(model).__name__)


def test_a_task_for_each_pass(hard):
    recorder = Recorder()
    model = LinearRegression().set_callbacks(recorder).fit(*hard)
    assert len(model.trace_) == 2
    assert recorder.calls == of("LinearRegression", passes=2)


def test_the_model_after_a_pass_can_predict(model, rows):
    recorder = Recorder()
    model.set_callbacks(recorder).fit(*rows)
    (after_pass,) = recorder.fitted
    assert after_pass is not model
    np.testing.assert_array_equal(after_pass.predict(rows[0]), model.predict(rows[0]))


def test_there_is_no_model_after_a_pass_that_did_not_suffice(hard, rows):
    """Not even the one of an earlier fit, whose columns were others."""
    for model in (LinearRegression(), LinearRegression().fit(*rows)):
        recorder = Recorder()
        model.set_callbacks(recorder).fit(*hard)
        assert recorder.fitted[0] is None
        np.testing.assert_array_equal(recorder.fitted[1].coef_, model.coef_)


def test_weights_are_told(model, rows):
    weight = np.ones(60)
    recorder = Recorder()
    model.set_callbacks(recorder).fit(*rows, sample_weight=weight)
    assert all(metadata["sample_weight"] is weight for metadata in recorder.metadata)
    recorder = Recorder()
    model.set_callbacks(recorder).fit(*rows)
    assert recorder.metadata == [None, None]


def test_fits_from_files_are_told_too(model, rows, write_parquet):
    X, y = rows
    recorder = Recorder()
    files = suffice.scan(write_parquet({"a": X[:, 0], "b": X[:, 1], "t": y}), target="t")
    model.set_callbacks(recorder).fit(files)
    assert recorder.calls == of(type(model).__name__)


def test_callbacks_change_nothing(model, rows):
    plain = clone(model).fit(*rows)
    watched = model.set_callbacks(Recorder()).fit(*rows)
    assert watched.coef_.tobytes() == plain.coef_.tobytes()
    assert set(vars(watched)) == {*vars(plain), "_skl_callbacks"}
    model.set_callbacks()
    assert set(vars(model)) == set(vars(plain))


PRIVATE = {"_fitted_intercept", "_target_shape"}  # what a fit keeps for itself


def test_no_trace_of_the_protocol_in_a_model_without_callbacks(model, rows):
    before = set(vars(model))
    learned = set(vars(model.fit(*rows))) - before
    assert all(name.endswith("_") or name in PRIVATE for name in learned)


def test_a_failed_fit_is_torn_down(model, rows, unchanged):
    X, y = rows
    X = X.copy()
    X[5, 1] = np.nan
    recorder = Recorder()
    model.set_callbacks(recorder)
    with unchanged(model), pytest.raises(ValueError, match="column 1, row 5 "):
        model.fit(X, y)
    hooks = [call[0] for call in recorder.calls]
    assert hooks == ["setup", "begin", "begin", "teardown"]


def test_a_fit_that_never_begins_sets_nothing_up(model, rows, unchanged):
    recorder = Recorder()
    model.set_callbacks(recorder)
    with unchanged(model), pytest.raises(ValueError):
        model.fit(rows[0], rows[1][:-1])
    assert recorder.calls == []


@pytest.mark.parametrize("hook", ["setup", "begin", "end", "teardown"])
@pytest.mark.parametrize("fitted", [False, True])
def test_a_failing_callback_undoes_the_fit(model, rows, unchanged, hook, fitted):
    if fitted:
        model.fit(rows[0][:, :1], rows[1])
    failing, other = Recorder(fail_at=hook), Recorder()
    model.set_callbacks(other, failing)
    with unchanged(model), pytest.raises(RuntimeError, match=f"failed at {hook}"):
        model.fit(*rows)
    for recorder in (failing, other):
        assert recorder.calls[-1][0] == "teardown"
    assert model.set_callbacks().fit(*rows).certificate_.holds


def test_only_callbacks_are_accepted(model):
    with pytest.raises(TypeError, match="FitCallback"):
        model.set_callbacks(print)


def test_scoring_monitor(model, rows):
    weight = np.linspace(0.1, 2, 60)
    monitor = ScoringMonitor(scoring="r2")
    model.set_callbacks(monitor).fit(*rows, sample_weight=weight)
    logs = monitor.get_logs()
    scores = [row["r2"] for row in (logs.data if hasattr(logs, "data") else logs)]
    assert len(scores) == 2  # the pass, and the whole fit
    np.testing.assert_allclose(scores, model.score(*rows, sample_weight=weight), rtol=1e-12)


def test_scoring_monitor_where_a_pass_did_not_suffice(hard):
    monitor = ScoringMonitor(scoring="r2")
    model = LinearRegression().set_callbacks(monitor).fit(*hard)
    assert len(model.trace_) == 2
    logs = monitor.get_logs()
    assert len(logs.data if hasattr(logs, "data") else logs) == 2


def test_progress_bar(model, rows, capsys):
    pytest.importorskip("rich")
    model.set_callbacks(ProgressBar()).fit(*rows)
    assert type(model).__name__ in capsys.readouterr().out


# --- iterations ----------------------------------------------------------------------------


class Descent(Estimator):
    """The mean by gradient steps: minimise ½ Σ (x − m)²."""

    _parameter_constraints = {}

    def __init__(self, max_iter=30):
        self.max_iter = max_iter

    def _passes(self, source):
        mean, slope, steps = 0.0, np.inf, 0
        try:
            while steps < self.max_iter and not abs(slope) < 1e-6:

                def summarize(block, mean=mean):
                    away = block.X[:, 0] - mean
                    return Sums((np.array(block.n_rows), away.sum(), (away**2).sum()))

                asked = Pass("update", summarize, learned=lambda: {"mean_": mean})
                n, slope, _ = (yield asked).values
                mean, slope, steps = mean + 0.5 * slope / n, slope / n, steps + 1
        except StopAsked:
            pass
        done = abs(slope) < 1e-6
        proof = Certificate(done, "the gradient vanishes", "steps", {"slope": slope})
        return Found({"mean_": mean, "n_iter_": steps}, proof)


def test_a_task_for_each_iteration(rows):
    recorder = Recorder()
    model = Descent().set_callbacks(recorder).fit(rows[0])
    assert model.certificate_.holds
    assert recorder.calls == of("Descent", passes=model.n_iter_)
    assert len(recorder.fitted) == model.n_iter_ == len(model.trace_)
    # After each pass the callback saw the mean as it then was, half as far from its goal.
    away = [after.mean_ - rows[0][:, 0].mean() for after in recorder.fitted]
    np.testing.assert_allclose(away[1:], np.array(away[:-1]) / 2, atol=1e-12)


def test_a_callback_stops_the_fit(rows):
    recorder = Recorder(stop_after=3)
    model = Descent().set_callbacks(recorder, Recorder())
    with pytest.warns(ConvergenceWarning, match="the gradient vanishes"):
        model.fit(rows[0])
    assert model.n_iter_ == len(model.trace_) == 3
    assert not model.certificate_.holds
    assert model.mean_ == recorder.fitted[-1].mean_
    assert recorder.calls == of("Descent", passes=3)


def test_every_pass_may_be_needed(rows):
    recorder = Recorder()
    with pytest.warns(ConvergenceWarning):
        Descent(max_iter=4).set_callbacks(recorder).fit(rows[0])
    assert recorder.calls == of("Descent", passes=4)


def test_conjugate_gradients_announce_their_steps(rows, monkeypatch):
    """As many tasks as there are steps: more than the two passes of other fits."""
    monkeypatch.setattr(least_squares_model, "MOST_COLUMNS", 8)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 12)) * np.arange(1, 13)
    recorder = Recorder()
    model = Ridge(alpha=1.0).set_callbacks(recorder).fit(X, X @ np.ones(12))
    assert model.certificate_.holds
    assert len(model.trace_) > 2
    assert [call[0] for call in recorder.calls].count("end") >= len(model.trace_)
    # Within a pipeline there are tasks even where nobody listens.
    assert make_pipeline(StandardScaler(), Ridge()).fit(X, X @ np.ones(12))[-1].certificate_.holds


# --- within other estimators ---------------------------------------------------------------


def test_on_a_step_of_a_pipeline(model, rows):
    recorder = Recorder()
    name = type(model).__name__
    pipeline = make_pipeline(StandardScaler(), model.set_callbacks(recorder)).fit(*rows)
    assert [call[0] for call in recorder.calls] == [call[0] for call in of(name)]
    assert {call[1] for call in recorder.calls} == {name}
    left = {key for key in vars(pipeline[-1]) if key.startswith("_")}
    assert left == {"_skl_callbacks", *PRIVATE}


def test_on_a_pipeline(model, rows):
    recorder = PropagatedRecorder()
    name = type(model).__name__
    pipeline = make_pipeline(StandardScaler(), model).set_callbacks(recorder).fit(*rows)
    ours = [call[0] for call in recorder.calls if call[1] == name]
    assert ours == ["begin", "begin", "end", "end"]  # the pipeline sets up and tears down
    assert recorder.calls[0][:2] == ("setup", "Pipeline")
    assert recorder.calls[-1][:2] == ("teardown", "Pipeline")
    assert {key for key in vars(pipeline[-1]) if key.startswith("_")} == PRIVATE


def test_a_failure_within_a_pipeline(model, rows, unchanged):
    recorder = PropagatedRecorder()
    pipeline = make_pipeline(StandardScaler(), model).set_callbacks(recorder)
    y = rows[1].copy()
    y[3] = np.nan
    with unchanged(model), pytest.raises(ValueError, match="y contains NaN"):
        pipeline.fit(rows[0], y)
    assert recorder.calls[-1][:2] == ("teardown", "Pipeline")


@pytest.mark.parametrize(
    "n_jobs",
    # For every day, one search in processes is in test_concurrency.
    [pytest.param(None, id="here"), pytest.param(2, id="in processes", marks=pytest.mark.long)],
)
def test_on_a_grid_search(rows, n_jobs):
    recorder = PropagatedRecorder()
    search = GridSearchCV(Ridge(), {"alpha": [0.1, 1.0, 10.0]}, cv=2, n_jobs=n_jobs)
    if n_jobs is None:
        search.set_callbacks(recorder)
    search.fit(*rows)
    assert not [key for key in vars(search.best_estimator_) if key.startswith("_callback")]
    plain = Ridge(**search.best_params_).fit(*rows)
    assert search.best_estimator_.coef_.tobytes() == plain.coef_.tobytes()
    if n_jobs is None:
        fits = [
            call for call in recorder.calls if call[0] == "end" and call[1:3] == ("Ridge", "fit")
        ]
        passes = [call for call in recorder.calls if call[0] == "end" and call[2] == "pass"]
        assert len(fits) == len(passes) == 3 * 2 + 1
        assert recorder.calls[0][:2] == ("setup", "GridSearchCV")
        assert recorder.calls[-1][:2] == ("teardown", "GridSearchCV")
        assert "_skl_callbacks" not in vars(search.best_estimator_)


def test_progress_bar_on_a_grid_search(rows, capsys):
    pytest.importorskip("rich")
    search = GridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, cv=2).set_callbacks(ProgressBar())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search.fit(*rows)
    assert "GridSearchCV" in capsys.readouterr().out
