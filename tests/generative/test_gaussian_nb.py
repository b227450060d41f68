"""Gaussian naive Bayes: closed forms, scikit-learn, missing cells, one row left out, bad input."""

from __future__ import annotations

import functools
import threading
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn import naive_bayes
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, LeaveOneOut

import suffice
from suffice import GaussianNB
from suffice.generative.leave_one_out import gaussians as gaussians_without
from suffice.sources import Block, as_source


def sample(n=400, d=4, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, size=n)
    scale = rng.uniform(0.3, 3, size=(classes, d))
    return rng.normal(size=(n, d)) * scale[y] + rng.normal(size=(classes, d))[y], y


def holed(X, share=0.1, seed=1):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


# --- closed form ---------------------------------------------------------------------------


def exact(X, y, weight, smoothing):
    """Means and variances in fractions."""
    X, weight = np.vectorize(Fraction)(X), np.vectorize(Fraction)(weight)

    def moments(rows, w):
        mean = (w[:, None] * rows).sum(axis=0) / w.sum()
        return mean, (w[:, None] * (rows - mean) ** 2).sum(axis=0) / w.sum()

    epsilon = Fraction(smoothing) * max(moments(X, weight)[1])
    found = [moments(X[y == k], weight[y == k]) for k in np.unique(y)]
    theta = np.array([m for m, _ in found])
    return theta, np.array([v for _, v in found]) + epsilon, epsilon


@pytest.mark.parametrize("kind", ["plain", "weighted", "offset", "large"])
def test_the_certificate_keeps_its_word(kind):
    X, y = sample(4000 if kind == "large" else 60)
    if kind == "large":
        X = np.tile(X, (1, 2))
    X = X + 1e7 if kind == "offset" else X
    weight = np.random.default_rng(1).uniform(0.1, 3, size=len(X))
    weight = weight if kind == "weighted" else np.ones(len(X))
    model = GaussianNB().fit(X, y, weight)
    theta, var, epsilon = exact(X, y, weight, 1e-9)
    size = np.maximum(np.abs(model.theta_), np.sqrt(model.var_))
    error = 10.0**-model.certificate_.digits
    assert model.certificate_.holds
    assert np.max(abs(model.theta_ - theta) / size) <= error
    assert np.max(abs(model.var_ - var) / model.var_) <= error
    assert abs(model.epsilon_ - epsilon) / epsilon <= error
    assert model.certificate_.digits > 12


def test_digits_drop_when_they_cancel():
    X, y = sample(5000)
    huge, labels = X[:50] * 1e7, y[:50]
    model = GaussianNB().fit(np.r_[X, huge], np.r_[y, labels])
    with pytest.raises(ValueError, match="digits could be guaranteed"):
        clone(model).fit(np.r_[X, huge], np.r_[y, labels]).forget(huge, labels)
    with pytest.warns(ConvergenceWarning, match="exact=True"):
        model.forget(huge, labels, digits=0)
    assert model.certificate_.digits < 8
    truth = GaussianNB().fit(X, y)
    size = np.maximum(np.abs(truth.theta_), np.sqrt(truth.var_))
    error = 2 * 10.0**-model.certificate_.digits
    assert np.max(abs(model.var_ / truth.var_ - 1)) <= error
    assert np.max(abs(model.theta_ - truth.theta_) / size) <= error
    careful = GaussianNB(exact=True).fit(np.r_[X, huge], np.r_[y, labels]).forget(huge, labels)
    assert careful.certificate_.digits > 12
    np.testing.assert_allclose(careful.var_, truth.var_, rtol=1e-12)


def test_the_objective_is_the_likelihood():
    X, y = sample()
    for tied in (False, True):
        model = GaussianNB(tied_variance=tied).fit(X, y)
        joint = model.predict_joint_log_proba(X)
        assert model.trace_.objective[-1] == pytest.approx(-joint[np.arange(len(y)), y].sum())


