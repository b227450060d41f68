"""Classifier and regressor of the nearest rows: the definition, scikit-learn, laws, bad input."""

from __future__ import annotations

import copy
import pickle
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from sklearn import model_selection
from sklearn import neighbors as sk
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.metrics.pairwise import cosine_distances
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline

import suffice
from suffice import KNeighborsClassifier, KNeighborsRegressor
from suffice.neighbors.search.answers import neighbor_weights
from suffice.neighbors.search.metrics import Metric
from suffice.sources import as_source
from tests.neighbors import search_oracle as oracle

EUCLIDEAN = Metric("euclidean")


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    return X, np.digitize(X[:, 0], [-0.5, 0.5]), X @ [1.0, 2.0, 0.0, -1.0], rng.normal(size=(40, 4))


@pytest.fixture
def tied():
    """Rows among which most distances occur many times."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 3, size=(200, 3)).astype(float)
    return X, rng.integers(0, 3, size=200), X[::7]


# --- the definition ------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["auto", "brute", "kd_tree", "ball_tree"])
def test_votes_of_tied_rows(tied, algorithm):
    X, y, queries = tied
    _, nearest = oracle.nearest(queries, X, EUCLIDEAN, 6)
    model = KNeighborsClassifier(6, algorithm=algorithm).fit(X, y)
    distances, found = model.kneighbors(queries)
    np.testing.assert_array_equal(found, nearest)
    votes = np.stack([(y[nearest] == c).sum(axis=1) for c in range(3)], axis=1)
    np.testing.assert_array_equal(model.predict_proba(queries), votes / 6)
    np.testing.assert_array_equal(model.predict(queries), np.argmax(votes, axis=1))
    mean = KNeighborsRegressor(6, algorithm=algorithm).fit(X, y).predict(queries)
    np.testing.assert_allclose(mean, y[nearest].mean(axis=1), rtol=1e-15)
    assert distances.dtype == np.float64
    assert found.dtype == np.int64


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
def test_no_row_is_its_own_neighbour(tied, algorithm):
    X, y, _ = tied
    X = np.vstack([X, np.repeat(X[:1], 12, axis=0)])  # more that are alike than neighbours
    y = np.concatenate([y, y[:1].repeat(12)])
    ranks = oracle.all_ranks(X, X, EUCLIDEAN)
    np.fill_diagonal(ranks, np.inf)
    expected = np.argsort(ranks, axis=1, kind="stable")[:, :5]
    model = KNeighborsClassifier(algorithm=algorithm).fit(X, y)
    distances, found = model.kneighbors()
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(distances, np.sqrt(np.take_along_axis(ranks, expected, axis=1)))
    votes = np.stack([(y[expected] == c).sum(axis=1) for c in range(3)], axis=1)
    np.testing.assert_array_equal(model.predict_proba(None), votes / 5)
    regressor = KNeighborsRegressor(algorithm=algorithm).fit(X, y)
    np.testing.assert_allclose(regressor.predict(None), y[expected].mean(axis=1), rtol=1e-15)


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
def test_rows_within_a_radius(tied, algorithm):
    X, y, queries = tied
    model = KNeighborsClassifier(algorithm=algorithm).fit(X, y)
    radius = np.sqrt(2.0)  # a distance that occurs
    distances, found = model.radius_neighbors(queries, radius)
    true = np.sqrt(oracle.all_ranks(queries, X, EUCLIDEAN))
    for i in range(len(queries)):
        np.testing.assert_array_equal(found[i], np.flatnonzero(true[i] <= radius))
        np.testing.assert_array_equal(distances[i], true[i, found[i]])
    distances, found = model.radius_neighbors(queries, radius, sort_results=True)
    for i in range(len(queries)):
        near = np.argsort(true[i], kind="stable")[: len(found[i])]
        np.testing.assert_array_equal(found[i], near)
    alone = model.radius_neighbors(None, 0.0, return_distance=False)
    for i, near in enumerate(alone):
        same = np.flatnonzero((X == X[i]).all(axis=1))
        np.testing.assert_array_equal(near, same[same != i])
    assert [len(near) for near in model.radius_neighbors([[99.0] * 3])[1]] == [0]


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
@pytest.mark.parametrize("p", [3.0, 32.0])
def test_the_edge_of_a_radius_belongs_to_it_whatever_the_power(p, algorithm):
    X = 1 + np.random.default_rng(0).normal(size=(100, 2)) / p
    model = KNeighborsRegressor(20, p=p, algorithm=algorithm).fit(X, X[:, 0])
    (distances,), (rows,) = model.kneighbors([[0.0, 0.0]])
    for distance, row in zip(distances, rows, strict=True):
        assert row in model.radius_neighbors([[0.0, 0.0]], distance)[1][0]


def test_distances_are_those_of_the_metrics(rows):
    X, y, _, queries = rows
    away = np.abs(queries[:, None] - X[None])
    true = {
        "euclidean": np.sqrt((away**2).sum(axis=2)),
        "manhattan": away.sum(axis=2),
        "chebyshev": away.max(axis=2),
        "cosine": cosine_distances(queries, X),
    }
    names = {"l2": "euclidean", "l1": "manhattan", "cityblock": "manhattan"}
    for name in (*true, *names):
        expected = true[names.get(name, name)]
        model = KNeighborsClassifier(metric=name).fit(X, y)
        distances, found = model.kneighbors(queries, 300)
        np.testing.assert_allclose(
            distances, np.take_along_axis(expected, found, axis=1), rtol=1e-14, atol=3e-16
        )
        assert (np.diff(distances, axis=1) >= 0).all()
        assert model.effective_metric_ == names.get(name, name)
    for p, name in ((1, "manhattan"), (2, "euclidean"), (np.inf, "chebyshev"), (2.5, "minkowski")):
        model = KNeighborsClassifier(p=p).fit(X, y)
        assert model.effective_metric_ == name
        power = (away**p).sum(axis=2) ** (1 / p) if p < np.inf else away.max(axis=2)
        np.testing.assert_allclose(
            model.kneighbors(queries)[0], np.sort(power, axis=1)[:, :5], rtol=1e-13
        )


def test_cosine_of_rows_in_one_direction_and_of_zeros():
    X = np.array([[0.0, 0.0], [1.0, 1e-9], [3.0, 0.0], [0.0, 2.0], [-1.0, 0.0]])
    model = KNeighborsRegressor(5, metric="cosine").fit(X, np.arange(5.0))
    distances, found = model.kneighbors([[1.0, 0.0], [0.0, 0.0], [1e140, 1e131]])
    assert found[0].tolist() == [2, 1, 0, 3, 4]
    np.testing.assert_allclose(distances[0], [0, 0.5e-18, 1, 1, 2], rtol=1e-15)
    assert found[1].tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_allclose(distances[1], 1.0, rtol=1e-15)
    assert found[2, 0] == 1
    assert distances[2, 0] < 1e-30


@pytest.mark.parametrize("algorithm", ["brute", "ball_tree"])
def test_weighted_minkowski(rows, algorithm):
    X, y, _, queries = rows
    w = np.array([1.0, 0.5, 2.0, 0.0])
    options = {"p": 3, "metric_params": {"w": w}, "algorithm": algorithm}
    ours = KNeighborsClassifier(**options).fit(X, y)
    theirs = sk.KNeighborsClassifier(**options).fit(X, y)
    for a, b in zip(ours.kneighbors(queries), theirs.kneighbors(queries), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree", "sparse"])
@pytest.mark.parametrize("p", [1, 2, 3])
def test_weights_of_columns_neither_break_ties_nor_eat_digits(p, algorithm):
    X = np.arange(20.0)[:, None]
    table = sparse.csr_array(X) if algorithm == "sparse" else X
    options = {"algorithm": "brute" if algorithm == "sparse" else algorithm, "p": p}
    model = KNeighborsRegressor(4, metric_params={"w": [0.1]}, **options).fit(table, X[:, 0])
    distances, found = model.kneighbors([[10.0]])
    assert found.tolist() == [[10, 9, 11, 8]]
    np.testing.assert_allclose(distances, [0.1 ** (1 / p) * np.array([0, 1, 1, 2])], rtol=1e-15)
    # Rows of which only the last bits differ.
    X = 1e8 + X * 2.0**-24
    model = KNeighborsRegressor(4, metric_params={"w": [3.0]}, **options).fit(X, X[:, 0])
    distances, found = model.kneighbors(X[10:11])
    expected = 3 ** (1 / p) * 2.0**-24 * np.array([[0, 1, 1, 2]])
    np.testing.assert_allclose(distances, expected, rtol=1e-15)


# --- scikit-learn --------------------------------------------------------------------------


@pytest.mark.parametrize("weights", ["uniform", "distance", None, lambda r: np.exp(-r)])
@pytest.mark.parametrize("options", [{}, {"algorithm": "brute"}, {"p": 1}, {"metric": "cosine"}])
def test_predictions_of_scikit_learn(rows, weights, options):
    X, labels, numbers, queries = rows
    queries = np.vstack([queries, X[:5]])  # some at distance 0
    options = {"weights": weights, "n_neighbors": 7, **options}
    ours = KNeighborsClassifier(**options).fit(X, labels)
    theirs = sk.KNeighborsClassifier(**options).fit(X, labels)
    np.testing.assert_array_equal(ours.predict(queries), theirs.predict(queries))
    # Distances of a row to itself, by a matrix product or a cosine, are not quite 0 there.
    exact = "algorithm" not in options and "metric" not in options
    some = queries if exact else queries[:40]
    np.testing.assert_allclose(ours.predict_proba(some), theirs.predict_proba(some), atol=1e-12)
    assert ours.score(queries, ours.predict(queries)) == 1.0
    for y in (numbers, np.stack([numbers, labels], axis=1)):
        ours = KNeighborsRegressor(**options).fit(X, y)
        theirs = sk.KNeighborsRegressor(**options).fit(X, y)
        np.testing.assert_allclose(ours.predict(some), theirs.predict(some), rtol=1e-11, atol=1e-13)


def test_several_targets_of_labels(rows):
    X, y, _, queries = rows
    table = np.stack([y, (X[:, 1] > 0) * 5], axis=1)
    ours, theirs = (one(7).fit(X, table) for one in (KNeighborsClassifier, sk.KNeighborsClassifier))
    np.testing.assert_array_equal(ours.predict(queries), theirs.predict(queries))
    for a, b in zip(ours.predict_proba(queries), theirs.predict_proba(queries), strict=True):
        np.testing.assert_allclose(a, b)
    assert ours.outputs_2d_
    for a, b in zip(ours.classes_, theirs.classes_, strict=True):
        np.testing.assert_array_equal(a, b)
    with pytest.raises(ValueError, match="1 columns, but that of the fit has 2"):
        ours.update(X, y)


def test_several_labels_of_a_row(rows):
    X, y, _, queries = rows
    labels = np.stack([y == c for c in range(3)] + [X[:, 1] > 0], axis=1).astype(int)
    ours, theirs = (
        one(7).fit(X, labels) for one in (KNeighborsClassifier, sk.KNeighborsClassifier)
    )
    assert ours.__sklearn_tags__().classifier_tags.multi_label
    np.testing.assert_array_equal(ours.predict(queries), theirs.predict(queries))
    assert ours.score(queries, theirs.predict(queries)) == 1.0


def test_targets_of_several_kinds_stay_what_they_are():
    y = np.array([[True, 1, "a"], [False, 7, "b"]], dtype=object)
    model = KNeighborsClassifier(1).fit([[1.0], [2.0]], y)
    assert [labels.dtype.kind for labels in model.classes_] == ["b", "i", "O"]
    assert model.predict([[1.0], [2.0]]).tolist() == y.tolist()


@pytest.mark.parametrize("mode", ["connectivity", "distance"])
def test_graphs_of_scikit_learn(rows, mode):
    X, y, _, queries = rows
    ours = KNeighborsClassifier().fit(X, y)
    theirs = sk.NearestNeighbors().fit(X)
    for about in (queries, None):
        a, b = (m.kneighbors_graph(about, 3, mode=mode) for m in (ours, theirs))
        assert type(a) is type(b)
        assert a.shape == b.shape
        np.testing.assert_allclose(a.toarray(), b.toarray(), rtol=1e-12)
        a, b = (m.radius_neighbors_graph(about, 1.3, mode=mode) for m in (ours, theirs))
        np.testing.assert_allclose(a.toarray(), b.toarray(), rtol=1e-12)
    assert ours.radius_neighbors_graph([[99.0] * 4]).nnz == 0
    for graph in (ours.kneighbors_graph, ours.radius_neighbors_graph):
        with pytest.raises(ValueError, match="Unsupported mode"):
            graph(queries, mode="other")


def test_too_few_rows_get_the_words_of_scikit_learn():
    X, y = np.eye(3), [0, 1, 1]
    ours, theirs = (one(4).fit(X, y) for one in (KNeighborsClassifier, sk.KNeighborsClassifier))
    for ask in (
        lambda m: m.predict(X[:2]),
        lambda m: m.kneighbors(X[:2]),
        lambda m: m.kneighbors(None, 3),
        lambda m: m.kneighbors(X[:2], 0),
    ):
        with pytest.raises(ValueError, match="Expected n_neighbors") as expected:
            ask(theirs)
        with pytest.raises(ValueError, match="Expected n_neighbors") as found:
            ask(ours)
        assert str(found.value) == str(expected.value)
    with pytest.raises(TypeError, match="enter integer value"):
        ours.kneighbors(X, 1.5)
    assert ours.set_params(n_neighbors=3).predict(X).tolist() == [1, 1, 1]


def test_grid_search(rows):
    X, y, _, _ = rows
    grid = {"n_neighbors": [1, 5, 9], "weights": ["uniform", "distance"]}
    ours, theirs = (
        GridSearchCV(one(), grid).fit(X, y).cv_results_["mean_test_score"]
        for one in (KNeighborsClassifier, sk.KNeighborsClassifier)
    )
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("scaled", [False, True], ids=["plain", "scaled"])
def test_cross_validation_keeps_the_order_of_tied_rows(tied, scaled, tmp_path):
    X, y, _ = tied
    cv = StratifiedKFold(4, shuffle=True, random_state=0)
    model = KNeighborsClassifier(4)
    if scaled:
        model = make_pipeline(suffice.preprocessing.StandardScaler(), model)
    theirs = model_selection.cross_validate(model, X, y, cv=cv)["test_score"]
    np.testing.assert_array_equal(suffice.cross_validate(model, X, y, cv=cv)["test_score"], theirs)
    source = suffice.scan(write(tmp_path, X, y), target="y")
    found = suffice.cross_validate(model, source, cv=KFold(4))["test_score"]
    theirs = model_selection.cross_validate(model, X, y, cv=KFold(4))["test_score"]
    np.testing.assert_array_equal(found, theirs)


# --- weights -------------------------------------------------------------------------------


def test_weights_of_neighbours():
    distances = np.array([[0.0, 0.0, 2.0], [1.0, 2.0, 4.0], [1e-100, 1.0, 2.0]])
    assert neighbor_weights(distances, "uniform") is None
    found = neighbor_weights(distances, "distance")
    assert found.tolist() == [[1, 1, 0], [1, 0.5, 0.25], [1e100, 1, 0.5]]

    def spoiling(r):
        r += 1
        return r

    kept = distances.copy()
    neighbor_weights(distances, spoiling)
    np.testing.assert_array_equal(distances, kept)
    with pytest.raises(ValueError, match="zero weights"):
        neighbor_weights(distances, lambda r: r * 0)
    with pytest.raises(ValueError, match=r"shape \(3,\)"):
        neighbor_weights(distances, lambda r: r[:, 0])
    for bad in (np.nan, -np.inf):
        with pytest.raises(ValueError, match="NaN or minus infinity"):
            neighbor_weights(distances, lambda r, bad=bad: np.full(r.shape, bad))
    with pytest.raises(ValueError, match="zero weights"):
        neighbor_weights(distances, lambda r: np.tile([1.0, -1.0, 0.0], (3, 1)))


def reciprocal(r):
    with np.errstate(divide="ignore"):
        return 1 / r


def test_a_function_may_weigh_by_the_reciprocal_too(tied):
    X, y, queries = tied
    for model in (KNeighborsClassifier, KNeighborsRegressor):
        a, b = (model(weights=weights).fit(X, y) for weights in (reciprocal, "distance"))
        np.testing.assert_array_equal(a.predict(queries), b.predict(queries))


# --- sources, frames, threads --------------------------------------------------------------


def write(folder, X, y):
    path = folder / "rows.parquet"
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    pq.write_table(pa.table({**columns, "y": y}), path, row_group_size=77)
    return path


def test_files_and_frames_are_rows_and_queries(rows, tmp_path):
    X, labels, numbers, _ = rows
    names = [f"x{j}" for j in range(4)]
    for model, y in ((KNeighborsClassifier(), labels), (KNeighborsRegressor(), numbers)):
        source = suffice.scan(write(tmp_path, X, y), target="y")
        plain, streamed = copy.deepcopy(model).fit(X, y), model.fit(source)
        np.testing.assert_array_equal(streamed.predict(source), plain.predict(X))
        assert abs(streamed.score(source) - plain.score(X, y)) < 1e-12
        for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
            for a, b in zip(streamed.kneighbors(frame), plain.kneighbors(X), strict=True):
                np.testing.assert_array_equal(a, b)
            near = streamed.radius_neighbors(frame, 0.5, return_distance=False)
            for a, b in zip(near, plain.radius_neighbors(X, 0.5)[1], strict=True):
                np.testing.assert_array_equal(a, b)
        with pytest.raises(ValueError, match="feature names should match"):
            streamed.predict(pd.DataFrame(X, columns=list("abcd")))


@pytest.mark.compiled
@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
def test_any_number_of_threads(algorithm):
    rng = np.random.default_rng(0)
    X, queries = np.round(rng.normal(size=(20_000, 8)), 1), rng.normal(size=(3000, 8))
    y = X @ rng.normal(size=8)
    answers = []
    for threads in (1, 2, 3):
        model = KNeighborsRegressor(weights="distance", algorithm=algorithm, n_jobs=threads)
        model.fit(X, y)
        answers.append((*model.kneighbors(queries), model.predict(queries)))
    for answer in answers[1:]:
        for a, b in zip(answer, answers[0], strict=True):
            assert a.tobytes() == b.tobytes()


def test_models_are_asked_by_several_threads(rows, tmp_path):
    X, y, _, queries = rows
    KNeighborsClassifier(algorithm="brute").fit(X, y).save(tmp_path / "model")
    model = suffice.load(tmp_path / "model")  # nothing is prepared yet
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(model.predict_proba, [queries] * 8))
    for one in found:
        np.testing.assert_array_equal(one, found[0])


def test_dtypes_and_orders(rows):
    X, y, _, queries = rows
    whole = np.round(X * 10).astype(np.int32)
    expected = KNeighborsClassifier().fit(whole.astype(float), y).predict(queries)
    for form in (whole, np.asfortranarray(whole), whole.astype(np.float32), whole.tolist()):
        np.testing.assert_array_equal(
            KNeighborsClassifier().fit(form, y).predict(queries), expected
        )


# --- update, merge, forget, refit, save ----------------------------------------------------


def assert_same_answers(one, other, queries):
    for a, b in zip(one.kneighbors(queries), other.kneighbors(queries), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(one.predict(queries), other.predict(queries))
    assert one.n_samples_fit_ == other.n_samples_fit_


def test_rows_come_and_go(tied):
    X, y, queries = tied
    names = np.array(["ä", "b", "γ"])[y]
    for kind, target in ((KNeighborsClassifier, names), (KNeighborsRegressor, y * 1.5)):
        whole = kind().fit(X, target)
        grown = kind().update(X[:50], target[:50]).update(X[50:120], target[50:120])
        grown.partial_fit(X[120:], target[120:])
        assert_same_answers(grown, whole, queries)
        parts = [kind().fit(X[a:b], target[a:b]) for a, b in ((0, 80), (80, 130), (130, 200))]
        assert_same_answers(sum(parts), whole, queries)
        assert_same_answers(parts[0] + (parts[1] + parts[2]), whole, queries)
        assert parts[0].n_samples_fit_ == 80
        # The last of several alike goes, so what was appended leaves no trace.
        again = copy.deepcopy(whole).update(X[20:60], target[20:60]).forget(X[20:60], target[20:60])
        assert_same_answers(again, whole, queries)


def test_what_cannot_be_forgotten(tied):
    X, y, _ = tied
    model = KNeighborsClassifier().fit(X, y)
    before = pickle.dumps(model.statistics_)
    for gone, target in (
        (X[:1] + 1e-9, y[:1]),
        (X[:1], [7]),
        (np.repeat(X[:1], 200, axis=0), [0] * 200),
    ):
        with pytest.raises(ValueError, match="no row that is left equals it"):
            model.forget(gone, target)
    with pytest.raises(ValueError, match="no row would stay"):
        model.forget(X, y)
    assert pickle.dumps(model.statistics_) == before
    model.forget(X[:199], y[:199])
    assert model.n_samples_fit_ == 1
    assert model.classes_.tolist() == [y[199]]
    assert model.refit(n_neighbors=1).predict(X[:1]).tolist() == [y[199]]


def test_a_class_that_comes_late():
    X = np.arange(6.0)[:, None]
    model = KNeighborsClassifier(1).fit(X[:3], ["a", "a", "a"])
    assert model.predict_proba([[9.0]]).tolist() == [[1.0]]
    model.update(X[3:], ["z", "b", "b"])
    assert model.classes_.tolist() == ["a", "b", "z"]
    assert model.predict([[3.1], [9.0]]).tolist() == ["z", "b"]
    with pytest.raises(ValueError, match="integers and text"):
        model.update(X, [1, 2, 3, 4, 5, 6])
    assert model.n_samples_fit_ == 6


def test_labels_are_kept_as_they_are():
    numbers = KNeighborsClassifier(1).fit([[1.0], [2.0]], [1, 2])
    numbers.update([[3.0]], np.array([3], dtype=object))  # an integer, whatever the array
    assert numbers.classes_.tolist() == [1, 2, 3]
    assert numbers.predict([[3.0]]).dtype == np.int64
    for bad, message in (
        (np.array([1, 2], dtype=np.uint64) + np.uint64(2**63), "uint64"),
        (np.array([None, "a"], dtype=object), "row 0"),
        (np.array([b"a", b"b"]), "text"),
    ):
        with pytest.raises(ValueError, match=message):
            KNeighborsClassifier(1).fit([[1.0], [2.0]], bad)


def test_other_parameters_without_the_rows(rows):
    X, y, _, queries = rows
    model = KNeighborsClassifier().fit(X, y)
    for changed in (
        {"metric": "cosine"},
        {"metric": "manhattan", "algorithm": "brute"},
        {"weights": "distance", "leaf_size": 3, "algorithm": "kd_tree"},
    ):
        model.refit(**changed)
        assert_same_answers(model, KNeighborsClassifier(**model.get_params()).fit(X, y), queries)
    with pytest.raises(ValueError, match="no parameter radius"):
        model.refit(radius=1.0)


def test_parameters_that_are_set_after_the_fit(rows, tmp_path):
    """How many neighbours count and how much, at once; the metric and the search by a fit."""
    X, y, _, queries = rows
    model = KNeighborsClassifier(p=3, leaf_size=10).fit(X, y)
    path = model.certificate_.path
    model.set_params(n_neighbors=1, weights="distance")
    fresh = KNeighborsClassifier(1, p=3, weights="distance").fit(X, y)
    changed = {"metric": "cosine", "p": 1, "metric_params": {"w": [1.0]}, "algorithm": "brute"}
    for set_now in ({}, changed, {"leaf_size": 100, "algorithm": "kd_tree", "metric": "nonsense"}):
        model.set_params(**set_now)
        model.save(tmp_path / "model")
        for one in (model, suffice.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
            assert_same_answers(one, fresh, queries)
            assert (one.effective_metric_, one.effective_metric_params_) == (
                "minkowski", {"p": 3.0, "w": None}
            )  # fmt: skip
            assert one.certificate_.path == path
            assert one._search_in(one.statistics_).path == path
    model.refit(metric="manhattan", metric_params=None, algorithm="brute")
    assert (model.effective_metric_, model.effective_metric_params_) == ("manhattan", {})
    assert model.certificate_.path == "brute force, in float64"
    fresh = KNeighborsClassifier(1, weights="distance", metric="manhattan").fit(X, y)
    assert_same_answers(model, fresh, queries)


def test_the_metric_of_a_density_is_that_of_the_fit(rows):
    X, _, _, queries = rows
    model = suffice.KNeighborsDensity(metric="chebyshev").fit(X)
    before = model.score_samples(queries)
    model.set_params(metric="euclidean")
    np.testing.assert_array_equal(model.score_samples(queries), before)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("effective_metric_", "hamming"),
        ("effective_metric_", 3),
        ("effective_metric_params_", {"p": -1.0, "w": None}),
        ("effective_metric_params_", {"p": 2.0, "w": None}),
        ("effective_metric_params_", {"p": 3.0, "w": (1.0,)}),
        ("effective_metric_params_", {"p": 3.0, "w": None, "V": 1}),
        ("_leaf_size", 0),
        ("_leaf_size", "many"),
    ],
    ids=str,
)
def test_files_with_a_strange_metric(rows, tmp_path, name, value):
    X, y, _, _ = rows
    model = KNeighborsClassifier(p=3).fit(X, y)
    setattr(model, name, value)
    model.save(tmp_path / "model")
    with pytest.raises(ValueError, match="is damaged"):
        suffice.load(tmp_path / "model")


def test_models_travel(rows, tmp_path):
    X, y, _, queries = rows
    names = np.array(["ä", "b", "γ"])[y]
    for model, target in (
        (KNeighborsClassifier(), names),
        (KNeighborsClassifier(metric="cosine"), y > 0),
        (KNeighborsClassifier(), np.stack([y, y + 1], axis=1)),
        (KNeighborsRegressor(p=3), np.stack([y, y + 1], axis=1)),
    ):
        model.fit(X, target)
        model.predict(queries)
        model.save(tmp_path / "model")
        for copied in (suffice.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
            assert_same_answers(copied, model, queries)
            assert_same_answers(
                copied.update(X, target),
                model.__class__(**model.get_params()).fit(
                    np.vstack([X, X]), np.concatenate([target, target])
                ),
                queries,
            )


# --- the certificate -----------------------------------------------------------------------


def test_the_certificate_says_what_runs(rows):
    X, y, _, _ = rows
    wide, long = np.hstack([X] * 5), np.vstack([np.hstack([X] * 5)] * 4)
    paths = {
        "kd-tree of 16 leaves": KNeighborsClassifier().fit(X, y),
        "brute force, in float64": KNeighborsClassifier().fit(wide, y),
        "brute force, screened in float32": KNeighborsClassifier().fit(long, np.tile(y, 4)),
    }
    for path, model in paths.items():
        assert model.certificate_.path == path
        assert model.certificate_.holds
        assert model.certificate_.rows == model.n_samples_fit_
    assert "in place of a ball tree" in str(
        KNeighborsClassifier(algorithm="ball_tree").fit(X, y).certificate_
    )


# --- bad input -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors"),
        ({"weights": "other"}, "weights"),
        ({"algorithm": "other"}, "algorithm"),
        ({"leaf_size": 0}, "leaf_size"),
        ({"p": 0}, "'p'"),
        ({"metric": "hamming"}, "metric='hamming' is not supported; metrics are"),
        ({"metric": "precomputed"}, "is not supported"),
        ({"metric": abs}, "is not supported"),
        ({"metric": "cosine", "algorithm": "kd_tree"}, "cosine"),
        ({"p": 0.5, "algorithm": "kd_tree"}, "0 < p < 1"),
        ({"metric_params": {"V": 1}}, "'V'"),
        ({"metric": "euclidean", "metric_params": {"w": [1.0] * 4}}, "takes none"),
        ({"metric_params": {"w": [1.0]}}, "4 numbers"),
        ({"metric_params": {"w": [-1.0] * 4}}, "not negative"),
        ({"metric_params": {"w": "heavy"}}, "4 numbers"),
        ({"metric_params": {"p": "two"}}, "'two' of a Minkowski distance"),
        ({"metric_params": {"p": np.nan}}, "positive number"),
        ({"p": 300}, "metric='chebyshev' is nearly the same"),
        ({"p": np.inf, "metric_params": {"w": [1.0] * 4}}, "finite p"),
    ],
    ids=str,
)
def test_parameters_that_are_refused(rows, options, message):
    X, y, _, _ = rows
    model = KNeighborsClassifier(**options)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize(
    "changed",
    [{"n_neighbors": 2.5}, {"weights": "other"}, {"algorithm": "other"}, {"leaf_size": "small"}],
    ids=str,
)
def test_parameters_that_are_refused_after_the_fit(rows, changed):
    X, y, _, queries = rows
    model = KNeighborsClassifier().fit(X, y).set_params(**changed)
    for ask in (model.predict, model.kneighbors, model.radius_neighbors):
        with pytest.raises(ValueError, match=next(iter(changed))):
            ask(queries)


def test_warnings_of_scikit_learn(rows):
    X, y, _, queries = rows
    with pytest.warns(UserWarning, match="not distance metrics"):
        model = KNeighborsClassifier(p=0.5, algorithm="brute").fit(X, y)
    with pytest.warns(UserWarning, match="not distance metrics"):
        theirs = sk.KNeighborsClassifier(p=0.5, algorithm="brute").fit(X, y)
    np.testing.assert_array_equal(model.predict(queries), theirs.predict(queries))
    with pytest.warns(SyntaxWarning, match="Parameter p is found"):
        model = KNeighborsClassifier(metric_params={"p": 1}).fit(X, y)
    assert model.effective_metric_ == "manhattan"
    for column in (y[:, None], [[label] for label in y.tolist()], pl.DataFrame({"y": y})):
        with pytest.warns(DataConversionWarning, match="column-vector"):
            model = KNeighborsClassifier().fit(X, column)
        assert model.predict(queries).shape == (40,)


def test_rows_that_are_refused(rows, tmp_path):
    X, y, numbers, _ = rows
    model = KNeighborsClassifier()
    with pytest.raises(NotFittedError):
        model.predict(X)
    holed = X.copy()
    holed[7, 2] = np.nan
    for bad, message in (
        (holed, "NaN: column 2, row 7 "),
        (X * np.inf, "infinity"),
        (X[:0], "0 sample"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(bad, y[: len(bad)])
    with pytest.raises(ValueError, match="continuous"):
        model.fit(X, numbers)
    with pytest.raises(TypeError, match="sample_weight"):
        model.fit(X, y, sample_weight=np.ones(300))
    table = pa.table({"x": X[:, 0], "y": y, "w": np.linspace(0, 2, 300)})
    pq.write_table(table, tmp_path / "weighted.parquet")
    with pytest.raises(ValueError, match="takes no row weights"):
        model.fit(suffice.scan(tmp_path / "weighted.parquet", target="y", weight="w"))
    model.fit(X, y)
    for bad, message in ((holed, "NaN"), (X[:, :3], "3 features"), (X[:0], "0 sample")):
        with pytest.raises(ValueError, match=message):
            model.predict(bad)
    with pytest.raises(ValueError, match="NaN: column 'a', row 7 "):
        model.predict(pd.DataFrame({"a": holed[:, 2], "b": 0.0, "c": 0.0, "d": 0.0}))
    for text in (X.astype(str), X.astype(str).tolist(), X.astype(bytes)):
        with pytest.raises(ValueError, match="strings"):
            model.fit(text, y)
        with pytest.raises(ValueError, match="strings"):
            model.predict(text)
    for form in (X.astype(object), X.astype(np.longdouble), X.astype(np.float16) > 0):
        assert model.predict(form).shape == (300,)
    with pytest.raises(ValueError, match="n_samples = 300"):
        model.kneighbors(sparse.csr_array(X), 1000)
    with pytest.raises(ValueError, match="infinity"):
        model.predict(np.full((1, 4), np.longdouble("1e308") * 8))
    large = np.where(np.isnan(holed), -1e151, holed)
    place = r"contains a value too large, -1e\+151: column 2, row 7 .* rescale"
    for form in (np.asarray, sparse.csr_array, as_source):
        with pytest.raises(ValueError, match=place):
            model.predict(form(large))
    with pytest.raises(ValueError, match=place):
        KNeighborsClassifier().fit(large, y)
    with pytest.raises(ValueError, match=r"Input y contains a value too large, 1e\+160: row 2 "):
        KNeighborsRegressor().fit(X[:3], [0.0, 1.0, 1e160])
    for radius in (-1.0, np.nan, "wide", [1.0, 2.0]):
        with pytest.raises(ValueError, match="number that is not negative"):
            model.radius_neighbors(X, radius)
    for ours, theirs in zip(
        model.radius_neighbors(X[:5], None), model.radius_neighbors(X[:5], 1.0), strict=True
    ):
        assert all(map(np.array_equal, ours, theirs))
    with pytest.raises(ValueError, match="return_distance must be True"):
        model.radius_neighbors(X, 1.0, return_distance=False, sort_results=True)


def test_one_row_and_one_class():
    model = KNeighborsClassifier(1).fit([[1.0, 2.0]], ["only"])
    assert model.predict([[9.0, 9.0]]).tolist() == ["only"]
    assert model.predict_proba([[9.0, 9.0]]).tolist() == [[1.0]]
    with pytest.raises(ValueError, match="n_neighbors < n_samples_fit"):
        model.predict(None)
    assert KNeighborsRegressor(1).fit([[1.0]], [2.0]).predict([[5.0]]).tolist() == [2.0]


@pytest.mark.compiled
@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
def test_memory_does_not_grow_with_queries_times_rows(algorithm):
    """40,000 × 20,000 distances would take 6 GB."""
    rng = np.random.default_rng(0)
    X, queries = rng.normal(size=(20_000, 6)), rng.normal(size=(40_000, 6))
    model = KNeighborsRegressor(3, algorithm=algorithm, n_jobs=2).fit(X, X[:, 0])
    model.predict(queries[:10])
    tracemalloc.start()
    try:
        model.predict(queries)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 40e6


@pytest.mark.parametrize("ask", ["predict", "predict_proba", "kneighbors", "radius_neighbors"])
def test_parameters_are_validated_once_a_question(ask, monkeypatch):
    X = np.random.default_rng(0).normal(size=(2000, 7))
    model = KNeighborsClassifier(algorithm="brute").fit(X, X[:, 0] > 0)
    calls = []
    monkeypatch.setattr(KNeighborsClassifier, "_validate_params", lambda self: calls.append(self))
    getattr(model, ask)(X)
    assert calls == [model]


def test_a_target_of_numbers_that_nobody_has():
    with pytest.raises(ValueError, match=r"beyond 1e\+150"):
        KNeighborsRegressor(1).fit([[1.0], [2.0]], np.array([1, 10**200], dtype=object))
