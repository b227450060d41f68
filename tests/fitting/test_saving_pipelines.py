"""Models made of models as files: the same bits after loading, and clear words for the rest."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import compose, linear_model, model_selection, preprocessing
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline

import suffice
from suffice.fitting.files import scikit_learn
from suffice.fitting.files.registry import find_record
from suffice.fitting.files.storage import read_notes
from suffice.preprocessing import (
    ColumnTransformer,
    MinMaxScaler,
    OneHotEncoder,
    SimpleImputer,
    StandardScaler,
    make_column_selector,
)

N = 60
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "miles": RNG.normal(size=N),
        "größe": np.where(RNG.random(N) < 0.1, np.nan, RNG.normal(size=N)),
        "city": RNG.choice(["Ulm", "Rom", "日本"], N),
        "left": RNG.integers(0, 2, N).astype(float),
    }
)
ROWS = RNG.normal(size=(N, 3))
TARGET = ROWS @ [1.0, -2.0, 0.5] + RNG.normal(size=N)
LABELS = np.digitize(TARGET, [-1.0, 1.0])


@pytest.fixture(scope="module", autouse=True)
def _no_waiting_for_the_disk():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture
def round_trip(tmp_path):
    """Save and load; the loaded model saved again gives the same file."""

    def trip(model: Any) -> Any:
        suffice.save(model, tmp_path / "model")
        loaded = suffice.load(tmp_path / "model")
        assert type(loaded) is type(model)
        suffice.save(loaded, tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
        return loaded

    return trip


def same_bits(a: Any, b: Any) -> bool:
    return a.dtype == b.dtype and a.tolist() == b.tolist()


def mixed_columns(cls: type = ColumnTransformer) -> Any:
    numbers = Pipeline([("fill", SimpleImputer(add_indicator=True)), ("scale", StandardScaler())])
    return cls(
        [
            ("numbers", numbers, ["miles", "größe"]),
            ("cities", OneHotEncoder(handle_unknown="ignore"), text_columns()),
            ("none", "drop", []),
        ],
        remainder="passthrough",
        transformer_weights={"cities": 2.0},
    )


def text_columns() -> Any:
    return make_column_selector(dtype_exclude=np.number)


# --- pipelines --------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [ColumnTransformer, compose.ColumnTransformer])
def test_frames_with_text(columns, round_trip):
    model = Pipeline([("columns", mixed_columns(columns)), ("model", suffice.Ridge())])
    model.fit(FRAME, TARGET)
    loaded = round_trip(model)
    assert type(loaded["columns"]) is columns
    assert same_bits(loaded.predict(FRAME), model.predict(FRAME))
    mixed_up = FRAME[["left", "city", "miles", "größe"]].assign(more="x")
    assert same_bits(loaded.predict(mixed_up), model.predict(FRAME))
    assert loaded.feature_names_in_.tolist() == list(FRAME)
    names = loaded[:-1].get_feature_names_out().tolist()
    assert names == model[:-1].get_feature_names_out().tolist()
    assert "cities__city_日本" in names
    assert loaded["columns"].output_indices_ == model["columns"].output_indices_
    with pytest.raises(ValueError, match="columns are missing"):
        loaded.predict(FRAME.drop(columns="miles"))


def test_files_of_rows(round_trip, tmp_path):
    FRAME.assign(y=TARGET).to_parquet(tmp_path / "rows.parquet")
    source = suffice.scan(tmp_path / "rows.parquet", target="y")
    model = make_pipeline(mixed_columns(), suffice.Ridge()).fit(source)
    loaded = round_trip(model)
    assert same_bits(loaded.predict(source), model.predict(source))
    assert same_bits(loaded.predict(FRAME), model.predict(FRAME))
    assert loaded.score(source) == model.score(source)


def test_a_loaded_pipeline_is_cloned_changed_and_fitted_again(round_trip):
    model = make_pipeline(mixed_columns(), suffice.Ridge()).fit(FRAME, TARGET)
    loaded = round_trip(model)
    assert same_bits(clone(loaded).fit(FRAME, TARGET).predict(FRAME), model.predict(FRAME))
    loaded.set_params(ridge__alpha=5.0, columntransformer__numbers__fill__strategy="median")
    changed = make_pipeline(
        mixed_columns().set_params(numbers__fill__strategy="median"), suffice.Ridge(alpha=5.0)
    )
    again = changed.fit(FRAME, TARGET).predict(FRAME)
    assert same_bits(loaded.fit(FRAME, TARGET).predict(FRAME), again)
    assert "Ridge" in loaded._repr_html_()


FRESH = """
import sys
import numpy as np, pandas as pd
import suffice
frame = pd.read_parquet(sys.argv[2])
np.save(sys.argv[3], suffice.load(sys.argv[1]).predict(frame))
"""


def test_in_a_fresh_process(tmp_path):
    model = make_pipeline(mixed_columns(), suffice.Ridge()).fit(FRAME, TARGET)
    suffice.save(model, tmp_path / "model", notes={"target": "größe", "rows": N})
    FRAME.to_parquet(tmp_path / "rows")
    files = [tmp_path / name for name in ("model", "rows", "out.npy")]
    subprocess.run([sys.executable, "-c", FRESH, *files], check=True, timeout=120)
    assert same_bits(np.load(tmp_path / "out.npy"), model.predict(FRAME))
    assert read_notes(tmp_path / "model") == {"target": "größe", "rows": N}


CHOICES = {
    "names": ["miles", "left"],
    "a tuple": ("left", "miles"),
    "an index": FRAME.columns[[0, 3]],
    "positions": [0, -1],
    "an array": np.array([3, 0]),
    "a mask": [True, False, False, True],
    "an array as a mask": np.array([True, False, False, True]),
    "a series as a mask": FRAME.dtypes == float,
    "a slice": slice(0, 2),
    "a slice of names": slice("miles", "größe"),
    "all": slice(None),
    "a pattern": make_column_selector(pattern="^m|left"),
    "a kind": make_column_selector(dtype_include=[np.number, bool]),
    "a word": make_column_selector(dtype_include="number"),
}


@pytest.mark.parametrize("choice", CHOICES.values(), ids=CHOICES)
@pytest.mark.parametrize("remainder", ["drop", "passthrough", MinMaxScaler()], ids=str)
def test_choices_of_columns(choice, remainder, round_trip):
    frame = FRAME.assign(city=0.5).fillna(0.0)
    model = ColumnTransformer([("some", StandardScaler(), choice)], remainder=remainder).fit(frame)
    loaded = round_trip(model)
    assert same_bits(loaded.transform(frame), model.transform(frame))
    assert same_bits(clone(loaded).fit_transform(frame), model.transform(frame))
    assert list(loaded.get_feature_names_out()) == list(model.get_feature_names_out())


def test_positions_of_columns_without_names(round_trip):
    for choice in ([2, 0], slice(1, None), np.array([True, False, True]), [-1], [np.int64(1)]):
        model = ColumnTransformer([("some", StandardScaler(), choice)], remainder="passthrough")
        model.fit(ROWS)
        assert same_bits(round_trip(model).transform(ROWS), model.transform(ROWS))


def test_kinds_of_output_are_kept(round_trip):
    first = mixed_columns().set_params(cities__sparse_output=False)
    first.set_output(transform="pandas")
    second = ColumnTransformer([("again", StandardScaler(), ["numbers__miles"])])
    model = make_pipeline(first, second, suffice.Ridge()).fit(FRAME, TARGET)
    loaded = round_trip(model)  # whose second step chooses by name what the first one gives
    assert same_bits(loaded.predict(FRAME), model.predict(FRAME))
    assert isinstance(loaded[0].transform(FRAME), pd.DataFrame)


def test_parts_side_by_side_and_left_out(round_trip):
    union = FeatureUnion(
        [("a", StandardScaler()), ("b", "passthrough"), ("c", "drop")],
        transformer_weights={"a": 0.5},
    )
    model = Pipeline([("none", None), ("union", union), ("model", suffice.Ridge())])
    model.fit(ROWS, TARGET)
    loaded = round_trip(model)
    assert same_bits(loaded.predict(ROWS), model.predict(ROWS))
    assert loaded["none"] is None


def test_many_levels(round_trip):
    model: Any = suffice.Ridge()
    for _ in range(25):
        model = make_pipeline(StandardScaler(), model)
    model.fit(ROWS, TARGET)
    assert same_bits(round_trip(model).predict(ROWS), model.predict(ROWS))


# --- searches and models that choose ----------------------------------------------------------


def equal(a: Any, b: Any) -> bool:
    """Whether results of a search are the same, of whatever they are made."""
    if isinstance(a, dict):
        return list(a) == list(b) and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, BaseEstimator):
        return repr(a) == repr(b)
    if isinstance(a, np.ma.MaskedArray):
        same = a.mask.tolist() == b.mask.tolist()
        return same and equal(a.compressed().tolist(), b.compressed().tolist())
    return np.array_equal(a, b, equal_nan=isinstance(a, np.ndarray) and a.dtype.kind == "f")


GRIDS = {
    "numbers": ({"model__alpha": np.logspace(-2, 1, 3)}, {"cv": 2}),
    "models": (
        [{"model": [suffice.Ridge(), suffice.Lasso()]}, {"model__alpha": [1.0], "scale": [None]}],
        {"cv": KFold(2, shuffle=True, random_state=1), "return_train_score": True},
    ),
    "several metrics": (
        {"model__alpha": [1, 2.5, np.float32(3)]},
        {"scoring": ["r2", "neg_mean_squared_error"], "refit": "r2", "cv": 2},
    ),
    "named metrics": (
        {"model__alpha": range(1, 4)},
        {"scoring": {"error": "neg_max_error"}, "refit": "error", "cv": 2},
    ),
    "splits": ({"model__alpha": [1.0]}, {"cv": [(np.arange(40), np.arange(40, N))]}),
}


@pytest.mark.parametrize("name", [*GRIDS, "numbers, by scikit-learn"])
def test_searches(name, round_trip):
    search = model_selection.GridSearchCV if "scikit" in name else suffice.GridSearchCV
    grid, options = GRIDS[name.partition(",")[0]]
    columns = ColumnTransformer([("some", make_pipeline(StandardScaler()), [0, 1])])
    steps = [("columns", columns), ("scale", StandardScaler()), ("model", suffice.Ridge())]
    model = search(Pipeline(steps), grid, **options).fit(ROWS, TARGET)
    loaded = round_trip(model)
    assert same_bits(loaded.predict(ROWS), model.predict(ROWS))
    assert loaded.score(ROWS, TARGET) == model.score(ROWS, TARGET)
    for name in ("best_params_", "cv_results_", "best_score_", "best_index_", "n_splits_"):
        assert equal(getattr(loaded, name), getattr(model, name)), name
    assert set(vars(model)) - set(vars(loaded)) <= {"_checked_cv_orig"}


def test_a_search_that_was_not_refitted(round_trip):
    options = {"scoring": ["r2", "neg_max_error"], "refit": False, "cv": 2}
    model = suffice.GridSearchCV(suffice.Ridge(), {"alpha": [1.0, 2.0]}, **options)
    loaded = round_trip(model.fit(ROWS, TARGET))
    assert equal(loaded.cv_results_, model.cv_results_)
    assert not hasattr(loaded, "best_estimator_")


def test_random_searches(round_trip):
    grid = {"alpha": [0.1, 1.0, 10.0]}
    model = model_selection.RandomizedSearchCV(suffice.Ridge(), grid, n_iter=2, random_state=0)
    loaded = round_trip(model.fit(ROWS, TARGET))
    assert equal(loaded.cv_results_, model.cv_results_)


CHOOSERS = {
    "RidgeCV": (suffice.RidgeCV(store_cv_results=True), TARGET),
    "RidgeCV of folds": (
        suffice.RidgeCV([0.1, 10.0], cv=KFold(2), scoring="neg_max_error"),
        TARGET,
    ),
    "RidgeCV of two": (suffice.RidgeCV(alpha_per_target=True), np.c_[TARGET, -TARGET]),
    "LassoCV": (suffice.LassoCV(cv=2, alphas=5), TARGET),
    "ElasticNetCV": (suffice.ElasticNetCV(l1_ratio=[0.5, 1.0], alphas=[0.1, 1.0], cv=2), TARGET),
    "LogisticRegressionCV": (suffice.LogisticRegressionCV(Cs=2, cv=2), LABELS),
    "LogisticRegressionCV of means": (
        suffice.LogisticRegressionCV(Cs=2, cv=2, refit=False, scoring="accuracy"),
        np.array(["nein", "größer"])[(LABELS > 0).astype(int)],
    ),
    "OneVsRest": (
        suffice.OneVsRest(make_pipeline(StandardScaler(), suffice.GaussianNB())),
        LABELS,
    ),
    "a search over OneVsRest": (
        suffice.GridSearchCV(
            suffice.OneVsRest(suffice.GaussianNB()), {"estimator__priors": [None]}, cv=2
        ),
        LABELS,
    ),
}


@pytest.mark.parametrize(("model", "y"), CHOOSERS.values(), ids=CHOOSERS)
def test_models_that_choose(model, y, round_trip):
    model = clone(model).fit(ROWS, y)
    loaded = round_trip(model)
    assert same_bits(loaded.predict(ROWS), model.predict(ROWS))
    assert loaded.score(ROWS, y) == model.score(ROWS, y)
    assert set(vars(loaded)) == set(vars(model)) - {"_checked_cv_orig"}
    for name in ("alpha_", "alphas_", "C_", "mse_path_", "scores_", "cv_results_", "best_score_"):
        if name in vars(model):
            assert equal(getattr(loaded, name), getattr(model, name)), name
    if hasattr(model, "certificate_"):
        assert loaded.certificate_ == model.certificate_


def test_a_chooser_whose_model_learned_on(round_trip):
    model = suffice.RidgeCV().fit(ROWS, TARGET)
    model.best_estimator_.update(ROWS, TARGET + 1.0)
    assert same_bits(round_trip(model).best_estimator_.coef_, model.best_estimator_.coef_)


SPLITTERS = {
    "PredefinedSplit": {"test_fold": np.array([0, 1, -1])},
    "LeavePGroupsOut": {"n_groups": 2},
    "LeavePOut": {"p": 2},
    "RepeatedKFold": {"n_splits": 4, "n_repeats": 3, "random_state": 5},
    "make_column_selector": {"pattern": "é", "dtype_include": [object, "category"]},
}


@pytest.mark.parametrize("name", scikit_learn.VALUES)
def test_splitters_and_selectors(name, round_trip):
    """As parameters of a search; what they are told comes back."""
    value = find_record(f"sklearn.{name}")(**SPLITTERS.get(name, {}))
    model = suffice.GridSearchCV(suffice.Ridge(), {"alpha": [1.0]}, cv=2).fit(ROWS, TARGET)
    model.cv = value
    loaded = round_trip(model).cv
    if name == "make_column_selector":
        assert vars(loaded) == vars(value)
    else:
        assert repr(loaded) == repr(value)


# --- what is not saved ------------------------------------------------------------------------


def search(**options: Any) -> Any:
    return suffice.GridSearchCV(suffice.Ridge(), {"alpha": [1.0]}, cv=2, **options)


REFUSED = {
    "a scaler": (
        make_pipeline(preprocessing.StandardScaler(), suffice.Ridge()),
        r"steps\['standardscaler'\]: sklearn.preprocessing.StandardScaler is not one of the models "
        "that files can hold; suffice.preprocessing.StandardScaler could take its place",
    ),
    "a model": (
        make_pipeline(StandardScaler(), linear_model.Ridge()),
        r"steps\['ridge'\]: sklearn.linear_model.Ridge .*; suffice.Ridge could take its place",
    ),
    "without one of ours": (
        make_pipeline(preprocessing.RobustScaler(), suffice.Ridge()),
        r"steps\['robustscaler'\]: sklearn.preprocessing.RobustScaler is .* can hold$",
    ),
    "within": (
        make_pipeline(
            ColumnTransformer([("a", make_pipeline(preprocessing.MinMaxScaler()), [0])]),
            suffice.Ridge(),
        ),
        r"steps\['columntransformer'\].transformers\['a'\].steps\['minmaxscaler'\]: sklearn.* "
        "suffice.preprocessing.MinMaxScaler could",
    ),
    "under another name": (OneVsRestClassifier(suffice.GaussianNB()), "suffice.OneVsRest could"),
    "a function": (
        make_pipeline(preprocessing.FunctionTransformer(np.tanh), suffice.Ridge()),
        r"steps\['functiontransformer'\]: it calls a function, and a file holds no code",
    ),
    "a lambda for columns": (
        make_pipeline(ColumnTransformer([("a", StandardScaler(), lambda X: [0])]), suffice.Ridge()),
        r"transformers\['a'\]\[2\]: values of type function .* holds no code",
    ),
    "a scorer": (search(scoring=lambda model, X, y: 1.0), "scoring: .*name the metric.*best_est"),
    "a way to choose": (search(refit=lambda results: 0), "refit: values of type function"),
    "random numbers": (
        search().set_params(cv=KFold(2, shuffle=True, random_state=np.random.RandomState(0))),
        r"cv.random_state: values of type numpy.random.*RandomState",
    ),
}


@pytest.mark.parametrize(("model", "said"), REFUSED.values(), ids=REFUSED)
def test_parts_that_files_do_not_hold_are_named(model, said, tmp_path):
    (tmp_path / "model").write_bytes(b"what was there")
    y = LABELS if isinstance(model, OneVsRestClassifier) else TARGET
    with pytest.raises(TypeError, match=f"^cannot save .*{said}"):
        suffice.save(clone(model).fit(ROWS, y), tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == b"what was there"
    assert os.listdir(tmp_path) == ["model"]


def test_a_cache_is_not_saved(tmp_path, round_trip):
    cached = make_pipeline(StandardScaler(), suffice.Ridge(), memory=str(tmp_path / "cache"))
    model = make_pipeline(cached).fit(ROWS, TARGET)
    with pytest.raises(TypeError, match=r"steps\['pipeline'\]: its memory .*memory=None"):
        suffice.save(model, tmp_path / "model")
    before = model.predict(ROWS)
    model[0].set_params(memory=None)
    assert same_bits(round_trip(model).predict(ROWS), before)


def test_unfitted_models_and_other_things(tmp_path):
    path = tmp_path / "model"
    for model in (suffice.Ridge(), make_pipeline(StandardScaler(), suffice.Ridge()), search()):
        with pytest.raises(NotFittedError):
            suffice.save(model, path)
    for thing in (None, 3, {"model": 1}, suffice.Ridge, lambda X: X):
        with pytest.raises(TypeError, match=r"not a(n instance| model)"):
            suffice.save(thing, path)
    model = make_pipeline(StandardScaler(), suffice.Ridge()).fit(ROWS, TARGET)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        suffice.save(model, tmp_path / "nowhere" / "model")
    with pytest.raises(IsADirectoryError):
        suffice.save(model, tmp_path)
    assert os.listdir(tmp_path) == []


def test_every_public_model_is_found_when_it_is_loaded():
    """One that is missing in the catalogue would be saved by `model.save` and never come back."""
    for module in (suffice, suffice.preprocessing, suffice.text):
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isclass(thing) and issubclass(thing, BaseEstimator):
                assert suffice.catalogue.find(name) is thing