def test_tied_variance_pools_the_classes():
    X, y = sample()
    model = GaussianNB(tied_variance=True).fit(X, y)
    within = sum(np.square(X[y == k] - X[y == k].mean(axis=0)).sum(axis=0) for k in range(3))
    np.testing.assert_allclose(model.var_ - model.epsilon_, np.tile(within / len(X), (3, 1)))
    # Boundaries are linear: along a line, log-odds are too.
    line = X[0] + np.linspace(-5, 5, 11)[:, None] * X[1]
    odds = np.subtract(*model.predict_joint_log_proba(line).T[:2])
    np.testing.assert_allclose(np.diff(odds, 2), 0, atol=1e-9)


# --- scikit-learn --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("load", "tolerance"),
    # Of digits, columns that are nearly constant have little more variance than the smoothing.
    [(load_iris, 1e-12), (load_wine, 1e-12), (load_digits, 1e-7)],
)
def test_as_scikit_learn(load, tolerance):
    X, y = load(return_X_y=True)
    ours, theirs = GaussianNB().fit(X, y), naive_bayes.GaussianNB().fit(X, y)
    for name in ("classes_", "class_count_", "class_prior_", "theta_", "var_", "epsilon_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-9)
    found, expected = (one.predict_joint_log_proba(X) for one in (ours, theirs))
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=10 * tolerance)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=tolerance)
    assert ours.score(X, y) == theirs.score(X, y)


@pytest.mark.compiled
def test_many_rows_as_scikit_learn():
    X, y = sample(60_000, 20, 5)
    ours, theirs = GaussianNB().fit(X, y), naive_bayes.GaussianNB().fit(X, y)
    np.testing.assert_allclose(ours.theta_, theirs.theta_, rtol=1e-11)
    np.testing.assert_allclose(ours.var_, theirs.var_, rtol=1e-11)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-10)
    np.testing.assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), atol=1e-8)


def test_priors_as_scikit_learn():
    X, y = sample()
    priors = [0.2, 0.3, 0.5]
    ours, theirs = GaussianNB(priors).fit(X, y), naive_bayes.GaussianNB(priors=priors).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-12)
    refitted = GaussianNB().fit(X, y).refit(priors=priors)
    np.testing.assert_array_equal(refitted.predict_proba(X), ours.predict_proba(X))


def test_partial_fit_as_scikit_learn():
    X, y = sample()
    late = np.argsort(y, kind="stable")
    ours, theirs = GaussianNB(var_smoothing=0), naive_bayes.GaussianNB(var_smoothing=0)
    for rows in np.array_split(late, 4):
        ours.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
        with np.errstate(all="ignore"):
            theirs.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
        np.testing.assert_array_equal(ours.classes_, theirs.classes_)
        np.testing.assert_allclose(ours.class_count_, theirs.class_count_)
        np.testing.assert_allclose(ours.class_prior_, theirs.class_prior_)
    np.testing.assert_allclose(ours.theta_, theirs.theta_)
    np.testing.assert_allclose(ours.var_, theirs.var_)


def test_partial_fit_needs_no_classes():
    X, y = sample()
    late = np.argsort(y, kind="stable")
    model = GaussianNB()
    for rows in np.array_split(late, 5):
        model.partial_fit(X[rows], y[rows])
    whole = GaussianNB().fit(X, y)
    np.testing.assert_allclose(model.theta_, whole.theta_, rtol=1e-13)
    np.testing.assert_allclose(model.var_, whole.var_, rtol=1e-13)


def test_declared_classes():
    X, y = sample()
    model = GaussianNB().partial_fit(X[y < 2], y[y < 2], classes=[0, 1, 2])
    assert model.class_count_[2] == model.class_prior_[2] == 0
    assert (model.predict(X) < 2).all()
    assert model.predict_proba(X)[:, 2].max() == 0
    with pytest.raises(ValueError, match="not the same as on last call"):
        model.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match=r"label\(s\) \[3\] in y do not exist"):
        model.partial_fit(X[:1], [3])
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.fit(X[y < 2], y[y < 2]).classes_.tolist() == [0, 1]
    fresh = GaussianNB()
    with pytest.raises(ValueError, match="do not exist"):
        fresh.partial_fit(X, y, classes=[0, 1])
    assert vars(fresh).keys() == fresh.get_params().keys()


