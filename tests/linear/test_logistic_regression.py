"""Logistic regression: exact minimisers, scikit-learn, laws, files and threads, bad input."""

from __future__ import annotations

import pickle
import threading
import warnings
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from sklearn import linear_model
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning

import suffice
from suffice import LogisticRegression
from suffice.fitting.driver import Running, answered
from suffice.fitting.requests import Pass
from suffice.linear.solvers import choose
from tests.linear import exact_logistic
from tests.linear.real_data import SETS

LABELS = {
    "text": ["a", "é", "東京"],
    "bool": [False, True],
    "int": [-3, 0, 7],
    "float": [-1.0, 2.0, 4.0],
    "object": np.array(["x", "ß", "y"], dtype=object),
}


def make(n=300, d=5, k=2, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * rng.uniform(0.5, 2, d) + rng.normal(size=d)
    score = X @ rng.normal(size=(d, k)) + 2 * noise * rng.gumbel(size=(n, k))
    return X, score.argmax(axis=1)


def peer(**options):
    """scikit-learn, run to the end."""
    options = {"tol": 1e-12, "max_iter": 100_000, "solver": "newton-cholesky", **options}
    return linear_model.LogisticRegression(**options)


def assert_same_fit(a, b, tolerance):
    """Coefficients and, up to what all classes may share, intercepts."""
    scale = np.abs(b.coef_).max()
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=0, atol=tolerance * scale)
    ours, theirs = np.ravel(a.intercept_), np.ravel(b.intercept_)
    if len(ours) > 1:
        ours, theirs = ours - ours.mean(), theirs - theirs.mean()
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * max(scale, 1.0))


