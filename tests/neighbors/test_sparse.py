"""Sparse rows: bit for bit what the same rows with all their zeros give."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn import neighbors as sk
from sklearn.feature_extraction.text import CountVectorizer

import suffice
from suffice import KNeighborsClassifier, KNeighborsDensity, KNeighborsRegressor
from suffice.neighbors.search.metrics import Metric
from suffice.neighbors.search.sparse import SparseSearch
from suffice.statistics.rows.sparse import SparseRows
from tests.neighbors import search_oracle as oracle

METRICS = [
    {"metric": "euclidean"},
    {"metric": "manhattan"},
    {"metric": "chebyshev"},
    {"p": 1.5},
    {"p": 3, "metric_params": {"w": [0.0, 1.0, 2.0, 0.3, 1.0, 1.0, 5.0, 1.0]}},
    {"p": 2, "metric_params": {"w": [0.1, 1.0, 2.0, 0.3, 1.0, 1.0, 0.0, 0.7]}},
    {"metric": "cosine"},
]
PATH = "brute force, on the entries of sparse rows"


def counts(n=1300, seed=0):
    """Small counts, of which many rows are alike and some all zero; labels, numbers, queries."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.3, size=(n, 8)).astype(float)
    queries = np.vstack([X[:30], rng.poisson(0.6, size=(30, 8)), np.zeros((1, 8))])
    return X, rng.integers(0, 3, size=n), rng.normal(size=n), queries


def assert_equal(found, expected):
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("metric", METRICS, ids=str)
@pytest.mark.parametrize("scaled", [False, True])
def test_neighbours_are_those_of_dense_rows(metric, scaled):
    X, y, _, queries = counts(600)
    if scaled:  # no distance is a whole number
        scales = np.random.default_rng(1).lognormal(size=8)
        X, queries = X * scales, queries * scales
    dense = KNeighborsClassifier(6, weights="distance", **metric).fit(X, y)
    model = KNeighborsClassifier(6, weights="distance", **metric).fit(sparse.csr_array(X), y)
    assert model.certificate_.path == PATH
    expected = dense.kneighbors(queries)
    for asked in (queries, sparse.csr_matrix(queries), sparse.csc_array(queries)):
        for one in (model, dense):
            assert_equal(one.kneighbors(asked), expected)
            np.testing.assert_array_equal(one.predict_proba(asked), dense.predict_proba(queries))
    assert_equal(model.kneighbors(n_neighbors=30), dense.kneighbors(n_neighbors=30))
    radius = float(expected[0][35, 4])
    ours, theirs = (one.radius_neighbors(queries, radius) for one in (model, dense))
    for a, b in zip(ours, theirs, strict=True):
        assert_equal(a, b)
    np.testing.assert_array_equal(model.predict(None), dense.predict(None))


@given(st.integers(0, 10_000), st.sampled_from(["euclidean", "manhattan", "chebyshev", "cosine"]))
def test_cells_of_any_size(seed, name):
    """Numbers from 1e-170, whose squares vanish, to the largest that are taken."""
    rng = np.random.default_rng(seed)
    sizes = 10.0 ** rng.uniform(-170, 150, size=(40, 4))
    X = np.where(rng.random((40, 4)) < 0.4, sizes * rng.choice([-1, 1], size=(40, 4)), 0.0)
    metric = Metric(name)
    with np.errstate(all="ignore"):
        search = SparseSearch(SparseRows.of(X), metric)
        ranks, rows = search.nearest(search.prepared(X[:9]), 5)
        prepared = metric.prepared(X), metric.prepared(X[:9], queries=True)
        expected = oracle.nearest(prepared[1], prepared[0], metric, 5)
    assert_equal((ranks, rows), expected)


def test_text_as_scikit_learn():
    words = ["cats purr and sleep", "dogs bark", "cats and dogs sleep", "rates rise and fall",
             "bonds fall", "stocks and bonds", "dogs sleep and bark", "stocks rise"]  # fmt: skip
    y = [0, 0, 0, 1, 1, 1, 0, 1]
    X = CountVectorizer().fit_transform(words)
    for metric in ("euclidean", "manhattan", "cosine"):
        ours = KNeighborsClassifier(3, metric=metric).fit(X, y)
        theirs = sk.KNeighborsClassifier(3, metric=metric).fit(X, y)
        np.testing.assert_allclose(ours.kneighbors(X)[0], theirs.kneighbors(X)[0], atol=1e-7)
        assert (ours.effective_metric_, ours.n_features_in_) == (metric, X.shape[1])
        assert ours.score(X, y) == theirs.score(X, y)
    graph = ours.kneighbors_graph(X, mode="distance")
    assert graph.shape == (8, 8)