def test_declared_classes_are_saved_and_merged(tmp_path):
    X, y = sample()
    first = GaussianNB().partial_fit(X[y < 2], y[y < 2], classes=[0, 1, 2])
    first.save(tmp_path / "model")
    loaded = suffice.load(tmp_path / "model").partial_fit(X[y == 2], y[y == 2])
    np.testing.assert_allclose(loaded.theta_, GaussianNB().fit(X, y).theta_)
    other = GaussianNB().fit(X[y == 2] + 1, np.full((y == 2).sum(), 7))
    assert (first + other).classes_.tolist() == [0, 1, 2, 7]
    assert (other + first).class_count_.tolist() == (first + other).class_count_.tolist()


def test_in_a_grid_search():
    X, y = load_wine(return_X_y=True)
    grid = {"var_smoothing": [1e-9, 1e-3], "tied_variance": [False, True]}
    search = GridSearchCV(GaussianNB(), grid)
    assert search.fit(X, y).best_score_ > 0.95


# --- missing cells -------------------------------------------------------------------------


def test_missing_cells_are_left_out():
    X, y = sample()
    X = holed(X)
    model = GaussianNB().fit(X, y)
    for k in range(3):
        rows = X[y == k]
        np.testing.assert_allclose(model.theta_[k], np.nanmean(rows, axis=0))
        np.testing.assert_allclose(model.var_[k], np.nanvar(rows, axis=0) + model.epsilon_)
    assert model.epsilon_ == pytest.approx(1e-9 * np.nanvar(X, axis=0).max())
    np.testing.assert_allclose(model.class_count_, np.bincount(y))
    cells = -0.5 * (
        np.log(2 * np.pi * model.var_) + (X[:, None, :] - model.theta_) ** 2 / model.var_
    )
    expected = np.log(model.class_prior_) + np.nansum(cells, axis=2)
    np.testing.assert_allclose(model.predict_joint_log_proba(X), expected)


def test_a_row_of_missing_cells_gets_the_prior():
    X, y = sample()
    model = GaussianNB().fit(X, y)
    nothing = np.full((1, 4), np.nan)
    np.testing.assert_allclose(model.predict_proba(nothing)[0], model.class_prior_)


def test_a_column_without_values_in_a_class_borrows():
    X, y = sample()
    X[y == 1, 2] = np.nan
    for tied in (False, True):
        model = GaussianNB(tied_variance=tied).fit(X, y)
        assert model.theta_[1, 2] == pytest.approx(np.nanmean(X[:, 2]))
        if not tied:
            assert model.var_[1, 2] == pytest.approx(np.nanvar(X[:, 2]) + model.epsilon_)


def test_a_column_without_any_value_says_nothing():
    X, y = sample()
    full = np.c_[X, np.full(len(X), np.nan)]
    model, plain = GaussianNB().fit(full, y), GaussianNB().fit(X, y)
    assert np.isnan(model.theta_[:, 4]).all()
    assert np.isnan(model.var_[:, 4]).all()
    assert any("no value" in note for note in model.certificate_.notes)
    assert model.certificate_.holds
    filled = np.c_[X, np.arange(len(X))]
    np.testing.assert_allclose(model.predict_proba(filled), plain.predict_proba(X))


def test_missing_cells_in_frames_and_files(tmp_path):
    X, y = sample()
    X = holed(X)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["label"] = np.array(["a", "ß", "ä"])[y]
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "rows.parquet")
    source = suffice.scan(tmp_path / "rows.parquet", target="label")
    model = GaussianNB().fit(source)
    plain = GaussianNB().fit(frame[list("abcd")], frame["label"])
    assert model.classes_.tolist() == plain.classes_.tolist() == ["a", "ß", "ä"]
    np.testing.assert_array_equal(model.theta_, plain.theta_)
    np.testing.assert_array_equal(model.predict(source), plain.predict(frame[list("abcd")]))
    assert model.score(source) == plain.score(frame[list("abcd")], frame["label"])
    probabilities = plain.predict_proba(frame[list("abcd")])
    np.testing.assert_array_equal(model.predict_proba(source), probabilities)