def identical(a, b):
    for name in ("coef_", "intercept_"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert a.certificate_.measures == b.certificate_.measures


def objective(model, X, y, C, l1_ratio=0.0):
    eta = X @ model.coef_.T + model.intercept_
    codes = np.searchsorted(model.classes_, y)
    eta = np.hstack([np.zeros_like(eta), eta]) if eta.shape[1] == 1 else np.asarray(eta)
    top = eta.max(axis=1)
    losses = top + np.log(np.exp(eta - top[:, None]).sum(axis=1)) - eta[np.arange(len(y)), codes]
    theta = model.coef_
    penalty = l1_ratio * np.abs(theta).sum() + (1 - l1_ratio) / 2 * (theta**2).sum()
    return losses.sum() + penalty / C


# --- scikit-learn, run to the end ------------------------------------------------------------

WAYS = {
    "squares": {},
    "strong": {"C": 1e-3},
    "weak": {"C": 1e3},
    "none": {"C": np.inf},
    "no intercept": {"fit_intercept": False},
    "balanced": {"class_weight": "balanced"},
    "class weights": {"class_weight": {0: 3.0, 1: 0.5}},
}


@pytest.mark.parametrize("solver", ["auto", "lbfgs", "newton-cg"])
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("options", WAYS.values(), ids=WAYS)
def test_scikit_learns_coefficients(options, k, solver):
    X, y = make(k=k)
    weight = np.random.default_rng(3).uniform(0.1, 3, len(y))
    for sample_weight in (None, weight):
        ours = LogisticRegression(solver=solver, **options).fit(X, y, sample_weight)
        # Without a penalty its Cholesky factor of a singular matrix stops short.
        solver_of_theirs = {"solver": "newton-cg"} if k > 2 and "C" in options else {}
        theirs = peer(**options, **solver_of_theirs).fit(X, y, sample_weight)
        assert ours.certificate_.holds
        assert_same_fit(ours, theirs, 1e-8)
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("l1_ratio", [1.0, 0.4])
@pytest.mark.parametrize("C", [0.1, 0.3, 3.0])
def test_absolute_values_against_saga(C, l1_ratio, k):
    X, y = make(n=150, k=k)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    ours = LogisticRegression(C=C, l1_ratio=l1_ratio).fit(X, y)
    theirs = peer(C=C, l1_ratio=l1_ratio, solver="saga", tol=1e-13).fit(X, y)
    assert ours.certificate_.holds is True
    assert ours.certificate_.duality_gap <= 1e-9 * len(y)
    assert objective(ours, X, y, C, l1_ratio) <= objective(theirs, X, y, C, l1_ratio) + 1e-10
    assert_same_fit(ours, theirs, 1e-7)
    np.testing.assert_array_equal(ours.coef_ == 0, np.abs(theirs.coef_) < 1e-9)


@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
@pytest.mark.parametrize("k", [2, 3])
def test_conditions_of_a_minimum_from_the_rows(l1_ratio, k):
    """0 in the subdifferential, in the units of the user's columns."""
    data = load_breast_cancer(return_X_y=True) if k == 2 else load_iris(return_X_y=True)
    X, y = data
    model = LogisticRegression(C=0.1, l1_ratio=l1_ratio).fit(X, y)
    left = (np.arange(k) == y[:, None]) - model.predict_proba(X)
    left = left[:, 1:] if k == 2 else left
    slope = left.T @ X - 10 * (1 - l1_ratio) * model.coef_
    scale = np.abs(X).sum(axis=0)
    inside = model.coef_ != 0
    gap = np.where(inside, np.abs(slope - 10 * l1_ratio * np.sign(model.coef_)), 0.0)
    assert (gap <= 1e-8 * scale).all()
    assert (np.abs(slope)[~inside] <= 10 * l1_ratio * (1 + 1e-9)).all()
    assert 0 < (~inside).sum() < inside.size
    np.testing.assert_allclose(left.sum(axis=0), 0, atol=1e-8 * len(y))


# --- the minimiser to more digits than float64 has ---------------------------------------------


@pytest.mark.parametrize("standardised", [True, False], ids=["standardised", "raw"])
@pytest.mark.parametrize("name", SETS)
def test_default_fits_of_real_data(name, standardised):
    """Every coefficient, whenever the certificate holds; and on standardised columns it does."""
    data = SETS[name]()
    data = data.standardised if standardised else data
    rows = slice(0, 600) if name == "digits" else slice(None)
    X, codes = data.X[rows], data.codes[rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LogisticRegression().fit(X, codes)
    assert model.certificate_.holds or not standardised
    if name == "digits":
        check_stationary(model, X, codes)
        return
    exact = exact_logistic.fit(X, codes, l2=1.0)
    assert exact.moved < 1e-14
    error = np.abs(model.coef_ - exact.coef) / np.abs(exact.coef)
    # A coefficient of 1e-4 of the largest and below is known relative to that.
    sizes = np.abs(exact.coef) * X.std(axis=0)
    known = sizes >= 1e-4 * sizes.max()
    assert error[known].max() <= 1e-6
    # What `tol` promises.
    assert np.abs(model.coef_ - exact.coef).max() <= model.tol * np.abs(exact.coef).max()
    constant = exact.intercept if len(exact.intercept) == 1 else centred(exact.intercept)
    assert np.abs(model.intercept_ - constant).max() <= 1e-8 * max(np.abs(constant).max(), 1e-3)


def centred(values):
    return values - values.mean()


def check_stationary(model, X, codes):
    """∇F in extended precision; 1/C bends F at least so much, so ‖θ − θ*‖ ≤ ‖∇F‖."""
    W = exact_logistic.WIDE
    P = exact_logistic.probabilities(X.astype(W) @ model.coef_.T.astype(W) + model.intercept_)
    left = P - (np.arange(10) == codes[:, None])
    slope = left.T @ X.astype(W) + model.coef_
    assert np.linalg.norm(slope.astype(float)) <= 1e-6 * np.abs(model.coef_).max()
    assert np.abs(left.sum(axis=0)).max() <= 1e-6


@pytest.mark.parametrize("name", ["fair", "spector", "anes96", "diabetes", "modechoice", "randhie"])
def test_likelihoods_without_a_penalty(name):
    data = SETS[name]()
    model = LogisticRegression(C=np.inf).fit(data.X, data.codes)
    assert model.certificate_.holds
    exact = exact_logistic.fit(data.X, data.codes)
    coef = exact.coef - exact.coef.mean(axis=0) if len(exact.coef) > 1 else exact.coef
    np.testing.assert_allclose(model.coef_.astype(float), coef.astype(float), rtol=1e-7)


def test_a_published_table():
    """Spector and Mazzeo (1980), as in Greene, "Econometric Analysis", table 21.1: the logit."""
    data = SETS["spector"]()
    model = LogisticRegression(C=np.inf).fit(data.X, data.codes)
    np.testing.assert_allclose(model.intercept_, [-13.021], atol=5e-4)
    np.testing.assert_allclose(model.coef_, [[2.826, 0.095, 2.379]], atol=5e-4)


# --- one model, several forms ----------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("solver", ["auto", "lbfgs", "newton-cg"])
def test_softmax_and_reference_class_agree_without_a_penalty(k, solver):
    X, y = make(k=k, seed=1, noise=2.0)
    plain = LogisticRegression(C=np.inf, solver=solver, tol=1e-12).fit(X, y)
    for reference in range(k):
        model = LogisticRegression(
            C=np.inf, reference_class=reference, solver=solver, tol=1e-12
        ).fit(X, y)
        assert model.coef_.shape == (k - 1, 5)
        np.testing.assert_allclose(
            model.predict_proba(X), plain.predict_proba(X), rtol=0, atol=1e-10
        )
        np.testing.assert_array_equal(model.predict(X), plain.predict(X))
        if k > 2:
            against = np.delete(plain.coef_ - plain.coef_[reference], reference, axis=0)
            np.testing.assert_allclose(model.coef_, against, atol=1e-9)


def test_a_penalty_is_not_symmetric_with_a_reference_class():
    X, y = make(k=3)
    plain, first = LogisticRegression().fit(X, y), LogisticRegression(reference_class=0).fit(X, y)
    assert np.abs(plain.predict_proba(X) - first.predict_proba(X)).max() > 1e-4


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("solver", ["auto", "lbfgs", "newton-cg"])
def test_units_and_offsets_of_columns_do_not_matter_without_a_penalty(k, solver):
    X, y = make(k=k, noise=2.0)
    plain = LogisticRegression(C=np.inf, solver=solver, tol=1e-11).fit(X, y)
    for factor, shift in ((1e8, 1e6), (1e-8, 0.0), (1.0, 1e6), (1e100, 0.0), (1e-100, 0.0)):
        moved = X * [factor, 1, 1, 1, 1] + [shift, 0, 0, 0, 0]
        model = LogisticRegression(C=np.inf, solver=solver, tol=1e-11).fit(moved, y)
        assert model.certificate_.holds
        np.testing.assert_allclose(
            model.predict_proba(moved), plain.predict_proba(X), rtol=0, atol=1e-9
        )


@pytest.mark.parametrize("options", [{}, {"C": np.inf}, {"l1_ratio": 0.5}], ids=str)
@pytest.mark.parametrize("k", [2, 3])
def test_a_weight_is_a_number_of_repetitions(options, k):
    X, y = make(n=120, k=k)
    counts = np.random.default_rng(0).integers(0, 4, 120)
    counts[:k] = 1
    y[:k] = np.arange(k)
    weighted = LogisticRegression(**options).fit(X, y, sample_weight=counts)
    repeated = LogisticRegression(**options).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert_same_fit(weighted, repeated, 1e-9)
    balanced = {"class_weight": "balanced"}
    weighted = LogisticRegression(**balanced).fit(X, y, sample_weight=counts)
    repeated = LogisticRegression(**balanced).fit(
        np.repeat(X, counts, axis=0), np.repeat(y, counts)
    )
    assert_same_fit(weighted, repeated, 1e-9)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e308])