@pytest.mark.parametrize("algorithm", ["kd_tree", "ball_tree"])
def test_there_is_no_tree_of_sparse_rows(algorithm):
    X, y, _, queries = counts(100)
    table = sparse.csr_array(X)
    for kind in (KNeighborsClassifier, sk.KNeighborsClassifier):
        with pytest.warns(
            UserWarning, match="cannot use tree with sparse input: using brute force"
        ):
            model = kind(algorithm=algorithm).fit(table, y)
    with pytest.warns(UserWarning, match="cannot use tree"):
        model = KNeighborsClassifier(algorithm=algorithm).fit(table, y)
    assert model.certificate_.path == PATH
    assert model.certificate_.notes == ("there is no tree of sparse rows: they are all compared",)
    # Dense rows have their tree, whatever the queries are.
    dense = KNeighborsClassifier(algorithm=algorithm).fit(X, y)
    assert_equal(model.kneighbors(queries), dense.kneighbors(sparse.csr_array(queries)))


def test_rows_come_and_go(tmp_path):
    X, _, numbers, queries = counts(200)
    table = sparse.csr_array(X)
    for parts in ((table[:120], table[120:]), (table[:120], X[120:]), (X[:120], table[120:])):
        model = KNeighborsRegressor().fit(parts[0], numbers[:120]).update(parts[1], numbers[120:])
        whole = KNeighborsRegressor().fit(X, numbers)
        np.testing.assert_array_equal(model.predict(queries), whole.predict(queries))
        model.save(tmp_path / "model")
        for copied in (suffice.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
            np.testing.assert_array_equal(copied.predict(queries), whole.predict(queries))
        for gone in (X, table):
            rest = KNeighborsRegressor().fit(X[50:], numbers[50:])
            model.forget(gone[:50], numbers[:50])
            np.testing.assert_array_equal(model.predict(queries), rest.predict(queries))
            model.update(X[:50], numbers[:50]).forget(X[:50], numbers[:50])
            np.testing.assert_array_equal(model.predict(queries), rest.predict(queries))
            model = KNeighborsRegressor().fit(table, numbers)
    merged = KNeighborsRegressor().fit(table[:9], numbers[:9]) + model
    assert merged.n_samples_fit_ == 209
    model.refit(metric="cosine", n_neighbors=2)
    fresh = KNeighborsRegressor(2, metric="cosine").fit(X, numbers)
    np.testing.assert_array_equal(model.predict(queries), fresh.predict(queries))


def test_scores_and_densities():
    X, y, numbers, queries = counts(300)
    table = sparse.csr_array(X)
    classifier, regressor = KNeighborsClassifier(), KNeighborsRegressor(3)
    for model, target in ((classifier.fit(table, y), y), (regressor.fit(table, numbers), numbers)):
        source = suffice.sources.as_source(table, target)
        np.testing.assert_allclose(model.score(source), model.score(X, target), rtol=1e-12)
        assert model.score(table, target) == model.score(X, target)
    sparse_density, density = (KNeighborsDensity(40).fit(one) for one in (table, X))
    np.testing.assert_array_equal(
        sparse_density.score_samples(queries), density.score_samples(queries)
    )


def test_bits_at_any_number_of_threads():
    X, _, numbers, _ = counts()
    table = sparse.csr_array(X)
    found = [KNeighborsRegressor(7, n_jobs=n).fit(table, numbers).predict(table) for n in (1, 2, 5)]
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()


def test_bad_input():
    X, y, _, queries = counts(100)
    model = KNeighborsClassifier().fit(sparse.csr_array(X), y)
    holed = sparse.csr_array(X)
    holed.data[7] = np.nan
    row = int(np.searchsorted(holed.indptr, 7, side="right")) - 1
    with pytest.raises(ValueError, match=f"NaN: column {holed.indices[7]}, row {row} "):
        KNeighborsClassifier().fit(holed, y)
    with pytest.raises(ValueError, match="NaN"):
        model.predict(holed)
    with pytest.raises(ValueError, match="7 features"):
        model.predict(sparse.csr_array(queries[:, :7]))
    with pytest.raises(ValueError, match="n_samples_fit = 100, n_samples = 61"):
        model.kneighbors(sparse.csr_array(queries), 101)
    weights = {"w": [1e308] * 8}
    heavy = KNeighborsClassifier(p=1, metric_params=weights).fit(sparse.csr_array(X) * 1e9, y)
    with pytest.raises(ValueError, match="exceed the numbers of float64"):
        heavy.predict(queries)


@pytest.mark.compiled
def test_zeros_take_no_memory():
    """3,000 rows and 1,000 queries of 200,000 columns would take 6.4 GB."""
    rng = np.random.default_rng(0)
    X, queries = (
        sparse.random_array((n, 200_000), density=2e-4, rng=rng, format="csr") for n in (3000, 1000)
    )
    model = KNeighborsRegressor(3, metric="cosine", n_jobs=2).fit(X[:100], np.arange(100.0))
    model.predict(queries[:10])
    tracemalloc.start()
    try:
        model.fit(X, np.arange(3000.0)).predict(queries)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 40e6
