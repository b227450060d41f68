"""Cross-validation and searches over sources: the answers of the loaded rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from sklearn import model_selection
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.pipeline import make_pipeline

import suffice
from suffice import GaussianNB, GridSearchCV, LinearRegression, Ridge
from suffice.decomposition.pca import PCA
from suffice.preprocessing import ColumnTransformer, OneHotEncoder, StandardScaler
from suffice.selection import held_out
from suffice.sources import as_source
from tests.selection.compare import LARGE, SMALL, Counted, agree
from tests.selection.test_cross_validate import labelled

ALPHAS = {"alpha": [0.1, 10.0, 1000.0]}
N = len(SMALL.y)


def table(rows, **more):
    columns = {f"x{j}": column for j, column in enumerate(rows.X.T)}
    return pa.table({**columns, "target": rows.y, **more})


@pytest.fixture(params=["parquet", "csv", "arrays"])
def scanned(request, tmp_path):
    def scan(rows=SMALL, **more):
        if request.param == "arrays":
            return Counted(as_source(rows.X, rows.y, more.get("weight")))
        path = tmp_path / f"rows.{request.param}"
        if request.param == "parquet":
            parquet.write_table(table(rows, **more), path, row_group_size=10_000)
        else:
            csv.write_csv(table(rows, **more), path)
        weight = "weight" if "weight" in more else None
        return Counted(suffice.scan(path, target="target", weight=weight))

    return scan


SPLITTERS = [
    None,
    model_selection.KFold(3, shuffle=True, random_state=0),
    model_selection.ShuffleSplit(3, random_state=0),
    model_selection.TimeSeriesSplit(3),
    model_selection.PredefinedSplit(np.arange(N) % 4),
    [(np.arange(60), np.arange(60, N)), (np.arange(50, N), np.arange(50))],
]


@pytest.mark.parametrize("cv", SPLITTERS, ids=str)
@pytest.mark.parametrize("estimator", [Ridge(), make_pipeline(StandardScaler(), Ridge())])
def test_cross_validation(scanned, estimator, cv):
    for scoring in (["r2", "neg_mean_squared_error"], ["r2", "neg_max_error"]):
        source = scanned()
        options = {"cv": cv, "scoring": scoring, "return_train_score": True}
        found = suffice.cross_validate(estimator, source, **options)
        theirs = model_selection.cross_validate(estimator, SMALL.X, SMALL.y, **options)
        assert list(found) == list(theirs)
        for name in theirs:
            if not name.endswith("_time"):
                agree(found[name], theirs[name])
        assert found.passes_ == source.read


def test_many_rows(scanned):
    source = scanned(LARGE)
    search = GridSearchCV(Ridge(), ALPHAS, cv=4).fit(source)
    plain = GridSearchCV(Ridge(), ALPHAS, cv=4).fit(LARGE.X, LARGE.y)
    for name in ("mean_test_score", "std_test_score"):
        agree(search.cv_results_[name], plain.cv_results_[name], 1e-14)
    np.testing.assert_array_equal(search.best_estimator_.coef_, plain.best_estimator_.coef_)
    assert search.passes_ == source.read
    assert source.read == (2 if source.base.n_rows is None or "csv" in repr(source.base) else 1)
    np.testing.assert_allclose(search.predict(source), plain.predict(LARGE.X), rtol=1e-12)
    assert abs(search.score(source) - plain.score(LARGE.X, LARGE.y)) < 1e-12


def test_groups(scanned):
    groups = np.arange(N) % 5
    cv = model_selection.GroupKFold(5)
    search = GridSearchCV(Ridge(), ALPHAS, cv=cv).fit(scanned(), groups=groups)
    theirs = model_selection.GridSearchCV(Ridge(), ALPHAS, cv=cv)
    theirs.fit(SMALL.X, SMALL.y, groups=groups)
    agree(search.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])
    found = suffice.cross_validate(Ridge(), scanned(), groups=groups, cv=cv)
    agree(found["test_score"], model_selection.cross_val_score(Ridge(), SMALL.X, SMALL.y,
          groups=groups, cv=cv))  # fmt: skip


def test_weights_enter_fits_and_scores(scanned):
    """As in scikit-learn's search, where the scorer takes weights."""
    weight = SMALL.weight.copy()
    weight[::6] = 0
    for scoring in (None, "neg_mean_absolute_error", ["r2", "neg_mean_absolute_error"]):
        options = {"scoring": scoring, "refit": False, "return_train_score": True}
        source = scanned(weight=weight)
        ours = GridSearchCV(Ridge(), ALPHAS, **options).fit(source)
        theirs = model_selection.GridSearchCV(Ridge(), ALPHAS, **options)
        theirs.fit(SMALL.X, SMALL.y, sample_weight=weight)
        for name in theirs.cv_results_:
            if "_test_" in name or "_train_" in name:
                agree(ours.cv_results_[name], theirs.cv_results_[name])
        assert ours.passes_ == source.read
    with pytest.raises(ValueError, match="max_error takes no weights"):
        suffice.cross_validate(Ridge(), scanned(weight=weight), scoring="neg_max_error")