def test_rows_of_weight_zero_do_not_exist(bad):
    X, y = make(n=100)
    weight = np.ones(103)
    weight[100:] = 0.0
    more = np.vstack([X, np.full((3, 5), bad)])
    plain = LogisticRegression().fit(X, y)
    identical(LogisticRegression().fit(more, np.append(y, [0, 1, 7]), weight), plain)
    thin = sparse.csr_array(more)
    model = LogisticRegression().fit(thin, np.append(y, [0, 1, 1]), weight)
    assert_same_fit(model, plain, 1e-9)
    labels = np.append(np.array(["no", "yes"], dtype=object)[y], [None, None, None])
    model = LogisticRegression().fit(more, labels, weight)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    assert model.classes_.tolist() == ["no", "yes"]


def test_few_rows_of_positive_weight_among_many():
    X, y = make(n=40_000)
    weight = np.zeros(40_000)
    there = [1, 3, 5, 777, 20_001, 39_999]
    y[there] = [0, 1, 0, 1, 1, 0]
    weight[there] = 1.0
    model = LogisticRegression().fit(X, y, weight)
    assert_same_fit(model, LogisticRegression().fit(X[there], y[there]), 1e-9)


# --- files, threads, sparse rows -----------------------------------------------------------------

LARGE = {
    "newton": {},
    "gradients": {"solver": "lbfgs"},
    "products": {"solver": "newton-cg"},
    "absolute values": {"l1_ratio": 1.0, "C": 0.05},
}


