"""Naive Bayes of mixed columns: its parts, brute force, kinds from types, algebra, bad input."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from scipy import stats
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV, KFold, LeaveOneOut

import suffice
from suffice import (
    BernoulliNB,
    CategoricalNB,
    GaussianNB,
    MixedNB,
    MultinomialNB,
    PoissonNB,
)
from suffice.fitting.text_columns import text_queries
from suffice.sources import as_source

KINDS = {"on": "bernoulli", "a": "multinomial", "b": "multinomial", "events": "poisson"}
TOWNS = np.array(["Ulm", "Köln", "東京"], dtype=object)


def visits(n=240, seed=0):
    """Columns of every kind, whose values depend on the class; some cells are missing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, size=n)
    town = TOWNS[np.where(rng.random(n) < 0.5, y, rng.integers(0, 3, n))]
    town[::13] = None
    height = rng.normal(y, 1.0)
    height[::17] = np.nan
    table = pd.DataFrame(
        {
            "town": town,
            "height": height,
            "smoker": rng.random(n) < 0.2 + 0.2 * y,
            "on": rng.integers(0, 2, n),
            "a": rng.poisson(1 + y),
            "b": rng.poisson(4 - y),
            "events": rng.poisson(1 + 2 * y),
            "age": rng.normal(40 + 5 * y, 9),
        }
    )
    return table, np.array(["no", "yes", "so-so"], dtype=object)[y]


# --- the sum of its parts ------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_the_log_likelihoods_add_up(weighted):
    table, y = visits()
    weight = np.random.default_rng(1).uniform(0.3, 2, len(y)) if weighted else None
    model = MixedNB(KINDS, alpha=0.5, beta=2.0).fit(table, y, weight)
    assert model.kinds_ == ["categorical", "gaussian", "categorical", "bernoulli",
                            "multinomial", "multinomial", "poisson", "gaussian"]  # fmt: skip
    parts = [
        (CategoricalNB(alpha=0.5), ["town", "smoker"]),
        (GaussianNB(), ["height", "age"]),
        (BernoulliNB(alpha=0.5), ["on"]),
        (MultinomialNB(alpha=0.5), ["a", "b"]),
        (PoissonNB(alpha=0.5, beta=2.0), ["events"]),
    ]
    expected = 0.0
    for part, columns in parts:
        part.fit(table[columns], y, weight)
        joint = part.predict_joint_log_proba(table[columns])
        expected = expected + joint - part._log_prior()
    np.testing.assert_allclose(
        model.predict_joint_log_proba(table), expected + model.class_log_prior_, rtol=1e-12
    )
    assert model.certificate_.holds
    assert model.score(table, y) > 0.8


def test_brute_force():
    table, y = visits(60)
    table, y = table[["town", "height", "events"]], (y == "yes").astype(int)
    model = MixedNB({"events": "poisson"}, var_smoothing=0.0).fit(table, y)
    joint = np.empty((60, 2))
    for k in range(2):
        mine = table[y == k]
        rate = (mine["events"].sum() + 1) / (len(mine) + 1)
        mean, spread = mine["height"].mean(), mine["height"].std(ddof=0)
        shares = (mine["town"].value_counts().reindex(TOWNS).fillna(0) + 1) / (
            mine["town"].notna().sum() + 3
        )
        logs = np.log(table["town"].map(shares).astype(float)).fillna(0.0)
        logs += pd.Series(stats.norm.logpdf(table["height"], mean, spread)).fillna(0.0)
        events = table["events"].to_numpy()
        logs += events * np.log(rate) - rate
        joint[:, k] = logs + np.log(len(mine) / 60)
    np.testing.assert_allclose(model.predict_joint_log_proba(table), joint, rtol=1e-11)


@pytest.mark.parametrize(
    ("kind", "cls"),
    [("gaussian", GaussianNB), ("categorical", CategoricalNB), ("bernoulli", BernoulliNB),
     ("multinomial", MultinomialNB), ("poisson", PoissonNB)],
)  # fmt: skip
def test_columns_of_one_kind_are_that_model(kind, cls):
    X, y = load_wine(return_X_y=True)
    X = X.round(0)
    mixed, plain = MixedNB([kind] * 13).fit(X, y), cls().fit(X, y)
    np.testing.assert_array_equal(mixed._log_likelihood(X), plain._log_likelihood(X))
    np.testing.assert_allclose(mixed.predict_proba(X), plain.predict_proba(X), rtol=1e-10)
    assert mixed.certificate_.digits == plain.certificate_.digits