# --- labels --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "names",
    [
        np.array([False, True]),
        np.array([-5, 12]),
        np.array([2.0, 7.0]),
        np.array(["grün", "赤"]),
        np.array(["", "赤"], dtype=object),
    ],
    ids=["bool", "int", "float", "text", "objects"],
)
def test_labels_of_any_kind(names, tmp_path):
    X, codes = sample(classes=2)
    y = names[codes]
    model = GaussianNB().fit(X, y)
    assert model.classes_.tolist() == names.tolist()
    assert set(model.predict(X)) == set(names.tolist())
    assert model.score(X, y) == GaussianNB().fit(X, codes).score(X, codes)
    for form in (list(y), pd.Series(y), pd.Series(y).astype("category")):
        np.testing.assert_array_equal(GaussianNB().fit(X, form).predict(X), model.predict(X))
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(suffice.load(tmp_path / "model").predict(X), model.predict(X))
    table = pa.table({**{f"x{j}": X[:, j] for j in range(4)}, "y": y.tolist()})
    pq.write_table(table, tmp_path / "rows.parquet")
    source = suffice.scan(tmp_path / "rows.parquet", target="y")
    np.testing.assert_array_equal(GaussianNB().fit(source).predict(source), model.predict(X))


def test_one_class():
    X, _ = sample()
    model = GaussianNB().fit(X, np.zeros(len(X), int))
    assert (model.predict(X) == 0).all()
    np.testing.assert_array_equal(model.predict_proba(X), np.ones((len(X), 1)))


# --- constant columns, huge values ---------------------------------------------------------


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("smoothing", [0.0, 1e-9])
def test_constant_columns(smoothing):
    X, y = sample()
    X[:, 1] = 0.1
    X[y == 2, 3] = 5.0
    model = GaussianNB(var_smoothing=smoothing).fit(X, y)
    np.testing.assert_array_equal(model.var_[:, 1], np.full(3, model.epsilon_))
    probabilities = model.predict_proba(X)
    assert np.isfinite(probabilities).all()
    assert (model.predict(X)[y == 2] == 2).all()
    X[:, 1] += 1000.0  # not seen before
    assert np.isfinite(model.predict_proba(X)).all()
    assert np.isfinite(model.predict_joint_log_proba(X)).all()


@pytest.mark.filterwarnings("error")
def test_one_row():
    model = GaussianNB().fit([[1.0, 2.0]], ["only"])
    assert model.predict([[5.0, 6.0]]).tolist() == ["only"]
    assert model.predict_proba([[5.0, 6.0]]).tolist() == [[1.0]]
    assert model.epsilon_ == 0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("unit", [1e100, 1e-100])
def test_units_do_not_matter(unit):
    X, y = sample()
    plain, scaled = GaussianNB().fit(X, y), GaussianNB().fit(X * unit, y)
    np.testing.assert_allclose(scaled.predict_proba(X * unit), plain.predict_proba(X), rtol=1e-9)


def test_far_away_rows():
    X, y = sample()
    proba = GaussianNB().fit(X, y).predict_proba([[1e140, -1e150, 0, 0]])
    assert np.isfinite(proba).all()
    model = GaussianNB().fit([[-2.0], [-1], [1], [2]], [0, 0, 1, 1])
    for far in (1e50, 1e150):
        assert model.predict_proba([[far]]).tolist() == [[0.5, 0.5]]
        np.testing.assert_allclose(model.predict_log_proba([[far]]), np.log(0.5))


