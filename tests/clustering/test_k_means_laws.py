"""K-means: threads, files, weights, interruption, and what a user does with it."""

from __future__ import annotations

import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import suffice
from suffice import KMeans
from suffice.clustering.lloyd import reading
from suffice.clustering.lloyd.passes import lloyd
from suffice.clustering.starts import seeding, start_from
from suffice.fitting.callbacks import fit_task
from suffice.fitting.driver import driven
from suffice.sources import as_source
from tests.clustering.tables import table_of

# --- laws ----------------------------------------------------------------------------------


def same(one, other):
    for name in ("cluster_centers_", "labels_", "inertia_", "n_iter_"):
        assert (
            np.asarray(getattr(one, name)).tobytes() == np.asarray(getattr(other, name)).tobytes()
        ), name


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(7)
    return (2 * rng.normal(size=(9, 5)))[rng.integers(9, size=70_000)] + rng.normal(
        size=(70_000, 5)
    )


@pytest.mark.compiled
def test_the_same_bits_everywhere(rows, tmp_path):
    fits = [KMeans(9, random_state=1, n_jobs=jobs).fit(rows) for jobs in (1, 2, 4)]
    pd.DataFrame(rows, columns=list("abcde")).to_parquet(tmp_path / "rows.parquet")
    fits.append(KMeans(9, random_state=1).fit(suffice.scan(tmp_path / "rows.parquet")))
    for other in fits[1:]:
        same(other, fits[0])


@pytest.mark.compiled
def test_concurrent_fits_agree(rows):
    found = {}

    def fit(name):
        found[name] = KMeans(9, random_state=1).fit(rows[:40_000])

    threads = [threading.Thread(target=fit, args=(name,)) for name in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    same(found[0], found[1])


@pytest.mark.compiled
def test_a_fit_can_be_interrupted():
    X = np.random.default_rng(0).normal(size=(60_000, 8))
    model = KMeans(64, init="random", n_init=1000, tol=0, random_state=0)
    # A process in the background ignores interrupts, unless it says what they do.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.5, signal.raise_signal, (signal.SIGINT,))
    began = time.perf_counter()
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            model.fit(X)
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.perf_counter() - began < 20
    assert not hasattr(model, "cluster_centers_")


@pytest.mark.compiled
def test_streams_too_large_for_memory(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "MOST_CELLS", 1000)
    pd.DataFrame(rows, columns=list("abcde")).to_parquet(tmp_path / "rows.parquet")
    source = suffice.scan(tmp_path / "rows.parquet")
    start = rows[:9]
    stream, array = (KMeans(9, init=start).fit(X) for X in (source, rows))
    np.testing.assert_array_equal(stream.labels_, array.labels_)
    np.testing.assert_allclose(stream.cluster_centers_, array.cluster_centers_, rtol=1e-12)
    np.testing.assert_array_equal(stream.fit_predict(source), array.labels_)
    np.testing.assert_allclose(stream.score(source), array.score(rows))
    monkeypatch.setattr(seeding, "SAMPLED_CELLS", 20_000)  # k-means++ from about 4,000 rows
    drawn = KMeans(9, random_state=0)
    same(drawn.fit(source), KMeans(9, random_state=0, n_jobs=1).fit(source))
    assert drawn.certificate_.holds
    assert drawn.inertia_ < 1.3 * array.inertia_


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_weights_are_repetitions(form):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, 3))
    weight = rng.integers(0, 4, size=300)
    start = X[:5]
    weighted = KMeans(5, init=start, tol=0).fit(form(X), sample_weight=weight)
    repeated = KMeans(5, init=start, tol=0).fit(form(np.repeat(X, weight, axis=0)))
    np.testing.assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_, rtol=1e-11)
    np.testing.assert_array_equal(np.repeat(weighted.labels_, weight), repeated.labels_)
    np.testing.assert_allclose(weighted.inertia_, repeated.inertia_)
    np.testing.assert_allclose(weighted.score(form(X), sample_weight=weight), -repeated.inertia_)


def test_far_rows_that_leave_a_cluster_leave_nothing_in_its_sums():
    X = np.r_[np.random.default_rng(0).normal(size=(200, 2)), [[1e13, 0.0]]]
    weight = np.r_[np.random.default_rng(1).uniform(0.1, 1, size=200), 0.3]
    model = KMeans(3, init=X[:3], tol=0).fit(X, sample_weight=weight)
    for c in range(3):
        mine = model.labels_ == c
        mean = np.average(X[mine], axis=0, weights=weight[mine])
        np.testing.assert_allclose(model.cluster_centers_[c], mean, rtol=1e-12, atol=1e-12)


def test_the_trace_falls():
    X, start = table_of(21)
    model = KMeans(len(start), init=start, tol=0).fit(X)
    assert model.trace_.step.count("assign") == model.n_iter_
    inertia = [o for s, o in zip(*(model.trace_.step, model.trace_.objective), strict=True)
               if s in {"assign", "labels"}]  # fmt: skip
    assert (np.diff(inertia) <= 1e-9 * inertia[0]).all()
    np.testing.assert_allclose(inertia[-1], model.inertia_)


def test_other_methods_can_start_from_it():
    """A generator that another model's fit can hand its requests on from."""
    X, _ = table_of(3)
    source = as_source(X)

    def method():
        rows, frame, _ = yield from reading.read(source)
        random = np.random.RandomState(0)
        start = yield from start_from(source, rows, frame, "k-means++", 3, random)
        return (yield from lloyd(rows, frame, start, 300, 1e-4))

    model = KMeans(3, random_state=0)
    with fit_task(model, X, None, None) as task:
        found, _ = driven(model, method(), source, task)
    np.testing.assert_array_equal(found.labels, model.fit(X).labels_)


# --- use -----------------------------------------------------------------------------------


def test_frames_names_and_output():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["a", "b"])
    model = KMeans(3, random_state=0).set_output(transform="pandas")
    out = model.fit_transform(X)
    assert list(out.columns) == ["kmeans0", "kmeans1", "kmeans2"]
    assert model.get_feature_names_out().tolist() == list(out.columns)
    np.testing.assert_allclose(out.min(axis=1) ** 2 @ np.ones(60), model.inertia_)
    assert model.labels_.dtype == np.int32


def test_saved_models_answer_alike(tmp_path):
    X, _ = table_of(5)
    model = KMeans(4, random_state=0).fit(X)
    model.save(tmp_path / "model")
    loaded = suffice.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.labels_, model.labels_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_clusters": 61}, "n_samples=60 should be >= n_clusters=61"),
        ({"init": [[1.0, 2.0]]}, "shape of the initial centers"),
        ({"n_clusters": 1, "init": [[np.nan, 2.0, 1.0]]}, "not finite"),
        ({"algorithm": "full"}, "algorithm"),
        ({"metric": "manhattan"}, "metric"),
        ({"n_init": 0}, "n_init"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        KMeans(**options).fit(np.random.default_rng(0).normal(size=(60, 3)))


def test_a_start_that_is_given_is_one_start():
    X, start = table_of(3)
    with pytest.warns(RuntimeWarning, match="only one init"):
        KMeans(len(start), init=start, n_init=5).fit(X)