def test_parameters_reach_the_parts():
    table, y = visits()
    model = MixedNB(
        KINDS, alpha=3.0, var_smoothing=0.1, tied_variance=True, min_categories=7, binarize=0.5
    ).fit(table, y)
    assert model.parts_["categorical"].n_categories_.tolist() == [7, 7]
    gaussian = GaussianNB(var_smoothing=0.1, tied_variance=True).fit(table[["height", "age"]], y)
    np.testing.assert_array_equal(model.parts_["gaussian"].var_, gaussian.var_)
    assert model.parts_["bernoulli"].binarize == 0.5
    sizes = MixedNB(KINDS, min_categories=[4, 1, 9, 1, 1, 1, 1, 1]).fit(table, y)
    assert sizes.parts_["categorical"].n_categories_.tolist() == [4, 9]
    priors = MixedNB(KINDS, class_prior=[0.2, 0.3, 0.5]).fit(table, y)
    np.testing.assert_allclose(np.exp(priors.class_log_prior_), [0.2, 0.3, 0.5])
    uniform = MixedNB(KINDS, fit_prior=False).fit(table, y)
    np.testing.assert_allclose(np.exp(uniform.class_log_prior_), np.full(3, 1 / 3))


# --- kinds ---------------------------------------------------------------------------------


def typed():
    table = pd.DataFrame(
        {
            "text": ["a", "b", "a", "c"],
            "kind": pd.Categorical([3, 1, 3, 3]),
            "flag": [True, False, True, False],
            "whole": [1, 2, 3, 4],
            "real": [0.5, 1.5, 1.0, 4.0],
        }
    )
    return table, [0, 0, 1, 1]


EXPECTED = ["categorical", "categorical", "categorical", "gaussian", "gaussian"]


def test_kinds_come_from_the_types_of_frames():
    table, y = typed()
    arrow = pa.Table.from_pandas(table)
    frames = [table, table.convert_dtypes(), table.convert_dtypes(dtype_backend="pyarrow"), arrow]
    for rows in frames:
        assert MixedNB().fit(rows, y).kinds_ == EXPECTED
    rows = pl.from_pandas(table.assign(kind=table["kind"].astype(str).astype("category")))
    assert MixedNB().fit(rows, y).kinds_ == EXPECTED


def test_kinds_come_from_the_types_of_files(tmp_path):
    table, y = typed()
    arrow = pa.Table.from_pandas(table.assign(y=y))
    pq.write_table(arrow, tmp_path / "t.parquet")
    files = suffice.scan(tmp_path / "t.parquet", target="y")
    model = MixedNB().fit(files)
    assert model.kinds_ == EXPECTED
    plain = MixedNB().fit(table, y)
    np.testing.assert_array_equal(model.predict_proba(files), plain.predict_proba(table))
    np.testing.assert_array_equal(plain.predict_proba(files), plain.predict_proba(table))
    pyarrow.csv.write_csv(pa.Table.from_pandas(table.assign(y=y, kind=1)), tmp_path / "t.csv")
    rows = suffice.scan(tmp_path / "t.csv", target="y")
    assert MixedNB().fit(rows).kinds_ == ["categorical", "gaussian", *EXPECTED[2:]]


def test_kinds_of_arrays_and_lists():
    assert MixedNB().fit(np.eye(3), [0, 1, 1]).kinds_ == ["gaussian"] * 3
    assert MixedNB().fit(np.eye(3, dtype=bool), [0, 1, 1]).kinds_ == ["categorical"] * 3
    rows = [["a", 1.5], ["b", 2.5], [None, 2.0]]
    model = MixedNB().fit(rows, [0, 1, 1])
    assert model.kinds_ == ["categorical", "gaussian"]
    assert model.predict([["a", None], [None, 2.4]]).tolist() == [0, 1]
    assert MixedNB({1: "categorical"}).fit(rows, [0, 1, 1]).kinds_ == ["categorical"] * 2
    listed = MixedNB([None, "categorical"]).fit(rows, [0, 1, 1])
    assert listed.kinds_ == ["categorical"] * 2