@pytest.mark.parametrize("tied", [False, True])
def test_smoothing_beyond_the_range(tied):
    X, y = load_iris(return_X_y=True)
    model = GaussianNB(var_smoothing=1e300, tied_variance=tied)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Such Gaussians are flat: only the prior is left.
        np.testing.assert_allclose(model.fit(X, y).predict_proba(X), 1 / 3, rtol=1e-12)
        assert np.isfinite(model.predict_joint_log_proba(X)).all()
        before = model.var_.copy()
        for smoothing in (1e307, 1.7e308):
            with pytest.raises(ValueError, match=r"var_smoothing=.* beyond float64's range"):
                GaussianNB(var_smoothing=smoothing, tied_variance=tied).fit(X, y)
            with pytest.raises(ValueError, match=r"var_smoothing=.* beyond float64's range"):
                model.refit(var_smoothing=smoothing)
    np.testing.assert_array_equal(model.var_, before)
    assert model.var_smoothing == 1e300


def test_variances_too_small_for_a_density_are_not_certified():
    X, y = sample()
    with pytest.warns(ConvergenceWarning, match=r"variance of column 0 .* rescale the column"):
        model = GaussianNB().fit(X * 1e-153, y)
    assert not model.certificate_.holds


# --- one row left out ----------------------------------------------------------------------


def hard_rows(kind):
    """Classes of one, two and three rows, a constant column, weights, missing cells."""
    X, y = sample(45, 6)
    y[:6] = [10, 11, 11, 12, 12, 12]
    X[:, 5] = 0.1
    if kind in ("missing", "both"):
        X = holed(X, 0.02)
        X[y == 11, 3] = [np.nan, 1.0]
        X[y == 12, 0] = np.nan
    weighted = kind in ("weighted", "both")
    return X, y, np.random.default_rng(2).uniform(0.1, 3, size=45) if weighted else None


@functools.cache
def fitted_without_each(kind, tied):
    X, y, weight = hard_rows(kind)
    classes = np.unique(y)
    out = np.full((len(X), len(classes)), -np.inf)
    with suffice.config(threads=1):
        for i in range(len(X)):
            rest = np.arange(len(X)) != i
            w = None if weight is None else weight[rest]
            one = GaussianNB(tied_variance=tied).fit(X[rest], y[rest], w)
            known = np.searchsorted(classes, one.classes_)
            out[i, known] = one.predict_joint_log_proba(X[i : i + 1])[0]
    return out


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize(
    "kind",
    [
        "plain",
        pytest.param("weighted", marks=pytest.mark.long),
        pytest.param("missing", marks=pytest.mark.long),
        "both",
    ],
)
def test_leaving_one_out(kind, tied, monkeypatch):
    X, y, weight = hard_rows(kind)
    model = GaussianNB(tied_variance=tied).fit(X, y, weight)
    block = next(as_source(X, y, weight).pieces()).load()
    expected = fitted_without_each(kind, tied)
    there = np.isfinite(expected)
    for cells in (0, 1 << 60):  # by the kernel, and one by one
        monkeypatch.setattr(gaussians_without, "COMPILED_FROM", cells)
        found = model._leave_one_out(block)
        assert (np.isneginf(found) == np.isneginf(expected)).all()
        np.testing.assert_allclose(found[there], expected[there], rtol=1e-10, atol=1e-10)
        assert np.isneginf(found[0, 3])


@pytest.mark.parametrize("tied", [False, True])
def test_leaving_one_out_without_small_classes(tied):
    """Where the kernel does all of the work, from a statistic in float64."""
    X, y = sample(900, 25)
    model = GaussianNB(tied_variance=tied).fit(X, y)
    assert model.statistics_.precision == "float64"
    some = np.arange(0, 900, 37)
    found = model._leave_one_out(next(as_source(X, y).pieces()).load())[some]
    expected = np.empty_like(found)
    for place, i in enumerate(some):
        rest = np.arange(900) != i
        one = clone(model).fit(X[rest], y[rest])
        expected[place] = one.predict_joint_log_proba(X[i : i + 1])[0]
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