@pytest.fixture(scope="module")
def large():
    """Ten of the small blocks."""
    X, y = make(n=5_000, d=6, k=3, noise=2.0)
    return X, np.array(["ä", "b", "c"])[y]


@pytest.mark.parametrize("options", LARGE.values(), ids=LARGE)
def test_files_are_arrays_bit_for_bit(options, large, small_blocks, tmp_path):
    X, y = large
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    table = pa.table({**{f"x{j}": X[:, j] for j in range(6)}, "y": y, "w": weight})
    plain = LogisticRegression(**options).fit(X, y, weight)
    for n_files in (1, 5):
        folder = tmp_path / str(n_files)
        folder.mkdir()
        edges = np.linspace(0, len(y), n_files + 1).astype(int)
        for i in range(n_files):
            part = table.slice(edges[i], edges[i + 1] - edges[i])
            pq.write_table(part, folder / f"{i:02}.parquet", row_group_size=701)
        source = suffice.scan(f"{folder}/*.parquet", target="y", weight="w")
        model = LogisticRegression(**options).fit(source)
        identical(model, plain)
        assert model.classes_.tolist() == ["b", "c", "ä"]
    np.testing.assert_array_equal(model.predict_proba(source), plain.predict_proba(X))
    assert model.score(source) == pytest.approx(plain.score(X, y, weight))


@pytest.mark.parametrize("options", LARGE.values(), ids=LARGE)
def test_any_number_of_threads_gives_the_same_bits(options, large, small_blocks):
    X, y = large
    plain = LogisticRegression(n_jobs=1, **options).fit(X, y)
    identical(LogisticRegression(n_jobs=4, **options).fit(X, y), plain)
    for layout in (np.asfortranarray(X), X[::-1][::-1]):
        identical(LogisticRegression(**options).fit(layout, y), plain)


def test_two_fits_at_once(large, small_blocks):
    X, y = large
    plain, models = LogisticRegression().fit(X, y), [LogisticRegression() for _ in range(4)]
    threads = [threading.Thread(target=model.fit, args=(X, y)) for model in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for model in models:
        identical(model, plain)


def test_rows_that_repeat_in_a_rhythm():
    """Labels in turns: rows gathered at even distances would miss some of the classes."""
    rng = np.random.default_rng(0)
    y = np.arange(40_000) % 4
    X = rng.normal(size=(40_000, 3)) + y[:, None] / 2
    model = LogisticRegression().fit(X, y)
    assert model.certificate_.holds
    assert model.n_iter_[0] <= 6
    y[:3] = 9  # three rows of a class of its own
    rare = LogisticRegression().fit(X, y)
    assert rare.certificate_.holds
    assert rare.n_iter_[0] <= 12


def text(seed=1):
    """Counts of words: a few common, most rare."""
    rng = np.random.default_rng(seed)
    n, d, words = 2000, 100_000, 60
    columns = np.minimum((rng.pareto(0.6, size=(n, words)) * 20).astype(int), d - 1)
    rows = np.repeat(np.arange(n), words)
    X = sparse.csr_array((np.ones(n * words), (rows, columns.ravel())), shape=(n, d))
    X.sum_duplicates()
    theta = rng.normal(size=d) * (rng.random(d) < 0.1)
    return X, (X @ theta + 3 * rng.normal(size=n) > 0).astype(int)


def test_sparse_text_with_squares():
    X, y = text()
    model = LogisticRegression(tol=1e-9).fit(X, y)
    assert model.certificate_.holds
    left = y - model.predict_proba(X)[:, 1]
    np.testing.assert_allclose(model.coef_[0], X.T @ left, atol=1e-7)
    assert abs(left.sum()) <= 1e-6


def test_sparse_text_with_absolute_values():
    X, y = text()
    model = LogisticRegression(C=0.2, l1_ratio=1.0).fit(X, y)
    assert model.certificate_.holds
    left = y - model.predict_proba(X)[:, 1]
    slope, inside = X.T @ left, model.coef_[0] != 0
    assert 10 < inside.sum() < 1000
    np.testing.assert_allclose(slope[inside], 5 * np.sign(model.coef_[0][inside]), atol=1e-7)
    assert np.abs(slope).max() <= 5 * (1 + 1e-7)
    theirs = peer(C=0.2, l1_ratio=1.0, solver="liblinear", intercept_scaling=1e3, tol=1e-6)
    narrow = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # as liblinear wants them
    theirs.fit(sparse.csr_matrix((X.data, *narrow), X.shape), y)
    assert objective(model, X, y, 0.2, 1.0) <= objective(theirs, X, y, 0.2, 1.0) + 1e-9


@pytest.mark.parametrize("options", [{}, {"l1_ratio": 1.0, "C": 0.1}], ids=["squares", "absolute"])
@pytest.mark.parametrize("k", [2, 3])
def test_more_columns_than_rows(options, k):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5000))
    y = np.digitize(X[:, :5].sum(axis=1), [0.0] if k == 2 else [-1.0, 1.0])
    model = LogisticRegression(**options).fit(X, y)
    assert model.certificate_.holds
    left = (np.arange(k) == y[:, None]) - model.predict_proba(X)
    left = left[:, 1:] if k == 2 else left
    if not options:
        np.testing.assert_allclose(model.coef_, left.T @ X, atol=1e-6)
        return
    slope, inside = left.T @ X, model.coef_ != 0
    np.testing.assert_allclose(slope[inside], 10 * np.sign(model.coef_[inside]), atol=1e-6)
    assert np.abs(slope).max() <= 10 * (1 + 1e-7)