def test_columns_named_as_categorical():
    table, y = typed()
    named = ["categorical"] * 4 + ["gaussian"]
    for categorical in (
        ["whole"],
        [3],
        np.array(["whole"]),
        np.arange(5) == 3,
        [False] * 3 + [True, False],
    ):
        model = MixedNB(categorical=categorical).fit(table, y)
        assert model.kinds_ == named
        told = MixedNB({"whole": "categorical"}).fit(table, y)
        np.testing.assert_array_equal(model.predict_proba(table), told.predict_proba(table))
    assert MixedNB({"whole": "poisson"}, categorical=["whole"]).fit(table, y).kinds_[3] == "poisson"
    assert MixedNB(categorical=[]).fit(table, y).kinds_ == EXPECTED
    for wrong, message in (
        (["nowhere"], "categorical names a column 'nowhere' that is not there"),
        ([7], "categorical names a column 7; columns are numbered 0 to 4"),
        ([True, False], "2 booleans; accepted are names or numbers"),
        ("whole", "'categorical' parameter"),
    ):
        with pytest.raises(ValueError, match=message):
            MixedNB(categorical=wrong).fit(table, y)


def test_kinds_hold_for_later_rows():
    table, y = typed()
    model = MixedNB().fit(table, y)
    model.update(table.assign(flag=[1, 0, 1, 0], kind=[3, 1, 3, 3]), y)
    assert model.kinds_ == EXPECTED
    assert model.class_count_.tolist() == [4.0, 4.0]


# --- algebra, leaving out, files -----------------------------------------------------------


def close(a, b, tolerance=1e-11):
    assert a.classes_.tolist() == b.classes_.tolist()
    table, _ = visits(80, seed=9)
    np.testing.assert_allclose(
        a.predict_joint_log_proba(table), b.predict_joint_log_proba(table), rtol=tolerance
    )


def test_algebra(tmp_path):
    table, y = visits()
    whole = MixedNB(KINDS).fit(table, y)
    first = MixedNB(KINDS).fit(table[:90], y[:90])
    rest = MixedNB(KINDS).fit(table[90:], y[90:])
    close(first + rest, whole)
    close(MixedNB(KINDS).fit(table[:90], y[:90]).update(table[90:], y[90:]), whole)
    close(MixedNB(KINDS).fit(table, y).forget(table[:90], y[:90]), rest)
    new = {"alpha": 0.2, "beta": 3.0, "var_smoothing": 0.01, "tied_variance": True}
    close(MixedNB(KINDS).fit(table, y).refit(**new), MixedNB(KINDS, **new).fit(table, y))
    whole.save(tmp_path / "m")
    loaded = suffice.load(tmp_path / "m")
    close(loaded, whole, 0)
    close(loaded.forget(table[:90], y[:90]), rest)
    with pytest.raises(ValueError, match="whose columns are"):
        suffice.merge(MixedNB().fit(np.eye(3), [0, 1, 1]), MixedNB().fit(np.eye(3) > 0, [0, 1, 1]))


def test_leaving_one_out():
    table, y = visits(70)
    y[0] = "alone"
    model = MixedNB(KINDS).fit(table, y)
    source = as_source(text_queries(model, table), y)
    found = np.concatenate([model._leave_one_out(piece.load()) for piece in source.pieces()])
    for i in range(70):
        rest = np.arange(70) != i
        fit = MixedNB(KINDS).fit(table[rest], y[rest])
        at = np.isin(model.classes_, fit.classes_)
        expected = fit.predict_joint_log_proba(table[i : i + 1])[0]
        np.testing.assert_allclose(found[i, at], expected, rtol=1e-10)
        assert np.isneginf(found[i, ~at]).all()


def test_cross_validation():
    table, y = visits(80)
    for cv in (LeaveOneOut(), KFold(4)):
        found = suffice.cross_validate(MixedNB(KINDS), table, y, cv=cv)
        again = [
            MixedNB(KINDS).fit(table.iloc[train], y[train]).score(table.iloc[test], y[test])
            for train, test in cv.split(table)
        ]
        np.testing.assert_allclose(found["test_score"], again)


def test_files_give_the_bits_of_the_frame(tmp_path):
    table, y = visits(500)
    pq.write_table(pa.Table.from_pandas(table.assign(y=y)), tmp_path / "t.parquet")
    files = suffice.scan(tmp_path / "t.parquet", target="y")
    streamed, plain = MixedNB(KINDS).fit(files), MixedNB(KINDS).fit(table, y)
    close(streamed, plain, 0)
    assert streamed.certificate_ == plain.certificate_
    assert streamed.score(files) == plain.score(table, y)


