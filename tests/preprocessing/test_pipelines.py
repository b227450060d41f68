"""Pipelines from files: the numbers of scikit-learn's own pipelines on the loaded rows."""

import pickle
import threading
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn.compose
import sklearn.impute
import sklearn.linear_model
import sklearn.preprocessing
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import suffice
from suffice import Ridge, scan
from suffice.preprocessing import (
    ColumnTransformer,
    MinMaxScaler,
    OneHotEncoder,
    SimpleImputer,
    StandardScaler,
    make_column_selector,
    make_column_transformer,
)
from suffice.sources import MappedSource, as_source


@pytest.fixture(scope="module", autouse=True)
def _small_blocks():
    """Several blocks of each file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("suffice.sources.base.LARGEST_BLOCK", 1024)
        yield


@pytest.fixture(scope="module")
def rides():
    rng = np.random.default_rng(0)
    n = 5_000
    frame = pd.DataFrame(
        {
            "miles": rng.exponential(3, n).round(1),
            "hour": rng.integers(0, 24, n).astype(float),
            "city": rng.choice(["Ulm", "Köln", "東京", "Rome"], n, p=[0.4, 0.3, 0.2, 0.1]),
            "weight": rng.integers(0, 4, n).astype(float),
        }
    )
    cost = frame.city.map({"Ulm": 0.0, "Köln": 1.0, "東京": 5.0, "Rome": 2.0})
    frame["fare"] = 3 + 2 * frame.miles + 0.1 * frame.hour + cost + rng.normal(size=n)
    frame.loc[rng.random(n) < 0.1, "miles"] = np.nan
    frame.loc[rng.random(n) < 0.05, "hour"] = np.nan
    return frame


@pytest.fixture(scope="module")
def folder(rides, tmp_path_factory):
    folder = tmp_path_factory.mktemp("rides")
    for i in range(3):
        rides[i * 1_800 : (i + 1) * 1_800].to_parquet(folder / f"{i}.parquet")
    return folder


FEATURES = ["miles", "hour", "city"]


def ours(sparse=True):
    return make_pipeline(
        ColumnTransformer(
            [
                ("num", make_pipeline(SimpleImputer(), StandardScaler()), ["miles", "hour"]),
                ("cat", OneHotEncoder(sparse_output=sparse), ["city"]),
            ]
        ),
        Ridge(),
    )


def theirs():
    return make_pipeline(
        sklearn.compose.ColumnTransformer(
            [
                (
                    "num",
                    make_pipeline(
                        sklearn.impute.SimpleImputer(), sklearn.preprocessing.StandardScaler()
                    ),
                    ["miles", "hour"],
                ),
                ("cat", sklearn.preprocessing.OneHotEncoder(), ["city"]),
            ]
        ),
        sklearn.linear_model.Ridge(),
    )


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("threads", [1, 2])
def test_columns_of_numbers_and_text(rides, folder, sparse, threads):
    source = scan(folder / "*.parquet", target="fare", features=FEATURES)
    X, y = rides[FEATURES], rides.fare
    with suffice.config(threads=threads):
        mine, other = ours(sparse).fit(source), theirs().fit(X, y)
        np.testing.assert_allclose(mine[-1].coef_, other[-1].coef_, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(mine.predict(source), other.predict(X), atol=1e-9)
        assert mine.score(source) == pytest.approx(other.score(X, y), abs=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(mine.predict(X), other.predict(X), atol=1e-9)
        assert mine.score(X, y) == pytest.approx(other.score(X, y), abs=1e-9)
    names = mine[0].get_feature_names_out().tolist()
    assert names == other[0].get_feature_names_out().tolist()


def test_the_same_bits_from_memory(rides, folder):
    source = scan(folder, target="fare", features=FEATURES)
    a, b = ours().fit(source), ours().fit(rides[FEATURES], rides.fare)
    assert a[-1].coef_.tolist() == b[-1].coef_.tolist()
    assert a[-1].intercept_ == b[-1].intercept_


def encoded(imputer, encoder, scaler, ridge):
    return make_pipeline(imputer, encoder, scaler, ridge)


@pytest.mark.parametrize("with_mean", [False, True])
def test_numbers_imputed_encoded_and_scaled(rides, folder, with_mean):
    """With its default parameters, too: from files, CSR blocks are filled to be centred."""
    columns = ["hour", "miles"]
    source = scan(folder, target="fare", features=columns)
    X, y = rides[columns], rides.fare
    mine = encoded(
        SimpleImputer(),
        OneHotEncoder(handle_unknown="ignore"),
        StandardScaler(with_mean=with_mean),
        Ridge(),
    )
    other = encoded(
        sklearn.impute.SimpleImputer(),
        sklearn.preprocessing.OneHotEncoder(handle_unknown="ignore", sparse_output=False),
        sklearn.preprocessing.StandardScaler(with_mean=with_mean),
        sklearn.linear_model.Ridge(solver="cholesky"),
    )
    mine.fit(source)
    other.fit(X, y)
    np.testing.assert_allclose(mine.predict(source), other.predict(X), atol=1e-9)
    assert mine.score(source) == pytest.approx(other.score(X, y), abs=1e-9)
    if with_mean:
        with pytest.raises(ValueError, match="Cannot center sparse matrices"):
            mine.predict(X)
    else:
        np.testing.assert_allclose(mine.predict(X), other.predict(X), atol=1e-9)


def test_weights_reach_every_step(rides, folder):
    source = scan(folder, target="fare", weight="weight", features=FEATURES)
    mine = ours().fit(source)
    repeated = rides.loc[rides.index.repeat(rides.weight.astype(int))]
    other = theirs().fit(repeated[FEATURES], repeated.fare)
    np.testing.assert_allclose(mine[-1].coef_, other[-1].coef_, rtol=1e-8, atol=1e-8)


def test_text_is_imputed_before_it_is_encoded(tmp_path):
    frame = pd.DataFrame({"c": ["a", "b", None, "b"] * 50, "y": [1.0, 2.0, 2.0, 2.0] * 50})
    frame.to_parquet(tmp_path / "a.parquet")
    source = scan(tmp_path, target="y")
    mine = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(), Ridge(1e-6))
    assert mine.fit(source).score(source) == pytest.approx(1.0, abs=1e-6)
    assert mine[1].get_feature_names_out(["c"]).tolist() == ["c_a", "c_b"]


@pytest.mark.parametrize("remainder", ["drop", "passthrough", MinMaxScaler()], ids=str)
@pytest.mark.parametrize("verbose", [True, False])
def test_what_scikit_learn_notes(rides, folder, remainder, verbose):
    source = scan(folder, target="fare", features=[*FEATURES, "weight"])
    parts = [
        ("text", OneHotEncoder(sparse_output=False), ["city"]),
        ("nothing", "drop", ["hour"]),
        ("same", "passthrough", [0]),
    ]
    settings = {"remainder": remainder, "verbose_feature_names_out": verbose}
    settings["transformer_weights"] = {"text": 3.0}
    mine = ColumnTransformer(parts, **settings)
    out = mine.fit_transform(source)
    X = rides[[*FEATURES, "weight"]]
    other = sklearn.compose.ColumnTransformer(clone(parts, safe=False), **settings)
    expected = other.fit_transform(X)
    assert isinstance(out, MappedSource)
    found = np.concatenate([piece.load().X for piece in out.pieces()])
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(mine.transform(X), expected, atol=1e-12)
    names = mine.get_feature_names_out().tolist()
    assert names == other.get_feature_names_out().tolist()
    assert mine.output_indices_ == other.output_indices_
    assert mine.feature_names_in_.tolist() == [*FEATURES, "weight"]
    assert list(mine.named_transformers_) == list(other.named_transformers_)
    assert isinstance(mine.named_transformers_["text"], OneHotEncoder)
    assert mine.transformers is parts
    assert not hasattr(parts[0][1], "categories_")
    assert out.column_label(0) == f"column {names[0]!r}"


@pytest.mark.parametrize(
    "columns",
    [
        ["miles", "hour"],
        [0, 1],
        [-3, -2],
        slice(0, 2),
        slice("miles", "hour"),
        [True, True, False],
        make_column_selector(dtype_include=np.number),
        make_column_selector(pattern="^[mh]"),
    ],
    ids=["names", "positions", "from the end", "slice", "names to", "mask", "type", "pattern"],
)
def test_every_way_to_name_columns(rides, folder, columns):
    source = scan(folder, features=FEATURES)
    mine = make_column_transformer((SimpleImputer(), columns)).fit(source)
    other = sklearn.compose.make_column_transformer((sklearn.impute.SimpleImputer(), columns))
    expected = other.fit_transform(rides[FEATURES])
    found = np.concatenate([piece.load().X for piece in mine.transform(source).pieces()])
    np.testing.assert_allclose(found, expected)


def test_sparse_threshold_decides_as_in_scikit_learn(folder):
    source = scan(folder, features=["city"])
    for threshold, sparse in ((0.3, True), (0.2, False)):
        columns = ColumnTransformer(
            [("city", OneHotEncoder(), ["city"])], sparse_threshold=threshold
        )
        out = columns.fit_transform(source)
        assert (out.sparse, columns.sparse_output_) == (sparse, sparse)


def test_text_may_pass_through(folder):
    source = scan(folder, target="fare", features=FEATURES)
    columns = make_column_transformer((StandardScaler(), ["hour"]), remainder="passthrough")
    out = columns.fit_transform(source)
    assert out.kinds == ("number", "number", "text")
    assert next(out.pieces()).load().X.column(2)[0] in {"Ulm", "Köln", "東京", "Rome"}
    with pytest.raises(ValueError, match="Column 'remainder__city' has type text"):
        Ridge().fit(as_source(out))


def test_columns_are_found_by_name_in_any_order(rides, folder):
    mine = ours().fit(scan(folder, target="fare", features=FEATURES))
    other = scan(folder, features=["city", "weight", "hour", "miles"])
    np.testing.assert_allclose(mine.predict(other), mine.predict(rides[FEATURES]), atol=1e-9)
    with pytest.raises(ValueError, match=r"columns are missing: \['city'\]"):
        mine.predict(scan(folder, features=["miles", "hour"]))


def test_what_cannot_be_done_with_a_source(rides, folder):
    source = scan(folder, target="fare", features=FEATURES)
    with pytest.raises(ValueError, match="brings its own target"):
        make_column_transformer((SimpleImputer(), ["hour"])).fit(source, rides.fare)
    with pytest.raises(ValueError, match=r"not a column of the data: \['our'\]"):
        make_column_transformer((SimpleImputer(), ["our"])).fit(source)
    model = make_column_transformer((StandardScaler(), ["city"]))
    with pytest.raises(ValueError, match=r"Column 'city' has type text.*OneHotEncoder"):
        model.fit(source)
    assert not hasattr(model, "transformers_")
    foreign = make_column_transformer((sklearn.preprocessing.StandardScaler(), ["hour"]))
    with pytest.raises(TypeError, match=r"StandardScaler .*suffice.preprocessing"):
        foreign.fit(source)


def test_frames_come_out_where_asked_for(rides):
    columns = ours(sparse=False)[0].set_output(transform="pandas")
    out = columns.fit_transform(rides[FEATURES])
    assert list(out.columns[:2]) == ["num__miles", "num__hour"]


def test_a_pipeline_travels_and_serves_two_threads(rides, folder):
    source = scan(folder, target="fare", features=FEATURES)
    model = pickle.loads(pickle.dumps(ours().fit(source)))
    mapped = pickle.loads(pickle.dumps(model[0].transform(source)))
    expected, found = model.predict(rides[FEATURES]), []
    work = [lambda: found.append(model.predict(source))] * 2
    work += [lambda: found.append(model[-1].predict(mapped))]
    threads = [threading.Thread(target=task) for task in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3
    for values in found:
        np.testing.assert_allclose(values, expected, atol=1e-9)


def test_cross_validation_by_scikit_learn(rides):
    X, y = rides[FEATURES][:2000], rides.fare[:2000]
    scores = cross_val_score(ours(), X, y, cv=3)
    np.testing.assert_allclose(scores, cross_val_score(theirs(), X, y, cv=3), atol=1e-9)


def test_a_source_stays_one_where_frames_are_asked_for(folder):
    source = scan(folder, target="fare", features=FEATURES)
    columns = ours(sparse=False)[0].fit(source)
    names = tuple(columns.get_feature_names_out())
    assert columns.transform(source).feature_names is None
    with sklearn.config_context(transform_output="pandas"):
        assert columns.transform(source).feature_names == names
    columns.set_output(transform="pandas")
    assert columns.fit_transform(source).feature_names == names