def test_sparse_rows_are_dense_rows():
    X, y = make(n=400, k=3)
    X[np.abs(X) < 0.7] = 0.0
    for options in ({}, {"C": np.inf}, {"l1_ratio": 0.7}, {"fit_intercept": False}):
        dense = LogisticRegression(**options).fit(X, y)
        for make_sparse in (sparse.csr_array, sparse.csr_matrix):
            assert_same_fit(LogisticRegression(**options).fit(make_sparse(X), y), dense, 1e-8)


# --- labels ----------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_kinds_of_labels(labels, tmp_path):
    labels = np.asarray(labels)
    X, codes = make(k=len(labels))
    y = labels[codes]
    model = LogisticRegression().fit(X, y)
    assert model.classes_.tolist() == sorted(labels.tolist())
    order = np.argsort(labels)
    place = np.argsort(order)
    plain = LogisticRegression().fit(X, place[codes])
    np.testing.assert_array_equal(model.predict(X), labels[order][plain.predict(X)])
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    path = tmp_path / "model.safetensors"
    model.save(path)
    again = suffice.load(path)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.certificate_.holds
    table = pa.table({**{f"x{j}": X[:, j] for j in range(5)}, "y": y.tolist()})
    pq.write_table(table, tmp_path / "rows.parquet")
    files = suffice.scan(tmp_path / "rows.parquet", target="y")
    np.testing.assert_array_equal(LogisticRegression().fit(files).coef_, model.coef_)


def test_a_thousand_classes():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(1000), 2)
    X = rng.normal(size=(2000, 3))
    model = LogisticRegression(C=0.1).fit(X, y)
    assert model.certificate_.holds
    left = (np.arange(1000) == y[:, None]) - model.predict_proba(X)
    np.testing.assert_allclose(model.coef_, 0.1 * (left.T @ X), atol=1e-8)


# --- predictions -----------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3])
def test_logarithms_of_probabilities_that_round_to_zero(k):
    X, y = make(k=k)
    model = LogisticRegression().fit(X, y)
    far = X * 1e5
    eta = model.decision_function(far)
    assert np.abs(eta).max() > 1e4
    logs = model.predict_log_proba(far)
    assert np.isfinite(logs).all()
    assert (logs <= 0).all()
    np.testing.assert_allclose(model.predict_proba(far).sum(axis=1), 1.0, rtol=1e-14)
    near = model.predict_proba(X)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), near, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.classes_[near.argmax(axis=1)])