@pytest.mark.parametrize("kind", ["str", "int"])
def test_classifiers(tmp_path, kind):
    X, y = labelled(kind)
    names = {f"x{j}": column for j, column in enumerate(X.T)}
    parquet.write_table(pa.table({**names, "label": y}), tmp_path / "rows.parquet")
    for scoring, cv in (
        (None, model_selection.KFold(3)),
        ("neg_log_loss", model_selection.StratifiedKFold(3)),
        (["accuracy", "roc_auc_ovr", "balanced_accuracy"], None),
    ):
        source = Counted(suffice.scan(tmp_path / "rows.parquet", target="label"))
        found = suffice.cross_validate(GaussianNB(), source, scoring=scoring, cv=cv)
        theirs = model_selection.cross_validate(GaussianNB(), X, y, scoring=scoring, cv=cv)
        for name in theirs:
            if name.startswith("test"):
                agree(found[name], theirs[name])
        assert found.passes_ == source.read


def test_binary_scores(tmp_path):
    X, y = labelled("int")
    y = (y > 0).astype(int)
    source = as_source(X, y)
    for scoring in ("roc_auc", "average_precision", "f1", "neg_brier_score"):
        found = suffice.cross_validate(GaussianNB(), source, scoring=scoring)
        agree(found["test_score"], model_selection.cross_val_score(GaussianNB(), X, y,
              scoring=scoring))  # fmt: skip


def test_scores_that_fail_are_told_as_in_memory():
    X, y = labelled("int", 60)
    y = np.sort(y)  # a class is missing in each training set
    cv = model_selection.KFold(3)
    found = {}
    for rows in ((X, y), (as_source(X, y),)):
        with pytest.warns(UserWarning, match="Scoring failed"):
            found[len(rows)] = suffice.cross_validate(GaussianNB(), *rows, cv=cv,
                                                      scoring="neg_log_loss")  # fmt: skip
    agree(found[1]["test_score"], found[2]["test_score"])


def test_estimators_that_are_fitted_for_each_fold(scanned):
    estimator = make_pipeline(PCA(2), Ridge())
    source = scanned()
    found = suffice.cross_validate(estimator, source, cv=3, scoring=["r2", "neg_max_error"],
                                   return_train_score=True, return_estimator=True)  # fmt: skip
    theirs = model_selection.cross_validate(estimator, SMALL.X, SMALL.y, cv=3, scoring=["r2",
                                            "neg_max_error"], return_train_score=True)  # fmt: skip
    for name in theirs:
        if not name.endswith("_time"):
            agree(found[name], theirs[name], 1e-9)
    assert found.passes_ == source.read
    assert len(found["estimator"]) == 3
    grid = {"pca__n_components": [1, 2, 3]}
    source = scanned()
    search = GridSearchCV(estimator, grid, cv=3).fit(source)
    theirs = model_selection.GridSearchCV(estimator, grid, cv=3).fit(SMALL.X, SMALL.y)
    agree(search.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], 1e-9)
    assert search.best_params_ == theirs.best_params_
    assert search.passes_ == source.read