def test_leave_one_out_of_many_rows_is_two_passes():
    """And what the formula says for each of 500 rows, of the 499 others."""
    X, y = sample(500, 8)
    whole = [X[y == k] for k in range(3)]
    expected = np.empty((500, 3))
    for i, x in enumerate(X):
        rows = list(whole)
        rows[y[i]] = X[(y == y[i]) & (np.arange(500) != i)]
        mean, var = (np.array([f(one, axis=0) for one in rows]) for f in (np.mean, np.var))
        u = var + 1e-9 * np.delete(X, i, axis=0).var(axis=0).max()
        logs = np.log(2 * np.pi * u) + (x - mean) ** 2 / u
        expected[i] = np.log(np.array([len(one) for one in rows]) / 499) - logs.sum(axis=1) / 2
    block = next(as_source(X, y).pieces()).load()
    found = GaussianNB().fit(X, y)._leave_one_out(block)
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    scores = suffice.cross_validate(GaussianNB(), X, y, cv=LeaveOneOut(), scoring="accuracy")
    np.testing.assert_array_equal(scores["test_score"], expected.argmax(axis=1) == y)
    assert scores.passes_ <= 3


def test_leaving_out_with_priors_and_rows_of_weight_zero():
    X, y = sample(120)
    weight = np.ones(120)
    weight[::10] = 0
    labels = np.array(["a", "b", "c"], dtype=object)[y]
    labels[::10] = None
    model = GaussianNB(priors=[0.2, 0.3, 0.5]).fit(X, labels, weight)
    block = next(as_source(X, labels, weight).pieces()).load()
    found = model._leave_one_out(block)
    np.testing.assert_allclose(found[::10], model.predict_joint_log_proba(X[::10]))
    rest = np.arange(120) != 1
    one = clone(model).fit(X[rest], labels[rest], weight[rest])
    np.testing.assert_allclose(found[1], one.predict_joint_log_proba(X[1:2])[0], rtol=1e-12)
    with pytest.raises(ValueError, match="part of"):
        model._leave_one_out(next(as_source(X, np.full(120, "z")).pieces()).load())


# --- laws of the model ---------------------------------------------------------------------


@pytest.mark.compiled
def test_two_threads_at_once():
    X, y = sample(40_000, 8)
    expected = GaussianNB().fit(X, y)
    fits = [GaussianNB() for _ in range(4)]
    threads = [threading.Thread(target=model.fit, args=(X, y)) for model in fits]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for model in fits:
        assert model.theta_.tobytes() == expected.theta_.tobytes()
        assert model.var_.tobytes() == expected.var_.tobytes()


def test_forgetting_a_class():
    X, y = sample()
    model = GaussianNB(exact=True).fit(X, y).forget(X[y == 1], y[y == 1])
    rest = GaussianNB().fit(X[y != 1], y[y != 1])
    assert model.classes_.tolist() == [0, 2]
    np.testing.assert_allclose(model.theta_, rest.theta_, rtol=1e-14)
    np.testing.assert_allclose(model.var_, rest.var_, rtol=1e-14)


def test_merged_models_unite_their_classes():
    X, y = sample()
    parts = [GaussianNB().fit(X[y != k], y[y != k]) for k in (0, 2)]
    merged = suffice.merge(*parts)
    assert merged.classes_.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="of one kind"):
        parts[0] + GaussianNB().fit(X, y.astype(str))