def test_a_reference_class_of_two():
    X, y = make()
    plain, other = LogisticRegression().fit(X, y), LogisticRegression(reference_class=1).fit(X, y)
    np.testing.assert_allclose(other.coef_, -plain.coef_, rtol=1e-10)
    np.testing.assert_allclose(other.decision_function(X), plain.decision_function(X), rtol=1e-9)


# --- starting, stopping ------------------------------------------------------------------------


def test_a_warm_start_is_where_the_last_fit_ended():
    X, y = make(k=3)
    model = LogisticRegression(warm_start=True).fit(X, y)
    cold = model.n_iter_[0]
    first = model.coef_.copy()
    model.fit(X, y)
    assert model.n_iter_[0] <= 2 < cold
    np.testing.assert_allclose(model.coef_, first, rtol=1e-9)
    model.set_params(C=0.9).fit(X, y)
    assert_same_fit(model, LogisticRegression(C=0.9).fit(X, y), 1e-8)
    fewer = LogisticRegression().fit(X[:, :2], y > 0)
    assert_same_fit(model.set_params(C=1.0).fit(X[:, :2], y > 0), fewer, 1e-8)  # another shape


@pytest.mark.parametrize("options", [{}, {"C": np.inf}, {"l1_ratio": 1.0}], ids=str)
def test_too_few_passes_are_reported(options):
    X, y = make()
    with pytest.warns(ConvergenceWarning, match="not converged after 1 passes: raise max_iter"):
        model = LogisticRegression(max_iter=1, **options).fit(X, y)
    assert not model.certificate_.holds
    assert model.n_iter_[0] == 1
    assert np.isfinite(model.predict_proba(X)).all()


def test_older_names_of_penalties():
    X, y = make()
    for older, newer in (
        ({"penalty": None}, {"C": np.inf}),
        ({"penalty": "l1"}, {"l1_ratio": 1.0}),
        ({"penalty": "l2"}, {}),
        ({"penalty": "elasticnet", "l1_ratio": 0.3}, {"l1_ratio": 0.3}),
    ):
        identical(LogisticRegression(**older).fit(X, y), LogisticRegression(**newer).fit(X, y))


# --- columns that are hard -----------------------------------------------------------------------


@pytest.mark.parametrize("constant", [7.0, 0.1, 1e9 / 3, -1e-9, 0.0])
@pytest.mark.parametrize("options", [{}, {"C": np.inf}, {"l1_ratio": 1.0}], ids=str)
def test_constant_and_repeated_columns(options, constant):
    X, y = make()
    plain = LogisticRegression(**options).fit(X, y)
    still = LogisticRegression(**options).fit(np.hstack([X, np.full((300, 1), constant)]), y)
    assert still.certificate_.holds
    assert still.coef_[0, 5] == 0
    np.testing.assert_allclose(still.coef_[0, :5], plain.coef_[0], rtol=1e-8)
    alone = LogisticRegression(**options).fit(np.ones((300, 2)), y)
    np.testing.assert_allclose(alone.predict_proba(X[:, :2] * 0 + 1)[:, 1], y.mean(), rtol=1e-12)
    if not options or "C" in options:
        twice = LogisticRegression(**options).fit(np.hstack([X, X]), y)
        assert twice.certificate_.holds
        np.testing.assert_allclose(twice.coef_[0, :5], twice.coef_[0, 5:], rtol=1e-8)
        if options:
            np.testing.assert_allclose(twice.coef_[0, :5] * 2, plain.coef_[0], rtol=1e-8)
            assert "only 6 of 11 parameters" in twice.certificate_.notes[0]


@pytest.mark.parametrize("size", [1e200, 1e300, 1e307])
def test_values_whose_squares_are_no_numbers(size):
    X, y = make()
    X = X / np.abs(X).max()
    X[:, 2] *= size
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="rescale the columns"):
            LogisticRegression().fit(X, y)


# --- bad input -------------------------------------------------------------------------------


def spoilt(place, value):
    X, _ = make()
    X[place] = value
    return X