def test_digits_that_cancel_ask_for_double_double():
    rng = np.random.default_rng(0)
    X = np.c_[rng.normal(size=6000) * 1e-4 + 1e7, rng.integers(0, 3, 6000)]
    y = rng.integers(0, 2, 6000)
    model = MixedNB({1: "categorical"}).fit(np.tile(X, (1, 2)), y)
    assert model.certificate_.holds
    gaussian = GaussianNB().fit(np.tile(X, (1, 2))[:, [0, 2, 3]], y)
    assert model.certificate_.digits > 8
    np.testing.assert_allclose(model.parts_["gaussian"].theta_, gaussian.theta_)


# --- bad input -----------------------------------------------------------------------------


def test_bad_kinds():
    table, y = typed()
    for kinds, message in (
        ({"text": "gaussian"}, "column 'text' holds text, and cannot be 'gaussian'"),
        ({"nowhere": "poisson"}, "column 'nowhere' that is not there"),
        ({7: "poisson"}, "numbered 0 to 4"),
        ({"real": "normal"}, "'normal' of column 'real'; accepted are 'gaussian'"),
        (["gaussian"], "a list of one kind for each of the 5 columns"),
    ):
        with pytest.raises(ValueError, match=message):
            MixedNB(kinds).fit(table, y)
    with pytest.raises(ValueError, match="kinds"):
        MixedNB("gaussian").fit(table, y)
    with pytest.raises(ValueError, match="'min_categories' should have shape"):
        MixedNB(min_categories=[1, 2]).fit(table, y)


def test_text_where_numbers_were():
    table, y = typed()
    model = MixedNB().fit(table, y)
    before = {**vars(model)}
    with pytest.raises(ValueError, match="column 'real' holds text, and cannot be 'gaussian'"):
        model.update(table.assign(real=["x"] * 4), y)
    assert vars(model) == before
    with pytest.raises(ValueError, match="column 'real' holds text"):
        model.predict(table.assign(real=["x"] * 4))


@pytest.mark.parametrize(
    "grid",
    [{"alpha": [0.1, 10.0]}, {"kinds": [KINDS, None]}, {"binarize": [0.0, 0.5], "alpha": [1.0]}],
    ids=lambda grid: next(iter(grid)),
)
def test_searches(grid, tmp_path):
    table, y = visits(120)
    table["on"] = table["on"] * 0.4 + 0.2
    pq.write_table(pa.Table.from_pandas(table.assign(y=y)), tmp_path / "t.parquet")
    files = suffice.scan(tmp_path / "t.parquet", target="y")
    expected = GridSearchCV(MixedNB(KINDS), grid, cv=KFold(3)).fit(table, y)
    for rows in ((table, y), (files,)):
        found = suffice.GridSearchCV(MixedNB(KINDS), grid, cv=KFold(3)).fit(*rows)
        for name in ("mean_test_score", "rank_test_score"):
            np.testing.assert_allclose(found.cv_results_[name], expected.cv_results_[name])


def test_a_threshold_set_after_a_fit_waits_for_the_next(tmp_path):
    X, y = np.array([[1.0], [3.0], [-1.0]]), np.array([0, 1, 1])
    model, plain = (MixedNB(["bernoulli"]).fit(X, y) for _ in range(2))
    model.set_params(binarize=2.0).update(X, y)
    counts = plain.update(X, y).parts_["bernoulli"].feature_count_
    np.testing.assert_array_equal(model.parts_["bernoulli"].feature_count_, counts)
    model.save(tmp_path / "m.sfc")
    np.testing.assert_array_equal(
        suffice.load(tmp_path / "m.sfc").update(X, y).predict_proba(X),
        plain.update(X, y).predict_proba(X),
    )
    other = MixedNB(["bernoulli"], binarize=2.0).fit(X, y)
    with pytest.raises(ValueError, match=r"binarize=0\.0 and binarize=2\.0"):
        model + other
    assert model.fit(X, y).parts_["bernoulli"].binarize == 2.0


def test_booleans_are_categorical_in_lists_as_in_frames():
    rows = [["a", True, 1], ["b", False, 2], ["a", None, 3], ["b", True, 4]]
    y = [0, 1, 0, 1]
    expected = MixedNB().fit(pd.DataFrame(rows, columns=list("tbn")), y)
    for X in (rows, np.array(rows, dtype=object)):
        model = MixedNB().fit(X, y)
        assert model.kinds_ == expected.kinds_ == ["categorical", "categorical", "gaussian"]
        np.testing.assert_array_equal(
            model.predict_proba(X), expected.predict_proba(pd.DataFrame(rows, columns=list("tbn")))
        )