def test_text_columns(tmp_path):
    rng = np.random.default_rng(0)
    kind, x = np.array(["ä", "b", "c"])[rng.integers(0, 3, 90)], rng.normal(size=90)
    y = x + (kind == "b") + 0.1 * rng.normal(size=90)
    parquet.write_table(pa.table({"kind": kind, "x": x, "y": y}), tmp_path / "rows.parquet")
    estimator = make_pipeline(
        ColumnTransformer([("o", OneHotEncoder(), ["kind"]), ("s", StandardScaler(), ["x"])]),
        Ridge(),
    )
    source = Counted(suffice.scan(tmp_path / "rows.parquet", target="y"))
    found = suffice.cross_validate(estimator, source, cv=3)
    frame = pd.DataFrame({"kind": kind, "x": x})
    agree(found["test_score"], model_selection.cross_val_score(estimator, frame, y, cv=3))
    assert found.passes_ == source.read
    source = Counted(suffice.scan(tmp_path / "rows.parquet", target="y"))
    search = GridSearchCV(estimator, {"ridge__alpha": [0.1, 1.0]}, cv=3).fit(source)
    assert search.passes_ == source.read
    assert search.best_params_ == {"ridge__alpha": 0.1}


def test_fits_that_fail(scanned):
    with pytest.warns() as said:
        search = GridSearchCV(Ridge(), {"alpha": [-1, 1.0]}).fit(scanned())
    assert any("5 fits failed out of a total of 10" in str(w.message) for w in said)
    assert np.isnan(search.cv_results_["mean_test_score"]).tolist() == [True, False]
    grid = {"pca__n_components": [99, 2]}
    with pytest.warns() as said:
        search = GridSearchCV(make_pipeline(PCA(), Ridge()), grid, cv=2).fit(scanned())
    assert any("2 fits failed out of a total of 4" in str(w.message) for w in said)
    with pytest.raises(ValueError, match="n_components"):
        GridSearchCV(make_pipeline(PCA(), Ridge()), grid, error_score="raise").fit(scanned())


def test_answers_that_do_not_fit_into_memory(monkeypatch):
    source = Counted(as_source(SMALL.X, SMALL.y))
    whole = GridSearchCV(Ridge(), ALPHAS, scoring="neg_max_error").fit(source)
    assert whole.passes_ == source.read == 2
    monkeypatch.setattr(held_out, "MOST_BYTES", 8 * N)
    source = Counted(as_source(SMALL.X, SMALL.y))
    pieces = GridSearchCV(Ridge(), ALPHAS, scoring="neg_max_error").fit(source)
    assert pieces.passes_ == source.read == 4
    for name in ("mean_test_score", "rank_test_score"):
        np.testing.assert_array_equal(pieces.cv_results_[name], whole.cv_results_[name])


def test_clear_errors():
    source = as_source(SMALL.X, SMALL.y)
    for run in (
        lambda *rows, **options: suffice.cross_validate(Ridge(), *rows, **options),
        lambda *rows, **options: GridSearchCV(Ridge(), ALPHAS, **options).fit(*rows),
    ):
        with pytest.raises(ValueError, match="a source brings its own target"):
            run(source, SMALL.y)
        with pytest.raises(ValueError, match="make_scorer"):
            run(source, scoring=lambda model, X, y: 0.0)
        with pytest.raises(ValueError, match="repeats rows"):
            run(source, cv=[(np.zeros(5, int), np.arange(5, N))])
        with pytest.raises(ValueError, match="needs a target"):
            run(as_source(SMALL.X))
        with pytest.raises(ValueError, match="greater than the number of samples"):
            run(as_source(SMALL.X[:3], SMALL.y[:3]))
        holed = SMALL.X.copy()
        holed[3, 1] = np.nan
        with pytest.raises(ValueError, match="NaN: column 1, row 3"):
            run(as_source(holed, SMALL.y))
        run(source, scoring=make_scorer(mean_absolute_error, greater_is_better=False))
    with pytest.raises(ValueError, match=r"brings its own weights.*sample_weight"):
        GridSearchCV(Ridge(), ALPHAS).fit(source, sample_weight=SMALL.weight)
    with pytest.raises(ValueError, match=r"brings its own weights.*sample_weight"):
        suffice.cross_validate(Ridge(), source, params={"sample_weight": SMALL.weight})
    with pytest.raises(ValueError, match="No fits were performed"):
        GridSearchCV(Ridge(), []).fit(source)


def test_ill_conditioned_rows_are_read_again():
    X = LARGE.X.copy()
    X[:, 4] = X[:, 0] + 1e-8 * X[:, 4]
    source = Counted(as_source(X, LARGE.y))
    search = GridSearchCV(LinearRegression(), {"fit_intercept": [True, False]}).fit(source)
    assert search.passes_ == source.read == 2
    theirs = model_selection.GridSearchCV(LinearRegression(), {"fit_intercept": [True, False]})
    theirs.fit(X, LARGE.y)
    agree(search.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])