X, Y = make()
BAD = {
    "one class": (X, np.zeros(300), None, {}, "at least two classes, but .* only one class: 0.0"),
    "one row": (X[:1], Y[:1], None, {}, "at least two classes"),
    "no rows": (X[:0], Y[:0], None, {}, "0 sample"),
    "one class has weight": (X, Y, (Y == 1).astype(float), {}, "only one class: 1"),
    "no weight": (X, Y, np.zeros(300), {}, "at least one non-zero"),
    "negative weight": (X, Y, -np.ones(300), {}, "[Nn]egative"),
    "NaN": (spoilt((7, 2), np.nan), Y, None, {}, "NaN: column 2, row 7"),
    "infinity": (spoilt((7, 2), np.inf), Y, None, {}, "infinity .*column 2, row 7"),
    "NaN label": (X, np.where(Y == 1, np.nan, 0.0), None, {}, "NaN"),
    "continuous": (X, X[:, 0], None, {}, "continuous"),
    "mixed labels": (X, np.array(["a", 1], dtype=object)[Y], None, {}, "of one kind"),
    "lengths": (X, Y[:-1], None, {}, "inconsistent numbers of samples"),
    "reference": (X, Y, None, {"reference_class": 7}, "reference_class=7 is not among"),
    "C": (X, Y, None, {"C": -1.0}, "'C' parameter"),
    "solver": (X, Y, None, {"solver": "magic"}, "'solver' parameter"),
    "tol": (X, Y, None, {"tol": 0.0}, "'tol' parameter"),
    "max_iter": (X, Y, None, {"max_iter": 0}, "'max_iter' parameter"),
    "l1_ratio": (X, Y, None, {"l1_ratio": 2.0}, "'l1_ratio' parameter"),
    "class weight of a stranger": (X, Y, None, {"class_weight": {0: 2.0, 7: 1.0}}, "names 7"),
    "negative class weight": (X, Y, None, {"class_weight": {0: -1.0}}, "class_weight must be"),
    "no class weight": (X, Y, None, {"class_weight": {0: 0.0}}, "class_weight must be"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_and_changes_nothing(case):
    rows, y, weight, options, message = BAD[case]
    model = LogisticRegression().fit(X, Y)
    before = {name: value for name, value in vars(model).items() if name.endswith("_")}
    model.set_params(**options)
    with pytest.raises(ValueError, match=message):
        model.fit(rows, y, weight)
    after = {name: value for name, value in vars(model).items() if name.endswith("_")}
    assert after.keys() == before.keys()
    for name, value in before.items():
        assert after[name] is value
    fresh = LogisticRegression(**options)
    with pytest.raises(ValueError, match=message):
        fresh.fit(rows, y, weight)
    assert not [name for name in vars(fresh) if name.endswith("_") and not name.startswith("_")]


def test_a_nan_beyond_the_gathered_rows_is_found():
    rows, y = make(n=40_000)
    for row in (0, 1, 12_345, 39_999):
        bad = rows.copy()
        bad[row, 3] = np.nan
        with pytest.raises(ValueError, match=f"NaN: column 3, row {row}"):
            LogisticRegression().fit(bad, y)


# --- where a certificate must not hold ---------------------------------------------------------


@pytest.mark.parametrize("noise", [1e-5, 3e-7, 1e-7, 1e-8])
def test_nearly_dependent_columns_are_right_or_doubted(noise):
    rng = np.random.default_rng(0)
    X, z = rng.normal(size=(200, 4)), rng.normal(size=200)
    y = X[:, 0] + rng.logistic(size=200) > 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LogisticRegression(C=np.inf).fit(np.c_[X, X[:, 0] + noise * z], y)
    truth = LogisticRegression(C=np.inf).fit(np.c_[X, z], y).coef_[0, -1] / noise
    right = abs(model.coef_[0, -1] - truth) <= 1e-4 * abs(truth)
    assert right == model.certificate_.holds
    assert right == (noise > 2e-7)


def test_gradient_descent_does_not_take_a_falling_plain_for_a_minimum():
    X, y = [[-2.0], [-1.0], [1.0], [2.0]], [0, 0, 1, 1]
    with pytest.warns(ConvergenceWarning, match="separated"):
        model = LogisticRegression(C=np.inf, solver="gd").fit(X, y)
    assert model.separating_direction_.shape == (1, 2)


def test_a_small_gap_alone_proves_nothing():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 4))
    y = X[:, 0] + rng.logistic(size=200) > 0
    # The squared penalty is so strong here that coefficients are tiny, yet not zero.
    for power in (12, 14, 16, 20):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = LogisticRegression(C=10.0**power, l1_ratio=0.5).fit(X / 10.0**power, y)
        assert model.coef_.any() or not model.certificate_.holds