# --- bad input -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"priors": [0.5, 0.5]}, "Number of priors must match number of classes"),
        ({"priors": [0.5, 0.4, 0.3]}, "sum of the priors should be 1"),
        ({"priors": [-0.5, 1.0, 0.5]}, "Priors must be non-negative"),
        ({"var_smoothing": -1.0}, "var_smoothing"),
        ({"tied_variance": "yes"}, "tied_variance"),
    ],
)
def test_bad_parameters(parameters, message):
    X, y = sample()
    model = GaussianNB(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert vars(model).keys() == model.get_params().keys()


def test_bad_targets(tmp_path):
    X, y = sample(20)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        GaussianNB().fit(X, y + 0.5)
    with pytest.raises(ValueError, match=r"Unknown label type: continuous\. .* holds \d\.5;"):
        GaussianNB().fit(X, (y + 0.5).astype(object))
    with pytest.raises(ValueError, match="Input y contains NaN"):
        GaussianNB().fit(X, np.where(y == 1, np.nan, y))
    with pytest.raises(ValueError):
        GaussianNB().fit(X, np.c_[y, y])
    with pytest.raises(ValueError, match="requires y"):
        GaussianNB().fit(X)
    mixed = np.array(["a", 1] * 10, dtype=object)
    with pytest.raises((TypeError, ValueError)):
        GaussianNB().fit(X, mixed)
    columns = {"x": X[:, 0], "x2": X[:, 2], "measure": X[:, 1], "label": ["a", None] * 10}
    table = pa.table(columns)
    pq.write_table(table, tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match="Unknown label type"):
        GaussianNB().fit(suffice.scan(tmp_path / "rows.parquet", target="measure", features=["x"]))
    with pytest.raises(ValueError, match=r"Input y contains NaN: row 1 "):
        GaussianNB().fit(suffice.scan(tmp_path / "rows.parquet", target="label", features=["x"]))
    with pytest.raises(ValueError, match="2 columns; a classifier takes one"):
        GaussianNB().fit(
            suffice.scan(tmp_path / "rows.parquet", target=["x", "measure"], features=["x2"])
        )


def test_large_labels_are_exact_or_refused(tmp_path):
    labels = [2**53, 2**53 + 1] * 3
    table = pa.table({"x": np.arange(6.0), "label": labels})
    pq.write_table(table, tmp_path / "rows.parquet")
    model = GaussianNB().fit(suffice.scan(tmp_path / "rows.parquet", target="label"))
    assert model.classes_.tolist() == labels[:2]
    table.to_pandas().to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(ValueError, match="integers cannot be told apart"):
        GaussianNB().fit(suffice.scan(tmp_path / "rows.csv", target="label"))


def test_bad_rows():
    X, y = sample()
    X[5, 2] = np.inf
    with pytest.raises(ValueError, match=r"infinity or a value too large: column 2, row 5 "):
        GaussianNB().fit(X, y)
    X[5, 2] = 1e200
    with pytest.raises(ValueError, match="too large"):
        GaussianNB().fit(X, y)
    with pytest.raises(ValueError, match="at least one non-zero"):
        GaussianNB().fit(X, y, np.zeros(len(X)))
    X[5, 2] = 0.0
    model = GaussianNB().fit(X, y)
    with pytest.raises(ValueError, match="infinity"):
        model.predict([[np.inf, 0, 0, 0]])
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :2])
    with pytest.raises(ValueError):
        GaussianNB().fit(np.empty((0, 3)), [])


def test_values_too_large_across_blocks():
    """Each block is fine by itself, but the variance of all of them overflows."""
    X = np.repeat([[1e160], [-1e160]], 16384, axis=0)
    y = np.repeat([0, 1], 16384)
    with pytest.raises(ValueError, match="beyond float64's range"):
        GaussianNB().fit(X, y)


def test_score_of_a_source(tmp_path):
    X, y = sample()
    weight = np.random.default_rng(1).uniform(size=len(X))
    table = pa.table({**{f"x{j}": X[:, j] for j in range(4)}, "y": y, "w": weight})
    pq.write_table(table, tmp_path / "rows.parquet")
    model = GaussianNB().fit(X, y)
    weighted = suffice.scan(tmp_path / "rows.parquet", target="y", weight="w")
    assert model.score(weighted) == pytest.approx(model.score(X, y, weight))
    with pytest.raises(ValueError, match="neither"):
        model.score(weighted, y)
    with pytest.raises(ValueError, match="target"):
        model.score(suffice.scan(tmp_path / "rows.parquet", features=[f"x{j}" for j in range(4)]))