@pytest.mark.parametrize("C", [0.01, 100.0])
@pytest.mark.parametrize("nearly", [False, True])
def test_a_looser_tolerance_is_reached_without_a_warning(C, nearly):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 8))
    X[:, 1] = X[:, 0] + 1e-3 * X[:, 1] if nearly else X[:, 1]
    y = X[:, 0] + rng.logistic(size=400) > 0
    finest = LogisticRegression(C=C, l1_ratio=0.9, tol=1e-10).fit(X, y)
    best = objective(finest, X, y, C, 0.9)
    for tol in (1e-1, 1e-3, 1e-5):
        model = LogisticRegression(C=C, l1_ratio=0.9, tol=tol).fit(X, y)  # warnings are errors
        assert model.certificate_.holds
        off = objective(model, X, y, C, 0.9) - best
        assert off <= model.certificate_.duality_gap + 1e-10
        sizes = np.maximum(np.abs(finest.coef_), 1e-4 * np.abs(finest.coef_).max())
        assert (np.abs(model.coef_ - finest.coef_) <= 2 * tol * sizes).all()


def test_columns_whose_squares_underflow():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(50, 2)) * [1.0, 1e-170]
    with pytest.raises(ValueError, match=r"column 1 .* rescale"):
        LogisticRegression(C=np.inf).fit(X, X[:, 0] > 0.3)


@pytest.mark.compiled
def test_a_warm_start_of_many_rows_needs_no_sample():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(70_000, 3))
    y = rng.random(len(X)) < 1 / (1 + np.exp(-X[:, 0]))
    model = LogisticRegression(warm_start=True).fit(X, y)
    assert any(step.startswith("sample") for step in model.trace_.to_frame()["step"])
    coef = model.coef_
    model.fit(X, y)
    assert not any(step.startswith("sample") for step in model.trace_.to_frame()["step"])
    np.testing.assert_allclose(model.coef_, coef, rtol=1e-9)


def test_coefficients_of_all_classes_have_nothing_in_common():
    # A small penalty alone decides it: derivatives of many rows must not drown it in rounding.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 4)) * [1.0, 3.0, 0.5, 2.0] + [0.0, 5.0, 1.0, -2.0]
    y = np.digitize(X @ [0.5, -1.0, 2.0, 1.0] + rng.normal(size=60_000), [-8.0, -5.0])
    model = suffice.LogisticRegression().fit(X, y)
    assert np.abs(model.coef_.sum(axis=0)).max() < 1e-14 * np.abs(model.coef_).max()


def fit_by_copies(model, X, y):
    """A fit whose passes are summarised by what came out of a pickle, as in another process."""
    source = model._training_source(X, y, None)
    running = Running(model._passes(source))
    running.start()
    while (asked := running.asked) is not None:
        if isinstance(asked, Pass):
            asked = replace(asked, summarize=pickle.loads(pickle.dumps(asked.summarize)))
        running.send(answered(model, asked, source, running.kept))
    model._adopt_found(running.result, running.trace)
    return model


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"class_weight": "balanced"},
        {"reference_class": 1},
        {"solver": "newton-cg"},
        {"solver": "lbfgs"},
        {"solver": "gd", "max_iter": 20},
        {"solver": "sgd", "max_iter": 2, "random_state": 0},
        {"l1_ratio": 1.0, "C": 0.1},
        {"C": np.inf},
    ],
    ids=str,
)
@pytest.mark.parametrize("rows", ["few", "separated", "sparse", "many"])
def test_passes_can_be_sent_to_other_processes(options, rows, small_blocks, monkeypatch):
    many = 3_000 if options else 40_000
    X, y = make(n=many if rows == "many" else 300, k=3)
    if rows == "separated":
        y = (X[:, 0] > 0).astype(int)
    if rows == "sparse":
        X = sparse.csr_array(X)
        monkeypatch.setattr(choose, "MOST_HESSIAN", 4)  # working sets, where there is an l1 penalty
    model = fit_by_copies(LogisticRegression(**options), X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        identical(model, LogisticRegression(**options).fit(X, y))