def test_score_of_large_values_and_of_infinity():
    model = GaussianNB().fit([[0.0, 1.0], [1.0, 0.0], [5.0, 6.0], [6.0, 5.0]], [0, 0, 1, 1])
    labels = np.array([0, 0, 1, 1])
    assert model.score(as_source(np.full((4, 2), 1e150), labels)) == 0.5
    rows = np.zeros((4, 2))
    rows[2, 1] = np.inf
    with pytest.raises(ValueError, match=r"infinity.*column 1, row 2"):
        model.score(as_source(rows, labels))


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("rows", [60, 6000])
def test_an_offset_costs_no_digits_of_the_posterior(tied, rows, tmp_path):
    """The rows hold the same digits with and without it, and so does the model."""
    rng = np.random.default_rng(0)
    y = np.arange(rows) % 3
    X = rng.normal(size=(rows, 3)) + 0.5 * y[:, None] + 1e8
    X[5, 1] = np.nan
    near = X - 1e8
    one = GaussianNB(tied_variance=tied).fit(X, y)
    other = GaussianNB(tied_variance=tied).fit(near, y)
    one.save(tmp_path / "model")
    for model in (one, suffice.load(tmp_path / "model")):
        found, expected = model.predict_log_proba(X), other.predict_log_proba(near)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
        without = model._leave_one_out(Block(X, y, None, 0))
        expected = other._leave_one_out(Block(near, y, None, 0))
        np.testing.assert_allclose(without, expected, rtol=1e-12)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("n", [60, 9000])
def test_narrow_classes_far_from_zero_beside_one_that_is_not(tied, n):
    """A mean that is rounded to float64 would be off by a part of the deviation."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    # Steps of 2⁻²⁰ are exact next to 1e9, and so are means and variances in fractions.
    steps = np.round(rng.normal(size=n) * 500) + np.array([0, 300, 0])[y]
    X = (np.where(y == 2, 0.0, 1e9) + steps * 2.0**-20)[:, None]
    model = GaussianNB(var_smoothing=0, tied_variance=tied).fit(X, y)
    exact = [Fraction(int(steps[y == k].sum()), int((y == k).sum())) for k in range(3)]
    parts = [steps[y == k].astype(int) for k in range(3)]
    variances = [
        Fraction(int((p * p).sum()), len(p)) - m * m for p, m in zip(parts, exact, strict=True)
    ]
    if tied:
        whole = sum(v * len(p) for v, p in zip(variances, parts, strict=True)) / n
        variances = [whole] * 3
    near = np.flatnonzero(y < 2)[:40]
    odds = [
        float(
            (step - exact[0]) ** 2 / (2 * variances[0])
            - (step - exact[1]) ** 2 / (2 * variances[1])
        )
        + 0.5 * np.log(float(variances[0] / variances[1]))
        for step in map(Fraction, steps[near].astype(int).tolist())
    ]
    found = model.predict_joint_log_proba(X[near])
    np.testing.assert_allclose(found[:, 1] - found[:, 0], odds, rtol=1e-12, atol=1e-12)
    if n > 60:  # by the kernel, of whose rows these need a second look
        found = model.predict_joint_log_proba(X)[near]
        np.testing.assert_allclose(found[:, 1] - found[:, 0], odds, rtol=1e-12, atol=1e-12)
    without = model._leave_one_out(Block(X, y, None, 0))
    for i in near[:10]:
        rest = np.arange(n) != i
        again = GaussianNB(var_smoothing=0, tied_variance=tied).fit(X[rest], y[rest])
        expected = again.predict_joint_log_proba(X[i : i + 1])[0]
        np.testing.assert_allclose(without[i, :2], expected[:2], rtol=1e-10)


@pytest.mark.parametrize("tied", [False, True])
def test_leaving_out_the_last_cell_that_differs(tied):
    """What remains are equal cells, whose variance is 0 and not a speck."""
    X = np.array([[0.7, 0.1], [0.1, 0.2], [1.3, 0.2], [1.3, 0.1], [0.4, 0.4]])
    y = np.array([1, 0, 0, 0, 1])
    found = GaussianNB(var_smoothing=0, tied_variance=tied).fit(X, y)
    without = found._leave_one_out(Block(X, y, None, 0))
    for i in range(5):
        rest = np.arange(5) != i
        one = GaussianNB(var_smoothing=0, tied_variance=tied).fit(X[rest], y[rest])
        expected = one.predict_joint_log_proba(X[i : i + 1])[0]
        np.testing.assert_allclose(without[i], expected, rtol=1e-10)
